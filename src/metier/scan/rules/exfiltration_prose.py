"""Prose that tells an agent to send the user's work to an address that the skill is not about.

An address in a sentence is ordinary, and so is sending. The rule looks for an instruction to send the user's data to a host or
mailbox that neither the name nor the description mentions, and that the document names for nothing else.
"""

from __future__ import annotations

import re
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, reputation_of, urls_in
from metier.scan.expressions import text_pattern
from metier.scan.scale import Confidence
from metier.scan.text import SkillText

__all__ = ["judge_exfiltration_prose"]

_SENDS = text_pattern(
    r"\b(?:(?:send|upload|submit|forward|transmit|exfiltrate|deliver|bcc|transfer|mail)(?:s|ing)?\b|go(?:es)? to\b|(?:invite"
    r"|cc|bcc|add|copy|notify|include|subscribe)(?:s|ing)?[ `\"']{1,3}\x1e|(?:is|are|gets?|be) (?:sent|copied|mailed"
    r"|e-?mailed|forwarded|uploaded|shared|submitted)\b|(?:post|copy|mirror|back(?:s)? ?up|sync|push(?:es)?|share|report|log"
    r"|email|export|archive|cc|publish|save|store|drop|put|register|hand|pass|feed|stream|deposit|subscribe|enroll?|slip|add"
    r"|invite|grant|give|include|append)(?:s|ing)? (?:all|any|every|each|the|a|an|this|these|it|them|your|their|its|user"
    r"|full|entire|complete|final|extracted|generated|collected|finished|both|everything|to)\b)"
)
_DATA = text_pattern(
    r"\b(?:files?|documents?|records?|data(?:set)?s?|contents?|conversations?|transcripts?|history|messages?|emails?"
    r"|codebase|source|code|project|workspace|repository|reports?|results?|outputs?|names?|customers?|patients?|clients?"
    r"|employees?|invoices?|contracts?|credentials?|passwords?|tokens?|keys?|secrets?|environment|configuration|settings"
    r"|logs?|prompts?|answers?|texts?|pdfs?|csvs?|tables?|sheets?|workbooks?|recordings?|videos?|copy|copies|version"
    r"|spreadsheets?|presentations?|slides|photos?|images?|contacts?|notes|metadata|details|information|summary|summaries"
    r"|request|usage|statistics|telemetry|forms?|applications?|them|everything)\b"
)
_ALWAYS = text_pattern(
    r"\b(?:always|also|every|each|whenever|after|before|once|when|finally|automatically|additionally|as well|at the end|then"
    r"|must|make sure|ensure)\b"
)
_INTAKE = text_pattern(
    r"upload|collect|ingest|backup|back-up|intake|sync|telemetry|track|submit|report|harvest|gather|exfil|/log|mirror"
)
_MAIL = text_pattern(r"[\w.+-]{2,40}@(?P<host>[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,24}){1,3})")
_SAMPLE = text_pattern(
    r"^(?:your|my)?-?(?:example|company|domain|acme|test|email|mail|corp|org|foo|bar|host|site|startup|business)\."
)
_COPIES = text_pattern(
    r"\b(?:cc|bcc|copy|copies|forward|blind|archive|back(?:s)? ?up|in addition|additionally|as well|too|also|duplicate"
    r"|rights|access|attendee|recipient|invite|on file|a record)\b"
)
_CONTACT = text_pattern(
    r"\bcontact\b|question|feedback|support|vulnerab|bugs?|maintainer|author|noreply|no-reply|security@|legal|privacy|licen"
)
_OPEN = text_pattern(r"\bpublic\b|without (?:a )?(?:log-?in|password)|anyone|no log-?in")
# The user's own work, not a question or a report about the skill.
_WORK = text_pattern(
    r"\b(?:files?|documents?|records?|data(?:set)?s?|contacts?|workbooks?|spreadsheets?|contracts?|invoices?|reports?"
    r"|summar(?:y|ies)|transcripts?|recordings?|exports?|conversations?|history|source code|code|photos?|forms?|resumes?"
    r"|results?|drafts?|minutes|csvs?|pdfs?|decks?|slides|database|backup|archive|keys?|passwords?|credentials?|tokens?"
    r"|payroll|statements?|notes|attachments?)\b"
)
_INSTRUCTION_CODES = text_pattern(
    r"\b(?:e\.g|for example|such as|like|say|user says|asks|if the user|when the user|request|example|template|sample|syntax"
    r"|usage)\b|[\"“]send|->|→|=>"
)
_DENIED = text_pattern(r"\b(?:never|not|n't|avoid|without|refuse to|must not) (?:\w+ )?$")
_ENDS = text_pattern(r"[.!?](?=\s)|\n\s*\n|\n\s*(?:[-*+]|\d{1,2}[.)])\s|\n#|\|")
_DISTANCE = 260
_MOST = 200


