"""The list of skills in the agents that people have: each program is started, and what its model receives is compared."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_programs import PROGRAMS, AgentHome
from metier.app import App
from metier.hosts import LISTING_BUDGETS, PROMPT_HOOKS, HostSkill
from metier.install import apply_change, plan_switch_off
from metier.testing import ModelServer, says

HIDDEN = "Only for people, and never for the model itself."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda _: says("Done.")) as server:
        yield server


def write_skills(folder: Path, count: int, *, kind: str) -> None:
    for number in range(count):
        text = f"Handles {kind} task {number}, step by step, with its files and reports. Use when {kind} {number} is named. "
        write_skill(folder, f"{kind}-{number:03}", (text * 12)[: 60 + number * 37 % 800].strip())
    write_skill(folder, f"{kind}-hidden", HIDDEN, "disable-model-invocation: true\n")


def write_skill(folder: Path, name: str, description: str, more: str = "") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\n# {name}\n")


def app_of(home: AgentHome) -> App:
    return App(environment=home.environment, folder=home.project)


def sent(home: AgentHome) -> str:
    """Returns every text that the model was sent, with its spaces made even."""
    return " ".join(" ".join(_texts([request.body for request in home.model.requests])).split())


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


@pytest.mark.parametrize("count", [12, 130])
@pytest.mark.parametrize("agent", PROGRAMS)
def test_our_list_is_the_one_that_the_program_sends(agent: str, count: int, tmp_path: Path, model: ModelServer) -> None:
    home = AgentHome(agent, tmp_path, model)
    hook = PROMPT_HOOKS[agent]
    # Outside a repository, Copilot takes the home above the project for a part of it.
    subprocess.run(["git", "init", "-q", str(home.project)], check=True)
    write_skills(home.project / hook.project_folders[0], count, kind="project")
    write_skills(tmp_path / hook.user_folders[0].replace("~c/", ".config/").removeprefix("~/"), count // 2, kind="user")
    home.ask("hello")
    listing = app_of(home).host_listings.listing(agent)
    seen = sent(home)
    wrong = [one for one in listing.listed if not one.skill.own and line_of(agent, one.skill.name, one.shown) not in seen]
    assert wrong == []
    assert [skill.name for skill in listing.left_out if f"{skill.name}: " in seen] == []
    assert (HIDDEN in seen) == LISTING_BUDGETS[agent].shows_hidden
    is_cut = bool(listing.shortened or listing.named)
    assert is_cut == (count > 100 and agent in ("claude-code", "codex", "github-copilot"))


def line_of(agent: str, name: str, shown: str) -> str:
    match agent:
        case "claude-code":
            # The next line follows directly, so a description that we cut too early is found out.
            return f"- {name}: {shown} - " if shown else f"- {name} - "
        case "codex":
            return f"- {name}: {' '.join(shown.split())}{' ' if shown and not shown.endswith(' ') else ''}(file: "
        case "github-copilot" if not shown:
            return f" {name},"
        case _:
            return f"<name>{name}</name> <description>{shown}</description>"


@pytest.mark.parametrize("agent", PROGRAMS)
def test_a_skill_that_was_switched_off_for_an_agent_is_not_in_its_list(agent: str, tmp_path: Path, model: ModelServer) -> None:
    home = AgentHome(agent, tmp_path, model)
    folder = home.project / PROMPT_HOOKS[agent].project_folders[0]
    for name in ("kept", "put-away"):
        write_skill(folder, name, f"Knows about {name} things. Use when asked about {name}.")
    home.ask("hello")
    assert "Knows about put-away" in sent(home)
    before = len(model.requests)
    app = app_of(home)
    skill = next(each for each in app.host_listings.skills_of(agent) if each.name == "put-away")
    switch_off(app, agent, [skill])
    home.ask("hello")
    after = " ".join(json.dumps(request.body) for request in model.requests[before:])
    assert "Knows about kept" in after
    assert "Knows about put-away" not in after
    assert [each.name for each in app_of(home).host_listings.listing(agent).hidden] == ["put-away"]


def switch_off(app: App, agent: str, skills: list[HostSkill]) -> None:
    change = plan_switch_off(agent, skills, home=app.paths.user_home, environment=app.environment)
    assert change is not None
    apply_change(change, lock=app.paths.at("lock"))


def test_the_command_prints_the_list_and_what_is_cut(tmp_path: Path, model: ModelServer) -> None:
    home = AgentHome("codex", tmp_path, model)
    write_skills(home.project / ".agents/skills", 130, kind="project")
    command = [str(Path(sys.executable).parent / "metier"), "prompt", "--as", "codex"]
    done = subprocess.run(command, cwd=home.project, env=home.environment, capture_output=True, text=True, check=True)
    assert "- project-000: Handles project task 0" in done.stdout
    assert "of 5,440 tokens" in done.stderr
    assert "shortened: 1" in done.stderr
