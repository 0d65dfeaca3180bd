"""A person at a keyboard: one home, one project folder to stand in, a PATH with nothing on it but what a test installs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pexpect
import pytest

from builders import write_skill
from cli.json_page import complaints

__all__ = ["METIER", "ForkServer", "Ran", "Shell", "escapes", "plain"]

METIER = str(Path(sys.executable).with_name("metier"))
_HERE = Path(__file__).parent
_PATIENCE_SECONDS = 300
_WITHOUT_RIGHTS = (
    "/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search",
)  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    words: tuple[str, ...]
    code: int
    raw: bytes
    raw_err: bytes

    @cached_property
    def out(self) -> str:
        return self.raw.decode("utf-8")

    @cached_property
    def err(self) -> str:
        return self.raw_err.decode("utf-8", "surrogateescape")

    @cached_property
    def envelope(self) -> dict[str, Any]:
        """The one JSON object on stdout, checked for what every envelope has, and against docs/json.md."""
        assert self.raw.endswith(b"\n"), self
        assert self.raw.count(b"\n") == 1, self
        body: dict[str, Any] = json.loads(self.raw, parse_constant=_no_constant)
        assert body["version"] == 1
        assert isinstance(body["command"], str)
        assert isinstance(body["ok"], bool)
        assert ("data" in body, "error" in body) == (body["ok"], not body["ok"])
        if body["ok"]:
            found = complaints(body["command"], body["data"])
            assert found == [], f"docs/json.md differs: {found}"
        return body

    @property
    def data(self) -> dict[str, Any]:
        assert self.envelope["ok"], self.envelope
        data: dict[str, Any] = self.envelope["data"]
        return data

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.envelope["error"]
        assert {"code", "message", "hint", "status", "retryable"} <= error.keys()
        assert error["status"] == self.code
        return error

    def ok(self) -> Ran:
        assert (self.code, self.err) == (0, ""), self
        return self

    def failed(self, code: int, *parts: str) -> Ran:
        """It ended with this code, and one sentence and a hint on stderr that hold these words."""
        assert self.code == code, self
        assert re.fullmatch(r"error: [^\n]+\n(  [^\n]+\n)*hint: [^\n]+\n", self.err), self
        assert self.out == "", self
        for part in parts:
            assert part in self.err, self
        return self


def _no_constant(text: str) -> float:
    raise AssertionError(f"{text} is not JSON")


class ForkServer:
    """See fork_server.py."""

    def __init__(self, folder: Path, *, seconds: int = _PATIENCE_SECONDS) -> None:
        """A command that takes longer than so many seconds is killed."""
        self.folder, self.seconds = folder, seconds
        environment = {"PATH": os.defpath, "HOME": str(folder), "METIER_HOME": str(folder / ".metier")}
        self.process = subprocess.Popen(
            [sys.executable, str(_HERE / "fork_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=folder,
        )

    def __call__(self, words: tuple[str, ...], *, environment: Mapping[str, str], folder: str, stdin: str) -> Ran:
        out, err = self.folder / "stdout", self.folder / "stderr"
        request = {
            "words": words, "environment": dict(environment), "folder": folder, "seconds": self.seconds,
            "stdin": stdin, "stdout": str(out), "stderr": str(err),
        }  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        return Ran(words, code, out.read_bytes(), err.read_bytes())

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.process.stdout.close()


class Shell:
    def __init__(self, folder: Path, fork_server: ForkServer) -> None:
        self.fork_server = fork_server
        self.home = folder / "home"
        self.project = folder / "project"
        self.bin = folder / "bin"
        for each in (self.home, self.project, self.bin):
            each.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.home),
            "METIER_HOME": str(self.home / ".metier"),
            "PATH": str(self.bin),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
        }

    @property
    def metier(self) -> Path:
        return self.home / ".metier"

    @property
    def config(self) -> Path:
        return self.metier / "config.toml"

    @property
    def skills(self) -> Path:
        """The folder of the user's own skills."""
        return self.metier / "skills"

    def __call__(
        self, *words: str, stdin: str = os.devnull, folder: Path | None = None, **variables: str | None
    ) -> Ran:  # fmt: skip
        """Run a command without a terminal. A variable that is None is unset."""
        return self.fork_server(words, environment=self.with_(variables), folder=str(folder or self.project), stdin=stdin)

    def start(
        self, *words: str, folder: Path | None = None, variables: Mapping[str, str | None] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """The same as a real process, started and not waited for."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        environment = self.with_(variables or {})
        return subprocess.Popen([METIER, *words], env=environment, cwd=folder or self.project, **options)

    def run(self, *words: str, **options: Any) -> Ran:
        """The same as a real process, waited for."""
        with self.start(*words, **options) as process:
            out, err = process.communicate(timeout=60)
        return Ran(words, process.returncode, out or b"", err or b"")

    def sh(self, line: str, *, humble: bool = False) -> Ran:
        """A line of bash in which "$METIER" is the command. A humble one obeys permissions, even if root runs the tests."""
        environment = {**self.environment, "METIER": METIER}
        rights = _WITHOUT_RIGHTS if humble and os.geteuid() == 0 else ()
        if rights and not shutil.which(rights[0]):
            pytest.skip("root obeys no permissions, and there is no setpriv")
        done = subprocess.run(
            [*rights, "/bin/bash", "-c", line], env=environment, cwd=self.project, capture_output=True, timeout=60
        )
        return Ran((line,), done.returncode, done.stdout, done.stderr)

    def terminal(
        self, *words: str, rows: int = 24, columns: int = 80, folder: Path | None = None, **variables: str | None
    ) -> pexpect.spawn[str]:
        """The command on a terminal of this size."""
        return pexpect.spawn(
            METIER, list(words), env=self.with_(variables), cwd=str(folder or self.project),
            dimensions=(rows, columns), encoding="utf-8", timeout=20, echo=False,
        )  # fmt: skip

    def on_terminal(self, *words: str, **options: Any) -> tuple[int, str]:
        """Exit code and everything a terminal was sent, line ends as in a file."""
        child = self.terminal(*words, **options)
        text = "" if child.expect(pexpect.EOF) else str(child.before)
        child.close()
        return int(child.exitstatus if child.exitstatus is not None else -1), text.replace("\r\n", "\n")

    def with_(self, variables: Mapping[str, str | None]) -> dict[str, str]:
        both: dict[str, str | None] = {**self.environment, **variables}
        return {name: value for name, value in both.items() if value is not None}

    def skill(self, name: str, *, root: Path | None = None, **options: Any) -> Path:
        """A skill of the user, or below another root; see `builders.write_skill`."""
        return write_skill(root or self.skills, name, **options)

    def write_config(self, text: str) -> Path:
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(text, encoding="utf-8")
        return self.config

    def install(self, command: str, script: str = "exit 0") -> Path:
        """A command on PATH."""
        file = self.bin / command
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    def listed(self, *words: str, **options: Any) -> dict[str, str]:
        """State by name, as `skill list` has it; bundled skills left out."""
        rows = self("skill", "list", "--json", *words, **options).data["skills"]
        return {row["name"]: row["state"] for row in rows if row["source"] != "bundled"}

    def tree(self, folder: Path | None = None) -> dict[str, bytes]:
        """Every file below a folder and what is in it."""
        root = folder or self.home
        return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}

    def wipe(self) -> None:
        for each in (self.home, self.project, self.bin):
            shutil.rmtree(each)
            each.mkdir()


def plain(text: str) -> str:
    """A terminal's text without colours."""
    return re.sub(r"\x1b\[\d*m", "", text)


def escapes(text: str) -> Iterator[str]:
    """Whatever could move a cursor, other than the colours we paint ourselves."""
    return (char for char in plain(text).replace("\n", "") if not char.isprintable())
