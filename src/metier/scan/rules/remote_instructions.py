"""Web pages whose instructions the skill tells an agent to follow, whatever they say later.

To read a page and work by it is ordinary: documentation is made for that. The rule looks for a page of an unknown host that is
read again and again, that stands above the user or the skill, that holds commands, or that must stay unseen.
"""

from __future__ import annotations

from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import Url, foreign_urls, is_unknown_host
from metier.scan.expressions import text_pattern
from metier.scan.scale import Confidence
from metier.scan.text import SkillText

__all__ = ["judge_remote_instructions"]

_FETCHES = text_pattern(
    r"(?<!\w)(?:fetch|read|get|download|load|open|visit|retrieve|pull|check|curl|request|poll|consult|query|call|post"
    r"|refresh|ask|look up|go to|wget)(?:es|s|ing)?\b"
)
_OBEYS = text_pattern(
    r"(?<!\w)(?:follow|execute|obey|run|perform|carry out|apply|do|adopt|act on|comply with|implement|work through|complete"
    r"|use)(?:s|ing)?(?: (?:all|any|the|its|every|whatever|exactly|only|these|those|each|of|new|current|further|latest|same"
    r"|in order))* (?:(?:steps?|instructions?|commands?|directions|directives|orders|tasks?|rules|profile|plan|playbook"
    r"|jobs?|prompt|actions?)\b(?: (?:in|from|there|it|that|they|returned|listed|given|found|you|to|exactly|as)\b|[.,;`]|$)"
    r"|(?:it|them|that|those)(?: (?:in place of|instead of|over|exactly|to the letter|in order|as written|without)|[.,;`]|$)"
    r"|what(?:ever)? (?:it|they|the \w+|you (?:get|find)|`?\w+`?|comes back) ?(?:says?|tells?|asks?|contains?|wants?"
    r"|returns?|orders?|[.,;`]))"
)
_AGAIN = text_pattern(
    r"(?<!\w)(?:every (?:\w+ )?(?:minutes?|hours?|days?|times?|sessions?|requests?|runs?|uses?|conversations?|weeks?|turns?"
    r"|morning|message|prompt|task)|each (?:time|session|request|run|use|day|conversation|task|turn)|on (?:activation"
    r"|start-?up|load\b|every|each)|periodically|heartbeat|hourly|daily|once (?:a|an|per) (?:minute|hour|day|session)"
    r"|at the (?:start|beginning) of|(?:very )?first (?:action|step|thing)|before (?:anything|doing|answering|each|every|any"
    r"|you (?:answer|start|do|begin)))"
)
"""Read again and again."""
_ABOVE = text_pattern(
    r"(?<!\w)(?:takes? (?:precedence|priority)|overrid\w+|overrul\w+|supersed\w+|replaces? (?:this|these|the|any|what)"
    r"|whatever|in place of|exactly|to the letter|without (?:question|asking|confirm\w*|review\w*)|is right|no matter"
    r"|newer than (?:this|these)|higher priority|skip asking|no human|adopt)\b"
)
"""Stands above the skill and its user."""
_COMMANDS = text_pattern(r"(?<!\w)(?:shell commands?|commands?|execute|scripts?|terminal|bash|code blocks?)\b")
"""Holds commands."""
_UNSEEN = text_pattern(
    r"(?:do not|don't|never) (?:paste|show|mention|tell|reveal|display|print|summari[sz]e|quote|share|discuss|disclose)"
    r"|proprietary|(?<!\w)silent(?:ly)?\b"
)
"""Must stay unseen."""
_STAYS = text_pattern(r"(?:heartbeat|memory|soul|agents|claude|gemini|identity)\.md|crontab|cron job")
"""Is stored for later sessions."""
_SIGNS = (_AGAIN, _ABOVE, _COMMANDS, _UNSEEN, _STAYS)
_FOR_AGENTS = text_pattern(
    r"\.(?:txt|md)$|/(?:latest|current|next|jobs?|plan|instructions?|prompts?|tasks?|init|directives?|commands?|playbook"
    r"|rules|agent|heartbeat|route|config|bootstrap|policy|orders)s?(?:/|$|\?)"
)
_BEFORE, _AFTER, _MOST = 160, 420, 200


def judge_remote_instructions(text: SkillText, collector: FindingCollector) -> None:
    """Judges the prose of one document."""
    for url, _ in islice(foreign_urls(text.text, collector.purpose), _MOST):
        if f".{url.host}".endswith(".github.com"):
            continue
        confidence = _weigh(url, text, is_unknown_host(url, collector.purpose))
        if confidence is not None:
            collector.flag(
                "SK405", f"tells the agent to obey a page of {url.host}", text=text, at=_start(text, url), confidence=confidence
            )


def _weigh(url: Url, text: SkillText, is_foreign: bool) -> Confidence | None:
    end = url.at + len(url.text)
    before, after = text.low[max(0, url.at - _BEFORE) : url.at], text.low[end : end + _AFTER]
    if not _FETCHES.search(before):
        return None
    obeys = _OBEYS.search(after)
    if obeys is None or "\n#" in text.text[end : end + obeys.start()]:
        return None
    near = f"{before} {after}"
    signs = sum(sign.search(near) is not None for sign in _SIGNS) + (_FOR_AGENTS.search(url.text.lower()) is not None)
    if signs >= (2 if is_foreign else 3):
        return Confidence.HIGH
    return Confidence.MEDIUM if signs >= (1 if is_foreign else 2) else None


def _start(text: SkillText, url: Url) -> int:
    """Returns the start of the line of the URL. A mark before the URL does not quote the sentence."""
    start = text.text.rfind("\n", 0, url.at) + 1
    return start + len(text.text[start : url.at]) - len(text.text[start : url.at].lstrip(" \t"))
