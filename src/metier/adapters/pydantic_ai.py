"""Skills for pydantic-ai, as a capability or as a toolset.

    agent = Agent("openai:gpt-5", capabilities=[SkillsCapability("skills")])
    agent = Agent("openai:gpt-5", toolsets=[SkillsToolset("skills")])         # the same, where toolsets are composed

pydantic-ai asks a toolset for its tools and instructions before every request, and knows which conversation a run
continues, so one agent serves any number of conversations.
"""

from __future__ import annotations

from typing import Any

from metier.runtime import in_thread

from .skills import MissingSdkError, Skills, Source

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.tools import AgentDepsT, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError:
    raise MissingSdkError("pydantic-ai") from None

__all__ = ["SkillsCapability", "SkillsToolset"]

# The tool checks its arguments itself and tells the model what is wrong; a validator of pydantic would end the run after
# several mistakes.
_ANY_OBJECT = SchemaValidator(core_schema.dict_schema())


class SkillsToolset(AbstractToolset[AgentDepsT]):
    """The tools of the skills, with the catalog as the toolset's instructions."""

    def __init__(self, *skills: Skills | Source, id: str = "skills") -> None:  # noqa: A002
        self.skills = Skills.of(*skills)
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> str | None:
        request = ctx.prompt if isinstance(ctx.prompt, str) else ""
        return await self.skills.instructions_async(ctx.conversation_id or "", request=request) or None

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        tools = await in_thread(self.skills.tools, ctx.conversation_id or "")
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.schema,
                    # In the order of the calls: a skill is loaded before its script is run.
                    sequential=True,
                ),
                max_retries=0,
                args_validator=_ANY_OBJECT,
            )
            for tool in tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> str:
        # Any: a JSON object.
        reply = await self.skills.call(name, tool_args, ctx.conversation_id or "")
        return reply.text


class SkillsCapability(AbstractCapability[AgentDepsT]):
    """Skills as a capability of an agent."""

    def __init__(self, *skills: Skills | Source) -> None:
        self.skills = Skills.of(*skills)
        self._toolset: SkillsToolset[AgentDepsT] = SkillsToolset(self.skills)

    def get_toolset(self) -> SkillsToolset[AgentDepsT]:
        return self._toolset
