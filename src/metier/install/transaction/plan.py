"""Plans an installation: wanted, locked and on disk -> steps. Pure: it looks nothing up.

The rules: what is up to date stays. An unedited skill is replaced. What was edited is replaced only by a
newer version, merged or as the user chose. What metier did not install, or installed from another origin, is a conflict,
even if its files are the same: the lock would name another source, from which the next update comes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

from metier.install.lock.lock_file import Hashes

from .state import PathKind, PathState
from .steps import Edits, InstallStep, PlacedSkill, StepReason, Verb, WantedSkill

__all__ = ["edited_files", "plan"]

_ABSENT = PathState(kind=PathKind.ABSENT)


def plan(
    wanted: Sequence[WantedSkill],
    locked: Mapping[str, PlacedSkill],
    on_disk: Mapping[str, PathState],
    *,
    remove: Collection[str] = (),
) -> tuple[InstallStep, ...]:
    """Returns the steps from the current to the wanted state. `remove` names skills to remove."""
    steps: list[InstallStep] = []
    taken: dict[str, WantedSkill] = {}
    for want in wanted:
        name = want.placed.entry.name
        other = taken.setdefault(name, want)
        if other is not want:
            note = f"both {_source(other.placed)} and {_source(want.placed)} have this name"
            steps.append(
                InstallStep(verb=Verb.CONFLICT, name=name, path=want.placed.folder, reason=StepReason.TWICE, note=note)
            )
            continue
        steps += _placing(want, locked.get(name), on_disk)
    for name in sorted(remove):
        steps += _removing(locked[name], on_disk)
    return tuple(steps)


def edited_files(base: Hashes, now: Hashes) -> tuple[str, ...]:
    """Returns the edited files as `M path`, `A path`, `D path`."""
    paths = sorted(base.keys() | now.keys())
    letter = {path: "A" if path not in base else "D" if path not in now else "M" for path in paths}
    return tuple(f"{letter[path]} {path}" for path in paths if base.get(path) != now.get(path))


def _placing(want: WantedSkill, old: PlacedSkill | None, on_disk: Mapping[str, PathState]) -> Iterator[InstallStep]:
    placed = want.placed
    if old is not None and old.entry.identity != placed.entry.identity and not want.force:
        note = f"it is already installed from {_source(old)}, and this one is from {_source(placed)}"
        yield InstallStep(verb=Verb.CONFLICT, name=placed.entry.name, path=old.folder, reason=StepReason.TAKEN, note=note)
        return
    yield from _folder(want, placed.folder, Verb.INSTALL, old, on_disk)
    for path in placed.copies:
        yield from _folder(want, path, Verb.COPY, old, on_disk)
    for path, target in placed.links:
        yield from _link(want, path, target, old, on_disk.get(path, _ABSENT))
    if old is not None:
        for path in old.paths:
            if path not in placed.paths:
                yield from _obsolete(want, path, old, on_disk.get(path, _ABSENT))


def _folder(
    want: WantedSkill, path: str, verb: Verb, old: PlacedSkill | None, on_disk: Mapping[str, PathState]
) -> Iterator[InstallStep]:
    entry, seen = want.placed.entry, on_disk.get(path, _ABSENT)
    name, owned = entry.name, old is not None and path in old.paths
    change = Verb.UPDATE if verb is Verb.INSTALL else verb
    if seen.kind is PathKind.ABSENT:
        yield InstallStep(verb=verb, name=name, path=path)
    elif seen.kind is PathKind.FOLDER and seen.files == entry.files and want.merged is None:
        yield InstallStep(verb=Verb.KEEP, name=name, path=path)
    elif old is None or not owned:
        yield from _foreign(want, path, change, seen)
    elif seen.kind is not PathKind.FOLDER or seen.files == old.entry.files:
        yield InstallStep(verb=change, name=name, path=path)
    elif old.entry.identity == entry.identity and old.entry.files == entry.files and want.edits is not Edits.OVERWRITE:
        note = _edited(old.entry.files, seen.files)
        yield InstallStep(verb=Verb.KEEP, name=name, path=path, reason=StepReason.EDITED, note=note)
    else:
        yield from _over_edits(want, path, change, old.entry.files, seen.files)


def _over_edits(want: WantedSkill, path: str, verb: Verb, base: Hashes, now: Hashes) -> Iterator[InstallStep]:
    name, note = want.placed.entry.name, _edited(base, now)
    if want.merged == now:
        yield InstallStep(verb=verb, name=name, path=path, reason=StepReason.EDITED, note=f"merged with what was {note}")
        return
    if want.edits not in (Edits.KEEP, Edits.OVERWRITE):
        yield InstallStep(
            verb=Verb.CONFLICT, name=name, path=path, reason=StepReason.EDITED, note=f"{note}, and there is a newer version"
        )
        return
    if want.edits is Edits.KEEP:
        yield InstallStep(verb=Verb.SAVE, name=name, path=path, target=f"{name}.orig", reason=StepReason.EDITED, note=note)
    yield InstallStep(verb=verb, name=name, path=path, note="" if want.edits is Edits.KEEP else note)


def _foreign(want: WantedSkill, path: str, verb: Verb, seen: PathState) -> Iterator[InstallStep]:
    name = want.placed.entry.name
    if not want.force:
        what = {PathKind.FOLDER: "a folder", PathKind.LINK: "a link"}.get(seen.kind, "something")
        note = f"{path} is {what} that metier did not install"
        yield InstallStep(verb=Verb.CONFLICT, name=name, path=path, reason=StepReason.FOREIGN, note=note)
        return
    if seen.kind is PathKind.FOLDER:
        yield InstallStep(verb=Verb.SAVE, name=name, path=path, target=f"{name}.orig", reason=StepReason.FOREIGN)
    yield InstallStep(verb=verb, name=name, path=path)


def _link(want: WantedSkill, path: str, target: str, old: PlacedSkill | None, seen: PathState) -> Iterator[InstallStep]:
    name = want.placed.entry.name
    step = InstallStep(verb=Verb.LINK, name=name, path=path, target=target)
    if seen.kind is PathKind.LINK and seen.target == target:
        yield InstallStep(verb=Verb.KEEP, name=name, path=path, target=target)
    elif seen.kind is PathKind.ABSENT or (seen.kind is PathKind.FOLDER and seen.files == want.placed.entry.files):
        yield step
    elif old is None or path not in old.paths:
        for found in _foreign(want, path, Verb.LINK, seen):
            yield step if found.verb is Verb.LINK else found
    elif seen.kind is not PathKind.FOLDER or seen.files == old.entry.files:
        yield step
    else:
        for found in _over_edits(want, path, Verb.LINK, old.entry.files, seen.files):
            yield step if found.verb is Verb.LINK else found


def _obsolete(want: WantedSkill, path: str, old: PlacedSkill, seen: PathState) -> Iterator[InstallStep]:
    """Plans a path that the skill no longer has."""
    if seen.kind is PathKind.LINK and path != old.folder:
        yield InstallStep(verb=Verb.UNLINK, name=old.entry.name, path=path)
    elif seen.kind is PathKind.FOLDER and seen.files == old.entry.files:
        yield InstallStep(verb=Verb.REMOVE, name=old.entry.name, path=path)
    elif seen.kind is PathKind.FOLDER:
        yield from _over_edits(want, path, Verb.REMOVE, old.entry.files, seen.files)


def _removing(old: PlacedSkill, on_disk: Mapping[str, PathState]) -> Iterator[InstallStep]:
    written = dict(old.links)
    for path in old.paths:
        seen = on_disk.get(path, _ABSENT)
        if seen.kind is PathKind.LINK:
            if path in written and seen.target != written[path]:
                note = f"it is a link to {seen.target}, which metier did not make"
                yield InstallStep(verb=Verb.KEEP, name=old.entry.name, path=path, reason=StepReason.FOREIGN, note=note)
            else:
                yield InstallStep(verb=Verb.UNLINK, name=old.entry.name, path=path)
        elif seen.kind is PathKind.FOLDER and _is_ours(path, old, seen):
            note = _edited(old.entry.files, seen.files) if seen.files != old.entry.files else ""
            yield InstallStep(verb=Verb.REMOVE, name=old.entry.name, path=path, note=note)
        elif seen.kind is not PathKind.ABSENT:
            note = "metier did not install this"
            yield InstallStep(verb=Verb.KEEP, name=old.entry.name, path=path, reason=StepReason.FOREIGN, note=note)


def _is_ours(path: str, old: PlacedSkill, seen: PathState) -> bool:
    """Returns True if the folder is an installed copy. One that holds none of the locked files is something else."""
    if path != old.folder and path not in old.copies:
        return seen.files == old.entry.files
    return not seen.files or not seen.files.keys().isdisjoint(old.entry.files)


def _edited(base: Hashes, now: Hashes) -> str:
    files = edited_files(base, now)
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return f"edited here: {', '.join(files[:3])}{more}"


def _source(placed: PlacedSkill) -> str:
    origin = placed.entry.origin
    return f"{origin.url}" + (f", {origin.path}" if origin.path else "") if origin.url else os.path.basename(placed.folder)
