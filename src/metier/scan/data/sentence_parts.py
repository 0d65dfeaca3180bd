"""Parts of expressions that several sentence rules share."""

from __future__ import annotations

__all__ = [
    "ASKED",
    "FORBIDS",
    "NOT",
    "REFUSED",
    "REFUSED_OR_EXAMPLE",
    "REFUSED_OR_TEST",
    "SAMPLE",
    "UNASKED",
    "UNTOLD",
    "UNWRITTEN",
]

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
"""A sentence that forbids an action says the opposite; one that forbids mentioning it does not."""
ASKED = (
    r"\b(?:ask(?:s|ing)? (?:the user|first|before|for|whether|if|permission)|asked for|confirm\w*|approv\w*|(?:user's|their"
    r"|explicit|with) (?:permission|consent)|if the user|when the user|user (?:wants|requests?|asks|names|gives)|on request"
    r"|only if|optional\w*)\b"
)
"""The user is asked."""

_RECORDS = (
    r"(?:read-?me|change ?log|commit (?:message|report|body)|pull request|review|summar(?:y|ies)|overview|documentation|docs"
    r"|release notes|tool list|list|preview|report|protocol|minutes|invoice|log|\w+\.md|conversation|chat|answer|reply"
    r"|description|diff|handover|confirmation|caveats|notes)"
)
UNWRITTEN = (
    r"(?:leave|keep) (?:it|this|that|them|these|those|both|the (?:change|addition|step|line|module|tool|endpoint|account|branch"
    rf"|entry|block)s?) out of (?:the |your |its |any |every )*`?{_RECORDS}\b"
    r"|(?:do not|don't|never) (?:document|mention|list|show|report|note|log|comment on|describe|include|announce|explain|flag"
    r"|disclose|bring up)"
    rf" (?:it|this|that|them|these|the (?:change|addition|adjustment|step|swap|correction)s?)(?:,|$| (?:in|to|on|as|at|with)"
    rf" (?:the |your |its |any |every )*(?:`?{_RECORDS}\b|user|anyone|anybody"
    r"|client|customer|reader|patient))|not part of the (?:\w+ )?(?:report|summary|answer)\b"
)
REFUSED = FORBIDS + r"|\b(?:unless|not to|refuse|warn\w*)\b"
REFUSED_OR_EXAMPLE = FORBIDS + r"|\b(?:unless|refuse|warn\w*|e\.g|for example|such as)\b"
REFUSED_OR_TEST = FORBIDS + r"|\b(?:unless|refuse|warn\w*|e\.g|for example|such as|cannot|can't|tests?|mock\w*|fixtures?)\b"
SAMPLE = r"|\b(?:tests?|mock\w*|fixtures?|demo|placeholder|sample)\b"
UNASKED = (
    r"(?:without (?:asking|confirm\w*|warning|prompting|telling|informing)|no (?:confirmation|approval|need to ask)"
    r"|(?:do not|don't) (?:ask|wait))\b"
)
