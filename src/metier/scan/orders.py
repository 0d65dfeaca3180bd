"""Orders against the user, told by the kinds of words that meet in one sentence.

A phrase (see `phrases`) knows one wording. An order knows what must come together, in any wording and order: words for
changing, words for money, words for keeping quiet. Each row is read against sentences of at most a few hundred characters,
and most sentences are passed over after one look for a rare word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from .expressions import expression
from .known.hosts import Standing, standing, urls_in
from .notes import Notes
from .phrases.harms import HARMS
from .phrases.loyalty import LOYALTY
from .phrases.order import Order
from .text import Text

__all__ = ["ORDERS", "Unit", "judge_orders", "sentences", "units"]

Unit = tuple[int, str, str]
_LONGEST = 500
_MOST = 5_000
_ENDS = expression(r"[.!?](?=\s)|\n[ \t]*\n|\n[ \t]*(?:[-*+>]|\d{1,2}[.)])[ \t]|\n#|\|")


_ITEM = expression(r"[ \t]{0,8}(?:[-*+]|\d{1,2}[.)])[ \t]")
_FORBIDS = expression(
    r"\b(?:never|not|don'?ts?|avoid|forbidden|prohibited|anti-?patterns?|mistakes?|pitfalls?|wrong|bad|refuse"
    r"|out of scope|limits|without asking"
    r"|ask (?:first|before)|red flags|warnings?|requires? (?:approval|confirmation))\b|❌|🚫|⛔"
)
ORDERS = (*LOYALTY, *HARMS)
# A sentence without any of these is not worth a second look.
_GATE = expression(
    r"tell|inform|explain|invisible|white-on|aside|do away|have to|none of|counts|matters|came from|comes from"
    r"|coming from|authority|unaware"
    r"|in the dark|trace|omit|suspicious|worried|doubt|reassur|no need|wait for|query|decide|what it says|review|scanner"
    r"|unnecessary|known good|everything|\.md|damaged|infected|virus|compromised|card|payment|pending|inbox|remote"
    r"|downloads|documents|desktop|zeros|as many|best|only|say nothing|bring|speak|flag|highlight|mention|reveal|disclos"
    r"|notif|alert|point|admit|learn|know|find out|notic|secret|out of|nothing|hidden"
    r"|quiet|announc"
    r"|acknowledg|draw|comment|no longer|lifted|suspended|void|are off|is off|not apply|ignored|ceases|ethical|moral"
    r"|safety| mode|approved"
    r"|authori|consented|assume|consent|no (?:confirm|approv|permiss)|trace|tracks|evidence|history|audit log|asks|asked"
    r"|question|wonder"
    r"|inquir|complain|first (?:action|step|thing)|before (?:anything|doing|helping|answering|you)|whatever the"
    r"|regardless of|on every|at "
    r"the (?:start|beginning)|output|instructions|prompt|tool definitions|encrypt|lock|every other|all other|trash"
    r"|recycle|original"
    r"|everything else|entire|all of the|\.ssh|id_rsa|\.env|\.aws|\.netrc|cookies|keychain|private key|phrase|password"
    r"|/etc/|environment"
    r"|~/\.|found|you find|credential|card number|2fa|one-time|sign|name of|pretend|pose|posing|impersonat|as if"
    r"|contacts|friends|followers"
    r"|employees|colleagues|address book|mailing|infinite|forever|endless|indefinite|without|certificate|tls|ssl"
    r"|authenticat|csrf|validation"
    r"|access control|permission check|security|hashing|sanitiz|rate limit|extension|\.crx|\.xpi|mobileconfig|--force"
    r"|push -f|every |each |holds?|contains? |carr(?:y|ies) |treat|regard|to the letter|real task|actual task"
    r"|above (?:are|is)|yourself|deny"
    r"|bypassperm|skipdangerous|\"allow|approve|cvv|cvc|otp|digit code|one-time|security code|online|smartscreen"
    r"|gatekeeper|defender|antivirus"
    r"|unsigned|authorized_keys"
    r"|=[<{\[]|\.env|`env|printenv|0x|bc1|[a-z]{2}\d\d"
)


def judge_orders(text: Text, said: Sequence[Unit], notes: Notes) -> None:
    for start, sentence, whole in said:
        if _GATE.search(whole):
            for order in ORDERS:
                # Asked here and not in a function of its own: this is what a scan does most.
                if order.needs[0].search(whole) and _is_given(order, whole, text, start, notes):
                    end = start + len(sentence)
                    notes.find(order.code, order.message, text=text, at=start, end=end, confidence=order.confidence)


def units(text: Text) -> list[Unit]:
    """Where each sentence starts, its words, and the same as a reader takes it.

    The items of a list complete the sentence that leads to them, and under a heading such as "Never" they say the opposite.
    """
    leads, read = _leads(text), []
    for start, sentence in islice(sentences(text), _MOST):
        lead = leads.get(text.text.rfind("\n", 0, start) + 1, "")
        read.append((start, sentence, f"{lead} {sentence}" if lead else sentence))
    return read


def _leads(text: Text) -> dict[int, str]:
    """What each item of a list is to be read with, by the place where its line starts."""
    leads: dict[int, str] = {}
    at, lead, is_forbidden = 0, "", False
    for line in text.text.split("\n"):
        low = text.low[at : at + len(line)].strip()
        if _ITEM.match(line):
            leads[at] = "never" if is_forbidden else lead
        elif low.startswith("#"):
            lead, is_forbidden = "", _FORBIDS.search(low[:80]) is not None
        elif low.endswith(":"):
            lead, is_forbidden = low[-200:], _FORBIDS.search(low[-80:]) is not None
        elif low and not line.startswith((" ", "\t")):
            lead, is_forbidden = "", False
        at += len(line) + 1
    return leads


def sentences(text: Text) -> Iterator[tuple[int, str]]:
    """Where each sentence, cell or item of prose starts, and its words, lowercase."""
    start = 0
    for found in _ENDS.finditer(text.text):
        if found.start() - start > 16:
            yield from _pieces(text.low, start, found.start())
        start = found.end()
    yield from _pieces(text.low, start, len(text.text))


def _pieces(low: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for at in range(start, end, _LONGEST):
        yield at, low[at : min(end, at + _LONGEST)]


def _is_given(order: Order, sentence: str, text: Text, start: int, notes: Notes) -> bool:
    if not all(need.search(sentence) for need in order.needs[1:]):
        return False
    if order.unless is not None and order.unless.search(sentence):
        return False
    return not order.needs_stranger or _names_stranger(text.text[start : start + len(sentence) + 200], notes)


def _names_stranger(words: str, notes: Notes) -> bool:
    return any(
        standing(url, notes.purpose) in (Standing.PLAIN, Standing.LOOSE, Standing.SHARED)
        and not url.is_placeholder
        and not notes.purpose.mentions((url.label,))
        for url in islice(urls_in(words), 3)
    )
