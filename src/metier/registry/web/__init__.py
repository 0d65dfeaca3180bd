"""The registry's pages: made on the server, complete without JavaScript, quicker to use with it.

Pages ask the same `Registry` as the API does and decide nothing themselves.
"""

from __future__ import annotations

from .routes import ROUTES
from .templates import render_error

__all__ = ["ROUTES", "render_error"]
