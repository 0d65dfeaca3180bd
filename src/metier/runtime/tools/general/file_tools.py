"""Tools for the files of the workspace: list_files, read_file, search_files, write_file, edit_file.

Each call runs `file_program` in the sandbox, so that it sees exactly what a script would see, and changes only the layer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metier.disclosure import escape_output, escape_xml, one_line
from metier.errors import ToolFailedError
from metier.runtime import events
from metier.runtime.async_bridge import in_thread
from metier.runtime.policy.patterns import ToolRequest
from metier.runtime.policy.tool_names import ToolKind
from metier.runtime.script_run import Outcome, ScriptRun
from metier.runtime.tool_errors import BadArgumentsError
from metier.runtime.tools.schema import Schema, object_schema
from metier.runtime.tools.tool import Tool, ToolFunction, ToolReply
from metier.spec import Json
from metier.values import dataclass, replace

from .confined_call import (
    Permit,
    authorise,
    emit_taken,
    is_offered,
    plan_run,
    run_confined,
    workspace_path,
    workspace_permissions,
)

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["file_tools"]

_FILES, _LINES, _ROWS = 200, 2000, 200
_CHANGES = (ToolKind.WRITE, ToolKind.EDIT)
_REPLY_BYTES = 16 * 1024 * 1024
"""Of the program's own reply. It is paged, so the limit for scripts would only cut it inside."""

FileReply = dict[str, Any]  # Any: JSON of our own program


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCall:
    """One call of the program, and the permission that it needs."""

    tool: str
    kind: ToolKind
    path: str
    request: Mapping[str, Json]


def file_tools(session: Session) -> Iterator[Tool]:
    for kind, tool in (
        (ToolKind.LIST, _list_tool), (ToolKind.READ, _read_tool), (ToolKind.SEARCH, _search_tool),
        (ToolKind.WRITE, _write_tool), (ToolKind.EDIT, _edit_tool),
    ):  # fmt: skip
        is_read_only = session.workspace is not None and not session.workspace.write
        if is_offered(session, kind) and not (kind in _CHANGES and is_read_only):
            yield tool(session)


def _list_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        path = workspace_path(session, _text(arguments, "path"))
        request: dict[str, Json] = {
            "path": path, "globs": _globs(arguments), "hidden": _flag(arguments, "hidden"),
            "ignored": _flag(arguments, "ignored"), "offset": _number(arguments, "offset", 0),
            "limit": _number(arguments, "limit", _FILES),
        }  # fmt: skip
        file_call = FileCall(tool="list_files", kind=ToolKind.LIST, path=path or ".", request={"do": "list", **request})
        reply, permit, outcome = await _run(session, file_call)
        shown = await in_thread(_allowed_rows, session, reply["files"])
        lines = [f"{one_line(name)}  {size:,} bytes" for name, size in shown]
        text = "\n".join(lines) or "No files match."
        text += _read_on(reply, _number(arguments, "offset", 0) + len(reply["files"]))
        size = len(text.encode("utf-8", "replace"))
        _emit(session, file_call, permit, outcome, size)
        return _reply("list_files", path or ".", text, outcome, f"{len(shown):,} files")

    properties = {
        "path": _string("A folder of the workspace; by default all of it."),
        "glob": _string("Only files that match, such as *.py or src/**/*.ts; several are separated by spaces."),
        "hidden": _boolean("Also hidden files."),
        "ignored": _boolean("Also files that .gitignore excludes."),
        **_paging(_FILES, "files"),
    }
    return _tool(session, "list_files", "List the files of the workspace with their sizes.", properties, (), call)


def _read_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        path = _file_path(session, arguments)
        first = max(1, _number(arguments, "offset", 1))
        request: dict[str, Json] = {
            "path": path, "offset": first, "limit": _number(arguments, "limit", _LINES),
            "characters": session.options.resource_characters,
        }  # fmt: skip
        file_call = FileCall(tool="read_file", kind=ToolKind.READ, path=path, request={"do": "read", **request})
        reply, permit, outcome = await _run(session, file_call)
        lines = reply["lines"]
        text = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first)) or "[the file is empty]"
        text += f"\n[more lines follow; read on with offset {first + len(lines)}]" if reply["more"] else ""
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        _emit(session, file_call, permit, outcome, size)
        return _reply("read_file", path, text, outcome, f"{len(lines):,} lines")

    properties = {
        "path": _string("The file, relative to the workspace."),
        "offset": _integer("The first line; 1 by default.", 1),
        "limit": _integer(f"The number of lines; {_LINES} by default.", 1),
    }
    about = "Read a text file of the workspace. Each line starts with its number and a tab, which are not part of the file."
    return _tool(session, "read_file", about, properties, ("path",), call)


