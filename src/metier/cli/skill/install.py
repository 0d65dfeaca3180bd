"""`metier skill install`: from anywhere to where agents look, or back to what the lock says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from click import argument, option

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, truncate
from metier.errors import AmbiguousError, ConflictError, RefusedError, SkillNotFoundError, UsageError
from metier.install.background_scan import scanned_aside
from metier.install.dependencies import in_order
from metier.install.fetch.fetch import fetch
from metier.install.fetch.job import Access, Progress
from metier.install.fetch.parallel import run_parallel
from metier.install.fetch.repository import FoundSkill, select, wanted_by_default
from metier.install.fetch.results import Fetched, FetchedSkill
from metier.install.lock.lock_file import identity_of
from metier.install.prepare import PreparedSkill, prepare, refuse_blocked
from metier.install.protocols import Fetcher, Scan
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import ArchiveFile, LocalName, LocalPath
from metier.install.store import InstallOptions, InstallResult, SkillStore
from metier.install.targets.scope import ALL_DETECTED, InstallMode, ScopeLevel, read_targets
from metier.install.transaction.steps import Edits, InstallStep, Verb
from metier.spec import is_name
from metier.values import replace

from .install_common import (
    access_of,
    access_options,
    chosen_stores,
    entry_row,
    fetch_progress,
    quiet_bars,
    scope_options,
    short,
    step_lines,
    step_row,
)

if TYPE_CHECKING:
    from metier.install.configured_plugins import ConfiguredPlugin

__all__ = ["bring", "install"]

_REACH = ("offline", "headers", "insecure_http", "allow_old_index", "full_depth")


@command("skill", "install")
@argument("refs", nargs=-1, metavar="[REF]...")
@option("--list", "listed", is_flag=True, help="Only show which skills the source has.")
@option("--skill", "skills", multiple=True, help="Install this one of several; repeatable, or separated by spaces.")
@option("--all", "every", is_flag=True, help="Install every skill of the source.")
@option("--full-depth", is_flag=True, help="Look for skills everywhere in the source, also inside others.")
@option("--name", help="Install it under this name.")
@option("--ref", "git_ref", help="Branch, tag or commit, if REF does not say it.")
@option("--target", "targets", multiple=True, help="Agents that should see it: claude-code,codex,… or all-detected.")
@option("--copy", is_flag=True, help="Give each agent a copy instead of a link.")
@option("--force", is_flag=True, help="Replace what is in the way, and what was edited.")
@option("--keep", is_flag=True, help="Replace what was edited, and keep it as NAME.orig.")
@option("--unsafe", is_flag=True, help="Also install what the scan blocks.")
@option("--no-deps", is_flag=True, help="Without the skills it depends on.")
@option("--frozen", is_flag=True, help="Refuse whatever differs from the lock.")
@option("--dry-run", is_flag=True, help="Show the plan, and change nothing.")
@option("--yes", is_flag=True, help="Ask nothing; of several skills take all.")
@scope_options
@access_options
def install(
    app: App, *, refs: tuple[str, ...], skills: tuple[str, ...], project: bool, user: bool, listed: bool, **options: Any
) -> Result:
    """Install skills, pinned and verified, from anywhere.

    REF is a name, a folder, an archive, `owner/repo`, an address, `r9s:NAME`; `--list` shows what a source has. Without REF,
    what the lock promises is restored (the project's lock if there is one here, else your own), and what your configuration
    lists under `skills.plugins` is installed.
    """
    # Any: the options above, each read where it matters.
    if project and user:
        raise UsageError("--project and --user exclude each other", hint="give one of them")
    if not refs:
        return _restored(app, project=project, user=user, **options)
    # After --skill, a bare name is one more skill: nobody installs a local skill and names parts of it.
    named = [word for text in skills for word in text.replace(",", " ").split()]
    if skills:
        named += [ref for ref in refs if is_name(ref)]
        refs = tuple(ref for ref in refs if not is_name(ref))
        if not refs:
            raise UsageError("--skill chooses from a source, and none is named", hint="write owner/repo --skill NAME")
    store = app.installation.store(ScopeLevel.PROJECT if project else ScopeLevel.USER)
    visit = _Visit(app, store, tuple(named), options)
    with fetch_progress() as progress:
        brought = visit.brought(refs, progress, listed=listed)
    if listed:
        return _offered(brought)
    return visit.installed(brought)


def bring(app: App, refs: Sequence[str]) -> None:
    """Install these for the user, as `metier skill install REF...` does; an error if any of them could not be."""
    # The command's own defaults, whatever options it has.
    visit = _Visit(app, app.installation.store(ScopeLevel.USER), (), install.make_context("install", []).params)
    with fetch_progress() as progress:
        result = visit.installed(visit.brought(refs, progress, listed=False))
    if result.status:
        raise ConflictError(f"{', '.join(refs)} could not be installed", hint=f"see `metier skill install {' '.join(refs)}`")


class _Visit:
    """One command line, from its refs to what was installed."""

    def __init__(self, app: App, store: SkillStore, named: tuple[str, ...], options: dict[str, Any]) -> None:
        self.app, self.store, self.named, self.options = app, store, named, options
        self.access: Access = access_of(app, **{key: options[key] for key in _REACH})
        self.asks = sys.stdin.isatty() and sys.stderr.isatty() and not options["yes"]

    def brought(self, refs: Sequence[str], progress: Progress, *, listed: bool) -> list[tuple[str, Fetched]]:
        # A question is asked from the thread that hears Ctrl-C, and one at a time.
        alone = self.asks and not (self.named or self.options["every"] or listed)
        return run_parallel(
            lambda ref: self._fetched(ref, progress, listed=listed), refs,
            workers=1 if alone else self.access.workers, cancelled=self.access.cancelled,
        )  # fmt: skip

    def _fetched(self, ref: str, progress: Progress, *, listed: bool) -> tuple[str, Fetched]:
        """What came, and the ref as the lock may keep it: without whatever secret was typed in it."""
        parsed = parse_ref(ref, aliases=tuple({"r9s", *(source.name for source in self.access.sources)}))
        wanted = self.options["git_ref"]
        if wanted and hasattr(parsed, "ref"):
            parsed = replace(parsed, ref=wanted)
        if isinstance(parsed, LocalName) and (entry := self.store.lock().get(parsed.name)):
            # It is installed already, and is to be shown to more agents.
            return entry.asked, Fetched(skills=(self.store.as_installed(entry),))
        # What is on this disk needs no second copy of itself on this disk.
        local = isinstance(parsed, LocalName | LocalPath | ArchiveFile)
        access = replace(self.access, cache=None) if local else self.access
        return parsed.text, fetch(parsed, access, choose=(lambda _: ()) if listed else self._choose, progress=progress)

    def _choose(self, found: tuple[FoundSkill, ...]) -> Sequence[FoundSkill]:
        offered = wanted_by_default(found)
        if self.named:
            return select(found, self.named)
        if len(offered) == 1 or self.options["every"] or self.options["yes"]:
            return offered
        if self.asks:
            # Imported where somebody is asked: it brings click along.
            from .install_prompts import picked

            with quiet_bars():
                return picked(offered)
        names = ", ".join(sorted(one.name for one in offered)[:10])
        raise AmbiguousError(f"there are {len(offered)} skills: {names}{', …' if len(offered) > 10 else ''}",
                        hint="choose with --skill NAME, or take --all; --list describes them")  # fmt: skip

    def installed(self, brought: Sequence[tuple[str, Fetched]]) -> Result:
        name = self.options["name"]
        chosen = [(ref, skill, name or self._name_here(skill)) for ref, fetched in brought for skill in fetched.skills]
        if name and len(chosen) != 1:
            raise UsageError(f"--name is for one skill, and these are {len(chosen)}", hint="install them one at a time")
        ready, outcome, notes = self.put(chosen)
        notes = [*(one_line(warning) for _, fetched in brought for warning in fetched.warnings), *notes]
        return _result(self.app, self.store, outcome, [skill.name for skill in ready], notes)

    def put(
        self, chosen: Sequence[tuple[str, FetchedSkill, str | None]]
    ) -> tuple[list[PreparedSkill], InstallResult, list[str]]:
        """Ref, skill and the name it should have, checked and installed, with what there is to say about it."""
        scan = None if self.options["unsafe"] else self.app.installation.scan
        # Whoever is asked, or only looks, must know the verdict first; else it comes while everything is made ready.
        first = scan if self.asks or self.options["dry_run"] else None
        # One skill that two refs lead to is one skill.
        once = {(identity_of(skill.origin), skill.digest): (ref, skill, name) for ref, skill, name in reversed(chosen)}
        ready = [prepare(skill, name=name, asked=ref, scan=first) for ref, skill, name in reversed(once.values())]
        if not self.options["no_deps"]:
            ready = self._with_dependencies(ready, first)
        if scan and not first:
            with scanned_aside(ready, scan) as scanned:
                return self._put(scanned, lambda: refuse_blocked(scanned))
        if self.asks and any(skill.is_doubtful for skill in ready):
            from .install_prompts import approved

            approved(ready)
        else:
            refuse_blocked(ready)
        return self._put(ready, lambda: None)

    def _put(
        self, ready: list[PreparedSkill], agreed: Callable[[], None]
    ) -> tuple[list[PreparedSkill], InstallResult, list[str]]:
        ready, outcome = self._settled(ready, agreed)
        notes = [f"{skill.name}: the scan wants a person to read this: {skill.worst}" for skill in ready if skill.is_doubtful]
        notes += [
            f"{skill.name}: {problem.where}: {problem.code}: {problem.message}"
            for skill in ready
            for problem in skill.report.errors
        ]
        if ALL_DETECTED in ",".join(self.options["targets"]).split(",") and not read_targets(
            self.options["targets"], self.store.scope
        ):
            notes.append("no other agent was found on this machine, so only metier sees this; --target NAME names one")
        if self.store.scope.level is ScopeLevel.PROJECT and not self.app.is_trusted:
            notes.append(f"{self.app.folder} is not trusted, so metier does not use these skills yet; run `metier trust`")
        return ready, outcome, notes

    def of_plugins(self, plugins: Sequence[ConfiguredPlugin], progress: Progress) -> list[tuple[str, FetchedSkill, str | None]]:
        """All that a configuration lists: everything of a source, or the one skill that is named."""
        found: list[tuple[str, FetchedSkill, str | None]] = []
        for plugin in plugins:
            ref = plugin.wanted({"r9s", *(source.name for source in self.access.sources)})
            skills = fetch(ref, self.access, progress=progress).skills
            named = [skill for skill in skills if skill.name == plugin.name]
            if plugin.name and not named and len(skills) != 1:
                raise SkillNotFoundError(
                    plugin.name, known=[skill.name for skill in skills], hint=f"{plugin.url} has several others"
                )
            found += [(ref.text, skill, plugin.name or None) for skill in named or skills]
        return found

    def _name_here(self, skill: FetchedSkill) -> str | None:
        """A skill that is here under another name is that one, not a second."""
        same = [entry for entry in self.store.lock() if entry.identity == identity_of(skill.origin)]
        return same[0].name if len(same) == 1 and same[0].called else None

    def _with_dependencies(self, ready: list[PreparedSkill], scan: Scan | None) -> list[PreparedSkill]:
        if not any(skill.entry.dependencies for skill in ready):
            return ready
        known = {skill.name: skill for skill in ready}
        asked = tuple(known)
        present = {entry.name for entry in self.store.lock()} | {entry.name for entry in self.app.catalog.entries}
        remotes = _remotes(self.access)
        pending = list(ready)
        while pending:
            skill = pending.pop()
            not_installed = [name for name in skill.entry.dependencies if name not in known]
            if not not_installed:
                continue
            for found in remotes.beside(skill.entry, not_installed).skills:
                more = prepare(found, asked="", scan=scan)
                if more.name not in known:
                    known[more.name] = more
                    pending.append(more)
        order = in_order(asked, lambda name: known[name].entry.dependencies if name in known else None, present=present)
        return [known[name] for name in order]

    def _settled(self, ready: list[PreparedSkill], agreed: Callable[[], None]) -> tuple[list[PreparedSkill], InstallResult]:
        how = _how(self.store, **self.options)
        while self.asks and not how.dry_run:
            plan = self.store.install(ready, replace(how, dry_run=True))
            clash = next((step for step in plan.steps if step.verb is Verb.CONFLICT), None)
            if clash is None:
                break
            from .install_prompts import settled

            ready, how = settled(clash, ready, how)
        return ready, self.store.install(ready, how, agreed=agreed)


def _remotes(access: Access, progress: Progress = lambda _step: None) -> Fetcher:
    # Imported here: a skill that comes from somewhere for the first time has nothing to do with what is locked.
    from metier.install.fetch.lock_fetcher import LockFetcher

    return LockFetcher(access, progress=progress)


def _how(
    store: SkillStore, *, targets: tuple[str, ...], copy: bool, force: bool, keep: bool, frozen: bool, dry_run: bool, **_: Any
) -> InstallOptions:
    if force and keep:
        raise UsageError("--force and --keep exclude each other", hint="--keep is the careful one")
    edits = Edits.KEEP if keep else Edits.OVERWRITE if force else Edits.REFUSE
    mode = InstallMode.COPY if copy else InstallMode.LINK
    return InstallOptions(
        targets=read_targets(targets, store.scope), mode=mode, edits=edits, force=force, frozen=frozen, dry_run=dry_run
    )


def _restored(app: App, *, project: bool, user: bool, **options: Any) -> Result:
    from metier.install.lock.restore import restore

    stores = chosen_stores(app, project=project, user=user)
    store = stores[0] if stores else app.installation.store(ScopeLevel.USER)
    steps: tuple[InstallStep, ...] = ()
    notes: list[str] = []
    with fetch_progress() as progress:
        if plugins := _lacking(app, store):
            if options["frozen"]:
                raise RefusedError(f"--frozen, and the lock does not have {plugins[0].url}, which the configuration lists",
                              rule="frozen", hint="run `metier skill install` once without --frozen")  # fmt: skip
            visit = _Visit(app, store, (), {**options, "yes": True})
            _, outcome, notes = visit.put(visit.of_plugins(plugins, progress))
            steps = outcome.steps
        if not plugins or len(store.lock()):
            access = access_of(app, **{key: options[key] for key in _REACH})
            outcome = restore(
                store,
                _remotes(access, progress),
                _how(store, **options),
                scan=None if options["unsafe"] else app.installation.scan,
            )
            outcome = replace(outcome, steps=(*steps, *outcome.steps))
    return _result(app, store, outcome, list(outcome.lock.skills), notes)


def _lacking(app: App, store: SkillStore) -> Sequence[ConfiguredPlugin]:
    """What the configuration lists for this scope and the lock does not have."""
    if not app.installation.plugins or app.installation.plugins_level is not store.scope.level:
        return ()
    from metier.install.configured_plugins import not_installed

    return not_installed(app.installation.plugins, store.lock())


def _offered(brought: Sequence[tuple[str, Fetched]]) -> Result:
    rows = [
        {"ref": ref, **{slot: getattr(one, slot) for slot in ("name", "path", "description", "bundle", "problem")}}
        for ref, fetched in brought for one in fetched.offered
    ]  # fmt: skip
    elsewhere = [ref for _, fetched in brought for ref in fetched.elsewhere]

    def lines(terminal: Terminal) -> Iterator[str]:
        width = max((len(str(row["name"])) for row in rows), default=0)
        for row in rows:
            about = f"! {row['problem']}" if row["problem"] else str(row["description"])
            room = terminal.width - width - 2 if terminal.width else None
            yield f"{terminal.paint(pad(one_line(str(row['name'])), width), 'bold')}  {truncate(one_line(about), room)}"
        for ref in elsewhere:
            yield f"elsewhere: {one_line(ref)}"
        yield terminal.paint(f"{len(rows)} skills; install with --skill NAME or --all", "dim")

    return Result(data={"skills": rows, "elsewhere": elsewhere}, lines=lines, pages=True)


def _result(app: App, store: SkillStore, outcome: InstallResult, names: Sequence[str], notes: Sequence[str]) -> Result:
    entries = [outcome.lock[name] for name in names]
    rows = [entry_row(entry, store) for entry in entries]
    data = {
        "scope": store.scope.level,
        "lock": store.scope.lock_file,
        "done": outcome.done,
        "skills": rows,
        "steps": [step_row(step) for step in outcome.steps],
        "kept": [{"from": source, "to": kept} for source, kept in outcome.saved],
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from step_lines(outcome, terminal, app.paths.user_home)
        for source, kept in outcome.saved:
            yield one_line(f"kept {short(source, app.paths.user_home)} as {short(kept, app.paths.user_home)}")
        if not outcome.done:
            yield terminal.paint("nothing was changed (--dry-run)", "dim")
            return
        changed = sum(step.verb in (Verb.INSTALL, Verb.UPDATE) for step in outcome.steps)
        yield terminal.paint(f"{changed} installed, {len(rows) - changed} as they were", "dim")

    conflicts = any(step.verb is Verb.CONFLICT for step in outcome.steps)
    return Result(data=data, lines=lines, notes=tuple(notes), status=6 if conflicts else 0)
