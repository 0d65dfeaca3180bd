"""The waiting time of an MCP client: the start of `metier mcp` until it is initialized, and `skills/list` over 1,000 skills.

The start is compared with the smallest server that the SDK can make (its low-level `Server`, without a single handler), in the
same Python; a start with 1,000 skills is compared with one that has only the bundled skills, because the first
catalog is read during the handshake. CPU time is that of all threads up to the answer, as the kernel counted it.

The listing is fetched page by page from a running server and timed as a client sees it: from the first request to
the last parsed response. FastMCP's own server (where it is installed) answers the same over the same skills.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.corpus import make_skills, scratch
from benchmarks.measure import Contender, Figure, Report, Sample, Target, child_environment, compete, options, script

_BARE = "the SDK's low-level server, bare"
_HIGH = "the SDK's MCPServer, bare"
_OURS = "metier mcp"
_FULL = "metier mcp, 1,000 skills"
_FAST = "FastMCP, 1,000 skills"
_SKILLS = 1_000
_SERVERS = {
    _BARE: """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("bare")

async def main():
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())

anyio.run(main)
""",
    _HIGH: """
from mcp.server.mcpserver import MCPServer

MCPServer("bare").run()
""",
    _FAST: """
import sys
from pathlib import Path
from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension

provider = SkillsDirectoryProvider(roots=[Path(sys.argv[1])], experimental_skills=True)
server = FastMCP("peer")
server.add_provider(provider)
server.add_extension(SkillsExtension(providers=[provider]))
server.run(show_banner=False, log_level="ERROR")
""",
}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/skills": {}}},
}
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


def main() -> int:
    chosen = options(__doc__, rounds=15, quick=5)
    report = Report("Skills over MCP", as_json=chosen.json)
    with scratch() as folder:
        starts = compete(_starts(folder), rounds=chosen.rounds)
        lists = _lists(folder, rounds=chosen.rounds)
    report.add_figures(starts, within="start: ")
    report.add_figures(lists, within="skills/list: ")
    head = ("server", "CPU", "wall", "beside the bare server")
    rows = [(*_row(name, figure), f"{figure.cpu / starts[_BARE].cpu:.2f} x") for name, figure in starts.items()]
    report.add_table(f"Start to initialized, median of {chosen.rounds} (minimum), in ms", head, rows)
    report.add_table(
        f"skills/list, all pages, median of {chosen.rounds} (minimum), in ms",
        ("server", "CPU", "wall"),
        [_row(name, figure) for name, figure in lists.items()],
    )
    report.targets += [
        Target(what="start to initialized, beside the bare SDK server", value=starts[_OURS].cpu / starts[_BARE].cpu, limit=1.5),
        Target(what="the same with 1,000 skills, wall", value=starts[_FULL].wall / starts[_BARE].wall, limit=1.5),
        Target(what="skills/list over 1,000 skills, after the start", value=lists[_FULL].wall, limit=50, unit="ms"),
    ]
    return report.finish()


class _Server:
    """A server on standard input and output, driven with plain JSON."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, method: str, **params: Any) -> Any:  # Any: JSON
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(body).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "result" in answer, answer
        return answer["result"]

    def cpu(self) -> float:
        """CPU seconds of its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def _starts(folder: Path) -> list[Contender]:
    empty, full = folder / "empty", folder / "full"
    empty.mkdir()
    make_skills(full / ".metier" / "skills", _SKILLS)
    commands = {
        _BARE: ([sys.executable, _written(folder, _BARE)], empty),
        _HIGH: ([sys.executable, _written(folder, _HIGH)], empty),
        _OURS: ([script("metier"), "mcp"], empty),
        _FULL: ([script("metier"), "mcp"], full),
    }
    return [Contender(name=name, measure=partial(_started, *each)) for name, each in commands.items()]


def _started(command: Sequence[str], home: Path) -> Sample:
    began = time.perf_counter()
    server = _Server(command, child_environment(home), home)
    try:
        server.ask("initialize", **_HELLO)
        return Sample(time.perf_counter() - began, server.cpu())
    finally:
        server.end()


def _lists(folder: Path, *, rounds: int) -> dict[str, Figure]:
    home = folder / "full"
    commands = {_FULL: [script("metier"), "mcp"]}
    if find_spec("fastmcp"):
        commands[_FAST] = [sys.executable, _written(folder, _FAST), str(home / ".metier" / "skills")]
    servers = {name: _Server(command, child_environment(home), home) for name, command in commands.items()}
    try:
        return compete(
            [Contender(name=name, measure=partial(_listed, server)) for name, server in servers.items()], rounds=rounds
        )
    finally:
        for server in servers.values():
            server.end()


def _listed(server: _Server) -> Sample:
    before, began = server.cpu(), time.perf_counter()
    found, cursor = 0, None
    while found == 0 or cursor:
        page = server.ask("skills/list", _meta=_META, **({"cursor": cursor} if cursor else {}))
        found, cursor = found + len(page["skills"]), page.get("nextCursor")
    assert found >= _SKILLS, found
    return Sample(time.perf_counter() - began, server.cpu() - before)


def _written(folder: Path, name: str) -> str:
    file = folder / f"{len(name)}.py"
    file.write_text(_SERVERS[name])
    return str(file)


def _row(name: str, figure: Figure) -> tuple[str, ...]:
    return (name, f"{figure.cpu:.0f} ({figure.cpu_min:.0f})", f"{figure.wall:.0f} ({figure.wall_min:.0f})")


if __name__ == "__main__":
    sys.exit(main())
