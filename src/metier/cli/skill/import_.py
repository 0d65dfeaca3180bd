"""`metier skill import`: installs what the lock of another installer pins."""

from __future__ import annotations

import os

from click import argument, option

from metier.app import App
from metier.cli.completion import target_names
from metier.cli.core.dispatch import command
from metier.cli.core.questions import can_ask
from metier.cli.core.result import Result
from metier.errors import ConfigError, NotFoundError, RefusedError
from metier.install import (
    ForeignLockFormat,
    InstallOptions,
    InstallResult,
    ScopeLevel,
    import_lock,
    read_foreign_lock,
)
from metier.sources import read_regular
from metier.values import replace

from .install import install_result
from .install_common import (
    access_of,
    access_options,
    chosen_edits,
    chosen_scope,
    fetch_progress,
    prepare_after,
    scope_options,
    with_packages,
)
from .install_prompts import InstallQuestions, with_prompts

__all__ = ["import_file"]

_LARGEST = 8 * 1024 * 1024


@command("skill", "import")
@argument("file")
@option("--accept-changed", is_flag=True, help="Also install skills whose source has changed since the lock was written.")
@option("--target", "targets", multiple=True, shell_complete=target_names, help="Agents that should see the skills.")
@option("--force", is_flag=True, help="Replace other skills of the same names, and edited ones.")
@option("--keep", is_flag=True, help="Replace edited skills, and keep the edited version as NAME.orig.")
@option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@option("-y", "--yes", is_flag=True, help="Ask no questions.")
@scope_options
@access_options
def import_file(
    app: App, *, file: str, accept_changed: bool, targets: tuple[str, ...], force: bool, keep: bool, dry_run: bool, yes: bool,
    project: bool, user: bool, offline: bool, headers: tuple[str, ...], insecure_http: bool, allow_file: bool,
    allow_old_index: bool, no_cooldown: bool,
) -> Result:  # fmt: skip
    """Install what the lock of another installer pins.

    FILE is `skills-lock.json` or `.skill-lock.json` of npm's `skills` and of `gh skill`, or `apm.lock.yaml`. Skills come at the
    commit or with the hash that it pins; one whose source has other files now is refused. A lock of a project is installed
    into the project, your own for you. FILE does not change; `metier skill export --as skills-lock` writes it again.

    On a terminal the plan is shown before anything is written.
    """
    lock = read_foreign_lock(_read(app, file), file=os.path.join(app.folder, os.path.expanduser(file)))
    if not lock.skills:
        raise NotFoundError(f"{file} has no skills to install", hint="; ".join(lock.notes[:3]) or "its list is empty")
    scope = chosen_scope(project=project, user=user)
    if scope is None:
        scope = lock.format is not ForeignLockFormat.SKILL_LOCK
    options = InstallOptions(targets=targets, edits=chosen_edits(force=force, keep=keep), force=force, dry_run=dry_run)
    questions = InstallQuestions(app=app, always_confirm=True) if can_ask() and not yes and not dry_run else None
    if questions:
        options = questions.add_to(with_prompts(options), ScopeLevel.PROJECT if scope else ScopeLevel.USER)
    access = access_of(
        app, offline=offline, headers=headers, insecure_http=insecure_http, allow_file=allow_file,
        allow_old_index=allow_old_index, no_cooldown=no_cooldown,
    )  # fmt: skip
    with fetch_progress() as progress:

        def install(refs: tuple[str, ...], chosen: InstallOptions) -> InstallResult:
            return app.install(*refs, project=scope, options=chosen, access=access, progress=progress)

        result = import_lock(lock, install, options, accept_changed=accept_changed)
    if questions and questions.chosen_targets is not None and result.done:
        app.installation.remember_targets(questions.chosen_targets)
    prepared, notes = prepare_after(app, result, offline=offline, can_ask=questions is not None)
    result = replace(result, notes=(*result.notes, *notes))
    return with_packages(install_result(app, result, with_steps=not (questions and questions.is_plan_shown)), prepared)


def _read(app: App, file: str) -> str:
    path = os.path.join(app.folder, os.path.expanduser(file))
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise NotFoundError(f"{file} does not exist", hint="name skills-lock.json, .skill-lock.json or apm.lock.yaml") from None
    except IsADirectoryError:
        raise NotFoundError(f"{file} is a folder", hint=f"install the skills in it: metier skill install {file}") from None
    if len(data) > _LARGEST:
        raise RefusedError(f"{file} is larger than {_LARGEST:,} bytes", rule="lock-size", hint="check that it is a lock")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError("it is not UTF-8 text", file=file, hint="check that it is a lock") from error
