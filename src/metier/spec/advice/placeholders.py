"""Advice on unfinished text: the words of our own templates, and notes to the author such as TODO."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metier.spec.codes import problem
from metier.spec.files import SKILL_FILE
from metier.spec.report import Problem
from metier.spec.templates import SKILL_TEMPLATES, UNFINISHED_DOCSTRING

from .paths import INLINE_CODE
from .subject import LintSubject, TextLine

__all__ = ["template_placeholders", "unfinished_notes"]

_PHRASES = frozenset(
    phrase
    for template in SKILL_TEMPLATES.values()
    for text in (template.body, *template.files.values())
    for phrase in re.findall(r"[A-Z]+(?: [A-Z]+)+", text)
)
_PLACEHOLDER = re.compile(
    "|".join(re.escape(phrase) for phrase in sorted({*_PHRASES, UNFINISHED_DOCSTRING}, key=len, reverse=True))
)
# At the start of a line or in brackets, in capitals; a skill about TODO comments speaks of them inside sentences.
_NOTE = re.compile(r"^[ \t>#*+\d.-]*(?:TODO|FIXME|TBD)\b(?=[ \t]*(?:[:(-]|$))|[\[<](?:TODO|FIXME|TBD)\b")


def template_placeholders(page: LintSubject) -> Iterator[Problem]:
    """A model takes the words of a template for instructions."""
    for file, line in _lines(page):
        found = _PLACEHOLDER.search(line.text)
        if found:
            yield problem("SK221", f"{found[0]!r} is a placeholder of the template", file=file, line=line.number,
                          column=found.start() + 1, hint="replace it with your own words, or delete the line")  # fmt: skip


def unfinished_notes(page: LintSubject) -> Iterator[Problem]:
    """A note to the author reaches the model as an instruction that it cannot follow."""
    for line in page.prose:
        found = _NOTE.search(INLINE_CODE.sub(lambda code: " " * len(code[0]), line.text))
        if found:
            yield problem("SK222", f"{found[0].strip()!r} is a note to yourself", line=line.number, column=found.start() + 1,
                          hint="finish the text, or delete the note")  # fmt: skip


def _lines(page: LintSubject) -> Iterator[tuple[str, TextLine]]:
    yield from ((SKILL_FILE, line) for line in page.lines)
    yield from ((file, line) for file, lines in page.texts.items() for line in lines)
