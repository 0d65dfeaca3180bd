"""Where every rule writes down what it saw: findings, capabilities, and the steps that data takes.

One `Notes` is made for each scan and never leaves it. It also holds what all rules must respect: how many findings of a kind
are worth listing, and what makes a shape less alarming (a page that warns of it, a skill whose subject is security).
"""

from __future__ import annotations

from collections import Counter, defaultdict

from metier.values import dataclass, field

from .patterns import lazy_pattern
from .purpose import Purpose
from .report import Capabilities, Finding
from .rules.table import RULES
from .scale import Confidence, ScanReach
from .text import GAP, SkillText, TextKind, excerpt_of

__all__ = ["FindingCollector", "FlowStep", "mention_strength"]

_MOST_OF_A_KIND = 12
_LONGEST_NAME = 120
_BEFORE, _AFTER = 160, 90
# Words of a page that speaks *about* an attack. They never silence a grave finding: they make a block a review.
# Instructions are quoted in many tones of voice; commands are only excused by words that clearly warn of them.
_WARNS = lazy_pattern(
    r"detect(?:s|ed|ing|or|ion)?\b(?! (?:service|api|types?|the (?:type|language|format)))[^.]{0,40}(?:malicious|attack"
    r"|suspicio|secret|shell|inject"
    r"|pattern|threat|exfil|leak|command|rule|risk)|malicious|attack|vulnerab|red flag|suspicious|never (?:run|pipe"
    r"|execute|use)|do not (?:run|pipe|execute)|don't "
    r"(?:run|pipe)|dangerous|unsafe|flag(?:s|ged)? "
    r"|anti-?pattern|payload|exploit|inject|phishing|threat|untrusted|❌|🚫|⛔|bad:|wrong:|instead of|rather than|forbidden"
    r"|blocklist|denylist|pentest|red team"
)
_FORBIDS = lazy_pattern(r"(?:never|do not|don't|must not|avoid) [^.!?:]{0,80}$")
_ABOUT = lazy_pattern(
    r"detect|flag(?:s|ged)? |for example|e\.g\.|such as|attack|inject|malicious|suspicious|red flag|anti-?pattern"
    r"|vulnerab|payload"
    r"|watch (?:out )?for (?!\w+ (?:seconds|minutes|hours|days))|look (?:out )?for|scan for|untrusted|dangerous|unsafe"
    r"|threat|adversar|jailbreak|sanitiz|blocklist|forbid|prohibit|phishing|social engineer|exploit"
    r"|do not (?:run|use|do|follow|execute|pipe|write|type)|never (?:run|use|do|follow|execute|pipe|write|type|say)"
    r"|instead of|rather than|bad:|wrong:|❌|🚫|⛔|not allowed"
)
# Words that excuse are what a plea to scanners is made of.
_UNEXCUSED = frozenset(("SK408",))
_SPOKEN = frozenset(("SK401", "SK402", "SK403", "SK404", "SK405", "SK408", "SK409"))
_OPENING_QUOTES = "\"'`“‘«"


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One move of data: what is used, what it defines, and what enters or leaves there, in words."""

    text: SkillText
    at: int
    uses: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    secret: str = ""
    """A strong secret that enters here."""
    is_explained: bool = False
    """The skill says why it looks at that secret. It has still no reason to send it to a stranger."""
    sends: str = ""
    """Where data leaves the machine here."""
    to_unknown_host: bool = False
    """It leaves for a host that the skill does not speak of."""
    fetched: str = ""
    """Where data comes from the network here."""
    decoded: bool = False
    """Something that could not be read becomes text here."""
    runs: str = ""
    """What runs the data as code here."""
    confidence: Confidence = Confidence.HIGH
    """That it is bad to run what was fetched."""


def mention_strength(
    text: SkillText, at: int, end: int | None = None, *, is_instruction: bool = True, is_code: bool = False
) -> int:
    """How strongly the words around a place say that it is only spoken of: 0, 1 or 2. Code is in backticks, and not quoted."""
    if text.via:
        return 0
    low = text.low
    # What was matched does not speak about itself.
    after = (text.text + "\n").index("\n", at) if end is None else end
    before = f"{text.around.partition(GAP)[0]} {low[max(0, at - _BEFORE) : at]}"
    if not is_instruction:
        warned = _WARNS.search(f"{text.around} {before} {low[after : after + _AFTER]}") is not None
        return warned + (_FORBIDS.search(before.rstrip(" `")) is not None)
    around = f"{text.around} {before} {low[after : after + _AFTER]}"
    start = text.text.rfind("\n", 0, at) + 1
    is_row = text.text[start : start + 4].lstrip().startswith("|")
    quotes = tuple(_OPENING_QUOTES.replace("`", "") if is_code else _OPENING_QUOTES)
    is_quoted = text.kind is TextKind.PROSE and (is_row or low[max(0, at - 4) : at].rstrip(" ")[-1:] in quotes)
    return bool(_ABOUT.search(around)) + is_quoted


@dataclass(slots=True)
class FindingCollector:
    purpose: Purpose = field(default_factory=Purpose)
    """What the skill says of itself."""
    host_mentions: Counter[str] = field(default_factory=Counter)
    """How often the documents of the skill name each host, by the part that somebody registered."""
    findings: dict[tuple[str, str, int | None, str], Finding] = field(default_factory=dict)
    steps: list[FlowStep] = field(default_factory=list)
    capability_names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    lowered_by_context: set[tuple[str, str, int | None, str]] = field(default_factory=set)
    """Findings that the words around them made less sure."""
    counts: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))

    def flag(
        self, code: str, message: str, *, text: SkillText, at: int = 0, end: int | None = None,
        confidence: Confidence | None = None, reach: ScanReach | None = None, ignores_context: bool = False,
    ) -> None:  # fmt: skip
        """Something in a text. What surrounds it may lower our confidence, unless the rule has settled that question itself."""
        plain = confidence or RULES[code].confidence
        sure = plain if ignores_context or code in _UNEXCUSED else plain.lowered(self._doubt(code, text, at, end))
        line, column = text.position(at)
        shown = text.text[at : end if end is not None else at + 160]
        via = f" (in {text.via})" if text.via else ""
        self.add(code, message + via, file=text.path, line=line, column=column, excerpt=shown, confidence=sure, reach=reach)
        if sure is not plain:
            self.lowered_by_context.add((code, text.path, line, message + via))

    def _doubt(self, code: str, text: SkillText, at: int, end: int | None) -> int:
        """How much less sure the surroundings make us."""
        if text.via:
            # Whoever wants to show an attack does not encode it.
            return 0
        if text.kind is TextKind.PROSE or text.is_in_document:
            is_instruction = code.startswith("SK4") or (text.kind is TextKind.PROSE and not text.is_in_document)
            is_code = RULES[code].category == "dependency"
            return max(
                mention_strength(text, at, end, is_instruction=is_instruction, is_code=is_code), int(self.purpose.is_security)
            )
        # An instruction in a script is a comment, or a string that looks for such instructions.
        return int(code in _SPOKEN and text.kind is not TextKind.OTHER)

    def add(
        self, code: str, message: str, *, file: str = "SKILL.md", line: int | None = None, column: int | None = None,
        excerpt: str = "", confidence: Confidence | None = None, reach: ScanReach | None = None,
    ) -> None:  # fmt: skip
        """Something about a file as a whole, or about a text whose surroundings do not matter."""
        rule = RULES[code]
        key = (code, file, line, message)
        known = self.findings.get(key)
        sure = confidence or rule.confidence
        if known is not None and known.confidence.rank >= sure.rank:
            return
        if known is None:
            # Counted for each confidence, so that no flood of harmless hits can hide a grave one.
            self.counts[code, file, sure] += 1
            if self.counts[code, file, sure] > _MOST_OF_A_KIND:
                return
        self.findings[key] = Finding(
            code=code, message=message, confidence=sure, reach=reach or rule.reach, file=file, line=line, column=column,
            excerpt=excerpt_of(excerpt),
        )  # fmt: skip

    def add_capability(self, kind: str, what: str) -> None:
        what = excerpt_of(what, _LONGEST_NAME)
        if what and len(self.capability_names[kind]) < 500:
            self.capability_names[kind].add(what)

    def capabilities(self) -> Capabilities:
        return Capabilities(**{kind: tuple(sorted(names)) for kind, names in self.capability_names.items()})
