"""The corpus of commands: pairs of a pattern and a command, with the decision that is right."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from metier.runtime import ToolPattern
from metier.runtime.policy.patterns import command_request
from metier.values import dataclass

FILE = Path(__file__).resolve().parents[2] / "data" / "policy" / "commands.tsv"
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Row:
    list: str
    """`allow` or `deny`: the list of the policy that the pattern is in."""
    pattern: str
    command: str
    decision: str
    """`ask` if the pattern does not apply."""
    reason: str


def rows() -> tuple[Row, ...]:
    _, *lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(
        Row(kind, pattern, _plain(command), decision, reason) for kind, pattern, command, decision, reason in map(_cells, lines)
    )


def by_pattern() -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows():
        groups[row.list, row.pattern].append(row)
    return dict(groups)


def decide(kind: str, pattern: str, command: str) -> str:
    request = command_request("Bash", command)
    applies = ToolPattern.parse(pattern).grants if kind == "allow" else ToolPattern.parse(pattern).forbids
    return kind if applies(request) else "ask"


def _cells(line: str) -> tuple[str, str, str, str, str]:
    kind, pattern, command, decision, reason = line.split("\t")
    return kind, pattern, command, decision, reason


def _plain(text: str) -> str:
    return re.sub(r"\\([nrt\\])", lambda found: _ESCAPES[found[1]], text)
