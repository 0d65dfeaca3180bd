"""`metier mcp` as a client starts it: a real process on standard input and output."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from fastmcp.utilities.skills import download_skill
from fastmcp.utilities.skills import list_skills as plain_skills
from mcp import Client
from mcp_types import TextContent

from builders import write_skill
from mcp_servers import METIER, ask, environment, home_skills, run, stdio


def fast(tmp_path: Path, *words: str) -> StdioTransport:
    return StdioTransport(METIER, ["mcp", *words], env=environment(tmp_path), cwd=str(tmp_path / "project"), keep_alive=False)


def test_the_official_client_lists_gets_and_loads_a_skill(tmp_path: Path) -> None:
    write_skill(home_skills(tmp_path), "pdf-forms")

    async def main() -> None:
        async with Client(stdio(tmp_path)) as client:
            assert client.protocol_version == "2026-07-28"
            uris = {entry["uri"] for entry in (await ask(client, "skills/list"))["skills"]}
            assert "skill://pdf-forms/SKILL.md" in uris
            assert (await ask(client, "skills/get", uri="skill://pdf-forms/SKILL.md"))["skill"]["resources"]
            (content,) = (await client.call_tool("load_skill", {"skill_name": "pdf-forms"})).content
            assert isinstance(content, TextContent)
            assert "Do it." in content.text

    run(main())


def test_fastmcp_finds_skills_by_the_extension(tmp_path: Path) -> None:
    write_skill(home_skills(tmp_path), "pdf-forms", head="metadata:\n  version: 1.0\nversion: 2\n")

    async def main() -> None:
        async with FastClient(fast(tmp_path), extensions=[SkillsClientExtension()]) as client:
            listed = {skill.frontmatter.name: skill for skill in await client.list_skills()}
            got = await client.get_skill("skill://pdf-forms/SKILL.md")
        assert got == listed["pdf-forms"]
        assert got.frontmatter.metadata == {"version": "1.0"}

    run(main())


def test_fastmcp_finds_and_downloads_skills_by_the_plain_shape(tmp_path: Path) -> None:
    folder = write_skill(home_skills(tmp_path), "pdf-forms")
    (folder / "scripts").mkdir()
    (folder / "scripts/fill.py").write_text("print('filled')\n")

    async def main() -> None:
        async with FastClient(fast(tmp_path)) as client:
            assert "pdf-forms" in {skill.name for skill in await plain_skills(client)}
            got = await download_skill(client, "pdf-forms", tmp_path / "downloaded")
        assert (got / "scripts/fill.py").read_bytes() == (folder / "scripts/fill.py").read_bytes()
        assert (got / "SKILL.md").read_bytes() == (folder / "SKILL.md").read_bytes()

    run(main())


def test_standard_output_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """A defective skill is reported on stderr only, and the end of input ends the server cleanly."""
    write_skill(home_skills(tmp_path), "Bad_Name")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    lines = [
        hello,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "skills/list"},
    ]
    process = subprocess.Popen(
        [METIER, "mcp"], env=environment(tmp_path), cwd=tmp_path / "project", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [1, 2]
    out, err = process.communicate(timeout=15)
    assert (process.returncode, out) == (0, b"")
    assert b"Traceback" not in err


def test_it_ends_at_once_when_it_is_interrupted(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [METIER, "mcp"], env=environment(tmp_path), cwd=tmp_path / "project", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    process.stdin.write(json.dumps(ping).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    # Its input stays open: it must not wait for more of it.
    code = process.wait(timeout=10)
    _, err = process.communicate()
    assert (code, err) == (130, b"\ninterrupted\n")
