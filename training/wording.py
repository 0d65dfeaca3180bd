"""Makes src/metier/scan/data/wording.tsv: `python -m training.wording`.

A logistic regression over sentences. 640 sentences that turn an agent against its user (`harmful.tsv`, by family) stand
against those of 12,000 published skills and 800 harmless sentences that sound alike (`harmless.txt`). Published skills that are
attacks on purpose are left out. Cross-validation holds out publishers on one side, and every fourth sentence of each family or
whole families on the other. The threshold comes from held-out publishers, so the share of ordinary skills that alarm holds for
skills that the model has not seen.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metier.scan.collector import mention_strength
from metier.scan.data.hosts import urls_in
from metier.scan.purpose import Purpose
from metier.scan.readers.sentences import read_sentences
from metier.scan.rules.wording_model import WordingContext, features_of, load_model
from metier.scan.subject import ScanLimits, read_subject
from metier.scan.text import SkillText, TextKind
from metier.selection.arrays import Array
from metier.spec import MemoryFiles
from training.labels import data_folder

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "src" / "metier" / "scan" / "data" / "wording.tsv"
FOLDS = 4
REVIEWED = 0.01
"""The share of ordinary skills that may alarm."""
ATTACK_SOURCES = ("skillscan", "skill-scanner", "skill-inject")
"""Sources whose skills are attacks on purpose."""
Features = tuple[frozenset[str], int]


@dataclass(frozen=True)
class Ordinary:
    source: str
    sentences: tuple[Features, ...]
    counts: tuple[bool, ...]
    """Whether a hit there would count. It does not where a page only describes attacks."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.wording", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with corpus.jsonl.gz and real-skills.jsonl.gz")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--quick", action="store_true", help="no cross-validation: the threshold stays what it is")
    options = parser.parse_args()
    options.data = data_folder(options.data, ("corpus.jsonl.gz", "real-skills.jsonl.gz"))
    begin = time.time()
    harmful = list(read_harmful(HERE / "harmful.tsv"))
    harmless = [sentence_features(line) for line in (HERE / "harmless.txt").read_text(encoding="utf-8").splitlines()]
    ordinary = [one for one in map(read_ordinary, read_skills(options.data)) if one is not None]
    print(f"{len(harmful)} harmful sentences, {len(ordinary)} ordinary skills, {time.time() - begin:.0f} s", flush=True)
    threshold = load_model().threshold
    for name, folds in (("families unseen", by_family(harmful)), ("families known", by_turn(harmful))):
        if not options.quick:
            threshold = cross_validate(name, harmful, folds, ordinary, harmless)
    vocabulary, weights, bias = fit([found for _, found in harmful], unique(ordinary), harmless, seed=0)
    write(options.out, vocabulary, weights, bias, threshold)
    print(f"{options.out.name}: {options.out.stat().st_size / 1e3:.0f} kB, {time.time() - begin:.0f} s")


