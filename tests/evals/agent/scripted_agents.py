"""Agent programs with a scripted model that loads a skill for the requests that it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_programs import program_file
from evals.authors import author_skill
from metier.evals import AgentRunner, ModelAccess, Recording, find_program
from metier.hosts import HEADLESS_AGENTS
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says

__all__ = ["QUERIES", "forms_skill", "load", "loads_for", "program_of", "runner_of"]

QUERIES = [
    {"query": "fill in this PDF form for me", "should_trigger": True},
    {"query": "my application has empty fields", "should_trigger": True},
    {"query": "why is the sky blue at noon?", "should_trigger": False},
]


def forms_skill(root: Path, files: Mapping[str, str] | None = None) -> Path:
    own = {"evals/eval_queries.json": json.dumps(QUERIES), **(files or {})}
    return author_skill(root, "pdf-forms", "Fills in PDF forms. Use when the user has a PDF form.", files=own)


def load(request: ModelRequest, skill: str = "pdf-forms") -> ModelAnswer:
    """The call by which each program loads a skill."""
    if "Skill" in request.tools:
        return calls("Skill", skill=skill)
    if "activate_skill" in request.tools:
        return calls("activate_skill", name=skill)
    if "skill" in request.tools:
        return calls("skill", name=skill)
    return calls("exec_command", cmd=f"cat ~/.agents/skills/{skill}/SKILL.md")


def loads_for(*texts: str) -> Callable[[ModelRequest], ModelAnswer]:
    def answer(request: ModelRequest) -> ModelAnswer:
        said = json.dumps([request.body.get(key) for key in ("messages", "input", "contents")])
        if request.tools and not request.results and any(text in said for text in texts):
            return load(request)
        return says("I did it without a skill.")

    return answer


def program_of(agent: str) -> tuple[str, str]:
    """The program and its Node.js; skips if it is not installed."""
    return find_program(HEADLESS_AGENTS[agent], str(program_file(agent)), "/usr/local/bin:/usr/bin:/bin")


def runner_of(agent: str, server: ModelServer | None, recording: Recording | None = None) -> AgentRunner:
    known = HEADLESS_AGENTS[agent]
    program, node = program_of(agent)
    url = server.root + known.url_suffix if server else ""
    access = ModelAccess(
        url=url, suffix=known.url_suffix, key_header=known.key_header, key="secret-of-the-user" if server else ""
    )
    return AgentRunner(agent=known, program=program, node=node, access=access, recording=recording, seconds=180)
