"""Texts in other languages as English words: requests with weighted alternatives, skills with the most likely word.

Both go through one table, so a German request finds an English skill and a German one, and an English request finds both.
A word that the table does not have keeps a stem of its own, which matches the same word in a skill of that language.
Product names, identifiers and English words stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from metier.values import dataclass, replace

from .bilingual_table import BilingualTable, Meaning, hash_text, load_bilingual_table, split_run
from .index_document import IndexDocument
from .languages import (
    LANGUAGES,
    SCRIPTS,
    UNSPACED,
    UNSPACED_RUN,
    detect_language,
    fold,
    light_stem,
    script_language,
    stop_words,
)
from .tokenization import split_words, term_hash, word_terms
from .trained_data import load_trained_data

__all__ = ["TranslatedWord", "find_language", "translate_document", "translate_request"]

_LATIN = tuple(language for language in LANGUAGES if language not in (*UNSPACED, "ru"))
_OWN_MARK = "\u02d1"
"""Ends a stem that is no English word, so that it is not stemmed as one and does not match one ("Gift", "chat")."""
_LONGEST_PHRASE = 4
_COMMON = 12
"""Background documents with a word that is taken for English."""
_UNKNOWN = 0.5
"""Weight of a word that is not in the table."""
_CLAUSES = re.compile(r"[^\w\s'’\-/.]+|\n+|(?<=\w)[.]+(?=\s|$)|[。．]+")
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+|[。！？；]+")
_SHORTEST_PART = 4
_BEGINNING = 400
_BODY = 2_000
"""Characters of a body that are translated; finding words without spaces takes time, and the topic is at the beginning."""
_ENGLISH_SIGNS = (" the ", " and ", " to ", " of ")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedWord:
    """One word or phrase of a request."""

    written: str
    meaning: Meaning
    """English words or phrases; the word itself if it is none of the table's."""
    is_translated: bool
    own: str = ""
    """The word in its own language, in the form that skills of that language are indexed in; "" for English words."""

    def terms(self) -> dict[str, tuple[float, str]]:
        """Returns the terms, those of the first meaning first, each with its weight and its English word."""
        found: dict[str, tuple[float, str]] = {}
        for text, share in self.meaning:
            for word in split_words(text):
                for term in word_terms(word):
                    found[term] = max((share, word), found.get(term, (0.0, "")))
        return found

    def first_terms(self) -> tuple[str, ...]:
        return tuple(term for word in split_words(self.meaning[0][0]) for term in word_terms(word)) if self.meaning else ()


def find_language(text: str) -> str:
    """Returns the language of a request if it is not English, else ""."""
    if not _may_be_foreign(text):
        return ""
    found = detect_language(text)
    if found == "en":
        return ""
    # Spanish and Portuguese share most of their function words.
    return _closest(text, ("es", "pt"), found) if found in ("es", "pt") else found or _detect_by_table(text)


def translate_request(text: str, language: str) -> list[list[TranslatedWord]]:
    """Returns the sentences of a request, word by word; function words are left out."""
    table = load_bilingual_table()
    sentences = []
    for sentence in _SENTENCES.split(text):
        words = [word for clause in _CLAUSES.split(sentence) for word in _translate_clause(clause, language, table)]
        if words:
            sentences.append(words)
    return sentences


def translate_document(document: IndexDocument) -> IndexDocument:
    """Returns a skill in English words if its description is in another language; an English skill stays as it is."""
    described = "\n".join(document.purpose)
    if not _may_be_foreign(described):
        return document
    language = script_language(described) or find_language(described)
    if not language:
        return document
    table = load_bilingual_table()
    put = partial(_translate_text, language=language, table=table)
    translated = replace(
        document,
        name=put(document.name),
        purpose=tuple(put(text) for part in document.purpose for text in _SENTENCES.split(part)),
        negative=put(document.negative),
    )
    # The body is read apart: many skills have a description in one language and instructions in another.
    body = document.body
    if (script_language(body) if SCRIPTS.search(body[:_BEGINNING]) else find_language(body)) != language:
        return translated
    return replace(translated, headings=put(document.headings), body=put(body[:_BODY]))


def _may_be_foreign(text: str) -> bool:
    return not text.isascii() or not any(sign in text for sign in _ENGLISH_SIGNS)


def _translate_text(text: str, language: str, table: BilingualTable) -> str:
    """Returns the English words of each clause, and then the words of its own language that were translated."""
    clauses: list[str] = []
    for clause in _CLAUSES.split(text):
        words = list(_translate_clause(clause, language, table))
        clauses += (" ".join(word.meaning[0][0] for word in words), " ".join(word.own for word in words if word.is_translated))
    return ", ".join(clause for clause in clauses if clause)


def is_english_word(word: str) -> bool:
    """Returns True if the word is common in the background of English skills."""
    return _is_common(word.lower())


