"""A model as a judge: it sees a catalog and a request, as in an agent, and either loads the skill or does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.disclosure import CatalogFormat, render_block
from metier.runtime import Tool, ToolReply, object_schema
from metier.spec import Json

from .chat import Chat
from .triggers import JudgeChoice

__all__ = ["ModelTriggerJudge", "NamedDescription"]

NamedDescription = tuple[str, str]
"""Name and description of a skill."""
_SYSTEM = """You are an assistant that can load skills: instructions for certain kinds of work.

{catalog}

When a skill fits the user's request, call load_skill with its name before anything else. When none fits, answer without."""


class ModelTriggerJudge:
    """`near` gives the other skills that stand in the catalog for a request."""

    steady = False

    def __init__(self, chat: Chat, skill: NamedDescription, near: Callable[[str], Sequence[NamedDescription]]) -> None:
        self.name = f"model {chat.name}"
        self._chat = chat
        self._skill = skill
        self._near = near

    async def __call__(self, query: str) -> JudgeChoice:
        others = [each for each in self._near(query) if each[0] != self._skill[0]]
        offered = sorted([*others, self._skill])
        lines = [(name, description, "") for name, description in offered]
        system = _SYSTEM.format(catalog=render_block(lines, (), CatalogFormat.XML))
        messages = [{"role": "system", "content": system}, {"role": "user", "content": query}]
        answer = await self._chat(messages, (_load([name for name, _ in offered]),))
        loaded = [str((call.arguments or {}).get("skill_name", "")) for call in answer.calls if call.tool == "load_skill"]
        said = " ".join(answer.text.split())[:200]
        return JudgeChoice(
            triggered=self._skill[0] in loaded,
            winner=loaded[0] if loaded else "",
            why=said or ("the model loaded it" if loaded else "the model answered without a skill"),
            own="loaded" if self._skill[0] in loaded else "not loaded",
        )


def _load(names: Sequence[str]) -> Tool:
    about = "Activate a skill: returns its instructions, which you then follow."
    schema = object_schema({"skill_name": {"type": "string", "enum": list(names)}}, ("skill_name",))
    return Tool(name="load_skill", description=about, schema=schema, work=_never)


async def _never(_: dict[str, Json]) -> ToolReply:
    raise AssertionError("a judge only looks at what was called")
