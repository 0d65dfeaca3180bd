"""Shared by the commands for installed skills: options, stores, rows, plan lines and progress bars."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from click import option

from metier.app import App, PreparedPackages
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, shorten
from metier.errors import MetierError, NotFoundError, RefusedError, SkillNotFoundError, UsageError
from metier.hosts.transcripts import has_transcripts
from metier.install import (
    Access,
    Edits,
    FetchProgress,
    FetchStage,
    InstallResult,
    InstallScope,
    InstallStep,
    LockEntry,
    Progress,
    ScopeLevel,
    SkillStore,
    Verb,
    group_by_store,
)
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE
from metier.values import replace

__all__ = [
    "access_of",
    "access_options",
    "capability_lines",
    "chosen_edits",
    "chosen_scope",
    "chosen_stores",
    "entry_row",
    "enumerated",
    "explain_not_installed",
    "fetch_progress",
    "grouped_stores",
    "pause_progress",
    "prepare_after",
    "project_phrase",
    "result_row",
    "saved_lines",
    "scope_options",
    "step_lines",
    "step_row",
    "takeover_notes",
    "with_packages",
]

F = TypeVar("F", bound=Callable[..., Any])
_MOST_TAKEOVERS = 5
_MOST_LISTED, _MOST_SHOWN, _MOST_NAMED = 5, 6, 3
_MOST_WORDS = 12
_SIGNS = {
    Verb.INSTALL: ("+", "green"), Verb.UPDATE: ("~", "yellow"), Verb.LINK: ("+", "green"), Verb.COPY: ("+", "green"),
    Verb.SAVE: ("=", "cyan"), Verb.REMOVE: ("-", "red"), Verb.UNLINK: ("-", "red"), Verb.KEEP: (" ", "dim"),
    Verb.CONFLICT: ("!", "red"),
}  # fmt: skip


def scope_options(function: F) -> F:
    function = option("--user", is_flag=True, help="Only skills that are installed for you.")(function)
    return option("--project", is_flag=True, help="Only skills that are installed in this project.")(function)


def access_options(function: F) -> F:
    function = option("--allow-old-index", is_flag=True,
                            help="Accept a site's index of version 0.1.0, which has no digests.")(function)  # fmt: skip
    function = option("--allow-file", is_flag=True, help="Allow git repositories by file:// URL.")(function)
    function = option("--no-cooldown", is_flag=True, help="Also take versions that install.cooldown holds back.")(function)
    function = option("--insecure-http", is_flag=True, help="Allow unencrypted http.")(function)
    function = option("--header", "headers", multiple=True, metavar="'NAME: VALUE'",
                            help="Send this header to the host you name; repeatable.")(function)  # fmt: skip
    return option("--offline", is_flag=True, help="Use the cache only, not the network.")(function)


def chosen_stores(app: App, *, project: bool, user: bool) -> list[SkillStore]:
    """Returns the store that the options name; without options every store that has a lock, the project's first."""
    return app.installation.stores(project=chosen_scope(project=project, user=user))


def grouped_stores(app: App, names: Sequence[str], *, project: bool, user: bool) -> list[tuple[SkillStore, list[str]]]:
    """Returns the chosen stores with their share of the names. Raises NotFoundError if no skills are installed."""
    with explain_not_installed(app, names):
        groups = group_by_store(chosen_stores(app, project=project, user=user), names)
    if not groups:
        raise NotFoundError("no skills are installed", hint="see `metier skill install --help`")
    return groups


@contextmanager
def explain_not_installed(app: App, names: Sequence[str]) -> Iterator[None]:
    """Replaces "no skill is named" for a skill that is here and was not installed: bundled, or in a folder of its own."""
    try:
        yield
    except SkillNotFoundError:
        installed = {entry.name for store in app.installation.stores() for entry in store.lock()}
        for entry in (found for name in names if name not in installed and (found := app.catalog.get(name))):
            if entry.source == "bundled":
                raise RefusedError(
                    f"{entry.name} is bundled with metier, not installed",
                    rule="bundled",
                    hint="a new version of metier updates it",
                ) from None
            raise RefusedError(
                f"{entry.name} was not installed: it is {entry.folder}", rule="not-installed",
                hint="change it there; this command is for skills from `metier install`",
            ) from None  # fmt: skip
        raise


