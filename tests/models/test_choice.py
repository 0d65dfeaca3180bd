from __future__ import annotations

import pytest

from metier.models import ModelChoice, choose_model

ENVIRONMENT = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "MINE": "m"}


def test_a_provider_has_its_own_key_variable() -> None:
    assert choose_model("openai:gpt-x", environment=ENVIRONMENT) == ModelChoice(name="openai:gpt-x", key="o")
    assert choose_model("anthropic:c", environment=ENVIRONMENT).key == "a"
    assert choose_model("openai:gpt-x", key_variable="MINE", environment=ENVIRONMENT).key == "m"


def test_a_bare_name_belongs_to_a_server_and_takes_the_key_of_openai() -> None:
    choice = choose_model("qwen:7b", base_url="http://localhost:8000/v1/", environment=ENVIRONMENT)
    assert (choice.name, choice.base_url, choice.key) == ("qwen:7b", "http://localhost:8000/v1", "o")
    assert choose_model("gpt-x", environment=ENVIRONMENT) == ModelChoice(name="gpt-x")


@pytest.mark.parametrize(
    ("typed", "name"),
    [("gpt-4", "openai:gpt-4"), ("o3", "openai:o3"), ("o3-mini", "openai:o3-mini"), ("claude-x", "anthropic:claude-x"),
     ("gpt-oss:20b", "gpt-oss:20b"), ("gpt-oss", "gpt-oss"), ("llama3", "llama3"), ("o3x", "o3x")],
)  # fmt: skip
def test_a_bare_name_that_one_provider_uses_is_from_there(typed: str, name: str) -> None:
    assert choose_model(typed).name == name
    assert choose_model(typed, base_url="http://localhost:8000/v1").name == typed


def test_a_local_provider_has_an_address_that_a_variable_replaces() -> None:
    assert choose_model("ollama:qwen3").base_url == "http://localhost:11434/v1"
    away = choose_model("ollama:qwen3", environment={"OLLAMA_BASE_URL": "http://gpu:11434/v1"})
    assert away.base_url == "http://gpu:11434/v1"


def test_a_key_is_not_in_the_repr() -> None:
    assert "secret" not in repr(choose_model("openai:x", environment={"OPENAI_API_KEY": "secret"}))
