"""The composition root: the only package that chooses implementations."""

from __future__ import annotations

from .app import App

__all__ = ["App"]
