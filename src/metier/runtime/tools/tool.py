"""The one neutral tool: a name, a description, a JSON schema and something to await. Every adapter makes its
framework's tool of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

from metier.disclosure import escape_instructions, one_line
from metier.errors import MetierError, ToolFailedError
from metier.runtime.script_run import Outcome
from metier.runtime.tool_errors import error_text
from metier.spec import Json
from metier.values import dataclass

from .schema import Schema, check_arguments

__all__ = ["CallRecord", "Tool", "ToolFunction", "ToolReply"]

_LONGEST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """What a tool answers. The text is for the model; the rest is for programs."""

    text: str
    ok: bool = True
    code: str = ""
    """Of the error that the text tells about."""
    outcome: Outcome | None = None
    """Where a script ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call, for whoever counts them."""

    tool: str
    skill: str = ""
    resource: str = ""
    duration: float = 0.0
    error: str = ""


ToolFunction = Callable[[dict[str, Json]], Awaitable[ToolReply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    description: str
    schema: Schema
    """Of the arguments, which are always one object."""
    work: ToolFunction
    skill: str = ""
    """The skill that brought it; empty for those of the session itself."""
    resource: str = ""
    """The script that it is, where it is one."""
    on_call: Callable[[CallRecord], None] = lambda _: None

    async def call(self, arguments: Mapping[str, Json] | None = None) -> ToolReply:
        """Never raises for what a model did wrong: that is told as text, and the session goes on."""
        started = time.perf_counter()
        given = dict(arguments or {})
        try:
            check_arguments(given, self.schema)
            reply = await self.work(given)
        except MetierError as error:
            reply = ToolReply(text=error_text(error), ok=False, code=error.code)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            failed = ToolFailedError(f"{self.name} could not reach a file: {why}", hint="try again, or go on without it")
            reply = ToolReply(text=error_text(failed), ok=False, code=failed.code)
        self.on_call(CallRecord(
            tool=self.name, skill=self.skill or _named(given, "skill_name"),
            resource=self.resource or _named(given, "resource_name") or _named(given, "script_name"),
            duration=time.perf_counter() - started, error=reply.code,
        ))  # fmt: skip
        return reply


def safe_description(text: str) -> str:
    """A sentence from a skill as the description of a tool: one line that no prompt structure hides in."""
    line = escape_instructions(one_line(text))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def safe_schema(schema: Schema) -> Schema:
    """The same schema with every text in it made safe."""
    return {key: _safe(value) for key, value in schema.items()}


def _safe(value: Json) -> Json:
    if isinstance(value, str):
        return safe_description(value)
    if isinstance(value, dict):
        return {key: _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list) else value


def _named(arguments: Mapping[str, Json], key: str) -> str:
    value = arguments.get(key)
    return value if isinstance(value, str) else ""
