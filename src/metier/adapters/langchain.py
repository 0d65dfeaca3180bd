"""Skills for LangChain and LangGraph.

    agent = create_agent(model, tools, middleware=[SkillsMiddleware("skills")])

In your own graph, `skill_tools` returns the current tools, for `bind_tools` and `ToolNode`, and `Skills.instructions` the text
for the system message.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from metier.runtime import ToolReply, in_thread

from .background_loop import run_in_background
from .chat_completions import append_text, chat_tool
from .skills import MissingSdkError, Skills, Source

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.types import Command
except ImportError:
    raise MissingSdkError("langchain") from None

# Any: states, contexts and results of a graph are the caller's own types.

__all__ = ["SkillsMiddleware", "SkillsState", "skill_tools"]


class SkillsState(AgentState[Any]):
    skills_conversation: NotRequired[Annotated[str, PrivateStateAttr]]
    """The conversation is the state of the graph, so its id is part of it: a checkpointer stores it with the thread."""


class SkillsMiddleware(AgentMiddleware[SkillsState, Any, Any]):
    """Adds the catalog to the system message and the current tools of skills to each request."""

    state_schema = SkillsState

    def __init__(self, *skills: Skills | Source) -> None:
        super().__init__()
        self.skills = Skills.of(*skills)
        self.tools = []

    def before_agent(self, state: SkillsState, runtime: object) -> dict[str, Any] | None:
        del runtime
        return None if state.get("skills_conversation") else {"skills_conversation": uuid4().hex}

    async def abefore_agent(self, state: SkillsState, runtime: object) -> dict[str, Any] | None:
        return self.before_agent(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(self._with_skills(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return await handler(await in_thread(self._with_skills, request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        if request.tool is not None:
            return handler(request)
        return _message(request, run_in_background(self._reply(request)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        if request.tool is not None:
            return await handler(request)
        return _message(request, await self._reply(request))

    def _with_skills(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        conversation = _conversation(request.state)
        texts = [message.text for message in request.messages if isinstance(message, HumanMessage)]
        text = self.skills.instructions(conversation, request=texts[-1] if texts else "")
        tools = [chat_tool(tool) for tool in self.skills.tools(conversation)]
        if not text and not tools:
            return request
        own = request.system_message
        system = SystemMessage(text) if own is None else own.model_copy(update={"content": append_text(own.content, text)})
        return request.override(system_message=system, tools=[*request.tools, *tools])

    async def _reply(self, request: ToolCallRequest) -> ToolReply:
        """Answers a call of a tool that the agent itself does not have."""
        return await self.skills.call(request.tool_call["name"], request.tool_call["args"], _conversation(request.state))


def skill_tools(*skills: Skills | Source, conversation: str = "") -> list[BaseTool]:
    """The current tools of the skills. They change with the active skills, so call this in every step."""
    shared = Skills.of(*skills)

    def make_tool(name: str, description: str, schema: dict[str, Any]) -> BaseTool:
        async def work(**arguments: Any) -> str:
            return (await shared.call(name, arguments, conversation)).text

        def wait(**arguments: Any) -> str:
            return run_in_background(work(**arguments))

        return StructuredTool(name=name, description=description, args_schema=schema, func=wait, coroutine=work)

    return [make_tool(tool.name, tool.description, tool.schema) for tool in shared.tools(conversation)]


def _conversation(state: Any) -> str:
    return str(state.get("skills_conversation", "")) if isinstance(state, dict) else ""


def _message(request: ToolCallRequest, reply: ToolReply) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(reply.text, tool_call_id=call["id"], name=call["name"], status="success" if reply.ok else "error")
