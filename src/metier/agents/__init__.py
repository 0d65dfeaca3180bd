"""Agents that talk: versioned, with skills picked for every message, on any model that pydantic-ai knows.

engine = AgentEngine(session, model=ModelChoice(name="openai:gpt-5"))
async for event in engine.process("Chart the sales in sales.csv"): ...
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metier.models.providers import ModelChoice

    from .agent import Agent, AgentVersion
    from .conversations import ConversationStore, ConversationSummary, Turn
    from .engine import AgentEngine, Compaction, EngineOptions
    from .events import ModelUsage, TurnStatus
    from .prompt import Prompt
    from .slash_commands import SlashCommand, read_slash_commands
    from .store import AgentStore
    from .turn import TurnLimits

_EXPORTS = {
    "metier.agents.agent": ("Agent", "AgentVersion"),
    "metier.agents.conversations": ("ConversationSummary", "ConversationStore", "Turn"),
    "metier.agents.slash_commands": ("SlashCommand", "read_slash_commands"),
    "metier.agents.engine": ("AgentEngine", "Compaction", "EngineOptions"),
    "metier.agents.events": ("TurnStatus", "ModelUsage"),
    "metier.models.providers": ("ModelChoice",),
    "metier.agents.prompt": ("Prompt",),
    "metier.agents.store": ("AgentStore",),
    "metier.agents.turn": ("TurnLimits",),
}
__all__ = [
    "Agent",
    "AgentEngine",
    "AgentStore",
    "AgentVersion",
    "Compaction",
    "ConversationStore",
    "ConversationSummary",
    "EngineOptions",
    "ModelChoice",
    "ModelUsage",
    "Prompt",
    "SlashCommand",
    "Turn",
    "TurnLimits",
    "TurnStatus",
    "read_slash_commands",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
