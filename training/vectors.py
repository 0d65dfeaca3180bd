"""Static word vectors for skills: contrastive on skills' own sentences, led by a sentence model. Numpy only.

A sentence of a body must find its own skill (the sentence taken out) among the others of its batch. Half the batches are
drawn from similar skills, so that the wrong ones are hard. Vectors start from MiniLM's view of each word, and the
similarity of two descriptions is pulled towards MiniLM's. No query is ever seen here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metier.selection.arrays import Array
from metier.selection.embeddings import embedding_text
from metier.selection.index_document import IndexDocument, read_skill
from metier.selection.minilm import MiniLM
from metier.selection.tokenization import split_sentences, split_words, term_hash, word_terms
from training.labels import Plain

__all__ = ["encoded", "make_vectors"]

SEED = 7
DIMENSIONS = 256
LEAST_DOCUMENTS = 3
LARGEST_VOCABULARY = 26_000
BODY_TERMS = 96
BATCH = 768
EPOCHS = 40


@dataclass(frozen=True)
class Bag:
    """Terms of a text, each with its count."""

    terms: Array
    counts: Array


@dataclass(frozen=True)
class Counted:
    """A skill as bags. The body is split in two halves: sentences of one half are queries for the other."""

    front: Bag
    halves: tuple[Bag, Bag]
    lines: tuple[list[Bag], list[Bag]]


def vocabulary_of(documents: Sequence[IndexDocument]) -> tuple[list[str], dict[str, int], dict[str, str]]:
    """Returns the stems by document frequency, their frequency, and the most common written form of each."""
    frequency: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for document in documents:
        text = " ".join((document.name, *document.purpose, document.negative, document.body))
        seen: set[str] = set()
        for word in split_words(text):
            terms = word_terms(word)
            seen.update(terms)
            if len(terms) == 1:
                written.setdefault(terms[0], Counter())[word.lower()] += 1
        frequency.update(sorted(seen))  # A set has no order of its own, and ties keep the order they came in.
    kept = [stem for stem, count in frequency.most_common(LARGEST_VOCABULARY) if count >= LEAST_DOCUMENTS]
    surface = {stem: written[stem].most_common(1)[0][0] if stem in written else stem for stem in kept}
    return kept, {stem: frequency[stem] for stem in kept}, surface


def frequency_in(texts: Sequence[str], number: dict[str, int]) -> Array:
    """Returns the number of texts that contain each stem."""
    found = np.zeros(len(number), dtype=np.uint32)
    for text in texts:
        found[list({number[term] for word in split_words(text) for term in word_terms(word) if term in number})] += 1
    return found


def count(document: IndexDocument, number: dict[str, int], idf: Array) -> Counted:
    def bag(text: str) -> Counter[int]:
        return Counter(number[term] for word in split_words(text) for term in word_terms(word) if term in number)

    front = bag(document.name)
    front.update(front)
    for text in document.purpose:
        front.update(bag(text))
    lines: tuple[list[Bag], list[Bag]] = ([], [])
    totals: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for place, text in enumerate(split_sentences(document.body)):
        # Adjacent sentences go to the same half, so that one half does not repeat the other.
        side, part = place // 2 % 2, bag(text)
        totals[side].update(part)
        if 3 <= len(part) <= 40:
            lines[side].append(frozen(part))
    return Counted(frozen(front), (weightiest(totals[0], idf), weightiest(totals[1], idf)), lines)


def frozen(bag: Counter[int]) -> Bag:
    return Bag(np.fromiter(bag.keys(), dtype=np.int64), np.fromiter(bag.values(), dtype=np.float32))


def weightiest(bag: Counter[int], idf: Array) -> Bag:
    whole = frozen(bag)
    if len(whole.terms) <= BODY_TERMS:
        return whole
    order = np.argsort(-idf[whole.terms] * whole.counts / (whole.counts + 1))[:BODY_TERMS]
    return Bag(whole.terms[order], whole.counts[order])


def thinned(bag: Bag, rng: np.random.Generator) -> Bag:
    """Drops one word in six, because a request does not name everything."""
    kept = rng.random(len(bag.terms)) > 0.16
    return Bag(bag.terms[kept], bag.counts[kept]) if kept.any() else bag


@dataclass
class Texts:
    """Bags as unit vectors, with the values that the gradient needs."""

    terms: Array
    starts: Array
    sizes: Array
    weights: Array
    rows: Array
    lengths: Array
    units: Array


class Static:
    """The vectors being learnt: one for each word, and the importance of each word."""

    def __init__(self, start: Array, idf: Array) -> None:
        self.vectors = start.astype(np.float32).copy()
        self.importance = np.log(idf).astype(np.float32)
        self.scale = np.array([3.0], dtype=np.float32)

    def read(self, bags: Sequence[Bag]) -> Texts:
        terms = np.concatenate([bag.terms for bag in bags])
        counts = np.concatenate([bag.counts for bag in bags])
        sizes = np.array([len(bag.terms) for bag in bags])
        starts = np.cumsum(sizes) - sizes
        weights = np.exp(self.importance[terms]) * counts / (counts + 1)
        rows = self.vectors[terms]
        sums = np.add.reduceat(rows * weights[:, None], starts, axis=0)
        lengths = np.sqrt(np.einsum("bd,bd->b", sums, sums))[:, None] + 1e-9
        return Texts(terms, starts, sizes, weights, rows, lengths, sums / lengths)

    def slope(self, texts: Sequence[Texts], by_unit: Sequence[Array]) -> tuple[Array, Array]:
        """Returns the gradients by the words' vectors and importances, from the gradient by the texts' unit vectors."""
        for_vectors = np.zeros_like(self.vectors)
        for_importance = np.zeros_like(self.importance)
        for one, slope in zip(texts, by_unit, strict=True):
            inward = (slope - np.einsum("bd,bd->b", slope, one.units)[:, None] * one.units) / one.lengths
            wide = np.repeat(inward, one.sizes, axis=0)
            said = one.weights * np.einsum("nd,nd->n", one.rows, wide)
            for_importance += np.bincount(one.terms, weights=said, minlength=len(for_importance)).astype(np.float32)
            order = np.argsort(one.terms, kind="stable")
            first = np.flatnonzero(np.diff(one.terms[order], prepend=-1))
            for_vectors[one.terms[order][first]] += np.add.reduceat((wide * one.weights[:, None])[order], first, axis=0)
        return for_vectors, for_importance


class Adam:
    def __init__(self, part: Array) -> None:
        self.part, self.count = part, 0
        self.mean, self.square = np.zeros_like(part), np.zeros_like(part)

    def step(self, slope: Array, rate: float) -> None:
        self.count += 1
        self.mean += 0.1 * (slope - self.mean)
        self.square += 0.001 * (slope * slope - self.square)
        size = rate / (1 - 0.9**self.count)
        self.part -= size * self.mean / (np.sqrt(self.square / (1 - 0.999**self.count)) + 1e-8)


def losses(
    query: Array, front: Array, back: Array, same: Array, teacher: Array, scale: float
) -> tuple[float, list[Array], float]:
    """Returns the loss and its gradients by the three kinds of text and by the scale."""
    size = len(query)
    diagonal = np.arange(size)
    slopes = [np.zeros_like(query), np.zeros_like(front), np.zeros_like(back)]
    total, by_scale = 0.0, 0.0
    for share, parts in ((1.0, (1.0, 0.0)), (0.5, (0.0, 1.0)), (1.0, (0.5, 0.5))):
        document = parts[0] * front + parts[1] * back
        scores = np.where(same, -1e4, scale * query @ document.T)
        scores -= scores.max(axis=1, keepdims=True)
        chance = np.exp(scores)
        chance /= chance.sum(axis=1, keepdims=True)
        total -= share * float(np.log(np.maximum(chance[diagonal, diagonal], 1e-12)).mean())
        chance[diagonal, diagonal] -= 1
        chance *= share / size
        slopes[0] += scale * chance @ document
        by_document = scale * chance.T @ query
        slopes[1] += parts[0] * by_document
        slopes[2] += parts[1] * by_document
        by_scale += float((chance * (query @ document.T)).sum())
    apart = front @ front.T - teacher @ teacher.T
    total += 20 * float((apart * apart).mean())
    slopes[1] += 80 / (size * size) * apart @ front
    return total, slopes, by_scale


def batches(model: Static, counted: list[Counted], rng: np.random.Generator, *, hard: bool) -> list[Array]:
    """Yields random batches, or batches of similar skills gathered around random ones."""
    order = rng.permutation(len(counted))
    if hard:
        fronts = model.read([one.front for one in counted]).units
        centres = fronts[rng.choice(len(fronts), 24, replace=False)]
        order = order[np.argsort((fronts @ centres.T).argmax(1)[order], kind="stable")]
    found = [order[start : start + BATCH] for start in range(0, len(order) - BATCH // 2, BATCH)]
    return [found[place] for place in rng.permutation(len(found))]


def train(counted: list[Counted], names: list[str], start: Array, idf: Array, guide: Array) -> Static:
    rng = np.random.default_rng(SEED)
    model = Static(start, idf)
    usable = [n for n, one in enumerate(counted) if all(one.lines) and len(one.front.terms)]
    counted, guide = [counted[n] for n in usable], guide[usable]
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    twin = np.array([numbers[names[n]] for n in usable])
    for_vectors, for_importance, for_scale = Adam(model.vectors), Adam(model.importance), Adam(model.scale)
    steps = EPOCHS * len(range(0, len(counted) - BATCH // 2, BATCH))
    done = 0
    for epoch in range(EPOCHS):
        begin, seen = time.time(), []
        for chosen in batches(model, counted, rng, hard=epoch % 2 == 1):
            side = int(rng.integers(2))
            some = [counted[n] for n in chosen]
            asked = [thinned(one.lines[side][rng.integers(len(one.lines[side]))], rng) for one in some]
            texts = [model.read(bags) for bags in (asked, [one.front for one in some], [one.halves[1 - side] for one in some])]
            # A skill of the same name under another publisher is a twin: not right, and not wrong either.
            same = (twin[chosen][:, None] == twin[chosen][None, :]) & ~np.eye(len(chosen), dtype=bool)
            query, front, back = (one.units for one in texts)
            scale = float(np.exp(model.scale[0]))
            loss, slopes, by_scale = losses(query, front, back, same, guide[chosen], scale)
            vectors, importance = model.slope(texts, slopes)
            done += 1
            heat = min(done / (0.1 * steps), (steps - done) / (0.9 * steps) + 1e-3)
            for_vectors.step(vectors, 4e-3 * heat)
            for_importance.step(importance, 1e-2 * heat)
            for_scale.step(np.array([by_scale * scale], dtype=np.float32), 1e-2 * heat)
            seen.append(loss)
        print(f"epoch {epoch}: loss {np.mean(seen):.3f}, {time.time() - begin:.0f} s", flush=True)
    return model


def encoded(texts: Sequence[str], kept: Path) -> Array:
    """Returns MiniLM's unit vectors, cached in a file because they take minutes."""
    if kept.exists() and len(found := np.load(kept)) == len(texts):
        return np.asarray(found)
    found = MiniLM(tuned=False)(texts)
    kept.parent.mkdir(parents=True, exist_ok=True)
    np.save(kept, found)
    return np.asarray(found)


