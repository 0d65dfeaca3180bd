"""Agent programs that can be run without a person: their command lines, settings, and the API by which each asks its model.

Each row was tried with the program itself (the versions in tests/hosts/programs/package.json).
"""

from __future__ import annotations

import json
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HEADLESS_AGENTS", "HeadlessAgent"]


class HeadlessAgent(NamedTuple):
    """Paths are relative to the home of the run."""

    host: str
    program: str
    """The command that is looked up on PATH."""
    words: tuple[str, ...]
    """The words between the program and the prompt. Without a model, `{model}` and the option before it are left out."""
    free_words: tuple[str, ...]
    """Added in the sandbox: the program asks for no approval, because the sandbox is the limit."""
    skills: str
    """The folder of the user's skills."""
    model_url: str
    """The address of its maker's API; empty if there is no usual one."""
    url_suffix: str
    """The end of a base URL that the program expects."""
    key_header: str
    """The header in which the API takes the key; `authorization` takes it as a bearer token."""
    default_model: str = ""

    def command(self, prompt: str, *, model: str, free: bool) -> tuple[str, ...]:
        """Returns all words after the program."""
        name = model or self.default_model
        words: list[str] = []
        for word in self.words:
            if word != "{model}":
                words.append(word)
            elif name:
                words.append(name)
            else:
                words.pop()
        # An option that takes the prompt is last.
        if words and words[-1] == "-p":
            return (*words[:-1], *(self.free_words if free else ()), "-p", prompt)
        return (*words, *(self.free_words if free else ()), prompt)

    def variables(self, url: str) -> dict[str, str]:
        """Returns the environment variables that lead the program to the model at this address, and only there."""
        match self.host:
            case "claude-code":
                return {
                    "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                    "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1",
                }  # fmt: skip
            case "codex":
                return {"MODEL_KEY": "none"}
            case "gemini-cli":
                return {
                    "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true",
                    "GEMINI_TELEMETRY_ENABLED": "false",
                }  # fmt: skip
            case _:
                # It asks a registry for packages that it does without; our server says at once that there are none.
                return {
                    "npm_config_registry": url, "npm_config_fetch_retries": "0", "OPENCODE_DISABLE_AUTOUPDATE": "1",
                    "OPENCODE_DISABLE_MODELS_FETCH": "1",
                }  # fmt: skip

    def files(self, url: str, *, model: str) -> Mapping[str, str]:
        """Returns the settings files of the program, below the home."""
        name = model or self.default_model
        match self.host:
            case "codex":
                text = (
                    f'model = {json.dumps(name)}\nmodel_provider = "eval"\n\n[model_providers.eval]\nname = "eval"\n'
                    f'base_url = {json.dumps(url + self.url_suffix)}\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
                )
                return {".codex/config.toml": text}
            case "gemini-cli":
                settings = {
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": False},
                    "general": {"disableAutoUpdate": True},
                }
                return {".gemini/settings.json": json.dumps(settings, indent=2)}
            case "opencode":
                return {".config/opencode/opencode.json": json.dumps(_opencode(url + self.url_suffix, name), indent=2)}
            case _:
                return {}


def _opencode(url: str, model: str) -> dict[str, object]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": url, "apiKey": "none"},
        "models": {model: {"limit": {"context": 128_000, "output": 8_000}}},
    }
    chosen = f"eval/{model}"
    return {"model": chosen, "small_model": chosen, "share": "disabled", "autoupdate": False, "provider": {"eval": provider}}


HEADLESS_AGENTS: dict[str, HeadlessAgent] = {
    agent.host: agent
    for agent in (
        HeadlessAgent(
            "claude-code", "claude", ("--model", "{model}", "-p"), ("--dangerously-skip-permissions",), ".claude/skills",
            "https://api.anthropic.com", "", "x-api-key",
        ),
        HeadlessAgent(
            "codex", "codex", ("exec", "--skip-git-repo-check"), ("--dangerously-bypass-approvals-and-sandbox",),
            ".agents/skills", "https://api.openai.com/v1", "/v1", "authorization", "gpt-5.1-codex",
        ),
        HeadlessAgent(
            "gemini-cli", "gemini", ("-m", "{model}", "-p"), ("--yolo",), ".gemini/skills",
            "https://generativelanguage.googleapis.com", "", "x-goog-api-key", "gemini-2.5-pro",
        ),
        HeadlessAgent(
            "opencode", "opencode", ("run",), (), ".config/opencode/skills", "https://api.openai.com/v1", "/v1",
            "authorization", "gpt-5-mini",
        ),
    )
}  # fmt: skip
