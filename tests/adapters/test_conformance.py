"""Every framework, the same scenarios."""

from __future__ import annotations

from adapters import suites


class TestOpenAIChat(suites.OpenAIChat): ...


class TestOpenAIResponses(suites.OpenAIResponses): ...


class TestLiteLLM(suites.LiteLLM): ...


class TestOpenAIAgents(suites.OpenAIAgents): ...


class TestPydanticAI(suites.PydanticAI): ...


class TestPydanticAIToolset(suites.PydanticAIToolset): ...


class TestLangChain(suites.LangChain): ...


class TestLangGraph(suites.LangGraph): ...


class TestAgentFramework(suites.AgentFramework): ...
