"""Text that a model reads and a person does not see: invisible characters, comments, styles, image metadata.

Honest uses pass: emoji are joined by zero-width joiners, Indic and Persian words need joiners, flags of regions are spelled in
tags, and comments that only name a tool or a licence give no instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.expressions import text_pattern
from metier.scan.readers.binaries import image_texts
from metier.scan.readers.clauses import read_clause
from metier.scan.scale import Confidence, ScanReach
from metier.scan.text import SkillText, TextKind

__all__ = ["judge_hidden", "judge_image", "visible_text"]

_SUSPECT = text_pattern(
    "[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
_TAGS = text_pattern("[\U000e0020-\U000e007f][\U000e0000-\U000e007f]{3,}")
_FLAG = text_pattern("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_BIDI = text_pattern("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = text_pattern("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_ZERO = text_pattern("[\u200b\u200c\u200d\u2060-\u2064\ufeff\u180e\u00ad]")
_JOINED = text_pattern(
    "[\u0600-\u06ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u2190-\u21ff\u2300-\u23ff\u2b00-\u2bff]"
)
_SELECTORS = text_pattern("(?:[\ufe00-\ufe0f]|[\U000e0100-\U000e01ef]){4,}")
_LINK_COMMENT = text_pattern(r"^\[(?://|comment|_)\]:\s{0,4}(?:#|<>)\s{0,4}[(\"'](.{1,1000}?)[)\"']\s*$", re.MULTILINE)
_INVISIBLE = text_pattern(
    r"<(?P<tag>\w{1,12})\s[^>]{0,200}?(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden"
    r"|font-size\s{0,3}:\s{0,3}0|opacity\s{0,3}:\s{0,3}0[^.]|color\s{0,3}:\s{0,3}(?:white|#fff(?:fff)?"
    r"|transparent)\b)[^>]{0,200}>(?P<text>.{10,2000}?)</(?P=tag)",
    re.DOTALL | re.IGNORECASE,
)
_ALTERNATIVE = text_pattern(r"!\[([^\]\n]{40,600})\]\(")
_FOLDED = text_pattern(
    r"<(?P<tag>details|div|span|p|template)\b(?P<how>[^>]{0,100})>(?P<text>[^<]{0,60}(?:</?summary>[^<]{0,200}){0,2}[^<]{20,1500})</(?P=tag)",
    re.IGNORECASE,
)
_INSTRUCTIONS = text_pattern(
    r"\b(?:ignore|disregard|not shown to (?:people|users|readers)|(?:assistant|agent|ai|system)\b[^\n]{0,60} (?:must|note)"
    r"|you must|you should|must (?:run|execute|send|call)|always (?:run|execute|send|include|call|use)|do not (?:tell"
    r"|mention|reveal|inform)|(?:execute|run) (?:the following|this|these|`)|secretly|silently|system ?(?:prompt|override"
    r"|message)|exfiltrate|(?:ai|llm|assistant|agent|model|claude)s?(?: \w+){0,3}[:,] (?:please|you|run|execute|read|send"
    r"|ignore|always)|hidden instruction|curl |wget |base64 -|\.ssh/|\.env\b[^.]{0,40}(?:send|post|upload))",
    re.IGNORECASE,
)
_STRONG = text_pattern(
    r"(?:assistant|agent|\bai\b|llm|model|system)\b[^\n]{0,120}(?:must|first|read|open|request|send|paste|include"
    r"|when this skill|upload|run)\b[^\n]{0,300}(?:https?://|~/|\.ssh|\.env\b|token|secret|password|credential"
    r"|do not (?:describe|disclose|mention|tell|show|report))|not shown to (?:people|users|readers)|(?:read|open|include"
    r"|collect|copy|encode|base64)\b[^\n]{0,80}(?:~/\.|\$home/\.|\.ssh\b|\.aws\b|\.env\b|id_rsa|id_ed25519"
    r"|keychain)[^\n]{0,200}(?:https?://|send|post|upload|append|paste|encode)|(?:no need to|without) (?:mention|tell|bring"
    r"|inform|show|ask)\w*[^\n]{0,40}(?:user|it up|them|this)|ignore (?:all |any |the )?(?:previous|prior|above)"
    r"|do not (?:tell|mention|reveal|inform)|exfiltrat|secretly|hidden instruction|system override"
    r"|curl [^\n]{0,200}\|\s*(?:ba)?sh|\.ssh/id_|(?:send|post|upload) [^\n]{0,100}https?://|(?:run"
    r"|execute) [^\n]{0,60}(?:curl|base64|sh -c)",
    re.IGNORECASE,
)
_ADDRESS = text_pattern(
    r"\b(?:notes?|messages?|instructions?|reminders?) (?:to|for) (?:the |any |all )?(?:ais?|assistants?|agents?|models?)\b"
    r"|^\W{0,8}(?:for |to )?(?:the |any )?(?:ai |coding )?(?:agents?|assistants?|ais?|models?|llms?|system|claude)"
    r"(?: reading this| only)?\s?[:.](?=\s)|\b(?:when|if) you are an? (?:ai|assistant|agent|model)\b"
    r"|\b(?:ais?|assistants?|agents?|models?|llms?)(?: reading this| that reads? this)? (?:must|should|shall|please|need to)\b"
    r"|\b(?:to|for) (?:the |any |all )?(?:ai |coding )?(?:agents?|assistants?|ais?|models?|llms?)\s?:|\bai agents?\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_DEEDS = ("send", "destroy", "change", "insert", "run", "off", "allow", "pay", "lock", "obey", "spy", "fetch")
_OWN_DEEDS = frozenset(("run", "send", "destroy", "off", "fetch"))
_QUOTES = frozenset("\"'`“")
_MOST_BLANK = 120
_MIXED = text_pattern(r"(?<![A-Za-z])[A-Za-z]{1,40}[\u0430-\u044f\u0410-\u042f\u03b1-\u03c9\u0391-\u03a9]{1,40}[A-Za-z]{1,40}")
_LOOKALIKES = str.maketrans("аеорсухівкмнтАВЕКМНОРСТУХοαινρτυκΑΒΕΗΙΚΜΝΟΡΤΥΧ", "aeopcyxibkmhtABEKMHOPCTYXoaivptukABEHIKMNOPTYX")
_MOST = 200
_MOST_COMMENTS = 5_000


def judge_hidden(text: SkillText, collector: FindingCollector) -> None:
    """Judges one whole file."""
    if not text.text.isascii():
        if _SUSPECT.search(text.text):
            _tags(text, collector)
            _bidi(text, collector)
            _zero_width(text, collector)
        _alphabets(text, collector)
    if text.kind is TextKind.PROSE or text.path.endswith((".html", ".htm", ".svg", ".xml")):
        _comments(text, collector)
        _styles(text, collector)


def visible_text(text: SkillText) -> SkillText | None:
    """Returns the text as a model reads it, without invisible characters and look-alike letters; None if nothing changes."""
    if text.text.isascii():
        return None
    plain = _SUSPECT.sub("", text.text)
    if _MIXED.search(plain):
        plain = plain.translate(_LOOKALIKES)
    wide = re.sub("[\uff01-\uff5e]+", lambda found: "".join(chr(ord(char) - 0xFEE0) for char in found[0]), plain)
    if wide == text.text or len(text.text) - len(wide) + sum(a != b for a, b in zip(wide, text.text, strict=False)) == 0:
        return None
    return SkillText(text.path, text.kind, wide, first=text.first, via="")


def _tags(text: SkillText, collector: FindingCollector) -> None:
    plain = _FLAG.sub("", text.text)
    found = _TAGS.search(plain)
    if found:
        spelled = "".join(chr(ord(char) - 0xE0000) for char in found[0] if 0xE0020 <= ord(char) <= 0xE007E)
        collector.flag(
            "SK411",
            f"invisible tag characters spell {spelled[:120]!r}",
            text=text,
            at=max(text.text.find(found[0]), 0),
            ignores_context=True,
        )
    hidden = _SELECTORS.search(text.text)
    if hidden:
        collector.flag(
            "SK413",
            f"{len(hidden[0])} variation selectors in a row carry hidden bytes",
            confidence=Confidence.HIGH,
            text=text,
            at=hidden.start(),
            ignores_context=True,
        )


def _bidi(text: SkillText, collector: FindingCollector) -> None:
    for found in islice(_BIDI.finditer(text.text), _MOST):
        line = text.line_around(found.start())
        overrides = found[0] in "\u202d\u202e"
        if _RIGHT_TO_LEFT.search(line) and not overrides:
            continue
        is_code = text.kind is not TextKind.PROSE or overrides
        collector.flag(
            "SK412",
            f"U+{ord(found[0]):04X} changes the order in which a line reads",
            confidence=Confidence.HIGH if is_code and overrides else Confidence.MEDIUM,
            text=text,
            at=found.start(),
            ignores_context=True,
        )
        return


def _zero_width(text: SkillText, collector: FindingCollector) -> None:
    """Flags zero-width characters inside Latin words or in runs, which typing does not produce."""
    inside = runs = 0
    first = -1
    for found in islice(_ZERO.finditer(text.text), 20_000):
        at = found.start()
        before, after = text.text[max(0, at - 2) : at], text.text[at + 1 : at + 3]
        if (at == 0 and found[0] == "\ufeff") or _JOINED.search(before) or _JOINED.search(after):
            continue
        if found[0] == "\u00ad":
            continue
        runs += bool(after[:1] and _ZERO.match(after[:1]))
        inside += before[-1:].isalpha() and before[-1:].isascii() and after[:1].isalpha() and after[:1].isascii()
        first = at if first < 0 else first
    if runs >= 8:
        collector.flag(
            "SK413",
            f"{runs} zero-width characters in runs can spell hidden text",
            confidence=Confidence.HIGH,
            text=text,
            at=max(first, 0),
            ignores_context=True,
        )
    elif inside >= 3:
        collector.flag(
            "SK413", f"{inside} words are split by zero-width characters", text=text, at=max(first, 0), ignores_context=True
        )


def _alphabets(text: SkillText, collector: FindingCollector) -> None:
    for found in islice(_MIXED.finditer(text.text), 20):
        plain = found[0].translate(_LOOKALIKES)
        if plain.isascii() and len(plain) > 3:
            collector.flag("SK417", f"{found[0]!r} looks like {plain!r}", text=text, at=found.start(), ignores_context=True)


def _comments(text: SkillText, collector: FindingCollector) -> None:
    links = ((found.start(1), found[1]) for found in islice(_LINK_COMMENT.finditer(text.text), _MOST))
    images = ((found.start(1), found[1]) for found in islice(_ALTERNATIVE.finditer(text.text), _MOST))
    folded = ((found.start("text"), found["text"]) for found in islice(_FOLDED.finditer(text.text), _MOST))
    for start, body in (*images, *folded):
        spoken = _addresses_agent(body)
        if spoken:
            message = "a text that readers do not see speaks to the agent"
            collector.flag("SK416", message, text=text, at=start + spoken.start(), confidence=Confidence.HIGH)
    for start, body in (*_html_comments(text.text), *links):
        strong = _STRONG.search(body) or _addresses_agent(body)
        instructions = strong or _INSTRUCTIONS.search(body)
        if instructions:
            confidence = Confidence.HIGH if strong else Confidence.LOW
            collector.flag(
                "SK414",
                "a hidden comment gives instructions",
                text=text,
                at=start + instructions.start(),
                confidence=confidence,
                ignores_context=_addresses_agent(body) is not None and text.text[max(0, start - 5) : start - 4] not in _QUOTES,
            )


def _addresses_agent(words: str) -> re.Match[str] | None:
    """Returns where hidden words speak to an agent, if they order it to send, change, add, delete or run something."""
    found = _ADDRESS.search(words)
    clause = read_clause(words[found.end() :].lower()[:600]) if found else None
    if clause is None or clause.forbids - {"tell", "ask"}:
        return None
    is_deed = any(clause.does(deed, "secret", "talk", "user", "people", "money", "figures") for deed in _DEEDS)
    return found if is_deed or clause.orders.keys() & _OWN_DEEDS else None


def _html_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yields the start and the text of each comment. An unclosed comment is cut."""
    at = text.find("<!--")
    for _ in range(_MOST_COMMENTS):
        if at < 0:
            return
        end = text.find("-->", at + 4)
        yield at + 4, text[at + 4 : min(end if end >= 0 else len(text), at + 4_004)]
        at = text.find("<!--", end + 3) if end >= 0 else -1


