"""`metier skill learn`: drafts a skill from a session of an agent, or from one of metier's own conversations."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from metier.agents import SessionRecord, SkillDraft, conversation_events, draft_skill, record_session
from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.editor import edit_file
from metier.cli.core.models import run_with_model
from metier.cli.core.period import agent_option
from metier.cli.core.questions import can_ask
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, shorten
from metier.errors import AmbiguousError, ConflictError, NotFoundError, UsageError
from metier.hosts.transcripts import TranscriptFile, transcript_events
from metier.sources import DiskFiles, write_skill_folder
from metier.spec import SKILL_FILE, SkillName, Verdict, check
from metier.values import replace

from . import create_wizard
from .create import created_result, new_skill_folder

__all__ = ["learn"]

_MOST_TRIED = 200


@command("skill", "learn")
@click.argument("session", required=False)
@click.option("--last", is_flag=True, help="The newest session that has a request.")
@agent_option
@click.option("--name", help="Name of the skill.  [default: from the first request]")
@click.option("-d", "--description", help="What it does and when to use it.")
@click.option("--offline", is_flag=True, help="Write an outline without a model.")
@click.option("--edit", is_flag=True, help="Open it in $EDITOR.")
@click.option("--project", is_flag=True, help="Create it in this project's .metier/skills.")
@click.option("--dir", "parent", type=click.Path(), help="Create it in this folder.")
def learn(
    app: App, *, session: str | None, last: bool, agents: tuple[str, ...], name: str | None, description: str | None,
    offline: bool, edit: bool, project: bool, parent: str | None,
) -> Result:  # fmt: skip
    """Draft a skill from a session: its steps, commands, files and the corrections that you made.

    SESSION is the id, or its beginning, of a session of Claude Code, Codex, Gemini CLI or opencode, or of a conversation with
    metier. The model of your settings writes the draft; without one there is an outline. Secrets in commands are masked
    before anything is written or sent.
    """
    if last == bool(session):
        raise UsageError("name a session, or use --last", hint="write: metier skill learn --last")
    source, record = _last_session(app, agents) if session is None else _named_session(app, session, agents)
    if not record.requests:
        raise UsageError(f"the session {source} has no request of a user", hint="name another session, or use --last")
    skill = SkillName(name or _ask_name(record))
    project = project or (
        not parent and name is None and can_ask()
        and create_wizard.ask_place(shorten(app.installation.user_dir, app.paths.user_home))
    )  # fmt: skip
    folder = new_skill_folder(app, skill, project=project, parent=parent)
    if os.path.lexists(folder):
        raise ConflictError(f"{folder} already exists", hint="choose another name with --name, or delete it first")
    model = None if offline else app.conversations.model()
    draft = run_with_model(model, lambda client: draft_skill(record, skill, client, description=description or ""))
    write_skill_folder(
        folder, {SKILL_FILE: draft.data}, inside=app.paths.inside(folder) if project or parent else None
    )  # fmt: skip
    if edit:
        edit_file(os.path.join(folder, SKILL_FILE), app.environment)
    return _result(app, skill, folder, draft, record, source, is_elsewhere=bool(parent))


def _result(
    app: App, skill: SkillName, folder: str, draft: SkillDraft, record: SessionRecord, source: str, *, is_elsewhere: bool
) -> Result:
    usable = check(DiskFiles(folder), folder=skill.text, verdict=Verdict.LENIENT).ok
    target = os.path.relpath(folder, app.folder) if is_elsewhere else skill.text
    report = check(DiskFiles(folder), folder=skill.text)
    created = created_result(skill, folder, report, usable=usable, target=target, home=app.paths.user_home)

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from created.lines(terminal)
        how = f"{draft.model} wrote the draft" if draft.model else "An outline without a model"
        yield f"{one_line(how)}, from {one_line(source)}. Check before you use it:"
        yield from (f"  - {one_line(text)}" for text in draft.checks)

    data = {
        **created.data, "session": source, "model": draft.model or None, "checks": list(draft.checks), "record": record.data(),
    }  # fmt: skip
    return replace(created, data=data, lines=lines, notes=(draft.note,) if draft.note else ())


def _ask_name(record: SessionRecord) -> str:
    suggested = record.suggested_name()
    return create_wizard.ask_name(suggested) if can_ask() else suggested


def _named_session(app: App, typed: str, agents: tuple[str, ...]) -> tuple[str, SessionRecord]:
    found = app.transcripts.find(typed, agents) if app.transcripts.is_enabled else []
    own = None if agents else app.conversations.store.complete_id(typed)
    if len(found) + bool(own) > 1:
        names = ", ".join(f"{one.agent} {os.path.basename(one.session or one.path)}" for one in found[:5])
        raise AmbiguousError(f"several sessions begin with {typed!r}: {names}", hint="type more of the id, or add --agent")
    if own:
        return f"conversation {own}", record_session(conversation_events(app.conversations.store.turns(own)))
    if not found:
        raise NotFoundError(f"there is no session {typed!r}", hint="`metier skill learn --last` takes the newest one")
    return _name_of(found[0]), record_session(transcript_events(found[0]))


def _last_session(app: App, agents: tuple[str, ...]) -> tuple[str, SessionRecord]:
    files = app.transcripts.files(agents)[:_MOST_TRIED] if app.transcripts.is_enabled else []
    recent = () if agents else app.conversations.store.recent(1)
    for file in files:
        if recent and recent[0].updated.timestamp() > file.changed:
            break
        record = record_session(transcript_events(file))
        if record.requests:
            return _name_of(file), record
    if recent:
        own = recent[0].id
        return f"conversation {own}", record_session(conversation_events(app.conversations.store.turns(own)))
    raise NotFoundError("there is no session with a request", hint="work with an agent first, or run `metier chat`")


def _name_of(file: TranscriptFile) -> str:
    return f"{file.agent} session {file.session or os.path.basename(file.path).removesuffix('.jsonl')}"
