"""A linear model over the words of a sentence: how much it reads like an instruction against the user.

Rules find the wordings that they list. This model weighs how the words of a sentence go together, in wordings that no rule
lists. Addresses become what they are to this skill (its own, known, unknown), paths become what is kept there, words after a
negation are marked, and kinds of words (`send`, `secret`, `quiet`) are paired. `training/wording.py` makes the
weights and measures them on wordings that they have not seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations, islice, pairwise

from metier.lazy import lazy_pattern
from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, is_unknown_host, reputation_of, urls_in
from metier.scan.data.secrets import secret_place
from metier.scan.data.word_kinds import KINDS
from metier.scan.patterns import words
from metier.scan.purpose import Purpose
from metier.scan.readers.sentences import Sentence
from metier.scan.text import SkillText, excerpt_of
from metier.values import dataclass

__all__ = ["WordingContext", "WordingModel", "features_of", "judge_wording", "load_model", "stem"]

_MOST = 3_000
_LONGEST = 90
_FEWEST = 5
_ADDRESS = lazy_pattern(r"(?:https?|ftp|sftp|wss?|s3|gs|git|ssh)://[^\s`\"'<>)\]]{1,300}|git@[\w.-]{1,80}:\S{1,120}")
_LINK = lazy_pattern(r"!?\[([^\]\n]{0,120})\]\([^)\n]{0,300}\)")
_MAIL = lazy_pattern(r"[\w.+-]{2,40}@[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,24}){1,3}")
_SAMPLE = lazy_pattern(r"@(?:[\w-]{1,40}\.){0,3}(?:example|company|domain|acme|yourdomain|test|email|corp|foo|bar)\.")
_ACCOUNT = lazy_pattern(r"\b(?:0x[0-9a-f]{40}|bc1[a-z0-9]{20,60}|[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|\d{9,20})\b")
_MACHINE = lazy_pattern(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b")
_AGENT = lazy_pattern(r"\b(?:claude|agents|memory|soul|gemini|identity)\.md\b|\.cursorrules|settings(?:\.local)?\.json")
_DOTENV = lazy_pattern(r"(?<![\w/])\.env\b(?!\.(?:example|sample))")
_HOME = lazy_pattern(r"(?:~|\$home|/home/\w{1,40}|/users/\w{1,40})/?[\w./*-]{0,200}")
_SCRIPT = lazy_pattern(r"(?<![\w/])(?:\./|scripts?/|bin/|tools/)[\w./-]{1,200}")
_READ = lazy_pattern(r"\.(?:html?|pdf|png|jpe?g|svg|webp)$")
_WORD = lazy_pattern(r"@?[a-z][a-z']*|\d+")
_GRAMMAR = words(
    "the a an of and or is are was be been it its this that these those to in on at as by for with from into you your "
    "their his her"
)
_NOT = frozenset(("not", "never", "avoid", "without", "refrain", "no", "nor"))
_IRREGULAR = dict(
    pair.split(":")
    for pair in words(
        "sent:send ran:run running:run written:write wrote:write hidden:hide told:tell kept:keep copies:copy copied:copy "
        "copying:copy made:make making:make paid:pay given:give gave:give taken:take took:take cannot:not don't:not "
        "doesn't:not user's:user silently:silent quietly:quiet secretly:secret"
    )
)
_ENDINGS = (
    ("ies", "y"), ("ying", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ated", "ate"), ("ed", ""), ("ly", ""), ("s", ""),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordingContext:
    """The skill around a sentence: its purpose, and how often its documents name each host."""

    purpose: Purpose
    host_mentions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WordingModel:
    bias: float
    threshold: float
    """From this score on a person should look. Words alone never block; beside a finding of another kind they do."""
    weights: Mapping[str, float]

    def score(self, features: set[str], length: int) -> float:
        weigh = self.weights.get
        return sum(weigh(feature, 0.0) for feature in features) / math.sqrt(max(length, 10)) + self.bias


def judge_wording(text: SkillText, sentences: Iterable[Sentence], collector: FindingCollector) -> None:
    model = load_model()
    context = WordingContext(collector.purpose, collector.host_mentions)
    for sentence in islice(sentences, _MOST):
        features, length = features_of(sentence.in_context, context)
        if length >= _FEWEST and model.score(features, length) >= model.threshold:
            quoted = excerpt_of(text.text[sentence.start : sentence.end], 80)
            message = f"reads like an instruction against the user: {quoted!r}"
            collector.flag("SK419", message, text=text, at=sentence.start, end=sentence.end)


@cache
def load_model() -> WordingModel:
    # Not importlib.resources, whose import takes 9 ms because it also loads every compression library.
    from pkgutil import get_data

    lines = (get_data("metier.scan", "data/wording.tsv") or b"").decode().splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    values = {feature: float(weight) for weight, feature in rows}
    return WordingModel(values.pop("*bias"), values.pop("*threshold"), values)


def features_of(sentence: str, context: WordingContext) -> tuple[set[str], int]:
    """Returns what the model sees of a sentence, and how many words it has besides grammar."""
    tokens = _mark_negation(
        [word for word in map(stem, _WORD.findall(_mark(sentence.lower(), context))[:_LONGEST]) if word not in _GRAMMAR]
    )
    features = set(tokens)
    features.update(map(" ".join, pairwise(tokens)))
    features.update(map(" _ ".join, zip(tokens, tokens[2:], strict=False)))
    kinds = {word for word in tokens if word[0] == "@"}
    known = _kinds()
    for word in tokens:
        negation, plain = ("!", word[1:]) if word[0] == "!" else ("", word)
        kinds.update(negation + kind for kind in known.get(plain, ()))
    if not _NOT.isdisjoint(tokens):
        kinds.add("not")
    if tokens:
        features.add(f"^{tokens[0]}")
        if any(kind.isupper() for kind in known.get(tokens[0], ())):
            kinds.add("^")
    features.update(f"={kind}" for kind in kinds)
    features.update(map("+".join, combinations(sorted(kinds), 2)))
    return features, len(tokens)


@cache
def _kinds() -> dict[str, frozenset[str]]:
    kinds: dict[str, set[str]] = {}
    for kind, spelled in KINDS.items():
        for word in spelled.split():
            kinds.setdefault(stem(word), set()).add(kind)
    return {word: frozenset(found) for word, found in kinds.items()}


def _mark_negation(tokens: list[str]) -> list[str]:
    """Marks the words after a negation, which mean the opposite: `do not export keys`."""
    left, marked = 0, []
    for word in tokens:
        if word in _NOT:
            left = 5
            marked.append(word)
            continue
        marked.append(f"!{word}" if left > 0 and word[0] != "@" else word)
        left -= 1
    return marked


@cache
def stem(word: str) -> str:
    """Cuts a word to a stem. Coarse, but the same in training and in use."""
    if word[0].isdigit():
        return "#"
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word[0] == "@":
        return word
    word = word.removesuffix("'s")
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word[-2] in "su"):
            word = word[: len(word) - len(ending)] + instead
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lse":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _mark(low: str, context: WordingContext) -> str:
    """Replaces addresses, accounts and paths with what they are to this skill."""
    if "](" in low:
        low = _LINK.sub(r" \1 @linked ", low)
    if "@" in low:
        low = _MAIL.sub(lambda found: _mailbox(found[0], context), low)
    if ":" in low:
        low = _ADDRESS.sub(lambda found: _address(found[0], context), low)
    low = _ACCOUNT.sub(" @account ", low)
    if "." in low or "~" in low or "/" in low:
        low = _AGENT.sub(" @agentfile ", _MACHINE.sub(" @ip ", low))
        low = _HOME.sub(_home, _DOTENV.sub(" @secretplace ", low))
        low = _SCRIPT.sub(" @script ", low)
    return low


def _home(found: re.Match[str]) -> str:
    return " @secretplace @home " if secret_place(found[0], Purpose()) else " @home "


def _mailbox(address: str, context: WordingContext) -> str:
    if _SAMPLE.search(address):
        return " @samplemail "
    return " @ownmail " if context.purpose.mentions((address.partition("@")[2].partition(".")[0],)) else " @mail "


def _address(address: str, context: WordingContext) -> str:
    url = next(urls_in(address), None)
    if url is None:
        return " @unknownhost "
    kind = reputation_of(url, context.purpose)
    if url.is_placeholder and kind is not HostReputation.ANONYMOUS:
        return " @sample "
    if _READ.search(url.path):
        return " @page "
    if kind in (HostReputation.UNKNOWN, HostReputation.SHARED, HostReputation.ANONYMOUS) and (
        not is_unknown_host(url, context.purpose) or context.host_mentions.get(url.label, 0) > 3
    ):
        return " @own "
    if kind is HostReputation.UNKNOWN:
        return " @unknownhost @once " if context.host_mentions.get(url.label, 0) <= 1 else " @unknownhost "
    return " @anonymoushost @unknownhost " if kind is HostReputation.ANONYMOUS else f" @{kind.value} "
