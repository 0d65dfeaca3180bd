"""A tool for any framework: a name, a description, a JSON schema and an async function. Adapters convert it to theirs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from metier.disclosure import escape_instructions, one_line
from metier.errors import MetierError, ToolFailedError
from metier.runtime.operations import Operation, OperationKind
from metier.runtime.script_run import Outcome
from metier.runtime.tool_errors import error_text
from metier.spec import Json
from metier.values import dataclass

from .schema import Schema, check_arguments

__all__ = ["Tool", "ToolFunction", "ToolReply"]

_MAX_DESCRIPTION = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReply:
    """The reply of a tool. The text is for the model, the rest for programs."""

    text: str
    ok: bool = True
    code: str = ""
    """Of the error in the text; empty if the call succeeded."""
    outcome: Outcome | None = None
    """Of the script, if one ran."""
    summary: str = ""
    """The result in a few words, for a line on a terminal: `exit code 0, 1,204 bytes`."""


ToolFunction = Callable[[dict[str, Json]], Awaitable[ToolReply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    description: str
    schema: Schema
    """Of the arguments, always an object."""
    function: ToolFunction
    skill: str = ""
    """The skill that the tool belongs to; empty for tools of the session."""
    resource: str = ""
    """The path of the script, if the tool is one."""
    follow: Callable[[Operation], AbstractContextManager[object]] = nullcontext
    """Surrounds each call, to record it."""

    async def call(self, arguments: Mapping[str, Json] | None = None, *, id: str = "") -> ToolReply:  # noqa: A002
        """Calls the tool. Errors that a model can correct are returned as text, and the session continues.

        `id` is the model's own id of the call, for traces.
        """
        given = dict(arguments or {})
        operation = Operation(
            kind=OperationKind.TOOL, name=self.name, skill=self.skill or _text_argument(given, "skill_name"), call_id=id,
            resource=self.resource or _text_argument(given, "resource_name") or _text_argument(given, "script_name"),
        )  # fmt: skip
        with self.follow(operation):
            reply = await self._reply(given)
            operation.error = reply.code
        return reply

    async def _reply(self, arguments: dict[str, Json]) -> ToolReply:
        try:
            check_arguments(arguments, self.schema)
            return await self.function(arguments)
        except MetierError as error:
            return ToolReply(text=error_text(error), ok=False, code=error.code)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            failed = ToolFailedError(f"{self.name} cannot access a file: {reason}", hint="try again, or continue without it")
            return ToolReply(text=error_text(failed), ok=False, code=failed.code)


def safe_description(text: str) -> str:
    """Makes a text of a skill safe as the description of a tool: one line without prompt structure."""
    line = escape_instructions(one_line(text))
    return line if len(line) <= _MAX_DESCRIPTION else line[: _MAX_DESCRIPTION - 1] + "…"


def safe_schema(schema: Schema) -> Schema:
    """Makes every text in a schema safe."""
    return {key: _safe(value) for key, value in schema.items()}


def _safe(value: Json) -> Json:
    if isinstance(value, str):
        return safe_description(value)
    if isinstance(value, dict):
        return {key: _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list) else value


def _text_argument(arguments: Mapping[str, Json], key: str) -> str:
    value = arguments.get(key)
    return value if isinstance(value, str) else ""
