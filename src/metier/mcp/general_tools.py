"""The general tools for clients of the server: one session for all of them, in the user's folder."""

from __future__ import annotations

from metier.runtime import Session, Tool, ToolFunction, ToolReply, general_tools, in_thread
from metier.spec import Json
from metier.values import replace

from .script_slots import ScriptSlots

__all__ = ["served_general_tools"]


def served_general_tools(session: Session) -> tuple[Tool, ...]:
    """Returns the tools. No user is there to be asked about changes, so a writable workspace takes them after each call."""
    slots = ScriptSlots()
    return tuple(
        replace(tool, function=_served(session, tool.function, slots)) for tool in general_tools(session, is_static=True)
    )


def _served(session: Session, function: ToolFunction, slots: ScriptSlots) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        async with slots.slot():
            reply = await function(arguments)
            workspace = session.workspace
            if workspace is None or not workspace.write:
                return reply
            result = await in_thread(workspace.apply)
        notes = [f"[{change.path} was not applied: {reason}]" for change, reason in result.refused]
        return replace(reply, text="\n".join([reply.text, *notes])) if notes else reply

    return call
