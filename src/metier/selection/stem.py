"""Porter's stemmer for English, with a cache and a list of word families that it misses.

It is written here because a stemmer alone does not justify a language package, and because the index, the background
statistics and the word vectors must agree on every stem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["stem"]

_CONSONANTS = "[^aeiou][^aeiouy]*"
_VOWELS = "[aeiouy][aeiou]*"
_HAS_MEASURE = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
_MEASURE_IS_ONE = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}({_VOWELS})?$")
_MEASURE_ABOVE_ONE = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}{_VOWELS}{_CONSONANTS}")
_HAS_VOWEL = re.compile(f"^({_CONSONANTS})?[aeiouy]")
_SHORT_END = re.compile(f"^{_CONSONANTS}[aeiouy][^aeiouwxy]$")
_DOUBLED = re.compile(r"([^aeioulsz])\1$")

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


_BRITISH = re.compile(
    r"(?!(?:advert|comprom|expert|merchand|parad|pract|prem|prom|sunr|treat)is)"
    r"([a-z]{3,}[dglmnrt])(?<!pr)is(e[drs]?|ers|ing|ations?)"
)
"""British spellings of verbs in -ize and their nouns; not `promise` or `surprise`."""

_FAMILIES = """
    analyz analysi analys | deploy deploi | verifi verif | classifi classif | identifi identif | certifi certif
    modifi modif | notifi notif | configur config | autom automat | repositori repo | fail failur | creat creation
    discov discoveri | deliv deliveri | recov recoveri | build builder built | write writer written wrote
    defin definit | compar comparison | summar summari | decid decis | evalu eval | diagnos diagnosi | synthes synthesi
    hypothes hypothesi | compos composit | decompos decomposit | prioriti priorit | expos exposur | postgr postgresql
    submit submiss | regist registr | reduc reduct | categori categor | explain explan | transcrib transcript
    compliant complianc | resolv resolut | scan scanner | edit editor | audit auditor | track tracker
    kubernet k8s | javascript js | databas db | color colour | behavior behaviour | favorit favourit | center centr
    catalog catalogu | licens licenc | week weekli | month monthli | dotnet .net | csharp c# | cpp c++
"""
"""Stems that mean the same: nouns and their verbs, irregular verbs, short forms, British spellings, names with signs. They were
collected from stems of public skills that begin alike and occur in the same contexts. The first of each family replaces the
others."""
_FAMILY = {
    other: first
    for first, *others in (family.split() for line in _FAMILIES.strip().splitlines() for family in line.split("|"))
    for other in others
}


def _alternatives(endings: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(endings, key=len, reverse=True)
    return re.compile(f"^(.+?)({'|'.join(longest_first)})$")


_ENDS_2, _ENDS_3, _ENDS_4 = _alternatives(_STEP_2), _alternatives(_STEP_3), _alternatives(_STEP_4)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """`word` must be lowercase. A word with other characters than a-z keeps its ending."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return _FAMILY.get(word, word)
    if british := _BRITISH.fullmatch(word):
        word = f"{british[1]}iz{british[2]}"
    found = _strip_suffix(_strip_inflection(word))
    return _FAMILY.get(found, found)


def _strip_inflection(word: str) -> str:
    """Removes plurals, -ed and -ing, and turns a final y after a vowel into i."""
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-2] if word.endswith(("sses", "ies")) else word[:-1]
    if word.endswith("eed"):
        word = word[:-1] if _HAS_MEASURE.match(word[:-3]) else word
    else:
        ending = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
        if ending and _HAS_VOWEL.match(word[:-ending]):
            word = _restore_ending(word[:-ending])
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    return word


def _restore_ending(word: str) -> str:
    if word.endswith(("at", "bl", "iz")) or _SHORT_END.match(word):
        return word + "e"
    return word[:-1] if _DOUBLED.search(word) else word


def _strip_suffix(word: str) -> str:
    for pattern, replacements in ((_ENDS_2, _STEP_2), (_ENDS_3, _STEP_3)):
        found = pattern.match(word)
        if found and _HAS_MEASURE.match(found[1]):
            word = found[1] + replacements[found[2]]
    found = _ENDS_4.match(word)
    if found and _MEASURE_ABOVE_ONE.match(found[1]):
        word = found[1]
    elif word.endswith(("sion", "tion")) and _MEASURE_ABOVE_ONE.match(word[:-3]):
        word = word[:-3]
    if word.endswith("e"):
        rest = word[:-1]
        if _MEASURE_ABOVE_ONE.match(rest) or (_MEASURE_IS_ONE.match(rest) and not _SHORT_END.match(rest)):
            word = rest
    if word.endswith("ll") and _MEASURE_ABOVE_ONE.match(word):
        word = word[:-1]
    return word
