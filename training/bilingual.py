"""Makes the bilingual table: aligns message catalogues word by word and adds the hand-written glossary.

    python -m training.bilingual --catalogs FOLDER [--out FILE]

IBM model 1 in both directions, over stems, finds which English words a foreign word stands for. Words of Chinese, Japanese and
Korean are found first: parts of messages that go with one English word (Dice), and short messages as a whole. The glossary,
training/glossary.txt, has the first word.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from metier.selection.arrays import Array
from metier.selection.bilingual_table import TABLE_FORMAT, hash_text, key_of, split_run
from metier.selection.container import pack
from metier.selection.languages import LANGUAGES, UNSPACED, UNSPACED_RUN, fold, light_stem, stop_words
from metier.selection.stem import stem
from metier.selection.tokenization import STOP_WORDS, split_words
from training.catalogs import Pairs, read_pairs, read_simplified

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "src" / "metier" / "selection" / "data" / "bilingual.bin"
GLOSSARY = ROOT / "training" / "glossary.txt"
COLUMNS = ("zh", "de", "es", "fr", "pt", "ja", "ko", "ru")
_CLEAN = re.compile(r"%\(?\w*\)?[sd]|\{[^}]*\}|<[^>]*>|&\w+;|https?://\S+|`[^`]*`|%\w|\$\w+|\\n|[_&](?=\w)")
_LONGEST = 30
"""Words of a message; longer ones align badly."""
_ROUNDS = 8
_LEAST = 0.12
"""Probability below which a translation is left out."""
_ALTERNATIVE = 0.4
"""Share of the second English word of a line of the glossary."""
Table = dict[str, dict[int, list[tuple[str, float]]]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogs", type=Path, required=True, help="folder with the packages as they were downloaded")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args(arguments)
    data = build(read_pairs(options.catalogs), GLOSSARY.read_text(encoding="utf-8"), read_simplified(options.catalogs))
    options.out.write_bytes(data)
    print(f"{options.out}: {len(data):,} bytes")
    return 0


def build(pairs: Pairs, glossary: str, simplified: dict[str, str]) -> bytes:
    own = read_glossary(glossary)
    table: Table = {}
    spelling = english_spelling(pairs)
    for language in LANGUAGES:
        found = aligned(pairs.get(language, []), language, own[language], spelling)
        table[language] = merged(own[language], found, language)
        print(f"{language}: {len(pairs.get(language, [])):,} messages, {len(table[language]):,} entries", file=sys.stderr)
    return packed(table, simplified)


def read_glossary(text: str) -> dict[str, dict[str, list[tuple[str, float]]]]:
    """Returns by language and foreign word its English words with their shares."""
    found: dict[str, dict[str, list[tuple[str, float]]]] = {language: {} for language in LANGUAGES}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        english, *columns = ([word.strip() for word in cell.split(",") if word.strip()] for cell in line.split("|"))
        meaning = [(word, 1.0 if place == 0 else _ALTERNATIVE) for place, word in enumerate(english)]
        for language, words in zip(COLUMNS, columns, strict=True):
            for word in words:
                entry = found[language].setdefault(word, [])
                # A word on two lines has the meanings of both; those of the later line count less.
                entry += [(one, share * (0.7 if entry else 1)) for one, share in meaning if one not in dict(entry)]
    return found


def english_spelling(pairs: Pairs) -> dict[str, str]:
    """Returns the usual word for each English stem."""
    count: dict[str, Counter[str]] = defaultdict(Counter)
    for messages in pairs.values():
        for english, _ in messages:
            for word in split_words(_CLEAN.sub(" ", english)):
                if word.isascii() and word.isalpha():
                    count[stem(word.lower())][word.lower()] += 1
    return {root: max(words, key=lambda word: (words[word], -len(word), word)) for root, words in count.items()}


def english_stems(text: str) -> list[str]:
    words = (word.lower() for word in split_words(_CLEAN.sub(" ", text)) if word.isascii() and word.isalpha())
    return [stem(word) for word in words if word not in STOP_WORDS and len(word) > 1]


def foreign_units(text: str, language: str, lexicon: set[str]) -> list[str]:
    cleaned = _CLEAN.sub(" ", text)
    stop = stop_words(language)
    if language not in UNSPACED:
        words = [fold(word, language) for word in split_words(cleaned) if not any(map(str.isdigit, word))]
        plain = {fold(word, language) for word in stop}
        return [light_stem(word, language) for word in words if word not in plain and len(word) > 1]
    units: list[str] = []
    for run in UNSPACED_RUN.findall(fold(cleaned, language)):
        units += _known_pieces(run, lexicon, stop)
    return units


def _known_pieces(run: str, lexicon: set[str], stop: frozenset[str]) -> list[str]:
    pieces = split_run(run, lambda begin, end: run[begin:end] in lexicon, stop.__contains__)
    return [run[begin:end] for begin, end, kind in pieces if kind == "word"]


def find_lexicon(pairs: Sequence[tuple[str, str]], language: str, own: Iterable[str]) -> set[str]:
    """Finds words of a language without spaces: the glossary, short messages, and parts that go with one English word."""
    lexicon = {fold(word, language) for word in own if " " not in word and UNSPACED_RUN.fullmatch(fold(word, language))}
    together: Counter[tuple[str, str]] = Counter()
    parts_of: Counter[str] = Counter()
    stems_of: Counter[str] = Counter()
    stop = stop_words(language)
    for english, foreign in pairs:
        stems = set(english_stems(english))
        runs = UNSPACED_RUN.findall(fold(_CLEAN.sub(" ", foreign), language))
        if len(stems) == 1 and len(runs) == 1 and 2 <= len(runs[0]) <= 6 and english.count(" ") <= 1:
            lexicon.add(runs[0])
        if len(stems) > 8 or sum(map(len, runs)) > 30:
            continue
        parts = {run[at : at + size] for run in runs for size in range(2, 7) for at in range(len(run) - size + 1)}
        parts_of.update(parts)
        stems_of.update(stems)
        together.update((part, one) for part in parts for one in stems)
    best: dict[str, tuple[float, str]] = {}
    for (part, one), count in together.items():
        if count >= 3:
            dice = 2 * count / (parts_of[part] + stems_of[one])
            if dice > 0.35 and (dice, one) > best.get(part, (0.0, "")):
                best[part] = (dice, one)
    for part, (dice, one) in best.items():
        # A longer or shorter part of the same word goes with the same English word, but less closely.
        rivals = [best[other] for other in (part[1:], part[:-1]) if other in best and best[other][1] == one]
        if all(dice >= rival[0] for rival in rivals):
            lexicon.add(part)
    return {word for word in lexicon if word not in stop}


def aligned(
    pairs: Sequence[tuple[str, str]], language: str, own: dict[str, list[tuple[str, float]]], spelling: dict[str, str]
) -> dict[str, list[tuple[str, float]]]:
    """Returns by stem, or by word of a language without spaces, its English words with their probabilities."""
    lexicon = find_lexicon(pairs, language, own) if language in UNSPACED else set()
    sides = [
        (english_stems(english), foreign_units(foreign, language, lexicon)) for english, foreign in pairs if english != foreign
    ]
    sides = [(left, right) for left, right in sides if left and right and max(len(left), len(right)) <= _LONGEST]
    forward, count = model_one(sides)
    backward, _ = model_one([(right, left) for left, right in sides])
    found: dict[str, list[tuple[str, float]]] = {}
    for unit, chances in forward.items():
        scored = sorted(
            ((chance, backward.get(one, {}).get(unit, 0.0), one) for one, chance in chances.items()),
            key=lambda entry: (-entry[0] * (entry[1] + 0.02), entry[2]),
        )
        kept = [
            (spelling.get(one, one), chance)
            for chance, back, one in scored
            if chance >= _LEAST and (back >= 0.03 or chance > 0.5) and chance * count[unit] >= 1.2
        ][:3]
        if kept:
            found[unit] = kept
    return found


def model_one(sides: Sequence[tuple[list[str], list[str]]]) -> tuple[dict[str, dict[str, float]], Counter[str]]:
    """IBM model 1: the probability of each word of the left side for each word of the right side."""
    lefts = {word: n for n, word in enumerate(sorted({word for left, _ in sides for word in left}))}
    rights = {word: n for n, word in enumerate(["", *sorted({word for _, right in sides for word in right})])}
    left_ids, right_ids, target = [], [], []
    number = 0
    for left, right in sides:
        with_null = [0, *(rights[word] for word in right)]
        for word in left:
            left_ids += [lefts[word]] * len(with_null)
            right_ids += with_null
            target += [number] * len(with_null)
            number += 1
    right_column = np.array(right_ids, dtype=np.int64)
    key, cell = np.unique(np.array(left_ids, dtype=np.int64) * len(rights) + right_column, return_inverse=True)
    owner = np.array(target, dtype=np.int64)
    chance: Array = np.full(len(key), 1.0)
    cell_right = key % len(rights)
    for _ in range(_ROUNDS):
        each = chance[cell]
        each /= np.bincount(owner, each, number)[owner]
        counts = np.bincount(cell, each, len(key))
        chance = counts / np.bincount(cell_right, counts, len(rights))[cell_right]
    left_names, right_names = list(lefts), list(rights)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for place in np.flatnonzero((chance > 0.02) & (cell_right > 0)).tolist():
        found[right_names[cell_right[place]]][left_names[key[place] // len(rights)]] = float(chance[place])
    return found, Counter(word for _, right in sides for word in right)


def merged(
    own: dict[str, list[tuple[str, float]]], found: dict[str, list[tuple[str, float]]], language: str
) -> dict[int, list[tuple[str, float]]]:
    """Joins both under their keys. The glossary decides; what the messages add to it counts half."""
    table: dict[int, list[tuple[str, float]]] = {}
    for unit, meaning in sorted(found.items()):
        most = max(share for _, share in meaning)
        # A unit is a stem already.
        table[hash_text(unit)] = [(word, share / max(most, 0.5)) for word, share in meaning]
    stems: dict[int, list[tuple[str, float]]] = {}
    for word, meaning in own.items():
        keys = {key_of(word, language)} | ({key_of(word, language, exact=True)} if language not in UNSPACED else set())
        for key in sorted(keys):
            entry = stems.setdefault(key, [])
            entry += [(one, share) for one, share in meaning if one not in dict(entry)]
    for key, meaning in stems.items():
        known = {stem(one) for one, _ in meaning}
        meaning += [(one, share / 2) for one, share in table.get(key, []) if stem(one) not in known and share >= 0.3]
        table[key] = sorted(meaning, key=lambda entry: -entry[1])[:3]
    return table


def packed(table: Table, simplified: dict[str, str]) -> bytes:
    english = sorted({word for entries in table.values() for meaning in entries.values() for word, _ in meaning})
    place = {word: n for n, word in enumerate(english)}
    arrays: dict[str, Array] = {"english": np.frombuffer("\n".join(english).encode(), dtype=np.uint8)}
    for language, entries in table.items():
        keys = sorted(entries)
        words = np.zeros((len(keys), 3), dtype=np.uint16)
        shares = np.zeros((len(keys), 3), dtype=np.uint8)
        for line, key in enumerate(keys):
            for slot, (word, share) in enumerate(entries[key][:3]):
                words[line, slot], shares[line, slot] = place[word], max(1, round(255 * min(1.0, share)))
        arrays[f"{language}.keys"] = np.array(keys, dtype=np.uint32)
        arrays[f"{language}.words"], arrays[f"{language}.shares"] = words, shares
    arrays["traditional"] = np.array([ord(char) for char in sorted(simplified)], dtype=np.uint32)
    arrays["simplified"] = np.array([ord(simplified[char]) for char in sorted(simplified)], dtype=np.uint32)
    return pack(arrays, version=TABLE_FORMAT)


if __name__ == "__main__":
    sys.exit(main())