def reduced(vectors: Array) -> Array:
    """Projects onto the principal directions; each row has length one."""
    centred = vectors - vectors.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    short = centred @ axes[:, ::-1][:, :DIMENSIONS]
    return np.asarray(short / np.linalg.norm(short, axis=1, keepdims=True), dtype=np.float32)


def make_vectors(skills: Sequence[Plain], out: Path) -> None:
    documents = [read_skill(skill) for skill in skills]
    stems, frequency, surface = vocabulary_of(documents)
    number = {stem: place for place, stem in enumerate(stems)}
    print(f"{len(documents)} skills, {len(stems)} stems", flush=True)
    df = np.array([frequency[stem] for stem in stems], dtype=np.float32)
    idf = np.log1p((len(documents) + 0.5) / (df + 0.5)).astype(np.float32)
    teacher = encoded([embedding_text(skill) for skill in skills], out.parent / "descriptions.npy")
    begin = reduced(encoded([surface[stem] for stem in stems], out.parent / "words.npy"))
    counted = [count(document, number, idf) for document in documents]
    model = train(counted, [document.name for document in documents], begin, idf, teacher)
    np.savez(
        out,
        hashes=np.array([term_hash(stem) for stem in stems], dtype=np.uint64),
        frequency=df.astype(np.uint32),
        documents=np.array([len(documents)]),
        in_front=frequency_in([" ".join((one.name, *one.purpose)) for one in documents], number),
        in_name=frequency_in([one.name for one in documents], number),
        vectors=model.vectors,
        importance=np.exp(model.importance),
    )
