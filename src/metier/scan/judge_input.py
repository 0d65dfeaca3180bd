"""The text of a skill that a model judge is shown: all of a small skill, else the lines that matter most.

Every line stands behind its number, so that no text can end its block or pose as another file. Characters that a person or a
tokenizer would not see as plain letters are escaped. The same skill is always shown in the same way.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice
from operator import itemgetter

from metier.errors import plural
from metier.lazy import lazy_pattern
from metier.spec import SKILL_FILE, Capabilities, Files
from metier.values import dataclass

from .report import ScanReport
from .scale import ScanVerdict
from .subject import ScanLimits, read_subject
from .text import SkillText, TextKind, escape_invisible

__all__ = ["RenderedFiles", "ShownFile", "ShownLine", "render_files", "select_files"]

_MOST_SHOWN = 60_000
"""Characters of a skill: some 15,000 tokens. Of 1,558 published SKILL.md files two have more."""
_ROW = 400
_MOST_NAMED = 60
_FINDING_ROWS, _CAPABILITY_ROWS, _FIRST_ROWS = 8, 3, 60
_MOST_NAMES, _FIRST_USES = 40, 5
_RANKS = 8
# Marks of common chat templates. A server may interpret them even within a message.
_MARKS = lazy_pattern(
    r"<(?=[|\uff5c]|/?s>|/?(?:start|end)_of_turn|<SYS|</SYS|seed:|extra_id_|reserved_|/?(?:antml:)?(?:function|invoke)"
    r"|(?i:/?(?:think(?:ing)?|answer|tool_(?:calls?|response)|tools|bos|eos|pad|unk|sep|sop|eop)>|(?:bos|eos)_|special_))"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|THINK|ARGS|CALL_ID|gMASK|sMASK)\]|\||e~\[)"
    r"|\](?=~[a-z]\])"
)


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a file, or a piece of a long one."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ShownFile:
    path: str
    lines: int
    """The number of lines of the file."""
    rows: tuple[ShownLine, ...]
    """The lines that are shown; empty for a file that is only named."""


@dataclass(frozen=True, slots=True)
class RenderedFiles:
    text: str
    mark: str
    """Opens and closes the text."""


_Span = tuple[int, int, int]
"""Line number, start and end of a row."""


def select_files(files: Files, report: ScanReport, *, most: int = _MOST_SHOWN) -> tuple[ShownFile, ...]:
    """Selects the lines to show: those of findings and capabilities first, then SKILL.md, scripts, documents and data."""
    subject = read_subject(files, None, ScanLimits())
    texts = sorted(subject.raw, key=_order)
    cut = [_spans(text) for text in texts]
    ranked: list[list[tuple[int, int]]] = [[] for _ in range(_RANKS)]
    for number, text in enumerate(texts):
        for at, rank in enumerate(_ranks(text, cut[number], report)):
            ranked[rank].append((number, at))
    chosen: list[list[int]] = [[] for _ in texts]
    for number, at in chain.from_iterable(ranked):
        _, start, end = cut[number][at]
        # The line number counts too.
        most -= end - start + 8
        if most < 0:
            break
        chosen[number].append(at)
    unreadable = sorted({*subject.binaries, *(one.path for one in subject.unread)})
    return (
        *(_exhibit(text, [cut[number][at] for at in sorted(chosen[number])]) for number, text in enumerate(texts)),
        *(ShownFile(path, 0, ()) for path in unreadable),
    )


def _exhibit(text: SkillText, spans: Sequence[_Span]) -> ShownFile:
    rows = tuple(ShownLine(line, _plain(text.text[start:end])) for line, start, end in spans)
    return ShownFile(text.path, text.text.count("\n") + 1, rows)


def render_files(shown: Sequence[ShownFile]) -> RenderedFiles:
    """Renders the files between two marks that are derived from the text, so that it cannot contain them."""
    body = "\n".join(line for number, one in enumerate(shown, start=1) if one.rows for line in _file(number, one))
    unseen = [one.path for one in shown if not one.rows]
    if unseen:
        names = ", ".join(_name(path) for path in unseen[:_MOST_NAMED])
        body += f"\nnot shown: {names}" + (f" and {len(unseen) - _MOST_NAMED} more" if len(unseen) > _MOST_NAMED else "")
    mark = sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return RenderedFiles(f"<<<{mark}\n{body}\n{mark}>>>", mark)


def _file(number: int, one: ShownFile) -> Iterator[str]:
    yield f"=== file {number}: {_name(one.path)}, {plural(one.lines, 'line')}"
    before = 0
    for row in one.rows:
        if row.line > before + 1:
            yield f"... lines {before + 1} to {row.line - 1} are not shown"
        yield f"{row.line:>5}| {row.text}"
        before = row.line
    if before < one.lines:
        yield f"... lines {before + 1} to {one.lines} are not shown"


def _order(text: SkillText) -> tuple[bool, int, str]:
    return (text.path != SKILL_FILE, _kind_rank(text), text.path)


def _kind_rank(text: SkillText) -> int:
    return 2 if text.kind is TextKind.OTHER else int(text.kind is TextKind.PROSE)


def _spans(text: SkillText) -> list[_Span]:
    """Returns the lines of a file, long ones in pieces."""
    spans, start = [], 0
    for number, line in enumerate(text.text.split("\n"), start=1):
        end = start + len(line)
        if len(line) <= _ROW:
            spans.append((number, start, end))
        else:
            spans += [(number, at, min(end, at + _ROW)) for at in range(start, end, _ROW)]
        start = end + 1
    return spans


def _plain(text: str) -> str:
    return _without_marks(escape_invisible(text.replace("\t", "    ")))


def _name(path: str) -> str:
    return _without_marks(json.dumps(path))


def _without_marks(text: str) -> str:
    return _MARKS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def _ranks(text: SkillText, spans: Sequence[_Span], report: ScanReport) -> list[int]:
    """Returns the rank of each row; 0 is shown first."""
    rest = 5 + _kind_rank(text)
    first, early = (_FIRST_ROWS * 4, 2) if text.path == SKILL_FILE else (_FIRST_ROWS, 4 if rest == 5 else rest)
    ranks = [early] * min(first, len(spans)) + [rest] * (len(spans) - first)
    for at in _named(text, spans, report.capabilities):
        _lift(ranks, at, _CAPABILITY_ROWS, 3)
    for finding in report.findings:
        if finding.file == text.path and finding.line is not None:
            at = bisect_left(spans, finding.line, key=itemgetter(0)) + ((finding.column or 1) - 1) // _ROW
            _lift(ranks, min(at, len(spans) - 1), _FINDING_ROWS, int(finding.verdict is ScanVerdict.PASS))
    return ranks


def _lift(ranks: list[int], at: int, around: int, rank: int) -> None:
    for near in range(max(0, at - around), min(len(ranks), at + around + 1)):
        ranks[near] = min(ranks[near], rank)


def _named(text: SkillText, spans: Sequence[_Span], capabilities: Capabilities) -> Iterator[int]:
    """Yields the first rows that name each host, secret or written file."""
    names = (name for name in (*capabilities.hosts, *capabilities.variables, *capabilities.writes) if len(name) > 3)
    for name in islice(names, _MOST_NAMES):
        at = -1
        for _ in range(_FIRST_USES):
            if (at := text.text.find(name, at + 1)) < 0:
                break
            yield bisect_right(spans, at, key=itemgetter(1)) - 1
