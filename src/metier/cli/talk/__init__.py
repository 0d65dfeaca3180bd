"""The conversation on a terminal and in a pipe; `metier chat` and `metier run` are made of it."""
