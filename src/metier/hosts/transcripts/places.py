"""The folder, or database, in which each agent keeps its transcripts. It imports nothing heavy: every install looks here."""

from __future__ import annotations

import os

from metier.hosts.known_hosts import HOSTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TRANSCRIPT_AGENTS", "has_transcripts", "transcript_place"]

TRANSCRIPT_AGENTS = ("claude-code", "codex", "gemini-cli", "opencode")
_NAMES = {"claude-code": "projects", "codex": "sessions", "gemini-cli": "tmp"}


def transcript_place(agent: str, home: str, environment: Mapping[str, str]) -> str:
    if agent == "opencode":
        data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        return os.path.join(data, "opencode", "opencode.db")
    return os.path.join(HOSTS[agent].marker_folder(home, environment) or home, _NAMES[agent])


def has_transcripts(home: str, environment: Mapping[str, str]) -> bool:
    """Returns True if an agent has a place for transcripts here; it may still be empty."""
    return any(os.path.exists(transcript_place(agent, home, environment)) for agent in TRANSCRIPT_AGENTS)
