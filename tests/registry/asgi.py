"""Requests to a registry's application without a client library, so that a test can send what a client would not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from metier.registry.server.app import RegistryApp

__all__ = ["Answer", "RawRequest", "send_raw"]


@dataclass(frozen=True)
class RawRequest:
    method: str
    path: str
    """As it stands in the request line: percent-encoded, without the query."""
    query: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    client: str = "192.0.2.7"


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: list[int] = field(default_factory=list)
    """The size of each piece of the body."""


async def send_raw(app: RegistryApp, request: RawRequest) -> Answer:
    answer = Answer()
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
        else:
            answer.chunks.append(len(message.get("body", b"")))
            answer.body += message.get("body", b"")

    named = {name for name, _ in request.headers}
    headers = [*request.headers, *([] if "host" in named else [("host", "registry.test")])]
    scope = {
        "type": "http", "method": request.method, "path": unquote(request.path), "raw_path": request.path.encode("latin-1"),
        "query_string": request.query.encode("latin-1"), "scheme": "http", "server": ("registry.test", 80),
        "client": (request.client, 4000), "root_path": "", "http_version": "1.1",
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers],
    }  # fmt: skip
    await app(scope, receive, send)
    return answer
