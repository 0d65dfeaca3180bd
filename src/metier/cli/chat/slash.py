"""Slash commands: `/skills`, `/why`, the user's own Markdown commands, and names of skills.

Every command returns lines, so it works the same on a terminal, in a pipe and as JSON.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict

from metier.agents import AgentEngine, ModelUsage, SlashCommand, to_markdown
from metier.app import App
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, plural, truncate
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
    """The result of one input."""

    lines: tuple[str, ...] = ()
    message: str = ""
    """To be sent to the model."""
    quit: bool = False


class Conversation:
    """The conversation of a terminal or a pipe, with its slash commands."""

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
        self._session = session
        self._engine: AgentEngine | None = None
        self._name = ""
        self._building = threading.Lock()

    @property
    def engine(self) -> AgentEngine:
        """Built on first use, once, because the prompt is shown before and a background thread loads it."""
        with self._building:
            if self._engine is None:
                self._engine = self.app.conversations.engine(
                    self._session, agent=self.agent, model=self.model, approve=self.approve, variables=self.variables
                )
                self._session, self._name = self._engine.id, self._engine.model_name
            return self._engine

    @property
    def started(self) -> AgentEngine | None:
        return self._engine

    @property
    def session(self) -> str | None:
        """The id of the conversation, once there is one."""
        return self._session

    @property
    def model_name(self) -> str:
        return self._engine.model_name if self._engine is not None else self._name

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.close()
            self._engine = None

    async def enter(self, text: str) -> SlashResult:
        """Runs a slash command; other text is returned as a message for the model."""
        found = _WORD.match(text)
        if not found:
            return SlashResult(message=text)
        name, rest = found[1], text[found.end() :].strip()
        try:
            if name in COMMANDS:
                answer = COMMANDS[name].run(self, rest)
                return answer if isinstance(answer, SlashResult) else await answer
            if name in self.commands:
                return SlashResult(message=self.commands[name].fill(rest))
            if name in self.engine.session.catalog:
                return _activate(self, name, rest)
        except MetierError as error:
            return SlashResult(lines=(self.terminal.paint(one_line(f"{error}; {error.hint}"), "red"),))
        near = nearest(name, [*COMMANDS, *self.commands])
        hint = f"did you mean /{near}?" if near else "/help lists the commands"
        return SlashResult(lines=(self.terminal.paint(one_line(f"unknown command or skill {name!r}; {hint}"), "red"),))

    async def switch(self, session: str | None, *, agent: str | None = None) -> None:
        await self.close()
        self._session = session
        self.agent = self.agent if agent is None else agent


RunCommand = Callable[[Conversation, str], SlashResult | Awaitable[SlashResult]]


@dataclass(frozen=True, slots=True)
class ChatCommand:
    usage: str
    about: str
    run: RunCommand


def _help(conversation: Conversation, _: str) -> SlashResult:
    rows = [(each.usage, each.about) for each in COMMANDS.values()]
    rows += [(f"/{name}", command.description) for name, command in conversation.commands.items()]
    rows += [("/NAME, $NAME", "activate the skill of that name")]
    return SlashResult(lines=tuple(_table(conversation.terminal, rows)))


def _skills(conversation: Conversation, _: str) -> SlashResult:
    session = conversation.engine.session
    active = session.active_names
    entries = sorted(session.catalog, key=lambda entry: entry.name not in active)
    rows = [
        (f"{'●' if entry.name in active else ' '} {entry.name}", first_sentence(entry.description)) for entry in entries[:_MOST]
    ]
    more = [f"{len(entries) - _MOST:,} more; `metier skill list` has them all"] if len(entries) > _MOST else []
    return SlashResult(
        lines=(*_table(conversation.terminal, rows), *more) or ("No skills. Create one with `metier skill create`.",)
    )


def _skill(conversation: Conversation, rest: str) -> SlashResult:
    name, _, arguments = rest.partition(" ")
    if not name:
        raise UsageError("the name of a skill is missing", hint="/skills lists them")
    return _activate(conversation, name, arguments.strip(), send=False)


def _activate(conversation: Conversation, name: str, arguments: str, *, send: bool = True) -> SlashResult:
    """`/name words` also sends the words as a message."""
    activation = conversation.engine.session.activate(name, arguments=arguments)
    evicted = f"; {', '.join(activation.evicted)} deactivated to make room" if activation.evicted else ""
    line = conversation.terminal.paint(one_line(f"● {name} is active ({activation.tokens:,} tokens){evicted}"), "green")
    return SlashResult(lines=(line, *map(one_line, activation.warnings)), message=arguments if send else "")


def _unskill(conversation: Conversation, rest: str) -> SlashResult:
    if not rest:
        raise UsageError("which skill?", hint="/skills lists the active ones first")
    gone = conversation.engine.session.deactivate(rest)
    return SlashResult(lines=(one_line(f"○ {', '.join(gone)}: no longer active"),))


def _tools(conversation: Conversation, _: str) -> SlashResult:
    rows = [(tool.name, tool.description) for tool in conversation.engine.tools()]
    return SlashResult(lines=tuple(_table(conversation.terminal, rows)) or ("No tools, because there are no skills",))


def _why(conversation: Conversation, _: str) -> SlashResult:
    return SlashResult(lines=tuple(_reasons(conversation)))


def _reasons(conversation: Conversation) -> Iterator[str]:
    terminal, selection = conversation.terminal, conversation.engine.selection
    chosen = {match.name for match in selection.selected} if selection else set()
    if selection is not None:
        rows = [("✓", match) for match in selection.selected] + [("·", match) for match in selection.rejected[:5]]
        widest = max((cell_width(one_line(match.name)) for _, match in rows), default=0)
        for sign, match in rows:
            yield _scored(terminal, sign, match, widest)
        yield terminal.paint(f"of {plural(selection.considered, 'skill')}, for the last message", "dim")
    for row in conversation.engine.session.active:
        if row.name not in chosen:
            yield f"● {one_line(row.name)}  active since {row.since.astimezone():%H:%M}, by {row.by}"
    if selection is None and not conversation.engine.session.active:
        yield "No message yet, and no active skill"


def _scored(terminal: Terminal, sign: str, match: Match, widest: int) -> str:
    name = terminal.paint(pad(one_line(match.name), widest), "bold")
    space = terminal.width - widest - 11 if terminal.width else None
    colour = "green" if sign == "✓" else "dim"
    return f"{terminal.paint(sign, colour)} {name}  {match.confidence:4.0%}  {truncate(one_line(match.reason), space)}"


def _usage(conversation: Conversation, _: str) -> SlashResult:
    engine = conversation.engine
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


def _turns(count: int) -> str:
    return plural(count, "turn")


def money(cost: float) -> str:
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def _save(conversation: Conversation, rest: str) -> SlashResult:
    engine = conversation.engine
    chat, turns = conversation.app.conversations.store.get(engine.id), conversation.app.conversations.store.turns(engine.id)
    name = rest or f"chat-{engine.id}.md"
    file = os.path.join(conversation.app.folder, os.path.expanduser(name))
    if os.path.lexists(file):
        raise ConflictError(f"{name!r} exists already", hint="choose another name: /save FILE")
    text = export_json(conversation.app, engine.id) if name.endswith(".json") else to_markdown(chat, turns)
    replace_text(file, text, inside=conversation.app.paths.inside(file))
    return SlashResult(lines=(one_line(f"Saved {_turns(len(turns))} to {name}"),))


def export_json(app: App, chat: str) -> str:
    """The whole conversation as JSON."""
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


async def _resume(conversation: Conversation, rest: str) -> SlashResult:
    if not rest:
        chats = conversation.app.conversations.store.recent(10)
        rows = [(chat.id, f"{chat.updated.astimezone():%Y-%m-%d %H:%M}  {chat.title}") for chat in chats]
        return SlashResult(
            lines=(*_table(conversation.terminal, rows), "Continue one with /resume ID") if rows else ("No conversations",)
        )
    chat = conversation.app.conversations.store.get(rest)
    await conversation.switch(chat.id, agent=chat.agent)
    return SlashResult(lines=tuple(resume_lines(conversation)))


def resume_lines(conversation: Conversation) -> Iterator[str]:
    """The end of a conversation that is continued."""
    turns = conversation.app.conversations.store.turns(conversation.engine.id)
    if not turns:
        return
    last = turns[-1]
    active = ", ".join(conversation.engine.session.active_names) or "none"
    yield conversation.terminal.paint(one_line(f"{_turns(len(turns))} so far; active skills: {active}"), "dim")
    yield f"> {truncate(one_line(last.message), conversation.terminal.width)}"
    if last.status is None:
        yield conversation.terminal.paint("This turn was not finished; send the message again if you still need it", "yellow")
    else:
        yield one_line(last.answer or last.reason)


def _search(conversation: Conversation, rest: str) -> SlashResult:
    if not rest:
        raise UsageError("the search is empty", hint="/search WORDS")
    found = conversation.app.conversations.store.search(rest)
    rows = [(each.conversation, each.text) for each in found]
    return SlashResult(lines=tuple(_table(conversation.terminal, rows)) or ("No matches",))


async def _model(conversation: Conversation, rest: str) -> SlashResult:
    if not rest:
        name = conversation.engine.model_name or "none; set one with /model NAME or `metier config set model.name NAME`"
        return SlashResult(lines=(one_line(f"model: {name}"),))
    conversation.model = rest
    await conversation.switch(conversation.engine.id)
    return SlashResult(lines=(one_line(f"model: {conversation.engine.model_name}"),))


async def _new(conversation: Conversation, _: str) -> SlashResult:
    await conversation.switch(None)
    return SlashResult(lines=("New conversation",))


def _quit(_: Conversation, __: str) -> SlashResult:
    return SlashResult(quit=True)


COMMANDS: dict[str, ChatCommand] = {
    "skills": ChatCommand("/skills", "list the skills, the active ones first", _skills),
    "skill": ChatCommand("/skill NAME [WORDS]", "activate a skill", _skill),
    "unskill": ChatCommand("/unskill NAME", "deactivate a skill", _unskill),
    "tools": ChatCommand("/tools", "list the tools that the model can call now", _tools),
    "why": ChatCommand("/why", "explain why these skills were selected: scores and reasons", _why),
    "usage": ChatCommand("/usage", "show usage: tokens, cost, scripts", _usage),
    "save": ChatCommand("/save [FILE]", "write the conversation to a Markdown or .json file", _save),
    "resume": ChatCommand("/resume [ID]", "continue an earlier conversation", _resume),
    "search": ChatCommand("/search WORDS", "search all conversations", _search),
    "model": ChatCommand("/model [NAME]", "show the model, or switch to another", _model),
    "new": ChatCommand("/new", "start a new conversation", _new),
    "help": ChatCommand("/help", "show this list", _help),
    "quit": ChatCommand("/quit", "quit; Ctrl-D does too", _quit),
}


def _table(terminal: Terminal, rows: list[tuple[str, str]]) -> Iterator[str]:
    widest = max((cell_width(name) for name, _ in rows), default=0)
    for name, about in rows:
        space = terminal.width - widest - 3 if terminal.width else None
        yield f"{terminal.paint(pad(cell_text(name), widest), 'bold')}  {truncate(one_line(about), space)}".rstrip()


def cell_text(name: str) -> str:
    """Like `one_line`, but keeps the indentation of a mark."""
    return f"  {one_line(name)}" if name.startswith("  ") else one_line(name)
