"""`metier trust`: nothing of a project is used before the user trusts it."""

from __future__ import annotations

import pytest

from cli.shell import Shell


@pytest.fixture
def cloned(shell: Shell) -> Shell:
    for place in (".metier", ".claude", ".agents", ".agent"):
        shell.skill(f"from{place.replace('.', '-')}", root=shell.project / place / "skills")
    (shell.project / ".metier/config.toml").write_text('[skills]\ndisabled_bundled = ["hello-world"]\n')
    return shell


def test_the_skills_of_a_cloned_project_are_listed_as_untrusted(cloned: Shell) -> None:
    states = cloned.listed()
    assert len(states) == 4
    assert set(states.values()) == {"untrusted"}
    assert "run `metier trust` in it" in cloned("skill", "list").out
    assert "from-metier" not in cloned("prompt").out


def test_its_settings_are_not_read_either(cloned: Shell) -> None:
    assert cloned("skill", "show", "hello-world", "--json").data["state"] == "enabled"
    (cloned.project / ".metier/config.toml").write_text("broken [")
    assert cloned("skill", "list").code == 0


def test_trusting_a_folder_enables_its_skills_and_lists_them(cloned: Shell) -> None:
    data = cloned("trust", "--json").data
    assert data["folder"] == str(cloned.project)
    assert (data["trusted"], data["changed"]) == (True, True)
    assert len(data["skills"]) == 4
    assert set(cloned.listed().values()) == {"enabled"}
    assert cloned("skill", "show", "hello-world", "--json").data["state"] == "disabled"
    assert "Already trusted" in cloned("trust").ok().out


def test_trust_can_be_taken_back(cloned: Shell) -> None:
    cloned("trust").ok()
    assert cloned("trust", "--remove", "--json").data["changed"] is True
    assert set(cloned.listed().values()) == {"untrusted"}
    assert "Not in the list of trusted folders" in cloned("trust", "--remove").ok().out


def test_a_folder_that_is_gone_can_still_lose_its_trust(shell: Shell) -> None:
    folder = shell.project / "gone"
    folder.mkdir()
    shell("trust", "gone").ok()
    folder.rmdir()
    assert shell("trust", "gone", "--remove", "--json").data["changed"] is True


def test_the_trusted_folders_are_listed(shell: Shell) -> None:
    assert shell("trust", "--list").ok().out == "No trusted folders\n"
    shell("trust").ok()
    assert shell("trust", "--list").ok().out == f"{shell.project}\n"


def test_trust_holds_below_its_folder_and_not_beside_it(shell: Shell) -> None:
    below, beside = shell.project / "below", shell.home / "project-2"
    for folder in (below, beside):
        shell.skill("local", root=folder / ".metier/skills")
    shell("trust").ok()
    assert shell.listed(folder=below) == {"local": "enabled"}
    assert shell.listed(folder=beside) == {"local": "untrusted"}


def test_in_ci_a_variable_is_enough(cloned: Shell) -> None:
    assert set(cloned.listed(METIER_TRUST="1").values()) == {"enabled"}
    assert set(cloned.listed(METIER_TRUST="0").values()) == {"untrusted"}
    assert set(cloned.listed(METIER_TRUST="").values()) == {"untrusted"}


def test_a_broken_list_is_neither_nothing_nor_everything(cloned: Shell) -> None:
    cloned("trust").ok()
    (cloned.metier / "trust.json").write_text('{"folders": "/"}')
    for words in (("skill", "list"), ("trust",), ("skill", "show")):
        cloned(*words).failed(2, "trust.json")


@pytest.mark.parametrize("folder", ["/", "~", "~/..", "../home"])
def test_the_home_folder_and_what_contains_it_is_trusted_only_with_yes(shell: Shell, folder: str) -> None:
    ran = shell("trust", folder).failed(5, "every project below it would be trusted", "--yes")
    assert ("contains" in ran.err) == (folder in ("/", "~/.."))
    assert shell("trust", "--list").out == "No trusted folders\n"
    shell("trust", folder, "--yes").ok()
    assert shell("trust", "--list", "--json").data["folders"] == [
        str((shell.project / folder.replace("~", "../home")).resolve())
    ]
    shell("trust", folder, "--remove").ok()


def test_a_folder_in_the_home_folder_is_trusted_without_a_question(shell: Shell) -> None:
    (shell.home / "work").mkdir()
    shell("trust", "~/work").ok()
