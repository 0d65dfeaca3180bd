"""The tools for hosts that know MCP but not the Skills extension.

A server cannot know what a model still remembers: hosts start new chats, compact old ones and share one server among
several. So every `load_skill` answers with the whole text, and no tool asks which skill was loaded before. That also
lets the list of tools stand still, which keeps a host's prompt cache warm.
"""

from __future__ import annotations

from collections.abc import Callable

from metier.catalog import Catalog
from metier.disclosure import escape_output, one_line
from metier.runtime import (
    ActivatedBy,
    Schema,
    Session,
    Tool,
    ToolFunction,
    ToolReply,
    in_thread,
    object_schema,
    read_file_text,
    script_reply,
)
from metier.spec import Json

from .script_slots import ScriptSlots
from .served_catalog import ServedCatalog

__all__ = ["OpenSession", "server_tools"]

OpenSession = Callable[[Catalog], Session]
"""Opens a session over a catalog that is not stored."""

_MOST_FOUND = 20
_MOST_NAMED = 500
"""Up to this many skills, the schema lists every name; beyond that the model searches."""


def server_tools(served: ServedCatalog, open_session: OpenSession, *, scripts: ScriptSlots | None) -> tuple[Tool, ...]:
    """Returns the tools for a model; none if there are no skills. Without slots, scripts are not offered."""
    names = served.for_models
    if not names:
        return ()
    session = open_session(served.catalog)
    # Each load has its own session: in a shared one, the second load would not return the text again.
    tools = [_search(session), _load(session, lambda: open_session(served.catalog), names), _read(session, names)]
    return (*tools, _run(session, names, scripts)) if scripts is not None else tuple(tools)


def _search(session: Session) -> Tool:
    async def work(arguments: dict[str, Json]) -> ToolReply:
        limit = arguments.get("limit")
        found = await in_thread(session.select, str(arguments["query"]), limit if isinstance(limit, int) else 5)
        lines = [f"- {one_line(match.name)}: {one_line(match.skill.description)}" for match in found.selected]
        return ToolReply(text=escape_output("\n".join(lines)) or "No skill matches.")

    properties: dict[str, Schema] = {
        "query": _text("What you want to do, in a sentence."),
        "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_FOUND, "default": 5},
    }
    about = "Find the skills that fit a task. Call it before a task that a skill may know better."
    return _tool(session, "search_skills", about, properties, ("query",), work)


def _load(session: Session, fresh: Callable[[], Session], names: tuple[str, ...]) -> Tool:
    async def work(arguments: dict[str, Json]) -> ToolReply:
        parameters = arguments.get("parameters")
        activation = await in_thread(
            fresh().activate, str(arguments["skill_name"]), by=ActivatedBy.MODEL,
            arguments=str(arguments.get("arguments") or ""), parameters=parameters if isinstance(parameters, dict) else None,
        )  # fmt: skip
        return ToolReply(text=activation.text)

    properties: dict[str, Schema] = {
        "skill_name": _names(names),
        "arguments": _text("What the user asked of the skill, where it takes arguments."),
        "parameters": {"type": "object", "description": "Values for the skill's declared parameters."},
    }
    about = "Load a skill: returns its instructions, which you then follow."
    return _tool(session, "load_skill", about, properties, ("skill_name",), work)


def _read(session: Session, names: tuple[str, ...]) -> Tool:
    async def work(arguments: dict[str, Json]) -> ToolReply:
        name, offset = str(arguments["skill_name"]), arguments.get("offset")
        # A skill that is closed to models does not exist for them.
        session.skills.entry(name, ActivatedBy.MODEL)
        text = await in_thread(
            read_file_text, session, name, str(arguments["resource_name"]), offset if isinstance(offset, int) else 0
        )
        return ToolReply(text=text)

    offset: Schema = {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "Where to start, in characters, to read on.",
    }
    properties: dict[str, Schema] = {
        "skill_name": _names(names),
        "resource_name": _text("Path relative to the skill's directory; a folder's name lists the folder."),
        "offset": offset,
    }
    about = "Read a file of a skill, or list one of its folders."
    return _tool(session, "read_skill_resource", about, properties, ("skill_name", "resource_name"), work)


def _run(session: Session, names: tuple[str, ...], slots: ScriptSlots) -> Tool:
    async def work(arguments: dict[str, Json]) -> ToolReply:
        name, script = str(arguments["skill_name"]), str(arguments["script_name"])
        session.skills.entry(name, ActivatedBy.MODEL)
        words, stdin = arguments.get("args"), arguments.get("stdin")
        async with slots.slot():
            outcome = await session.run_script(
                name,
                script,
                tuple(map(str, words)) if isinstance(words, list) else (),
                stdin=stdin if isinstance(stdin, str) else None,
            )
        return script_reply(name, script, outcome)

    properties: dict[str, Schema] = {
        "skill_name": _names(names),
        "script_name": _text("The script's path, such as scripts/chart.py."),
        "args": {"type": "array", "items": {"type": "string"}, "description": "The words of its command line, in order."},
        "stdin": _text("Its standard input; empty without."),
    }
    about = "Run a script of a skill in a sandbox and return what it printed."
    return _tool(session, "run_skill_script", about, properties, ("skill_name", "script_name"), work)


def _tool(
    session: Session, name: str, about: str, properties: dict[str, Schema], required: tuple[str, ...], work: ToolFunction
) -> Tool:
    return Tool(
        name=name, description=about, schema=object_schema(properties, required), function=work,
        follow=session.follow_call,
    )  # fmt: skip


def _names(names: tuple[str, ...]) -> Schema:
    if len(names) > _MOST_NAMED:
        return {"type": "string", "description": "The skill's exact name; search_skills finds it."}
    return {"type": "string", "enum": list(names)}


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}