def chosen_scope(*, project: bool, user: bool) -> bool | None:
    """Returns True for --project, False for --user, None for neither."""
    if project and user:
        raise UsageError("--project and --user cannot be combined", hint="give one of them, or none for both scopes")
    return True if project else False if user else None


def chosen_edits(*, force: bool, keep: bool) -> Edits:
    if force and keep:
        raise UsageError("--force and --keep cannot be combined", hint="--keep saves the edited version as NAME.orig")
    return Edits.KEEP if keep else Edits.OVERWRITE if force else Edits.REFUSE


def entry_row(entry: LockEntry, store: SkillStore) -> dict[str, Any]:
    """Returns the JSON of one installed skill: its lock entry without the hashes."""
    origin = entry.origin
    return {
        "name": entry.name, "scope": store.scope.level, "folder": store.folder_of(entry), "source": origin.kind,
        "url": origin.url, "path": origin.path, "ref": origin.ref, "commit": origin.commit, "version": entry.version,
        "digest": entry.digest, "targets": list(entry.targets), "mode": entry.mode, "pinned": entry.pinned,
        "installed": entry.installed, "asked": entry.asked, "dependencies": list(entry.dependencies),
        "capabilities": entry.capabilities.row() if entry.capabilities is not None else None,
    }  # fmt: skip


def step_row(step: InstallStep) -> dict[str, Any]:
    return {slot: getattr(step, slot) for slot in step.__slots__}


def result_row(*results: InstallResult) -> dict[str, Any]:
    """Returns the JSON of the steps, and of the folders that were saved before they were replaced."""
    return {
        "steps": [step_row(step) for result in results for step in result.steps],
        "kept": [{"from": source, "to": kept} for result in results for source, kept in result.saved],
    }


def step_lines(result: InstallResult, terminal: Terminal, home: str) -> Iterator[str]:
    """One line for each step; unchanged paths only if they have a note."""
    for step in result.steps:
        if step.verb is Verb.KEEP and not step.note:
            continue
        sign, style = _SIGNS[step.verb]
        where = shorten(step.path, home) + (f" -> {step.target}" if step.target else "")
        note = f"  ({step.note})" if step.note and step.note not in where else ""
        name = terminal.paint(one_line(step.name), "bold")
        yield f"{terminal.paint(sign, style)} {step.verb:<8} {name}  {one_line(where + note)}"


def capability_lines(result: InstallResult, terminal: Terminal) -> Iterator[str]:
    """Yields what each new or changed skill can do: at most four lines, and one for each if there are many skills."""
    names = dict.fromkeys((*result.changed, *result.agreed))
    listed = [(name, entry.capabilities) for name in names if (entry := result.lock.get(name)) and entry.capabilities]
    is_short = len(listed) > _MOST_LISTED
    for name, capabilities in listed:
        lines = capabilities.lines(_MOST_NAMED if is_short else _MOST_SHOWN)
        for line in ["; ".join(lines)] if is_short else lines:
            yield f"  {terminal.paint(one_line(name), 'bold')} {terminal.paint(one_line(line), 'dim')}"


