"""`metier chat`: the command, its prompt and its view of a turn."""
