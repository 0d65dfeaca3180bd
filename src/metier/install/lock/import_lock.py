"""Installs what a lock of another installer pins, through an ordinary installation.

A skill is taken at the branch or tag that the lock names, so that it can be updated later. If its source has moved on since, it
is taken at the commit that the lock pins; if the lock has only a hash, the skill is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from metier.archive import Contents, read_contents
from metier.errors import RefusedError
from metier.install.fetch.repository import FoundSkill
from metier.install.options import InstallOptions, InstallResult
from metier.install.prepare import PreparedSkill
from metier.values import replace

from .foreign_hashes import matches_hash
from .foreign_locks import ForeignLock, LockedRef

__all__ = ["import_lock"]


def import_lock(
    lock: ForeignLock,
    install: Callable[[tuple[str, ...], InstallOptions], InstallResult],
    options: InstallOptions = InstallOptions(),  # noqa: B008 - frozen
    *,
    accept_changed: bool = False,
) -> InstallResult:
    """Installs the skills of a lock with `install`. Raises RefusedError if a source no longer has what the lock pins."""
    names = frozenset(one.name for one in lock.skills)

    def choose(offered: tuple[FoundSkill, ...]) -> Iterable[FoundSkill]:
        # A folder or package with several skills, of which the lock names some.
        return [one for one in offered if one.name in names or one.declared in names] or offered

    at_commit: frozenset[str] = frozenset()
    while True:
        pins = {one.at_commit if one.ref in at_commit else one.ref: one for one in lock.skills}
        check = None if accept_changed else _PinCheck(lock.skills, at_commit)
        try:
            result = install(tuple(pins), replace(options, choose=choose, check=check))
        except _MovedError as moved:
            at_commit |= moved.refs
            continue
        return replace(result, notes=(*lock.notes, *result.notes))


class _MovedError(Exception):
    """Some sources have moved on, and their commits are known."""

    def __init__(self, refs: Iterable[str]) -> None:
        super().__init__()
        self.refs = frozenset(refs)


class _PinCheck:
    def __init__(self, locked: Sequence[LockedRef], at_commit: frozenset[str]) -> None:
        self._by_name = {(one.ref, one.name): one for one in locked}
        self._by_name |= {(one.at_commit, one.name): one for one in locked if one.ref in at_commit}
        self._by_ref = {ref: one for (ref, _), one in self._by_name.items()}

    def __call__(self, skills: Sequence[PreparedSkill]) -> None:
        moved: list[str] = []
        for skill in skills:
            asked = skill.entry.asked
            pin = self._by_name.get((asked, skill.name)) or self._by_ref.get(asked)
            if pin is None or _fits(skill, pin):
                continue
            if not pin.at_commit or asked == pin.at_commit:
                raise RefusedError(
                    f"the source of {skill.name} has other files now than the lock pins", rule="pinned",
                    hint="--accept-changed installs the files that the source has now",
                )  # fmt: skip
            moved.append(pin.ref)
        if moved:
            raise _MovedError(moved)


def _fits(skill: PreparedSkill, pin: LockedRef) -> bool:
    if pin.commit and skill.entry.origin.commit == pin.commit:
        return True
    if not pin.hash:
        return not pin.commit
    files = skill.files if isinstance(skill.files, Contents) else read_contents(skill.files)
    return matches_hash(files, pin.hash)
