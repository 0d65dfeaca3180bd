"""Transcripts that other agents keep on this machine: the user's requests, the skills that were loaded, and tokens.

The formats are those of the versions that the tests run; see tests/hosts/test_transcripts_of_real_agents.py. Everything in a
transcript is untrusted text.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import (
        BadRecord,
        FailedLoad,
        LoadedBy,
        ModelText,
        SessionFacts,
        SkillListing,
        SkillLoad,
        StepKind,
        TokenCount,
        ToolStep,
        TranscriptEvent,
        UserRequest,
    )
    from .places import TRANSCRIPT_AGENTS, has_transcripts, transcript_place
    from .readers import TranscriptFile, find_transcripts, transcript_events
    from .summary import Transcript, summarize_transcript
    from .usage import AgentSessions, SkillLoads, TranscriptUsage, summarize_loads

__all__ = [
    "TRANSCRIPT_AGENTS",
    "AgentSessions",
    "BadRecord",
    "FailedLoad",
    "LoadedBy",
    "ModelText",
    "SessionFacts",
    "SkillListing",
    "SkillLoad",
    "SkillLoads",
    "StepKind",
    "TokenCount",
    "ToolStep",
    "Transcript",
    "TranscriptEvent",
    "TranscriptFile",
    "TranscriptUsage",
    "UserRequest",
    "find_transcripts",
    "has_transcripts",
    "summarize_loads",
    "summarize_transcript",
    "transcript_events",
    "transcript_place",
]

if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.hosts.transcripts.events": (
                "BadRecord",
                "FailedLoad",
                "LoadedBy",
                "ModelText",
                "SessionFacts",
                "SkillListing",
                "SkillLoad",
                "StepKind",
                "TokenCount",
                "ToolStep",
                "TranscriptEvent",
                "UserRequest",
            ),
            "metier.hosts.transcripts.places": ("TRANSCRIPT_AGENTS", "has_transcripts", "transcript_place"),
            "metier.hosts.transcripts.readers": ("TranscriptFile", "find_transcripts", "transcript_events"),
            "metier.hosts.transcripts.summary": ("Transcript", "summarize_transcript"),
            "metier.hosts.transcripts.usage": ("AgentSessions", "SkillLoads", "TranscriptUsage", "summarize_loads"),
        },
    )
