"""Names of other agents' tools: each means one kind of tool, and a rule for one name covers the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.runtime import ToolPattern
from metier.runtime.policy.patterns import tool_request
from metier.runtime.policy.tool_names import TOOL_NAMES, ToolKind, kind_of_tool


def test_every_name_of_the_table_means_exactly_one_kind() -> None:
    for row in TOOL_NAMES:
        assert {kind_of_tool(name) for name in row.all} == {row.kind}, row


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Bash", ToolKind.COMMAND), ("shell", ToolKind.COMMAND), ("exec_command", ToolKind.COMMAND),
        ("run_in_terminal", ToolKind.COMMAND), ("run_shell_command", ToolKind.COMMAND), ("Shell", ToolKind.COMMAND),
        ("run_terminal_cmd", ToolKind.COMMAND), ("execute", ToolKind.COMMAND),
        ("Read", ToolKind.READ), ("view", ToolKind.READ), ("copilot_readFile", ToolKind.READ),
        ("search_file_content", ToolKind.SEARCH), ("apply_patch", ToolKind.EDIT), ("MultiEdit", ToolKind.EDIT),
        ("replace", ToolKind.EDIT), ("create_file", ToolKind.WRITE), ("LS", ToolKind.LIST), ("list_dir", ToolKind.LIST),
        ("WebFetch", ToolKind.FETCH), ("fetch_webpage", ToolKind.FETCH), ("run_code", ToolKind.CODE),
        ("mcp__github__search", None), ("Task", None), ("TodoWrite", None),
    ],
)  # fmt: skip
def test_the_names_of_other_agents_are_known(name: str, kind: ToolKind | None) -> None:
    assert kind_of_tool(name) is kind


@pytest.mark.parametrize(
    ("pattern", "tool", "is_granted"),
    [
        ("view", "Read", True), ("read_many_files", "Grep", True), ("Read", "Glob", True), ("Glob", "Read", False),
        ("Grep", "Read", False), ("Grep", "Glob", True), ("apply_patch", "Write", True), ("create_file", "Edit", True),
        ("Write", "Read", False), ("Read", "Write", False), ("Bash", "Python", False), ("run_shell_command", "Bash", True),
    ],
)  # fmt: skip
def test_a_rule_covers_the_tools_of_its_kind_under_any_name(pattern: str, tool: str, is_granted: bool) -> None:
    assert ToolPattern.parse(pattern).grants(tool_request(tool, "x")) is is_granted


def test_a_deny_for_one_name_of_the_shell_holds_for_all() -> None:
    for name in ("shell", "run_shell_command", "run_in_terminal", "Shell"):
        assert ToolPattern.parse(f"{name}(git push:*)").forbids(tool_request("Bash", "git -C . push"))
        assert ToolPattern.parse("Bash(git push:*)").forbids(tool_request(name, "git -C . push"))


def test_the_documentation_shows_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs/policy.md").read_text()
    for row in TOOL_NAMES:
        (line,) = [line for line in page.splitlines() if line.startswith("|") and f"| `{row.kind}` |" in line]
        columns = (row.ours, row.kind, row.claude, row.codex, row.copilot, row.gemini, row.cursor, row.opencode, row.others)
        shown = [cell.replace("`", "").strip() for cell in line.strip("|").split("|")]
        assert shown == [column or ("not offered" if not place else "") for place, column in enumerate(columns)]
