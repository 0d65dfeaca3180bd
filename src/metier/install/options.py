"""The options and results of the install use cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from metier.values import dataclass, field, replace

from .targets.scope import InstallMode, InstallScope
from .transaction.steps import Edits, InstallStep, Verb

if TYPE_CHECKING:
    from metier.errors import RefusedError
    from metier.spec import Capabilities

    from .fetch.job import Choose
    from .lock.lock_file import Lock, LockEntry
    from .prepare import PreparedSkill

__all__ = ["ConflictAction", "ConflictAnswer", "InstallOptions", "InstallResult", "VersionAction"]


class ConflictAction(StrEnum):
    SKIP = "skip"
    """Do not install this skill; install the others."""
    KEEP = "keep"
    """Take the new version and keep the edited one as NAME.orig."""
    OVERWRITE = "overwrite"
    """Take the new version and discard the edits."""
    REPLACE = "replace"
    """Replace the skill or folder that has the name."""
    RENAME = "rename"
    """Install under another name."""


class VersionAction(StrEnum):
    """The ways to install a lower version of an installed skill."""

    SIDE_BY_SIDE = "side-by-side"
    """Install it beside the installed one."""
    REPLACE = "replace"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictAnswer:
    action: ConflictAction
    name: str = ""
    """The new name, for RENAME."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """The choices of one installation. The callbacks put questions to a person; without them a question is an error."""

    skills: tuple[str, ...] = ()
    """Names of the skills to take from a source that offers several."""
    take_all: bool = False
    """Take every skill of the source."""
    name: str | None = None
    """Install the one skill under this name."""
    side_by_side: bool = False
    """Keep the installed version of a skill, and install this one beside it."""
    git_ref: str | None = None
    """A branch, tag or commit for refs that name none."""
    targets: tuple[str, ...] = ()
    """Agents that should see the skills, by name; `all-detected` for those on this machine, `none` for metier alone."""
    default_targets: tuple[str, ...] = ()
    """Agents for skills that are not installed yet, if `targets` is empty. An installed skill keeps its own."""
    mode: InstallMode = InstallMode.LINK
    edits: Edits = Edits.REFUSE
    force: bool = False
    """Replace a skill or folder that metier did not install from the same origin."""
    unsafe: bool = False
    """Install without a scan."""
    dependencies: bool = True
    """Also install the skills that these depend on."""
    frozen: bool = False
    """Refuse any change to the lock, and any difference from it."""
    dry_run: bool = False
    choose: Choose | None = field(default=None, compare=False)
    """Picks from several skills. None: AmbiguousError."""
    choose_targets: Callable[[Sequence[str]], tuple[str, ...]] | None = field(default=None, compare=False)
    """Picks the agents for these new skills, if `targets` is empty. None: `default_targets`."""
    confirm: Callable[[InstallResult], bool] | None = field(default=None, compare=False)
    """Is given the plan, and decides whether it is carried out. None: it is."""
    check: Callable[[Sequence[PreparedSkill]], None] | None = field(default=None, compare=False)
    """Is given all skills before a question is asked or a file is written, and raises to refuse them."""
    complete: Callable[[Mapping[str, tuple[str, ...]]], bool] | None = field(default=None, compare=False)
    """Is given skills of the same source that the text of a chosen one names, and decides whether they are installed too.
    None: a note names them."""
    approve: Callable[[Sequence[PreparedSkill]], bool] | None = field(default=None, compare=False)
    """Decides about skills that need review. None: only blocked skills are refused."""
    accept_wider: Callable[[str, Capabilities], bool] | None = field(default=None, compare=False)
    """Is given an installed skill, and what its new version wants beyond the list of the installed one. None: it is refused."""
    accept_new: Callable[[RefusedError], bool] | None = field(default=None, compare=False)
    """Decides about a version that is younger than the cool-down. None: it is refused."""
    resolve_conflict: Callable[[InstallStep], ConflictAnswer] | None = field(default=None, compare=False)
    """Decides about one conflict. None: ConflictError."""
    resolve_version: Callable[[LockEntry, LockEntry], VersionAction] | None = field(default=None, compare=False)
    """Is given an installed skill and a lower version of it. None: REPLACE."""
    edits_by_name: Mapping[str, Edits] = field(default_factory=dict)
    """Overrides `edits` for single skills."""
    force_names: frozenset[str] = frozenset()
    """Sets `force` for single skills."""

    def without_questions(self) -> InstallOptions:
        return replace(
            self,
            choose=None,
            choose_targets=None,
            complete=None,
            approve=None,
            confirm=None,
            resolve_conflict=None,
            resolve_version=None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenSkill:
    """A skill that an installed one of the same name hides."""

    name: str
    source: str
    """Such as `bundled` or `user`."""
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    steps: tuple[InstallStep, ...]
    lock: Lock
    """The lock after the steps."""
    scope: InstallScope
    names: tuple[str, ...] = ()
    """The skills this was about."""
    saved: tuple[tuple[str, str], ...] = ()
    """Folders that were copied before they were replaced, as (from, to)."""
    done: bool = True
    """False for a dry run."""
    planned: tuple[PreparedSkill, ...] = field(default=(), compare=False, repr=False)
    """The skills of a dry run of an installation, with their files."""
    notes: tuple[str, ...] = ()
    signed_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The signers of the skills whose sources demand signatures."""
    hides: tuple[HiddenSkill, ...] = ()
    """Other skills of the same names that are no longer used."""
    agreed: tuple[str, ...] = ()
    """Skills of a project whose lists the user is shown for the first time."""
    declined: bool = False
    """True if the user answered a question so that nothing is left to install."""

    @property
    def has_conflicts(self) -> bool:
        return any(step.verb is Verb.CONFLICT for step in self.steps)

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the skills whose files were written."""
        return tuple(dict.fromkeys(step.name for step in self.steps if step.verb in (Verb.INSTALL, Verb.UPDATE)))
