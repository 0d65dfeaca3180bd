"""Skills written for these tests, as plain as a skill can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sample:
    id: str
    name: str
    description: str
    body: str = ""
    tags: tuple[str, ...] = ()
    triggers: Any = field(default=None, hash=False)


def sample(name: str, description: str = "", body: str = "", **more: Any) -> Sample:
    return Sample(f"home#{name}", name, description, body, **more)


EXAMPLES = (
    sample("pdf-forms", "Fill in PDF forms and merge PDF files. Use when a document ends in .pdf.", "# PDF\nMerge pages."),
    sample("invoice-writer", "Write invoices for customers with tax and due dates. Not for contracts or legal letters."),
    sample("csv-cleaner", "Clean messy CSV tables: duplicates, missing values, wrong types.", "# Cleaning\nUse pandas."),
    sample("release-notes", "Draft release notes and changelogs from git history and merged pull requests."),
    sample("regex-coach", "Explain and repair regular expressions, step by step."),
    sample("kubernetes-debug", "Find out why pods crash: CrashLoopBackOff, image pulls, probes, resource limits."),
    sample("meeting-minutes", "Turn a transcript of a meeting into minutes with decisions and action items."),
    sample("sql-tuner", "Speed up slow SQL queries with indexes and query plans in PostgreSQL."),
    sample("colour-palette", "Choose accessible colour palettes for web pages, with contrast checks."),
    sample("unit-test-writer", "Write unit tests with pytest for Python functions and classes."),
)
