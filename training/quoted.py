"""Requests that authors wrote down themselves: phrases in quotation marks that a skill says it should answer to.

There are about a thousand queries by three dozen publishers; these are about two thousand more, by ninety. The phrases
are removed from their skills before indexing, so that a request does not simply match its own text.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from metier.selection.tokenization import split_words, word_terms
from training.labels import Labelled, Plain

__all__ = ["fragments", "quoted_requests"]

_QUOTED = re.compile(r'["“]([^"“”\n]{12,220})["”]')
_ASKED = re.compile(
    r"trigger|user (?:says|asks|wants|request)|when (?:the )?user|say(?:s|ing)?\b|ask(?:s|ing|ed)?\b|prompt"
    r"|example (?:request|quer|usage|prompt|invocation)|usage|phrases|use (?:this|when)|activate|invoke|request|→|->",
    re.IGNORECASE,
)
"""What stands before a phrase that a user would say, on its line or under its heading."""
_CODE = re.compile(r"[{}<>=$\\|`_]|\w\.\w{2,4}\b|::|\(\)|https?:|^\W")
_BULLET = re.compile(r"\s*[-*\d.>|]*\s*$")
_PER_SKILL, _PER_PUBLISHER = 2, 120


def quoted_requests(skills: Sequence[Plain]) -> tuple[list[Plain], list[Labelled]]:
    """Returns the skills without the phrases, and the phrases as requests for them; the same each time."""
    rng = random.Random(3)
    bare: list[Plain] = []
    found: dict[str, list[Labelled]] = defaultdict(list)
    for skill in skills:
        phrases = _phrases(skill)
        bare.append(_without(skill, phrases))
        for phrase in rng.sample(phrases, min(_PER_SKILL, len(phrases))):
            found[skill.publisher].append(Labelled(phrase, (skill.id,), skill.publisher, "quoted"))
    chosen: list[Labelled] = []
    for requests in found.values():
        rng.shuffle(requests)
        chosen += requests[:_PER_PUBLISHER]
    return bare, chosen


def fragments(requests: Sequence[Labelled]) -> list[Labelled]:
    """Returns two or three words of every third request, as users type in a hurry."""
    rng = random.Random(5)
    found: list[Labelled] = []
    for one in requests[::3]:
        said = split_words(one.query)
        telling = [place for place, word in enumerate(said) if word_terms(word)]
        size = rng.choice((2, 2, 3))
        if len(telling) > size:
            first = rng.randrange(len(telling) - size + 1)
            short = " ".join(said[telling[first] : telling[first + size - 1] + 1])
            found.append(replace(one, query=short, kind="fragment"))
    return found


def _phrases(skill: Plain) -> list[str]:
    described = [match[1].strip() for match in _QUOTED.finditer(skill.description)]
    explained = [match[1].strip() for match in _QUOTED.finditer(skill.body) if _is_asked(skill.body, match.start())]
    return [phrase for phrase in dict.fromkeys(described + explained) if _is_a_request(phrase)]


def _is_asked(text: str, place: int) -> bool:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    heading = text[max(0, place - 400) : place].rpartition("\n#")[2]
    return bool(_ASKED.search(line) or (_BULLET.match(line) and _ASKED.search(heading)))


def _is_a_request(phrase: str) -> bool:
    return 4 <= len(phrase.split()) <= 40 and not _CODE.search(phrase)


def _without(skill: Plain, phrases: Sequence[str]) -> Plain:
    description, body = skill.description, skill.body
    for phrase in phrases:
        description, body = description.replace(phrase, ""), body.replace(phrase, "")
    return replace(skill, description=description, body=body)
