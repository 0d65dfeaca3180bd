"""The collector of one scan: findings, capabilities, and the steps that data takes.

Every rule writes to it. It also applies what holds for all rules: how many findings of one code are listed, and how much the
surrounding text lowers a confidence (a page that warns of the pattern, a skill about security).
"""

from __future__ import annotations

from collections import Counter, defaultdict

from metier.scan.expressions import text_pattern
from metier.values import dataclass, field

from .purpose import Purpose
from .report import Finding
from .rules.table import RULES
from .scale import Confidence, ScanReach
from .text import GAP, SkillText, TextKind, excerpt_of

__all__ = ["FindingCollector", "FlowStep", "mention_strength"]

_MOST_OF_A_KIND = 12
_LONGEST_NAME = 120
_LONGEST_LINE = 160
_BEFORE, _AFTER = 160, 90
# Words of a page that describes an attack. They lower a block to a review. Commands are lowered only by words that clearly
# warn of them.
_WARNS = text_pattern(
    r"detect(?:s|ed|ing|or|ion)?\b(?! (?:service|api|types?|the (?:type|language|format)))[^.]{0,40}(?:malicious|attack"
    r"|suspicio|secret|shell|inject|pattern|threat|exfil|leak|command|rule|risk)|malicious|attack|vulnerab|red flag"
    r"|suspicious|never (?:run|pipe|execute|use)|do not (?:run|pipe|execute)|don't (?:run|pipe)|dangerous|unsafe|flag(?:s"
    r"|ged)? |anti-?pattern|payload|exploit|inject|phishing|threat|untrusted|❌|🚫|⛔|bad:|wrong:|instead of|rather than"
    r"|forbidden|blocklist|denylist|pentest|red team"
)
_FORBIDS = text_pattern(r"(?:never|do not|don't|must not|avoid) [^.!?:]{0,80}$")
_ABOUT = text_pattern(
    r"detect|flag(?:s|ged)? |for example|e\.g\.|such as|attack|inject|malicious|suspicious|red flag|anti-?pattern|vulnerab"
    r"|payload|watch (?:out )?for (?!\w+ (?:seconds|minutes|hours|days))|look (?:out )?for|scan for|untrusted|dangerous"
    r"|unsafe|threat|adversar|jailbreak|sanitiz|blocklist|forbid|prohibit|phishing|social engineer|exploit|do not (?:run|use"
    r"|do|follow|execute|pipe|write|type)|never (?:run|use|do|follow|execute|pipe|write|type|say)|instead of|rather than"
    r"|bad:|wrong:|❌|🚫|⛔|not allowed"
)
# Text that addresses scanners consists of such words, so they do not lower it.
_CONTEXT_FREE = frozenset(("SK408",))
_INSTRUCTION_CODES = frozenset(("SK401", "SK402", "SK403", "SK404", "SK405", "SK408", "SK409"))
_OPENING_QUOTES = "\"'`“‘«"


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step of data flow: the names it uses and defines, and what enters or leaves there."""

    text: SkillText
    at: int
    uses: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    secret: str = ""
    """The secret that is read here."""
    is_explained: bool = False
    """The skill's purpose explains reading that secret, but not sending it to an unknown host."""
    sends: str = ""
    """Where data is sent here."""
    to_unknown_host: bool = False
    """Data is sent to a host that the skill does not name."""
    fetched: str = ""
    """Where data is fetched from here."""
    decoded: bool = False
    """Encoded data is decoded here."""
    runs: str = ""
    """The call that runs data as code here."""
    confidence: Confidence = Confidence.HIGH
    """The confidence that running the fetched data is harmful."""


def mention_strength(
    text: SkillText, at: int, end: int | None = None, *, is_instruction: bool = True, is_code: bool = False
) -> int:
    """Returns how strongly the surrounding words say that a place is only mentioned: 0, 1 or 2.

    With `is_code`, backticks are not read as quotation marks.
    """
    if text.via:
        return 0
    low = text.low
    # The match itself is no context.
    after = (text.text + "\n").index("\n", at) if end is None else end
    before = f"{text.around.partition(GAP)[0]} {low[max(0, at - _BEFORE) : at]}"
    if not is_instruction:
        warned = _WARNS.search(f"{text.around} {before} {_paragraph(text, after)}") is not None
        return warned + (_FORBIDS.search(before.rstrip(" `")) is not None)
    around = f"{text.around} {before} {_paragraph(text, after)}"
    start = text.text.rfind("\n", 0, at) + 1
    is_row = text.text[start : start + 4].lstrip().startswith("|")
    quotes = tuple(_OPENING_QUOTES.replace("`", "") if is_code else _OPENING_QUOTES)
    # On the same line: the end of a code block is no quotation mark.
    is_quoted = text.kind is TextKind.PROSE and (is_row or low[max(start, at - 4) : at].rstrip(" ")[-1:] in quotes)
    return bool(_ABOUT.search(around)) + is_quoted


