"""Slash commands: the table of them, the user's own Markdown commands, and names of skills.

Every command returns lines, so it works the same on a terminal, in a pipe and as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from metier.agents import ModelUsage
from metier.cli.core.terminal import one_line, plural, strip_control_chars
from metier.errors import MetierError, nearest
from metier.runtime import in_thread
from metier.values import dataclass

from . import skill_commands, stored_commands
from .conversation import Conversation, SlashResult
from .table import table

__all__ = ["COMMANDS", "enter", "money"]

_WORD = re.compile(r"/([\w][\w:.-]*)(?:\s+|$)")

RunCommand = Callable[[Conversation, str], SlashResult | Awaitable[SlashResult]]


@dataclass(frozen=True, slots=True)
class ChatCommand:
    usage: str
    about: str
    run: RunCommand


async def enter(conversation: Conversation, text: str) -> SlashResult:
    """Runs a slash command; other text is returned as a message for the model."""
    found = _WORD.match(text)
    if not found:
        return SlashResult(message=text)
    name, rest = found[1], text[found.end() :].strip()
    paint = conversation.terminal.paint
    try:
        if name in COMMANDS:
            # In a thread, where activating a skill may wait for the user's approval.
            answer = await in_thread(COMMANDS[name].run, conversation, rest)
            return answer if isinstance(answer, SlashResult) else await answer
        if name in conversation.commands:
            return SlashResult(message=conversation.commands[name].fill(rest))
        await in_thread(conversation.engine.session.refresh)
        if any(entry.name == name for entry in conversation.engine.session.catalog.entries):
            return await in_thread(skill_commands.activate, conversation, name, rest)
    except MetierError as error:
        return SlashResult(lines=(paint(one_line(f"{error}; {error.hint}"), "red"),))
    near = nearest(name, [*COMMANDS, *conversation.commands, *conversation.engine.session.catalog.names])
    hint = f"did you mean /{near}?" if near else "/help lists the commands"
    return SlashResult(lines=(paint(one_line(f"unknown command or skill {name!r}; {hint}"), "red"),))


def _help(conversation: Conversation, _: str) -> SlashResult:
    rows = [(each.usage, each.about) for each in COMMANDS.values()]
    rows += [(f"/{name}", command.description) for name, command in conversation.commands.items()]
    rows += [("/NAME, $NAME", "activate the skill of that name")]
    return SlashResult(lines=tuple(table(conversation.terminal, rows)))


def _prompt(conversation: Conversation, _: str) -> SlashResult:
    prompt = conversation.engine.prompt
    if prompt is None:
        return SlashResult(lines=("No message yet",))
    return SlashResult(lines=tuple(strip_control_chars(prompt.text).splitlines()))


def _usage(conversation: Conversation, _: str) -> SlashResult:
    engine = conversation.engine
    lines = [usage_line(engine.usage)]
    for name, used in engine.session.usage.items():
        if name:
            scripts = f"{plural(used.runs, 'script')} ({used.seconds:.1f} s)"
            lines.append(
                f"  {one_line(name)}: {plural(used.activations, 'activation')}, {plural(used.tokens, 'token')}, {scripts}"
            )
    return SlashResult(lines=tuple(lines))


def usage_line(usage: ModelUsage) -> str:
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    price = f", {money(usage.cost)}" if usage.cost is not None else ""
    return (
        f"{plural(usage.requests, 'request')}, {plural(usage.input_tokens, 'token')} in{cached}, {usage.output_tokens:,} out, "
        f"{plural(usage.calls, 'tool call')}{price}"
    )


def money(cost: float) -> str:
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


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
    "skills": ChatCommand("/skills [WORDS]", "list the skills, the active ones first", skill_commands.list_skills),
    "skill": ChatCommand("/skill NAME [PARAMETER=VALUE] [WORDS]", "activate a skill", skill_commands.skill),
    "unskill": ChatCommand("/unskill NAME", "deactivate a skill", skill_commands.unskill),
    "tools": ChatCommand("/tools", "list the tools that the model can call now", skill_commands.list_tools),
    "why": ChatCommand("/why", "explain why these skills were selected: scores and reasons", skill_commands.why),
    "prompt": ChatCommand("/prompt", "show the system prompt of the last message", _prompt),
    "usage": ChatCommand("/usage", "show usage: tokens, cost, scripts", _usage),
    "save": ChatCommand("/save [FILE]", "write the conversation to a Markdown or .json file", stored_commands.save),
    "resume": ChatCommand("/resume [ID]", "continue an earlier conversation", stored_commands.resume),
    "search": ChatCommand("/search WORDS", "search all conversations", stored_commands.search),
    "model": ChatCommand("/model [NAME]", "show the model, or switch to another", _model),
    "new": ChatCommand("/new", "start a new conversation", _new),
    "help": ChatCommand("/help", "show this list", _help),
    "quit": ChatCommand("/quit", "quit; Ctrl-D does too", _quit),
}
