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
from metier.spec.rescue import quote_colons
from metier.spec.yaml import Json, ListNode, MapNode, Node, to_json, to_text
from metier.values import dataclass, replace

from .head import AppliedFix, Edit, Frontmatter, split_file
from .repairs import REPAIRS

__all__ = ["AppliedFix", "FixResult", "fix"]

# One proof reads the head again: a hostile head with thousands of wrong values gets one try, not thousands.
_MOST_ALONE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FixResult:
    data: bytes
    changes: tuple[AppliedFix, ...] = ()


def fix(data: bytes, *, folder: str | None = None) -> FixResult:
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
    head = _repaired(file.head)
    fixed = file.opening + "".join(line.text + line.end for line in head.lines) + file.closing + file.body
    repairs = sorted((*file.changes, *head.changes), key=lambda change: change.line)
    return FixResult(data=fixed.encode(), changes=(*changes, *repairs))


def _repaired(head: Frontmatter) -> Frontmatter:
    """The head once no repair changes it any more. Each round leaves fewer problems, so there are few."""
    head = _with_colons_quoted(head)
    if head.root is None:
        return head
    for _ in range(len(STANDARD_KEYS) + 2):
        best = _with_values_fixed(head)
        for renamed in _with_a_key_renamed(head):
            # What stood under the wrong key is judged only now, so it gets its own repairs before the verdict.
            tried = _with_values_fixed(renamed)
            if _is_better(tried, best):
                best = tried
                break
        if best is head:
            break
        head = best
    return head


def _with_colons_quoted(head: Frontmatter) -> Frontmatter:
    """SK012, by the rule the loader itself uses, so that the file says to others what it already says to metier."""
    if head.root is not None:
        return head
    rescued, found = quote_colons(head.text)
    texts = rescued.removesuffix("\n").split("\n")
    if not found or len(texts) != len(head.lines):
        return head
    after = _with_texts(head, texts)
    # A line that looks like a key may be the text of a block value, where quotes would change what it says.
    keys = _keys(after.root)
    real = [(key, at) for key, at, _ in found if (key, at) in keys]
    starts = sorted(at for _, at, _ in found)
    owners = [starts[bisect_right(starts, at) - 1] if at >= starts[0] else -1 for at in range(len(texts))]
    kept = {at for _, at in real}
    after = _with_texts(
        head, [new if owner in kept else old.text for new, old, owner in zip(texts, head.lines, owners, strict=True)]
    )
    changes = (AppliedFix(code="SK012", line=head.lines[at].number, message=f"quoted the value of {key!r}") for key, at in real)
    return head if after.root is None else replace(after, changes=tuple(changes))


def _with_texts(head: Frontmatter, texts: Sequence[str]) -> Frontmatter:
    return Frontmatter(tuple(replace(line, text=text) for line, text in zip(head.lines, texts, strict=True)), head.folder)


def _keys(node: Node | None) -> set[tuple[str, int]]:
    """Every key at any depth, with its line. The tree's depth is capped where it is read."""
    if isinstance(node, MapNode):
        own = {(key.text, key.line) for key, _ in node.entries}
        return own.union(*(_keys(value) for _, value in node.entries))
    return set().union(*(_keys(item) for item in node.items)) if isinstance(node, ListNode) else set()


def _with_a_key_renamed(head: Frontmatter) -> Iterator[Frontmatter]:
    """SK160 for a standard key in another spelling, while the right one is absent."""
    root = head.root or MapNode((), 0, 1)
    present = {key.text for key, _ in root.entries}
    for key, _ in root.entries:
        right = key.text.lower().replace("_", "-")
        written = head.written(key)
        if right not in STANDARD_KEYS or right in present or written is None:
            continue
        message = f"renamed {key.text!r} to {right!r}"
        edit = Edit(start=written.start, end=written.end, text=right, code="SK160", message=message, path=(), value="")
        after = head.edited([edit])
        expected = {right if name == key.text else name: value for name, value in _items(to_text(root))}
        if after.root and list(_items(to_text(after.root))) == list(expected.items()):
            yield after


def _with_values_fixed(head: Frontmatter) -> Frontmatter:
    for repair in REPAIRS:
        edits = list(repair(head))
        together = _proven(head, edits) if edits else head
        if together:
            head = together
        elif len(edits) <= _MOST_ALONE:
            # From the end, so that the places of the others stay true.
            for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
                head = _proven(head, [edit]) or head
    return head


def _is_better(head: Frontmatter, than: Frontmatter) -> bool:
    now, before = head.parsed.report, than.parsed.report
    return len(now) < len(before) and {one.code for one in now.errors} <= {one.code for one in before.errors}


def _proven(head: Frontmatter, edits: Sequence[Edit]) -> Frontmatter | None:
    """The head with the edits made, if it then says what it said before apart from them, and has fewer problems."""
    after = head.edited(edits)
    if head.root is None or after.root is None or not _is_better(after, head):
        return None
    for view in (to_text, to_json):
        if list(_items(view(after.root))) != list(_expected(view(head.root), edits).items()):
            return None
    # The fields may agree and still mean something else: a list of triggers is not a text of triggers.
    was, now = head.parsed.manifest, after.parsed.manifest
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
