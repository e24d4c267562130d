"""What an object may look like. A validator returns every problem it finds; it never raises for bad input."""
