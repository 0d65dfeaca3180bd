"""A model as a trigger judge: it sees a catalog and a request, as in an agent, and loads the skill or does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.disclosure import CatalogFormat, render_block
from metier.models import ChatMessage, ChatModel
from metier.runtime import BadArgumentsError, Tool, ToolReply, object_schema, read_arguments
from metier.spec import Json

from .triggers import JudgeChoice

__all__ = ["ModelTriggerJudge", "NamedDescription"]

NamedDescription = tuple[str, str]
"""Name and description of a skill."""
_SYSTEM = """You are an assistant that can load skills: instructions for certain kinds of work.

{catalog}

When a skill fits the user's request, call load_skill with its name before anything else. When none fits, answer without."""


class ModelTriggerJudge:
    """`nearby` returns the other skills that the catalog shows for a request."""

    deterministic = False

    def __init__(self, model: ChatModel, skill: NamedDescription, nearby: Callable[[str], Sequence[NamedDescription]]) -> None:
        self.name = f"model {model.name}"
        self._model = model
        self._skill = skill
        self._nearby = nearby

    async def __call__(self, query: str) -> JudgeChoice:
        others = [each for each in self._nearby(query) if each[0] != self._skill[0]]
        offered = sorted([*others, self._skill])
        lines = [(name, description, "") for name, description in offered]
        system = _SYSTEM.format(catalog=render_block(lines, (), CatalogFormat.XML))
        messages = [ChatMessage.system(system), ChatMessage.user(query)]
        reply = await self._model.ask(messages, (_load_skill([name for name, _ in offered]),))
        loaded = [_skill_name(call.arguments) for call in reply.calls if call.tool == "load_skill"]
        text = " ".join(reply.text.split())[:200]
        return JudgeChoice(
            triggered=self._skill[0] in loaded,
            winner=loaded[0] if loaded else "",
            why=text or ("the model loaded it" if loaded else "the model answered without a skill"),
            own="loaded" if self._skill[0] in loaded else "not loaded",
        )


def _skill_name(arguments: str) -> str:
    try:
        return str(read_arguments(arguments).get("skill_name", ""))
    except BadArgumentsError:
        return ""


def _load_skill(names: Sequence[str]) -> Tool:
    about = "Activate a skill: returns its instructions, which you then follow."
    schema = object_schema({"skill_name": {"type": "string", "enum": list(names)}}, ("skill_name",))
    return Tool(name="load_skill", description=about, schema=schema, function=_not_called)


async def _not_called(_: dict[str, Json]) -> ToolReply:
    raise AssertionError("a judge reads the calls and runs none")
