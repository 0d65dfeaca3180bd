"""`metier skill`: one module per command."""
