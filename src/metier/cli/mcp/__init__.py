"""`metier mcp`: one module per command."""
