"""What an installation asks a person at a terminal: which skills, and what to do with what is in the way."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from metier.cli.core.terminal import Terminal, one_line, pad, truncate
from metier.errors import MetierError
from metier.install.fetch.repository import FoundSkill, select
from metier.install.fetch.results import FetchedSkill
from metier.install.prepare import PreparedSkill, prepare
from metier.install.store import InstallOptions
from metier.install.transaction.steps import Edits, InstallStep, StepReason
from metier.values import replace

__all__ = ["approved", "picked", "settled"]


def picked(offered: Sequence[FoundSkill]) -> Sequence[FoundSkill]:
    """Which of these, by number or name."""
    width = max(len(one.name) for one in offered)
    for number, one in enumerate(offered, start=1):
        click.echo(f"{number:>3}  {pad(one_line(one.name), width)}  {truncate(one_line(one.description), 70)}", err=True)
    while True:
        text = click.prompt("Which ones? Numbers or names, or all", default="all", err=True)
        try:
            return _read_choice(text, offered)
        except MetierError as error:
            click.echo(f"{error}; {error.hint}", err=True)


def approved(ready: Sequence[PreparedSkill]) -> None:
    """What the scan says of those that are not plainly fine, and whether to go on; Abort if not."""
    # Imported here: most skills are plainly fine.
    from .scan import report_lines

    terminal = Terminal.of(sys.stderr)
    for skill in ready:
        if skill.scanned is not None and skill.is_doubtful:
            for line in report_lines(skill.name, skill.entry.asked, skill.scanned, terminal):
                click.echo(line, err=True)
    blocked = any(skill.is_blocked for skill in ready)
    question = "Install it all the same?" if blocked else "Have you read that, and shall it be installed?"
    click.confirm(question, default=False, abort=True, err=True)


def settled(clash: InstallStep, ready: list[PreparedSkill], how: InstallOptions) -> tuple[list[PreparedSkill], InstallOptions]:
    """The request with one clash settled by a person. Abort if nothing of it is left."""
    click.echo(f"{clash.name}: {one_line(clash.note)}", err=True)
    if clash.reason is StepReason.EDITED:
        answer = _asked("keep yours as NAME.orig, overwrite it, or skip", "keep", "overwrite")
        if answer != "skip":
            edits = Edits.KEEP if answer == "keep" else Edits.OVERWRITE
            return ready, replace(how, answers={**how.answers, clash.name: edits})
    else:
        answer = _asked("rename the new one, replace the other, or skip", "rename", "replace")
        if answer == "replace":
            return ready, replace(how, forced=how.forced | {clash.name})
        if answer == "rename":
            new = click.prompt("new name", err=True)
            return [_renamed(skill, new) if skill.name == clash.name else skill for skill in ready], how
    left = [skill for skill in ready if skill.name != clash.name]
    if not left:
        raise click.exceptions.Abort
    return left, how


def _asked(question: str, *answers: str) -> str:
    return str(click.prompt(question, type=click.Choice([*answers, "skip"]), default="skip", err=True))


def _renamed(skill: PreparedSkill, name: str) -> PreparedSkill:
    entry = skill.entry
    fetched = FetchedSkill(name=entry.called or entry.name, files=skill.files, digest=entry.digest, origin=entry.origin)
    return prepare(fetched, name=name, asked=entry.asked)


def _read_choice(text: str, offered: Sequence[FoundSkill]) -> Sequence[FoundSkill]:
    words = text.replace(",", " ").split()
    if words in (["all"], ["*"]):
        return offered
    numbered = {str(number): one.path or one.name for number, one in enumerate(offered, start=1)}
    return select(offered, [numbered.get(word, word) for word in words])
