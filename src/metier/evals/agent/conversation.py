"""A conversation as the request of an agent program holds it, read from the four APIs that the programs use.

Whether a skill was loaded is read from the calls in it: the program has carried out a call that it sends back to the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from metier.values import dataclass

__all__ = ["AgentTurn", "TurnKind", "count_tokens", "is_model_path", "loaded_skills", "read_turns"]

Body = dict[str, Any]  # Any: JSON of a model's API
_PATHS = ("/messages", "/chat/completions", "/responses", ":generateContent", ":streamGenerateContent")
_LOADERS = ("skill", "activate_skill")
_INPUT = ("input_tokens", "prompt_tokens", "promptTokenCount")
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
_OUTPUT = ("output_tokens", "completion_tokens", "candidatesTokenCount")


class TurnKind(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    CALL = "call"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    kind: TurnKind
    text: str
    """The words; for a call its arguments as JSON."""
    tool: str = ""


def is_model_path(path: str) -> bool:
    """Returns True for the addresses at which a model is asked. Programs ask for other things too, such as updates."""
    return path.partition("?")[0].endswith(_PATHS)


def read_turns(body: Body) -> tuple[AgentTurn, ...]:
    """Returns the conversation without the system prompt. Parts of an unknown form are left out."""
    if isinstance(body.get("contents"), list):
        return tuple(_gemini(body["contents"]))
    if "input" in body:
        given = body["input"]
        return tuple(_responses([{"role": "user", "content": given}] if isinstance(given, str) else given or []))
    return tuple(_messages(body.get("messages") or []))


def loaded_skills(turns: Iterable[AgentTurn], names: Sequence[str]) -> tuple[str, ...]:
    """Returns which of these skills were loaded, the first first: by the program's own tool, or by reading SKILL.md."""
    found: dict[str, None] = {}
    for turn in turns:
        if turn.kind is TurnKind.CALL:
            found.update(dict.fromkeys(name for name in names if _loads(turn, name)))
    return tuple(found)


def count_tokens(answer: str) -> int:
    """Returns the tokens that a model's answer reports, of the request and of the answer; 0 if it reports none."""
    asked = answered = 0
    for usage in _usages(answer):
        cached = sum(_whole(usage.get(key)) for key in _CACHED)
        asked = max(asked, cached + max(_whole(usage.get(key)) for key in _INPUT))
        answered = max(answered, max(_whole(usage.get(key)) for key in _OUTPUT))
    return asked + answered


def _loads(turn: AgentTurn, name: str) -> bool:
    if turn.tool.lower() in _LOADERS:
        try:
            given = json.loads(turn.text)
        except ValueError:
            return False
        words = [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []
        # A skill of a plugin is called plugin:name.
        return any(word.lstrip("/").rpartition(":")[2] == name for word in words)
    return f"/{name}/SKILL.md" in turn.text.replace("\\\\", "/")


def _messages(messages: Iterable[Any]) -> Iterator[AgentTurn]:
    """Of Anthropic's messages and OpenAI's chat completions, which differ in the parts of a message."""
    for message in messages:
        if not isinstance(message, dict) or message.get("role") in ("system", "developer"):
            continue
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            yield AgentTurn(kind=TurnKind.RESULT, text=_words(content))
            continue
        kind = TurnKind.ASSISTANT if role == "assistant" else TurnKind.USER
        for block in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
            yield from _block(block, kind)
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            yield AgentTurn(kind=TurnKind.CALL, tool=str(function.get("name", "")), text=str(function.get("arguments", "")))


def _block(block: Any, kind: TurnKind) -> Iterator[AgentTurn]:
    match block.get("type") if isinstance(block, dict) else None:
        case "text":
            if block.get("text"):
                yield AgentTurn(kind=kind, text=str(block["text"]))
        case "tool_use":
            yield AgentTurn(kind=TurnKind.CALL, tool=str(block.get("name", "")), text=_json(block.get("input")))
        case "tool_result":
            yield AgentTurn(kind=TurnKind.RESULT, text=_words(block.get("content")))


def _responses(items: Iterable[Any]) -> Iterator[AgentTurn]:
    for item in items:
        if not isinstance(item, dict) or item.get("role") in ("system", "developer"):
            continue
        kind = str(item.get("type") or "message")
        if kind == "message":
            by = TurnKind.ASSISTANT if item.get("role") == "assistant" else TurnKind.USER
            yield AgentTurn(kind=by, text=_words(item.get("content")))
        elif kind.endswith("_call"):
            given = next((item[key] for key in ("arguments", "input", "action") if key in item), "")
            text = given if isinstance(given, str) else _json(given)
            yield AgentTurn(kind=TurnKind.CALL, tool=str(item.get("name", kind)), text=text)
        elif kind.endswith("_call_output"):
            yield AgentTurn(kind=TurnKind.RESULT, text=_words(item.get("output")))


def _gemini(contents: Iterable[Any]) -> Iterator[AgentTurn]:
    for content in contents:
        kind = TurnKind.ASSISTANT if content.get("role") == "model" else TurnKind.USER
        for part in content.get("parts") or ():
            if call := part.get("functionCall"):
                yield AgentTurn(kind=TurnKind.CALL, tool=str(call.get("name", "")), text=_json(call.get("args")))
            elif result := part.get("functionResponse"):
                yield AgentTurn(kind=TurnKind.RESULT, text=_json(result.get("response")))
            elif part.get("text") and not part.get("thought"):
                yield AgentTurn(kind=kind, text=str(part["text"]))


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return _json(content) if content else ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _usages(answer: str) -> Iterator[Body]:
    lines = [line[5:] for line in answer.splitlines() if line.startswith("data:")]
    for text in lines or [answer]:
        try:
            document = json.loads(text)
        except ValueError:
            continue
        for part in (document, *(document.get(key) for key in ("message", "response"))) if isinstance(document, dict) else ():
            usage = (part.get("usage") or part.get("usageMetadata")) if isinstance(part, dict) else None
            if isinstance(usage, dict):
                yield usage


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
