"""Agents that talk: versioned, with skills picked for every message, on any model that pydantic-ai knows.

engine = AgentEngine(session, model=ModelChoice(name="openai:gpt-5"))
async for event in engine.process("Chart the sales in sales.csv"): ...
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .agent import Agent, Version
    from .chats import Chat, ChatRepository, Turn
    from .commands import Command, commands_in
    from .engine import AgentEngine, Compaction, Options
    from .events import Ending, Spent
    from .models import ModelChoice
    from .prompt import Prompt
    from .store import AgentStore
    from .turn import Limits

_EXPORTS = {
    "metier.agents.agent": ("Agent", "Version"),
    "metier.agents.chats": ("Chat", "ChatRepository", "Turn"),
    "metier.agents.commands": ("Command", "commands_in"),
    "metier.agents.engine": ("AgentEngine", "Compaction", "Options"),
    "metier.agents.events": ("Ending", "Spent"),
    "metier.agents.models": ("ModelChoice",),
    "metier.agents.prompt": ("Prompt",),
    "metier.agents.store": ("AgentStore",),
    "metier.agents.turn": ("Limits",),
}
__all__ = [
    "Agent",
    "AgentEngine",
    "AgentStore",
    "Chat",
    "ChatRepository",
    "Command",
    "Compaction",
    "Ending",
    "Limits",
    "ModelChoice",
    "Options",
    "Prompt",
    "Spent",
    "Turn",
    "Version",
    "commands_in",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
