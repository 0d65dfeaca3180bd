"""A fake MCP server over real HTTP, with answers that a test sets."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.lowlevel import Server

from builders import skill_text
from metier.mcp.published_skill import EXTENSION

__all__ = ["FakeMcpServer", "entry_of", "fake_mcp_server"]

JSON = dict[str, Any]  # Any: JSON, and often wrong on purpose


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def entry_of(name: str, files: dict[str, bytes], *, path: str | None = None, **head: Any) -> JSON:
    """An entry as an honest server has it."""
    root = f"skill://{path or name}"
    resources = [{"uri": f"{root}/{file}", "digest": digest(data), "size": len(data)} for file, data in files.items()]
    frontmatter = {"name": name, "description": "Does it. Use when asked.", **head}
    return {"uri": f"{root}/SKILL.md", "frontmatter": frontmatter, "resources": resources}


@dataclass
class FakeMcpServer:
    entries: list[JSON] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    """By URI."""
    page: Callable[[str | None], JSON] | None = None
    """Answers `skills/list` instead."""
    extension: bool = True
    token: str = ""
    url: str = ""
    reads: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, *, path: str | None = None, head: str = "", **files: bytes) -> JSON:
        """Offer a skill with these other files, honestly; a `__` in a file's name is a folder, a `_` its dot."""
        named = {file.replace("__", "/").replace("_", "."): data for file, data in files.items()}
        contents = {"SKILL.md": skill_text(name, head=head).encode(), **named}
        entry = entry_of(name, contents, path=path)
        self.entries.append(entry)
        self.files |= {row["uri"]: contents[file] for row, file in zip(entry["resources"], contents, strict=True)}
        return entry


def _server(state: FakeMcpServer) -> Server[Any]:
    async def listed(_: Any, params: types.PaginatedRequestParams) -> JSON:
        return state.page(params.cursor) if state.page else {"skills": state.entries}

    async def read(_: Any, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        state.reads.append(uri)
        if uri not in state.files:
            raise MCPError(code=-32602, message="no such file")
        content: JSON = {"uri": uri}
        try:
            content["text"] = state.files[uri].decode()
        except UnicodeDecodeError:
            content["blob"] = base64.b64encode(state.files[uri]).decode()
        return {"contents": [content], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def nothing(_: Any, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    server: Server[Any] = Server("fake_mcp_server", on_list_resources=nothing, on_read_resource=read)
    if state.extension:
        server.extensions = {EXTENSION: {}}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, listed)
    return server


@contextmanager
def fake_mcp_server(**options: Any) -> Iterator[FakeMcpServer]:
    """One that serves meanwhile. What it offers may be changed at any time."""
    state = FakeMcpServer(**options)
    app = _server(state).streamable_http_app()

    async def heard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            state.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await app(scope, receive, send)

    config = uvicorn.Config(heard, port=0, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        thread.join(0.01)
    state.url = f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/mcp"
    try:
        yield state
    finally:
        running.should_exit = True
        thread.join(10)
