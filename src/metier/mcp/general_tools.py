"""The general tools for clients of the server, in the folders that the client names as its roots.

Before 2026-07-28 the server asks for the roots once and again after `roots/list_changed`. Since then a call is answered with a
question for them, and repeated by the client with its answer. The list of tools is the same for any roots, so that it can be
read before they are known; with several roots, a call names one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from metier.errors import MetierError, UsageError
from metier.runtime import Schema, Session, Tool, ToolReply, general_tools, in_thread
from metier.spec import Json
from metier.values import dataclass, replace

from .script_slots import ScriptSlots

__all__ = ["ClientRoot", "GeneralTools", "OpenFolder", "named_roots"]

OpenFolder = Callable[[str | None], Session]
"""Opens a session in a folder, or in none. Raises an error if the user does not allow the folder."""

_SECONDS = 20.0
_ASKED = "roots"
_ROOT: Schema = {
    "type": "string",
    "description": "The folder to work in, by its name, if the user has several open; an error lists them.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRoot:
    name: str
    path: str = ""
    problem: str = ""
    """The reason why it is not used."""


class GeneralTools:
    """The tools, and a session for each folder. `workspace` is the folder for clients without roots, if there is one.

    Roots are asked for only with `uses_roots`: those of a client on another machine would be paths of that machine.
    """

    def __init__(self, open_folder: OpenFolder, *, workspace: str | None = None, uses_roots: bool = True) -> None:
        self._open_folder, self._workspace, self._uses_roots = open_folder, workspace, uses_roots
        self._sessions: dict[str | None, Session] = {}
        self._slots = ScriptSlots()
        self._roots: Sequence[ClientRoot] | None = None
        self._empty = tempfile.TemporaryDirectory(prefix="metier-empty-")
        has_folders = uses_roots or workspace is not None
        self._listed = general_tools(open_folder(self._empty.name if has_folders else None), is_static=True)

    async def list(self, session: ServerSession) -> tuple[Tool, ...]:
        if self._has_roots(session):
            return tuple(_with_root(tool) for tool in self._listed)
        return general_tools(await in_thread(self._session, self._workspace), is_static=True)

    def offers(self, name: str) -> bool:
        return any(tool.name == name for tool in self._listed)

    async def call(
        self, session: ServerSession, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments: dict[str, Json] = dict(params.arguments or {})
        try:
            if not self._has_roots(session):
                folder = self._workspace
            else:
                roots = await self._client_roots(session, params)
                if roots is None:
                    return types.InputRequiredResult(input_requests={_ASKED: types.ListRootsRequest()})
                folder = _chosen(roots, arguments.pop("root", None)) if roots else self._workspace
            reply = await self._execute(await in_thread(self._session, folder), params.name, arguments)
        except MetierError as error:
            return _result(f"{error}; {error.hint}", is_error=True)
        return _result(reply.text, is_error=not reply.ok)

    async def roots_changed(self, _: Any, __: Any) -> None:  # Any: the SDK's context, and parameters that say nothing
        """Forgets the roots of a client of the earlier protocol; the next call asks again."""
        self._roots = None

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
            if session.workspace is not None:
                session.workspace.close()
        self._empty.cleanup()

    def _has_roots(self, session: ServerSession) -> bool:
        capabilities = session.client_capabilities
        return self._uses_roots and capabilities is not None and capabilities.roots is not None

    async def _client_roots(self, session: ServerSession, params: types.CallToolRequestParams) -> Sequence[ClientRoot] | None:
        """Returns the roots, or None if the client must be asked by an answer to its call."""
        if not session.can_send_request:
            answer = (params.input_responses or {}).get(_ASKED)
            return named_roots(answer.roots) if isinstance(answer, types.ListRootsResult) else None
        if self._roots is None:
            try:
                found = await session.send_request(types.ListRootsRequest(), types.ListRootsResult, _SECONDS)
            except (MCPError, ValidationError) as error:
                raise UsageError(
                    f"the client's roots cannot be read: {' '.join(str(error).split())[:200]}",
                    hint="they must be file:// addresses",
                ) from None
            self._roots = named_roots(found.roots)
        return self._roots

    def _session(self, folder: str | None) -> Session:
        if folder not in self._sessions:
            self._sessions[folder] = self._open_folder(folder)
        return self._sessions[folder]

    async def _execute(self, session: Session, name: str, arguments: dict[str, Json]) -> ToolReply:
        tool = next((tool for tool in general_tools(session, is_static=True) if tool.name == name), None)
        if tool is None:
            raise UsageError(f"{name} needs a folder to work in", hint="start the server with --workspace DIR")
        async with self._slots.slot():
            reply = await tool.call(arguments)
            workspace = session.workspace
            if workspace is None or not workspace.write:
                return reply
            # No user is there to be asked about changes, so a writable workspace takes them after each call.
            result = await in_thread(workspace.apply)
        notes = [f"[{change.path} was not applied: {reason}]" for change, reason in result.refused]
        notes += [
            f"[{change.path} holds the secret {', '.join(change.secrets)}]" for change in result.applied if change.secrets
        ]
        return replace(reply, text="\n".join([reply.text, *notes])) if notes else reply


def named_roots(roots: Iterable[types.Root]) -> Sequence[ClientRoot]:
    """Returns the roots, each with a name of its own."""
    found: list[ClientRoot] = []
    for root in roots:
        path, problem = _folder(str(root.uri))
        name = root.name or os.path.basename(path.rstrip("/")) or path or str(root.uri)
        taken = {other.name for other in found}
        number = next(number for number in range(1, len(taken) + 2) if _numbered(name, number) not in taken)
        found.append(ClientRoot(name=_numbered(name, number), path=path, problem=problem))
    return tuple(found)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _folder(uri: str) -> tuple[str, str]:
    """Returns the path of a root, and a sentence if it cannot be used."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return "", f"{uri} is not a file:// address of this machine"
    path = unquote(parts.path)
    with suppress(ValueError):
        if os.path.isdir(path):
            return path, ""
    return path, f"the root {path} is not a folder"


def _chosen(roots: Sequence[ClientRoot], name: Json) -> str:
    names = ", ".join(root.name for root in roots)
    if name is None and len(roots) > 1:
        raise UsageError("the client has several roots", hint=f"give one as root: {names}")
    root = roots[0] if name is None else next((root for root in roots if name in (root.name, root.path)), None)
    if root is None:
        raise UsageError(f"no root is named {name!r}", hint=f"give one of: {names}")
    if root.problem:
        raise UsageError(root.problem, hint="open an existing folder in the client")
    return root.path


def _with_root(tool: Tool) -> Tool:
    schema = dict(tool.schema)
    properties = schema.get("properties")
    return replace(
        tool, schema={**schema, "properties": {**(properties if isinstance(properties, dict) else {}), "root": _ROOT}}
    )


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)
