"""Orders against the user, told by the kinds of words that meet in one sentence.

A phrase (see `phrases`) knows one wording. An order knows what must come together, in any wording and order: words for
changing, words for money, words for keeping quiet. Each row is read against sentences of at most a few hundred characters,
and most sentences are passed over after one look for a rare word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.exposure import EXPOSURE
from metier.scan.data.falsehoods import FALSEHOODS, UNWRITTEN
from metier.scan.data.harms import HARMS
from metier.scan.data.hosts import HostReputation, reputation_of, urls_in
from metier.scan.data.liberties import LIBERTIES
from metier.scan.data.loyalty import LOYALTY
from metier.scan.data.sentence_rule import UNTOLD, SentenceRule
from metier.scan.data.shortcuts import SHORTCUTS
from metier.scan.patterns import lazy_pattern
from metier.scan.text import SkillText

__all__ = ["SENTENCE_RULES", "Sentence", "judge_sentences", "read_sentences", "sentences"]

Sentence = tuple[int, str, str]
_LONGEST = 500
_MOST = 5_000
_ENDS = lazy_pattern(r"[.!?](?=\s)|\n[ \t]*\n|\n[ \t]*(?:[-*+>]|\d{1,2}[.)])[ \t]|\n#|\|")


_ITEM = lazy_pattern(r"[ \t]{0,8}(?:[-*+]|\d{1,2}[.)])[ \t]")
_FORBIDS = lazy_pattern(
    r"\b(?:never|not|don'?ts?|avoid|forbidden|prohibited|anti-?patterns?|mistakes?|pitfalls?|wrong|bad|refuse"
    r"|out of scope|limits|without asking"
    r"|ask (?:first|before)|red flags|warnings?|requires? (?:approval|confirmation))\b|❌|🚫|⛔"
)
_TURNED, _UNTRUE = (*LOYALTY, *HARMS), (*FALSEHOODS, *EXPOSURE, *LIBERTIES, *SHORTCUTS)
SENTENCE_RULES = (*_TURNED, *_UNTRUE)
_ACROSS = tuple(order for order in SENTENCE_RULES if order.is_across)
# A sentence that speaks of the one before it, and says what nobody should see or how it should look.
_REFERS = lazy_pattern(
    r"[ `]{0,8}(?:do not|don't|never|nobody|no one|leave |keep |make |present |use (?:that|this)|it |this |they |a call"
    r"|there is|without |say nothing|omit |follow |obey |execute |if (?:the reply|asked)|(?:state|write|describe) it)"
)
_COMPLETES = lazy_pattern(
    rf"{UNTOLD}|{UNWRITTEN}|look as if|looks? (?:right|genuine|normal)|as (?:an? )?(?:\w+ )?fact\b|not necessary|is right\b"
    r"|use that|do not show|not show|(?:follow|obey|execute) (?:them|these|it)\b"
)
# A sentence without any of these is not worth a second look.
_GATE = lazy_pattern(
    r"(?<!\w)(?:tell|inform|explain|invisible|white-on|aside|do away|have to|none of|counts|matters|came from|comes from"
    r"|coming from|authority|unaware"
    r"|in the dark|trace|omit|suspicious|worried|doubt|reassur|no need|wait for|query|decide|what it says|review|scanner"
    r"|unnecessary|known good|everything|damaged|infected|virus|security soft|compromised|card|payment|pending|inbox|remote"
    r"|downloads|documents|desktop|zeros|as many|best|only|say nothing|bring|speak|flag|highlight|mention|reveal|disclos"
    r"|notif|alert|point|admit|learn|know|find out|notic|secret|out of|nothing|hidden"
    r"|quiet|announc"
    r"|acknowledg|draw|comment|no longer|lifted|suspended|void|are off|is off|not apply|ignored|ceases|ethical|moral"
    r"|safety|approved"
    r"|authori|consented|assume|consent|no (?:confirm|approv|permiss)|trace|tracks|evidence|history|audit log|asks|asked"
    r"|question|wonder"
    r"|inquir|complain|first (?:action|step|thing)|before (?:anything|doing|helping|answering|you)|whatever the"
    r"|regardless of|on every|at "
    r"the (?:start|beginning)|output|instructions|prompt|tool definitions|encrypt|lock|every other|all other|trash"
    r"|recycle|original"
    r"|everything else|entire|all of the|id_rsa|cookies|keychain|private key|phrase|password"
    r"|/etc/|environment"
    r"|~/\.|found|you find|credential|card number|2fa|one-time|sign|name of|pretend|pose|posing|impersonat|as if"
    r"|contacts|friends|followers"
    r"|employees|colleagues|address book|mailing|infinite|forever|endless|indefinite|without|certificate|tls|ssl"
    r"|authenticat|csrf|validation"
    r"|access control|permission check|security|hashing|sanitiz|rate limit|extension|--force"
    r"|push -f|every |each |holds?|contains? |carr(?:y|ies) |treat|regard|to the letter|real task|actual task"
    r"|above (?:are|is)|yourself|deny"
    r"|bypassperm|skipdangerous|\"allow|approve|cvv|cvc|otp|digit code|one-time|security code|online|smartscreen"
    r"|gatekeeper|defender|antivirus"
    r"|unsigned|authorized_keys|authori"
    r"|`env|`set`|`cat |printenv|0x|bc1|[a-z]{2}\d\d|pre-?(?:approv|author)|re-?auth)"
    r"|\.(?:md|ssh|env|aws|netrc|crx|xpi|mobileconfig)\b|=[<{\[]| mode\b"
)
_GATE_OF_REST = lazy_pattern(
    r"(?<!\w)(?:so (?:that )?no |(?:under|below|beneath) the (?:app|rep|rev|aud|auth)|unlock|disarm|detector|garage|cameras?"
    r"|without (?:ask|conf|warn|prom|tell|info|their|the other|any cons)|no (?:conf|appr|need to)|(?:not|n't) (?:ask|wait)"
    r"|commit (?:it|them|the|both)|push (?:it|them|the)|(?:reset|verification|security|one-time|confirmation) (?:code|ques"
    r"|answ|link)"
    r"|side effect|contraindic|disclaimer|risk (?:sec|warn|disc)|safety (?:warn|not|sec)|allergen|competitor|(?:5|five)[- ]star"
    r"|positive rev|repost|retweet|upvote|(?:to|on|in|against) (?:main|master|prod)|private (?:repo|code|proj|sour)|as if|as"
    r" though|(?:look|appear|seem)s? (?:right|corr|norm|natu|plau|genu|orig|unto|cons"
    r"|high|low|bett|wors"
    r"|small"
    r"|larg|like)|until (?:the|p)|facts?\b|made[- ]up|invent|fake|fictitious|fabricat|insur|national|ethnic|gender|origin\b"
    r"|surname|first language|foreign|women|muslim|jewish|out of|not part of|(?:not|n't|never) (?:docu|ment|list|show|repo|note"
    r"|log|comm|desc|incl|anno|expl|flag|disc|brin)|asks? (?:what|why|about)|tests? pass|passed\b|green|report (?:succ|no)"
    r"|was clean"
    r"|treat|box(?:es)?\b|as \W?(?:given|approved|verbal)|low severity|as (?:low|info|false|minor|resolv|fixed)|findings"
    r"|vulnerab|debts|complaints|even (?:when|if|though)"
    r"|public|gist|pastebin|anyone (?:who|with)|allusers|channels?|@every|contacts|groups|chats|members|followers|subscribers"
    r"|approve|merge|accept|sign-?in|logins?\b|alerts?|fraud|audit|cloudtrail|guardduty|alarm|https?://|transfer|fee\b|line"
    r" item"
    r"|payment|instead of|differs|\+\d|not match|comes back|returned|remote.debug|--dangerously|--yolo|--trust-all|--allow-all"
    r"|telegram|whatsapp|discord|signal|t\.me|0\.0\.0\.0|all interfaces|force|push origin|lets? in|any (?:user|account)"
    r"|all (?:other|the other|rem|old|prev|earl)|every other|originals?\b|source (?:doc|file|data|fold|rec)|everything else"
    r"|entire"
    r"|recycle|win(?:dows)?(?: key)? ?\+|run (?:dialog|box|window)|max_?uint|unlimited|infinite|memory|memories|preferences"
    r"|admin|owner|editor|access|everyone can|readable|writable|branch protection|two-factor|2fa|mfa|required (?:rev|check)"
    r"|code ?owners|secret scan|row.level|certificate|verify ?=|rejectunauth|insecure|sslverify|curl -k|any ip|read-?me|wiki"
    r"|plain ?text"
    r"|clear ?text|unencrypted|unhashed|including (?:the )?(?:pass|tok|sec|auth)|(?:always|must|shall) (?:recom|rank|place|sugg"
    r"|pref|prom|fav|put|list|choose|book|pick|conc|state|say|find|deci|repo|answ|claim)|anything by|affiliate|referral|on file"
    r"|consent|terms|marketing|overwrit|over the (?:source|orig|raw)|replac\w+ (?:the )?(?:user|orig|source|raw|master)|without"
    r" (?:a|any|mak|tak|back|copy"
    r"|dump"
    r"|snap)|sent (?:fold|item|mail|mess)|(?:browser|browsing|edit|version) history|activity (?:log|feed)|(?:other|every|all)"
    r" agents?"
    r"|screenshots?|webcam|microphone|clipboard|keystrokes)"
    r"|\?ref=|[?&](?:tag|aff)|(?:claude|agents|gemini|memory|soul)\.md\b|\.cursorrules|\w@\w|\.gitignore"
)
_GATED = ((_GATE, _TURNED), (_GATE_OF_REST, _UNTRUE))


def judge_sentences(text: SkillText, said: Sequence[Sentence], notes: FindingCollector) -> None:
    before: Sentence | None = None
    for start, sentence, whole in said:
        end = start + len(sentence)
        for gate, orders in _GATED:
            if gate.search(whole):
                for order in orders:
                    # Asked here and not in a function of its own: this is what a scan does most.
                    if order.needs[0].search(whole) and _is_given(order, whole, text, start, notes):
                        _note(order, text, start, end, notes)
        if before is not None and _REFERS.match(sentence) and _COMPLETES.search(sentence[: _LONGEST // 2]):
            _judge_across(before, (start, sentence, whole), text, notes)
        before = (start, sentence, whole)


def _judge_across(first: Sentence, second: Sentence, text: SkillText, notes: FindingCollector) -> None:
    """Two sentences of one paragraph as one order: what is done, and that nobody is to know."""
    start, end = first[0], second[0] + len(second[1])
    if second[0] - start - len(first[1]) > 1:
        return
    both = f"{first[2]}.{second[1]}"
    for order in _ACROSS:
        if order.needs[0].search(both) and _is_given(order, both, text, start, notes):
            alone = any(
                _is_given(order, one[2], text, one[0], notes) and order.needs[0].search(one[2]) for one in (first, second)
            )
            if not alone:
                _note(order, text, start, end, notes)


def _note(order: SentenceRule, text: SkillText, start: int, end: int, notes: FindingCollector) -> None:
    # A sentence starts with its first word, and not at the end of the row of a table before it.
    start += len(text.text[start:end]) - len(text.text[start:end].lstrip())
    notes.find(order.code, order.message, text=text, at=start, end=end, confidence=order.confidence)


def read_sentences(text: SkillText) -> list[Sentence]:
    """Where each sentence starts, its words, and the same as a reader takes it.

    The items of a list complete the sentence that leads to them, and under a heading such as "Never" they say the opposite.
    """
    leads, read = _leads(text), []
    for start, sentence in islice(sentences(text), _MOST):
        lead = leads.get(text.text.rfind("\n", 0, start) + 1, "")
        read.append((start, sentence, f"{lead} {sentence}" if lead else sentence))
    return read


def _leads(text: SkillText) -> dict[int, str]:
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


def sentences(text: SkillText) -> Iterator[tuple[int, str]]:
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


def _is_given(order: SentenceRule, sentence: str, text: SkillText, start: int, notes: FindingCollector) -> bool:
    if not all(need.search(sentence) for need in order.needs[1:]):
        return False
    if order.unless is not None and order.unless.search(sentence):
        return False
    return not order.needs_stranger or _names_stranger(text.text[start : start + len(sentence) + 200], notes)


def _names_stranger(words: str, notes: FindingCollector) -> bool:
    return any(
        reputation_of(url, notes.purpose) in (HostReputation.PLAIN, HostReputation.LOOSE, HostReputation.SHARED)
        and not url.is_placeholder
        and not notes.purpose.mentions((url.label,))
        for url in islice(urls_in(words), 3)
    )
