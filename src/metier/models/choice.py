"""The choice of a model: its name, its server and its key.

No client library is imported here, so choosing a model costs nothing before the first request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from metier.values import dataclass, field

__all__ = ["HOW_TO_SET_A_MODEL", "PROVIDERS", "ModelChoice", "ModelProvider", "choose_model", "likely_provider"]

HOW_TO_SET_A_MODEL = "set a model with `metier config set model.name openai:NAME` (or anthropic:NAME, ollama:NAME, …)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    key_variable: str
    """The environment variable that holds the key."""
    base_url: str = ""
    """Empty where the client library knows the address."""
    url_variable: str = ""
    """The environment variable that replaces `base_url`."""


PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": ModelProvider(key_variable="OPENAI_API_KEY"),
    "openai-chat": ModelProvider(key_variable="OPENAI_API_KEY", url_variable="OPENAI_BASE_URL"),
    "openai-responses": ModelProvider(key_variable="OPENAI_API_KEY", url_variable="OPENAI_BASE_URL"),
    "anthropic": ModelProvider(key_variable="ANTHROPIC_API_KEY", url_variable="ANTHROPIC_BASE_URL"),
    "ollama": ModelProvider(
        key_variable="OLLAMA_API_KEY", base_url="http://localhost:11434/v1", url_variable="OLLAMA_BASE_URL"
    ),
}
"""The providers that we document. pydantic-ai knows more; it looks up their addresses and keys itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    name: str
    """`openai:gpt-5`, `anthropic:…`, `ollama:…`, as pydantic-ai names them; with `base_url` also a bare name."""
    base_url: str = ""
    """A server that is asked instead of the provider's own; OpenAI-compatible unless the name has another provider."""
    key: str = field(default="", repr=False)
    """Empty: the provider's client looks it up in the environment."""

    @property
    def provider(self) -> str:
        prefix, colon, _ = self.name.partition(":")
        return prefix if colon else ""

    @property
    def bare_name(self) -> str:
        return self.name.partition(":")[2] if self.provider else self.name


def likely_provider(name: str) -> str:
    """Returns the provider that a bare name is usually from, for a hint."""
    starts = {"claude": "anthropic", "gemini": "google-gla", "llama": "ollama", "qwen": "ollama", "mistral": "mistral"}
    return next((provider for start, provider in starts.items() if name.lower().startswith(start)), "openai")


def _maker(name: str) -> str:
    """Returns the provider of a bare name that only one provider uses; empty for names of open models."""
    found = re.match(r"(?:(gpt-\d|chatgpt-|o\d(?:-|$))|claude-)", name)
    return "" if not found else "openai" if found[1] else "anthropic"


def choose_model(
    name: str, *, base_url: str = "", key_variable: str = "", environment: Mapping[str, str] | None = None
) -> ModelChoice:
    """Completes a name with the server and the key that belong to it.

    A bare name with a server takes the key of OpenAI; without one, `gpt-…` and `claude-…` are from the provider that made them.
    """
    variables = environment or {}
    if not base_url and ":" not in name and (made_by := _maker(name)):
        name = f"{made_by}:{name}"
    provider = PROVIDERS.get(name.partition(":")[0] if ":" in name else "")
    if provider is None and base_url:
        provider = PROVIDERS["openai"]
    if provider is not None:
        base_url = base_url or variables.get(provider.url_variable, "") or provider.base_url
        key_variable = key_variable or provider.key_variable
    return ModelChoice(name=name, base_url=base_url.rstrip("/"), key=variables.get(key_variable, ""))
