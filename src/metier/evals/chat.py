"""A model behind plain HTTP: whatever speaks OpenAI's chat completions, which by now is nearly everything.

No SDK: three fields of the answer are read, and evals must not depend on what agents are built with.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from metier.errors import MetierError, UnavailableError
from metier.runtime import Tool

if TYPE_CHECKING:
    import httpx2

__all__ = ["Answer", "Call", "Chat", "Endpoint", "HttpChat", "endpoint"]

Message = Mapping[str, Any]  # Any: JSON, in the wire's own shape
_PROVIDERS = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openai-chat": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "ollama": ("http://localhost:11434/v1", ""),
}
"""Where each speaks chat completions, and the variable of its key; a local one needs none."""
_TRIES = 4
_LONGEST_WAIT = 20.0
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. `arguments` is None where the model wrote something that is no JSON object."""

    id: str
    tool: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens: int = 0
    """Of the request and the answer together, as the server counted."""
    message: Message
    """As it came, to be sent back with the next request."""


class Chat(Protocol):
    name: str

    async def __call__(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Answer:
        """One turn of the model. Unavailable when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a model is, what it is called there, and the key."""

    model: str
    base_url: str
    key: str = ""


def endpoint(name: str, *, base_url: str = "", key_variable: str = "", environment: Mapping[str, str]) -> Endpoint:
    """The endpoint of `openai:NAME`, `anthropic:NAME`, `ollama:NAME`, or any NAME that the server at `base_url` knows."""
    provider, _, rest = name.partition(":")
    known = provider in _PROVIDERS and bool(rest)
    if not known and not base_url:
        raise UnavailableError(
            f"nobody said where the model {name!r} is",
            hint="write openai:NAME, anthropic:NAME or ollama:NAME, or set model.base_url",
            retryable=False,
        )
    usual_url, usual_variable = _PROVIDERS[provider if known else "openai"]
    variable = key_variable or usual_variable
    key = environment.get(variable, "")
    if variable and not key and not base_url:
        raise UnavailableError(
            f"the model {name!r} needs a key in {variable}, which is not set",
            hint=f"export {variable}=..., or set model.base_url to a server that needs none",
            retryable=False,
        )
    return Endpoint(model=rest if known else name, base_url=(base_url or usual_url).rstrip("/"), key=key)


class HttpChat:
    """Use it with `async with`: it holds a pool of connections."""

    def __init__(self, where: Endpoint, *, seconds: float = 120.0, pause: float = 0.5) -> None:
        self.name = where.model
        self._where = where
        self._seconds = seconds
        self._pause = pause
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        import httpx2  # 90 ms that only a model should cost

        headers = {"authorization": f"Bearer {self._where.key}"} if self._where.key else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=self._seconds)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def __call__(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Answer:
        body: dict[str, Any] = {"model": self._where.model, "messages": list(messages)}
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": each.name, "description": each.description, "parameters": each.schema},
                }
                for each in tools
            ]
        for attempt in range(_TRIES):
            answer, wait = await self._asked(body, last=attempt == _TRIES - 1)
            if answer is not None:
                return answer
            await asyncio.sleep(min(_LONGEST_WAIT, wait if wait is not None else self._pause * 2**attempt))
        raise AssertionError("the last attempt answers or raises")

    async def _asked(self, body: dict[str, Any], *, last: bool) -> tuple[Answer | None, float | None]:
        """The answer; or None and how long to wait, where another try may help."""
        import httpx2

        if self._client is None:
            raise AssertionError("used outside `async with`")
        where = f"the model at {self._where.base_url}"
        try:
            response = await self._client.post(f"{self._where.base_url}/chat/completions", json=body)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            if last or isinstance(error, httpx2.ConnectError | httpx2.InvalidURL | httpx2.UnsupportedProtocol):
                why = str(error) or type(error).__name__
                raise UnavailableError(
                    f"{where} cannot be reached: {why}", hint="check model.base_url, and that it runs"
                ) from None
            return None, None
        if response.status_code in _AGAIN and not last:
            return None, _seconds(response.headers.get("retry-after"))
        if response.status_code != 200:
            raise _refusal(where, response.status_code, response.text)
        return _answer(where, response.content), None


def _answer(where: str, data: bytes) -> Answer:
    try:
        document = json.loads(data)
        message = document["choices"][0]["message"]
        calls = tuple(
            Call(str(call["id"]), str(call["function"]["name"]), _arguments(call["function"].get("arguments")))
            for call in message.get("tool_calls") or ()
        )
        tokens = int((document.get("usage") or {}).get("total_tokens") or 0)
        return Answer(text=str(message.get("content") or ""), calls=calls, tokens=tokens, message=message)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnavailableError(
            f"{where} answered something that is no chat completion", hint="check model.base_url; it usually ends with /v1"
        ) from None


def _arguments(text: object) -> dict[str, Any] | None:
    try:
        value = json.loads(text) if isinstance(text, str) and text.strip() else {}
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refusal(where: str, status: int, text: str) -> MetierError:
    try:
        said = str(json.loads(text)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        said = ""
    hint = {401: "check the key in the environment", 403: "check the key in the environment", 404: "check model.name"}
    told = f": {' '.join(said.split())[:200]}" if said else ""
    return UnavailableError(
        f"{where} answered {status}{told}", hint=hint.get(status, "try again later"), retryable=status in _AGAIN
    )


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
