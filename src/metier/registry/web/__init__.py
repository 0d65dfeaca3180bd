"""The registry's pages, rendered on the server. They work without JavaScript and call the same `Registry` as the API."""

from __future__ import annotations

from .routes import ROUTES
from .templates import render_error

__all__ = ["ROUTES", "render_error"]
