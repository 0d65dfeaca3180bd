"""The table of programs: for each, which options and words start another program or write a file."""

from __future__ import annotations

from functools import cache

from .build import BUILD
from .files import FILES
from .git import GIT
from .interpreters import INTERPRETERS
from .program import Effect, Operands, Option, Program, Value, options_of, synonyms_of
from .services import SERVICES
from .system import SYSTEM
from .text import TEXT
from .transfer import TRANSFER
from .wrappers import WRAPPERS

__all__ = ["PROGRAMS", "Effect", "Operands", "Option", "Program", "Value", "find_program", "options_of", "synonyms_of"]

PROGRAMS = (*BUILD, *FILES, *GIT, *INTERPRETERS, *SERVICES, *SYSTEM, *TEXT, *TRANSFER, *WRAPPERS)


@cache
def _index() -> dict[str, Program]:
    return {name.casefold(): program for program in PROGRAMS for name in program.names.split()}


def find_program(word: str) -> Program | None:
    """The row of a program, by its name or path. `python3.12` is `python3`."""
    name = word.replace("\\", "/").rpartition("/")[2]
    name = name.casefold().removesuffix(".exe")
    known = _index()
    return known.get(name) or known.get(name.rstrip("0123456789.")) if name else None
