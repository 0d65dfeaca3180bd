"""`-p NAME=VALUE`: values for the parameters of the skills that a request activates."""

from __future__ import annotations

from collections.abc import Sequence

import click

from metier.app import App
from metier.errors import UsageError, nearest

__all__ = ["parameter_option", "parse_parameters"]

parameter_option = click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
    help="Value of a skill's parameter, as NAME or SKILL.NAME; repeatable.",
)  # fmt: skip


def parse_parameters(app: App, words: Sequence[str]) -> dict[str, str]:
    """Returns the values by name. Raises UsageError for a name that no skill declares."""
    given = {}
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or not name:
            raise UsageError(f"{word!r} is not NAME=VALUE", hint="such as -p style=formal")
        given[name] = value
    if given:
        known = _declared(app)
        for name in given:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near!r}?" if near else "`metier skill show NAME` lists the parameters of a skill"
                raise UsageError(f"no skill has a parameter {name!r}", hint=hint)
    return given


def _declared(app: App) -> set[str]:
    found: set[str] = set()
    for entry in app.catalog:
        # Few skills have any, and parsing the frontmatter to find out takes time.
        if "parameters" in entry.offer.fields:
            names = [parameter.name for parameter in entry.manifest.extensions.parameters]
            found |= {*names, *(f"{entry.name}.{name}" for name in names)}
    return found
