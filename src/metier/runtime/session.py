"""One conversation with skills: activation, files, scripts, permissions and usage.

Methods that only read files and decide are synchronous; those that run something are asynchronous. The state is in a
store, so another process can resume the session by its id. `tools()` is the part that a model uses.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime

from metier.catalog import Catalog, State
from metier.disclosure import Disclosure
from metier.disclosure import SkillInstructions as Shown
from metier.disclosure import render_active as active_block
from metier.errors import MetierError, RefusedError
from metier.selection import Match, Selection
from metier.selection import MatchDecision as Choice
from metier.sources import CatalogChange, ChangeKind, diff_catalogs
from metier.spec import FileEntry, Skill
from metier.values import dataclass, replace

from . import events
from .activation import (
    ActivatedBy,
    Activation,
    ActivationMode,
    ActiveSkill,
    admit,
    check_versions,
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
from .operations import Operation
from .policy.permissions import PolicyDecision
from .script_run import Outcome
from .scripts.availability import checked_scripts, script_warnings
from .scripts.run_script import ScriptRequest, run_script
from .scripts.script import SkillScript
from .session_options import LazySelector, SessionOptions, SessionServices, SkillSelector
from .skill_access import SkillAccess, origin_of
from .store import SessionRows
from .tool_errors import NotActiveError
from .tools.general.command_output import SessionCommands
from .tools.session_tools import session_tools
from .tools.tool import Tool
from .tools.toolsets import SessionToolsets
from .usage import Usage, UsageMeter
from .workspace.workspace import Workspace

__all__ = ["Session", "activated_by"]

_TRIGGERED = re.compile(r"\b(?:keyword|phrase|verb|pattern) '")

_UNWANTED = -3.0
"""Log-odds of a skill that the user unloaded in this session: only a call by name activates it again."""
_WITHOUT_EFFECT = frozenset({"SK303", "SK306"})
"""Problems of toolsets and dependencies: the skill is activated without them."""


class Session:
    def __init__(
        self,
        catalog: Catalog,
        *,
        id: str | None = None,  # noqa: A002
        options: SessionOptions | None = None,
        services: SessionServices | None = None,
        workspace: Workspace | str | os.PathLike[str] | None = None,
    ) -> None:
        self.id = id or uuid.uuid4().hex[:12]
        self.options = options or SessionOptions()
        self.services = services or SessionServices()
        self._owns_workspace = not isinstance(workspace, Workspace)
        self.workspace = workspace if workspace is None or isinstance(workspace, Workspace) else Workspace(workspace)
        """The user's folder that scripts work in, with the layer that takes their writes."""
        self._meter = UsageMeter(self.services.store)
        self.toolsets = SessionToolsets(
            self.services.permissions, lambda name, error: self._emit_refused(name, "Toolset", error)
        )
        self.commands = SessionCommands()
        """The output of general tools, and the commands that run in the background."""
        self._used: dict[str, None] = {}
        self._recent: dict[str, None] = {}
        self._unwanted: set[str] = set()
        self.declined: set[tuple[str, str]] = set()
        """Requests of skills for hosts and secrets that were not granted: they are asked once in a session."""
        self.selector: SkillSelector | None = self.services.selector
        """Finds skills of the current catalog."""
        self.not_activated: dict[str, str] = {}
        """The skills that the last selection chose and that could not be activated, each with the reason."""
        self._use(catalog)

    @property
    def active(self) -> tuple[ActiveSkill, ...]:
        """The active skills, the least recently used first."""
        return tuple(sorted(self._rows(self.services.store.active(self.id)), key=lambda row: row.last_use))

    @property
    def active_names(self) -> tuple[str, ...]:
        return tuple(sorted(row.name for row in self.active))

    @property
    def recent_folders(self) -> list[str]:
        """The folders of the skills that were used in this session, active or not, the latest last."""
        active = [row.name for row in self.active]
        before = [name for name in sorted(self.usage) if name and name not in active]
        used = dict.fromkeys(name for name in (*before, *active) if name not in self._recent) | self._recent
        return [entry.folder for name in used if name not in self._unwanted and (entry := self.catalog.get(name)) is not None]

    @property
    def prior(self) -> dict[str, float]:
        """Log-odds of skills by folder, from the user's corrections in this session and before."""
        odds = {name: counts.odds for name, counts in self.services.prior.corrections().items() if counts.odds}
        odds |= dict.fromkeys(self._unwanted, _UNWANTED)
        return {entry.folder: value for name, value in odds.items() if (entry := self.catalog.get(name)) is not None}

    def active_skills(self) -> list[Skill]:
        """Reads the active skills from disk now. Deleted and broken ones are left out."""
        found = []
        for name in self.active_names:
            try:
                found.append(self.skills.skill(name))
            except (MetierError, OSError):
                continue
        return found

    def set_catalog(self, catalog: Catalog) -> None:
        """Replaces the catalog, as after a change on disk. Active skills that it no longer offers are deactivated."""
        if self.services.selector is not None and self.services.open_selector is None:
            self.selector = _selector_for(catalog, self.services.selector)
        self._use(catalog)

    def refresh(self) -> events.SkillsChanged | None:
        """Takes over changes on disk: new, changed and deleted skills, and edited toolsets of active ones.

        Emits and returns the event; None if no skill changed. Does nothing without `current_catalog` in the services.
        """
        if self.services.current_catalog is None:
            return None
        catalog = self.services.current_catalog()
        changed = None
        if catalog is not self.catalog:
            differences = diff_catalogs(self.catalog, catalog)
            changed = _skills_changed(differences, catalog, session=self.id, timestamp=self.services.clock())
            self.emit(changed)
            self.set_catalog(catalog)
        for skill in self.active_skills():
            if self.toolsets.unload_changed(skill):
                self.load_toolsets(skill, ask=True)
        return changed

    def _use(self, catalog: Catalog) -> None:
        self.catalog = catalog
        make = self.services.open_selector
        if make is not None:
            self.selector = LazySelector(lambda: make(catalog))
        self.skills = SkillAccess(catalog, self.services.remote_files, self.services.capabilities)
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
        with self.services.store.edit(self.id) as stored:
            stored.active, removed = remove_rows(stored.active, [row for row in stored.active if not self._is_offered(row)])
        states = {entry.folder: str(entry.state) for entry in catalog.entries if entry.state is not State.ENABLED}
        for row in removed:
            self._emit_deactivated([row], states.get(row.folder, "missing"))

    def tools(self) -> tuple[Tool, ...]:
        """Returns the tools that a model can call now. They change with the active skills: call it again after every call."""
        return session_tools(self)

    def activate(
        self, name: str, *, by: ActivatedBy = ActivatedBy.USER, arguments: str = "",
        parameters: Mapping[str, object] | None = None, mode: ActivationMode | None = None, pinned: bool = False,
    ) -> Activation:  # fmt: skip
        """Activates a skill and its dependencies. The `text` of the result is exactly what a model gets."""
        request = ActivationRequest(
            name=name, by=by, arguments=arguments, parameters=parameters or {}, mode=mode, pinned=pinned
        )
        try:
            activation = self._activate(request)
        except MetierError as error:
            self._emit_refused(name, "activate", error)
            raise
        self._note_recent(name)
        if by is ActivatedBy.USER:
            self._unwanted.discard(name)
            self.services.prior.add(name, wanted=True)
        return activation

    def deactivate(self, name: str, *, by: ActivatedBy = ActivatedBy.USER) -> tuple[str, ...]:
        """Deactivates a skill; returns the names of all skills that were removed. A model cannot deactivate a pinned skill."""
        with self._changing() as stored:
            if by is ActivatedBy.MODEL and any(row.name == name and row.pinned for row in stored.active):
                raise RefusedError(f"{name!r} is pinned by the user", rule="pinned", hint="continue with the skill active")
            stored.active, removed = deactivate(stored.active, name)
        if by is ActivatedBy.USER:
            self._unwanted.add(name)
            if removed[0].by in (ActivatedBy.RANKER, ActivatedBy.TRIGGER):
                self.services.prior.add(name, wanted=False)
        self._emit_deactivated(removed[:1], "requested")
        self._emit_deactivated(removed[1:], "unneeded")
        return tuple(row.name for row in removed)

    def end_turn(self) -> tuple[str, ...]:
        """Deactivates ephemeral skills and what was activated only for them; returns their names."""
        with self._changing() as stored:
            rows = stored.active
            needed = {name for row in rows if row.mode is not ActivationMode.EPHEMERAL for name in row.dependencies}
            expired = [
                row for row in rows if row.mode is ActivationMode.EPHEMERAL and not row.pinned and row.name not in needed
            ]
            stored.active, removed = remove_rows(rows, expired)
        self._emit_deactivated(removed, "turn")
        return tuple(row.name for row in removed)

    def clear(self) -> None:
        """Deactivates everything, pinned or not, and deletes the session from the store."""
        self._emit_deactivated(self.active, "cleared")
        self._meter.flush()
        self.services.store.clear(self.id)

    def close(self) -> None:
        """Saves the usage, unloads toolsets, ends commands in the background, and closes a workspace that was given as a path.

        The session can be resumed by its id.
        """
        with ExitStack() as steps:
            # In reverse order, and each of them even if another one fails.
            steps.callback(self.toolsets.unload_all)
            if self.workspace is not None and self._owns_workspace:
                steps.callback(self.workspace.close)
            steps.callback(self._meter.flush)
            steps.callback(self.commands.close)

    def content(self, name: str) -> str:
        """Renders the text of an active skill again, as after a restart or when a host has compacted its conversation."""
        return render_content(self.skills.skill(name), self.active_skill(name), self.options).text

    def prompt(self, tools: Sequence[Tool] | None = None, *, without: Container[str] = ()) -> Disclosure:
        """Renders the active skills as a block of the system prompt, with their tools.

        `without` names skills that the model has seen in another way. `tools` is the result of `tools()`, if it is at hand.
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
        if self.selector is None:
            raise RefusedError("this session has no selector", rule="no-selector", hint="set selector in SessionServices")
        selection = self.selector.select(query, limit, recent=self.recent_folders, prior=self.prior)
        names = tuple(match.name for match in selection.selected if match.decision is not Choice.NOTHING)
        self.emit(
            events.SelectionMade(
                session=self.id, timestamp=self.services.clock(), names=names, considered=selection.considered, query=query
            )
        )
        return selection

    def activate_for(self, query: str) -> tuple[Activation, ...]:
        """Selects skills for a request and activates those that fit."""
        return self.activate_selected(self.select(query))

    def activate_selected(self, selection: Selection) -> tuple[Activation, ...]:
        """Activates the skills that fit, the best one last, so that it is evicted last."""
        fitting = [match for match in selection.selected if match.decision is Choice.ACTIVATE]
        chosen = fitting[: self.options.max_active]
        most = f"at most {self.options.max_active} skills can be active; raise skills.max_active"
        self.not_activated = {match.name: most for match in fitting[self.options.max_active :]}
        activated = []
        for match in reversed(chosen):
            try:
                activated.append(self.activate(match.name, by=activated_by(match)))
            except MetierError as error:
                # The user named none of these, so one that cannot be activated must not stop the others. The event is emitted.
                self.not_activated[match.name] = f"{error}; {error.hint}"
        return tuple(activated)

    def resources(self, name: str, folder: str = "") -> tuple[FileEntry, ...]:
        """Lists the skill's files except its SKILL.md, or those of one folder such as `scripts`."""
        return self.skills.resources(name, folder)

    def read(self, name: str, path: str) -> bytes:
        """Reads one file of a skill; the path is checked."""
        data = self.skills.files(name).read(path, limit=self.options.resource_bytes)
        self.mark_used(name)
        self.emit(events.ResourceRead(session=self.id, timestamp=self.services.clock(), name=name, path=path, size=len(data)))
        return data

    async def run_script(
        self, name: str, script: str, arguments: Sequence[str] = (), *, stdin: str | bytes | None = None,
        hosts: Sequence[str] = (), secrets: Sequence[str] = (), outputs: Sequence[str] = (), seconds: float | None = None,
    ) -> Outcome:  # fmt: skip
        """Runs one script of a skill in the sandbox; see `ScriptRequest`. Refused unless skill and policy both allow it."""
        request = ScriptRequest(skill=name, script=script, arguments=tuple(arguments), stdin=stdin, hosts=tuple(hosts))
        return await run_script(self, replace(request, secrets=tuple(secrets), outputs=tuple(outputs), seconds=seconds))

    @property
    def permissions(self) -> ToolPermissions:
        return ToolPermissions(self)

    @property
    def usage(self) -> Mapping[str, Usage]:
        """The usage of this session by skill. The empty name holds what belongs to no skill."""
        self._meter.flush()
        total: dict[str, Usage] = {}
        for used in self.services.store.usage(self.id):
            total[used.skill] = total.get(used.skill, Usage()) + used.usage
        return total

    def active_skill(self, name: str) -> ActiveSkill:
        """Returns the active skill of that name, or raises NotActiveError."""
        for row in self.active:
            if row.name == name:
                return row
        raise NotActiveError(name, active=self.active_names)

    def mark_used(self, name: str) -> None:
        """Records a use of the skill. It is saved with the next change, so that reading a file writes nothing."""
        self._used.pop(name, None)
        self._used[name] = None
        self._note_recent(name)

    def _note_recent(self, name: str) -> None:
        self._recent.pop(name, None)
        self._recent[name] = None

    def emit(self, event: events.Event) -> None:
        self._meter(event)
        self.services.bus.emit(event)

    @contextmanager
    def follow_call(self, call: Operation) -> Iterator[None]:
        """Records a tool call: an operation for tracers, and an event when it has ended."""
        call.session = self.id
        call.skill = call.skill if call.skill in self.catalog else ""
        started = time.perf_counter()
        try:
            with self.services.bus.follow(call):
                yield
        finally:
            self.emit(
                events.ToolCalled(
                    session=self.id, timestamp=self.services.clock(), tool=call.name, name=call.skill, resource=call.resource,
                    duration=time.perf_counter() - started, error=call.error,
                )
            )  # fmt: skip

    def scripts(self, skill: Skill) -> tuple[SkillScript, ...]:
        """Returns the scripts of a local skill; the `problem` of each says why it is not offered. None without a runner."""
        services = self.services
        if services.runner is None or origin_of(skill):
            return ()
        requester = self.skills.requester(skill)
        return checked_scripts(skill, requester, permissions=services.permissions, runner=services.runner)

    def load_toolsets(self, skill: Skill, *, ask: bool = False) -> tuple[str, ...]:
        return self.toolsets.load(skill, self.skills.requester(skill), ask=ask)

    @contextmanager
    def _changing(self) -> Iterator[SessionRows]:
        """Locks the rows of the store, with the uses since the last change already recorded in them."""
        recorded = tuple(self._used)
        with self.services.store.edit(self.id) as stored:
            stored.active = self._rows(stored.active)
            yield stored
        for name in recorded:
            self._used.pop(name, None)

    def _rows(self, rows: tuple[ActiveSkill, ...]) -> tuple[ActiveSkill, ...]:
        for name in tuple(self._used):
            rows = mark_used(rows, name)
        return rows

    def _is_offered(self, row: ActiveSkill) -> bool:
        entry = self.catalog.get(row.name)
        return entry is not None and entry.state is State.ENABLED and entry.folder == row.folder

    def _activate(self, request: ActivationRequest) -> Activation:
        self.skills.entry(request.name, request.by)
        skills = {each: self.skills.skill(each) for each in dependency_order(request.name, self.skills.dependencies)}
        check_versions({name: skill.manifest.extensions for name, skill in skills.items()})
        # Read before the store is locked: saving the usage is a transaction of its own.
        used = dict(self.usage) if self.options.budgets.has_limits else {}
        contents: dict[str, SkillContent] = {}
        with self._changing() as stored:
            rows = stored.active
            present = {row.name: row for row in rows}
            coming = [self._planned_row(skill, present.get(each), request, contents) for each, skill in skills.items()]
            if contents:
                tokens = sum(content.tokens for content in contents.values())
                self.options.budgets.check(request.name, used, Usage(activations=len(contents), tokens=tokens))
            kept, evicted = admit(rows, coming, self.options.max_active)
            stored.active = mark_used(kept, request.name)
        self._emit_deactivated(evicted, "limit")
        for row in coming:
            self._emit_activated(row, skills[row.name], contents.get(row.name))
        warnings = tuple(warning for skill in skills.values() for warning in self._warnings(skill))
        arrived = tuple(row.name for row in coming[:-1] if row.name not in present)
        return replace(make_activation(coming[-1], contents, evicted), dependencies=arrived, warnings=warnings)

    def _warnings(self, skill: Skill) -> Iterator[str]:
        """Yields what the skill declares and cannot have: malformed keys, toolsets, and scripts that cannot run here."""
        report = self.skills.entry(skill.name).report
        yield from (f"{skill.name}: {one.message}; {one.hint}" for one in report if one.code in _WITHOUT_EFFECT)
        yield from self.load_toolsets(skill, ask=True)
        yield from (f"{skill.name}: {warning}" for warning in script_warnings(self.scripts(skill)))

    def _planned_row(
        self, skill: Skill, present: ActiveSkill | None, request: ActivationRequest, contents: dict[str, SkillContent]
    ) -> ActiveSkill:
        """Returns the row that a skill will have, and adds its text to `contents` if the model does not have it yet."""
        if present is None:
            row = new_row(skill, self.skills.entry(skill.name).folder, request, self.options, self.services.clock())
        else:
            row = updated_row(skill, present, request, self.options)
            if row is present:
                return row
        content = render_content(skill, row, self.options)
        new_checksum = checksum(content)
        if new_checksum != row.content_checksum:
            contents[skill.name] = content
        return replace(row, content_checksum=new_checksum, tokens=content.tokens)

    def _emit_activated(self, row: ActiveSkill, skill: Skill, content: SkillContent | None) -> None:
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

    def _emit_refused(self, name: str, what: str, error: MetierError) -> None:
        rule = error.rule if isinstance(error, RefusedError) else error.code
        known = name if name in self.catalog else ""
        reason = f"{error}; {error.hint}"
        self.emit(
            events.ActionRefused(
                session=self.id, timestamp=self.services.clock(), name=known, what=what, rule=rule, reason=reason
            )
        )

    def _emit_deactivated(self, removed: Iterable[ActiveSkill], reason: str) -> None:
        for row in removed:
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
    """Answers whether a host may run one of its own tools."""

    session: Session

    def check(self, tool: str, argument: str = "") -> PolicyDecision:
        """Returns allow, ask or deny. `argument` is the command of a shell, else a path or a name."""
        requesters = [self.session.skills.requester(skill) for skill in self.session.active_skills()]
        return self.session.services.permissions.check(tool, argument, skills=requesters)


