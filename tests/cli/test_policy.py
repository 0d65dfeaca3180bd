"""`metier policy`."""

from __future__ import annotations

import pytest

from cli.shell import Shell, plain


def test_the_policy_is_shown_and_changed(shell: Shell) -> None:
    shell.skill("net")
    assert (
        shell("policy", "show").ok().out
        == "scripts   allow\nnetwork   ask\nsecrets   ask\ntoolsets  ask\ntools     ask\nsandbox   at least landlock\n"
    )
    shell("policy", "allow", "Bash(git:*)", "Read").ok()
    shell("policy", "deny", "Read").ok()
    shell("policy", "allow", "Network", "--skill", "net").ok()
    data = shell("policy", "show", "--json").data
    assert (data["allow"], data["deny"]) == (["Bash(git:*)"], ["Read"])
    assert data["approvals"] == [{"skill": "net", "pattern": "Network", "valid": True}]
    assert 'allow = ["Bash(git:*)"]' in shell.config.read_text()


def test_an_approval_expires_when_the_skill_changes(shell: Shell) -> None:
    folder = shell.skill("net")
    shell("policy", "allow", "Network", "--skill", "net").ok()
    (folder / "new.md").write_text("changed")
    assert "approved  net: Network  expired: the skill has changed" in plain(shell("policy", "show").out)
    assert shell("policy", "deny", "--skill", "net").ok().out == "Removed 1 approval of net\n"


@pytest.mark.parametrize(("words", "said"), [
    (("policy", "allow", "two words"), "is not a tool pattern"), (("policy", "deny"), "name a pattern"),
    (("policy", "allow"), "Missing argument"),
])  # fmt: skip
def test_an_invalid_pattern_is_a_usage_error(shell: Shell, words: tuple[str, ...], said: str) -> None:
    shell(*words).failed(2, said)


def test_an_invalid_policy_setting_names_its_line(shell: Shell) -> None:
    shell.write_config('[policy]\nnetwork = "perhaps"\n')
    shell("policy", "show").failed(2, "policy.network is 'perhaps', not one of allow, ask, deny", "config.toml:2")


def test_a_project_cannot_write_the_users_policy(shell: Shell) -> None:
    project = shell.project / ".metier"
    project.mkdir()
    (project / "config.toml").write_text('[policy]\nallow = ["*"]\nnetwork = "allow"\n[sandbox]\nrequire = "off"\n')
    shell("trust").ok()
    data = shell("policy", "show", "--json").data
    assert (data["allow"], data["network"], data["sandbox"]) == ([], "ask", "landlock")