def _search_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        path = workspace_path(session, _text(arguments, "path"))
        output = _text(arguments, "output") or "lines"
        request: dict[str, Json] = {
            "path": path, "pattern": _text(arguments, "pattern"), "globs": _globs(arguments),
            "literal": _flag(arguments, "literal"), "case": _text(arguments, "case") or "smart", "output": output,
            "context": _number(arguments, "context", 0), "hidden": _flag(arguments, "hidden"),
            "ignored": _flag(arguments, "ignored"), "offset": _number(arguments, "offset", 0),
            "limit": _number(arguments, "limit", _ROWS),
        }  # fmt: skip
        file_call = FileCall(tool="search_files", kind=ToolKind.SEARCH, path=path or ".", request={"do": "search", **request})
        reply, permit, outcome = await _run(session, file_call)
        rows = await in_thread(_allowed_rows, session, reply["rows"])
        text = "\n".join(_row_lines(rows)) or "Nothing matches."
        text += _read_on(reply, _number(arguments, "offset", 0) + len(reply["rows"]))
        _emit(session, file_call, permit, outcome, len(text.encode("utf-8", "replace")))
        matches = sum(1 for row in rows if len(row) < 3 or row[2] == ":")
        return _reply("search_files", path or ".", text, outcome, f"{matches:,} matches")

    properties = {
        "pattern": _string("A regular expression; case counts only if it has capital letters."),
        "path": _string("A folder or file of the workspace; by default all of it."),
        "glob": _string("Only files that match, such as *.py or !tests/**; several are separated by spaces."),
        "literal": _boolean("The pattern is plain text."),
        "case": _choice("smart", "ignore", "match"),
        "context": _integer("Lines to show around each match.", 0, 20),
        "output": _choice("lines", "files", "counts"),
        "hidden": _boolean("Also hidden files."),
        "ignored": _boolean("Also files that .gitignore excludes."),
        **_paging(_ROWS, "lines"),
    }
    about = "Search the text files of the workspace, like ripgrep. Replies path:line:text, with - instead of : for context."
    return _tool(session, "search_files", about, properties, ("pattern",), call)


def _write_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        path, content = _file_path(session, arguments), _text(arguments, "content")
        request: dict[str, Json] = {"do": "write", "path": path, "content": content}
        file_call = FileCall(tool="write_file", kind=ToolKind.WRITE, path=path, request=request)
        reply, permit, outcome = await _run(session, file_call)
        _emit(session, file_call, permit, outcome, reply["size"])
        done = f"{'Created' if reply['created'] else 'Replaced'} {path} ({reply['size']:,} bytes)."
        return ToolReply(text=escape_output(done), outcome=outcome, summary=f"{reply['size']:,} bytes")

    properties = {"path": _string("The file, relative to the workspace."), "content": _string("The whole new content.")}
    about = "Create a file of the workspace, or replace all of it. Folders are created."
    return _tool(session, "write_file", about, properties, ("path", "content"), call)


def _edit_tool(session: Session) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        path, old, new = _file_path(session, arguments), _text(arguments, "old_text"), _text(arguments, "new_text")
        if not old:
            raise BadArgumentsError("old_text is empty", hint="give the text to replace; write_file creates a file")
        if old == new:
            raise BadArgumentsError("old_text and new_text are the same", hint="give the changed text as new_text")
        request: dict[str, Json] = {"do": "edit", "path": path, "old": old, "new": new, "all": _flag(arguments, "replace_all")}
        file_call = FileCall(tool="edit_file", kind=ToolKind.EDIT, path=path, request=request)
        reply, permit, outcome = await _run(session, file_call)
        _emit(session, file_call, permit, outcome, reply["size"])
        times = "once" if reply["count"] == 1 else f"{reply['count']} times"
        done = f"Replaced it {times} in {path}, first in line {reply['line']}."
        return ToolReply(text=escape_output(done), outcome=outcome, summary=f"line {reply['line']}")

    properties = {
        "path": _string("The file, relative to the workspace."),
        "old_text": _string("The text to replace, exactly as in the file and found there only once."),
        "new_text": _string("The text to put in its place."),
        "replace_all": _boolean("Replace every occurrence."),
    }
    about = "Replace a text in a file of the workspace."
    return _tool(session, "edit_file", about, properties, ("path", "old_text", "new_text"), call)


