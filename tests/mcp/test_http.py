"""`metier mcp --http`: several clients, each with the token."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.skills import SkillsClientExtension
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourcesListChanged

from builders import app_in, write_skill
from cli.shell import Shell
from mcp_servers import ask, environment, home_skills, launched, run
from metier.errors import RefusedError, UsageError
from metier.extras import install_command
from metier.mcp import HttpOptions, serve_http

TOKEN = "0123456789abcdef-token"
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
TAKES = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("http")
    write_skill(home_skills(folder), "pdf-forms")
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with launched(home, METIER_MCP_TOKEN=TOKEN) as found:
        yield found


def post(address: str, **headers: str) -> httpx2.Response:
    return httpx2.post(address, json=HELLO, headers={**TAKES, **headers}, timeout=10)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_works_over_http_in_both_eras(address: str, mode: Any) -> None:
    async def main() -> None:
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=20)
        async with http, Client(streamable_http_client(address, http_client=http), mode=mode) as client:
            uris = {entry["uri"] for entry in (await ask(client, "skills/list"))["skills"]}
            assert "skill://pdf-forms/SKILL.md" in uris
            assert not (await client.call_tool("load_skill", {"skill_name": "pdf-forms"})).is_error

    run(main())


def test_fastmcp_works_over_http_and_a_second_client_is_notified_of_a_change(address: str, home: Path) -> None:
    async def main() -> None:
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=20)
        fast = StreamableHttpTransport(address, auth=TOKEN)
        async with (
            http,
            Client(streamable_http_client(address, http_client=http)) as listener,
            FastClient(fast, extensions=[SkillsClientExtension()]) as client,
            listener.listen(resources_list_changed=True) as stream,
        ):
            assert "fresh" not in {skill.frontmatter.name for skill in await client.list_skills()}
            write_skill(home_skills(home), "fresh")
            assert isinstance(await anext(stream.__aiter__()), ResourcesListChanged)
            assert "fresh" in {skill.frontmatter.name for skill in await client.list_skills(cache_mode="bypass")}

    run(main())


@pytest.mark.parametrize(
    "header", [None, "Bearer wrong-token-0123456789", f"Basic {TOKEN}", f"bearer{TOKEN}", f"Bearer {TOKEN}x"]
)
def test_a_request_without_the_token_is_refused(address: str, header: str | None) -> None:
    answer = post(address, **({"authorization": header} if header else {}))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
    ],
)
def test_a_web_page_cannot_call_it_by_way_of_the_visitors_browser(address: str, headers: dict[str, str], status: int) -> None:
    answer = post(address, authorization=f"Bearer {TOKEN}", **headers)
    assert answer.status_code == status, answer.text


def test_other_machines_need_a_token() -> None:
    with pytest.raises(RefusedError) as caught:
        HttpOptions(host="0.0.0.0")
    assert caught.value.rule == "mcp-token"
    with pytest.raises(RefusedError):
        HttpOptions(host="example.com")
    assert HttpOptions(host="0.0.0.0", token=TOKEN).token == TOKEN
    assert HttpOptions(host="::1").host == "::1"
    assert HttpOptions().host == "127.0.0.1"


def test_scripts_need_a_token_on_loopback_too(shell: Shell) -> None:
    with pytest.raises(RefusedError) as caught:
        HttpOptions(scripts=True)
    assert caught.value.rule == "mcp-token"
    assert HttpOptions(scripts=True, token=TOKEN).scripts
    shell("mcp", "--http", "--port", "0", "--allow-scripts").failed(5, "may run scripts and no token is set")


@asynccontextmanager
async def served(home: Path, options: HttpOptions) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """A server in this process, and a function that opens a session and returns the status."""
    watcher, open_session = app_in(home).sessions.skill_watcher(scripts=False)
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.ensure_future(serve_http(watcher, open_session, options, ready=ready.set_result))
    address = await ready
    async with httpx2.AsyncClient(headers=TAKES, timeout=10) as http:

        async def opened() -> int:
            return (await http.post(address, json=HELLO)).status_code

        yield opened
    server.cancel()
    await asyncio.wait([server])


def test_sessions_are_bounded_in_number(home: Path) -> None:
    async def main() -> None:
        async with served(home, HttpOptions(port=0, max_sessions=2)) as opened:
            assert [await opened() for _ in range(3)] == [200, 200, 503]

    run(main())


def test_an_idle_session_makes_room_for_another(home: Path) -> None:
    async def main() -> None:
        async with served(home, HttpOptions(port=0, max_sessions=1, idle_seconds=0.1)) as opened:
            assert await opened() == 200
            while await opened() == 503:
                await asyncio.sleep(0.05)

    run(main())


@pytest.mark.parametrize("token", ["short", "with\nline-0123456789", "é" * 20])
def test_a_token_is_long_and_plain(token: str) -> None:
    with pytest.raises(UsageError):
        HttpOptions(token=token)


def test_names_behind_a_proxy_are_added_and_any_address_allows_no_name() -> None:
    http = HttpOptions(host="0.0.0.0", token=TOKEN, hosts=("skills.example.com",), origins=("https://app.example.com",))
    assert "skills.example.com" in http.allowed_hosts
    assert "skills.example.com:*" in http.allowed_hosts
    assert not any(name.startswith("0.0.0.0") for name in http.allowed_hosts)
    assert "https://app.example.com" in http.allowed_origins


def test_mistakes_are_one_sentence(shell: Shell, address: str) -> None:
    port = address.rpartition(":")[2].partition("/")[0]
    shell("mcp", "--http", "--port", port).failed(6, "cannot listen on 127.0.0.1 port")
    shell("mcp", "--http", "--host", "0.0.0.0").failed(5, "no token is set")
    shell("mcp", "--http", "--token-file", "nowhere").failed(3, "token file 'nowhere' not found")
    shell("mcp", "--port", "x").failed(2)
    (shell.project / "empty").write_text("\n")
    shell("mcp", "--http", "--token-file", "empty").failed(2, "is empty")


def test_a_missing_package_is_one_sentence(shell: Shell) -> None:
    """As without the extra: the SDK cannot be imported."""
    (shell.project / "mcp_types.py").write_text("raise ImportError('not here')")
    ran = shell.run("mcp", variables={**environment(shell.home), "PYTHONPATH": str(shell.project)})
    ran.failed(4, install_command("mcp"))


def test_blanks_around_a_header_are_ignored(address: str) -> None:
    host, _, port = address.removeprefix("http://").removesuffix("/mcp").partition(":")
    body = json.dumps(HELLO)
    head = [f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}", f"Content-Length: {len(body)}", "Content-Type: application/json"]
    head += ["Accept: application/json, text/event-stream", f"Authorization: \t Bearer {TOKEN} \t ", "Connection: close"]
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        wire.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
        assert wire.recv(15) == b"HTTP/1.1 200 OK"