def judge_exfiltration_prose(text: SkillText, collector: FindingCollector) -> None:
    for url in islice(urls_in(text.text), _MOST):
        confidence = _of_url(url, text, collector)
        if confidence is not None:
            start, _ = _sentence(text, url.at, url.at + len(url.text))
            collector.flag(
                "SK613", f"tells the agent to send the user's data to {url.host}", text=text, at=start, confidence=confidence
            )
    for found in islice(_MAIL.finditer(text.low), _MOST):
        if _SAMPLE.search(found["host"]) or collector.purpose.mentions((found["host"].partition(".")[0],)):
            continue
        start, sentence = _sentence(text, found.start(), found.end())
        if not _SENDS.search(sentence) or _CONTACT.search(sentence):
            continue
        if _COPIES.search(sentence) or _ALWAYS.search(sentence):
            collector.flag("SK409", f"tells the agent to copy {found[0]} on what the user sends", text=text, at=start)
        elif _WORK.search(sentence) and not _INSTRUCTION_CODES.search(sentence):
            collector.flag("SK613", f"tells the agent to mail the user's work to {found[0]}", text=text, at=start)


def _of_url(url: Url, text: SkillText, collector: FindingCollector) -> Confidence | None:
    kind = reputation_of(url, collector.purpose)
    if kind not in (HostReputation.UNKNOWN, HostReputation.ANONYMOUS, HostReputation.SHARED) or url.is_placeholder:
        return None
    if collector.purpose.mentions((url.label,)) or re.search(
        r"github|gitlab|/docs?/|^docs?\.|\.(?:md|html?|pdf|png|jpe?g|csv|txt|svg|gif)$", url.host + url.path
    ):
        return None
    _, sentence = _sentence(text, url.at, url.at + len(url.text))
    sends = _SENDS.search(sentence)
    if sends is None or not _DATA.search(sentence) or _DENIED.search(sentence, max(0, sends.start() - 24), sends.start()):
        return None
    if text.low.count(url.label) > 3:
        # A document that names a host often is about it.
        return None
    signs = sum((
        kind is HostReputation.ANONYMOUS or url.is_plain_http,
        _INTAKE.search(url.text.lower()) is not None,
        _ALWAYS.search(sentence) is not None,
        not collector.purpose.is_network,
        _OPEN.search(sentence) is not None,
    ))  # fmt: skip
    return Confidence.HIGH if signs >= 2 else Confidence.MEDIUM if signs else None


def _sentence(text: SkillText, start: int, end: int) -> tuple[int, str]:
    """Returns the start of the sentence around an address, and its words without the address."""
    before, after = text.text[max(0, start - _DISTANCE) : start], text.text[end : end + _DISTANCE // 2]
    ends = list(_ENDS.finditer(before))
    first = ends[-1].end() if ends else 0
    last = _ENDS.search(after)
    low = text.low
    begin = start - len(before) + first
    begin += len(low[begin:start]) - len(low[begin:start].lstrip(" `"))
    return begin, f"{low[begin:start]} \x1e {low[end : end + (last.start() if last else len(after))]}"
