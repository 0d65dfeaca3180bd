"""All rows of the table. It is loaded when the first command is checked."""

from __future__ import annotations

from .build import BUILD
from .files import FILES
from .git import GIT
from .interpreters import INTERPRETERS
from .services import SERVICES
from .system import SYSTEM
from .text import TEXT
from .transfer import TRANSFER
from .wrappers import WRAPPERS

__all__ = ["PROGRAMS"]

PROGRAMS = (*BUILD, *FILES, *GIT, *INTERPRETERS, *SERVICES, *SYSTEM, *TEXT, *TRANSFER, *WRAPPERS)
