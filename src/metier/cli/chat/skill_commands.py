"""Slash commands about skills: `/skills`, `/skill`, `/unskill`, `/tools` and `/why`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from metier.catalog import Entry
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, plural, truncate
from metier.errors import MetierError, UsageError
from metier.runtime import Session
from metier.selection import Match
from metier.spec import first_sentence

from .conversation import Conversation, SlashResult
from .table import table

__all__ = ["activate", "list_skills", "list_tools", "skill", "unskill", "why"]

_PAGE = 30
_PAIR = re.compile(r"([A-Za-z_][\w-]*)=(.*)", re.DOTALL)


def list_skills(conversation: Conversation, rest: str) -> SlashResult:
    """`/skills` is the first page, `/skills 2` the second, `/skills pdf` those with that word."""
    session = conversation.engine.session
    session.refresh()
    active = session.active_names
    number, words = _page_and_words(rest)
    entries = sorted(
        (entry for entry in session.catalog if _has_words(entry, words)), key=lambda entry: entry.name not in active
    )
    pages = max(1, -(-len(entries) // _PAGE))
    if not entries:
        none = f"No skill mentions {' '.join(words)!r}" if words else "No skills. Create one with `metier skill create`."
        return SlashResult(lines=(one_line(none),))
    if number > pages:
        raise UsageError(f"there is no page {number}", hint=f"/skills has {plural(pages, 'page')}")
    shown = entries[(number - 1) * _PAGE : number * _PAGE]
    rows = [(f"{'●' if entry.name in active else ' '} {entry.name}", first_sentence(entry.description)) for entry in shown]
    following = " ".join(["/skills", *words, str(number + 1)])
    more = f"; {following} has the next" if number < pages else ""
    page = f"Page {number} of {pages}, {plural(len(entries), 'skill')}{more}. " if pages > 1 else ""
    hint = conversation.terminal.paint(one_line(f"{page}Use /skill NAME to activate one"), "dim")
    return SlashResult(lines=(*table(conversation.terminal, rows), hint))


def _page_and_words(rest: str) -> tuple[int, list[str]]:
    words = rest.lower().split()
    return (int(words[-1]) or 1, words[:-1]) if words and re.fullmatch(r"\d{1,4}", words[-1]) else (1, words)


def _has_words(entry: Entry, words: list[str]) -> bool:
    text = f"{entry.name} {entry.description}".lower()
    return all(word in text for word in words)


def skill(conversation: Conversation, rest: str) -> SlashResult:
    name, _, arguments = rest.partition(" ")
    if not name:
        raise UsageError("the name of a skill is missing", hint="/skills lists them")
    conversation.engine.session.refresh()
    return activate(conversation, name, arguments.strip(), send=False)


def activate(conversation: Conversation, name: str, rest: str, *, send: bool = True) -> SlashResult:
    """Activates a skill with its parameters and arguments. `/name words` also sends the words as a message."""
    session = conversation.engine.session
    parameters, arguments = _parameters(session, name, rest)
    activation = session.activate(name, arguments=arguments, parameters=parameters)
    evicted = f"; {', '.join(activation.evicted)} deactivated to make room" if activation.evicted else ""
    line = conversation.terminal.paint(one_line(f"● {name} is active ({plural(activation.tokens, 'token')}){evicted}"), "green")
    return SlashResult(lines=(line, *map(one_line, activation.warnings)), message=arguments if send else "")


def _parameters(session: Session, name: str, rest: str) -> tuple[dict[str, str], str]:
    """Splits `city=Paris the words` of a skill with parameters. Without any, all of it is the arguments."""
    try:
        declared = session.skills.skill(name).manifest.extensions.parameters
    except MetierError:
        return {}, rest  # activating it says why
    given: dict[str, str] = {}
    while declared and rest:
        word = re.match(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", rest)
        pair = _PAIR.fullmatch(word[0]) if word else None
        if word is None or pair is None:
            break
        given[pair[1]] = "".join(shlex.split(pair[2]))
        rest = rest[word.end() :].lstrip()
    return given, rest


def unskill(conversation: Conversation, rest: str) -> SlashResult:
    if not rest:
        raise UsageError("which skill?", hint="/skills lists the active ones first")
    gone = conversation.engine.session.deactivate(rest)
    return SlashResult(lines=(one_line(f"○ {', '.join(gone)}: no longer active"),))


def list_tools(conversation: Conversation, _: str) -> SlashResult:
    rows = [(tool.name, tool.description) for tool in conversation.engine.tools()]
    return SlashResult(lines=tuple(table(conversation.terminal, rows)) or ("No tools, because there are no skills",))


def why(conversation: Conversation, _: str) -> SlashResult:
    return SlashResult(lines=tuple(_reasons(conversation)))


def _reasons(conversation: Conversation) -> Iterator[str]:
    terminal, selection = conversation.terminal, conversation.engine.selection
    session = conversation.engine.session
    chosen = {match.name for match in selection.selected} if selection else set()
    if selection is not None:
        failed = session.not_activated
        rows = [("✗" if match.name in failed else "✓", match) for match in selection.selected]
        rows += [("·", match) for match in selection.rejected[:5]]
        widest = max((cell_width(one_line(match.name)) for _, match in rows), default=0)
        for sign, match in rows:
            yield _scored(terminal, sign, match, widest)
            if sign == "✗":
                yield terminal.paint(one_line(f"  not activated: {failed[match.name]}"), "red")
        for match in selection.available[:3]:
            yield terminal.paint(one_line(f"not installed: {match.name}  {match.reason}"), "dim")
        if selection.note:
            yield terminal.paint(one_line(selection.note), "yellow")
        yield terminal.paint(f"of {plural(selection.considered, 'skill')}, for the last message", "dim")
    for row in session.active:
        if row.name not in chosen:
            yield f"● {one_line(row.name)}  active since {row.since.astimezone():%H:%M}, by {row.by}"
    if selection is None and not session.active:
        yield "No message yet, and no active skill"


def _scored(terminal: Terminal, sign: str, match: Match, widest: int) -> str:
    name = terminal.paint(pad(one_line(match.name), widest), "bold")
    space = terminal.width - widest - 11 if terminal.width else None
    colour = {"✓": "green", "✗": "red"}.get(sign, "dim")
    return f"{terminal.paint(sign, colour)} {name}  {match.confidence:4.0%}  {truncate(one_line(match.reason), space)}"
