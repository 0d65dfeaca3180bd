"""Skills as files of Claude Code: what its hooks and its questions about permissions come to."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

import metier
from adapters.claude_suites import ClaudeFiles
from metier.adapters import Skills
from metier.adapters.claude import SkillsWorkspace, with_skills
from metier.errors import UsageError
from metier.runtime import Permissions, Policy, SessionServices
from metier.testing import skill_folder
from metier.testing.adapters import Mode
from metier.testing.model import says


@pytest.fixture
def root(tmp_path: Path) -> Path:
    skill_folder(
        tmp_path / "skills",
        "chart",
        head="allowed-tools: Bash(python3:*) WebFetch",
        files={"scripts/draw.py": "print('drew')\n"},
    )
    return tmp_path / "skills"


def asked(options: ClaudeAgentOptions, tool: str, **given: Any) -> str:
    async def ask() -> PermissionResultAllow | PermissionResultDeny:
        assert options.can_use_tool is not None
        return await options.can_use_tool(tool, given, ToolPermissionContext(signal=None, suggestions=[]))

    answer = asyncio.run(ask())
    return "allow" if isinstance(answer, PermissionResultAllow) else answer.message


def allowing(root: Path, *patterns: str, deny: tuple[str, ...] = ()) -> Skills:
    permissions = Permissions(policy=Policy.of(allow=patterns, deny=deny))
    return Skills(metier.discover(root), services=SessionServices(permissions=permissions))


def test_what_an_active_skill_asks_for_and_the_policy_allows_is_allowed(root: Path) -> None:
    with SkillsWorkspace(allowing(root, "Bash(python3:*)")) as workspace:
        options = workspace.options()
        run = f"python3 {workspace.files.path_of('chart', 'scripts/draw.py')}"
        assert "no active skill requests it" in asked(options, "Bash", command=run)
        workspace.session.activate("chart")
        assert asked(options, "Bash", command=run) == "allow"
        assert asked(options, "Bash", command=f"{run}; id") != "allow"
        assert asked(options, "Bash", command="rm -rf /") != "allow"
        assert asked(options, "WebFetch", url="https://example.org") != "allow", "the policy does not allow it"


def before(options: ClaudeAgentOptions, tool: str, **given: Any) -> str:
    """Returns the decision of the hook before Claude Code applies its own rules."""
    assert options.hooks is not None
    [hook] = options.hooks["PreToolUse"][-1].hooks

    call: Any = {"tool_name": tool, "tool_input": given, "cwd": "/"}

    async def ask() -> Any:
        return await hook(call, None, {"signal": None})

    return str(asyncio.run(ask()).get("hookSpecificOutput", {}).get("permissionDecision", "none"))


def test_a_skill_does_not_grant_itself_what_it_asks_for(root: Path) -> None:
    # Claude Code takes the allowed-tools of an invoked skill for granted, unless a hook says otherwise.
    with SkillsWorkspace(allowing(root, "WebFetch", deny=("Bash(git:*)",))) as workspace:
        options = workspace.options(ClaudeAgentOptions(allowed_tools=["Bash(python3 own.py:*)", "mcp__own__*"]))
        assert before(options, "Bash", command="python3 x.py") == "none", "no skill is active: Claude Code's own rules"
        workspace.session.activate("chart")
        assert before(options, "Bash", command="python3 x.py") == "ask"
        assert before(options, "WebFetch", url="https://example.org") == "none", "the policy allows it"
        assert before(options, "Bash", command="python3 own.py") == "none", "the owner has allowed it"
        assert before(options, "Bash", command="ls") == "none", "the skill does not ask for it"
        assert before(options, "Bash", command="git status") == "deny"
        assert before(options, "Write", file_path=workspace.files.path_of("chart"), content="") == "deny"
        assert before(options, "Write", file_path="/elsewhere.md", content="") == "none"


def test_the_owner_is_asked_about_the_rest_but_never_about_what_the_policy_denies(root: Path) -> None:
    async def yes(
        tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        return PermissionResultAllow()

    with SkillsWorkspace(allowing(root, deny=("Bash(git push:*)",))) as workspace:
        options = workspace.options(ClaudeAgentOptions(can_use_tool=yes))
        assert asked(options, "Bash", command="git status") == "allow"
        assert "policy.deny" in asked(options, "Bash", command="git push --force")


def test_files_of_mounted_skills_can_be_read_and_others_are_asked_about(root: Path, tmp_path: Path) -> None:
    with SkillsWorkspace(root) as workspace:
        options = workspace.options()
        assert asked(options, "Read", file_path=workspace.files.path_of("chart", "scripts/draw.py")) == "allow"
        assert asked(options, "Read", file_path=workspace.files.path_of("chart", "../../../../etc/passwd")) != "allow"
        assert asked(options, "Read", file_path=str(tmp_path / "other.txt")) != "allow"


def test_everything_else_of_the_options_stays(root: Path) -> None:
    async def mine(*_: Any) -> Any:
        return {}

    own = ClaudeAgentOptions(
        cwd=root, system_prompt="Mine.", add_dirs=["/mine"], skills=["other"], max_turns=3, setting_sources=["user", "project"],
        hooks={"PostToolUse": [HookMatcher(hooks=[mine])], "Stop": [HookMatcher(hooks=[mine])]},
    )  # fmt: skip
    with SkillsWorkspace(root) as workspace:
        options = workspace.options(own)
        changed = {field.name for field in fields(own) if getattr(own, field.name) != getattr(options, field.name)}
        assert changed == {"add_dirs", "skills", "hooks", "can_use_tool"}
        assert options.skills == ["other", "chart"]
        assert options.add_dirs == ["/mine", workspace.files.folder]
        assert options.hooks is not None
        assert mine in options.hooks["PostToolUse"][0].hooks
        assert sorted(options.hooks) == ["PostToolUse", "PreToolUse", "Stop"]


def test_a_setting_source_that_would_hide_the_skills_is_an_error_and_not_widened(root: Path) -> None:
    with SkillsWorkspace(root) as workspace, pytest.raises(UsageError, match="project"):
        workspace.options(ClaudeAgentOptions(setting_sources=[]))


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (None, "<skill_content"),
        ("Mine.", "Mine.\n\n<skill_content"),
        ({"type": "preset", "preset": "claude_code", "append": "Mine."}, "Mine.\n\n<skill_content"),
        ({"type": "preset", "preset": "claude_code"}, "<skill_content"),
        ({"type": "custom", "prompt": "Mine."}, "Mine.\n\n<skill_content"),
    ],
)
def test_skills_activated_by_the_user_are_added_to_every_form_of_system_prompt(root: Path, own: Any, expected: str) -> None:
    with SkillsWorkspace(root) as workspace:
        workspace.session.activate("chart")
        prompt: Any = workspace.options(ClaudeAgentOptions(system_prompt=own)).system_prompt
        text = prompt if isinstance(prompt, str) else prompt.get("append") or prompt["prompt"]
        assert text.startswith(expected)


def test_servers_in_a_file_cannot_be_added_to(root: Path) -> None:
    with pytest.raises(UsageError, match="mcp_servers"):
        with_skills(ClaudeAgentOptions(mcp_servers="servers.json"), root)


@pytest.mark.parametrize(
    ("policy", "expected"), [(Policy.of(allow=["Bash(python3:*)"]), "drew Oslo"), (Policy(), "the owner says no")]
)
def test_the_real_claude_code_writes_nothing_into_a_skill_and_runs_only_what_skill_and_policy_allow(
    tmp_path: Path, policy: Policy, expected: str
) -> None:
    suite = ClaudeFiles()
    run = f"python3 {suite.path('chart/scripts/draw.py')} Oslo"
    script = [
        suite.call("Write", file_path=suite.path("chart/evil.md"), content="x"),
        suite.call("Bash", command=run, description="before"),
        suite.load("chart"),
        suite.call("Bash", command=run, description="after"),
        says("ok"),
    ]
    with suite.agent(tmp_path, script, head="allowed-tools: Bash(python3:*)") as agent:
        skills = Skills(agent.skills.catalog, services=SessionServices(permissions=Permissions(policy=policy)))
        suite.talk(skills, agent.model, ["Draw Oslo."], Mode.ASYNC)
        wrote, before, _, after = agent.model.requests[-1].results
        assert "read-only" in wrote
        assert before == "the owner says no"
        assert after == expected
