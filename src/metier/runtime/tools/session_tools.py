"""The tools by which a model uses a session: list_skills, search_skills, load_skill, read_skill_resource and others.

A tool that could do nothing is not offered: models call what they see, and `run_skill_script` without scripts leads to
invented calls. Names of skills are enums, so that a model does not send a wrong one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metier.disclosure import escape_output, escape_xml, one_line
from metier.errors import MetierError, NotFoundError, RefusedError, plural
from metier.runtime.activation import ActivatedBy
from metier.runtime.async_bridge import in_thread
from metier.runtime.policy.patterns import ToolRequest
from metier.runtime.scripts.run_script import ScriptRequest, run_script
from metier.runtime.scripts.script import script_paths
from metier.runtime.skill_access import body_of, files_for_model, origin_of
from metier.runtime.tool_errors import BadArgumentsError
from metier.selection import MatchDecision
from metier.spec import FileEntry, Json, Skill, first_sentence
from metier.values import replace

from .general.general_tools import general_tools
from .schema import Schema, object_schema
from .script_tools import script_reply, script_tools
from .tool import Tool, ToolFunction, ToolReply

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["read_file_text", "session_tools"]

_MAX_FOUND = 20
_MAX_LISTED = 200


def session_tools(session: Session) -> tuple[Tool, ...]:
    active = session.active_skills()
    tools = [*_catalog_tools(session), *_active_tools(session, active), *general_tools(session)]
    taken = {tool.name for tool in tools}
    for skill in active:
        for tool in _skill_tools(session, skill):
            # Two skills may have tools of the same name: the second one gets its skill's name as a prefix.
            name = tool.name if tool.name not in taken else f"{skill.name}_{tool.name}"[:64]
            if name not in taken:
                taken.add(name)
                tools.append(replace(tool, name=name))
    return tuple(tools)


def static_tools(session: Session) -> tuple[Tool, ...]:
    """Returns a fixed list of tools for hosts that read it only once. A call for an inactive skill returns an error."""
    entries = session.skills.for_models
    names = _skill_names(session, [entry.name for entry in entries])
    tools = list(_catalog_tools(session))
    if tools:
        about = "Deactivate a skill that is no longer needed."
        tools.append(_tool(session, "unload_skill", about, {"skill_name": names}, ("skill_name",), _unload(session)))
        tools.append(_read_tool(session, names))
    if session.services.runner is not None and any(os.path.isdir(f"{entry.folder}/scripts") for entry in entries):
        tools.append(_run_tool(session, names, _text("Path of the script, such as scripts/chart.py.")))
    return (*tools, *general_tools(session, is_static=True))


def _catalog_tools(session: Session) -> Iterator[Tool]:
    known = [entry.name for entry in session.skills.for_models]
    if not known:
        return
    yield _tool(session, "list_skills", "List the available skills and what each is for.", {}, (), _list(session))
    if session.selector is not None:
        limit: Schema = {"type": "integer", "minimum": 1, "maximum": _MAX_FOUND, "default": 5}
        properties = {"query": _text("What you want to do, in a sentence."), "limit": limit}
        yield _tool(session, "search_skills", "Find the skills that fit a task.", properties, ("query",), _search(session))
    parameters: Schema = {"type": "object", "description": "Values for the skill's declared parameters."}
    properties = {
        "skill_name": _skill_names(session, known),
        "arguments": _text("The user's request to the skill, if it takes arguments."),
        "parameters": parameters,
    }
    about = "Activate a skill: returns its instructions, which you then follow."
    yield _tool(session, "load_skill", about, properties, ("skill_name",), _load(session))


def _active_tools(session: Session, active: Sequence[Skill]) -> Iterator[Tool]:
    pinned = {row.name for row in session.active if row.pinned}
    unpinned = [skill.name for skill in active if skill.name not in pinned]
    if unpinned:
        about = "Deactivate a skill that is no longer needed."
        yield _tool(session, "unload_skill", about, {"skill_name": _enum(unpinned)}, ("skill_name",), _unload(session))
    files = {skill.name: skill.resources() for skill in active}
    readable = [skill.name for skill in active if files_for_model(files[skill.name]) or _is_trimmed(session, skill)]
    if readable:
        yield _read_tool(session, _enum(readable))
    scripts = {skill.name: _runnable(session, skill, files[skill.name]) for skill in active}
    if any(scripts.values()):
        paths = sorted({path for found in scripts.values() for path in found})
        yield _run_tool(session, _enum([name for name, found in scripts.items() if found]), _enum(paths))


def _runnable(session: Session, skill: Skill, files: Sequence[FileEntry]) -> tuple[str, ...]:
    if session.services.runner is None:
        return ()
    if origin_of(skill):
        # Reading the scripts of a remote skill would download them.
        return script_paths(skill, files)
    return tuple(script.path for script in session.scripts(skill) if not script.problem)


def _read_tool(session: Session, names: Schema) -> Tool:
    about = "Read a file of an active skill, or list one of its folders."
    path = _text("Path relative to the skill's directory; a folder's name lists the folder.")
    offset: Schema = {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "Where to start, in characters, to read on.",
    }
    properties = {"skill_name": names, "resource_name": path, "offset": offset}
    return _tool(session, "read_skill_resource", about, properties, ("skill_name", "resource_name"), _read(session))


def _run_tool(session: Session, names: Schema, paths: Schema) -> Tool:
    about = "Run a script of an active skill in a sandbox and return what it printed."
    words: Schema = {"type": "array", "items": {"type": "string"}, "description": "The words of its command line, in order."}
    properties = {
        "skill_name": names,
        "script_name": paths,
        "args": words,
        "stdin": _text("Standard input of the script; empty by default."),
    }
    return _tool(session, "run_skill_script", about, properties, ("skill_name", "script_name"), _run(session))


def _skill_tools(session: Session, skill: Skill) -> Iterator[Tool]:
    # Describing the scripts of a remote skill would download files that are not needed yet.
    if session.options.script_tools and session.services.runner is not None and not origin_of(skill):
        yield from script_tools(session, skill)
    session.load_toolsets(skill)
    is_denied = session.services.permissions.denies
    for function in session.toolsets.functions(skill.name):
        if is_denied(ToolRequest(tool=function.name)):
            continue
        yield Tool(
            name=function.name,
            description=function.description,
            schema=function.schema,
            skill=skill.name,
            follow=session.follow_call,
            function=_while_active(session, skill.name, function.call),
        )


def _is_trimmed(session: Session, skill: Skill) -> bool:
    """Returns True if the model got only a part of the instructions, with a note where the rest is."""
    return session.options.count(body_of(skill)) > session.options.instruction_tokens


def _while_active(session: Session, name: str, function: ToolFunction) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        session.active_skill(name)
        session.mark_used(name)
        return await function(arguments)

    return call


def _list(session: Session) -> ToolFunction:
    async def call(_: dict[str, Json]) -> ToolReply:
        active = session.active_names
        entries = session.skills.for_models
        lines = [
            f"- {one_line(entry.name)}{mark}: {one_line(first_sentence(entry.description))}"
            for entry in entries[:_MAX_LISTED]
            for mark in (" (active)" if entry.name in active else "",)
        ]
        if len(entries) > _MAX_LISTED:
            lines.append(f"{len(entries) - _MAX_LISTED:,} more skills are not listed; use search_skills.")
        return ToolReply(text=escape_output("\n".join(lines)))

    return call


def _search(session: Session) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        limit = arguments.get("limit")
        found = await in_thread(session.select, str(arguments["query"]), limit if isinstance(limit, int) else 5)
        if not found.selected and not found.available:
            return ToolReply(text="No skill matches.")
        lines = [f"- {one_line(match.name)}: {one_line(match.skill.description)}" for match in found.selected]
        offered = [match for match in found.available if match.decision is not MatchDecision.NOTHING]
        if offered:
            lines.append("Not installed, so you cannot load these; tell the user, who decides:")
        lines += [f"- {one_line(match.name)}: {one_line(match.skill.description)}" for match in offered]
        return ToolReply(text=escape_output("\n".join(lines)))

    return call


def _load(session: Session) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        parameters = arguments.get("parameters")
        activation = await in_thread(
            session.activate, str(arguments["skill_name"]), by=ActivatedBy.MODEL,
            arguments=str(arguments.get("arguments") or ""), parameters=parameters if isinstance(parameters, dict) else None,
        )  # fmt: skip
        return ToolReply(text=activation.text)

    return call


def _unload(session: Session) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        removed = await in_thread(session.deactivate, str(arguments["skill_name"]), by=ActivatedBy.MODEL)
        return ToolReply(
            text=f"Unloaded: {escape_output(one_line(', '.join(removed)))}. Do not follow its instructions any longer."
        )

    return call


def _read(session: Session) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        name, path = str(arguments["skill_name"]), str(arguments["resource_name"])
        session.active_skill(name)
        offset = arguments.get("offset")
        return ToolReply(text=await in_thread(read_file_text, session, name, path, offset if isinstance(offset, int) else 0))

    return call


def read_file_text(session: Session, name: str, path: str, offset: int) -> str:
    """Returns one file, or a part of it, as a model reads it. For a folder it returns the list of its files."""
    try:
        data = session.read(name, path)
    except (NotFoundError, RefusedError) as error:
        inside = session.resources(name, path) if not path.startswith("/") and ".." not in path else ()
        if inside:
            return _listing(inside)
        raise _missing(session, name, path, error) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadArgumentsError(
            f"{path!r} is not text ({plural(len(data), 'byte')})",
            hint="use it in a script, or by its path in the skill directory",
        ) from None
    most = session.options.resource_characters
    part = text[offset : offset + most]
    rest = len(text) - offset - len(part)
    more = f"\n[{plural(rest, 'more character')}; read on with offset {offset + len(part)}]" if rest > 0 else ""
    return (
        f'<skill_resource skill="{escape_xml(name)}" path="{escape_xml(path)}">\n{escape_output(part)}{more}\n</skill_resource>'
    )


def _missing(session: Session, name: str, path: str, error: MetierError) -> MetierError:
    if not isinstance(error, NotFoundError):
        return error
    files = session.resources(name)
    base = os.path.basename(path)
    near = [entry.path for entry in files if os.path.basename(entry.path) == base] or [entry.path for entry in files[:10]]
    return BadArgumentsError(f"skill {name!r} has no file {path!r}", hint=f"it has {', '.join(near)}")


def _listing(files: Sequence[FileEntry]) -> str:
    lines = [f"{one_line(entry.path)}  {plural(entry.size, 'byte')}" for entry in files[:_MAX_LISTED]]
    if len(files) > _MAX_LISTED:
        lines.append(f"{len(files) - _MAX_LISTED:,} more files are not listed")
    return escape_output("\n".join(lines))


def _run(session: Session) -> ToolFunction:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        name, script = str(arguments["skill_name"]), str(arguments["script_name"])
        session.active_skill(name)
        words, stdin = arguments.get("args"), arguments.get("stdin")
        request = ScriptRequest(
            skill=name, script=script, arguments=tuple(map(str, words)) if isinstance(words, list) else (),
            stdin=stdin if isinstance(stdin, str) else None,
        )  # fmt: skip
        return script_reply(name, script, await run_script(session, request))

    return call


def _tool(
    session: Session,
    name: str,
    description: str,
    properties: dict[str, Schema],
    required: tuple[str, ...],
    function: ToolFunction,
) -> Tool:
    return Tool(
        name=name,
        description=description,
        schema=object_schema(properties, required),
        function=function,
        follow=session.follow_call,
    )


def _skill_names(session: Session, names: Sequence[str]) -> Schema:
    if len(names) > session.options.named_skills:
        return {"type": "string", "description": "The skill's exact name; search_skills finds it."}
    return _enum(names)


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}


def _enum(names: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(names)}
