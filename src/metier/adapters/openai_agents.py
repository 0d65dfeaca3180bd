"""Skills for the OpenAI Agents SDK.

    agent = with_skills(Agent(name="Artist", instructions="…"), "skills")
    result = await Runner.run(agent, "Chart the sales.")

The SDK asks an agent's MCP servers for their tools before every request, which is when ours come and go; so the skills
are one such server, in this process and without a wire.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from metier.runtime.crossing import in_thread

from .bridge import MissingSdk, Skills, Source

try:
    from agents import Agent, RunContextWrapper
    from agents.mcp import MCPServer, MCPToolMetaContext
    from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
    from mcp.types import Tool as McpTool
except ImportError:
    raise MissingSdk("openai-agents") from None

# Any: the context is the caller's own type, and a conversation may depend on it.

__all__ = ["Conversation", "SkillsServer", "with_skills"]

T = TypeVar("T")
Conversation = str | Callable[[RunContextWrapper[Any]], str]
_KEY = "metier/conversation"


def with_skills(agent: Agent[T], *skills: Skills | Source, conversation: Conversation = "") -> Agent[T]:
    """The same agent with skills.

    What is active belongs to a conversation. The SDK does not say which one a run is part of, so either adapt the agent
    for each (it costs nothing: share one `Skills`), or give a function that reads it from the run's context.
    """
    server = SkillsServer(*skills, conversation=conversation)

    async def instructions(context: RunContextWrapper[T], running: Agent[T]) -> str:
        own = agent.instructions
        said: str | Awaitable[str] | None = own(context, running) if callable(own) else own
        text = await said if inspect.isawaitable(said) else said
        return "\n\n".join(part for part in (text, await server.instructions(context)) if part)

    return agent.clone(instructions=instructions, mcp_servers=[*agent.mcp_servers, server])


class SkillsServer(MCPServer):
    """The tools of the skills, as the SDK takes them. There is nothing to connect to."""

    def __init__(self, *skills: Skills | Source, conversation: Conversation = "") -> None:
        super().__init__(tool_meta_resolver=self._meta)
        self.skills = Skills.of(*skills)
        self._conversation = conversation

    @property
    def name(self) -> str:
        return "skills"

    async def instructions(self, context: RunContextWrapper[Any]) -> str:
        return await in_thread(self.skills.instructions, self._of(context), request=_last_words(context))

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, run_context: RunContextWrapper[Any] | None = None, agent: object = None) -> list[McpTool]:
        tools = await in_thread(self.skills.tools, self._of(run_context))
        # Validated by the name on the wire, which both major versions of the MCP package know.
        return [
            McpTool.model_validate({"name": tool.name, "description": tool.description, "inputSchema": tool.schema})
            for tool in tools
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        reply = await self.skills.call(tool_name, arguments, (meta or {}).get(_KEY, ""))
        text = {"type": "text", "text": reply.text}
        return CallToolResult.model_validate({"content": [text], "isError": not reply.ok})

    async def list_prompts(self) -> ListPromptsResult:
        return ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        raise LookupError(f"there is no prompt {name!r}")

    def _of(self, context: RunContextWrapper[Any] | None) -> str:
        if isinstance(self._conversation, str) or context is None:
            return self._conversation if isinstance(self._conversation, str) else ""
        return self._conversation(context)

    def _meta(self, context: MCPToolMetaContext) -> dict[str, Any]:
        """A call is not told whose run it is part of; the metadata of its request is how the SDK lets us say so."""
        return {_KEY: self._of(context.run_context)}


def _last_words(context: RunContextWrapper[Any]) -> str:
    for item in reversed(context.turn_input):
        if item.get("role") == "user" and isinstance(content := item.get("content"), str):
            return content
    return ""
