"""The chat completions API over HTTP: OpenAI's, and that of nearly every other server (vLLM, Ollama, LiteLLM, gateways).

It is the one protocol that we speak ourselves. Importing pydantic-ai and OpenAI's client takes four times as long as the rest
of `metier run`; this takes the HTTP client alone (see ADR 12).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from metier.runtime import Tool

from .choice import ModelChoice
from .completion_stream import CompletionStream, read_completion
from .failures import FailureKind, ModelFailure
from .query import Delta, ModelQuery
from .transcript import MessagePart, PartKind, TranscriptMessage

if TYPE_CHECKING:
    import httpx2

__all__ = ["ChatCompletionsClient"]

# Any, in this module: JSON.
_CONNECT_SECONDS = 5.0
_SECONDS = 600.0
"""Models may think for minutes before the first word."""
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted"})
_TOO_LONG = re.compile(
    r"maximum context length|reduce the length of the messages|exceeds? the (?:available )?context", re.IGNORECASE
)
_STATUS_KINDS = {
    400: FailureKind.REJECTED, 401: FailureKind.KEY, 402: FailureKind.QUOTA, 403: FailureKind.KEY, 404: FailureKind.MODEL,
    422: FailureKind.REJECTED, 429: FailureKind.RATE,
}  # fmt: skip


class ChatCompletionsClient:
    """One model on one server. The connections are opened by the first request."""

    def __init__(self, choice: ModelChoice, model: str, *, provider: str) -> None:
        self._base = choice.base_url
        self._key = choice.key or "none"
        self._model = model
        self._provider = provider
        self._http: httpx2.AsyncClient | None = None

    @property
    def provider(self) -> str:
        return self._provider

    async def send(self, query: ModelQuery) -> TranscriptMessage:
        import httpx2

        body = self._body(query)
        try:
            response = await self._client().post("chat/completions", json=body, timeout=_timeout(query))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from error
        return self._read(response)

    async def stream(self, query: ModelQuery) -> AsyncGenerator[Delta | TranscriptMessage, None]:
        import httpx2

        body = {**self._body(query), "stream": True, "stream_options": {"include_usage": True}}
        answer = CompletionStream(self._provider)
        try:
            async with self._client().stream("POST", "chat/completions", json=body, timeout=_timeout(query)) as response:
                kind = response.headers.get("content-type", "")
                if response.status_code >= 400 or "json" in kind or "html" in kind:
                    # Some servers cannot stream, and send the whole answer.
                    await response.aread()
                    whole = self._read(response)
                    for part in whole.parts:
                        if part.content:
                            yield Delta(part.content, thinking=part.kind == PartKind.THINKING)
                    yield whole
                    return
                async for line in response.aiter_lines():
                    # To the end, so that the connection can be used again.
                    for delta in answer.read_line(line):
                        yield delta
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from error
        yield answer.message()

    async def close(self) -> None:
        client, self._http = self._http, None
        if client is not None:
            await client.aclose()

    def _read(self, response: httpx2.Response) -> TranscriptMessage:
        if response.status_code >= 400:
            raise _refused(response.status_code, response.headers, response.text)
        try:
            return read_completion(response.json(), provider=self._provider)
        except ValueError as error:
            raise ModelFailure(FailureKind.UNREADABLE, f"it is not JSON: {response.text[:80]}") from error

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            import httpx2

            headers = {"authorization": f"Bearer {self._key}", "user-agent": "metier"}
            self._http = httpx2.AsyncClient(base_url=self._base, headers=headers, follow_redirects=True)
        return self._http

    def _body(self, query: ModelQuery) -> dict[str, Any]:
        system = "\n\n".join(each.text for each in query.instructions)
        messages = [{"role": "system", "content": system}] if system else []
        for message in query.messages:
            messages += [_answer(message)] if message.is_answer else [_part(part) for part in message.parts]
        tools = [_tool(tool) for tool in query.tools]
        return {"model": self._model, "messages": messages, **({"tools": tools, "tool_choice": "auto"} if tools else {})}

    def _unreachable(self, error: Exception) -> ModelFailure:
        import httpx2

        # A refused connection, an unknown host name and a silent address stay so for the next seconds.
        lasting = isinstance(
            error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol | httpx2.InvalidURL
        )
        timed_out = "no answer in time" if isinstance(error, httpx2.TimeoutException) else ""
        return ModelFailure(
            FailureKind.CONNECTION, f"{timed_out or str(error) or type(error).__name__} ({self._base})", temporary=not lasting
        )


def _timeout(query: ModelQuery) -> httpx2.Timeout:
    import httpx2

    seconds = query.seconds or _SECONDS
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


def _part(part: MessagePart) -> dict[str, Any]:
    content = part.more.get("content", part.content)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if part.kind == PartKind.TOOL_RETURN:
        return {"role": "tool", "tool_call_id": part.call_id, "content": text}
    return {"role": "system" if part.kind == PartKind.SYSTEM else "user", "content": text}


def _answer(message: TranscriptMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.calls else "")}
    if message.calls:
        body["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments or "{}"}}
            for call in message.calls
        ]
    for part in message.parts:
        # Some models need their reasoning back while they use tools. The id is the field in which it came.
        if part.kind == PartKind.THINKING and part.more.get("id") in ("reasoning_content", "reasoning"):
            body[part.more["id"]] = part.content
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def _refused(status: int, headers: httpx2.Headers, text: str) -> ModelFailure:
    """Reads an answer with an error status: the provider's own message, and how long it asks us to wait."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    error = body.get("error", body) if isinstance(body, dict) else body
    error = error if isinstance(error, dict) else {"message": error if isinstance(error, str) else ""}
    message, code = str(error.get("message") or text.strip() or f"status {status}"), str(error.get("code") or error.get("type"))
    kind = _STATUS_KINDS.get(status, FailureKind.OTHER)
    if code in _QUOTA_CODES:
        kind = FailureKind.QUOTA
    elif code == "context_length_exceeded" or (kind is FailureKind.REJECTED and _TOO_LONG.search(message)):
        kind = FailureKind.CONTEXT
    elif code in ("model_not_found", "invalid_api_key"):
        kind = FailureKind.MODEL if code == "model_not_found" else FailureKind.KEY
    wait = headers.get("retry-after", "")
    return ModelFailure(kind, message, retry_after=float(wait) if re.fullmatch(r"\d+(\.\d+)?", wait) else None)
