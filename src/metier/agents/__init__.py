"""Versioned agents, and the engine that runs their conversations with skills selected for every message.

engine = AgentEngine(session, model=ModelChoice(name="openai:gpt-5"))
async for event in engine.process("Chart the sales in sales.csv"): ...
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .agent import (
        Agent,
        AgentVersion,
        diff_versions,
        fill_instructions,
        parse_export,
        parse_version,
        rename_agent,
        render_export,
        render_version,
    )
    from .conversations import (
        ConversationMatch,
        ConversationStore,
        ConversationSummary,
        SqlConversationStore,
        Turn,
        to_markdown,
    )
    from .engine import AgentEngine, Compaction, EngineOptions
    from .events import (
        AnswerText,
        HistoryCompacted,
        ModelRetried,
        ModelUsage,
        PromptBuilt,
        SkillsMatched,
        ThinkingText,
        ToolCallFinished,
        ToolCallStarted,
        TurnFinished,
        TurnStarted,
        TurnStatus,
        WarningIssued,
    )
    from .prompt import BASE_INSTRUCTIONS, Prompt, PromptPart
    from .session_draft import SessionRecord, SkillDraft, conversation_events, draft_skill, outline_skill, record_session
    from .slash_commands import SlashCommand, read_slash_commands
    from .store import AgentStore
    from .turn import TurnLimits

_EXPORTS = {
    "metier.agents.agent": (
        "Agent",
        "AgentVersion",
        "diff_versions",
        "fill_instructions",
        "parse_export",
        "parse_version",
        "rename_agent",
        "render_export",
        "render_version",
    ),
    "metier.agents.conversations": (
        "ConversationMatch",
        "ConversationStore",
        "ConversationSummary",
        "SqlConversationStore",
        "Turn",
        "to_markdown",
    ),
    "metier.agents.engine": (
        "AgentEngine",
        "Compaction",
        "EngineOptions",
    ),
    "metier.agents.events": (
        "AnswerText",
        "HistoryCompacted",
        "ModelRetried",
        "ModelUsage",
        "PromptBuilt",
        "SkillsMatched",
        "ThinkingText",
        "ToolCallFinished",
        "ToolCallStarted",
        "TurnFinished",
        "TurnStarted",
        "TurnStatus",
        "WarningIssued",
    ),
    "metier.agents.prompt": (
        "BASE_INSTRUCTIONS",
        "Prompt",
        "PromptPart",
    ),
    "metier.agents.session_draft": (
        "SessionRecord",
        "SkillDraft",
        "conversation_events",
        "draft_skill",
        "outline_skill",
        "record_session",
    ),
    "metier.agents.slash_commands": (
        "SlashCommand",
        "read_slash_commands",
    ),
    "metier.agents.store": ("AgentStore",),
    "metier.agents.turn": ("TurnLimits",),
}
__all__ = [
    "BASE_INSTRUCTIONS",
    "Agent",
    "AgentEngine",
    "AgentStore",
    "AgentVersion",
    "AnswerText",
    "Compaction",
    "ConversationMatch",
    "ConversationStore",
    "ConversationSummary",
    "EngineOptions",
    "HistoryCompacted",
    "ModelRetried",
    "ModelUsage",
    "Prompt",
    "PromptBuilt",
    "PromptPart",
    "SessionRecord",
    "SkillDraft",
    "SkillsMatched",
    "SlashCommand",
    "SqlConversationStore",
    "ThinkingText",
    "ToolCallFinished",
    "ToolCallStarted",
    "Turn",
    "TurnFinished",
    "TurnLimits",
    "TurnStarted",
    "TurnStatus",
    "WarningIssued",
    "conversation_events",
    "diff_versions",
    "draft_skill",
    "fill_instructions",
    "outline_skill",
    "parse_export",
    "parse_version",
    "read_slash_commands",
    "record_session",
    "rename_agent",
    "render_export",
    "render_version",
    "to_markdown",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
