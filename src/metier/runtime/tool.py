"""The one neutral tool: a name, a description, a JSON schema and something to await. Every adapter makes its
framework's tool of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from metier.disclosure.neutral import instructions_text, one_line
from metier.errors import MetierError, ToolFailedError
from metier.spec import Json

from .mistakes import told
from .outcome import Outcome
from .schema import Schema, check

__all__ = ["Called", "Reply", "Tool", "Work"]

_LONGEST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a tool answers. The text is for the model; the rest is for programs."""

    text: str
    ok: bool = True
    code: str = ""
    """Of the error that the text tells about."""
    outcome: Outcome | None = None
    """Where a script ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One call, for whoever counts them."""

    tool: str
    skill: str = ""
    resource: str = ""
    duration: float = 0.0
    error: str = ""


Work = Callable[[dict[str, Json]], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    description: str
    schema: Schema
    """Of the arguments, which are always one object."""
    work: Work
    skill: str = ""
    """The skill that brought it; empty for those of the session itself."""
    resource: str = ""
    """The script that it is, where it is one."""
    noticed: Callable[[Called], None] = lambda _: None

    async def call(self, arguments: Mapping[str, Json] | None = None) -> Reply:
        """Never raises for what a model did wrong: that is told as text, and the session goes on."""
        started = time.perf_counter()
        given = dict(arguments or {})
        try:
            check(given, self.schema)
            reply = await self.work(given)
        except MetierError as error:
            reply = Reply(text=told(error), ok=False, code=error.code)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            failed = ToolFailedError(f"{self.name} could not reach a file: {why}", hint="try again, or go on without it")
            reply = Reply(text=told(failed), ok=False, code=failed.code)
        self.noticed(Called(
            tool=self.name, skill=self.skill or _named(given, "skill_name"),
            resource=self.resource or _named(given, "resource_name") or _named(given, "script_name"),
            duration=time.perf_counter() - started, error=reply.code,
        ))  # fmt: skip
        return reply


def described(text: str) -> str:
    """A sentence from a skill as the description of a tool: one line that no prompt structure hides in."""
    line = instructions_text(one_line(text))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def described_schema(schema: Schema) -> Schema:
    """The same schema with every text in it made safe."""
    return {key: _safe(value) for key, value in schema.items()}


def _safe(value: Json) -> Json:
    if isinstance(value, str):
        return described(value)
    if isinstance(value, dict):
        return {key: _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list) else value


def _named(arguments: Mapping[str, Json], key: str) -> str:
    value = arguments.get(key)
    return value if isinstance(value, str) else ""
