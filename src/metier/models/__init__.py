"""One way to a model."""
