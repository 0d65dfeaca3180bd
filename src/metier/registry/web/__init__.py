"""The registry's pages: made on the server, complete without JavaScript, quicker to use with it.

Pages ask the same `Registry` as the API does and decide nothing themselves.
"""

from __future__ import annotations

from .looks import page_problem
from .routes import ROUTES

__all__ = ["ROUTES", "page_problem"]
