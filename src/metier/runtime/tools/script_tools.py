"""Each script of an active skill as a tool of its own, and the outcome of a script as text for a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metier.disclosure import escape_output, escape_xml
from metier.errors import plural
from metier.runtime.network.connections import ConnectionDecision
from metier.runtime.script_run import Outcome, printable
from metier.runtime.scripts.run_script import ScriptRequest, run_script
from metier.runtime.scripts.script import SkillScript
from metier.spec import Json, Skill

from .tool import Tool, ToolReply, safe_description, safe_schema

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["connection_notes", "outcome_text", "script_tools"]

_MAX_OUTPUT = 60_000
"""Characters of an outcome that a model gets; `ToolReply.outcome` holds all of it."""

_MAX_CONNECTIONS = 20

_STOP_REASONS = {"time": "timed out", "cancel": "cancelled", "output": "printed too much", "memory": "used too much memory",
          "processes": "started too many processes", "scratch": "wrote too much"}  # fmt: skip


def script_tools(session: Session, skill: Skill) -> tuple[Tool, ...]:
    return tuple(_tool(session, skill.name, script) for script in session.scripts(skill) if not script.problem)


def _tool(session: Session, skill: str, script: SkillScript) -> Tool:
    async def call(arguments: dict[str, Json]) -> ToolReply:
        session.active_skill(skill)
        request = ScriptRequest(skill=skill, script=script.path, arguments=script.command_line.words(arguments))
        return script_reply(skill, script.path, await run_script(session, request))

    return Tool(
        name=script.tool_name,
        description=safe_description(script.description),
        schema=safe_schema(script.command_line.schema()),
        function=call,
        skill=skill,
        resource=script.path,
        follow=session.follow_call,
    )


def script_reply(skill: str, script: str, outcome: Outcome) -> ToolReply:
    return ToolReply(
        text=outcome_text(skill, script, outcome), ok=outcome.ok, code="" if outcome.ok else "script-failed", outcome=outcome
    )


def outcome_text(skill: str, script: str, outcome: Outcome) -> str:
    """Returns the outcome in an envelope that the output of the script can neither close nor imitate."""
    ended = (
        f"exit code {outcome.exit_code}" if outcome.exit_code is not None else _STOP_REASONS.get(outcome.stop_reason, "stopped")
    )
    head = f'<script_result skill="{escape_xml(skill)}" script="{escape_xml(script)}" ended="{ended}" untrusted="true">'
    parts = [head]
    for name, text, cut in (
        ("stdout", outcome.stdout, outcome.stdout_truncated),
        ("stderr", outcome.stderr, outcome.stderr_truncated),
    ):
        if text or cut:
            parts += [f"<{name}>", _cut(escape_output(printable(text)), cut), f"</{name}>"]
    parts += [f"<file>{escape_xml(file.path)} ({plural(len(file.data), 'byte')})</file>" for file in outcome.files]
    parts += [f"[{escape_xml(path)} was not returned: {escape_xml(why)}]" for path, why in outcome.refused_files]
    parts += [f"[{escape_xml(each)}]" for each in connection_notes(outcome)]
    parts += [f"[{escape_xml(note)}]" for note in outcome.notes] if not outcome.ok else []
    return "\n".join([*parts, "</script_result>"])


def connection_notes(outcome: Outcome) -> Iterator[str]:
    """Yields one sentence for each connection that was refused, and for each placeholder that was sent elsewhere."""
    seen: set[str] = set()
    for each in outcome.connections:
        refused = each.decision is ConnectionDecision.REFUSED
        if (refused or each.note) and len(seen) < _MAX_CONNECTIONS:
            text = f"{'no connection to ' if refused else ''}{each.host}:{each.port}: {each.note}"
            if text not in seen:
                seen.add(text)
                yield text


def _cut(text: str, is_truncated: bool) -> str:
    text = text.rstrip("\n")
    if len(text) <= _MAX_OUTPUT and not is_truncated:
        return text
    return f"{text[:_MAX_OUTPUT]}\n[cut here: the output was longer]"
