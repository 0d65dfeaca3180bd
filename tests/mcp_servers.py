"""Fixtures of the MCP tests: a home with skills, a server over it in this process, and one as a real process."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import PaginatedRequestParams, Request, RequestParams, Result
from pydantic import ConfigDict

from builders import app_in
from metier.mcp import SkillServer

__all__ = ["METIER", "Anything", "ask", "environment", "home_skills", "launched", "run", "serving", "stdio"]

METIER = str(Path(sys.executable).with_name("metier"))
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Waited for, but not for ever: a server that hangs must fail its test."""
    return asyncio.run(asyncio.wait_for(work, 30))


def home_skills(tmp_path: Path) -> Path:
    return tmp_path / "home/.metier/skills"


@asynccontextmanager
async def serving(
    tmp_path: Path, *, mode: Any = "auto", scripts: bool = False, **options: Any
) -> AsyncIterator[Client]:  # Any: the SDK's own words
    """The SDK's client, connected within this process to a server over the skills in a home."""
    watcher, open_session = app_in(tmp_path).sessions.skill_watcher(scripts=scripts)
    async with watcher:
        served = SkillServer(watcher, open_session)
        async with Client(served.server, mode=mode, cache=None, **options) as client:
            yield client


class Anything(Result):
    """A result of a method that the SDK does not know."""

    model_config = ConfigDict(extra="allow")

    def __getitem__(self, key: str) -> Any:  # Any: JSON
        return (self.model_extra or {})[key]


class _Params(RequestParams):
    model_config = ConfigDict(extra="allow")


async def ask(client: Client, method: str, **params: Any) -> Anything:  # Any: JSON
    """Send a request of the Skills extension as it stands on the wire."""
    kind = PaginatedRequestParams if set(params) <= {"cursor"} else _Params
    request: Request[Any, Any] = Request(method=method, params=kind(**params))
    return await client.session.send_request(request, Anything)


def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "project").mkdir(exist_ok=True)
    return {
        "HOME": str(tmp_path / "home"),
        "METIER_HOME": str(tmp_path / "home/.metier"),
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
    }


def stdio(tmp_path: Path, *words: str) -> StdioServerParameters:
    return StdioServerParameters(command=METIER, args=["mcp", *words], env=environment(tmp_path), cwd=tmp_path / "project")


@contextmanager
def launched(tmp_path: Path, *words: str, **variables: str) -> Iterator[str]:
    """The address of a `metier mcp --http` that runs meanwhile."""
    process = subprocess.Popen(
        [METIER, "mcp", "--http", "--port", "0", *words], env={**environment(tmp_path), **variables},
        cwd=tmp_path / "project", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    try:
        assert found, line + process.stderr.read()
        yield found[0]
    finally:
        process.terminate()
        _, err = process.communicate(timeout=15)
    # The SDK says on stderr which Host and Origin it turned away, and that is all.
    assert process.returncode == -signal.SIGTERM
    assert all(re.match(r"Invalid (Host|Origin) header: ", line) for line in err.splitlines()), err
