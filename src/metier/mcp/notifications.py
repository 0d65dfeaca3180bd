"""Notifies clients that their lists have changed, in both versions of the protocol.

Before 2026-07-28 a client sends `initialized` once and then receives notifications on its connection. Since then it
subscribes to a stream, which the SDK's listen handler serves.
"""

from __future__ import annotations

from typing import Any

from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ToolsListChanged,
)

from .watcher import ListChanges

__all__ = ["ChangeNotifier"]


class ChangeNotifier:
    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._sessions: set[ServerSession] = set()
        self.listen = ListenHandler(self._bus)

    async def greeted(self, context: Any, _: Any) -> None:  # Any: the SDK's request context, and parameters that say nothing
        """Registers a client of the earlier protocol until its connection ends."""
        session: ServerSession = context.session
        self._sessions.add(session)
        # The SDK has no public way from a session to the end of its connection, and without one they would pile up.
        session._connection.exit_stack.callback(self._sessions.discard, session)  # noqa: SLF001

    async def __call__(self, changed: ListChanges) -> None:
        if changed.resources:
            await self._bus.publish(ResourcesListChanged())
        if changed.prompts:
            await self._bus.publish(PromptsListChanged())
        if changed.tools:
            await self._bus.publish(ToolsListChanged())
        for session in tuple(self._sessions):
            if changed.resources:
                await session.send_resource_list_changed()
            if changed.prompts:
                await session.send_prompt_list_changed()
            if changed.tools:
                await session.send_tool_list_changed()

    def close(self) -> None:
        self.listen.close()
