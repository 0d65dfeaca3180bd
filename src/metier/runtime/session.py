"""One conversation: which skills are active, since when and by whom; what they may read, run and bring along.

A session is synchronous where it only reads files and decides, and asynchronous where it runs something. Its state
lives in a store, so it can be left and gone on with, in another process too. What a model needs of it is `tools()`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from metier.catalog import Catalog, State
from metier.disclosure import Disclosure
from metier.disclosure import SkillInstructions as Shown
from metier.disclosure import render_active as active_block
from metier.errors import MetierError, RefusedError
from metier.selection import Match, Selection
from metier.selection import MatchDecision as Choice
from metier.spec import FileEntry, Skill
from metier.values import dataclass, replace

from . import events
from .activation import (
    ActivatedBy,
    Activation,
    ActivationMode,
    ActiveSkill,
    admit,
    deactivate,
    dependency_order,
    mark_used,
    remove_rows,
)
from .activation_rows import (
    ActivationRequest,
    checksum,
    make_activation,
    new_row,
    render_content,
    render_instructions,
    updated_row,
)
from .content import SkillContent
from .policy.permissions import PolicyDecision
from .script_run import Outcome
from .scripts.run_script import ScriptRequest, run_script
from .session_options import SessionOptions, SessionServices
from .skill_access import SkillAccess
from .store import SessionRows
from .tool_errors import NotActiveError
from .tools.session_tools import session_tools
from .tools.tool import CallRecord, Tool
from .tools.toolsets import SessionToolsets
from .usage import Usage, UsageMeter

__all__ = ["Session", "activated_by"]

_TRIGGERED = re.compile(r"\b(?:keyword|phrase|verb|pattern) '")


class Session:
    def __init__(
        self,
        catalog: Catalog,
        *,
        id: str | None = None,  # noqa: A002
        options: SessionOptions | None = None,
        services: SessionServices | None = None,
    ) -> None:
        self.id = id or uuid.uuid4().hex[:12]
        self.options = options or SessionOptions()
        self.services = services or SessionServices()
        self._meter = UsageMeter(self.services.store)
        self.toolsets = SessionToolsets(self.services.permissions, lambda name, error: self._refused(name, "Toolset", error))
        self._used: dict[str, None] = {}
        self.set_catalog(catalog)

    @property
    def active(self) -> tuple[ActiveSkill, ...]:
        """The active skills, the one longest unused first."""
        return tuple(sorted(self._rows(self.services.store.active(self.id)), key=lambda row: row.last_use))

    @property
    def active_names(self) -> tuple[str, ...]:
        return tuple(sorted(row.name for row in self.active))

    def active_skills(self) -> list[Skill]:
        """The active skills as they are on disk now; one that was deleted or broken meanwhile is left out."""
        found = []
        for name in self.active_names:
            try:
                found.append(self.skills.skill(name))
            except (MetierError, OSError):
                continue
        return found

    def set_catalog(self, catalog: Catalog) -> None:
        """Go on with another catalog, as after a change on disk. Skills that are no longer there are deactivated."""
        self.catalog = catalog
        self.skills = SkillAccess(catalog, self.services.remote_files)
        for entry in catalog.entries:
            if entry.state is State.SHADOWED:
                self.emit(
                    events.SkillShadowed(
                        session=self.id,
                        timestamp=self.services.clock(),
                        name=entry.name,
                        path=entry.location,
                        reason=entry.reason,
                    )
                )
        with self.services.store.edit(self.id) as draft:
            draft.active, gone = remove_rows(draft.active, [row for row in draft.active if not self._is_there(row)])
        self._left(gone, "gone")

    def tools(self) -> tuple[Tool, ...]:
        """What a model can call now. Ask again after every call: tools come and go with the skills."""
        return session_tools(self)

    def activate(
        self, name: str, *, by: ActivatedBy = ActivatedBy.USER, arguments: str = "",
        parameters: Mapping[str, object] | None = None, mode: ActivationMode | None = None, pinned: bool = False,
    ) -> Activation:  # fmt: skip
        """Make a skill active, with what it depends on. The `text` of the answer is exactly what a model gets."""
        asked = ActivationRequest(name=name, by=by, arguments=arguments, parameters=parameters or {}, mode=mode, pinned=pinned)
        try:
            return self._activate(asked)
        except MetierError as error:
            self._refused(name, "activate", error)
            raise

    def deactivate(self, name: str, *, by: ActivatedBy = ActivatedBy.USER) -> tuple[str, ...]:
        """Make a skill inactive; returns who left. A model cannot unload what the user pinned."""
        with self._changing() as draft:
            if by is ActivatedBy.MODEL and any(row.name == name and row.pinned for row in draft.active):
                raise RefusedError(f"{name!r} is pinned by the user", rule="pinned", hint="go on with it active")
            draft.active, gone = deactivate(draft.active, name)
        self._left(gone[:1], "asked")
        self._left(gone[1:], "unneeded")
        return tuple(row.name for row in gone)

    def end_turn(self) -> tuple[str, ...]:
        """Ephemeral skills leave, with what came only for them; returns their names."""
        with self._changing() as draft:
            rows = draft.active
            needed = {name for row in rows if row.mode is not ActivationMode.EPHEMERAL for name in row.dependencies}
            over = [row for row in rows if row.mode is ActivationMode.EPHEMERAL and not row.pinned and row.name not in needed]
            draft.active, gone = remove_rows(rows, over)
        self._left(gone, "turn")
        return tuple(row.name for row in gone)

    def clear(self) -> None:
        """Nothing is active any more, pinned or not, and the store forgets the session."""
        self._left(self.active, "cleared")
        self._meter.flush()
        self.services.store.clear(self.id)

    def close(self) -> None:
        """Write what was counted. The session can be gone on with later, by its id."""
        self._meter.flush()
        self.toolsets.unload_all()

    def content(self, name: str) -> str:
        """The text of an active skill again, as after a restart, or when a host has compacted its conversation."""
        return render_content(self.skills.skill(name), self.active_skill(name), self.options).text

    def prompt(self, tools: Sequence[Tool] | None = None, *, without: Container[str] = ()) -> Disclosure:
        """The active skills as a block of the system prompt, with their tools.

        `without` are those that the model was told about in another way; `tools` are what `tools()` gave, if that is known.
        """
        offered = self.tools() if tools is None else tools
        rows = {row.name: row for row in self.active}
        shown = [
            Shown(
                name=skill.name,
                description=skill.description,
                instructions=render_instructions(skill, rows[skill.name], self.options),
                tools=tuple((tool.name, tool.description) for tool in offered if tool.skill == skill.name),
            )
            for skill in sorted(self.active_skills(), key=lambda skill: (rows[skill.name].since, rows[skill.name].last_use))
            if skill.name not in without
        ]
        return active_block(shown, count=self.options.count)

    def select(self, query: str, limit: int | None = None) -> Selection:
        if self.services.selector is None:
            raise RefusedError("this session has no selector", rule="no-selector", hint="give its Host one")
        selection = self.services.selector.select(query, limit, recent=[row.folder for row in self.active])
        names = tuple(match.name for match in selection.selected if match.decision is not Choice.NOTHING)
        self.emit(
            events.SkillsSelected(
                session=self.id, timestamp=self.services.clock(), names=names, considered=selection.considered, query=query
            )
        )
        return selection

    def activate_for(self, query: str) -> tuple[Activation, ...]:
        """Select for a request and activate what is worth it."""
        return self.activate_selected(self.select(query))

    def activate_selected(self, selection: Selection) -> tuple[Activation, ...]:
        """Activate what is worth it, the best last, so that it is the last to leave."""
        worth = [match for match in selection.selected if match.decision is Choice.ACTIVATE]
        chosen = worth[: self.options.max_active]
        activated = []
        for match in reversed(chosen):
            try:
                activated.append(self.activate(match.name, by=activated_by(match)))
            except MetierError:
                # Nobody asked for it by name, so one that cannot be activated must not cost the others; it has been told.
                continue
        return tuple(activated)

    def resources(self, name: str, folder: str = "") -> tuple[FileEntry, ...]:
        """The skill's files besides its SKILL.md, or those of one folder such as `scripts`."""
        return self.skills.resources(name, folder)

    def read(self, name: str, path: str) -> bytes:
        """One file of a skill, through the one path gate."""
        data = self.skills.files(name).read(path, limit=self.options.resource_bytes)
        self.mark_used(name)
        self.emit(events.ResourceRead(session=self.id, timestamp=self.services.clock(), name=name, path=path, size=len(data)))
        return data

    async def run_script(
        self, name: str, script: str, arguments: Sequence[str] = (), *, stdin: str | bytes | None = None, network: bool = False,
        outputs: Sequence[str] = (), seconds: float | None = None,
    ) -> Outcome:  # fmt: skip
        """Run one script of a skill, confined; see `Launch`. Refused unless skill and policy both allow it."""
        wish = ScriptRequest(skill=name, script=script, arguments=tuple(arguments), stdin=stdin, network=network)
        return await run_script(self, replace(wish, outputs=tuple(outputs), seconds=seconds))

    @property
    def permissions(self) -> ToolPermissions:
        return ToolPermissions(self)

    @property
    def usage(self) -> Mapping[str, Usage]:
        """What this session has used, by skill; the empty name stands for what was about none."""
        self._meter.flush()
        total: dict[str, Usage] = {}
        for used in self.services.store.usage(self.id):
            total[used.skill] = total.get(used.skill, Usage()) + used.usage
        return total

    def active_skill(self, name: str) -> ActiveSkill:
        """The active skill of that name, or NotActive."""
        for row in self.active:
            if row.name == name:
                return row
        raise NotActiveError(name, active=self.active_names)

    def mark_used(self, name: str) -> None:
        """It was used just now. Kept here until the next change, so that reading a file writes nothing."""
        self._used.pop(name, None)
        self._used[name] = None

    def emit(self, event: events.Event) -> None:
        self._meter(event)
        self.services.bus.emit(event)

    def record_call(self, called: CallRecord) -> None:
        """A tool was called."""
        self.emit(
            events.ToolCalled(
                session=self.id,
                timestamp=self.services.clock(),
                tool=called.tool,
                name=called.skill if called.skill in self.catalog else "",
                resource=called.resource,
                duration=called.duration,
                error=called.error,
            )
        )

    def load_toolsets(self, skill: Skill, *, ask: bool = False) -> tuple[str, ...]:
        return self.toolsets.load(skill, self.skills.requester(skill), ask=ask)

    @contextmanager
    def _changing(self) -> Iterator[SessionRows]:
        """The store's rows, alone with them, with what was used since the last change already noted in them."""
        noted = tuple(self._used)
        with self.services.store.edit(self.id) as draft:
            draft.active = self._rows(draft.active)
            yield draft
        for name in noted:
            self._used.pop(name, None)

    def _rows(self, rows: tuple[ActiveSkill, ...]) -> tuple[ActiveSkill, ...]:
        for name in tuple(self._used):
            rows = mark_used(rows, name)
        return rows

    def _is_there(self, row: ActiveSkill) -> bool:
        entry = self.catalog.get(row.name)
        return entry is not None and entry.state is State.ENABLED and entry.folder == row.folder

    def _activate(self, asked: ActivationRequest) -> Activation:
        self.skills.entry(asked.name, asked.by)
        skills = {each: self.skills.skill(each) for each in dependency_order(asked.name, self.skills.dependencies)}
        # Looked up before the store is ours alone: counting is a write of its own.
        used = dict(self.usage) if self.options.budgets.any else {}
        contents: dict[str, SkillContent] = {}
        with self._changing() as draft:
            rows = draft.active
            present = {row.name: row for row in rows}
            coming = [self._coming(skill, present.get(each), asked, contents) for each, skill in skills.items()]
            if contents:
                tokens = sum(content.tokens for content in contents.values())
                self.options.budgets.check(asked.name, used, Usage(activations=len(contents), tokens=tokens))
            kept, evicted = admit(rows, coming, self.options.max_active)
            draft.active = mark_used(kept, asked.name)
        self._left(evicted, "limit")
        for row in coming:
            self._announce(row, skills[row.name], contents.get(row.name))
        warnings = tuple(problem for skill in skills.values() for problem in self.load_toolsets(skill, ask=True))
        arrived = tuple(row.name for row in coming[:-1] if row.name not in present)
        return replace(make_activation(coming[-1], contents, evicted), dependencies=arrived, warnings=warnings)

    def _coming(
        self, skill: Skill, present: ActiveSkill | None, asked: ActivationRequest, contents: dict[str, SkillContent]
    ) -> ActiveSkill:
        """The row that a skill will have, and in `contents` its text, if the model has not had that yet."""
        if present is None:
            row = new_row(skill, self.skills.entry(skill.name).folder, asked, self.options, self.services.clock())
        else:
            row = updated_row(skill, present, asked, self.options)
            if row is present:
                return row
        content = render_content(skill, row, self.options)
        told = checksum(content)
        if told != row.content_checksum:
            contents[skill.name] = content
        return replace(row, content_checksum=told, tokens=content.tokens)

    def _announce(self, row: ActiveSkill, skill: Skill, content: SkillContent | None) -> None:
        if content is not None:
            self.emit(
                events.SkillActivated(
                    session=self.id,
                    timestamp=self.services.clock(),
                    name=row.name,
                    path=f"{row.folder}/SKILL.md",
                    by=row.by,
                    mode=row.mode,
                    tokens=content.tokens,
                    description=skill.description,
                )
            )

    def _refused(self, name: str, what: str, error: MetierError) -> None:
        rule = error.rule if isinstance(error, RefusedError) else error.code
        known = name if name in self.catalog else ""
        self.emit(events.ActionRefused(session=self.id, timestamp=self.services.clock(), name=known, what=what, rule=rule))

    def _left(self, gone: Iterable[ActiveSkill], reason: str) -> None:
        for row in gone:
            self._used.pop(row.name, None)
            self.toolsets.unload(row.name)
            self.emit(
                events.SkillDeactivated(
                    session=self.id,
                    timestamp=self.services.clock(),
                    name=row.name,
                    path=f"{row.folder}/SKILL.md",
                    reason=reason,
                )
            )


@dataclass(frozen=True, slots=True)
class ToolPermissions:
    """What the host asks before it runs a tool of its own."""

    session: Session

    def check(self, tool: str, argument: str = "") -> PolicyDecision:
        """Allow, ask or deny. `argument` is the command for a shell, else a path or a name."""
        requesters = [self.session.skills.requester(skill) for skill in self.session.active_skills()]
        return self.session.services.permissions.check(tool, argument, skills=requesters)


def activated_by(match: Match) -> ActivatedBy:
    """Whose doing it is that a selected skill becomes active: the user's, who named it, a trigger's, or the ranker's."""
    if match.reason.startswith("named in the request"):
        return ActivatedBy.USER
    return ActivatedBy.TRIGGER if _TRIGGERED.search(match.reason) else ActivatedBy.RANKER
