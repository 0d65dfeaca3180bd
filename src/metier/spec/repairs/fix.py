"""Repairs of SKILL.md that need no judgement, and nothing else: every other byte stays as its author wrote it.

A repair is a small edit of the frontmatter's own lines, so comments, key order, quoting and line ends survive. No edit
is trusted: the file is read again, and unless it says exactly what was meant to be said the edit is dropped. The body
is never touched. What needs a decision (a value cut by `#`, an unknown key, a nested map) is left to its author.
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

# One proof reads the frontmatter again: a hostile frontmatter with thousands of wrong values gets one try, not thousands.
_MOST_ALONE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FixResult:
    data: bytes
    changes: tuple[AppliedFix, ...] = ()


def fix_skill_file(data: bytes, *, folder: str | None = None) -> FixResult:
    """The file with its mechanical mistakes repaired; fixing it again changes nothing. `folder` settles the name."""
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
    frontmatter = _repaired(file.frontmatter)
    repairs = sorted((*file.changes, *frontmatter.changes), key=lambda change: change.line)
    return FixResult(data=file.with_lines(frontmatter.lines), changes=(*changes, *repairs))


def _repaired(frontmatter: Frontmatter) -> Frontmatter:
    """The frontmatter once no repair changes it any more. Each round leaves fewer problems, so there are few."""
    frontmatter = _with_colons_quoted(frontmatter)
    if frontmatter.root is None:
        return frontmatter
    for _ in range(len(STANDARD_KEYS) + 2):
        best = _with_values_fixed(frontmatter)
        for renamed in _with_a_key_renamed(frontmatter):
            # What stood under the wrong key is judged only now, so it gets its own repairs before the verdict.
            tried = _with_values_fixed(renamed)
            if _is_better(tried, best):
                best = tried
                break
        if best is frontmatter:
            break
        frontmatter = best
    return frontmatter


def _with_colons_quoted(frontmatter: Frontmatter) -> Frontmatter:
    """SK012, by the rule the loader itself uses, so that the file says to others what it already says to metier."""
    if frontmatter.root is not None:
        return frontmatter
    rescued, found = quote_colons(frontmatter.text)
    texts = rescued.removesuffix("\n").split("\n")
    if not found or len(texts) != len(frontmatter.lines):
        return frontmatter
    after = _with_texts(frontmatter, texts)
    # A line that looks like a key may be the text of a block value, where quotes would change what it says.
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
    """Every key at any depth, with its line. The tree's depth is capped where it is read."""
    if isinstance(node, MapNode):
        own = {(key.text, key.line) for key, _ in node.entries}
        return own.union(*(_keys(value) for _, value in node.entries))
    return set().union(*(_keys(item) for item in node.items)) if isinstance(node, ListNode) else set()


def _with_a_key_renamed(frontmatter: Frontmatter) -> Iterator[Frontmatter]:
    """SK160 for a standard key in another spelling, while the right one is absent."""
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


def _with_values_fixed(frontmatter: Frontmatter) -> Frontmatter:
    for repair in REPAIRS:
        edits = list(repair(frontmatter))
        together = _proven(frontmatter, edits) if edits else frontmatter
        if together:
            frontmatter = together
        elif len(edits) <= _MOST_ALONE:
            # From the end, so that the places of the others stay true.
            for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
                frontmatter = _proven(frontmatter, [edit]) or frontmatter
    return frontmatter


def _is_better(frontmatter: Frontmatter, than: Frontmatter) -> bool:
    now, before = frontmatter.parsed.report, than.parsed.report
    return len(now) < len(before) and {one.code for one in now.errors} <= {one.code for one in before.errors}


def _proven(frontmatter: Frontmatter, edits: Sequence[Edit]) -> Frontmatter | None:
    """The frontmatter with the edits made, if it then says what it said before apart from them, and has fewer problems."""
    after = frontmatter.edited(edits)
    if frontmatter.root is None or after.root is None or not _is_better(after, frontmatter):
        return None
    for view in (to_text, to_json):
        if list(_items(view(after.root))) != list(_expected(view(frontmatter.root), edits).items()):
            return None
    # The fields may agree and still mean something else: a list of triggers is not a text of triggers.
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
    """A map's pairs in their order, which `==` on maps does not compare."""
    yield from value.items() if isinstance(value, dict) else ()
