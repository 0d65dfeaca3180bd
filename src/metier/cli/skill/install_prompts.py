"""The questions of `metier skill install` on a terminal: which skills, despite the scan, and what to do about a conflict."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from metier.cli.core.terminal import Terminal, one_line, pad, truncate
from metier.errors import MetierError, RefusedError
from metier.install import (
    ConflictAction,
    ConflictAnswer,
    FoundSkill,
    InstallOptions,
    InstallStep,
    PreparedSkill,
    StepReason,
    select_skills,
)
from metier.values import replace

from .install_common import pause_progress

__all__ = ["with_prompts"]


def with_prompts(options: InstallOptions) -> InstallOptions:
    """Adds the questions to the options, if there is a terminal to ask them on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return options
    return replace(options, choose=choose, approve=approve, accept_new=accept_new, resolve_conflict=resolve_conflict)


def choose(offered: tuple[FoundSkill, ...]) -> Sequence[FoundSkill]:
    """Asks which skills to install, by number or name."""
    width = max(len(one.name) for one in offered)
    with pause_progress():
        for number, one in enumerate(offered, start=1):
            click.echo(f"{number:>3}  {pad(one_line(one.name), width)}  {truncate(one_line(one.description), 70)}", err=True)
        while True:
            text = click.prompt("Which skills? Numbers or names, or all", default="all", err=True)
            try:
                return _read_choice(text, offered)
            except MetierError as error:
                click.echo(f"{error}; {error.hint}", err=True)


def approve(skills: Sequence[PreparedSkill]) -> bool:
    """Shows the scan reports of the skills that need review, and asks whether to go on. Aborts on no."""
    # Imported here: most skills need no review.
    from .scan import report_lines

    terminal = Terminal.of(sys.stderr)
    for skill in skills:
        if skill.scanned is not None and skill.needs_review:
            for line in report_lines(skill.name, skill.entry.asked, skill.scanned, terminal):
                click.echo(line, err=True)
    return click.confirm("Install anyway?", default=False, abort=True, err=True)


def accept_new(refusal: RefusedError) -> bool:
    with pause_progress():
        return click.confirm(f"{one_line(str(refusal))}. Install it anyway?", default=False, err=True)


def resolve_conflict(conflict: InstallStep) -> ConflictAnswer:
    click.echo(f"{conflict.name}: {one_line(conflict.note)}", err=True)
    if conflict.reason is StepReason.EDITED:
        question, actions = "Keep yours as NAME.orig, overwrite it, or skip", (ConflictAction.KEEP, ConflictAction.OVERWRITE)
    else:
        question, actions = "Rename the new one, replace the other, or skip", (ConflictAction.RENAME, ConflictAction.REPLACE)
    choice = click.Choice([*map(str, actions), str(ConflictAction.SKIP)])
    action = ConflictAction(click.prompt(question, type=choice, default=str(ConflictAction.SKIP), err=True))
    name = click.prompt("New name", err=True) if action is ConflictAction.RENAME else ""
    return ConflictAnswer(action=action, name=name)


def _read_choice(text: str, offered: Sequence[FoundSkill]) -> Sequence[FoundSkill]:
    words = text.replace(",", " ").split()
    if words in (["all"], ["*"]):
        return offered
    numbered = {str(number): one.path or one.name for number, one in enumerate(offered, start=1)}
    return select_skills(offered, [numbered.get(word, word) for word in words])