def read_skills(data: Path) -> Iterator[tuple[str, bytes]]:
    with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            head = f"---\nname: {json.dumps(row['name'])}\ndescription: {json.dumps(row['description'])}\n---\n\n"
            yield row["id"], (head + row["body"]).encode()
    with gzip.open(data / "real-skills.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row["repo"], row["bytes"].encode("latin-1")


def read_ordinary(skill: tuple[str, bytes]) -> Ordinary | None:
    source, data = skill
    files = MemoryFiles({"SKILL.md": data})
    if any(name in source for name in ATTACK_SOURCES):
        return None
    subject = read_subject(files, None, ScanLimits())
    if subject.purpose.is_security:
        # Such a page describes attacks; the scan lowers its findings, and it never blocks.
        return None
    host_mentions = Counter(url.label for text in subject.raw for url in urls_in(text.text))
    page = WordingContext(subject.purpose, host_mentions)
    found, counts = [], []
    for text in subject.texts:
        if text.kind is TextKind.PROSE:
            for sentence in read_sentences(text):
                seen, length = features_of(sentence.in_context, page)
                if length >= 5:
                    found.append((frozenset(seen), length))
                    counts.append(not mention_strength(text, sentence.start, sentence.end))
    return Ordinary(source.partition("/")[0], tuple(found), tuple(counts))


def read_harmful(path: Path) -> Iterator[tuple[str, Features]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        family, words = line.split("\t")
        for sentence in read_sentences(SkillText("SKILL.md", TextKind.PROSE, words)):
            found = sentence_features(sentence.in_context)
            if found[1] >= 5:
                yield family, found


def sentence_features(words: str) -> Features:
    seen, length = features_of(words, WordingContext(Purpose(), Counter(url.label for url in urls_in(words))))
    return frozenset(seen), length


def by_family(harmful: Sequence[tuple[str, Features]]) -> list[int]:
    families = sorted({family for family, _ in harmful})
    return [families.index(family) % FOLDS for family, _ in harmful]


def by_turn(harmful: Sequence[tuple[str, Features]]) -> list[int]:
    return [number % FOLDS for number, _ in enumerate(harmful)]


def unique(ordinary: Iterable[Ordinary]) -> list[Features]:
    return list(dict.fromkeys(one for skill in ordinary for one in skill.sentences))


def cross_validate(
    name: str,
    harmful: Sequence[tuple[str, Features]],
    folds: list[int],
    ordinary: Sequence[Ordinary],
    harmless: Sequence[Features],
) -> float:
    """Prints the share found at each share of alarms. Returns the threshold."""
    sources = sorted({one.source for one in ordinary})
    fold_of = {source: number % FOLDS for number, source in enumerate(np.random.default_rng(1).permutation(sources))}
    found = np.zeros(len(harmful))
    worst: list[float] = []
    for fold in range(FOLDS):
        kept = [one for (_, one), number in zip(harmful, folds, strict=True) if number != fold]
        model = fit(kept, unique(one for one in ordinary if fold_of[one.source] != fold), harmless, seed=fold)
        for index in np.flatnonzero(np.array(folds) == fold).tolist():
            found[index] = scores([harmful[index][1]], *model)[0]
        for one in ordinary:
            if fold_of[one.source] == fold and any(one.counts):
                worst += [float(scores(one.sentences, *model)[np.array(one.counts)].max())]
    order = np.sort(worst)[::-1]
    for share in (0.001, 0.0025, 0.005, REVIEWED, 0.02):
        least = order[int(len(order) * share)]
        print(
            f"{name}: {share:.2%} of ordinary skills alarm from {least:5.2f} on, {np.mean(found >= least):.0%} found",
            flush=True,
        )
    return float(order[int(len(order) * REVIEWED)])


Model = tuple[dict[str, int], Array, float]


def fit(harmful: Sequence[Features], ordinary: Sequence[Features], harmless: Sequence[Features], *, seed: int) -> Model:
    """Fits against a sample of the ordinary sentences, then twice against those that it still mistakes."""
    counted = Counter(feature for found, _ in harmful for feature in found)
    vocabulary = {feature: number for number, feature in enumerate(sorted(
        feature for feature, count in counted.items() if count >= 2
    ))}  # fmt: skip
    sample = np.sort(np.random.default_rng(seed).choice(len(ordinary), min(60_000, len(ordinary)), replace=False))
    weights, bias = np.zeros(len(vocabulary)), 0.0
    for turn in range(3):
        weights, bias = descend(harmful, harmless, [ordinary[index] for index in sample], vocabulary)
        if turn < 2:
            hardest = np.argsort(-scores(ordinary, vocabulary, weights, bias))[:20_000]
            sample = np.unique(np.concatenate([sample, hardest]))
    return vocabulary, weights, bias


def table(found: Sequence[Features], vocabulary: dict[str, int]) -> tuple[Array, Array, Array]:
    """Returns row, column and value of each feature that the model knows."""
    columns = [[vocabulary[feature] for feature in features if feature in vocabulary] for features, _ in found]
    rows = np.repeat(np.arange(len(found)), [len(one) for one in columns])
    flat = np.fromiter((column for one in columns for column in one), dtype=np.int64, count=len(rows))
    scale = np.array([max(length, 10) ** -0.5 for _, length in found])
    return rows, flat, scale[rows]


def scores(found: Sequence[Features], vocabulary: dict[str, int], weights: Array, bias: float) -> Array:
    rows, columns, values = table(found, vocabulary)
    return np.asarray(np.bincount(rows, weights=weights[columns] * values, minlength=len(found)) + bias)


def descend(
    harmful: Sequence[Features], harmless: Sequence[Features], ordinary: Sequence[Features], vocabulary: dict[str, int]
) -> tuple[Array, float]:
    """Runs Adam over everything at once. The problem is convex and small."""
    found = [*harmful, *harmless, *ordinary]
    rows, columns, values = table(found, vocabulary)
    wanted = np.zeros(len(found))
    wanted[: len(harmful)] = 1
    weight = np.where(wanted > 0, 20.0, 1.0)
    weight[len(harmful) : len(harmful) + len(harmless)] = 10.0
    state = np.zeros(len(vocabulary) + 1)
    state[-1] = -4.0
    first, second = np.zeros_like(state), np.zeros_like(state)
    steps = 120
    for step in range(1, steps + 1):
        answers = np.bincount(rows, weights=state[columns] * values, minlength=len(found)) + state[-1]
        wrong = (1 / (1 + np.exp(-np.clip(answers, -30, 30))) - wanted) * weight
        slope = np.bincount(columns, weights=wrong[rows] * values, minlength=len(vocabulary)) + 0.5 * state[:-1]
        slope = np.append(slope, wrong.sum())
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope * slope
        rate = 0.15 * (1 + np.cos(np.pi * step / steps)) + 0.003
        state -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return state[:-1], float(state[-1])


def write(path: Path, vocabulary: dict[str, int], weights: Array, bias: float, threshold: float) -> None:
    lines = ["# Made by training/wording.py: weight and feature."]
    lines += [f"{value:.3f}\t{name}" for name, value in (("*bias", bias), ("*threshold", threshold))]
    lines += [f"{weights[number]:.2f}\t{feature}" for feature, number in vocabulary.items() if abs(weights[number]) >= 0.05]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
