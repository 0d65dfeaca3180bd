"""`metier policy`: permissions of skills on this machine, and the prompt that asks the user for one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.catalog import Source
from metier.config import KEYS, change_list
from metier.errors import MetierError, RefusedError, UsageError
from metier.runtime import ApprovalAnswer, ApprovalHook, Question, ToolPattern, approval_digest, is_secret_name
from metier.sources import DiskFiles
from metier.spec import parse_host

from .completion import skill_names
from .core.approval import APPROVAL_HELP, APPROVAL_PROMPT, question_lines, read_approval
from .core.dispatch import command
from .core.result import Result
from .core.skill_argument import entry_named
from .core.terminal import Terminal, one_line, pad, plural

__all__ = ["allow", "ask_on_terminal", "deny", "show"]

_DEFAULTS = ("scripts", "network", "secrets", "toolsets", "tools")


@command("policy", "show")
def show(app: App) -> Result:
    """Show the permissions of skills: patterns, defaults, and approvals for single skills.

    An approval expires when its skill changes.
    """
    settings = app.settings
    app.sessions.permissions()  # raises an error for an invalid setting
    defaults = {name: settings[f"policy.{name}"].value for name in _DEFAULTS}
    approvals = [
        {"skill": each.skill, "pattern": each.pattern, "valid": _digest(app, each.skill) == each.digest}
        for each in app.sessions.approvals.all
    ]
    data: dict[str, Any] = {
        "allow": list(settings.strings("policy.allow")),
        "deny": list(settings.strings("policy.deny")),
        **defaults,
        "sandbox": settings["sandbox.require"].value,
        "approvals": approvals,
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        for name in ("deny", "allow"):
            for pattern in data[name]:
                yield f"{terminal.paint(pad(name, 9), 'bold')} {one_line(pattern)}"
        for name, verdict in defaults.items():
            yield f"{terminal.paint(pad(name, 9), 'bold')} {one_line(str(verdict))}"
        yield f"{terminal.paint(pad('sandbox', 9), 'bold')} at least {one_line(str(data['sandbox']))}"
        for each in approvals:
            expired = "" if each["valid"] else terminal.paint("  expired: the skill has changed", "yellow")
            what = one_line(f"{each['skill']}: {each['pattern']}")
            yield f"{terminal.paint(pad('approved', 9), 'bold')} {what}{expired}"

    return Result(data=data, lines=lines)


@command("policy", "allow")
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@click.option("--skill", help="Only for the current version of this skill.", shell_complete=skill_names)
def allow(app: App, *, patterns: tuple[str, ...], skill: str | None) -> Result:
    """Allow tool patterns for all skills that request them, or for one skill.

    A pattern is Read, Bash(git status), Bash(git add:*), Script(scripts/*), Network(api.example.com), Secret(API_KEY) or
    Toolset.
    """
    parsed = [str(_parse(pattern)) for pattern in patterns]
    if skill:
        digest = _digest(app, entry_named(app, skill).name)
        if not digest:
            raise RefusedError(
                f"cannot approve {skill}: its files have no digest",
                rule="unpinned",
                hint="check that all its files can be read",
            )
        for pattern in parsed:
            app.sessions.approvals.add(skill, digest, pattern)
        line = f"Allowed for {skill} until it changes: {', '.join(parsed)}"
        return Result(data={"skill": skill, "allowed": parsed, "digest": digest}, lines=lambda _: (one_line(line),))
    change_list(app.paths.config_file, KEYS["policy.deny"], remove=parsed)
    change_list(app.paths.config_file, KEYS["policy.allow"], add=parsed)
    return Result(data={"allowed": parsed}, lines=lambda _: (one_line(f"Allowed: {', '.join(parsed)}"),))


@command("policy", "deny")
@click.argument("patterns", nargs=-1, metavar="PATTERN...")
@click.option("--skill", help="Remove approvals of this skill; all of them without PATTERN.", shell_complete=skill_names)
def deny(app: App, *, patterns: tuple[str, ...], skill: str | None) -> Result:
    """Forbid tool patterns for all skills, or remove approvals of one skill."""
    parsed = [str(_parse(pattern)) for pattern in patterns]
    if skill:
        removed = app.sessions.approvals.remove(skill, parsed)
        line = f"Removed {plural(removed, 'approval')} of {skill}"
        return Result(data={"skill": skill, "removed": removed}, lines=lambda _: (one_line(line),))
    if not parsed:
        raise UsageError("name a pattern, or a skill with --skill", hint="for example `metier policy deny Network`")
    change_list(app.paths.config_file, KEYS["policy.allow"], remove=parsed)
    change_list(app.paths.config_file, KEYS["policy.deny"], add=parsed)
    return Result(data={"denied": parsed}, lines=lambda _: (one_line(f"Denied: {', '.join(parsed)}"),))


def _parse(text: str) -> ToolPattern:
    """Parses a pattern. Raises UsageError for a host that is none, and for variables, which are no tools."""
    pattern = ToolPattern.parse(text)
    argument = pattern.argument or ""
    if pattern.tool.casefold() in ("env", "environment", "variable"):
        name = argument or "NAME"
        other = "" if is_secret_name(name) else f", or `metier config set sandbox.environment {name}`"
        raise UsageError(f"{pattern.tool} is not a tool; environment variables are secrets or settings",
                         hint=f"run `metier secret set {name}`{other}")  # fmt: skip
    if pattern.tool == "Network" and argument not in ("", "*"):
        for host in argument.split(","):
            parse_host(host)
    return pattern


def ask_on_terminal() -> ApprovalHook | None:
    """Returns a hook that asks the user at the terminal, or None without a terminal: what must be asked is then refused."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: Question) -> ApprovalAnswer:
        click.echo("\n".join(question_lines(question)), err=True)
        while True:
            typed = click.prompt(APPROVAL_PROMPT, default="", show_default=False, prompt_suffix="", err=True)
            answer = read_approval(str(typed))
            if answer is not None:
                return answer
            click.echo("\n".join(APPROVAL_HELP), err=True)

    return ask


def _digest(app: App, name: str) -> str:
    try:
        entry = entry_named(app, name)
        # A skill on another server is pinned by its listing, so nothing is downloaded.
        return (
            app.remote_servers.files(entry).digest if entry.source is Source.MCP else approval_digest(DiskFiles(entry.folder))
        )
    except MetierError:
        return ""
