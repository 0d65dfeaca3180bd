"""The questions of `metier skill install` on a terminal: where, which skills and agents, and what to do about a conflict."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

import click

from metier.app import App
from metier.cli.core.questions import Choice, ask_many, ask_one, ask_text, ask_yes_no, can_ask
from metier.cli.core.terminal import Terminal, one_line, pad, shorten, truncate
from metier.errors import RefusedError
from metier.hosts import detect_hosts
from metier.install import (
    ConflictAction,
    ConflictAnswer,
    FoundSkill,
    InstallOptions,
    InstallResult,
    InstallScope,
    InstallStep,
    LockEntry,
    PreparedSkill,
    ScopeLevel,
    StepReason,
    VersionAction,
)
from metier.spec import Capabilities, is_name
from metier.values import dataclass, field, replace

from .install_common import capability_lines, enumerated, pause_progress, step_lines, takeover_notes

__all__ = ["InstallQuestions", "wider_prompt", "with_prompts"]

_PROJECT_MARKS = (".git", ".hg", ".jj", ".metier", ".agents", ".claude", "metier.lock")
_TITLE_WIDTH = 100
_ACTIONS = {
    ConflictAction.SKIP: "Skip it",
    ConflictAction.RENAME: "Install the new one under another name",
    ConflictAction.REPLACE: "Replace the installed one",
    ConflictAction.KEEP: "Install the new version, and keep yours as NAME.orig",
    ConflictAction.OVERWRITE: "Install the new version, and discard your edits",
}


def with_prompts(options: InstallOptions) -> InstallOptions:
    """Adds the questions that every installation has, if there is a terminal to ask them on."""
    if not can_ask():
        return options
    return replace(options, choose=choose, complete=complete, approve=approve, accept_new=accept_new,
                   resolve_conflict=resolve_conflict, resolve_version=resolve_version)  # fmt: skip


def wider_prompt(*, yes: bool) -> Callable[[str, Capabilities], bool] | None:
    """Returns the question about a new version that wants more; with `yes` the answer, without a terminal nothing."""
    if yes:
        return lambda _name, _wider: True
    return accept_wider if can_ask() else None


@dataclass(kw_only=True)
class InstallQuestions:
    """The questions about scope and agents, and the plan that is shown before it is carried out."""

    app: App
    chosen_targets: tuple[str, ...] | None = None
    """The answer about the agents, to be remembered; None if that was not asked."""
    is_plan_shown: bool = False
    always_confirm: bool = False
    """Ask about the plan even if nothing else was asked."""
    _asked: bool = field(default=False)

    def ask_scope(self) -> bool:
        """Asks whether the skills are for this project only, if the current folder is in one."""
        folder, home = self.app.paths.install_project, self.app.paths.user_home
        marks = (os.path.join(folder, name) for name in _PROJECT_MARKS)
        if os.path.realpath(folder) == os.path.realpath(home) or not any(map(os.path.exists, marks)):
            return False
        self._asked = True
        choices = (
            Choice(value="user", title="Everywhere, for you"),
            Choice(value="project", title=f"Only in this project ({one_line(shorten(folder, home))})"),
        )
        return ask_one("Where will you use it?", choices) == "project"

    def add_to(self, options: InstallOptions, level: ScopeLevel) -> InstallOptions:
        """Returns the options with these questions; agents are asked for only if none are named."""
        scope = self.app.installation.scope(level)
        options = replace(options, choose=self._choose, confirm=self._confirm)
        return options if options.targets else replace(options, choose_targets=lambda names: self._targets(names, scope))

    def _choose(self, offered: tuple[FoundSkill, ...]) -> Sequence[FoundSkill]:
        self._asked = True
        return choose(offered)

    def _targets(self, names: Sequence[str], scope: InstallScope) -> tuple[str, ...]:
        default = self.app.installation.default_targets(scope.level)
        known = dict.fromkeys((*default, *sorted(detect_hosts(scope.home, scope.environment))))
        folders = {name: folder for name in known if (folder := scope.folder_of(name))}
        if not folders:
            return ()
        self._asked = True
        width = max(map(len, folders))
        choices = [
            Choice(value=name, title=f"{pad(name, width)}  {shorten(folder, scope.home)}", checked=name in default)
            for name, folder in folders.items()
        ]
        with pause_progress():
            answer = ask_many(f"Which agents should see {_named(names)}, besides metier?", choices)
        self.chosen_targets = answer
        return answer

    def _confirm(self, plan: InstallResult) -> bool:
        if not (self._asked or self.always_confirm):
            return True
        with pause_progress():
            terminal = Terminal.of(sys.stderr)
            for line in (*step_lines(plan, terminal, self.app.paths.user_home), *capability_lines(plan, terminal)):
                click.echo(line, err=True)
            for note in takeover_notes(self.app, plan):
                click.echo(note, err=True)
            self.is_plan_shown = True
            return ask_yes_no("Install?", default=True)


def choose(offered: tuple[FoundSkill, ...]) -> Sequence[FoundSkill]:
    """Asks which skills to install."""
    width = max(len(one.name) for one in offered)
    choices = [
        Choice(
            value=one.path or one.name,
            title=f"{pad(one_line(one.name), width)}  {truncate(one_line(one.description), max(20, _TITLE_WIDTH - width))}",
        )
        for one in offered
    ]
    with pause_progress():
        answer = ask_many("Which skills?", choices, least=1)
    return [one for one in offered if (one.path or one.name) in answer]


def complete(named: Mapping[str, tuple[str, ...]]) -> bool:
    """Asks whether to install the skills that the text of others names."""
    with pause_progress():
        for name, others in named.items():
            click.echo(one_line(f"The text of {name} names {', '.join(others)}, which the same source has."), err=True)
        count = len({other for others in named.values() for other in others})
        return ask_yes_no(f"Install {'it' if count == 1 else 'them'} too?", default=True)


def approve(skills: Sequence[PreparedSkill]) -> bool:
    """Shows the scan reports of the skills that need review, and asks whether to go on."""
    # Imported here: most skills need no review.
    from .scan import report_lines

    terminal = Terminal.of(sys.stderr)
    with pause_progress():
        for skill in skills:
            if skill.scanned is not None and skill.needs_review:
                for line in report_lines(skill.name, skill.entry.asked, skill.scanned, terminal):
                    click.echo(line, err=True)
        return ask_yes_no("Install anyway?", default=False)


def accept_wider(name: str, wider: Capabilities) -> bool:
    with pause_progress():
        click.echo(one_line(f"{name} wants more than its installed version; new: {enumerated(wider.words())}"), err=True)
        return ask_yes_no("Install the new version?", default=False)


def accept_new(refusal: RefusedError) -> bool:
    with pause_progress():
        return ask_yes_no(f"{one_line(str(refusal))}. Install it anyway?", default=False)


def resolve_conflict(conflict: InstallStep) -> ConflictAnswer:
    is_edited = conflict.reason is StepReason.EDITED
    more = (ConflictAction.KEEP, ConflictAction.OVERWRITE) if is_edited else (ConflictAction.RENAME, ConflictAction.REPLACE)
    with pause_progress():
        click.echo(f"{conflict.name}: {one_line(conflict.note)}", err=True)
        choices = [Choice(value=action, title=_ACTIONS[action]) for action in (ConflictAction.SKIP, *more)]
        action = ConflictAction(ask_one("What should happen?", choices))
        name = ask_text("New name", check=_check_name) if action is ConflictAction.RENAME else ""
    return ConflictAnswer(action=action, name=name)


def resolve_version(installed: LockEntry, new: LockEntry) -> VersionAction:
    titles = {
        VersionAction.SIDE_BY_SIDE: f"Keep both: {new.name} is {installed.version}, {new.name}@{new.version} is the other",
        VersionAction.REPLACE: f"Replace {installed.version} with {new.version}",
        VersionAction.SKIP: f"Keep only {installed.version}",
    }
    with pause_progress():
        choices = [Choice(value=action, title=one_line(title)) for action, title in titles.items()]
        question = f"{installed.name} {installed.version} is installed, and {new.version} is lower. What should happen?"
        return VersionAction(ask_one(one_line(question), choices))


def _check_name(text: str) -> str:
    return "" if is_name(text.strip()) else "use a-z, 0-9 and single hyphens"


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"these {len(names)} skills"
