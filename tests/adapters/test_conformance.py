"""Every framework, the same scenarios."""

from __future__ import annotations

import os
from pathlib import Path

from adapters import claude_suites, suites


class TestOpenAIChat(suites.OpenAIChat): ...


class TestOpenAIResponses(suites.OpenAIResponses): ...


class TestLiteLLM(suites.LiteLLM): ...


class TestOpenAIAgents(suites.OpenAIAgents): ...


class TestPydanticAI(suites.PydanticAI): ...


class TestPydanticAIToolset(suites.PydanticAIToolset): ...


class TestLangChain(suites.LangChain): ...


class TestLangGraph(suites.LangGraph): ...


class TestAgentFramework(suites.AgentFramework): ...


class TestClaudeServer(claude_suites.ClaudeServer): ...


class TestClaudeFiles(claude_suites.ClaudeFiles): ...


def test_skills_as_a_server_work_in_the_real_claude_code(tmp_path: Path) -> None:
    suite = claude_suites.ClaudeCode()
    suite.test_the_catalog_is_disclosed_beside_the_owners_instructions(tmp_path / "catalog")
    suite.test_a_whole_activation_works_in_every_mode(tmp_path / "activation")


if "METIER_FULL" in os.environ:  # a minute of starting Claude Code

    class TestClaudeCode(claude_suites.ClaudeCode): ...
