"""Behaviour specific to the OpenAI Agents SDK: ownership of the agent, and state of its copies."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents import Agent, RunContextWrapper, function_tool
from metier.adapters import Skills
from metier.adapters.openai_agents import with_skills
from metier.errors import UsageError
from metier.testing import skill_folder


@function_tool
def weather() -> str:
    """Tell the weather."""
    return "fine"


def tools(agent: Agent[Any], context: object = None) -> list[str]:
    return [tool.name for tool in asyncio.run(agent.get_all_tools(RunContextWrapper(context)))]


def answered(agent: Agent[Any], context: object, name: str, arguments: str) -> str:
    wrapped = RunContextWrapper(context)

    async def call() -> str:
        [tool] = [tool for tool in await agent.get_all_tools(wrapped) if tool.name == name]
        return str(await tool.on_invoke_tool(wrapped, arguments))  # type: ignore[union-attr, arg-type]

    return asyncio.run(call())


def test_another_kind_of_agent_stays_of_its_kind(tmp_path: Path) -> None:
    @dataclass
    class Painter(Agent[Any]):
        brush: str = "fine"

    skill_folder(tmp_path, "chart")
    painter = with_skills(Painter(name="Painter", brush="broad", tools=[weather]), tmp_path)
    assert isinstance(painter, Painter)
    assert painter.brush == "broad"
    assert tools(painter) == ["list_skills", "search_skills", "load_skill", "weather"]


def test_a_copy_of_an_agent_has_its_skills(tmp_path: Path) -> None:
    skill_folder(tmp_path, "chart")
    agent: Agent[Any] = Agent(name="Artist")
    assert "load_skill" in tools(with_skills(agent, tmp_path).clone(name="Another"))
    assert tools(agent) == [], "the agent that was given is left as it was"


def test_skills_are_given_once(tmp_path: Path) -> None:
    skill_folder(tmp_path, "chart")
    with pytest.raises(UsageError, match="has skills already"):
        with_skills(with_skills(Agent(name="Artist"), tmp_path), tmp_path)


def test_the_context_of_a_run_identifies_the_conversation(tmp_path: Path) -> None:
    skill_folder(tmp_path, "chart", body="Ask for the city first.", files={"references/guide.md": "A guide."})
    agent = with_skills(Agent(name="Artist"), Skills(tmp_path), conversation=lambda run: str(run.context))
    assert "Ask for the city first." in answered(agent, "ann", "load_skill", '{"skill_name": "chart"}')
    assert "unload_skill" in tools(agent, "ann")
    assert "unload_skill" not in tools(agent, "ben")
    guide = '{"skill_name": "chart", "resource_name": "references/guide.md"}'
    assert "A guide." in answered(agent, "ann", "read_skill_resource", guide)


def test_arguments_that_are_not_json_are_reported_to_the_model(tmp_path: Path) -> None:
    skill_folder(tmp_path, "chart")
    assert "not JSON" in answered(with_skills(Agent(name="Artist"), tmp_path), None, "load_skill", "{")
