"""What shell does."""
