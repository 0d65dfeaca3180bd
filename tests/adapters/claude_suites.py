"""The Claude Agent SDK in the conformance kit: the real SDK, and the real Claude Code that comes with it, over a scripted
model.

Claude Code is a host with a prompt, tools and a file system of its own. What our scenarios look for stands in other places
than elsewhere, and with skills as files the model does other things: it reads them.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    ToolPermissionContext,
    Transport,
    create_sdk_mcp_server,
    tool,
)

from adapters.claude_transport import ScriptedClaude, ScriptedModel
from metier.adapters import Skills
from metier.adapters.claude import SkillsWorkspace, with_skills
from metier.runtime import ResourceRead, Session, SkillActivated
from metier.testing import ModelRequest, ModelServer
from metier.testing.adapters import SYSTEM, AdapterConformance, Asked, Mode, Scripted, weather
from metier.testing.model import ModelAnswer, ScriptedCall, says

# Any: options and answers of the SDK.


Permission = PermissionResultAllow | PermissionResultDeny


@dataclass(frozen=True)
class ClaudeAsked:
    """A request of Claude Code, as the scenarios read it."""

    request: ModelRequest

    @property
    def system(self) -> str:
        """Everything that stands in the request and is no answer: Claude Code puts some of it into reminders."""
        body = self.request.body
        shown = [part for message in body["messages"] for part in _parts(message["content"]) if part["type"] == "text"]
        return "\n".join([self.request.system, *(part["text"] for part in shown)])

    @property
    def user(self) -> str:
        said = [
            part["text"]
            for message in self.request.body["messages"]
            if message["role"] == "user"
            for part in _parts(message["content"])
            if part["type"] == "text" and "<system-reminder>" not in part["text"]
        ]
        return str(said[-1]) if said else ""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(name.removeprefix("mcp__own__") for name in self.request.tools if name != "Skill")

    @property
    def results(self) -> tuple[str, ...]:
        return self.request.results


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


class ClaudeModel:
    """The scripted model behind Claude Code."""

    def __init__(self, script: Sequence[ModelAnswer]) -> None:
        self.server = ModelServer(script)

    @property
    def requests(self) -> Sequence[Asked]:
        return [ClaudeAsked(request) for request in self.server.requests]

    def close(self) -> None:
        self.server.close()


class ClaudeServer(AdapterConformance):
    """With the skills as an MCP server in this process."""

    modes = (Mode.ASYNC, Mode.ASYNC_STREAM)
    prefix = "mcp__skills__"
    standing = True

    def new_model(self, script: Sequence[ModelAnswer]) -> Scripted:
        return ScriptedModel([replace(said, calls=tuple(map(_qualified, said.calls))) for said in script])

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        assert isinstance(model, ScriptedModel)
        options = with_skills(own_options(mode), skills)
        return asyncio.run(answers(options, requests, ScriptedClaude(model, options)))

    def hears_nothing_of_skills(self, asked: Asked) -> bool:
        return asked.system.strip() == SYSTEM


def _qualified(call: ScriptedCall) -> ScriptedCall:
    return ScriptedCall("mcp__own__weather", call.arguments, call.id or "call_weather") if call.tool == "weather" else call


def own_options(mode: Mode, **more: Any) -> ClaudeAgentOptions:
    """An agent as its owner has it."""

    @tool("weather", "The weather in a city.", {"city": str})
    async def own(given: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": weather(**given)}]}

    async def ask(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Permission:
        return PermissionResultAllow() if name == "mcp__own__weather" else PermissionResultDeny(message="the owner says no")

    return ClaudeAgentOptions(
        system_prompt=SYSTEM, mcp_servers={"own": create_sdk_mcp_server("own", tools=[own])}, can_use_tool=ask,
        include_partial_messages=mode is Mode.ASYNC_STREAM, **more,
    )  # fmt: skip


async def answers(options: ClaudeAgentOptions, requests: Sequence[str], transport: Transport | None = None) -> list[str]:
    said = []
    async with ClaudeSDKClient(options, transport) as client:
        for request in requests:
            await client.query(request)
            pieces = []
            async for message in client.receive_response():
                if isinstance(message, StreamEvent):
                    pieces.append(message.event.get("delta", {}).get("text", ""))
                elif isinstance(message, ResultMessage):
                    last = str(message.result)
                else:
                    assert not isinstance(message, AssistantMessage) or message.error is None
            assert not options.include_partial_messages or "".join(pieces) == last
            said.append(last)
    return said


class ClaudeCode(ClaudeServer):
    """The same with the real Claude Code."""

    def new_model(self, script: Sequence[ModelAnswer]) -> Scripted:
        return ClaudeModel([replace(said, calls=tuple(map(_qualified, said.calls))) for said in script])

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        assert isinstance(model, ClaudeModel)
        with tempfile.TemporaryDirectory() as home:
            # A machine with nothing else on it, and no network but ours.
            environment = {
                "HOME": home, "ANTHROPIC_BASE_URL": model.server.root, "ANTHROPIC_API_KEY": "any",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            }  # fmt: skip
            tools = ["Read", "Write", "Bash", "Skill"]
            own = own_options(mode, env=environment, cwd=home, model="claude-sonnet-5", tools=tools)
            return asyncio.run(self._talk(skills, own, requests))

    async def _talk(self, skills: Skills, own: ClaudeAgentOptions, requests: Sequence[str]) -> list[str]:
        return await answers(with_skills(own, skills), requests)

    def hears_nothing_of_skills(self, asked: Asked) -> bool:
        return SYSTEM in asked.system and not re.search("available_skills|load_skill|- chart:", asked.system)


class ClaudeFiles(ClaudeCode):
    """With the skills as files in a workspace."""

    prefix = ""
    left_to_host: ClassVar = {
        "a_script_runs_confined_and_within_limits": "Claude Code runs scripts itself, by its Bash tool; allowed-tools decide",
    }

    @cached_property
    def folder(self) -> Path:
        """The workspace, whose paths stand in the scripts."""
        path = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, path)
        return Path(path).resolve()

    def path(self, path: str) -> str:
        return f"{self.folder}/.claude/skills/{path}"

    def load(self, skill: str) -> ModelAnswer:
        return self.call("Skill", skill=skill)

    def read(self, skill: str, path: str) -> ModelAnswer:
        return self.call("Read", file_path=self.path(f"{skill}/{path}"))

    async def _talk(self, skills: Skills, own: ClaudeAgentOptions, requests: Sequence[str]) -> list[str]:
        with SkillsWorkspace(skills, folder=self.folder) as workspace:
            said = await answers(workspace.options(own), requests)
        assert list(self.folder.iterdir()) == [], "something was left behind"
        return said

    def test_the_catalog_is_disclosed_beside_the_owners_instructions(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [says("ok")]) as agent:
            agent.asks("Draw Oslo.")
            [asked] = agent.model.requests
            assert SYSTEM in asked.system
            assert "- chart: Does chart. Use when asked for chart." in asked.system
            assert asked.user == "Draw Oslo."

    def test_an_activation_returns_the_instructions_and_adds_tools(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("chart"), says("done")]) as agent:
            assert agent.asks("Draw Oslo.") == ["done"]
            assert "Ask for the city first." in agent.model.requests[-1].system
            assert [event.name for event in agent.events.of(SkillActivated)] == ["chart"]

    def test_a_repeated_activation_says_so_in_one_sentence(self, tmp_path: Path) -> None:
        script = [self.load("chart"), says("one"), self.read("chart", "SKILL.md"), says("two")]
        with self.agent(tmp_path, script) as agent:
            assert agent.asks("Draw Oslo.", "Draw Rome.") == ["one", "two"]
            assert len(agent.events.of(SkillActivated)) == 1

    def test_no_path_leads_out_of_a_skill(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("the secret")
        away = os.path.relpath(tmp_path / "secret.txt", self.path("chart"))
        with self.agent(tmp_path, [self.load("chart"), self.read("chart", away), says("ok")]) as agent:
            agent.asks("Read the secret.")
            result = agent.model.requests[-1].results[-1]
            assert "the secret" not in result
            assert result == "the owner says no"

    def test_a_failure_is_reported_to_the_model_and_the_conversation_continues(self, tmp_path: Path) -> None:
        script = [self.load("nothing-like-it"), self.read("chart", "references/none.md"), says("sorry")]
        with self.agent(tmp_path, script) as agent:
            assert agent.asks("Draw Oslo.") == ["sorry"]
            unknown, missing = agent.model.requests[-1].results
            assert "nothing-like-it" in unknown
            assert "does not exist" in missing

    def test_a_disabled_skill_is_hidden(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("forms"), says("ok")], deny=("forms",)) as agent:
            agent.asks("Fill it in.")
            first, second = agent.model.requests
            assert "- chart: " in first.system
            assert "- forms: " not in first.system
            assert "Unknown skill" in second.results[-1]

    def test_skills_over_the_limit_are_unloaded_and_the_model_is_notified(self, tmp_path: Path) -> None:
        script = [self.load("chart"), self.load("forms"), self.load("poems"), says("ok")]
        with self.agent(tmp_path, script, max_active=2) as agent:
            agent.asks("Do all of it.")
            assert "Unloaded to make room: chart" in agent.model.requests[-1].system

    def test_every_step_is_an_event(self, tmp_path: Path) -> None:
        cat = self.call("Bash", command=f"cat {self.path('poems/SKILL.md')}", description="read")
        script = [
            self.load("chart"),
            self.read("chart", "references/cities.md"),
            self.read("forms", "SKILL.md"),
            cat,
            says("ok"),
        ]
        with self.agent(tmp_path, script) as agent:
            agent.asks("Draw Oslo.")
            assert agent.events.kinds[:3] == ["SkillActivated", "ResourceRead", "SkillActivated"]
            assert [event.name for event in agent.events.of(SkillActivated)][:2] == ["chart", "forms"]
            assert [event.path for event in agent.events.of(ResourceRead)] == ["references/cities.md"]

    def test_the_owners_own_tools_work_beside_the_skills(self, tmp_path: Path) -> None:
        both = ModelAnswer(calls=(*self.load("chart").calls, ScriptedCall("weather", {"city": "Oslo"}, "call_weather")))
        with self.agent(tmp_path, [both, says("ok")]) as agent:
            assert agent.asks("Draw the weather in Oslo.") == ["ok"]
            assert any("sunny in Oslo" in text for text in agent.model.requests[-1].results)
            assert "Ask for the city first." in agent.model.requests[-1].system

    def test_two_conversations_do_not_share_active_skills(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [self.load("chart"), says("one"), self.load("chart"), says("two")]) as agent:
            agent.asks("Draw Oslo.")
            agent.asks("Draw Oslo.")
            assert len(agent.events.of(SkillActivated)) == 2

    def test_a_skill_that_the_user_activated_is_in_the_prompt(self, tmp_path: Path) -> None:
        with self.agent(tmp_path, [says("ok")]) as agent:
            session = Session(agent.skills.catalog, services=agent.services)
            session.activate("chart")
            agent.skills = Skills(session)
            agent.asks("Draw Oslo.")
            [asked] = agent.model.requests
            assert "Ask for the city first." in asked.system

    def test_a_whole_activation_works_in_every_mode(self, tmp_path: Path) -> None:
        for mode in self.modes:
            script = [self.load("chart"), self.read("chart", "scripts/draw.py"), says("drawn, as you asked")]
            with self.agent(tmp_path / mode.replace(" ", "-"), script) as agent:
                assert agent.asks("Draw Oslo.", mode=mode) == ["drawn, as you asked"], mode
                assert "Draw a chart." in agent.model.requests[-1].results[-1], mode
