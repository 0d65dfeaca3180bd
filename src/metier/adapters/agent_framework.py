"""Skills for the Microsoft Agent Framework, as a context provider.

    agent = Agent(client, context_providers=[SkillsContextProvider("skills")])

A running tool can change the list of tools for the next request, so the tools of a skill appear with its activation. A
conversation is the framework's session.
"""

from __future__ import annotations

from typing import Any

from metier.runtime import Tool, in_thread

from .skills import MissingSdkError, Skills, Source

try:
    from agent_framework import AgentSession, ContextProvider, FunctionInvocationContext, FunctionTool, SessionContext
    from pydantic import BaseModel, ConfigDict
except ImportError:
    raise MissingSdkError("agent-framework") from None

# Any: what the framework hands to every provider, and the live list of tools, are of many types.

__all__ = ["SkillsContextProvider"]


class SkillsContextProvider(ContextProvider):
    """Adds the catalog to the instructions and the current tools of skills to the run."""

    def __init__(self, *skills: Skills | Source, source_id: str = "metier_skills") -> None:
        super().__init__(source_id)
        self.skills = Skills.of(*skills)

    async def before_run(self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]) -> None:
        texts = [message.text for message in context.input_messages if message.role == "user"]
        text = await self.skills.instructions_async(session.session_id, request=texts[-1] if texts else "")
        if text:
            context.extend_instructions(self.source_id, text)
        tools = await in_thread(self.skills.tools, session.session_id)
        context.extend_tools(self.source_id, [_SkillTool(self.skills, session.session_id, tool) for tool in tools])


class _Anything(BaseModel):
    """Accepts any arguments: the framework's own check tells the model only that they are wrong, and our tools say why."""

    model_config = ConfigDict(extra="allow")


class _SkillTool(FunctionTool):
    """One of our tools as a tool of the framework. A call updates the list of tools."""

    def __init__(self, skills: Skills, conversation: str, tool: Tool) -> None:
        async def work(context: FunctionInvocationContext, **arguments: Any) -> str:
            reply = await skills.call(tool.name, arguments, conversation)
            if context.tools is not None:
                await in_thread(_update_tools, skills, conversation, context.tools)
            return reply.text

        super().__init__(
            name=tool.name, description=tool.description, func=work, input_model=_Anything, approval_mode="never_require"
        )
        self.tool = tool

    def parameters(self) -> dict[str, Any]:
        return dict(self.tool.schema)


def _update_tools(skills: Skills, conversation: str, live: list[Any]) -> None:
    """Updates our tools in the live list. Unchanged tools stay the same objects."""
    known = {each.name: each for each in live if isinstance(each, _SkillTool)}
    now = []
    for tool in skills.tools(conversation):
        same = known.get(tool.name)
        unchanged = same is not None and same.tool.schema == tool.schema and same.tool.description == tool.description
        now.append(same if same is not None and unchanged else _SkillTool(skills, conversation, tool))
    live[:] = [*(each for each in live if not isinstance(each, _SkillTool)), *now]
