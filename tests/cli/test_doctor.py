"""`metier doctor`: what is right and wrong with this machine, in one page."""

from __future__ import annotations

from typing import Any

from cli.shell import Shell
from metier.registry import RegistryLocation, statistics
from metier.testing import run_now


def checks(shell: Shell, **options: Any) -> dict[str, tuple[str, str]]:
    rows = shell("doctor", "--json", **options).data["checks"]
    assert all({"name", "level", "text", "hint"} <= row.keys() for row in rows)
    return {row["name"]: (row["level"], row["text"]) for row in rows}


def test_a_fresh_machine_is_well(shell: Shell) -> None:
    ran = shell("doctor")
    assert (ran.code, ran.err) == (0, "")
    found = checks(shell)
    for name in ("metier", "home", "settings", "skills", "project"):
        assert found[name][0] == "ok", name
    assert found["git"] == ("warning", "not found; needed to install skills from repositories")
    shell.install("git")
    assert checks(shell)["git"] == ("ok", str(shell.bin / "git"))


def test_a_failed_check_exits_with_1(shell: Shell) -> None:
    shell.write_config("[")
    ran = shell("doctor")
    assert ran.code == 1
    assert f"✗ settings       {shell.config}:1:" in ran.out
    assert "hint:" in ran.out
    assert checks(shell)["settings"][0] == "error"


def test_skills_that_cannot_be_used_are_named(shell: Shell) -> None:
    shell.skill("broken", data=b"x")
    shell.skill("needy", head="metadata:\n  requires: nothere")
    found = checks(shell)
    assert found["broken"][0] == "warning"
    assert found["needy"] == ("warning", "unavailable: missing commands: nothere")


def test_an_untrusted_project_is_reported(shell: Shell) -> None:
    shell.skill("local", root=shell.project / ".metier/skills")
    assert checks(shell)["project"][0] == "warning"
    shell("trust").ok()
    assert checks(shell)["project"] == ("ok", f"{shell.project} is trusted")


def test_a_broken_cache_is_a_warning_and_mends_itself(shell: Shell) -> None:
    shell.skill("pdf")
    shell("skill", "list").ok()
    cache = shell.metier / "cache/catalog.sqlite"
    assert "cached in" in checks(shell)["cache"][1]
    cache.write_bytes(b"garbage" * 500)
    assert checks(shell)["cache"][0] == "warning"
    shell("skill", "list").ok()
    assert checks(shell)["cache"][0] == "ok"
    assert checks(shell, METIER_CACHE_ENABLED="0")["cache"][0] == "warning"


def test_a_registry_on_this_machine_is_checked(shell: Shell) -> None:
    assert "registry" not in checks(shell)
    run_now(statistics(RegistryLocation.in_folder(str(shell.metier / "registry"))))
    found = checks(shell)
    assert found["registry"] == ("ok", f"packages: 0, releases: 0 in {shell.metier}/registry/registry.sqlite")
    assert {name: found[name][0] for name in ("archives", "clock", "disk")} == {"archives": "ok", "clock": "ok", "disk": "ok"}
    (shell.metier / "registry/registry.sqlite").write_bytes(b"no database" * 1000)
    assert checks(shell)["registry"] == ("error", "the registry's database is damaged: file is not a database")


def test_a_configured_registry_that_does_not_exist_is_an_error(shell: Shell) -> None:
    found = checks(shell, METIER_DB=f"sqlite://{shell.metier}/none.sqlite")
    assert found["registry"] == ("error", f"{shell.metier}/none.sqlite does not exist")


def test_a_skills_folder_that_is_not_there_is_an_error(shell: Shell) -> None:
    level, text = checks(shell, SKILLS_DIR="nosuch")["skills"]
    assert (level, "no such folder" in text) == ("error", True)


def test_a_runner_of_containers_says_which_engine_works_or_why_none_does(shell: Shell) -> None:
    shell.write_config('[sandbox]\nrunner = "container"\n')
    level, text = checks(shell)["sandbox"]
    assert text.startswith("scripts run in containers of " if level == "ok" else "no container engine works: ")
    shell.write_config('[sandbox]\nrunner = "container"\nimage = "python:3.12"\n')
    expected = "no container engine works: scripts are refused (the image 'python:3.12' is not named by a digest"
    level, text = checks(shell)["sandbox"]
    assert level == "error"
    assert text.startswith((expected, "no container engine works: scripts are refused (podman is not installed"))


def test_a_misspelt_runner_is_one_sentence(shell: Shell) -> None:
    for line, message in (
        ('runner = "containers"', "sandbox.runner is 'containers', not one of sandbox, container"),
        (
            'runner = "container"\ncontainer_engine = "dokker"',
            "sandbox.container_engine is 'dokker', not one of podman, docker",
        ),
    ):
        shell.write_config(f"[sandbox]\n{line}\n")
        assert message in checks(shell)["running"][1]


def test_the_model_is_checked_without_asking_it(shell: Shell) -> None:
    assert checks(shell)["model"][0] == "ok"
    assert "none is configured" in checks(shell)["model"][1]
    shell.write_config('[model]\nname = "openai:gpt-5"\n')
    assert checks(shell, OPENAI_API_KEY=None)["model"] == ("warning", "openai:gpt-5, but OPENAI_API_KEY is not set")
    assert checks(shell, OPENAI_API_KEY="k")["model"][0] == "ok"


def test_the_registry_is_asked(shell: Shell) -> None:
    assert checks(shell)["skills.registry"] == ("ok", "none is configured")
    shell.write_config('[skills]\nregistry = "http://127.0.0.1:9/skills"\n')
    level, text = checks(shell)["skills.registry"]
    assert level == "warning"
    assert "cannot reach http://127.0.0.1:9" in text
    assert shell("doctor").code == 0


def test_the_agents_on_this_machine_are_named(shell: Shell) -> None:
    assert "no other agent was found" in checks(shell)["agents"][1]
    (shell.home / ".claude").mkdir()
    (shell.home / ".codex").mkdir()
    assert checks(shell)["agents"] == ("ok", "claude-code, codex; new skills are for all of them")
