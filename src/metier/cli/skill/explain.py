"""`metier skill explain`: explain the codes of problems and findings."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill, indent
from typing import Any

import click

from metier.app import App
from metier.cli.completion import rule_codes
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal
from metier.errors import NotFoundError
from metier.scan import RULES
from metier.spec import CODES, Code

__all__ = ["PAGES", "explain"]

PAGES = {**CODES, **{rule.code: rule.page for rule in RULES.values()}}
"""Every code that validate, lint or scan can print."""


@command("skill", "explain")
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=rule_codes)
def explain(app: App, *, codes: tuple[str, ...]) -> Result:  # noqa: ARG001
    """Explain a problem's code, such as SK105. Without a code, list them all."""
    found = [_code(text) for text in codes] or list(PAGES.values())
    data = {"codes": [_row(code) for code in found]}

    def lines(terminal: Terminal) -> Iterator[str]:
        if not codes:
            for code in found:
                yield f"{code.code}  {code.strict:8} {code.name}"
            return
        for code in found:
            yield from _page(code, terminal)

    return Result(data=data, lines=lines, pages=True)


def _code(text: str) -> Code:
    by_name = {code.name: code for code in PAGES.values()}
    code = PAGES.get(text.upper()) or by_name.get(text.lower())
    if code is None:
        raise NotFoundError(f"Unknown code {text!r}", hint="list all codes with `metier skill explain`")
    return code


def _row(code: Code) -> dict[str, Any]:
    row = {slot: getattr(code, slot) for slot in code.__slots__}
    if rule := RULES.get(code.code):
        row |= {"category": rule.category, "owasp": rule.owasp, "ast10": rule.ast10, "aitech": rule.aitech}
    return row


def _page(code: Code, terminal: Terminal) -> Iterator[str]:
    yield f"{terminal.paint(code.code, 'bold')} {code.name}"
    yield terminal.paint(_weight(code), "dim")
    yield ""
    yield fill(code.text, width=min(terminal.width or 88, 88), break_on_hyphens=False)
    for title, example in (("Instead of", code.bad), ("Write", code.good)):
        if example:
            yield f"\n{title}:\n{indent(example, '    ')}"
    yield ""


def _weight(code: Code) -> str:
    rule = RULES.get(code.code)
    if rule is None:
        return f"strict: {code.strict}, when loading: {code.lenient or 'not reported'}"
    known = "".join(f", {name}" for name in (rule.owasp, rule.ast10, rule.aitech) if name)
    return f"scan: {rule.verdict} (confidence {rule.confidence}, reach {rule.reach}), {rule.category}{known}"
