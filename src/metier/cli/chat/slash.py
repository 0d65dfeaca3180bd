"""What can be typed besides a message: `/skills`, `/why`, a project's own commands, a skill's name.

Every command answers with lines, so it does the same on a terminal, in a pipe and as JSON.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict

from metier.agents import AgentEngine, SlashCommand
from metier.agents.conversations import to_markdown
from metier.agents.events import ModelUsage
from metier.app import App
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, truncate
from metier.errors import ConflictError, MetierError, UsageError, nearest
from metier.runtime import ApprovalHook
from metier.selection import Match
from metier.sources import replace_text
from metier.spec import first_sentence
from metier.values import dataclass

__all__ = ["COMMANDS", "Conversation", "SlashResult", "money"]

_WORD = re.compile(r"/([\w][\w:.-]*)(?:\s+|$)")
_MOST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashResult:
    """What came of something that was typed."""

    lines: tuple[str, ...] = ()
    message: str = ""
    """For the model."""
    leave: bool = False


class Conversation:
    """A conversation and what it can be told to do."""

    def __init__(
        self, app: App, *, agent: str = "", model: str | None = None, session: str | None = None,
        variables: Mapping[str, str] | None = None, commands: Mapping[str, SlashCommand] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.app, self.agent, self.model = app, agent, model
        self.variables = dict(variables or {})
        self.commands = commands or {}
        self.warnings = warnings
        self.terminal = Terminal()
        self.approve: ApprovalHook | None = None
        self._wanted = session
        self._engine: AgentEngine | None = None
        self._name = ""
        self._making = threading.Lock()

    @property
    def engine(self) -> AgentEngine:
        """Made when it is first needed: showing a prompt needs none. Once, also when it is made ready behind the prompt."""
        with self._making:
            if self._engine is None:
                self._engine = self.app.conversations.engine(
                    self._wanted, agent=self.agent, model=self.model, approve=self.approve, variables=self.variables
                )
                self._wanted, self._name = self._engine.id, self._engine.model_name
            return self._engine

    @property
    def started(self) -> AgentEngine | None:
        return self._engine

    @property
    def session(self) -> str | None:
        """The id of the conversation, once there is one."""
        return self._wanted

    @property
    def model_name(self) -> str:
        return self._engine.model_name if self._engine is not None else self._name

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.close()
            self._engine = None

    async def entered(self, text: str) -> SlashResult:
        """Commands are done here; a message is handed back."""
        found = _WORD.match(text)
        if not found:
            return SlashResult(message=text)
        name, rest = found[1], text[found.end() :].strip()
        try:
            if name in COMMANDS:
                answer = COMMANDS[name].work(self, rest)
                return answer if isinstance(answer, SlashResult) else await answer
            if name in self.commands:
                return SlashResult(message=self.commands[name].filled(rest))
            if name in self.engine.session.catalog:
                return _activated(self, name, rest)
        except MetierError as error:
            return SlashResult(lines=(self.terminal.paint(one_line(f"{error}; {error.hint}"), "red"),))
        near = nearest(name, [*COMMANDS, *self.commands])
        hint = f"did you mean /{near}?" if near else "/help lists what there is"
        return SlashResult(lines=(self.terminal.paint(one_line(f"there is no command and no skill {name!r}; {hint}"), "red"),))

    async def switch(self, session: str | None, *, agent: str | None = None) -> None:
        await self.close()
        self._wanted = session
        self.agent = self.agent if agent is None else agent


Work = Callable[[Conversation, str], SlashResult | Awaitable[SlashResult]]


@dataclass(frozen=True, slots=True)
class Slash:
    usage: str
    about: str
    work: Work


def _help(talk: Conversation, _: str) -> SlashResult:
    rows = [(each.usage, each.about) for each in COMMANDS.values()]
    rows += [(f"/{name}", command.description) for name, command in talk.commands.items()]
    rows += [("/NAME, $NAME", "activate the skill of that name")]
    return SlashResult(lines=tuple(_table(talk.terminal, rows)))


def _skills(talk: Conversation, _: str) -> SlashResult:
    session = talk.engine.session
    active = session.active_names
    entries = sorted(session.catalog, key=lambda entry: entry.name not in active)
    rows = [
        (f"{'●' if entry.name in active else ' '} {entry.name}", first_sentence(entry.description)) for entry in entries[:_MOST]
    ]
    more = [f"{len(entries) - _MOST:,} more; `metier skill list` has them all"] if len(entries) > _MOST else []
    return SlashResult(lines=(*_table(talk.terminal, rows), *more) or ("there is no skill; `metier skill create` makes one",))


def _skill(talk: Conversation, rest: str) -> SlashResult:
    name, _, arguments = rest.partition(" ")
    if not name:
        raise UsageError("which skill?", hint="/skills lists them")
    return _activated(talk, name, arguments.strip(), says=False)


def _activated(talk: Conversation, name: str, arguments: str, *, says: bool = True) -> SlashResult:
    """`/name words` also says the words: they are what the skill is wanted for."""
    activation = talk.engine.session.activate(name, arguments=arguments)
    left = f"; {', '.join(activation.evicted)} left to make room" if activation.evicted else ""
    line = talk.terminal.paint(one_line(f"● {name} is active ({activation.tokens:,} tokens){left}"), "green")
    return SlashResult(lines=(line, *map(one_line, activation.warnings)), message=arguments if says else "")


def _unskill(talk: Conversation, rest: str) -> SlashResult:
    if not rest:
        raise UsageError("which skill?", hint="/skills lists the active ones first")
    gone = talk.engine.session.deactivate(rest)
    return SlashResult(lines=(one_line(f"○ {', '.join(gone)}: no longer active"),))


def _tools(talk: Conversation, _: str) -> SlashResult:
    rows = [(tool.name, tool.description) for tool in talk.engine.tools()]
    return SlashResult(lines=tuple(_table(talk.terminal, rows)) or ("the model has no tools: there is no skill",))


def _why(talk: Conversation, _: str) -> SlashResult:
    return SlashResult(lines=tuple(_reasons(talk)))


def _reasons(talk: Conversation) -> Iterator[str]:
    terminal, selection = talk.terminal, talk.engine.selection
    chosen = {match.name for match in selection.selected} if selection else set()
    if selection is not None:
        rows = [("✓", match) for match in selection.selected] + [("·", match) for match in selection.rejected[:5]]
        widest = max((cell_width(one_line(match.name)) for _, match in rows), default=0)
        for sign, match in rows:
            yield _scored(terminal, sign, match, widest)
        yield terminal.paint(f"of {selection.considered:,} skills, for the last message", "dim")
    for row in talk.engine.session.active:
        if row.name not in chosen:
            yield f"● {one_line(row.name)}  active since {row.since.astimezone():%H:%M}, by {row.by}"
    if selection is None and not talk.engine.session.active:
        yield "no message was said yet, and no skill is active"


def _scored(terminal: Terminal, sign: str, match: Match, widest: int) -> str:
    name = terminal.paint(pad(one_line(match.name), widest), "bold")
    room = terminal.width - widest - 11 if terminal.width else None
    colour = "green" if sign == "✓" else "dim"
    return f"{terminal.paint(sign, colour)} {name}  {match.confidence:4.0%}  {truncate(one_line(match.reason), room)}"


def _usage(talk: Conversation, _: str) -> SlashResult:
    engine = talk.engine
    lines = [usage_line(engine.usage)]
    for name, used in engine.session.usage.items():
        if name:
            scripts = f"{used.runs} scripts ({used.seconds:.1f} s)"
            lines.append(f"  {one_line(name)}: {used.activations} activations, {used.tokens:,} tokens, {scripts}")
    return SlashResult(lines=tuple(lines))


def usage_line(usage: ModelUsage) -> str:
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    price = f", {money(usage.cost)}" if usage.cost is not None else ""
    return (
        f"{usage.requests} requests, {usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out, "
        f"{usage.calls} tool calls{price}"
    )


def money(cost: float) -> str:
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def _save(talk: Conversation, rest: str) -> SlashResult:
    engine = talk.engine
    chat, turns = talk.app.conversations.store.get(engine.id), talk.app.conversations.store.turns(engine.id)
    name = rest or f"chat-{engine.id}.md"
    file = os.path.join(talk.app.folder, os.path.expanduser(name))
    if os.path.lexists(file):
        raise ConflictError(f"{name!r} exists already", hint="say another name: /save FILE")
    replace_text(file, exported(talk.app, engine.id) if name.endswith(".json") else to_markdown(chat, turns))
    return SlashResult(lines=(one_line(f"saved {len(turns)} turns to {name}"),))


def exported(app: App, chat: str) -> str:
    """A whole conversation as JSON."""
    turns = [
        {"number": turn.number, "started": turn.started.isoformat(), "message": turn.message, "answer": turn.answer,
         "status": turn.status, "reason": turn.reason, "active": list(turn.active), "usage": asdict(turn.usage),
         "messages": json.loads(turn.messages)}
        for turn in app.conversations.store.turns(chat)
    ]  # fmt: skip
    found = app.conversations.store.get(chat)
    head = {"id": found.id, "title": found.title, "created": found.created.isoformat(), "agent": found.agent,
            "version": found.version, "model": found.model}  # fmt: skip
    return json.dumps({**head, "turns": turns}, ensure_ascii=False, indent=2) + "\n"


async def _resume(talk: Conversation, rest: str) -> SlashResult:
    if not rest:
        chats = talk.app.conversations.store.recent(10)
        rows = [(chat.id, f"{chat.updated.astimezone():%Y-%m-%d %H:%M}  {chat.title}") for chat in chats]
        return SlashResult(
            lines=(*_table(talk.terminal, rows), "/resume ID goes on with one") if rows else ("nothing was said yet",)
        )
    chat = talk.app.conversations.store.get(rest)
    await talk.switch(chat.id, agent=chat.agent)
    return SlashResult(lines=tuple(resumed(talk)))


def resumed(talk: Conversation) -> Iterator[str]:
    """Where a conversation was left."""
    turns = talk.app.conversations.store.turns(talk.engine.id)
    if not turns:
        return
    last = turns[-1]
    active = ", ".join(talk.engine.session.active_names) or "none"
    yield talk.terminal.paint(one_line(f"{len(turns)} turns so far; active skills: {active}"), "dim")
    yield f"> {truncate(one_line(last.message), talk.terminal.width)}"
    if last.status is None:
        yield talk.terminal.paint("this turn was not finished; say it again if you still want it", "yellow")
    else:
        yield one_line(last.answer or last.reason)


def _search(talk: Conversation, rest: str) -> SlashResult:
    if not rest:
        raise UsageError("what should be found?", hint="/search WORDS")
    found = talk.app.conversations.store.search(rest)
    rows = [(each.conversation, each.text) for each in found]
    return SlashResult(lines=tuple(_table(talk.terminal, rows)) or ("nobody has said that",))


async def _model(talk: Conversation, rest: str) -> SlashResult:
    if not rest:
        name = talk.engine.model_name or "none; set one with /model NAME or `metier config set model.name NAME`"
        return SlashResult(lines=(one_line(f"model: {name}"),))
    talk.model = rest
    await talk.switch(talk.engine.id)
    return SlashResult(lines=(one_line(f"model: {talk.engine.model_name}"),))


async def _new(talk: Conversation, _: str) -> SlashResult:
    await talk.switch(None)
    return SlashResult(lines=("a new conversation",))


def _leave(_: Conversation, __: str) -> SlashResult:
    return SlashResult(leave=True)


COMMANDS: dict[str, Slash] = {
    "skills": Slash("/skills", "list the skills, the active ones first", _skills),
    "skill": Slash("/skill NAME [WORDS]", "activate a skill", _skill),
    "unskill": Slash("/unskill NAME", "deactivate a skill", _unskill),
    "tools": Slash("/tools", "list what the model can call now", _tools),
    "why": Slash("/why", "say why these skills: scores and reasons", _why),
    "usage": Slash("/usage", "say what was used: tokens, cost, scripts", _usage),
    "save": Slash("/save [FILE]", "write the conversation to a Markdown or .json file", _save),
    "resume": Slash("/resume [ID]", "go on with an earlier conversation", _resume),
    "search": Slash("/search WORDS", "find what was said in any conversation", _search),
    "model": Slash("/model [NAME]", "show the model, or go on with another", _model),
    "new": Slash("/new", "begin a new conversation", _new),
    "help": Slash("/help", "this list", _help),
    "quit": Slash("/quit", "leave; Ctrl-D does too", _leave),
}


def _table(terminal: Terminal, rows: list[tuple[str, str]]) -> Iterator[str]:
    widest = max((cell_width(name) for name, _ in rows), default=0)
    for name, about in rows:
        room = terminal.width - widest - 3 if terminal.width else None
        yield f"{terminal.paint(pad(cell_text(name), widest), 'bold')}  {truncate(one_line(about), room)}".rstrip()


def cell_text(name: str) -> str:
    """One line, safe for a terminal, with the mark in front of it kept."""
    return f"  {one_line(name)}" if name.startswith("  ") else one_line(name)
