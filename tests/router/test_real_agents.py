"""The router inside the agents that people have: each program is started for real, and a scripted model sees its requests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_programs import PROGRAMS, AgentHome
from metier.hosts import PROMPT_HOOKS
from metier.testing import ModelServer, says

FITTING, UNRELATED = "fill in the fields of this PDF form for me", "why is the sky blue at noon?"
ADDED = "The skill pdf-forms fits this request."
FOLDERS = {
    "claude-code": ".claude/skills",
    "codex": ".agents/skills",
    "gemini-cli": ".gemini/skills",
    "opencode": ".config/opencode/skills",
    "github-copilot": ".copilot/skills",
}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda _: says("Done.")) as server:
        yield server


def write_skill(folder: Path, name: str, description: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n")


def metier(home: AgentHome, *words: str) -> str:
    command = [str(Path(sys.executable).parent / "metier"), *words]
    done = subprocess.run(command, cwd=home.project, env=home.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("agent", PROGRAMS)
def test_the_model_is_given_the_skill_that_fits_and_nothing_for_another_request(
    agent: str, tmp_path: Path, model: ModelServer
) -> None:
    home = AgentHome(agent, tmp_path, model)
    skills = tmp_path / FOLDERS[agent]
    write_skill(skills, "pdf-forms", "Fills in PDF forms. Use when the user has a PDF form with fields to fill.")
    home.ask(FITTING)
    assert ADDED not in home.requests()
    metier(home, "hook", "install", agent)
    home.ask(UNRELATED)
    assert ADDED not in home.requests()
    home.ask(FITTING)
    assert ADDED in home.requests()
    seen = len(model.requests)
    metier(home, "hook", "uninstall", agent)
    home.ask(FITTING)
    assert all(ADDED not in str(request.body) for request in model.requests[seen:])


@pytest.mark.parametrize("agent", PROGRAMS)
def test_the_agent_sees_the_skills_in_the_folders_that_the_router_reads(agent: str, tmp_path: Path, model: ModelServer) -> None:
    home = AgentHome(agent, tmp_path, model)
    subprocess.run(["git", "init", "-q", str(home.project)], check=True)
    hook = PROMPT_HOOKS[agent]
    users = {f"user-skill-{number}": path for number, path in enumerate(hook.user_folders)}
    projects = {f"project-skill-{number}": path for number, path in enumerate(hook.project_folders)}
    for name, path in users.items():
        root = path.replace("~c/", ".config/").removeprefix("~/")
        write_skill(tmp_path / root, name, f"Knows about {name}. Use when asked about {name}.")
    for name, path in projects.items():
        write_skill(home.project / path, name, f"Knows about {name}. Use when asked about {name}.")
    home.ask("hello")
    missing = [name for name in (*users, *projects) if f"Knows about {name}" not in home.requests()]
    assert missing == []
