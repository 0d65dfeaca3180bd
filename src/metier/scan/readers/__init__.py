"""Readers turn text into steps, commands and calls: Markdown, shell, Python, JavaScript, encoded text."""