def enumerated(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return ", ".join(words[:_MOST_WORDS]) + more


def project_phrase(app: App, *scopes: InstallScope) -> str:
    """Names the projects, if one of them is not the current folder but was found above it; else empty."""
    roots = [scope.root for scope in scopes if scope.level is ScopeLevel.PROJECT]
    if all(root == app.folder for root in roots):
        return ""
    names = ", ".join(one_line(shorten(root, app.paths.user_home)) for root in roots)
    return f" in the project{'s' if len(roots) > 1 else ''} {names}"


def saved_lines(result: InstallResult, home: str) -> Iterator[str]:
    for source, kept in result.saved:
        yield one_line(f"Kept {shorten(source, home)} as {shorten(kept, home)}")


@contextmanager
def fetch_progress() -> Iterator[Progress]:
    """Shows a progress bar for each source, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, SpinnerColumn, TaskID, TextColumn
    from rich.progress import Progress as Bars

    bars = Bars(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
                console=Console(stderr=True), transient=True)  # fmt: skip
    tasks: dict[str, TaskID] = {}

    def show(progress: FetchProgress) -> None:
        ref = one_line(progress.ref)
        if progress.ref not in tasks:
            tasks[progress.ref] = bars.add_task(ref, total=None)
        bars.update(tasks[progress.ref], completed=progress.done, total=progress.total, description=f"{progress.stage} {ref}")
        if progress.stage in (FetchStage.DONE, FetchStage.FAILED):
            bars.remove_task(tasks.pop(progress.ref))

    with bars:
        _running_bars.append(bars)
        try:
            yield show
        finally:
            _running_bars.remove(bars)


_running_bars: list[Any] = []  # Any: rich's Progress, which is only imported on a terminal


@contextmanager
def pause_progress() -> Iterator[None]:
    """Hides the progress bars while a question is on the terminal."""
    for bars in _running_bars:
        bars.stop()
    try:
        yield
    finally:
        for bars in _running_bars:
            bars.start()


def access_of(
    app: App,
    *,
    offline: bool,
    headers: Sequence[str] = (),
    insecure_http: bool = False,
    allow_file: bool = False,
    allow_old_index: bool = False,
    full_depth: bool = False,
    no_cooldown: bool = False,
) -> Access:
    return app.installation.access(
        with_cooldown=not no_cooldown,
        offline=offline, headers=headers, insecure=insecure_http, allow_file=allow_file, old_index=allow_old_index,
        full_depth=full_depth,
    )  # fmt: skip


def _has_requests(app: App, names: Sequence[str]) -> bool:
    """Looks for transcripts, and for evals of the user's other skills, without any import that an install does not need."""
    if app.settings.boolean("stats.transcripts") and has_transcripts(app.paths.user_home, app.environment):
        return True
    own_roots = (root for root in app.installation.skill_roots if root != app.installation.bundled_dir and os.path.isdir(root))
    skills = (os.path.join(root, name) for root in own_roots for name in os.listdir(root) if name not in names)
    return any(os.path.isdir(os.path.join(skill, "evals")) for skill in skills)


def takeover_notes(app: App, *results: InstallResult) -> tuple[str, ...]:
    """Says which of the user's requests new or changed skills take from others, or would. Never fails the command."""
    names = [name for result in results if result.done or result.planned for name in result.changed]
    if not names or not app.settings.boolean("install.compare_requests"):
        return ()
    try:
        if not _has_requests(app, names):
            return ()
        planned = {folder: text for result in results for folder, text in _planned_documents(result)}
        recent = app.recent_requests
        found = recent.planned_takeovers(planned) if planned else recent.takeovers(names, is_quick=True)
        sentences = found.sentences()
    except (MetierError, OSError):
        return ()
    more = ("`metier skill conflicts` shows the requests",) if sentences and not found.is_planned else ()
    return (*map(one_line, sentences[:_MOST_TAKEOVERS]), *more)


def _planned_documents(result: InstallResult) -> Iterator[tuple[str, bytes]]:
    """Yields the folders that a plan writes, each with its new SKILL.md."""
    folders = {step.name: step.path for step in result.steps if step.verb in (Verb.INSTALL, Verb.UPDATE)}
    for skill in result.planned:
        if skill.name in folders:
            yield folders[skill.name], skill.files_to_write.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)


def prepare_after(
    app: App, result: InstallResult, *, offline: bool, can_ask: bool
) -> tuple[list[tuple[str, PreparedPackages]], list[str]]:
    """Prepares the packages of what was installed, if the user allows it. Returns them, and notes about the rest."""
    if not result.done or result.declined:
        return [], []
    store = SkillStore(result.scope)
    if not any(_declares_packages(app, store, result, name) for name in result.names or result.changed):
        return [], []
    # Imported here: most skills declare no packages, and this needs what runs scripts.
    from .package_prompts import prepare_installed

    return prepare_installed(app, store, result, offline=offline, can_ask=can_ask)


def with_packages(result: Result, prepared: Sequence[tuple[str, PreparedPackages]]) -> Result:
    """Returns the result with the packages that were prepared."""
    if not prepared:
        return result
    from .package_prompts import prepared_lines

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from result.lines(terminal)
        for name, one in prepared:
            yield from prepared_lines(name, one, terminal)

    rows = [{"name": name, "path": one.declared.path, "changes": list(one.changes)} for name, one in prepared]
    return replace(result, data={**result.data, "packages": rows}, lines=lines)


def _declares_packages(app: App, store: SkillStore, result: InstallResult, name: str) -> bool:
    entry = result.lock.get(name)
    if entry is None or not any(path.endswith((".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")) for path in entry.files):
        return False
    try:
        return bool(app.packages.skills.declared(store.folder_of(entry)))
    except MetierError:
        return True