def _behind_blank_lines(text: str) -> int:
    """Returns where text continues after many blank lines; -1 if it does not."""
    if "\n\n\n\n" not in text:
        return -1
    blank = at = 0
    for line in text.split("\n"):
        if line and not line.isspace():
            if blank >= _MOST_BLANK and at > blank:
                return at
            blank = 0
        else:
            blank += 1
        at += len(line) + 1
    return -1


def _styles(text: SkillText, collector: FindingCollector) -> None:
    if "style" in text.low:
        for found in islice(_INVISIBLE.finditer(text.text), 20):
            if _INSTRUCTIONS.search(found["text"]) or _addresses_agent(found["text"]):
                collector.flag(
                    "SK416",
                    "invisible markup gives instructions",
                    text=text,
                    at=found.start("text"),
                    confidence=Confidence.HIGH,
                    ignores_context=_addresses_agent(found["text"]) is not None,
                )
    behind = _behind_blank_lines(text.text) if text.kind is TextKind.PROSE else -1
    if behind >= 0:
        collector.flag(
            "SK416", "text follows after more than a hundred blank lines", text=text, at=behind, ignores_context=True
        )


def judge_image(path: str, data: bytes, collector: FindingCollector) -> None:
    """Judges the metadata of PNG, JPEG, GIF and WebP files."""
    for name, words in islice(image_texts(data), 64):
        instructions = _INSTRUCTIONS.search(words)
        if instructions:
            start = max(0, instructions.start() - 40)
            collector.add(
                "SK415",
                f"the metadata ({name}) gives instructions",
                file=path,
                excerpt=words[start : start + 200],
                confidence=Confidence.HIGH if _STRONG.search(words) else Confidence.MEDIUM,
                reach=ScanReach.MACHINE,
            )
