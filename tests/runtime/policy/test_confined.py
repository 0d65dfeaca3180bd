"""Confined tools: allowed-tools of an active skill decide without a question, deny always wins, the rest asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from metier.errors import RefusedError
from metier.runtime import (
    ApprovalAnswer,
    MemoryApprovals,
    PathContext,
    Permissions,
    Policy,
    PolicyVerdict,
    Question,
    ToolRequest,
)
from metier.runtime.policy.patterns import command_request, part_requests
from metier.runtime.policy.permissions import Requester
from metier.values import replace

ALLOW, ASK, DENY = PolicyVerdict.ALLOW, PolicyVerdict.ASK, PolicyVerdict.DENY


def command(line: str) -> ToolRequest:
    return replace(command_request("Bash", line), is_confined=True)


def file(tool: str, path: str) -> ToolRequest:
    return ToolRequest(tool=tool, argument=path, is_confined=True)


def verdict(request: ToolRequest, *tools: str, **options: Any) -> PolicyVerdict:
    context = options.pop("context", PathContext())
    permissions = Permissions(policy=Policy.of(**options), context=context)
    return permissions.decide(request, Requester(name="s", tools=tools)).verdict


@pytest.mark.parametrize(
    ("line", "tools", "expected"),
    [
        ("git diff HEAD", ("Bash(git:*)",), ALLOW),
        ("git diff HEAD", ("Bash",), ALLOW),
        ("git diff HEAD", ("run_shell_command",), ALLOW),
        ("git diff HEAD", ("shell(git:*)",), ALLOW),
        ("git diff HEAD", (), ASK),
        ("git diff HEAD", ("Read",), ASK),
        ("git diff HEAD", ("Bash(npm:*)",), ASK),
        ("mytool --go", ("Bash(mytool:*)",), ALLOW),
        # Each part of a list or a pipe is judged.
        ("git status && git log -3", ("Bash(git:*)",), ALLOW),
        ("git log | head -5", ("Bash(git:*)",), ASK),
        ("git log | head -5", ("Bash(git:*)", "Bash(head:*)"), ALLOW),
        ("cd sub && git log", ("Bash(git:*)",), ALLOW),
        ("git status; rm -rf x", ("Bash(git:*)",), ASK),
        ("git log 2>&1", ("Bash(git:*)",), ALLOW),
        ("git log 2>/dev/null", ("Bash(git:*)",), ALLOW),
        ("git log > out/log.txt", ("Bash(git:*)",), ASK),
        ("git log > out/log.txt", ("Bash(git:*)", "Write(out/*)"), ALLOW),
        ("git log > log.txt", ("Bash(git:*)", "Write(out/*)"), ASK),
        ("cd .. && git log > out/log.txt", ("Bash(git:*)", "Write(out/*)"), ASK),
        # What runs is decided by the shell, so it is asked.
        ("git diff $(git merge-base main x) x", ("Bash(git:*)",), ASK),
        ("git log $x", ("Bash(git:*)",), ASK),
        ("git add *.py", ("Bash(git:*)",), ASK),
        ("GIT_PAGER=id git log", ("Bash(git:*)",), ASK),
        ("git show ~/x", ("Bash(git:*)",), ASK),
        ("git -c core.pager=id log", ("Bash(git:*)",), ASK),
        ("cat x.py | python3", ("Bash(cat:*)", "Bash(python3:*)"), ASK),
        ("cat <<E\nx\nE", ("Bash(cat:*)",), ASK),
        ("git log \\\n -3", ("Bash(git:*)",), ALLOW),
        ("git 'log", ("Bash(git:*)",), ASK),
    ],
)  # fmt: skip
def test_allowed_tools_grant_a_confined_command_that_they_certainly_cover(
    line: str, tools: tuple[str, ...], expected: PolicyVerdict
) -> None:
    assert verdict(command(line), *tools) is expected


def test_deny_wins_over_allowed_tools_and_over_the_users_own_allow() -> None:
    line = "git status && git -C . push"
    assert verdict(command(line), "Bash", deny=["Bash(git push:*)"], allow=["Bash"]) is DENY
    assert verdict(command("cat .env"), "Bash", deny=["Read(.env)"]) is DENY
    assert verdict(command("git status"), "Bash", tools=DENY) is DENY


def test_the_user_can_allow_a_confined_tool_that_no_skill_requests() -> None:
    assert verdict(command("git status"), allow=["Bash(git:*)"]) is ALLOW
    assert verdict(command("git status"), tools=ALLOW) is ALLOW
    assert Permissions(policy=Policy.of(allow=["Bash(git:*)"])).decide(command("git status"), None).verdict is ALLOW


def test_a_host_tool_with_the_same_name_is_still_asked() -> None:
    """allowed-tools grant only what metier confines itself."""
    assert verdict(command_request("Bash", "git diff"), "Bash(git:*)") is ASK


def test_reading_the_workspace_follows_its_own_setting() -> None:
    for tool in ("Read", "Glob", "Grep"):
        assert verdict(file(tool, "src/a.py")) is ALLOW
        assert verdict(file(tool, "src/a.py"), workspace_read=ASK) is ASK
        assert verdict(file(tool, "src/a.py"), "Read", workspace_read=DENY) is DENY
        assert verdict(file(tool, "src/a.py"), "Read", workspace_read=ASK) is ALLOW
        assert verdict(file(tool, "src/a.py"), tools=ALLOW, workspace_read=ASK) is ASK
    assert verdict(file("Write", "a.py"), workspace_read=ALLOW) is ASK


def test_a_path_in_allowed_tools_grants_only_that_path(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/away").symlink_to("/etc")
    context = PathContext(folder=str(tmp_path), resolve=os.path.realpath)
    assert verdict(file("Write", "out/report.md"), "Write(out/*)", context=context) is ALLOW
    assert verdict(file("Edit", "out/report.md"), "Write(out/*)", context=context) is ALLOW
    assert verdict(file("Write", "src/a.py"), "Write(out/*)", context=context) is ASK
    assert verdict(file("Write", "out/../a.py"), "Write(out/*)", context=context) is ASK
    assert verdict(file("Write", "out/away/passwd"), "Write(out/*)", context=context) is ASK


def test_one_active_skill_that_covers_the_call_is_enough() -> None:
    asked: list[Question] = []

    def approve(question: Question) -> ApprovalAnswer:
        asked.append(question)
        return ApprovalAnswer.NO

    permissions = Permissions(approve=approve)
    skills = [Requester(name="review", tools=("Bash(git:*)",)), Requester(name="notes", tools=("Read",))]
    assert permissions.authorise_any(command("git log"), skills).rule == "allowed-tools: Bash(git:*)"
    assert asked == []
    with pytest.raises(RefusedError, match="notes may not use Bash"):
        permissions.authorise_any(command("make"), skills)
    assert [question.skill for question in asked] == ["notes"]


def test_without_an_active_skill_the_model_itself_asks_and_always_holds() -> None:
    asked: list[Question] = []

    def approve(question: Question) -> ApprovalAnswer:
        asked.append(question)
        return ApprovalAnswer.ALWAYS

    permissions = Permissions(approve=approve, approvals=MemoryApprovals())
    for _ in range(2):
        assert permissions.authorise_any(command("make test"), ()).verdict is ALLOW
    assert [(question.skill, str(question.request)) for question in asked] == [("", "Bash(make test)")]
    with pytest.raises(RefusedError) as refused:
        Permissions().authorise_any(command("make"), ())
    assert str(refused.value) == "the model may not use Bash(make): policy.tools: ask"
    assert refused.value.hint == "the user can allow it with `metier policy allow 'Bash(make)'`"


def test_a_skill_on_another_server_gets_no_grant_from_its_allowed_tools() -> None:
    remote = Requester(name="far", tools=("Bash",), digest=lambda: "d", origin="server x")
    assert Permissions().decide(command("git log"), remote).verdict is ASK


def test_parts_of_a_line_are_its_commands_and_the_files_that_it_writes() -> None:
    parts = part_requests("git log -3 | sort -r > out.txt; cd x")
    assert parts == ()
    parts = part_requests("git log -3 | sort -r > out.txt")
    assert [str(part) for part in parts] == ["Bash(git log -3)", "Bash(sort -r)", "Write(out.txt)"]
