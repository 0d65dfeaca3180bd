"""What Python does."""
