"""Our adapters in the conformance kit: how an agent of each framework is made and talked to."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from metier.adapters import Skills
from metier.testing import ModelServer
from metier.testing.adapters import SYSTEM, AdapterConformance, Mode, Scripted, weather

# Any: the SDKs' own objects.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # LiteLLM fetches a list of prices when it is imported, otherwise
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_WEATHER = {"type": "function", "function": {"name": "weather", "parameters": CITY}}
# A client whose loop has ended cannot be closed any more, and the synchronous ways of an SDK end theirs unseen.
ONCE = {"Connection": "close"}
EVERY_MODE = (Mode.SYNC, Mode.ASYNC, Mode.STREAM, Mode.ASYNC_STREAM)


@contextmanager
def a_loop() -> Iterator[None]:
    """For the synchronous ways of an SDK, which use the thread's loop and leave one open where there is none."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def url(model: Scripted) -> str:
    assert isinstance(model, ModelServer)
    return model.url


class OpenAIChat(AdapterConformance):
    modes = EVERY_MODE

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        from metier.adapters.openai import OpenAISkills

        adapter = OpenAISkills(skills, conversation=uuid4().hex)
        messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        said = []
        for request in requests:
            messages.append({"role": "user", "content": request})
            said.append(asyncio.run(self._until_it_says(adapter, url(model), messages, mode)))
        return said

    async def _until_it_says(self, adapter: Any, url: str, messages: list[Any], mode: Mode) -> str:
        """The loop that every program over the bare SDK has."""
        while True:
            answer = await self._answer(
                adapter, url, {"model": "scripted", "messages": messages, "tools": [CHAT_WEATHER]}, mode
            )
            messages.append(answer)
            for call in answer.get("tool_calls") or ():
                assert call["function"]["name"] == "weather", "a call of ours reached the caller"
                result = weather(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            if not answer.get("tool_calls"):
                return str(answer["content"])

    async def _answer(self, adapter: Any, url: str, request: dict[str, Any], mode: Mode) -> dict[str, Any]:
        from openai import AsyncOpenAI, OpenAI

        if mode in (Mode.SYNC, Mode.STREAM):
            with OpenAI(base_url=url, api_key="any") as client:
                if mode is Mode.STREAM:
                    return joined(list(adapter.chat(client, stream=True, **request)))
                return message_of(adapter.chat(client, **request))
        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            if mode is Mode.ASYNC_STREAM:
                return joined([chunk async for chunk in adapter.chat(client, stream=True, **request)])
            return message_of(await adapter.chat(client, **request))


def message_of(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.choices[0].message.model_dump(exclude_none=True)
    return found


def joined(chunks: Sequence[Any]) -> dict[str, Any]:
    """A streamed answer as the message that it is."""
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        for part in delta.tool_calls or ():
            call = calls.setdefault(part.index, {"id": part.id, "type": "function", "function": {"name": "", "arguments": ""}})
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
    assert sorted(calls) == list(range(len(calls)))
    message = {"role": "assistant", "content": "".join(delta.content or "" for delta in deltas)}
    return {**message, "tool_calls": list(calls.values())} if calls else message


class OpenAIResponses(AdapterConformance):
    modes = EVERY_MODE

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        from metier.adapters.openai import OpenAISkills

        adapter = OpenAISkills(skills, conversation=uuid4().hex)
        items: list[Any] = []
        said = []
        for request in requests:
            items.append({"role": "user", "content": request})
            said.append(asyncio.run(self._until_it_says(adapter, url(model), items, mode)))
        return said

    async def _until_it_says(self, adapter: Any, url: str, items: list[Any], mode: Mode) -> str:
        own = {"type": "function", "name": "weather", "parameters": CITY}
        while True:
            request = {"model": "scripted", "instructions": SYSTEM, "tools": [own], "input": items}
            response = await self._response(adapter, url, request, mode)
            items.extend(item.model_dump(exclude_none=True) for item in response.output)
            calls = [item for item in response.output if item.type == "function_call"]
            for call in calls:
                assert call.name == "weather", "a call of ours reached the caller"
                result = weather(**json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
            if not calls:
                return str(response.output_text)

    async def _response(self, adapter: Any, url: str, request: dict[str, Any], mode: Mode) -> Any:
        from openai import AsyncOpenAI, OpenAI

        if mode in (Mode.SYNC, Mode.STREAM):
            with OpenAI(base_url=url, api_key="any") as client:
                if mode is Mode.STREAM:
                    return completed(list(adapter.respond(client, stream=True, **request)))
                return adapter.respond(client, **request)
        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            if mode is Mode.ASYNC_STREAM:
                return completed([event async for event in adapter.respond(client, stream=True, **request)])
            return await adapter.respond(client, **request)


def completed(events: Sequence[Any]) -> Any:
    kinds = [event.type for event in events]
    assert kinds.count("response.created") == kinds.count("response.completed") == 1
    assert kinds[-1] == "response.completed"
    return events[-1].response


class LiteLLM(OpenAIChat):
    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        from metier.adapters.litellm import LiteLLMSkills

        adapter = LiteLLMSkills(skills, conversation=uuid4().hex)
        messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        said = []
        for request in requests:
            messages.append({"role": "user", "content": request})
            said.append(asyncio.run(self._until_it_says(adapter, url(model), messages, mode)))
        return said

    async def _answer(self, adapter: Any, url: str, request: dict[str, Any], mode: Mode) -> dict[str, Any]:
        request = {**request, "model": "openai/scripted", "api_base": url, "api_key": "any"}
        match mode:
            case Mode.SYNC:
                return message_of(adapter.completion(**request))
            case Mode.ASYNC:
                return message_of(await adapter.acompletion(**request))
            case Mode.STREAM:
                return joined(list(adapter.completion(stream=True, **request)))
            case Mode.ASYNC_STREAM:
                return joined([chunk async for chunk in await adapter.acompletion(stream=True, **request)])


class OpenAIAgents(AdapterConformance):
    modes = (Mode.ASYNC, Mode.SYNC, Mode.ASYNC_STREAM)

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        from openai import AsyncOpenAI

        from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
        from metier.adapters.openai_agents import with_skills

        def agent(client: AsyncOpenAI) -> Agent[None]:
            served = OpenAIChatCompletionsModel("scripted", client)
            mine: Agent[None] = Agent(name="Artist", instructions=SYSTEM, model=served, tools=[function_tool(weather)])
            return with_skills(mine, skills, conversation=conversation)

        conversation = uuid4().hex
        quiet = RunConfig(tracing_disabled=True)
        history: list[Any] = []
        said = []

        async def ask(request: str) -> Any:
            async with AsyncOpenAI(base_url=url(model), api_key="any") as client:
                if mode is Mode.ASYNC:
                    return await Runner.run(agent(client), [*history, {"role": "user", "content": request}], run_config=quiet)
                streaming = Runner.run_streamed(
                    agent(client), [*history, {"role": "user", "content": request}], run_config=quiet
                )
                assert [event async for event in streaming.stream_events()]
                return streaming

        for request in requests:
            if mode is Mode.SYNC:
                client = AsyncOpenAI(base_url=url(model), api_key="any", default_headers=ONCE)
                with a_loop():
                    whole = [*history, {"role": "user", "content": request}]
                    result: Any = Runner.run_sync(agent(client), whole, run_config=quiet)
            else:
                result = asyncio.run(ask(request))
            history = result.to_input_list()
            said.append(str(result.final_output))
        return said


class PydanticAI(AdapterConformance):
    modes = EVERY_MODE

    def new_agent(self, skills: Skills, model: Any) -> Any:
        from pydantic_ai import Agent

        from metier.adapters.pydantic_ai import SkillsCapability

        return Agent(model, instructions=SYSTEM, tools=[weather], capabilities=[SkillsCapability(skills)])

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        history: Any = None
        said = []
        for request in requests:
            client = AsyncOpenAI(base_url=url(model), api_key="any", default_headers=ONCE)
            agent = self.new_agent(skills, OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client)))
            match mode:
                case Mode.SYNC:
                    with a_loop():
                        result = agent.run_sync(request, message_history=history)
                    text = result.output
                case Mode.ASYNC:
                    result = asyncio.run(agent.run(request, message_history=history))
                    text = result.output
                case Mode.STREAM:
                    with a_loop(), agent.run_stream_sync(request, message_history=history) as result:
                        text = "".join(result.stream_text(delta=True))
                case Mode.ASYNC_STREAM:
                    result, text = asyncio.run(self._stream(agent, request, history))
            history = result.all_messages()
            said.append(text)
        return said

    async def _stream(self, agent: Any, request: str, history: Any) -> tuple[Any, str]:
        async with agent.run_stream(request, message_history=history) as result:
            pieces = [piece async for piece in result.stream_text(delta=True)]
            return result, "".join(pieces)


class PydanticAIToolset(PydanticAI):
    def new_agent(self, skills: Skills, model: Any) -> Any:
        from pydantic_ai import Agent

        from metier.adapters.pydantic_ai import SkillsToolset

        return Agent(model, instructions=SYSTEM, tools=[weather], toolsets=[SkillsToolset(skills)])


class LangChain(AdapterConformance):
    """With `create_agent` and the middleware."""

    modes = EVERY_MODE

    def graph(self, skills: Skills, model: Any) -> Any:
        from langchain.agents import create_agent
        from langgraph.checkpoint.memory import InMemorySaver

        from metier.adapters.langchain import SkillsMiddleware

        middleware = [SkillsMiddleware(skills)]
        return create_agent(model, [weather], system_prompt=SYSTEM, middleware=middleware, checkpointer=InMemorySaver())

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        from langchain_openai import ChatOpenAI
        from pydantic import SecretStr

        streams = mode in (Mode.STREAM, Mode.ASYNC_STREAM)
        key = SecretStr("any")
        chat = ChatOpenAI(model="scripted", base_url=url(model), api_key=key, streaming=streams, default_headers=ONCE)
        graph = self.graph(skills, chat)
        thread = {"configurable": {"thread_id": uuid4().hex}}
        said = []
        for request in requests:
            given = {"messages": [{"role": "user", "content": request}]}
            match mode:
                case Mode.SYNC:
                    text = graph.invoke(given, thread)["messages"][-1].text
                case Mode.ASYNC:
                    text = asyncio.run(graph.ainvoke(given, thread))["messages"][-1].text
                case Mode.STREAM:
                    text = self._joined(list(graph.stream(given, thread, stream_mode="messages")))
                case Mode.ASYNC_STREAM:
                    text = self._joined(asyncio.run(self._all(graph.astream(given, thread, stream_mode="messages"))))
            said.append(text)
        return said

    async def _all(self, stream: Any) -> list[Any]:
        return [piece async for piece in stream]

    def _joined(self, pieces: Sequence[Any]) -> str:
        return "".join(piece.text for piece, _ in pieces if type(piece).__name__ == "AIMessageChunk")


class LangGraph(LangChain):
    """A graph of one's own, with the tools."""

    def graph(self, skills: Skills, model: Any) -> Any:
        from langchain_core.messages import SystemMessage
        from langchain_core.tools import tool
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode, tools_condition

        from metier.adapters.langchain import skill_tools

        own = tool(weather)
        conversation = uuid4().hex

        def asked(state: MessagesState) -> list[Any]:
            text = skills.instructions(conversation)
            return [SystemMessage(f"{SYSTEM}\n\n{text}".strip()), *state["messages"]]

        def ask(state: MessagesState) -> dict[str, Any]:
            tools = [own, *skill_tools(skills, conversation=conversation)]
            return {"messages": [model.bind_tools(tools).invoke(asked(state))]}

        async def aask(state: MessagesState) -> dict[str, Any]:
            tools = [own, *skill_tools(skills, conversation=conversation)]
            return {"messages": [await model.bind_tools(tools).ainvoke(asked(state))]}

        def act(state: MessagesState, config: Any) -> Any:
            return ToolNode([own, *skill_tools(skills, conversation=conversation)]).invoke(state, config)

        async def aact(state: MessagesState, config: Any) -> Any:
            return await ToolNode([own, *skill_tools(skills, conversation=conversation)]).ainvoke(state, config)

        from langchain_core.runnables import RunnableLambda

        graph = StateGraph(MessagesState)
        graph.add_node("model", RunnableLambda(ask, aask))
        graph.add_node("tools", RunnableLambda(act, aact))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        return graph.compile(checkpointer=InMemorySaver())


class AgentFramework(AdapterConformance):
    modes = (Mode.ASYNC, Mode.ASYNC_STREAM)

    def talk(self, skills: Skills, model: Scripted, requests: Sequence[str], mode: Mode) -> list[str]:
        return asyncio.run(self._talk(skills, url(model), requests, mode))

    async def _talk(self, skills: Skills, url: str, requests: Sequence[str], mode: Mode) -> list[str]:
        from agent_framework import Agent
        from agent_framework.openai import OpenAIChatCompletionClient
        from openai import AsyncOpenAI

        from metier.adapters.agent_framework import SkillsContextProvider

        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            chat = OpenAIChatCompletionClient("scripted", async_client=client)
            provider = SkillsContextProvider(skills)
            agent = Agent(chat, instructions=SYSTEM, tools=[weather], context_providers=[provider])
            session = agent.create_session()
            said = []
            for request in requests:
                if mode is Mode.ASYNC:
                    said.append((await agent.run(request, session=session)).text)
                else:
                    pieces = [piece.text async for piece in agent.run(request, session=session, stream=True)]
                    said.append("".join(pieces))
        return said


SUITES: Mapping[str, type[AdapterConformance]] = {
    "OpenAI chat": OpenAIChat,
    "OpenAI responses": OpenAIResponses,
    "LiteLLM": LiteLLM,
    "OpenAI Agents SDK": OpenAIAgents,
    "pydantic-ai capability": PydanticAI,
    "pydantic-ai toolset": PydanticAIToolset,
    "LangChain": LangChain,
    "LangGraph": LangGraph,
    "Agent Framework": AgentFramework,
}
