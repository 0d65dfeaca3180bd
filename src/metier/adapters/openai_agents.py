"""Skills for the OpenAI Agents SDK.

    agent = with_skills(Agent(name="Artist", instructions="…"), "skills")
    result = await Runner.run(agent, "Chart the sales.")

The SDK asks an agent for the tools of its MCP servers before every request, so our current tools are added there. An MCP
server in this process would do the same, but a call of its tools takes two milliseconds more, because the SDK processes its
answers again with every request.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import fields, make_dataclass  # the SDK's agents are dataclasses of the standard library
from typing import Any, TypeVar

from metier.errors import UsageError
from metier.runtime import Tool, in_thread
from metier.values import dataclass

from .skills import MissingSdkError, Skills, Source

try:
    from agents.tool_context import ToolContext

    from agents import Agent, FunctionTool, RunContextWrapper
    from agents import Tool as SdkTool
except ImportError:
    raise MissingSdkError("openai-agents") from None

# Any: the context is the caller's own type, and a conversation may depend on it.

__all__ = ["Conversation", "with_skills"]

T = TypeVar("T")
Conversation = str | Callable[[RunContextWrapper[Any]], str]


def with_skills(agent: Agent[T], *skills: Skills | Source, conversation: Conversation = "") -> Agent[T]:
    """Returns a copy of the agent with skills.

    Active skills belong to a conversation. The SDK does not identify the conversation of a run, so either adapt the agent for
    each (it is cheap: share one `Skills`), or pass a function that reads it from the run's context.
    """
    if isinstance(agent, _WithSkills):
        raise UsageError("this agent has skills already", hint="pass all folders at once, because tool names must be unique")
    agent_skills = _AgentSkills(Skills.of(*skills), conversation)

    async def instructions(context: RunContextWrapper[T], running: Agent[T]) -> str:
        own = agent.instructions
        result: str | Awaitable[str] | None = own(context, running) if callable(own) else own
        text = await result if inspect.isawaitable(result) else result
        return "\n\n".join(part for part in (text, await agent_skills.instructions(context)) if part)

    same = {each.name: getattr(agent, each.name) for each in fields(agent) if each.init}
    made: Agent[T] = _class_with_skills(type(agent))(**same | {"instructions": instructions, "agent_skills": agent_skills})
    return made


@dataclass(frozen=True, slots=True)
class _AgentSkills:
    """Skills for one conversation, or for the one that the run's context names."""

    skills: Skills
    conversation: Conversation

    async def instructions(self, context: RunContextWrapper[Any]) -> str:
        return await self.skills.instructions_async(self._conversation_of(context), request=_last_user_text(context))

    async def tools(self, context: RunContextWrapper[Any]) -> list[SdkTool]:
        conversation = self._conversation_of(context)
        return [self._tool(tool, conversation) for tool in await in_thread(self.skills.tools, conversation)]

    def _tool(self, tool: Tool, conversation: str) -> FunctionTool:
        async def invoke(_: ToolContext[Any], arguments: str) -> str:
            return (await self.skills.call(tool.name, arguments, conversation)).text

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.schema,
            on_invoke_tool=invoke,
            # The tool checks its arguments itself; a strict schema cannot have optional ones.
            strict_json_schema=False,
        )

    def _conversation_of(self, context: RunContextWrapper[Any]) -> str:
        return self.conversation if isinstance(self.conversation, str) else self.conversation(context)


class _WithSkills:
    """The mixin of agents with skills. `agent_skills` is a field, because the SDK copies agents by field."""

    agent_skills: _AgentSkills

    async def get_mcp_tools(self, run_context: RunContextWrapper[Any]) -> list[SdkTool]:
        own: list[SdkTool] = await super().get_mcp_tools(run_context)  # type: ignore[misc]
        return own + await self.agent_skills.tools(run_context)


_classes: dict[type[Any], type[Agent[Any]]] = {}


def _class_with_skills(kind: type[Agent[Any]]) -> type[Agent[Any]]:
    """The subclass of an agent class with skills."""
    if kind not in _classes:
        _classes[kind] = make_dataclass(kind.__name__, [("agent_skills", _AgentSkills | None, None)], bases=(_WithSkills, kind))
    return _classes[kind]


def _last_user_text(context: RunContextWrapper[Any]) -> str:
    for item in reversed(context.turn_input):
        if item.get("role") == "user" and isinstance(content := item.get("content"), str):
            return content
    return ""
