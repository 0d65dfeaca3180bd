"""A model's call of a tool, by name and with the arguments as the model wrote them.

A model's mistakes are replies that it can read, never exceptions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from metier.errors import MetierError, ToolFailedError
from metier.runtime.tool_errors import BadArgumentsError, error_text
from metier.spec import Json

from .tool import Tool, ToolReply

__all__ = ["UnknownToolError", "call_tool", "error_reply", "read_arguments"]


class UnknownToolError(ToolFailedError, LookupError):
    code = "unknown-tool"
    exit_status = 3


async def call_tool(
    tools: Mapping[str, Tool], name: str, arguments: str | Mapping[str, Json] | None, *, id: str = ""  # noqa: A002
) -> ToolReply:  # fmt: skip
    """Calls the tool of that name. An unknown name, bad arguments and a failure of the tool's code become replies."""
    tool = tools.get(name)
    if tool is None:
        hint = f"the tools are {', '.join(sorted(tools))}" if tools else "call no tool"
        return error_reply(UnknownToolError(f"there is no tool {name!r}", hint=hint))
    try:
        return await tool.call(read_arguments(arguments), id=id)
    except MetierError as error:
        return error_reply(error)
    except Exception as error:  # a toolset's own code
        return error_reply(ToolFailedError(f"{name} failed: {type(error).__name__}: {error}", hint="try another way"))


def read_arguments(arguments: str | Mapping[str, Json] | None) -> dict[str, Json]:
    """Returns the arguments of a call as an object. BadArgumentsError for what is not one: models send broken JSON too."""
    if not isinstance(arguments, str):
        return dict(arguments or {})
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        raise BadArgumentsError(f"the arguments are not JSON: {error}", hint="send one JSON object") from None
    if not isinstance(value, dict):
        raise BadArgumentsError("the arguments are not a JSON object", hint="send one JSON object")
    return value


def error_reply(error: MetierError) -> ToolReply:
    return ToolReply(text=error_text(error), ok=False, code=error.code)
