"""Wanted x locked x on disk -> steps. Pure: it is handed what was looked up, and looks nothing up.

The rules in one place. What is as it should be stays. What metier installed and nobody touched is replaced. What somebody
edited is replaced only where there is something newer, and only if they said how. What metier did not install, or installed
from somewhere else, is in the way: names are labels, and a skill's identity is its origin and path.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence

from .lock import Hashes
from .state import Kind, Seen
from .steps import Edits, Placed, Reason, Step, Verb, Wanted

__all__ = ["edited_files", "plan"]

_ABSENT = Seen(kind=Kind.ABSENT)


def plan(
    wanted: Sequence[Wanted], locked: Mapping[str, Placed], on_disk: Mapping[str, Seen], *, remove: Collection[str] = ()
) -> tuple[Step, ...]:
    """What it takes to get from here to there. `remove` names skills that should be gone."""
    steps: list[Step] = []
    taken: dict[str, Wanted] = {}
    for want in wanted:
        name = want.placed.entry.name
        other = taken.setdefault(name, want)
        if other is not want:
            note = f"both {_source(other.placed)} and {_source(want.placed)} are called so"
            steps.append(Step(verb=Verb.CONFLICT, name=name, path=want.placed.folder, reason=Reason.TWICE, note=note))
            continue
        steps += _placing(want, locked.get(name), on_disk)
    for name in sorted(remove):
        steps += _removing(locked[name], on_disk)
    return tuple(steps)


def edited_files(base: Hashes, now: Hashes) -> tuple[str, ...]:
    """What somebody changed, added or deleted, as `M path`, `A path`, `D path`."""
    paths = sorted(base.keys() | now.keys())
    letter = {path: "A" if path not in base else "D" if path not in now else "M" for path in paths}
    return tuple(f"{letter[path]} {path}" for path in paths if base.get(path) != now.get(path))


def _placing(want: Wanted, old: Placed | None, on_disk: Mapping[str, Seen]) -> Iterator[Step]:
    placed = want.placed
    yield from _folder(want, placed.folder, Verb.INSTALL, old, on_disk)
    for path in placed.copies:
        yield from _folder(want, path, Verb.COPY, old, on_disk)
    for path, target in placed.links:
        yield from _link(want, path, target, old, on_disk.get(path, _ABSENT))
    if old is not None:
        for path in old.paths:
            if path not in placed.paths:
                yield from _obsolete(want, path, old, on_disk.get(path, _ABSENT))


def _folder(want: Wanted, path: str, verb: Verb, old: Placed | None, on_disk: Mapping[str, Seen]) -> Iterator[Step]:
    entry, seen = want.placed.entry, on_disk.get(path, _ABSENT)
    name, owned = entry.name, old is not None and path in old.paths
    change = Verb.UPDATE if verb is Verb.INSTALL else verb
    if seen.kind is Kind.ABSENT:
        yield Step(verb=verb, name=name, path=path)
    elif seen.kind is Kind.FOLDER and seen.files == entry.files:
        yield Step(verb=Verb.KEEP, name=name, path=path)
    elif old is None or not owned:
        yield from _in_the_way(want, path, change, seen)
    elif old.entry.identity != entry.identity and not want.force:
        note = f"it is installed from {_source(old)} already, and this one is from {_source(want.placed)}"
        yield Step(verb=Verb.CONFLICT, name=name, path=path, reason=Reason.TAKEN, note=note)
    elif seen.kind is not Kind.FOLDER or seen.files == old.entry.files:
        yield Step(verb=change, name=name, path=path)
    elif old.entry.identity == entry.identity and old.entry.files == entry.files and want.edits is not Edits.OVERWRITE:
        note = _edited(old.entry.files, seen.files)
        yield Step(verb=Verb.KEEP, name=name, path=path, reason=Reason.EDITED, note=note)
    else:
        yield from _over_edits(want, path, change, _edited(old.entry.files, seen.files))


def _over_edits(want: Wanted, path: str, verb: Verb, note: str) -> Iterator[Step]:
    name = want.placed.entry.name
    if want.edits is Edits.REFUSE:
        yield Step(verb=Verb.CONFLICT, name=name, path=path, reason=Reason.EDITED, note=f"{note}, and there is a newer version")
        return
    if want.edits is Edits.KEEP:
        yield Step(verb=Verb.SAVE, name=name, path=path, target=f"{name}.orig", reason=Reason.EDITED, note=note)
    yield Step(verb=verb, name=name, path=path, note="" if want.edits is Edits.KEEP else note)


def _in_the_way(want: Wanted, path: str, verb: Verb, seen: Seen) -> Iterator[Step]:
    name = want.placed.entry.name
    if not want.force:
        what = {Kind.FOLDER: "a folder", Kind.LINK: "a link"}.get(seen.kind, "something")
        note = f"{what} that metier did not install is at {path}"
        yield Step(verb=Verb.CONFLICT, name=name, path=path, reason=Reason.FOREIGN, note=note)
        return
    if seen.kind is Kind.FOLDER:
        yield Step(verb=Verb.SAVE, name=name, path=path, target=f"{name}.orig", reason=Reason.FOREIGN)
    yield Step(verb=verb, name=name, path=path)


def _link(want: Wanted, path: str, target: str, old: Placed | None, seen: Seen) -> Iterator[Step]:
    name = want.placed.entry.name
    step = Step(verb=Verb.LINK, name=name, path=path, target=target)
    if seen.kind is Kind.LINK and seen.target == target:
        yield Step(verb=Verb.KEEP, name=name, path=path, target=target)
    elif seen.kind is Kind.ABSENT or (seen.kind is Kind.FOLDER and seen.files == want.placed.entry.files):
        yield step
    elif old is None or path not in old.paths:
        for found in _in_the_way(want, path, Verb.LINK, seen):
            yield step if found.verb is Verb.LINK else found
    elif seen.kind is not Kind.FOLDER or seen.files == old.entry.files:
        yield step
    else:
        for found in _over_edits(want, path, Verb.LINK, _edited(old.entry.files, seen.files)):
            yield step if found.verb is Verb.LINK else found


def _obsolete(want: Wanted, path: str, old: Placed, seen: Seen) -> Iterator[Step]:
    """A path that the skill had and no longer has."""
    if seen.kind is Kind.LINK and path != old.folder:
        yield Step(verb=Verb.UNLINK, name=old.entry.name, path=path)
    elif seen.kind is Kind.FOLDER and seen.files == old.entry.files:
        yield Step(verb=Verb.REMOVE, name=old.entry.name, path=path)
    elif seen.kind is Kind.FOLDER:
        yield from _over_edits(want, path, Verb.REMOVE, _edited(old.entry.files, seen.files))


def _removing(old: Placed, on_disk: Mapping[str, Seen]) -> Iterator[Step]:
    written = dict(old.links)
    for path in old.paths:
        seen = on_disk.get(path, _ABSENT)
        if seen.kind is Kind.LINK:
            if path in written and seen.target != written[path]:
                note = f"it is a link to {seen.target}, which metier did not make"
                yield Step(verb=Verb.KEEP, name=old.entry.name, path=path, reason=Reason.FOREIGN, note=note)
            else:
                yield Step(verb=Verb.UNLINK, name=old.entry.name, path=path)
        elif seen.kind is Kind.FOLDER and (path == old.folder or path in old.copies or seen.files == old.entry.files):
            note = _edited(old.entry.files, seen.files) if seen.files != old.entry.files else ""
            yield Step(verb=Verb.REMOVE, name=old.entry.name, path=path, note=note)
        elif seen.kind is not Kind.ABSENT:
            note = "metier did not put this here"
            yield Step(verb=Verb.KEEP, name=old.entry.name, path=path, reason=Reason.FOREIGN, note=note)


def _edited(base: Hashes, now: Hashes) -> str:
    files = edited_files(base, now)
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return f"edited here: {', '.join(files[:3])}{more}"


def _source(placed: Placed) -> str:
    origin = placed.entry.origin
    return f"{origin.url}" + (f", {origin.path}" if origin.path else "") if origin.url else os.path.basename(placed.folder)