def _line_at(text: SkillText, at: int) -> str:
    """Returns the line of a place as it stands in the file; from the place on, if the line is long."""
    start = text.text.rfind("\n", 0, at) + 1
    end = text.text.find("\n", at)
    end = len(text.text) if end < 0 else end
    return text.text[start:end] if end - start <= _LONGEST_LINE else text.text[at:end]


def _paragraph(text: SkillText, after: int) -> str:
    """Returns the words behind a place, up to the end of the paragraph."""
    end = text.text.find("\n\n", after, after + _AFTER)
    return text.low[after : end if end >= 0 else after + _AFTER]


@dataclass(slots=True)
class FindingCollector:
    purpose: Purpose = field(default_factory=Purpose)
    """The skill's name and description."""
    host_mentions: Counter[str] = field(default_factory=Counter)
    """The number of times that the skill's documents name each host, by its registered domain."""
    findings: dict[tuple[str, str, int | None, str], Finding] = field(default_factory=dict)
    steps: list[FlowStep] = field(default_factory=list)
    capability_names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    network_calls: int = 0
    """Calls of scripts that reach the network, whether or not their host can be read."""
    lowered_by_context: set[tuple[str, str, int | None, str]] = field(default_factory=set)
    """Findings whose confidence the surrounding words lowered."""
    counts: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))

    def flag(
        self, code: str, message: str, *, text: SkillText, at: int = 0, end: int | None = None,
        confidence: Confidence | None = None, reach: ScanReach | None = None, ignores_context: bool = False,
    ) -> None:  # fmt: skip
        """Adds a finding in a text. The surrounding words may lower its confidence, unless `ignores_context`."""
        unlowered = confidence or RULES[code].confidence
        lowered = unlowered if ignores_context or code in _CONTEXT_FREE else unlowered.lowered(self._doubt(code, text, at, end))
        line, column = text.position(at)
        shown = _line_at(text, at)
        via = f" (in {text.via})" if text.via else ""
        self.add(code, message + via, file=text.path, line=line, column=column, excerpt=shown, confidence=lowered, reach=reach)
        if lowered is not unlowered:
            self.lowered_by_context.add((code, text.path, line, message + via))

    def _doubt(self, code: str, text: SkillText, at: int, end: int | None) -> int:
        """Returns by how much the surrounding words lower the confidence."""
        if text.via:
            # A page that describes an attack rarely encodes it; one about attacks may show that too.
            return int(self.purpose.is_security and text.path.endswith(".md"))
        if text.kind is TextKind.PROSE or text.is_in_document:
            is_instruction = code.startswith("SK4") or (text.kind is TextKind.PROSE and not text.is_in_document)
            is_code = RULES[code].category == "dependency"
            return max(
                mention_strength(text, at, end, is_instruction=is_instruction, is_code=is_code), int(self.purpose.is_security)
            )
        # An instruction in a script is a comment, or a string that searches for such instructions.
        return int(code in _INSTRUCTION_CODES and text.kind is not TextKind.OTHER)

    def add(
        self, code: str, message: str, *, file: str = "SKILL.md", line: int | None = None, column: int | None = None,
        excerpt: str = "", confidence: Confidence | None = None, reach: ScanReach | None = None,
    ) -> None:  # fmt: skip
        """Adds a finding about a whole file, or one whose context does not matter."""
        rule = RULES[code]
        key = (code, file, line, message)
        known = self.findings.get(key)
        confidence = confidence or rule.confidence
        if known is not None and known.confidence.rank >= confidence.rank:
            return
        if known is None:
            # Counted for each confidence, so that many harmless hits cannot hide a severe one.
            self.counts[code, file, confidence] += 1
            if self.counts[code, file, confidence] > _MOST_OF_A_KIND:
                return
        self.findings[key] = Finding(
            code=code, message=message, confidence=confidence, reach=reach or rule.reach, file=file, line=line, column=column,
            excerpt=excerpt_of(excerpt),
        )  # fmt: skip

    def add_capability(self, kind: str, what: str) -> None:
        what = excerpt_of(what, _LONGEST_NAME)
        if what and len(self.capability_names[kind]) < 500:
            self.capability_names[kind].add(what)
