"""No program that metier starts outside the sandbox is looked up in the current folder, whatever PATH says."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import metier
from metier.sources import find_command, safe_environment

SOURCE = Path(metier.__file__).parent
PLANTED = ("bwrap", "bun", "deno", "git", "less", "metier", "node", "python3", "ruby", "server", "ssh", "uv", "vi")
PATHS = [".:{path}", ":{path}", "./bin:{path}", "bin:{path}", "../project:{path}", "{path}:."]
STARTS = {
    "interpreters": """
        from metier.runtime import Interpreters
        from metier.errors import UnavailableError
        for path, data in (("a.py", b""), ("a.js", b""), ("a.ts", b""), ("a.rb", b""), ("a.sh", b""),
                           ("b.py", b"# /// script\\n# dependencies = ['x']\\n# ///\\n"), ("b", b"#!/usr/bin/env bun\\n"),
                           ("b", b"#!/usr/bin/env deno\\n")):
            try:
                Interpreters().command(path, data)
            except UnavailableError:
                pass
    """,
    "the sandbox": "from metier.runtime import Runner; Runner().best()",
    "skill tests": "from metier.evals import interpreters_with; interpreters_with('pytest')",
    "git": """
        from metier.install.git.program import find_git
        program = find_git(os.environ)
        program.run(["--version"])
        assert all(map(os.path.isabs, program.clean_environment()["PATH"].split(":")))
    """,
    "the editor": """
        from metier.cli.core.editor import edit_file
        from metier.errors import RefusedError
        try:
            edit_file("file", {"EDITOR": "server", "PATH": os.environ["PATH"]})
        except RefusedError:
            pass
    """,
    "clients": """
        from metier.mcp.client_config import ConfigScope, metier_server
        assert os.path.isabs(metier_server("metier", (), ConfigScope.USER).command)
        assert not metier_server("metier", (), ConfigScope.USER).command.startswith(os.getcwd())
    """,
    "servers": """
        import asyncio
        from metier.errors import MetierError
        from metier.mcp.connections import _connect
        from metier.mcp.remote_servers import RemoteServer
        async def main():
            async with _connect(RemoteServer(name="x", command="server"), os.environ):
                pass
        try:
            asyncio.run(main())
        except MetierError:
            pass
    """,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a program of every name, which leaves a mark if it runs."""
    folder = tmp_path / "project"
    for place in (folder, folder / "bin"):
        place.mkdir()
        for name in PLANTED:
            (place / name).write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/mark\nexit 1\n")
            (place / name).chmod(0o755)
    (folder / "file").touch()
    return folder


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", PLANTED)
def test_an_entry_of_path_that_is_not_absolute_is_ignored(
    project: Path, monkeypatch: pytest.MonkeyPatch, path: str, name: str
) -> None:
    monkeypatch.chdir(project)
    assert find_command(name, path.format(path="/nonexistent")) is None


def test_programs_get_a_path_of_absolute_entries() -> None:
    given = {"PATH": ".::bin:/usr/bin:./x:/bin", "HOME": "/h"}
    assert safe_environment(given) == {"PATH": "/usr/bin:/bin", "HOME": "/h"}
    assert safe_environment({"PATH": "."}) == {"PATH": ""}
    assert safe_environment({}) == {}


@pytest.mark.parametrize("what", STARTS)
def test_nothing_of_the_project_runs(project: Path, what: str) -> None:
    path = f".::bin:{os.environ['PATH']}"
    home = str(project.parent / "home")
    done = subprocess.run(
        [sys.executable, "-c", "import os\n" + textwrap.dedent(STARTS[what])], cwd=project, capture_output=True, text=True,
        env={**os.environ, "PATH": path, "HOME": home, "METIER_HOME": home}, check=False, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert not (project.parent / "mark").exists()


def test_only_find_command_looks_up_programs() -> None:
    """Code that runs inside the sandbox is not ours to hold to this."""
    inside = (SOURCE / "evals/bench", SOURCE / "sources/bundled", SOURCE / "runtime/behaviour/inside")
    found = [
        f"{file.relative_to(SOURCE)}:{node.lineno}"
        for file in SOURCE.rglob("*.py")
        if not any(map(file.is_relative_to, inside))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("shutil.which", "os.execvp", "os.execvpe", "os.system")
    ]
    assert found == []
