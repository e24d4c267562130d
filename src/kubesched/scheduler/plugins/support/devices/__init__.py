"""What plugins share about devices: which there are, who has them, and what selects them. No plugin is here."""
