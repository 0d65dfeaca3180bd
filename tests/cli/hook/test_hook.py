"""`metier hook`, typed into a shell, and the program that agents start."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from guards import eventually
from metier.hosts import PROMPT_HOOKS

PROMPT = "fill in the fields of this PDF form"


class Machine:
    def __init__(self, home: Path) -> None:
        self.home, self.project = home, home / "project"
        self.project.mkdir()
        (home / ".claude").mkdir()
        self.skill("pdf-forms", "Fills in the fields of PDF forms. Use when the user has a PDF form.")

    def skill(self, name: str, description: str, more: str = "", folder: str = ".claude/skills") -> Path:
        place = self.home / folder / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\n# {name}\n")
        return place

    def run(self, *words: str, stdin: str = "", status: int = 0, folder: Path | None = None) -> str:
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        command = [str(Path(sys.executable).parent / "metier"), *words]
        done = subprocess.run(
            command, input=stdin, cwd=folder or self.project, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def ask(self, prompt: str = PROMPT, *, agent: str = "claude-code", session: str = "") -> str:
        payload = json.dumps({"prompt": prompt, "cwd": str(self.project), "session_id": session})
        return self.run("hook", "run", agent, stdin=payload)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_hooks_are_installed_into_the_agents_of_this_machine(machine: Machine) -> None:
    assert "claude-code: wrote" in machine.run("hook", "install")
    assert not (machine.home / ".codex").exists()
    assert "claude-code" in machine.run("hook", "status").splitlines()[0]
    assert "installed (user), 1 skill visible here" in machine.run("hook", "status")
    assert "already in" in machine.run("hook", "install")
    assert "settings.json removed" in machine.run("hook", "uninstall")
    assert not (machine.home / ".claude" / "settings.json").exists()
    assert machine.run("hook", "uninstall") == "No agent has the hook.\n"


def test_the_hook_of_a_project_is_the_same_from_any_of_its_folders(machine: Machine) -> None:
    (machine.project / ".git").mkdir()
    deep, package = machine.project / "docs" / "guides", machine.project / "packages" / "cart"
    deep.mkdir(parents=True)
    (package / "src").mkdir(parents=True)
    (package / "metier.lock").touch()
    assert f"wrote {machine.project}/.claude/settings.json" in machine.run("hook", "install", "--project", folder=deep)
    assert not (deep / ".claude").exists()
    for folder in (machine.project, deep):
        assert "installed (project)" in machine.run("hook", "status", folder=folder)
    # A folder with a lock of its own is a project of its own.
    assert "installed (project)" not in machine.run("hook", "status", folder=package / "src")
    assert f"wrote {package}/.claude/settings.json" in machine.run("hook", "install", "--project", folder=package / "src")
    assert machine.run("hook", "uninstall", "--project", folder=package / "src").count("removed") == 1
    assert (machine.project / ".claude" / "settings.json").exists()
    assert machine.run("hook", "uninstall", "--project", folder=deep).count("removed") == 1
    assert not (machine.project / ".claude" / "settings.json").exists()


def test_an_agent_without_a_hook_is_named_with_the_others(machine: Machine) -> None:
    assert "choose from claude-code, codex" in machine.run("hook", "install", "zed", status=2)


def test_without_any_agent_the_hint_can_be_typed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for file in sorted((tmp_path / ".claude").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    (tmp_path / ".claude").rmdir()
    assert "metier hook install claude-code" in machine.run("hook", "install", status=3)


def test_a_dry_run_shows_the_change_and_writes_nothing(machine: Machine) -> None:
    assert '+        "command":' in machine.run("hook", "install", "--dry-run").replace("+            ", "+        ")
    assert not (machine.home / ".claude" / "settings.json").exists()


def test_a_prompt_is_answered_and_an_unrelated_one_is_not(machine: Machine) -> None:
    machine.run("hook", "install")
    assert "The skill pdf-forms fits this request." in json.loads(machine.ask())["hookSpecificOutput"]["additionalContext"]
    assert machine.ask("why is the sky blue?") == ""


def test_a_skill_is_named_once_in_a_conversation(machine: Machine) -> None:
    machine.run("hook", "install")
    assert machine.ask(session="one")
    folder = machine.home / ".metier" / "router" / "conversations"
    eventually(lambda: any(file.read_text() for file in folder.glob("[0-9a-f]*")), "the record")
    assert machine.ask(session="one") == ""
    assert machine.ask(session="two")


def test_disabled_skills_and_those_only_for_users_are_not_named(machine: Machine) -> None:
    machine.run("hook", "install")
    machine.run("skill", "disable", "pdf-forms", "--skills-dir", str(machine.home / ".claude" / "skills"))
    assert machine.ask() == ""  # the settings changed: it says nothing until it has read them
    eventually(lambda: "0 skills visible here" in machine.run("hook", "status"), "the refresh")
    assert machine.ask() == ""
    machine.skill("pdf-fields", "Fills in the fields of PDF forms. Use for PDF forms.", "disable-model-invocation: true\n")
    assert "0 skills visible here" in machine.run("hook", "status")


def test_a_project_switches_it_off_without_being_trusted(machine: Machine) -> None:
    machine.run("hook", "install")
    (machine.project / ".metier").mkdir()
    (machine.project / ".metier" / "config.toml").write_text("[router]\nenabled = false\n")
    assert "switched off by router.enabled" in machine.run("hook", "status")
    assert machine.ask() == ""


def test_a_new_skill_is_named_after_the_prompt_that_found_it(machine: Machine) -> None:
    machine.run("hook", "install")
    machine.skill("chart-maker", "Draws charts of sales figures. Use when the user wants a chart or a plot.")
    machine.ask("draw a chart of the sales")
    eventually(lambda: "chart-maker" in machine.ask("draw a chart of the sales"), "the refresh")


@pytest.mark.parametrize("agent", [*PROMPT_HOOKS, "unknown", ""])
@pytest.mark.parametrize("stdin", ["", "{", '{"prompt": 7}'])
def test_whatever_arrives_the_program_says_nothing_and_succeeds(agent: str, stdin: str, machine: Machine) -> None:
    assert machine.run("hook", "run", *filter(None, [agent]), stdin=stdin) == ""


def test_a_damaged_home_never_fails_a_prompt_and_status_shows_the_error(machine: Machine) -> None:
    machine.run("hook", "install")
    for file in (machine.home / ".metier" / "cache" / "router").iterdir():
        file.write_bytes(file.read_bytes()[:-100])
    assert machine.ask() == ""
    (machine.home / ".metier" / "config.toml").write_text("[[[")
    assert machine.ask() == ""


def test_a_prompt_opens_no_connection(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        (machine.home / ".metier").mkdir()
        settings = f'[skills]\nregistry = "{url}"\n[skills.mcp.acme]\nurl = "{url}/mcp"\n'
        (machine.home / ".metier/config.toml").write_text(f'{settings}[model]\nname = "openai:m"\nbase_url = "{url}"\n')
        machine.run("hook", "install")
        assert "pdf-forms" in machine.ask()
        machine.skill("chart-maker", "Draws charts of sales figures. Use when the user wants a chart or a plot.")
        eventually(lambda: "chart-maker" in machine.ask("draw a chart of the sales"), "the refresh")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_the_program_does_not_wait_for_its_refresh(machine: Machine) -> None:
    """The output is closed when the answer is there, although a process goes on behind it."""
    machine.run("hook", "install")
    lock = machine.home / ".metier" / "router" / "refresh.lock"
    lock.touch()
    import fcntl

    with open(lock, "r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # the refresh behind it waits for this
        assert "pdf-forms" in machine.ask()
