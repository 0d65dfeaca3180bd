"""The row of a program by its name."""

from __future__ import annotations

from functools import cache

import metier.runtime.policy.programs as rows

from .program import Program

__all__ = ["find_program"]


def find_program(word: str) -> Program | None:
    """The row of a program, by its name or path. `python3.12` is `python`."""
    name = word.replace("\\", "/").rpartition("/")[2].casefold().removesuffix(".exe")
    known = _index()
    return known.get(name) or known.get(name.rstrip("0123456789.")) if name else None


@cache
def _index() -> dict[str, Program]:
    return {name.casefold(): program for program in rows.PROGRAMS for name in program.names.split()}
