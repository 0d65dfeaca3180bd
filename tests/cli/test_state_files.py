"""metier's own files: private, and an error at once if something else is in their place."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.shell import Shell
from sources.test_regular_file import listen

READERS: dict[str, list[tuple[str, ...]]] = {
    "trust.json": [("trust", "--list"), ("skill", "list"), ("trust",)],
    "approvals.json": [("policy", "show"), ("policy", "revoke", "pdf")],
    "config.toml": [("config", "show"), ("config", "set", "skills.max_depth", "3"), ("skill", "list")],
    "metier.lock": [("skill", "verify"), ("skill", "install", "./source/docx"), ("doctor",)],
    ".metier-journal": [("skill", "install", "./source/docx"), ("skill", "verify"), ("doctor",)],
    "credentials.toml": [("logout", "http://127.0.0.1:9"), ("skill", "search", "pdf")],
    "agents/helper/agent.toml": [("agent", "show", "helper"), ("agent", "list")],
    "agents/helper/versions/0001.toml": [("agent", "show", "helper"), ("agent", "history", "helper")],
    "cache/selection.index": [("skill", "select", "fill a form"), ("skill", "select", "fill a form")],
    "cache/mcp/listings.json": [("skill", "list"), ("mcp", "list")],
    "cache/catalog.sqlite": [("skill", "list"), ("doctor",)],
    "cache/listings.sqlite": [("skill", "list"), ("skill", "list")],
}


def link_to_fifo(path: Path) -> None:
    os.mkfifo(f"{path}.target")
    path.symlink_to(f"{path}.target")


KINDS: dict[str, Callable[[Path], object]] = {
    "a fifo": os.mkfifo,
    "a folder": os.mkdir,
    "a socket": listen,
    "a link to a fifo": link_to_fifo,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READERS)
def test_something_else_in_the_place_of_a_state_file_stops_no_command(shell: Shell, name: str, kind: str) -> None:
    shell.skill("pdf")
    shell.skill("docx", root=shell.project / "source")
    shell("agent", "create", "helper").ok()
    file = shell.metier / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    KINDS[kind](file)
    for words in READERS[name]:
        ran = shell(*words)
        assert ran.code != -signal.SIGALRM, ran
        assert "Traceback" not in ran.err, ran
        assert ran.code in (0, 1, 2, 3, 4, 5, 6), ran
        assert ran.code in (0, 1) or "hint: " in ran.err, ran
    target = Path(f"{file}.target")
    assert not target.exists() or target.is_fifo(), "what the link leads to was replaced"


def modes(folder: Path) -> dict[str, str]:
    """The mode of everything in metier's home that is not private, without skills and databases."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if {"skills", "plugins", "kept"} & set(parts[:1]) or path.is_symlink() or ".sqlite" in path.name:
            continue
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            found["/".join(parts)] = oct(path.stat().st_mode)
    return found


@pytest.mark.parametrize("existing", [False, True])
def test_every_file_that_metier_keeps_is_private(shell: Shell, existing: bool) -> None:
    if existing:
        shell.metier.mkdir(mode=0o755)
    old = os.umask(0o022)
    try:
        shell.skill("docx", root=shell.project / "source")
        for words in [
            ("trust",), ("config", "set", "skills.max_depth", "3"), ("agent", "create", "helper"), ("skill", "list"),
            ("skill", "select", "fill a form"), ("skill", "install", "./source/docx"), ("policy", "allow", "Bash(git:*)"),
            ("skill", "install", "./source/docx", "--project"), ("skill", "list"), ("doctor",),
            ("policy", "approve", "hello-world", "--yes"),
        ]:  # fmt: skip
            shell(*words)
    finally:
        os.umask(old)
    assert modes(shell.metier) == ({"": "0o40755"} if existing else {})


@pytest.mark.parametrize(
    "words",
    [
        ("skill", "list"), ("skill", "select", "say hello"), ("prompt",), ("skill", "show", "hello-world"),
        ("skill", "run", "greeter", "scripts/hi.sh"), ("config", "show"), ("policy", "show"),
        ("skill", "activate", "hello-world"),
    ],
)  # fmt: skip
def test_a_command_that_reads_needs_no_writable_home(shell: Shell, words: tuple[str, ...]) -> None:
    script = shell.skill("greeter") / "scripts/hi.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho hi\n")
    for folder in (shell.metier, shell.home):
        folder.chmod(0o555)
    try:
        ran = shell.sh(f'PATH={os.defpath} "$METIER" {" ".join(repr(word) for word in words)}', humble=True)
    finally:
        for folder in (shell.home, shell.metier):
            folder.chmod(0o755)
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran
