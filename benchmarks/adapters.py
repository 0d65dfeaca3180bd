"""The cost of an adapter: a call of a skill's tool in each framework, against a plain function in the same framework.

Both conversations are the same: the same instructions and the same five tools, of which a scripted model on loopback calls one
thirty times; it answers with the same text. Bare, the tools are functions that do nothing else. With skills, catalog and
tools are built anew for every request, and a call goes through the session, its path gate and its events. The difference, for
one call, must stay under a millisecond. It is CPU time of this process, where the model runs too. The best
round of each counts, because other load on the machine can only add to it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

# Python looks in this folder first, and a package of the tests has the name of this file.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from benchmarks.corpus import scratch
from benchmarks.measure import Contender, Figure, Report, Sample, Target, compete, options
from metier.adapters import Skills
from metier.adapters.background_loop import run_in_background
from metier.adapters.chat_completions import chat_tool
from metier.testing import ModelAnswer, ModelRequest, ModelServer, ScriptedCall, says, skill_folder

# Any: the SDKs' own objects.
CALLS = 30
GIVEN = {"skill_name": "guide", "resource_name": "references/guide.md"}
TEXT = "A line of a guide that is read.\n" * 60
Converse = Callable[[str], None]
"""One conversation with the model at this address."""


def list_skills() -> str:
    """List the available skills and what each is for."""
    return ""


def search_skills(query: str, limit: int = 5) -> str:
    """Find the skills that fit a task."""
    return f"{query} {limit}"


def load_skill(skill_name: str, arguments: str = "", parameters: dict[str, str] | None = None) -> str:
    """Activate a skill: returns its instructions, which you then follow."""
    return f"{skill_name} {arguments} {parameters}"


def unload_skill(skill_name: str) -> str:
    """Deactivate a skill that is no longer needed."""
    return skill_name


def read_skill_resource(skill_name: str, resource_name: str, offset: int = 0) -> str:
    """Read a file of an active skill, or list one of its folders."""
    return f'<skill_resource skill="{skill_name}" path="{resource_name}">\n{TEXT[offset:]}\n</skill_resource>'


FUNCTIONS = (list_skills, search_skills, load_skill, unload_skill, read_skill_resource)


class Calling:
    """A model that calls the tool a number of times, and then stops."""

    def __init__(self) -> None:
        self.left = 0

    def __call__(self, _: ModelRequest) -> ModelAnswer:
        self.left -= 1
        return (
            says("done")
            if self.left < 0
            else ModelAnswer(calls=(ScriptedCall("read_skill_resource", GIVEN, id=f"call_{self.left}"),))
        )


def main() -> int:
    chosen = options(__doc__, rounds=15, quick=4)
    report = Report("Adapters", as_json=chosen.json)
    with scratch() as folder, ModelServer(SCRIPT) as model:
        skill_folder(folder, "guide", files={"references/guide.md": TEXT})
        skills = Skills(folder)
        for conversation in ("", "bench"):
            run_in_background(skills.call("load_skill", {"skill_name": "guide"}, conversation))
        BARE["instructions"] = f"Read.\n\n{skills.instructions()}"
        BARE["tools"] = [chat_tool(tool) for tool in skills.tools()]
        for name, make in FRAMEWORKS.items():
            contenders = [
                Contender(name=which, measure=partial(_measured, make(given), model.url))
                for which, given in ((f"{name}, bare", None), (f"{name}, skills", skills))
            ]
            bare, with_skills = compete(contenders, rounds=chosen.rounds).values()
            _note(report, name, bare, with_skills)
    head = ("framework", "bare", "with skills", "more")
    report.add_table(f"One call, median of {chosen.rounds} rounds (minimum), CPU in ms", head, ROWS)
    return report.finish()


SCRIPT = Calling()
BARE: dict[str, Any] = {}
"""What a request says with skills, for those who say it without them."""
ROWS: list[tuple[str, ...]] = []


def _note(report: Report, name: str, bare: Figure, skills: Figure) -> None:
    report.add_figures({"bare": bare, "skills": skills}, within=f"{name}, ")
    more = (skills.cpu_min - bare.cpu_min) / CALLS
    cells = [f"{figure.cpu / CALLS:.2f} ({figure.cpu_min / CALLS:.2f})" for figure in (bare, skills)]
    ROWS.append((name, *cells, f"{more:.2f}"))
    report.targets.append(Target(what=f"a tool call in {name}, over the bare framework", value=more, limit=1.0, unit="ms"))


def _measured(converse: Converse, url: str) -> Sample:
    SCRIPT.left = CALLS
    wall, cpu = time.perf_counter(), time.process_time()
    converse(url)
    assert SCRIPT.left == -1
    return Sample(time.perf_counter() - wall, time.process_time() - cpu)


def _openai(skills: Skills | None) -> Converse:
    from openai import OpenAI

    from metier.adapters.openai import OpenAISkills

    def converse(url: str) -> None:
        system = "Read." if skills is not None else BARE["instructions"]
        messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": "Read it."}]
        with OpenAI(base_url=url, api_key="any") as client:
            if skills is not None:
                OpenAISkills(skills).chat(client, model="m", messages=messages)
            else:
                _bare_loop(partial(client.chat.completions.create, model="m"), messages)

    return converse


def _litellm(skills: Skills | None) -> Converse:
    import litellm

    from metier.adapters.litellm import LiteLLMSkills

    def converse(url: str) -> None:
        system = "Read." if skills is not None else BARE["instructions"]
        messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": "Read it."}]
        given: Any = {"model": "openai/m", "api_base": url, "api_key": "any"}
        if skills is not None:
            LiteLLMSkills(skills).completion(messages=messages, **given)
        else:
            _bare_loop(partial(litellm.completion, **given), messages)

    return converse


def _bare_loop(create: Callable[..., Any], messages: list[Any]) -> None:
    """The usual hand-written loop."""
    while True:
        message = create(messages=messages, tools=BARE["tools"]).choices[0].message
        if not message.tool_calls:
            return
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            text = read_skill_resource(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def _openai_agents(skills: Skills | None) -> Converse:
    from openai import AsyncOpenAI

    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
    from metier.adapters.openai_agents import with_skills

    async def run(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            tools: list[Any] = [] if skills is not None else [function_tool(each, strict_mode=False) for each in FUNCTIONS]
            system = "Read." if skills is not None else BARE["instructions"]
            agent: Agent[None] = Agent(
                name="Reader", instructions=system, model=OpenAIChatCompletionsModel("m", client), tools=tools
            )
            if skills is not None:
                agent = with_skills(agent, skills)
            await Runner.run(agent, "Read it.", max_turns=CALLS + 2, run_config=RunConfig(tracing_disabled=True))

    return lambda url: asyncio.run(run(url))


def _pydantic_ai(skills: Skills | None) -> Converse:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from metier.adapters.pydantic_ai import SkillsCapability

    async def run(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
            own: Any = {"instructions": BARE["instructions"], "tools": FUNCTIONS}
            more: Any = own if skills is None else {"instructions": "Read.", "capabilities": [SkillsCapability(skills)]}
            await Agent(model, **more).run("Read it.", conversation_id="bench")

    return lambda url: asyncio.run(run(url))


def _langchain(skills: Skills | None) -> Converse:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    from metier.adapters.langchain import SkillsMiddleware

    def converse(url: str) -> None:
        chat = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("any"))
        if skills is None:
            agent: Any = create_agent(chat, list(FUNCTIONS), system_prompt=BARE["instructions"])
        else:
            agent = create_agent(chat, [], system_prompt="Read.", middleware=[SkillsMiddleware(skills)])
        messages = [{"role": "user", "content": "Read it."}]
        agent.invoke({"messages": messages, "skills_conversation": "bench"}, {"recursion_limit": 4 * CALLS})

    return converse


def _agent_framework(skills: Skills | None) -> Converse:
    from agent_framework import Agent, AgentSession
    from agent_framework.openai import OpenAIChatCompletionClient
    from openai import AsyncOpenAI

    from metier.adapters.agent_framework import SkillsContextProvider

    async def run(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            chat = OpenAIChatCompletionClient("m", async_client=client)
            own: Any = {"instructions": BARE["instructions"], "tools": list(FUNCTIONS)}
            ours: Any = {"instructions": "Read.", "context_providers": [SkillsContextProvider(skills)] if skills else []}
            await Agent(chat, **(own if skills is None else ours)).run("Read it.", session=AgentSession(session_id="bench"))

    return lambda url: asyncio.run(run(url))


def _claude(skills: Skills | None) -> Converse:
    """Over the scripted transport: Claude Code itself is the same for both."""
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

    from adapters.claude_suites import answers
    from adapters.claude_transport import ScriptedClaude, ScriptedModel
    from metier.adapters.claude import with_skills

    @tool("read_skill_resource", "Read a file.", {"skill_name": str, "resource_name": str})
    async def bare(given: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": read_skill_resource(**given)}]}

    def said() -> Iterator[ModelAnswer]:
        while True:
            SCRIPT.left -= 1
            call = ScriptedCall("mcp__skills__read_skill_resource", GIVEN, id=f"call_{SCRIPT.left}")
            yield says("done") if SCRIPT.left < 0 else ModelAnswer(calls=(call,))

    def converse(_: str) -> None:
        own = ClaudeAgentOptions(system_prompt="Read.")
        if skills is not None:
            given = with_skills(own, skills, conversation="bench")
        else:
            server = create_sdk_mcp_server("skills", tools=[bare])
            given = ClaudeAgentOptions(system_prompt="Read.", mcp_servers={"skills": server}, allowed_tools=["mcp__skills"])
        model = ScriptedModel([])
        model.rest = said()
        asyncio.run(answers(given, ["Read it."], ScriptedClaude(model, given)))

    return converse


FRAMEWORKS: dict[str, Callable[[Skills | None], Converse]] = {
    "OpenAI": _openai,
    "LiteLLM": _litellm,
    "OpenAI Agents SDK": _openai_agents,
    "pydantic-ai": _pydantic_ai,
    "LangChain": _langchain,
    "Agent Framework": _agent_framework,
    "Claude Agent SDK": _claude,
}

if __name__ == "__main__":
    sys.exit(main())
