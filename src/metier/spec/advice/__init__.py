"""Advice beyond the rules of the standard: what it recommends and what experience teaches, SK201 to SK222.

A rule is one function with one code, and its docstring says why it exists. Rules prefer silence to a false alarm: people
switch off a linter that is wrong one time in five.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from metier.spec.files import Files
from metier.spec.report import Problem, Report
from metier.spec.skill import check

from .body import (
    absolute_paths,
    body_is_empty,
    body_lines,
    body_tokens,
    menus_without_default,
    vague_advice,
)
from .commands import absent_scripts, undeclared_prerequisites, unpinned_commands
from .description import angle_brackets, catalog_cost, description_length, description_voice, says_when
from .overlap import find_overlaps, overlap_problems
from .placeholders import template_placeholders, unfinished_notes
from .references import broken_references, deep_references, references_without_when, unused_files
from .subject import LintSubject, read_subject

__all__ = ["advise", "find_overlaps", "lint"]

_MOST_OF_A_KIND = 100


def lint(skills: Sequence[tuple[str, Files]]) -> list[Report]:
    """Returns the problems of each skill: those of `check`, those of `advise`, and overlaps between their descriptions.

    Each skill is given as the path of its folder and its files.
    """
    reports: list[Report] = []
    described: list[tuple[str, str]] = []
    for path, files in skills:
        folder = path.rpartition("/")[2]
        subject = read_subject(files, folder)
        reports.append(check(files, folder=folder) + _advice(subject))
        if subject:
            described.append((path, subject.manifest.description))
    overlaps = overlap_problems(described)
    return [report + Report.of(overlaps.get(path, ())) for (path, _), report in zip(skills, reports, strict=True)]


def advise(files: Files, *, folder: str | None = None) -> Report:
    """Returns all advice on one skill. A skill that cannot be loaded gets none; `check` reports what is wrong with it."""
    return _advice(read_subject(files, folder))


def _advice(subject: LintSubject | None) -> Report:
    if subject is None:
        return Report()
    return Report.of(found for rule in _RULES for found in islice(rule(subject), _MOST_OF_A_KIND))


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
    undeclared_prerequisites,
    catalog_cost,
    menus_without_default,
    template_placeholders,
    unfinished_notes,
)
