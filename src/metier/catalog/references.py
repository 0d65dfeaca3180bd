"""The things that the text of a skill relies on: MCP servers, other skills, and commands in its code blocks. For advice only.

A missing one never makes a skill unavailable, and a doubtful word is not reported: a path such as `/tmp` is no skill, and only
known programs count as commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from metier.lazy import lazy_pattern
from metier.spec import Manifest, is_name

from .compatibility import known_programs
from .needs import Environment, known_commands

__all__ = ["References", "missing_references", "read_references"]

_SERVER = lazy_pattern(r"\bmcp__([A-Za-z0-9][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*)(?:__[A-Za-z0-9_*-]+)?")
_SERVER_KEYS = ("mcp-servers", "mcp_servers", "mcp")
_SIBLING = lazy_pattern(r"(?<![\w/])\.\./([a-z0-9][a-z0-9-]*)/SKILL\.md\b")
_NAME = r"[`*\"“]{0,3}([a-z0-9]+(?:-[a-z0-9]+)*)[`*\"”]{0,3}"
_THE_SKILL = lazy_pattern(
    rf"\b(?:use|using|invoke|load|activate|run|apply|follow|see|with|read)\s+the\s+{_NAME}\s+skill\b", re.IGNORECASE
)
_QUOTED_SKILL = lazy_pattern(r"[`*]{1,2}([a-z0-9]+(?:-[a-z0-9]+)+)[`*]{1,2}\s+skill\b")
_SLASH = lazy_pattern(r"\b(?:use|run|invoke|call|type|execute)\s+`/([a-z0-9]+(?:-[a-z0-9]+)*)(?:\s[^`\n]*)?`", re.IGNORECASE)
# Commands of the agents themselves.
_BUILT_IN = frozenset({
    "agents", "clear", "compact", "config", "context", "cost", "doctor", "exit", "help", "hooks", "init", "login", "logout",
    "mcp", "memory", "model", "new", "permissions", "plan", "plugin", "quit", "resume", "review", "skills", "status", "tmp",
})  # fmt: skip
# Words between "the" and "skill" that name none.
_PLAIN = frozenset({
    "above", "agent", "appropriate", "companion", "corresponding", "current", "following", "given", "matching", "named", "new",
    "next", "other", "parent", "related", "relevant", "right", "same", "target", "this", "whole",
})  # fmt: skip
_CODE = lazy_pattern(r"^ {0,3}(`{3,}|~{3,})[ \t]*(sh|bash|zsh|shell|console)\b[^\n]*\n(.*?)^ {0,3}\1", re.MULTILINE | re.DOTALL)
_ASSIGNMENT = lazy_pattern(r"(?:[A-Za-z_]\w*=\S*\s+|sudo\s+|time\s+|exec\s+)*")


class References(NamedTuple):
    servers: tuple[str, ...] = ()
    """MCP servers, from `allowed-tools: mcp__x__y`, `metadata.mcp-servers`, and the text."""
    skills: tuple[str, ...] = ()
    """Other skills, from `/name`, `../x/SKILL.md` and "use the x skill"."""
    commands: tuple[str, ...] = ()
    """Known programs in its shell code blocks."""


def read_references(manifest: Manifest, body: str) -> References:
    """Returns what a skill names, each once, in the order of the text."""
    return References(
        servers=tuple(dict.fromkeys(_servers(manifest, body))),
        skills=tuple(dict.fromkeys(name for name in _skills(body) if name != manifest.name)),
        commands=tuple(dict.fromkeys(_commands(body))),
    )


def missing_references(
    found: References, *, machine: Environment, has_skill: Callable[[str], bool], has_server: Callable[[str], bool]
) -> tuple[str, ...]:
    """Returns a text for each thing that is not here."""
    return (
        *(f"MCP server {name}" for name in found.servers if not has_server(name)),
        *(f"skill {name} (named in its text)" for name in found.skills if not has_skill(name)),
        *(f"{name} (in its code blocks; not on PATH)" for name in found.commands if not machine.has_command(name)),
    )


def _servers(manifest: Manifest, body: str) -> Iterator[str]:
    for tool in manifest.allowed_tools:
        yield from _SERVER.findall(tool)
    for key in _SERVER_KEYS:
        yield from (word for word in manifest.metadata.get(key, "").replace(",", " ").split() if re.fullmatch(r"[\w-]+", word))
    if "mcp__" in body:
        yield from _SERVER.findall(body)


def _skills(body: str) -> Iterator[str]:
    # Most texts have none of these words, and looking for a word is much quicker than a pattern.
    if "/SKILL.md" in body:
        yield from _SIBLING.findall(body)
    if "skill" in body.lower():
        yield from _QUOTED_SKILL.findall(body)
        yield from (name for name in _THE_SKILL.findall(body) if name == name.lower() and is_name(name) and name not in _PLAIN)
    if "`/" in body:
        yield from (name for name in _SLASH.findall(body) if is_name(name) and name not in _BUILT_IN)


def _commands(body: str) -> Iterator[str]:
    if "```" not in body and "~~~" not in body:
        return
    known = known_commands() | known_programs()
    for _, language, code in _CODE.findall(body):
        lines = code.split("\n")
        if language == "console":
            # The other lines are output.
            lines = [line.lstrip()[2:] for line in lines if line.lstrip().startswith("$ ")]
        yield from (word for word in _first_words(lines) if word in known)


def _first_words(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for part in re.split(r"\|\|?|&&|;", line.removeprefix("$ ")):
            text = part.strip()
            rest = text[match.end() :] if (match := _ASSIGNMENT.match(text)) else text
            word = rest.partition(" ")[0]
            if word and not word.startswith("#"):
                yield word
