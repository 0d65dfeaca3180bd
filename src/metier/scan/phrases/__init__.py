"""Phrases that are looked up in any text, as data."""
