"""What the scheduler knows: cache, snapshot and scheduling queue."""
