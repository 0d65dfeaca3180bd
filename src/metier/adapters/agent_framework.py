"""Skills for the Microsoft Agent Framework, as a context provider.

    agent = Agent(client, context_providers=[SkillsContextProvider("skills")])

The framework lets a running tool change the list of tools for the model's next request, which is how those of a skill
come with its activation. A conversation is the framework's session.
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
    """The catalog in the instructions, and the tools of skills as they come and go."""

    def __init__(self, *skills: Skills | Source, source_id: str = "metier_skills") -> None:
        super().__init__(source_id)
        self.skills = Skills.of(*skills)

    async def before_run(self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]) -> None:
        said = [message.text for message in context.input_messages if message.role == "user"]
        text = await self.skills.instructions_soon(session.session_id, request=said[-1] if said else "")
        if text:
            context.extend_instructions(self.source_id, text)
        tools = await in_thread(self.skills.tools, session.session_id)
        context.extend_tools(self.source_id, [_SkillTool(self.skills, session.session_id, tool) for tool in tools])


class _Anything(BaseModel):
    """The framework checks arguments too, and then tells the model only that they are wrong. Our tools tell it what is
    wrong, so they get them as they are."""

    model_config = ConfigDict(extra="allow")


class _SkillTool(FunctionTool):
    """One of our tools as the framework's own; it changes the others when it is called."""

    def __init__(self, skills: Skills, conversation: str, tool: Tool) -> None:
        async def work(context: FunctionInvocationContext, **arguments: Any) -> str:
            reply = await skills.call(tool.name, arguments, conversation)
            if context.tools is not None:
                await in_thread(_renew, skills, conversation, context.tools)
            return reply.text

        super().__init__(
            name=tool.name, description=tool.description, func=work, input_model=_Anything, approval_mode="never_require"
        )
        self.made_of = tool

    def parameters(self) -> dict[str, Any]:
        return dict(self.made_of.schema)


def _renew(skills: Skills, conversation: str, live: list[Any]) -> None:
    """Bring our part of the live list up to date. What did not change stays the same object."""
    known = {each.name: each for each in live if isinstance(each, _SkillTool)}
    now = []
    for tool in skills.tools(conversation):
        same = known.get(tool.name)
        unchanged = same is not None and same.made_of.schema == tool.schema and same.made_of.description == tool.description
        now.append(same if same is not None and unchanged else _SkillTool(skills, conversation, tool))
    live[:] = [*(each for each in live if not isinstance(each, _SkillTool)), *now]
