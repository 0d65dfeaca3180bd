"""A skill's scripts as tools: what each one takes is read from its text, and never by running it."""

from .reading import Script, read_script, scripts_of

__all__ = ["Script", "read_script", "scripts_of"]
