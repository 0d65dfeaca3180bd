"""What the standard recommends and experience teaches, beyond what it demands: SK201 to SK220.

A rule is one function with one code, and its docstring says why it exists. All rules lean to silence: a tool that is
wrong one time in five is switched off, so where a pattern could be innocent it passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from metier.spec.files import Files
from metier.spec.report import Problem, Report

from .body import (
    absolute_paths,
    body_is_empty,
    body_lines,
    body_tokens,
    menus_without_default,
    vague_advice,
)
from .commands import absent_scripts, unpinned_commands, unsaid_prerequisites
from .description import angle_brackets, catalog_cost, description_length, description_voice, says_when
from .overlap import advise_set, find_overlaps
from .references import broken_references, deep_references, references_without_when, unused_files
from .subject import LintSubject, read_subject

__all__ = ["advise", "advise_set", "find_overlaps"]

_MOST_OF_A_KIND = 100


def advise(files: Files, *, folder: str | None = None) -> Report:
    """All advice on one skill. A skill that cannot be loaded gets none: `check` says what is wrong with it."""
    page = read_subject(files, folder)
    if page is None:
        return Report()
    return Report.of(found for rule in _RULES for found in islice(rule(page), _MOST_OF_A_KIND))


_RULES: tuple[Callable[[LintSubject], Iterator[Problem]], ...] = (
    says_when,
    description_length,
    description_voice,
    body_lines,
    body_tokens,
    broken_references,
    deep_references,
    unused_files,
    absolute_paths,
    references_without_when,
    unpinned_commands,
    absent_scripts,
    vague_advice,
    body_is_empty,
    angle_brackets,
    unsaid_prerequisites,
    catalog_cost,
    menus_without_default,
)
