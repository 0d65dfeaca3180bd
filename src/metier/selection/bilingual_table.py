"""The table of translations that ships with the package: words and phrases of eight languages and their English words.

It is read when the first text in another language than English arrives. Keys are checksums of folded stems.
`python -m training.bilingual` makes it; data/README.md names the sources and their licences.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from metier.values import dataclass

from .arrays import Array
from .container import unpack
from .languages import LANGUAGES, fold, light_stem
from .tokenization import split_words

__all__ = [
    "TABLE_FORMAT",
    "BilingualTable",
    "Meaning",
    "hash_text",
    "key_of",
    "load_bilingual_table",
    "parse_bilingual_table",
    "split_run",
]

TABLE_FORMAT = 1
LONGEST_RUN = 10
"""Characters of the longest word that is looked up in a run without spaces."""
Meaning = tuple[tuple[str, float], ...]
"""English words or phrases, the most likely first, each with its share."""
_NO_MEANING: Meaning = ()
_PLURALS = {"de": ("", "n", "en", "s"), "es": ("", "s", "es"), "fr": ("", "s", "x"), "pt": ("", "s", "es")}
"""Endings that change less than those that a stem is without: "empleados" is not "empleo"."""


def key_of(text: str, language: str, *, exact: bool = False) -> int:
    """Returns the key of a word or phrase: by its stems, or by its exact form, which has the priority."""
    words = [fold(word, language) for word in split_words(text)]
    return hash_text("=" + " ".join(words) if exact else " ".join(light_stem(word, language) for word in words))


@dataclass(frozen=True, slots=True, kw_only=True)
class BilingualTable:
    english: tuple[str, ...]
    places: Mapping[str, Mapping[int, int]]
    """By language: the line of each key."""
    words: Mapping[str, Array]
    """By language: three positions in `english` per line."""
    shares: Mapping[str, Array]
    """By language: the shares of the three, in 255ths; 0 fills a line."""
    simplified: Mapping[int, int]
    """Traditional Chinese characters and their simplified forms, for `str.translate`."""

    def meaning(self, key: int, language: str) -> Meaning:
        place = self.places[language].get(key)
        if place is None:
            return _NO_MEANING
        words, shares = self.words[language][place].tolist(), self.shares[language][place].tolist()
        return tuple((self.english[word], share / 255) for word, share in zip(words, shares, strict=True) if share)

    def find(self, phrase: str, language: str) -> Meaning:
        """Looks a word or phrase up by its exact form, then without a plural ending, then by its stems."""
        for ending in _PLURALS.get(language, ("",)):
            if phrase.endswith(ending):
                meaning = self.meaning(key_of(phrase.removesuffix(ending), language, exact=True), language)
                if meaning:
                    return meaning
        return self.meaning(key_of(phrase, language), language)

    def known_in(self, run: str, language: str) -> dict[tuple[int, int], int]:
        """Returns the keys of the known words in a run without spaces, by begin and end."""
        places = self.places[language]
        return {
            (begin, end): key
            for begin in range(len(run))
            for end in range(begin + 1, min(len(run), begin + LONGEST_RUN) + 1)
            if (key := hash_text(run[begin:end])) in places
        }


def hash_text(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def split_run(run: str, is_word: Callable[[int, int], bool], is_stop: Callable[[str], bool]) -> Iterator[tuple[int, int, str]]:
    """Splits a run without spaces into "word", "stop" and "unknown" pieces, with the fewest unknown characters and pieces."""
    size = len(run)
    best: list[tuple[float, int, str]] = [(0.0, 0, "")] + [(float("inf"), 0, "")] * size
    for end in range(1, size + 1):
        for begin in range(max(0, end - LONGEST_RUN), end):
            length = end - begin
            if is_word(begin, end):
                cost, kind = (1.0 if length > 1 else 1.7), "word"
            elif is_stop(run[begin:end]):
                cost, kind = (0.9 if length > 1 else 1.4), "stop"
            elif length == 1:
                cost, kind = 2.0, "unknown"
            else:
                continue
            if best[begin][0] + cost < best[end][0]:
                best[end] = (best[begin][0] + cost, begin, kind)
    pieces: list[tuple[int, int, str]] = []
    end = size
    while end:
        _, begin, kind = best[end]
        if kind == "unknown" and pieces and pieces[-1][2] == "unknown":
            pieces[-1] = (begin, pieces[-1][1], kind)
        else:
            pieces.append((begin, end, kind))
        end = begin
    return reversed(pieces)


@cache
def load_bilingual_table() -> BilingualTable:
    return parse_bilingual_table(resources.files(__package__).joinpath("data", "bilingual.bin").read_bytes())


def parse_bilingual_table(buffer: Any) -> BilingualTable:
    arrays = unpack(buffer, version=TABLE_FORMAT)
    return BilingualTable(
        english=tuple(arrays["english"].tobytes().decode().split("\n")),
        places={
            language: {key: line for line, key in enumerate(arrays[f"{language}.keys"].tolist())} for language in LANGUAGES
        },
        words={language: arrays[f"{language}.words"] for language in LANGUAGES},
        shares={language: arrays[f"{language}.shares"] for language in LANGUAGES},
        simplified=dict(zip(arrays["traditional"].tolist(), arrays["simplified"].tolist(), strict=True)),
    )
