"""Packages of scripts: resolved and locked with hashes by uv and npm, built once per lock, and verified."""
