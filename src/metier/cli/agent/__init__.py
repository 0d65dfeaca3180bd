"""`metier agent`: one module per command."""
