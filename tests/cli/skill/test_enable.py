"""`metier skill enable` and `disable`, by both of their names."""

from __future__ import annotations

import pytest

from cli.shell import Shell


@pytest.mark.parametrize("group", [("skill",), ("skill", "manage")])
@pytest.mark.parametrize("name", ["pdf", "hello-world", "quiet"])
def test_off_and_on_again(shell: Shell, group: tuple[str, ...], name: str) -> None:
    shell.skill("pdf")
    shell.skill("quiet", head="default_enabled: false")
    states = []
    for word in ("enable", "disable", "disable", "enable", "enable"):
        data = shell(*group, word, name, "--json").data
        assert data["name"] == name
        states.append(data["state"])
    assert states == ["enabled", "disabled", "disabled", "enabled", "enabled"]
    assert shell(*group, "disable", name).ok().out == f"{name} is disabled (disabled in the configuration)\n"


def test_hand_written_configuration_is_kept(shell: Shell) -> None:
    shell.skill("pdf")
    shell.write_config('# mine\n[skills]\ndisabled = ["other"]  # for now\n\n[cache]\nenabled = true\n')
    shell("skill", "disable", "pdf").ok()
    shell("skill", "enable", "pdf").ok()
    text = shell.config.read_text()
    assert text.startswith("# mine\n[skills]\n")
    assert '"other"' in text
    assert "[cache]\nenabled = true\n" in text


def test_another_rule_that_has_the_last_word_is_named(shell: Shell) -> None:
    shell.skill("pdf", head="metadata:\n  requires: nothere")
    shell.write_config('[skills]\ndeny = ["old-*"]\n')
    shell.skill("old-one")
    assert shell("skill", "enable", "pdf").ok().out == "pdf is unavailable (missing commands: nothere)\n"
    assert shell("skill", "enable", "old-one").ok().out == "old-one is disabled (denied by a filter)\n"


def test_enabled_bundled_is_a_list_that_grows(shell: Shell) -> None:
    shell.write_config('[skills]\nenabled_bundled = ["code-review"]\n')
    assert shell("skill", "enable", "hello-world", "--json").data["state"] == "enabled"
    assert shell("config", "get", "skills.enabled_bundled").out == "code-review hello-world\n"


def test_a_skill_in_an_untrusted_folder_cannot_be_switched(shell: Shell) -> None:
    shell.skill("local", root=shell.project / ".metier/skills")
    for word in ("enable", "disable"):
        shell("skill", word, "local").failed(5, "not trusted")


def test_a_broken_configuration_is_not_made_worse(shell: Shell) -> None:
    shell.write_config("[skills\ndeny = 1\n")
    shell("skill", "disable", "hello-world").failed(2, f"{shell.config}:1:")
    assert shell.config.read_text() == "[skills\ndeny = 1\n"
