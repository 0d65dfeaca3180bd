"""The agent programs of other makers, started for real: headless, in an empty home, with a scripted model on loopback.

`npm ci` in tests/hosts/programs installs them; tools/test.py does so where there is npm.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from metier.testing import ModelServer

__all__ = ["PROGRAMS", "PROGRAM_FOLDER", "AgentHome", "node_program", "program_file"]

PROGRAM_FOLDER = Path(__file__).parent / "hosts" / "programs" / "node_modules" / ".bin"
_SECONDS = 180


@dataclass(frozen=True)
class AgentProgram:
    command: tuple[str, ...]
    """The words before the prompt."""
    environment: Callable[[ModelServer], Mapping[str, str]]
    configuration: Callable[[ModelServer], Mapping[str, str]] = lambda _: {}
    """Files below the home, with their text."""


def _codex(model: ModelServer) -> dict[str, str]:
    text = (
        'model = "scripted"\nmodel_provider = "local"\n\n[model_providers.local]\nname = "local"\n'
        f'base_url = "{model.url}"\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
    )
    return {".codex/config.toml": text}


def _gemini(_: ModelServer) -> dict[str, str]:
    return {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}, indent=2)}


def _opencode(model: ModelServer) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": model.url, "apiKey": "any"},
        "models": {"scripted": {"limit": {"context": 100_000, "output": 4_000}}},
    }
    settings = {
        "model": "local/scripted",
        "small_model": "local/scripted",
        "share": "disabled",
        "provider": {"local": provider},
    }
    return {".config/opencode/opencode.json": json.dumps(settings, indent=2)}


PROGRAMS = {
    "claude-code": AgentProgram(
        ("claude", "-p"),
        lambda model: {
            "ANTHROPIC_BASE_URL": model.root,
            "ANTHROPIC_API_KEY": "any",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    ),
    # The user trusts a hook once, in Codex itself; a program that checks hooks beforehand says so by this option.
    "codex": AgentProgram(
        ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"), lambda _: {"MODEL_KEY": "any"}, _codex
    ),
    "gemini-cli": AgentProgram(
        ("gemini", "-m", "gemini-2.5-pro", "-p"),
        lambda model: {"GOOGLE_GEMINI_BASE_URL": model.root, "GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        _gemini,
    ),
    # It asks a registry for packages that it does without; the scripted server answers that at once.
    "opencode": AgentProgram(
        ("opencode", "run"),
        lambda model: {
            "npm_config_registry": model.root,
            "npm_config_fetch_retries": "0",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        _opencode,
    ),
    # It unpacks itself into a cache at its first start, which all homes share here.
    "github-copilot": AgentProgram(
        ("copilot", "--allow-all-tools", "--trust-folder", "-p"),
        lambda model: {
            "COPILOT_PROVIDER_BASE_URL": model.url,
            "COPILOT_PROVIDER_API_KEY": "any",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "XDG_CACHE_HOME": str(PROGRAM_FOLDER.parent / ".cache"),
        },
    ),
}


def program_file(agent: str) -> Path:
    file = PROGRAM_FOLDER / PROGRAMS[agent].command[0]
    if not file.exists():
        pytest.skip(f"{agent} is not installed (npm ci in tests/hosts/programs)")
    return file


def node_program(name: str) -> str:
    """Returns the path of another program of that folder, such as npm's `skills`."""
    if not (PROGRAM_FOLDER / name).exists():
        pytest.skip(f"{name} is not installed (npm ci in tests/hosts/programs)")
    return str(PROGRAM_FOLDER / name)


@dataclass
class AgentHome:
    """An empty home for one agent, and a project in it."""

    agent: str
    folder: Path
    model: ModelServer
    variables: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    """Options of the program, after the prompt."""

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True, exist_ok=True)
        for name, text in PROGRAMS[self.agent].configuration(self.model).items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def environment(self) -> dict[str, str]:
        path = f"{Path(_node()).parent}:/usr/local/bin:/usr/bin:/bin"
        given = PROGRAMS[self.agent].environment(self.model)
        return {"HOME": str(self.folder), "PATH": path, "LC_ALL": "C.UTF-8", **given, **self.variables}

    def ask(self, prompt: str, *options: str) -> str:
        """Runs the program with one prompt and returns what it printed."""
        words = [str(program_file(self.agent)), *PROGRAMS[self.agent].command[1:], prompt, *self.options, *options]
        done = subprocess.run(
            words, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def requests(self) -> str:
        """Returns everything that the model has received so far."""
        return "\n".join(json.dumps(request.body, ensure_ascii=False) for request in self.model.requests)


def _node() -> str:
    found = next((f"{folder}/node" for folder in os.get_exec_path() if os.access(f"{folder}/node", os.X_OK)), None)
    if found is None:
        pytest.skip("Node.js is not installed")
    return found
