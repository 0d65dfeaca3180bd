"""`metier policy`: what skills may do on this machine, and the question that is put to a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.archive import digest
from metier.catalog import Source
from metier.config import KEYS, change_list
from metier.errors import MetierError, RefusedError, UsageError
from metier.runtime import ApprovalAnswer, ApprovalHook, Question, ToolPattern
from metier.sources import DiskFiles

from .core.dispatch import command
from .core.result import Result
from .core.skill_argument import entry_named
from .core.terminal import Terminal, one_line, pad

__all__ = ["allow", "ask_on_terminal", "deny", "show"]

_WORDS = ("scripts", "network", "toolsets", "tools")


@command("policy", "show")
def show(app: App) -> Result:
    """Show what skills may do: patterns first, then what holds for the rest, then what was approved for single skills.

    An approval ends when its skill changes; it is shown as ended until you approve the new version.
    """
    settings = app.user_settings
    app.sessions.permissions()  # a word that means nothing is an error here too
    words = {name: settings[f"policy.{name}"].value for name in _WORDS}
    approvals = [
        {"skill": each.skill, "pattern": each.pattern, "holds": _digest(app, each.skill) == each.digest}
        for each in app.sessions.approvals.all
    ]
    data: dict[str, Any] = {
        "allow": list(settings.strings("policy.allow")),
        "deny": list(settings.strings("policy.deny")),
        **words,
        "sandbox": settings["sandbox.require"].value,
        "approvals": approvals,
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        for name in ("deny", "allow"):
            for pattern in data[name]:
                yield f"{terminal.paint(pad(name, 9), 'bold')} {one_line(pattern)}"
        for name, word in words.items():
            yield f"{terminal.paint(pad(name, 9), 'bold')} {one_line(str(word))}"
        yield f"{terminal.paint(pad('sandbox', 9), 'bold')} at least {one_line(str(data['sandbox']))}"
        for each in approvals:
            ended = "" if each["holds"] else terminal.paint("  ended: the skill has changed", "yellow")
            what = one_line(f"{each['skill']}: {each['pattern']}")
            yield f"{terminal.paint(pad('approved', 9), 'bold')} {what}{ended}"

    return Result(data=data, lines=lines)


@command("policy", "allow")
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@click.option("--skill", help="Only for this skill, and only while it stays as it is now.")
def allow(app: App, *, patterns: tuple[str, ...], skill: str | None) -> Result:
    """Allow tool patterns, for all skills that ask for them, or for one.

    A pattern is Read, Bash(git status), Bash(git add:*), Script(scripts/*), Network or Toolset.
    """
    parsed = [str(ToolPattern.parse(pattern)) for pattern in patterns]
    if skill:
        digest = _digest(app, entry_named(app, skill).name)
        if not digest:
            raise RefusedError(f"{skill} cannot be pinned as it is now", rule="unpinned",
                          hint="an approval needs files that can be read and do not change")  # fmt: skip
        for pattern in parsed:
            app.sessions.approvals.add(skill, digest, pattern)
        line = f"{skill} may use {', '.join(parsed)} until it changes"
        return Result(data={"skill": skill, "allowed": parsed, "digest": digest}, lines=lambda _: (one_line(line),))
    change_list(app.paths.config_file, KEYS["policy.deny"], remove=parsed)
    change_list(app.paths.config_file, KEYS["policy.allow"], add=parsed)
    return Result(data={"allowed": parsed}, lines=lambda _: (one_line(f"skills that ask for it may use {', '.join(parsed)}"),))


@command("policy", "deny")
@click.argument("patterns", nargs=-1, metavar="PATTERN...")
@click.option("--skill", help="Take back what was approved for this skill; all of it without PATTERN.")
def deny(app: App, *, patterns: tuple[str, ...], skill: str | None) -> Result:
    """Forbid tool patterns for all skills, or take back what was approved for one."""
    parsed = [str(ToolPattern.parse(pattern)) for pattern in patterns]
    if skill:
        removed = (
            sum(app.sessions.approvals.remove(skill, pattern) for pattern in parsed)
            if parsed
            else app.sessions.approvals.remove(skill)
        )
        line = f"{removed} approvals of {skill} were taken back"
        return Result(data={"skill": skill, "removed": removed}, lines=lambda _: (one_line(line),))
    if not parsed:
        raise UsageError("name a pattern, or a skill with --skill", hint="such as `metier policy deny Network`")
    change_list(app.paths.config_file, KEYS["policy.allow"], remove=parsed)
    change_list(app.paths.config_file, KEYS["policy.deny"], add=parsed)
    return Result(data={"denied": parsed}, lines=lambda _: (one_line(f"no skill may use {', '.join(parsed)}"),))


def ask_on_terminal() -> ApprovalHook | None:
    """A hook that asks the person at the terminal; None where there is none, and then what must be asked is refused."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: Question) -> ApprovalAnswer:
        text = one_line(f"{question.skill} wants to use {question.request} ({question.reason}). Allow it?")
        answer = click.prompt(f"{text} [o]nce, [a]lways, [n]o", default="n", show_default=False, err=True)
        return {
            "o": ApprovalAnswer.ONCE,
            "once": ApprovalAnswer.ONCE,
            "a": ApprovalAnswer.ALWAYS,
            "always": ApprovalAnswer.ALWAYS,
        }.get(str(answer).lower(), ApprovalAnswer.NO)

    return ask


def _digest(app: App, name: str) -> str:
    try:
        entry = entry_named(app, name)
        # What another server has is pinned by its listing: nothing is fetched to be approved.
        return app.remote_servers.files(entry).digest if entry.source is Source.MCP else digest(DiskFiles(entry.folder))
    except MetierError:
        return ""
