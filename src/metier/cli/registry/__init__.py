"""`metier registry`: one module per command."""
