"""Repairs of SKILL.md that need no decision. Every other byte stays as its author wrote it.

A repair is a small edit of the frontmatter's lines, so comments, key order, quoting and line ends survive. Each edit is
verified: the file is parsed again, and the edit is dropped unless the result is exactly as intended. The body is never
changed. Problems that need a decision (a value cut by `#`, an unknown key, a nested map) are left to the author.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from metier.spec.document import BOM
from metier.spec.manifest import STANDARD_KEYS
from metier.spec.yaml import Json, ListNode, MapNode, Node, quote_colons, to_json, to_text
from metier.values import dataclass, replace

from .frontmatter import AppliedFix, Edit, Frontmatter, split_file
from .rules import REPAIRS

__all__ = ["FixResult", "fix_skill_file"]

# Each verification parses the frontmatter again, so thousands of wrong values are verified together and not one by one.
_MOST_ALONE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FixResult:
    data: bytes
    changes: tuple[AppliedFix, ...] = ()


def fix_skill_file(data: bytes, *, folder: str | None = None) -> FixResult:
    """Returns the file with mechanical mistakes repaired. A second run changes nothing. `folder` gives the right name."""
    clean = data
    while clean.startswith(BOM):
        clean = clean.removeprefix(BOM)
    try:
        text = clean.decode("utf-8")
    except UnicodeDecodeError:
        return FixResult(data=data)
    changes = () if clean is data else (AppliedFix(code="SK014", line=1, message="removed the byte order mark"),)
    file = split_file(text, folder)
    if file is None:
        return FixResult(data=clean, changes=changes)
    frontmatter = _repair_all(file.frontmatter)
    repairs = sorted((*file.changes, *frontmatter.changes), key=lambda change: change.line)
    return FixResult(data=file.with_lines(frontmatter.lines), changes=(*changes, *repairs))


def _repair_all(frontmatter: Frontmatter) -> Frontmatter:
    """Returns the frontmatter when no repair changes it any more. Each round leaves fewer problems, so there are few."""
    frontmatter = _quote_colons(frontmatter)
    if frontmatter.root is None:
        return frontmatter
    for _ in range(len(STANDARD_KEYS) + 2):
        best = _fix_values(frontmatter)
        for renamed in _rename_keys(frontmatter):
            # The value is checked only under its right key, so it is repaired before the two are compared.
            tried = _fix_values(renamed)
            if _has_fewer_problems(tried, best):
                best = tried
                break
        if best is frontmatter:
            break
        frontmatter = best
    return frontmatter


def _quote_colons(frontmatter: Frontmatter) -> Frontmatter:
    """SK012, by the rule of the loader, so that other clients read the same values as metier."""
    if frontmatter.root is not None:
        return frontmatter
    rescued, found = quote_colons(frontmatter.text)
    texts = rescued.removesuffix("\n").split("\n")
    if not found or len(texts) != len(frontmatter.lines):
        return frontmatter
    after = _with_texts(frontmatter, texts)
    # A line that looks like a key may be part of a block value, where quotes would change the text.
    keys = _keys(after.root)
    real = [(key, at) for key, at, _ in found if (key, at) in keys]
    starts = sorted(at for _, at, _ in found)
    owners = [starts[bisect_right(starts, at) - 1] if at >= starts[0] else -1 for at in range(len(texts))]
    kept = {at for _, at in real}
    after = _with_texts(
        frontmatter,
        [new if owner in kept else old.text for new, old, owner in zip(texts, frontmatter.lines, owners, strict=True)],
    )
    changes = (
        AppliedFix(code="SK012", line=frontmatter.lines[at].number, message=f"quoted the value of {key!r}") for key, at in real
    )
    return frontmatter if after.root is None else replace(after, changes=tuple(changes))


def _with_texts(frontmatter: Frontmatter, texts: Sequence[str]) -> Frontmatter:
    return Frontmatter(
        tuple(replace(line, text=text) for line, text in zip(frontmatter.lines, texts, strict=True)), frontmatter.folder
    )


def _keys(node: Node | None) -> set[tuple[str, int]]:
    """Returns every key at any depth with its line. The parser caps the depth."""
    if isinstance(node, MapNode):
        own = {(key.text, key.line) for key, _ in node.entries}
        return own.union(*(_keys(value) for _, value in node.entries))
    return set().union(*(_keys(item) for item in node.items)) if isinstance(node, ListNode) else set()


def _rename_keys(frontmatter: Frontmatter) -> Iterator[Frontmatter]:
    """SK160 for a standard key in another spelling, if the right key is absent."""
    root = frontmatter.root or MapNode((), 0, 1)
    present = {key.text for key, _ in root.entries}
    for key, _ in root.entries:
        right = key.text.lower().replace("_", "-")
        written = frontmatter.written(key)
        if right not in STANDARD_KEYS or right in present or written is None:
            continue
        message = f"renamed {key.text!r} to {right!r}"
        edit = Edit(start=written.start, end=written.end, text=right, code="SK160", message=message, path=(), value="")
        after = frontmatter.edited([edit])
        expected = {right if name == key.text else name: value for name, value in _items(to_text(root))}
        if after.root and list(_items(to_text(after.root))) == list(expected.items()):
            yield after


def _fix_values(frontmatter: Frontmatter) -> Frontmatter:
    for repair in REPAIRS:
        edits = list(repair(frontmatter))
        together = _verify(frontmatter, edits) if edits else frontmatter
        if together:
            frontmatter = together
        elif len(edits) <= _MOST_ALONE:
            # From the end, so that the positions of earlier edits stay valid.
            for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
                frontmatter = _verify(frontmatter, [edit]) or frontmatter
    return frontmatter


def _has_fewer_problems(frontmatter: Frontmatter, than: Frontmatter) -> bool:
    now, before = frontmatter.parsed.report, than.parsed.report
    return len(now) < len(before) and {one.code for one in now.errors} <= {one.code for one in before.errors}


def _verify(frontmatter: Frontmatter, edits: Sequence[Edit]) -> Frontmatter | None:
    """Returns the edited frontmatter if only the edited values differ and there are fewer problems; else None."""
    after = frontmatter.edited(edits)
    if frontmatter.root is None or after.root is None or not _has_fewer_problems(after, frontmatter):
        return None
    for view in (to_text, to_json):
        if list(_items(view(after.root))) != list(_expected(view(frontmatter.root), edits).items()):
            return None
    # Equal fields may still mean something else: a list of triggers is not a text of triggers.
    was, now = frontmatter.parsed.manifest, after.parsed.manifest
    if was and (now is None or replace(now, name=was.name) != was):
        return None
    return after


def _expected(fields: Json, edits: Sequence[Edit]) -> dict[str, Json]:
    expected = {key: dict(_items(value)) if isinstance(value, dict) else value for key, value in _items(fields)}
    for edit in edits:
        first, *inner = edit.path
        below = expected.get(first)
        if inner and isinstance(below, dict):
            below[inner[0]] = edit.value
        elif first in expected:
            expected[first] = edit.value
        else:
            expected = {first: edit.value, **expected}
    return expected


def _items(value: Json) -> Iterator[tuple[str, Json]]:
    """Yields the pairs of a map in order, which `==` on maps does not compare."""
    yield from value.items() if isinstance(value, dict) else ()
