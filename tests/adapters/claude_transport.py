"""A Claude Code that plays a script: the other end of the SDK's control protocol, in this process and so in milliseconds.

It does what the real one does with MCP servers in the SDK's process: it lists their tools once, asks for permission, and
calls them. The real one is used where it is Claude Code's own tools that matter.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport

from metier.testing.model import ModelAnswer

# Any: messages of the protocol are JSON.


@dataclass(frozen=True)
class Turn:
    """A request that the model would have received."""

    system: str
    user: str
    tools: tuple[str, ...]
    results: tuple[str, ...]


class ScriptedModel:
    """The script, and what was asked, over all the conversations of a scenario."""

    def __init__(self, script: Sequence[ModelAnswer]) -> None:
        self.rest: Iterator[ModelAnswer] = iter(script)
        self.requests: list[Turn] = []

    def close(self) -> None: ...


class ScriptedClaude(Transport):
    def __init__(self, model: ScriptedModel, options: ClaudeAgentOptions) -> None:
        self._model, self._options = model, options
        self._out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._tools: list[str] = []
        self._instructions: list[str] = []
        self._results: list[str] = []

    async def connect(self) -> None: ...

    async def end_input(self) -> None: ...

    def is_ready(self) -> bool:
        return True

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._out.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._out.get()) is not None:
            yield message

    async def write(self, data: str) -> None:
        message = json.loads(data)
        match message["type"]:
            case "control_request":
                done = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                self._out.put_nowait({"type": "control_response", "response": done})
            case "control_response":
                response = message["response"]
                self._waiting.pop(response["request_id"]).set_result(response)
            case "user":
                task = asyncio.create_task(self._turn(message["message"]["content"]))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _turn(self, user: str) -> None:
        if not self._instructions:
            await self._meet()
        while True:
            system = "\n".join([str(self._options.system_prompt), *filter(None, self._instructions)])
            self._model.requests.append(Turn(system, user, tuple(self._tools), tuple(self._results)))
            said = next(self._model.rest)
            uses = [
                {"type": "tool_use", "id": call.id, "name": call.tool, "input": json.loads(call.json)} for call in said.calls
            ]
            text = [{"type": "text", "text": said.text}] if said.text else []
            if said.text and self._options.include_partial_messages:
                self._say(type="stream_event", uuid="u", event={"type": "content_block_delta", "delta": {"text": said.text}})
            self._say(type="assistant", message={"content": [*text, *uses], "model": "scripted"})
            if not uses:
                break
            self._results += [await self._use(use) for use in uses]
        numbers = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
        self._say(type="result", subtype="success", is_error=False, result=said.text, **numbers)

    async def _meet(self) -> None:
        servers = self._options.mcp_servers
        assert isinstance(servers, dict)
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "scripted", "version": "1"}}
        for name in servers:
            hello = await self._rpc(name, "initialize", client)
            self._instructions.append(hello.get("instructions") or "")
            await self._ask(
                {
                    "subtype": "mcp_message",
                    "server_name": name,
                    "message": {"jsonrpc": "2.0", "method": "notifications/initialized"},
                }
            )
            listed = await self._rpc(name, "tools/list", {})
            self._tools += [f"mcp__{name}__{tool['name']}" for tool in listed["tools"]]

    async def _use(self, use: dict[str, Any]) -> str:
        _, server, tool = use["name"].split("__", 2)
        if not any(use["name"].startswith(allowed) for allowed in self._options.allowed_tools):
            request = {"subtype": "can_use_tool", "tool_name": use["name"], "input": use["input"], "tool_use_id": use["id"]}
            answer = await self._ask(request)
            if answer["response"]["behavior"] != "allow":
                return str(answer["response"]["message"])
        result = await self._rpc(server, "tools/call", {"name": tool, "arguments": use["input"]})
        return "".join(part["text"] for part in result["content"])

    async def _rpc(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self._ask({"subtype": "mcp_message", "server_name": server, "message": message})
        result: dict[str, Any] = answer["response"]["mcp_response"]["result"]
        return result

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        number = f"cli_{len(self._waiting)}_{self._out.qsize()}_{id(request)}"
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._out.put_nowait({"type": "control_request", "request_id": number, "request": request})
        answer: dict[str, Any] = await self._waiting[number]
        assert answer["subtype"] == "success", answer
        return answer

    def _say(self, **message: Any) -> None:
        self._out.put_nowait({"session_id": "scripted", "parent_tool_use_id": None, **message})
