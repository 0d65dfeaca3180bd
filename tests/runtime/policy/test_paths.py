"""Path patterns: paths are compared in their shortest form, and links are followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metier.runtime import PathContext, Permissions, Policy, PolicyVerdict, ToolPattern, ToolRequest
from metier.runtime.policy.patterns import command_request
from metier.runtime.policy.permissions import Requester

HERE = PathContext(folder="/srv/app", home="/home/u")


def denied(pattern: str, path: str, tool: str = "Read", context: PathContext = HERE) -> bool:
    return ToolPattern.parse(pattern).forbids(ToolRequest(tool=tool, argument=path), context=context)


def granted(pattern: str, path: str, context: PathContext = HERE) -> bool:
    return ToolPattern.parse(pattern).grants(ToolRequest(tool="Read", argument=path), context=context)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow",
        "//etc/shadow",
        "///etc//shadow",
        "/usr/../etc/shadow",
        "/./etc/./shadow",
        "/etc/../etc/shadow",
        "/ETC/shadow",
        "/etc/ssl/key",
        "../../etc/shadow",
        "x/../../../etc/shadow",
        "\\etc\\shadow",
        "C:/etc/shadow",
        "/etc/",
    ],
)
def test_a_denied_path_is_denied_in_every_spelling(path: str) -> None:
    assert denied("Read(/etc/*)", path)
    assert denied("Read(/etc)", path)
    assert denied("Read(//etc/**)", path)


@pytest.mark.parametrize("path", ["/etcx/shadow", "/usr/etc/shadow", "etc/shadow", "/srv/etc/x", "shadow", ""])
def test_other_paths_are_not_denied(path: str) -> None:
    assert not denied("Read(/etc/*)", path)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("Read(~/.ssh/*)", "/home/u/.ssh/id", True),
        ("Read(~/.ssh/*)", "~/.ssh/id", True),
        ("Read(/home/u/.ssh/*)", "~/.ssh/id", True),
        ("Read(/home/u/.ssh)", "../../home/u/.ssh/id", True),
        ("Read(secrets/*)", "./secrets/x", True),
        ("Read(secrets/*)", "/srv/app/secrets/x", True),
        ("Read(./secrets)", "secrets/x/y", True),
        ("Read(secrets/*)", "/srv/other/secrets/x", False),
        ("Read(.env)", "/srv/app/a/b/.env", True),
        ("Read(.env)", "a/.envrc", False),
        ("Read(*.pem)", "keys/a.pem", True),
    ],
)
def test_home_and_relative_paths_are_resolved(pattern: str, path: str, expected: bool) -> None:
    assert denied(pattern, path) is expected


@pytest.mark.parametrize(
    ("pattern", "tool", "expected"),
    [
        ("Read(/etc/*)", "Grep", True),
        ("Read(/etc/*)", "Edit", True),
        ("Read(/etc/*)", "Write", True),
        ("Read(/etc/*)", "NotebookEdit", True),
        ("Edit(/etc/*)", "Write", True),
        ("Write(/etc/*)", "MultiEdit", True),
        ("Edit(/etc/*)", "Read", False),
        ("Read(/etc/*)", "WebFetch", False),
    ],
)
def test_a_denied_read_denies_edits_and_a_denied_edit_denies_writes(pattern: str, tool: str, expected: bool) -> None:
    assert denied(pattern, "/etc/x", tool) is expected


def test_without_a_folder_a_path_that_leads_up_may_lead_anywhere() -> None:
    assert denied("Read(/etc/*)", "a/../../../etc/shadow", context=PathContext())


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("Read(src/*)", "src/a.py", True),
        ("Read(src/*)", "src/../x", False),
        ("Read(src/*)", "src\\..\\..\\x", False),
        ("Read(src/*)", "/srv/app/src/a.py", False),
        ("Read(src/a.py)", "src/a.py", True),
        ("Read(/srv/*)", "/srv/app/x", True),
        ("Read(/srv/*)", "//srv/app", False),
    ],
)
def test_an_allow_needs_the_path_as_it_is_written(pattern: str, path: str, expected: bool) -> None:
    assert granted(pattern, path) is expected


def context_of(folder: Path) -> PathContext:
    return PathContext(folder=str(folder), home=str(folder / "home"), resolve=os.path.realpath)


def test_a_link_to_a_denied_file_is_denied_and_not_granted(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    for name in ("project", "secret"):
        (root / name).mkdir()
    (root / "secret" / "key").write_text("")
    (root / "project" / "link").symlink_to(root / "secret" / "key")
    (root / "project" / "folder").symlink_to(root / "secret")
    (root / "project" / "a.txt").write_text("")
    context = context_of(root / "project")
    for path in ("link", "folder/key", str(root / "project" / "link"), "./folder/../folder/key"):
        assert denied(f"Read({root}/secret/*)", path, context=context), path
    assert granted("Read(*)", "a.txt", context)
    assert granted("Read(./*)", "./a.txt", context)
    assert not granted("Read(./*)", "./link", context)
    assert not granted("Read(./*)", "./folder/key", context)
    assert not denied(f"Read({root}/secret/*)", "a.txt", context=context)


def test_a_pattern_through_a_link_denies_the_file_that_it_leads_to(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "real").mkdir()
    (root / "link").symlink_to(root / "real")
    assert denied(f"Read({root}/link/*)", f"{root}/real/x", context=context_of(root))


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("Read(~/.ssh/*)", "cat ~/.ssh/id", True),
        ("Read(~/.ssh/*)", "cat /home/u/.ssh/id", True),
        ("Read(~/.ssh/*)", "cat $HOME/.ssh/id", True),
        ("Read(/srv/app/secrets/*)", "cat secrets/x", True),
        ("Read(/srv/app/secrets/*)", "cat ./a/../secrets/x", True),
        ("Read(secrets/*)", "grep -r x .", True),
        ("Read(secrets/*)", "grep -r x src", False),
        ("Read(/etc/*)", "cat x.py", False),
        ("Read(/etc/*)", "ls *.py", False),
        ("Edit(/srv/app/x)", "echo a > x", True),
        ("Edit(/srv/app/x)", "cat x", False),
    ],
)
def test_a_command_that_names_a_denied_path_is_denied(pattern: str, command: str, expected: bool) -> None:
    assert ToolPattern.parse(pattern).forbids(command_request("Bash", command), context=HERE) is expected


def test_a_session_denies_a_shell_command_by_a_path_rule() -> None:
    permissions = Permissions(policy=Policy.of(allow=["Bash"], deny=["Read(/etc/*)"]), context=HERE)
    skill = Requester(name="x", tools=("Bash",))
    assert permissions.check("Bash", "cat ../../etc/shadow", skills=[skill]).verdict is PolicyVerdict.DENY
    assert permissions.check("Bash", "cat a.txt", skills=[skill]).verdict is PolicyVerdict.ALLOW
