"""Answers one prompt hook: which skill fits the prompt, in the words that the agent's model can act on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container
from typing import NamedTuple

from metier.hosts import PROMPT_HOOKS
from metier.spec import estimate_tokens, is_name

from .snapshot import RouteSkill, RouteSnapshot

__all__ = ["MAX_TOKENS", "PromptRequest", "RoutedSkill", "answer_prompt", "find_route", "read_request"]

MAX_TOKENS = 80
_MAX_PROMPT = 20_000
"""Characters of a prompt that are ranked. The task is at its beginning or at its end."""


class PromptRequest(NamedTuple):
    """A prompt as the agent sent it."""

    prompt: str
    folder: str
    session: str = ""


class RoutedSkill(NamedTuple):
    skill: RouteSkill
    text: str
    """Added to the prompt."""


def read_request(host: str, data: bytes, *, folder: str) -> PromptRequest | None:
    """Reads the agent's JSON; None if it holds no prompt. `folder` is used if the agent names none."""
    try:
        given = json.loads(data)
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    prompt = given.get(PROMPT_HOOKS[host].prompt_key)
    if not isinstance(prompt, str):
        return None
    roots = given.get("workspace_roots")
    named = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    session = given.get("session_id") or given.get("conversation_id") or given.get("sessionId")
    return PromptRequest(
        prompt,
        named if isinstance(named, str) and os.path.isabs(named) else folder,
        session if isinstance(session, str) else "",
    )


def find_route(host: str, prompt: str, snapshot: RouteSnapshot, *, named: Container[str] = ()) -> RoutedSkill | None:
    """Returns the skill that fits the prompt. `named` are skills that were named in this conversation before."""
    text = prompt.strip()
    # A command of the agent itself, or a skill that the user has named.
    if not text or text[0] in "/!$#@" or not snapshot.skills:
        return None
    if len(text) > _MAX_PROMPT:
        text = f"{text[: _MAX_PROMPT // 2]}\n{text[-_MAX_PROMPT // 2 :]}"
    # Imported here: it loads numpy, which a prompt such as /clear does not need.
    from metier.selection import Selector

    skills = {skill.id: skill for skill in snapshot.skills}
    selection = Selector.from_buffer(snapshot.index, snapshot.skills).select(text)
    if not selection.selected:
        return None
    best = skills[selection.selected[0].id]
    if best.name in named or not is_name(best.name) or not os.path.isfile(best.file):
        return None
    return RoutedSkill(best, _hint(host, best))


def answer_prompt(host: str, route: RoutedSkill) -> str:
    """Returns the JSON that adds the text to the prompt."""
    return json.dumps(PROMPT_HOOKS[host].answer(route.text))


def _hint(host: str, skill: RouteSkill) -> str:
    load = PROMPT_HOOKS[host].load

    def say(file: str) -> str:
        return f"The skill {skill.name} fits this request. {load.format(name=skill.name, file=file)}"

    text = say(skill.file)
    # A path is text of the project: one that is long, or holds anything but plain characters, is not repeated.
    is_plain = skill.file.isprintable() and skill.file.isascii() and "`" not in skill.file
    return text if is_plain and _fits(text) else say(f"the SKILL.md of {skill.name}")


def _fits(text: str, count: Callable[[str], int] = estimate_tokens) -> bool:
    return count(text) <= MAX_TOKENS