async def _run(session: Session, call: FileCall) -> tuple[FileReply, Permit, Outcome]:
    """Asks for permission, runs the program, and reads its reply."""
    request = ToolRequest(tool=call.kind, argument=call.path, is_confined=True, also=_other_spelling(call))
    permit = await authorise(session, request)
    stdin = json.dumps(call.request).encode()
    run = ScriptRun(script="files.py", code=_program(), stdin=stdin)
    async with session.commands.turn if call.kind in _CHANGES else nullcontext():
        run = await in_thread(plan_run, session, run, skill=permit.skill)
        outcome = await run_confined(session, replace(run, limits=replace(run.limits, output_bytes=_REPLY_BYTES)))
    if not outcome.ok:
        why = "it took too long" if outcome.timed_out else outcome.stderr.strip().rpartition("\n")[2] or "it was stopped"
        raise ToolFailedError(f"{call.tool} failed: {why}", hint="narrow it down, or use a command")
    reply: FileReply = json.loads(outcome.stdout)
    if "problem" in reply:
        raise ToolFailedError(str(reply["problem"]), hint=str(reply["hint"]))
    return reply, permit, outcome


def _other_spelling(call: FileCall) -> tuple[ToolRequest, ...]:
    """A pattern may begin with `./`."""
    return (ToolRequest(tool=call.kind, argument=f"./{call.path}"),) if not call.path.startswith(".") else ()


@cache
def _program() -> bytes:
    return Path(__file__).with_name("file_program.py").read_bytes()


def _allowed_rows(session: Session, rows: list[list[Any]]) -> list[list[Any]]:
    """Leaves out files that the user's policy forbids to read: a search of a folder must not show them."""
    permissions = workspace_permissions(session)
    if not permissions.policy.deny:
        return rows
    denied = {name for name in {row[0] for row in rows} if permissions.denies(ToolRequest(tool=ToolKind.READ, argument=name))}
    return [row for row in rows if row[0] not in denied]


def _row_lines(rows: list[list[Any]]) -> Iterator[str]:
    """The rows as ripgrep prints them; `--` stands between groups that do not follow each other."""
    last: tuple[str, int] | None = None
    has_context = any(len(row) == 4 and row[2] == "-" for row in rows)
    for row in rows:
        name = one_line(str(row[0]))
        if len(row) == 4:
            if has_context and last is not None and last != (name, row[1] - 1):
                yield "--"
            last = (name, row[1])
            yield f"{name}{row[2]}{row[1]}{row[2]}{row[3]}"
        else:
            yield f"{name}:{row[1]}" if len(row) == 2 else name


def _read_on(reply: FileReply, following: int) -> str:
    return f"\n[more follow; read on with offset {following}]" if reply["more"] else ""


def _emit(session: Session, call: FileCall, permit: Permit, outcome: Outcome, size: int) -> None:
    event = events.ActionTaken(
        timestamp=session.services.clock(), tool=call.tool, paths=(call.path,), size=size, duration=outcome.duration,
        level=outcome.isolation.level,
    )  # fmt: skip
    emit_taken(session, permit, event)


def _reply(tool: str, path: str, text: str, outcome: Outcome, summary: str) -> ToolReply:
    head = f'<tool_output tool="{tool}" path="{escape_xml(path)}" untrusted="true">'
    return ToolReply(text=f"{head}\n{escape_output(text)}\n</tool_output>", outcome=outcome, summary=summary)


def _tool(
    session: Session, name: str, about: str, properties: Mapping[str, Schema], required: tuple[str, ...], function: ToolFunction
) -> Tool:
    schema = object_schema(properties, required)
    return Tool(name=name, description=about, schema=schema, function=function, follow=session.follow_call)


def _file_path(session: Session, arguments: Mapping[str, Json]) -> str:
    path = workspace_path(session, _text(arguments, "path"))
    if not path:
        raise BadArgumentsError("the path is the workspace itself", hint="name a file in it")
    return path


def _text(arguments: Mapping[str, Json], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def _flag(arguments: Mapping[str, Json], name: str) -> bool:
    return arguments.get(name) is True


def _number(arguments: Mapping[str, Json], name: str, default: int) -> int:
    value = arguments.get(name)
    return int(value) if isinstance(value, int | float) else default


def _globs(arguments: Mapping[str, Json]) -> list[Json]:
    return list(_text(arguments, "glob").split())


def _paging(limit: int, what: str) -> dict[str, Schema]:
    return {
        "offset": _integer(f"How many {what} to skip, to read on.", 0),
        "limit": _integer(f"At most this many {what}; {limit} by default.", 1, 2000),
    }


def _string(about: str) -> Schema:
    return {"type": "string", "description": about}


def _boolean(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def _choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values), "default": values[0]}


def _integer(about: str, least: int, most: int | None = None) -> Schema:
    schema: Schema = {"type": "integer", "description": about, "minimum": least}
    return {**schema, "maximum": most} if most is not None else schema