@lru_cache(maxsize=1 << 14)
def _is_common(low: str) -> bool:
    trained = load_trained_data()
    terms = word_terms(low)
    place = int(trained.places(np.array([term_hash(terms[0])], dtype=np.uint64))[0]) if terms else -1
    return not terms or (place >= 0 and int(trained.frequency[place]) >= _COMMON)


def _detect_by_table(text: str) -> str:
    """Decides for a few words without function words: English, unless half of them are unknown in English but in the table."""
    words = [word for word in split_words(text)[:40] if word.isalpha() and len(word) > 2 and not word.isupper()]
    strange = [word for word in words if not word.isascii() or not is_english_word(word)]
    if not words or 2 * len(strange) < len(words):
        return ""
    best = _closest(" ".join(strange), _LATIN, _LATIN[0])
    return best if 2 * _known(strange, best) > len(strange) else ""


def _closest(text: str, languages: tuple[str, ...], first: str) -> str:
    """Returns the language of which the table knows most words; `first` wins a tie."""
    words = split_words(text)[:60]
    return max((first, *languages), key=lambda language: _known(words, language))


def _known(words: list[str], language: str) -> int:
    return sum(word.lower() in stop_words(language) or _translate_word(word, language).is_translated for word in words)


def _translate_clause(clause: str, language: str, table: BilingualTable) -> Iterator[TranslatedWord]:
    if language in UNSPACED:
        place = 0
        text = fold(clause, language)
        if language == "zh":
            text = text.translate(table.simplified)
        for run in UNSPACED_RUN.finditer(text):
            yield from _as_written(clause[place : run.start()] if len(text) == len(clause) else text[place : run.start()])
            yield from _translate_run(run[0], language)
            place = run.end()
        yield from _as_written(clause[place:] if len(text) == len(clause) else text[place:])
        return
    yield from _translate_words(split_words(clause), language, table)


@lru_cache(maxsize=1 << 12)
def _translate_run(run: str, language: str) -> tuple[TranslatedWord, ...]:
    table = load_bilingual_table()
    known = table.known_in(run, language)
    stop = stop_words(language)
    found = []
    for begin, end, kind in split_run(run, lambda b, e: (b, e) in known, stop.__contains__):
        piece = run[begin:end]
        if kind == "word" and piece not in stop:
            meaning = table.meaning(known[begin, end], language)
            found.append(TranslatedWord(written=piece, meaning=meaning, is_translated=True, own=piece))
        elif kind == "unknown" and (end - begin > 1 or end - begin == len(run)):
            found.append(TranslatedWord(written=piece, meaning=((piece, _UNKNOWN),), is_translated=False, own=piece))
    return tuple(found)


def _as_written(text: str) -> Iterator[TranslatedWord]:
    for word in split_words(text):
        if word_terms(word):
            yield TranslatedWord(written=word, meaning=((word, 1.0),), is_translated=False)


def _translate_words(words: list[str], language: str, table: BilingualTable) -> Iterator[TranslatedWord]:
    stop = stop_words(language)
    stems = [light_stem(fold(word, language), language) for word in words]
    place = 0
    while place < len(words):
        for length in range(min(_LONGEST_PHRASE, len(words) - place), 1, -1):
            meaning = table.meaning(hash_text(" ".join(stems[place : place + length])), language)
            if meaning:
                own = " ".join(stem + _OWN_MARK for stem in stems[place : place + length])
                written = " ".join(words[place : place + length])
                yield TranslatedWord(written=written, meaning=meaning, is_translated=True, own=own)
                place += length
                break
        else:
            word = words[place]
            place += 1
            if language == "ru" and word.isascii():
                yield from _as_written(word)
            elif word.lower() not in stop and len(word) > 1:
                yield _translate_word(word, language)


@lru_cache(maxsize=1 << 12)
def _translate_word(word: str, language: str) -> TranslatedWord:
    table = load_bilingual_table()
    is_name = any(map(str.isdigit, word)) or not (word.islower() or word.istitle())
    meaning = () if is_name else table.find(word, language) or _compound(fold(word, language), language, table)
    own = light_stem(fold(word, language), language) + _OWN_MARK
    if meaning:
        return TranslatedWord(written=word, meaning=meaning, is_translated=True, own=own)
    if word.isascii() and (is_name or is_english_word(word)):
        return TranslatedWord(written=word, meaning=((word, 1.0),), is_translated=False)
    return TranslatedWord(written=word, meaning=((own, _UNKNOWN),), is_translated=False, own=own)


def _compound(word: str, language: str, table: BilingualTable) -> Meaning:
    """Translates a German compound by its parts: `Rechnungsvorlage` is `invoice template`."""
    if language != "de":
        return ()
    for cut in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        right = table.find(word[cut:], language)
        if not right:
            continue
        left = word[:cut]
        for link in ("", "s", "es", "n", "en", "er"):
            if left.endswith(link) and len(left) - len(link) >= _SHORTEST_PART:
                first = table.find(left[: len(left) - len(link)], language)
                if first:
                    return ((f"{first[0][0]} {right[0][0]}", 1.0), *first[1:2], *right[1:2])
    return ()
