"""What an order is: the kinds of words that must meet in one sentence (see `metier.scan.rules.sentence_rules`)."""

from __future__ import annotations

import re

from metier.scan.patterns import lazy_pattern
from metier.scan.scale import Confidence
from metier.values import dataclass

__all__ = ["ASKED", "FORBIDS", "NOT", "UNTOLD", "SentenceRule", "sentence_rule"]


@dataclass(frozen=True, slots=True)
class SentenceRule:
    code: str
    message: str
    needs: tuple[re.Pattern[str], ...]
    """The rarest first."""
    unless: re.Pattern[str] | None
    confidence: Confidence
    needs_stranger: bool = False
    """The sentence must also name an address that the skill is not about."""
    is_across: bool = False
    """A second sentence may complete it: "Raise the totals. Do not mention it." """


def sentence_rule(
    code: str, message: str, confidence: Confidence, *needs: str, unless: str = "", stranger: bool = False, across: bool = False
) -> SentenceRule:
    patterns = tuple(lazy_pattern(rf"(?<![\w-])(?:{need})") for need in needs)
    return SentenceRule(code, message, patterns, lazy_pattern(unless) if unless else None, confidence, stranger, across)


NOT = (
    r"(?:do not|don't|never|must not|should not|shouldn't|mustn't|without|avoid|no need to|refrain from"
    r"|make sure (?:that )?not to)"
)
UNTOLD = (
    rf"{NOT}(?: \w+){{0,3}} (?:tell|telling|inform\w*|mention\w*|reveal\w*|disclos\w*|notify\w*|alert\w*|point\w*"
    rf"|admit\w*|draw\w*"
    r"|announc\w*|bring\w*|say|speak\w*|flag\w*|highlight\w*|acknowledg\w*|comment\w*|mark\w*|itemi[sz]\w*)\b"
    r"|(?:never|nobody|no one|none of them) (?:learns?|knows?|finds? out|notices?|hears?)\b"
    r"|keep (?:it|this|that) (?:secret|quiet|to yourself|hidden)|(?:leave|keep) (?:it|this|that|the \w+) out of"
    r"|as if nothing|unnoticed|without (?:\w+ ){0,3}(?:knowing|noticing)"
)
FORBIDS = (
    r"\b(?:do not|don't|never|must not|should not|avoid)\b(?! (?:confusion|clutter|surprises|mention|not[ei]|flag|document"
    r"|tell|show|list|report"
    r"|log|disclos|reveal|inform|explain|comment|announc|includ|bring|describ|ask|wait|say|expire|keep it|keep them))"
)
"""An order that forbids says the opposite; one that forbids to speak of it does not."""
ASKED = (
    r"\b(?:ask(?:s|ing)? (?:the user|first|before|for|whether|if|permission)|asked for|confirm\w*|approv\w*|(?:user's|their"
    r"|explicit|with)"
    r" (?:permission|consent)|if the user|when the user|user (?:wants|requests?|asks|names|gives)|on request|only if"
    r"|optional\w*)\b"
)
"""The user has a say."""