def _selector_for(catalog: Catalog, former: SkillSelector) -> SkillSelector:
    """Returns a selector over a new catalog. One of another class is the caller's to keep current."""
    # Imported here: numpy costs 80 ms, and few sessions get another catalog.
    from metier.selection import Selector
    from metier.sources import open_selector

    if not isinstance(former, Selector):
        return former
    return LazySelector(lambda: open_selector([entry for entry in catalog if entry.is_for_models], None))


def _skills_changed(
    changes: Iterable[CatalogChange], catalog: Catalog, *, session: str, timestamp: datetime
) -> events.SkillsChanged:
    """Names what a user would notice: a skill that is hidden by another one is not mentioned."""
    names: dict[ChangeKind, list[str]] = {kind: [] for kind in ChangeKind}
    invalid = []
    for change in changes:
        entry = change.entry
        if change.kind is not ChangeKind.REMOVED and entry.state in (State.SKIPPED, State.UNAVAILABLE):
            invalid.append((entry.name, entry.reason))
        elif change.kind is ChangeKind.REMOVED or catalog.get(entry.name) is entry:
            names[change.kind].append(entry.name)
    return events.SkillsChanged(
        session=session, timestamp=timestamp, added=tuple(names[ChangeKind.ADDED]), invalid=tuple(invalid),
        changed=tuple(names[ChangeKind.CHANGED]), removed=tuple(names[ChangeKind.REMOVED]),
    )  # fmt: skip


def activated_by(match: Match) -> ActivatedBy:
    """Returns the cause of a selected skill's activation: the user who named it, a trigger, or the ranker."""
    if match.reason.startswith("named in the request"):
        return ActivatedBy.USER
    return ActivatedBy.TRIGGER if _TRIGGERED.search(match.reason) else ActivatedBy.RANKER
