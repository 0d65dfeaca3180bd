"""The tools that a session offers to a model."""
