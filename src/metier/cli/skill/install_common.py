"""What the commands about installed skills share: which scope, what to fetch with, and how a plan looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from click import option

from metier.app import App
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import SkillNotFoundError, UsageError
from metier.install.fetch.job import Access, FetchStage, Progress
from metier.install.fetch.job import FetchProgress as Arrival
from metier.install.lock.lock_file import LockEntry
from metier.install.store import InstallResult, SkillStore
from metier.install.targets.scope import ScopeLevel
from metier.install.transaction.steps import InstallStep, Verb

__all__ = [
    "access_options",
    "chosen_stores",
    "entry_row",
    "fetch_progress",
    "owner_of",
    "scope_options",
    "step_lines",
    "step_row",
]

F = TypeVar("F", bound=Callable[..., Any])
_SIGNS = {
    Verb.INSTALL: ("+", "green"), Verb.UPDATE: ("~", "yellow"), Verb.LINK: ("+", "green"), Verb.COPY: ("+", "green"),
    Verb.SAVE: ("=", "cyan"), Verb.REMOVE: ("-", "red"), Verb.UNLINK: ("-", "red"), Verb.KEEP: (" ", "dim"),
    Verb.CONFLICT: ("!", "red"),
}  # fmt: skip


def scope_options(function: F) -> F:
    function = option("--user", is_flag=True, help="Only what you installed for yourself.")(function)
    return option("--project", is_flag=True, help="Only what is installed in this project.")(function)


def access_options(function: F) -> F:
    function = option("--allow-old-index", is_flag=True,
                            help="Also read a site's index of version 0.1.0, which has no digests.")(function)  # fmt: skip
    function = option("--insecure-http", is_flag=True, help="Allow http without encryption.")(function)
    function = option("--header", "headers", multiple=True, metavar="'NAME: VALUE'",
                            help="Send this to the address you named; repeatable.")(function)  # fmt: skip
    return option("--offline", is_flag=True, help="Use the cache, and ask nobody.")(function)


def chosen_stores(app: App, *, project: bool, user: bool) -> list[SkillStore]:
    """The locks a command is about: the one that was named, else every one that is here, the project's first."""
    if project and user:
        raise UsageError("--project and --user exclude each other", hint="give one of them, or none for both")
    levels = [ScopeLevel.PROJECT] if project else [ScopeLevel.USER] if user else [ScopeLevel.PROJECT, ScopeLevel.USER]
    stores = [app.installation.store(level) for level in levels]
    return stores if len(stores) == 1 else [store for store in stores if store.exists]


def owner_of(stores: Sequence[SkillStore], name: str) -> SkillStore:
    """The store that has a skill; the first, if two have."""
    known: list[str] = []
    for store in stores:
        lock = store.lock()
        if name in lock:
            return store
        known += lock.skills
    raise SkillNotFoundError(
        name, known=known, hint="" if known else "nothing is installed yet; see `metier skill install --help`"
    )


def entry_row(entry: LockEntry, store: SkillStore) -> dict[str, Any]:
    """One installed skill for a program: what the lock knows, without the hashes."""
    origin = entry.origin
    return {
        "name": entry.name, "scope": store.scope.level, "folder": store.folder_of(entry), "source": origin.kind,
        "url": origin.url, "path": origin.path, "ref": origin.ref, "commit": origin.commit, "version": entry.version,
        "digest": entry.digest, "targets": list(entry.targets), "mode": entry.mode, "pinned": entry.pinned,
        "installed": entry.installed, "asked": entry.asked, "dependencies": list(entry.dependencies),
    }  # fmt: skip


def step_row(step: InstallStep) -> dict[str, Any]:
    return {slot: getattr(step, slot) for slot in step.__slots__}


def step_lines(outcome: InstallResult, terminal: Terminal, home: str) -> Iterator[str]:
    """The plan, one line a step; what stays as it is only where there is something to say about it."""
    for step in outcome.steps:
        if step.verb is Verb.KEEP and not step.note:
            continue
        sign, style = _SIGNS[step.verb]
        where = short(step.path, home) + (f" -> {step.target}" if step.target else "")
        note = f"  ({step.note})" if step.note and step.note not in where else ""
        name = terminal.paint(one_line(step.name), "bold")
        yield f"{terminal.paint(sign, style)} {step.verb:<8} {name}  {one_line(where + note)}"


def short(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


@contextmanager
def fetch_progress() -> Iterator[Progress]:
    """One bar for each source on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, SpinnerColumn, TaskID, TextColumn
    from rich.progress import Progress as Bars

    bars = Bars(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
                console=Console(stderr=True), transient=True)  # fmt: skip
    tasks: dict[str, TaskID] = {}

    def tell(step: Arrival) -> None:
        if step.ref not in tasks:
            tasks[step.ref] = bars.add_task(one_line(step.ref), total=None)
        bars.update(tasks[step.ref], completed=step.done, total=step.total, description=f"{step.stage} {one_line(step.ref)}")
        if step.stage in (FetchStage.DONE, FetchStage.FAILED):
            bars.remove_task(tasks.pop(step.ref))

    with bars:
        global_bars.append(bars)
        try:
            yield tell
        finally:
            global_bars.remove(bars)


global_bars: list[Any] = []  # Any: rich's Progress, which is only imported on a terminal


@contextmanager
def quiet_bars() -> Iterator[None]:
    """A question and a moving bar cannot share a terminal."""
    for bars in global_bars:
        bars.stop()
    try:
        yield
    finally:
        for bars in global_bars:
            bars.start()


def access_of(
    app: App, *, offline: bool, headers: Sequence[str], insecure_http: bool, allow_old_index: bool = False,
    full_depth: bool = False,
) -> Access:  # fmt: skip
    return app.installation.access(
        offline=offline, headers=headers, insecure=insecure_http, old_index=allow_old_index, full_depth=full_depth
    )
