"""Refs: the text that names a skill to install, parsed into a value."""
