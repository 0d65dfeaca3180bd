"""A turn as one row of JSON, built from its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from metier.agents import TurnFinished, events
from metier.runtime import ActionRefused, Event, SkillActivated, SkillDeactivated, SkillsChanged
from metier.selection import Match, install_command

__all__ = ["Listener", "TurnRecord", "change_lines", "match_row"]

Listener = Callable[[Event], None]


class TurnRecord:
    """Collects the events of one turn."""

    def __init__(self, message: str) -> None:
        self.row: dict[str, Any] = {
            "message": message, "answer": "", "status": "", "reason": "", "hint": "", "changed": None, "selected": [],
            "available": [],
            "activated": [], "refused": [], "deactivated": [], "active": [], "prompt": None, "tools": [], "retries": 0,
            "compacted": 0, "warnings": [], "usage": None,
        }  # fmt: skip

    def __call__(self, event: Event) -> None:
        row = self.row
        match event:
            case events.SkillsMatched(selection=selection):
                row["selected"] = [match_row(match) for match in selection.selected]
                row["available"] = [match_row(match) | {"install": install_command(match)} for match in selection.available]
            case SkillActivated(name=name, by=by, tokens=tokens):
                row["activated"].append({"name": name, "by": by, "tokens": tokens})
            case SkillDeactivated(name=name, reason=reason):
                row["deactivated"].append({"name": name, "reason": reason})
            case SkillsChanged():
                row["changed"] = {name: list(getattr(event, name)) for name in ("added", "changed", "removed")}
                row["changed"]["invalid"] = [{"name": name, "reason": reason} for name, reason in event.invalid]
            case ActionRefused(name=name, what=what, rule=rule, reason=reason):
                row["refused"].append({"name": name, "what": what, "rule": rule, "reason": reason})
            case events.PromptBuilt(prompt=prompt):
                # The same keys in every document: a part without text costs nothing.
                parts = {"base": 0, "catalog": 0, "active": 0, **{part.name: part.tokens for part in prompt.parts}}
                row["prompt"] = {"tokens": prompt.tokens, **parts, "tools": prompt.tool_tokens, "text": prompt.text}
            case events.ToolCallStarted(id=id_, tool=tool, arguments=arguments):
                row["tools"].append({"id": id_, "tool": tool, "arguments": arguments})
            case events.ToolCallFinished():
                self._end_call(event)
            case events.ModelRetried():
                row["retries"] += 1
            case events.HistoryCompacted(turns=turns):
                row["compacted"] += turns
            case events.WarningIssued(message=message):
                row["warnings"].append(message)
            case TurnFinished():
                row |= {"answer": event.answer, "status": event.status, "reason": event.reason, "hint": event.hint}
                row |= {"active": list(event.active), "usage": asdict(event.usage)}

    @property
    def notes(self) -> list[str]:
        """The sentences for a user who sees only the answer."""
        refused = [each for each in self.row["refused"] if each["what"] == "activate"]
        return [*self.row["warnings"], *(f"{each['name']} was not activated: {each['reason']}" for each in refused)]

    def _end_call(self, event: events.ToolCallFinished) -> None:
        for call in self.row["tools"]:
            if call["id"] == event.id and "ok" not in call:
                call |= {"ok": event.ok, "code": event.code, "text": event.text, "level": event.level}
                call["duration"] = round(event.duration, 4)
                return


def change_lines(event: SkillsChanged) -> list[str]:
    """A sentence for each kind of change on disk."""
    groups = {"new": event.added, "changed": event.changed, "removed": event.removed}
    lines = [f"{kind} on disk: {', '.join(names)}" for kind, names in groups.items() if names]
    return lines + [f"{name} cannot be used any more: {reason}" for name, reason in event.invalid]


def match_row(match: Match) -> dict[str, Any]:
    return {"name": match.name, "confidence": round(match.confidence, 4), "decision": match.decision, "reason": match.reason}
