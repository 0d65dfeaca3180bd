"""Installs skills from refs: fetch, choose, prepare, add dependencies, scan, settle conflicts, apply.

Nothing on disk changes before everything was fetched, checked and agreed to; then `SkillStore.install` applies all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from metier.errors import AmbiguousError, RefusedError, SkillNotFoundError, UsageError
from metier.spec import is_version
from metier.values import dataclass, replace

from .configured_plugins import ConfiguredPlugin, not_installed
from .dependencies import in_order
from .fetch.dispatch import fetch_ref
from .fetch.job import Access, Progress, ignore_progress
from .fetch.missing_parts import large_file_pointers
from .fetch.parallel import run_parallel
from .fetch.repository import FoundSkill, select_skills, wanted_by_default
from .lock.lock_file import identity_of
from .options import ConflictAction, InstallOptions, InstallResult
from .prepare import PreparedSkill, prepare, refuse_blocked
from .protocols import Fetched, FetchedSkill, Fetcher, Scan
from .refs.parsing import parse_ref
from .refs.pins import at_git_ref
from .refs.ref_types import ArchiveFile, LocalName, LocalPath, Ref, RegistryRef
from .store import SkillStore
from .targets.scope import ALL_DETECTED, ScopeLevel, read_targets
from .transaction.steps import Edits, InstallStep, Verb, changes
from .versions import other_version, place_versions, replaced_versions

__all__ = ["InstallRun", "install", "list_source", "restore_and_install"]


def install(
    refs: Sequence[str],
    *,
    store: SkillStore,
    access: Access,
    options: InstallOptions = InstallOptions(),  # noqa: B008 - frozen
    scan: Scan | None = None,
    available: Callable[[], Iterable[str]] = tuple,
    progress: Progress = ignore_progress,
) -> InstallResult:
    """Installs the skills of these refs into a store.

    `available` names skills that satisfy a dependency although they are not in the store's lock.
    """
    run = InstallRun(store=store, access=access, options=options, scan=scan, available=available, progress=progress)
    return run.install(refs)


def list_source(
    refs: Sequence[str], access: Access, *, progress: Progress = ignore_progress
) -> tuple[tuple[str, Fetched], ...]:
    """Returns what these refs offer, each with the ref as the lock would keep it; fetches no skill."""

    def listed(ref: str) -> tuple[str, Fetched]:
        parsed = parse_source_ref(ref, access)
        return parsed.text, fetch_ref(parsed, _without_cache(parsed, access), choose=lambda _: (), progress=progress)

    if access.headers:
        access = access.with_headers_for([access.url_of(parse_source_ref(ref, access)) for ref in refs], is_typed=True)
    return tuple(run_parallel(listed, refs, workers=access.workers, cancelled=access.cancelled))


def restore_and_install(
    plugins: Sequence[ConfiguredPlugin],
    *,
    store: SkillStore,
    access: Access,
    options: InstallOptions = InstallOptions(),  # noqa: B008 - frozen
    scan: Scan | None = None,
    available: Callable[[], Iterable[str]] = tuple,
    progress: Progress = ignore_progress,
) -> InstallResult:
    """Restores what the store's lock promises, and installs the configured plugins that it does not have."""
    # Imported here: an installation from refs restores nothing.
    from .fetch.lock_fetcher import LockFetcher
    from .lock.restore import restore

    missing = not_installed(plugins, store.lock())
    sources = [entry.origin.url for entry in store.lock()]
    sources += [access.url_of(plugin.to_ref(_aliases(access))) for plugin in missing]
    access = access.with_headers_for(sources)
    installed: InstallResult | None = None
    if missing:
        if options.frozen:
            raise RefusedError(f"--frozen, but the lock lacks {missing[0].url}, which the configuration lists",
                               rule="frozen", hint="run `metier skill install` once without --frozen")  # fmt: skip
        run = InstallRun(
            store=store, access=access, options=options.without_questions(), scan=scan,
            available=available, progress=progress,
        )  # fmt: skip
        installed = run.install_plugins(missing)
        if not len(store.lock()):
            return installed
    options = replace(options, targets=read_targets(options.targets, store.scope))
    if store.scope.level is ScopeLevel.USER:
        # The user's own lock has what passed the cool-down, or was let through, when it was installed.
        access = replace(access, cooldown=None)
    result = restore(store, LockFetcher(access, progress=progress), options, scan=None if options.unsafe else scan)
    if installed is None:
        return result
    return replace(
        result, steps=(*installed.steps, *result.steps), saved=(*installed.saved, *result.saved), notes=installed.notes
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """A fetched skill, the ref that named it, and the name to install it under."""

    ref: str
    skill: FetchedSkill
    name: str | None


@dataclass(frozen=True, kw_only=True)
class InstallRun:
    """One installation with everything it needs."""

    store: SkillStore
    access: Access
    options: InstallOptions
    scan: Scan | None = None
    available: Callable[[], Iterable[str]] = tuple
    progress: Progress = ignore_progress

    def install(self, refs: Sequence[str]) -> InstallResult:
        typed = [self.access.url_of(parse_source_ref(ref, self.access)) for ref in refs] if self.access.headers else ()
        fetched = self._fetch(refs, self.access.with_headers_for(typed, is_typed=True))
        name = self.options.name
        choices = [
            _Choice(ref=ref, skill=skill, name=name or self._existing_name(skill))
            for ref, source in fetched
            for skill in source.skills
        ]
        if name and len(choices) != 1:
            raise UsageError(f"--name needs exactly one skill, and {len(choices)} are selected", hint="install them one by one")
        warnings = tuple(warning for _, source in fetched for warning in source.warnings)
        offered = frozenset(one.name for _, source in fetched for one in source.offered)
        return self._install(choices, warnings, offered)

    def install_plugins(self, plugins: Sequence[ConfiguredPlugin]) -> InstallResult:
        """Installs every skill of each plugin, or the one that the configuration names."""
        choices: list[_Choice] = []
        warnings: tuple[str, ...] = ()
        for plugin in plugins:
            ref = plugin.to_ref(_aliases(self.access))
            fetched = fetch_ref(ref, self.access, progress=self.progress)
            skills, warnings = fetched.skills, (*warnings, *fetched.warnings)
            named = [skill for skill in skills if skill.name == plugin.name]
            if plugin.name and not named and len(skills) != 1:
                known = [skill.name for skill in skills]
                raise SkillNotFoundError(plugin.name, known=known, hint=f"{plugin.url} has other skills")
            choices += [_Choice(ref=ref.text, skill=skill, name=plugin.name or None) for skill in named or skills]
        return self._install(choices, warnings)

    def _fetch(self, refs: Sequence[str], access: Access) -> list[tuple[str, Fetched]]:
        # A question needs the main thread, which receives Ctrl-C, and only one can be asked at a time.
        asks = self.options.choose is not None and not (self.options.skills or self.options.take_all)
        workers = 1 if asks else self.access.workers
        return run_parallel(lambda ref: self._fetch_one(ref, access), refs, workers=workers, cancelled=access.cancelled)

    def _fetch_one(self, text: str, access: Access) -> tuple[str, Fetched]:
        """Returns the skills of a ref, and the ref as the lock keeps it."""
        ref = self._parse(text, access)
        if self.options.git_ref:
            ref = at_git_ref(ref, self.options.git_ref, folder=access.folder)
        if isinstance(ref, LocalName) and (entry := self.store.lock().get(ref.name)):
            # An installed skill that more agents should see.
            return entry.asked, Fetched(skills=(self.store.read_installed(entry),))
        return ref.text, fetch_ref(ref, _without_cache(ref, access), choose=self._choose, progress=self.progress)

    def _parse(self, text: str, access: Access) -> Ref:
        """Parses a ref. `NAME@VERSION` of an installed skill is another version from its source."""
        name, _, version = text.strip().partition("@")
        entry = self.store.lock().get(name)
        if entry and version and is_version(version):
            found = self.store.lock().get(text.strip())
            return LocalName(found.name) if found else other_version(entry, version, access)
        return parse_source_ref(text, access)

    def _choose(self, found: tuple[FoundSkill, ...]) -> Iterable[FoundSkill]:
        offered = wanted_by_default(found)
        if self.options.skills:
            return select_skills(found, self.options.skills)
        if len(offered) == 1 or self.options.take_all:
            return offered
        if self.options.choose:
            return self.options.choose(offered)
        names = ", ".join(sorted(one.name for one in offered)[:10])
        raise AmbiguousError(f"the source has {len(offered)} skills: {names}{', …' if len(offered) > 10 else ''}",
                             hint="choose with --skill NAME or --all; --list describes them")  # fmt: skip

    def _existing_name(self, skill: FetchedSkill) -> str | None:
        """Returns the name under which a skill of the same origin is installed, if it was renamed."""
        lock = self.store.lock()
        same = [entry for entry in lock if entry.identity == identity_of(skill.origin) and not entry.is_extra]
        return same[0].name if len(same) == 1 and same[0].called else None

    def _install(
        self, choices: Sequence[_Choice], warnings: tuple[str, ...] = (), offered: frozenset[str] = frozenset()
    ) -> InstallResult:
        for one in choices:
            self._refuse_new(one.skill)
        # Two refs may lead to one skill; the first one counts.
        unique = {(identity_of(one.skill.origin), one.skill.digest): one for one in reversed(choices)}
        scan = None if self.options.unsafe else self.scan
        skills = [prepare(one.skill, name=one.name, asked=one.ref, scan=scan) for one in reversed(unique.values())]
        if self.options.dependencies:
            skills = self._with_dependencies(skills, scan)
            skills, unmet = self._with_named(skills, scan, offered)
            warnings = (*warnings, *unmet)
        if self.options.check:
            self.options.check(skills)
        if self.options.approve and any(skill.needs_review for skill in skills):
            if not self.options.approve(skills):
                raise RefusedError("the installation was declined", rule="scan", hint="nothing was installed")
        else:
            refuse_blocked(skills)
        self._refuse_wider(skills)
        before, versions = self.store.lock(), place_versions(skills, self.store, self.options)
        if skills and not versions:
            return InstallResult(steps=(), lock=before, scope=self.store.scope, notes=warnings, declined=True)
        skills, result = self._apply(versions)
        warnings = (*warnings, *replaced_versions(skills, before))
        if result.done:
            for one in choices:
                self.access.cache_local(one.skill)
        held = [f"{one.skill.name}: a newer version is held back: {one.skill.held}" for one in choices if one.skill.held]
        return replace(
            result, names=tuple(skill.name for skill in skills), notes=(*warnings, *held, *self._notes(skills)),
            signed_by={one.skill.name: one.skill.signed_by for one in choices if one.skill.signed_by},
        )  # fmt: skip

    def _refuse_new(self, skill: FetchedSkill) -> None:
        if skill.too_new and not (self.options.accept_new and self.options.accept_new(skill.too_new)):
            raise skill.too_new

    def _refuse_wider(self, skills: Sequence[PreparedSkill]) -> None:
        """Raises RefusedError for a new version of an installed skill that wants more, unless the user accepts it."""
        lock, accept = self.store.lock(), self.options.accept_wider
        for skill in () if self.options.dry_run else skills:
            old = lock.get(skill.name)
            wider = skill.wider_than(old.capabilities) if old and old.identity == skill.entry.identity else None
            if wider and not (accept and accept(skill.name, wider)):
                raise RefusedError(
                    f"{skill.name} wants more than its installed version; new: {', '.join(wider.words())}",
                    rule="capabilities", hint="read the new version, then run the command again with --yes",
                )  # fmt: skip

    def _with_dependencies(self, skills: list[PreparedSkill], scan: Scan | None) -> list[PreparedSkill]:
        if not any(skill.entry.dependencies for skill in skills):
            return skills
        # Imported here: most skills depend on no other.
        from .fetch.lock_fetcher import LockFetcher

        fetcher: Fetcher = LockFetcher(self.access)
        known = {skill.name: skill for skill in skills}
        roots = tuple(known)
        present = {entry.name for entry in self.store.lock()} | set(self.available())
        pending = list(skills)
        while pending:
            skill = pending.pop()
            missing = [name for name in skill.entry.dependencies if name not in known]
            if not missing:
                continue
            for found in fetcher.beside(skill.entry, missing).skills:
                installed = self.store.lock().get(found.name)
                if installed and installed.identity != identity_of(found.origin):
                    # The user has it from another source, which satisfies the dependency.
                    continue
                self._refuse_new(found)
                dependency = prepare(found, scan=scan)
                if dependency.name not in known:
                    known[dependency.name] = dependency
                    pending.append(dependency)
        order = in_order(roots, lambda name: known[name].entry.dependencies if name in known else None, present=present)
        return [known[name] for name in order]

    def _with_named(
        self, skills: list[PreparedSkill], scan: Scan | None, offered: frozenset[str]
    ) -> tuple[list[PreparedSkill], tuple[str, ...]]:
        """Adds the skills that the text of these names, if the user agrees; else returns notes about them."""
        if len(offered) <= len(skills):
            return skills, ()
        from .named_skills import install_command, named_skills

        present = {entry.name for entry in self.store.lock()} | set(self.available())
        named = named_skills(skills, offered=offered, present=present)
        if not named:
            return skills, ()
        by_name = {skill.name: skill for skill in skills}
        if self.options.complete is None or not self.options.complete(named):
            return skills, tuple(
                f"the text of {name} names {', '.join(names)}, which the same source has; "
                f"install with: {install_command(by_name[name].entry.asked, names, self.access)}"
                for name, names in named.items()
            )
        from .fetch.lock_fetcher import LockFetcher

        fetcher: Fetcher = LockFetcher(self.access)
        for name, names in named.items():
            for found in fetcher.beside(by_name[name].entry, names).skills:
                if found.name not in by_name:
                    self._refuse_new(found)
                    by_name[found.name] = prepare(found, scan=scan)
        return list(by_name.values()), ()

    def _apply(self, skills: list[PreparedSkill]) -> tuple[list[PreparedSkill], InstallResult]:
        options = self._with_targets(skills)
        while options.resolve_conflict and not options.dry_run:
            plan = self.store.install(skills, replace(options, dry_run=True))
            conflict = next((step for step in plan.steps if step.verb is Verb.CONFLICT), None)
            if conflict is None:
                break
            skills, options = _settle(conflict, skills, options)
            if not skills:
                return skills, replace(plan, steps=(), lock=self.store.lock(), declined=True)
        if options.confirm and not options.dry_run:
            plan = self.store.install(skills, replace(options, dry_run=True))
            if not plan.has_conflicts and changes(plan.steps) and not options.confirm(plan):
                return [], replace(plan, steps=(), lock=self.store.lock(), declined=True)
        return skills, self.store.install(skills, options)

    def _with_targets(self, skills: Sequence[PreparedSkill]) -> InstallOptions:
        """Returns the options with the agents for new skills: those that were named, chosen now, or the default."""
        options, scope, lock = self.options, self.store.scope, self.store.lock()
        if options.targets:
            return replace(options, targets=read_targets(options.targets, scope), default_targets=())
        new = [skill.name for skill in skills if skill.name not in lock and not skill.entry.is_extra]
        if new and options.choose_targets:
            return replace(options, default_targets=read_targets(options.choose_targets(new), scope))
        return options

    def _notes(self, skills: Sequence[PreparedSkill]) -> Iterable[str]:
        for skill in skills:
            if skill.needs_review:
                yield f"{skill.name}: the scan asks you to review this: {skill.worst}"
            if pointers := large_file_pointers(skill.files):
                more = f" and {len(pointers) - 1} more" if len(pointers) > 1 else ""
                yield (
                    f"{skill.name}: {pointers[0]}{more} is only a pointer to git's large file storage; "
                    "install the skill from a checkout that has the file"
                )
        for skill in skills:
            for problem in skill.report.errors:
                yield f"{skill.name}: {problem.where}: {problem.code}: {problem.message}"
        asked = ",".join(self.options.targets).split(",")
        if ALL_DETECTED in asked and not read_targets(self.options.targets, self.store.scope):
            yield "no other agent was found on this machine, so only metier sees this; --target NAME names one"


def parse_source_ref(text: str, access: Access) -> Ref:
    """Parses a ref with the registry aliases and the GitHub host that `access` knows.

    `NAME@VERSION` is asked of the user's registry, if there is one.
    """
    ref = parse_ref(text, aliases=_aliases(access), github_host=access.environment.get("GH_HOST") or "github.com")
    if isinstance(ref, LocalName) and ref.version and any(source.name == "r9s" for source in access.sources):
        return RegistryRef(alias="r9s", name=ref.name, version=ref.version)
    return ref


def _aliases(access: Access) -> tuple[str, ...]:
    return ("r9s", *(source.name for source in access.sources))


def _without_cache(ref: Ref, access: Access) -> Access:
    # Of what is on this disk, only what is installed is cached (`Access.cache_local`).
    return replace(access, cache=None) if isinstance(ref, LocalName | LocalPath | ArchiveFile) else access


def _settle(
    conflict: InstallStep, skills: list[PreparedSkill], options: InstallOptions
) -> tuple[list[PreparedSkill], InstallOptions]:
    """Applies the answer to one conflict. A skill that is skipped leaves the list."""
    if options.resolve_conflict is None:
        return skills, options
    answer, name = options.resolve_conflict(conflict), conflict.name
    match answer.action:
        case ConflictAction.KEEP | ConflictAction.OVERWRITE:
            edits = Edits.KEEP if answer.action is ConflictAction.KEEP else Edits.OVERWRITE
            return skills, replace(options, edits_by_name={**options.edits_by_name, name: edits})
        case ConflictAction.REPLACE:
            return skills, replace(options, force_names=options.force_names | {name})
        case ConflictAction.RENAME:
            return [skill.renamed(answer.name) if skill.name == name else skill for skill in skills], options
        case ConflictAction.SKIP:
            return [skill for skill in skills if skill.name != name], options
