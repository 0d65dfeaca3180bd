"""The commands of `metier hook`."""
