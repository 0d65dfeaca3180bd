"""Sentences as clauses: the kinds of things that a sentence orders, forbids, and names.

A rule should judge what a sentence would have an agent do, in any wording. So words are read as kinds (`send`, `work`,
`secret`; see data/kinds.txt), verbs by their form (an order, "is uploaded", or only a description), and words after a negation
count as forbidden.
"""

from __future__ import annotations

from functools import cache

from metier.lazy import lazy_pattern
from metier.scan.patterns import words
from metier.values import dataclass

__all__ = ["NO_CLAUSE", "Clause", "read_clause"]

_WORD = lazy_pattern(r"[a-z0-9.~_][a-z0-9'._-]*[a-z0-9]|[a-z]|[;:,()\"`]")
_NOT = words("not never don't avoid without no nor neither refuse prevent cannot can't doesn't mustn't shouldn't instead")
_NOT_END = words("but then ; : ( instead")
_BE = words("be is are gets get being been was were must")
_ARTICLES = words("the a an this that these those your their its his her our of each every any user's no for in")
_LEADS = words(
    ", ; : ( ) ` and then or also always must should please you quietly silently immediately first finally simply just "
    "so automatically shall instead afterwards once permanently secretly not never don't to will by"
)
"""Words after which a verb in its base form is an order."""
_NO_ORDER = words("how used able want wants wanted needs way ways likely going option ability tries trying allows allow")
"""Words after which `to` only describes."""
_REACH = 8
"""An object stands at most this many words after its verb."""
_ONLY_ORDERS = frozenset(("destroy", "off"))
"""Kinds of verbs that honest pages often describe ("may be truncated", "used to delete"): only plain orders count."""
_SCOPE = 7
_NONE: frozenset[str] = frozenset()
_BY = frozenset(("by", "keep", "start"))
_IRREGULAR = {
    "sent": "send", "put": "put", "written": "write", "kept": "keep", "paid": "pay", "told": "tell", "run": "run",
    "given": "give",    "overwritten": "overwrite", "read": "read", "let": "let",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Clause:
    orders: dict[str, frozenset[str]]
    """Kinds of verbs that the sentence tells to do, or says are done, each with the kinds of words near it."""
    forbids: frozenset[str]
    """Kinds of verbs behind a negation."""
    names: frozenset[str]
    """Kinds of other words, wherever they stand."""
    words: frozenset[str]

    def has(self, *kinds: str) -> bool:
        return not self.names.isdisjoint(kinds)

    def does(self, verb: str, *objects: str) -> bool:
        """Returns True if the sentence orders such a verb, near one of these kinds of words."""
        found = self.orders.get(verb)
        return found is not None and (not objects or not found.isdisjoint(objects))


NO_CLAUSE = Clause({}, frozenset(), frozenset(), frozenset())
"""A sentence without a verb that the scan knows."""


@cache
def _lexicon() -> tuple[dict[str, tuple[tuple[str, str], ...]], dict[str, frozenset[str]]]:
    """Returns the verbs, each inflected form with its kinds and form, and the other words with their kinds."""
    from pkgutil import get_data

    verbs: dict[str, set[tuple[str, str]]] = {}
    others: dict[str, set[str]] = {}
    kind, is_verb = "", False
    for line in (get_data("metier.scan", "data/kinds.txt") or b"").decode().splitlines():
        if line.startswith("["):
            kind, _, _ = line[1:].partition("]")
            is_verb = kind.endswith(" verbs")
            kind = kind.removesuffix(" verbs")
        elif line and not line.startswith("#"):
            if is_verb:
                for form, spelled in _inflect(line):
                    verbs.setdefault(spelled, set()).add((kind, form))
            else:
                others.setdefault(line, set()).add(kind)
    return {word: tuple(sorted(found)) for word, found in verbs.items()}, {
        word: frozenset(found) for word, found in others.items()
    }


def _inflect(verb: str) -> list[tuple[str, str]]:
    stem = verb.removesuffix("e")
    past = [form for form, base in _IRREGULAR.items() if base == verb] or (
        [verb[:-1] + "ied"] if verb.endswith("y") and verb[-2] not in "aeo" else [stem + "ed", verb + verb[-1] + "ed"]
    )
    return [("order", verb), ("gerund", stem + "ing"), ("gerund", verb + verb[-1] + "ing"), *(("done", one) for one in past)]


def read_clause(sentence: str, *, needs_verb: bool = True) -> Clause | None:
    """Reads a lowercase sentence. With `needs_verb`, returns None if it orders and forbids nothing that is known."""
    verbs, others = _lexicon()
    tokens = _WORD.findall(sentence)
    if needs_verb and verbs.keys().isdisjoint(tokens):
        return None
    found: dict[str, set[str]] = {}
    forbids: set[str] = set()
    kinds = [others.get(word) or others.get(word.lstrip("."), _NONE) for word in tokens]
    negated = 0
    for at, word in enumerate(tokens):
        if word in _NOT:
            negated = _SCOPE
        elif word in _NOT_END:
            negated = 0
        elif negated:
            # "Never paste the whole table inline or truncate it" forbids both.
            negated = _SCOPE if word in ("or", "nor") else negated - 1
        known = verbs.get(word)
        if not known:
            continue
        before = tokens[at - 1] if at else ""
        is_passive = not _BE.isdisjoint(tokens[max(0, at - 3) : at])
        if at + 1 < len(tokens) and tokens[at + 1] == ":":
            continue  # a label
        is_order = (before in _LEADS and not (before == "to" and at > 1 and tokens[at - 2] in _NO_ORDER)) or _starts(tokens, at)
        for kind, form in known:
            if (
                (form == "order" and is_order and (before != "to" or kind not in _ONLY_ORDERS))
                or (form == "done" and is_passive and kind not in _ONLY_ORDERS)
                or (form == "gerund" and (negated or before in _BY))
            ):
                if negated:
                    forbids.add(kind)
                else:
                    start = max(0, at - _REACH) if form == "done" else at
                    found.setdefault(kind, set()).update(*kinds[start : at + _REACH + 1])
    if needs_verb and not found and not forbids:
        return None
    orders = {kind: frozenset(near) for kind, near in found.items()}
    return Clause(orders, frozenset(forbids), frozenset().union(*kinds), frozenset(tokens))


def _starts(tokens: list[str], at: int) -> bool:
    """Returns True if a sentence or list item starts here, or after an adverb."""
    return at == 0 or (at == 1 and (tokens[0].isdigit() or tokens[0].endswith("ly") or tokens[0] == "x"))
