"""The table of programs: for each, which options and words start another program or write a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metier.lazy import lazy_exports

from .lookup import find_program
from .program import Effect, Operands, Option, Program, Value, options_of, synonyms_of

if TYPE_CHECKING:
    from .table import PROGRAMS

__all__ = ["PROGRAMS", "Effect", "Operands", "Option", "Program", "Value", "find_program", "options_of", "synonyms_of"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(__name__, {"metier.runtime.policy.programs.table": ("PROGRAMS",)})
