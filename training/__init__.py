"""Makes the data that ships with `metier.selection`: `python -m training`. README.md here says what it needs."""
