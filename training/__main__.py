"""Makes src/metier/selection/data/trained.bin: `python -m training`.

Prints every figure under cross-validation grouped by source, writes the networks of each fold to training/folds.bin (the
benchmark ranks a publisher's queries with the fold that has not seen that publisher), then fits on all data. With `--check`
it changes no shipped file and compares the result with them.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from metier.selection.arrays import Array
from metier.selection.confidence import confidence, log_size_excess, rank_features
from metier.selection.confidence import fit as fit_of
from metier.selection.container import pack
from metier.selection.ranker import order_scores
from metier.selection.trained_data import TRAINED_FORMAT, TrainedData, parse_trained_data
from training.examples import FOLDS, SOME, Example, examples, folds_by_source, judgements
from training.labels import SELECTION_FILES, Labelled, data_folder, gap_of, measure, read_corpus, read_negatives, read_queries
from training.networks import NOT_ASKED, fit_threshold, orders, shifted
from training.pipeline import BRIEF, SETTINGS, Fitted, Material, fit
from training.reproducibility import TOLERANCE, compare, digest
from training.vectors import make_vectors

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "src" / "metier" / "selection" / "data" / "trained.bin"
SHIPPED_FOLDS = HERE / "folds.bin"
NEVER = -9.0
Figures = dict[str, list[dict[str, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--data", type=Path, help=f"folder with {', '.join(SELECTION_FILES)}")
    parser.add_argument("--work", type=Path, default=HERE / "work", help="folder for intermediate results")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--folds", type=Path, default=SHIPPED_FOLDS)
    parser.add_argument("--networks", action="store_true", help="keep the shipped word vectors, and fit the networks only")
    parser.add_argument("--check", action="store_true", help="write to the work folder and compare with the shipped files")
    options = parser.parse_args()
    options.data = data_folder(options.data)
    if options.check:
        options.out, options.folds = options.work / SHIPPED.name, options.work / SHIPPED_FOLDS.name
    begin = time.time()
    options.work.mkdir(parents=True, exist_ok=True)
    skills, queries = read_corpus(options.data), read_queries(options.data)
    if options.networks:
        trained = replace(parse_trained_data(SHIPPED.read_bytes()), networks={})
    else:
        vectors = options.work / "vectors.npz"
        if not vectors.exists():
            make_vectors(skills, vectors)
        trained = trained_from(vectors)
    asked = [*queries, *read_negatives(options.data), *unrelated(sorted({one.home for one in queries}))]
    material = Material(skills, asked, trained)
    print(f"{len(material.wordings)} requests read, {time.time() - begin:.0f} s", flush=True)
    kept, (shift, ease) = cross_validate(asked, material)
    eased = {"ease": np.array([ease], dtype=np.float32)}
    options.folds.write_bytes(pack(kept | eased, version=TRAINED_FORMAT))
    whole = fit(asked, material)
    whole.networks["fit"] = shifted(whole.networks["fit"], shift)
    options.out.write_bytes(pack(statistics_of(trained) | whole.arrays() | eased, version=TRAINED_FORMAT))
    print(f"{options.out.name}: {options.out.stat().st_size / 1e6:.1f} MB, {time.time() - begin:.0f} s")
    if options.check:
        check(options.out, options.folds)


def check(made: Path, folds: Path) -> None:
    """Ends the program with status 1 if a file differs from the shipped one."""
    pairs = ((made, SHIPPED), (folds, SHIPPED_FOLDS))
    lines = [f"{shipped.name}: {line}" for file, shipped in pairs for line in compare(file, shipped)]
    if lines:
        raise SystemExit("\n".join(["The result differs from what ships:", *lines]))
    equal = all(digest(file) == digest(shipped) for file, shipped in pairs)
    print("Equal to what ships, byte for byte" if equal else f"Equal to what ships, within {TOLERANCE:.1%} of each array")


def trained_from(path: Path) -> TrainedData:
    """Returns the word vectors in bytes, with axes ordered by variance; a word's scale goes into its importance."""
    found = np.load(path)
    order = np.argsort(found["hashes"])
    vectors = found["vectors"][order].astype(np.float64)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    vectors = (vectors @ axes[:, ::-1]).astype(np.float32)
    peak = np.abs(vectors).max(axis=1, keepdims=True)
    return TrainedData(
        vocabulary=found["hashes"][order],
        frequency=found["frequency"][order],
        documents=int(found["documents"][0]),
        in_front=found["in_front"][order],
        in_name=found["in_name"][order],
        importance=(found["importance"][order] * peak[:, 0] / 127).astype(np.float32),
        vectors=np.round(vectors / peak * 127).astype(np.int8),
        networks={},
    )


def statistics_of(trained: TrainedData) -> dict[str, Array]:
    names = ("vocabulary", "frequency", "in_front", "in_name", "importance", "vectors")
    found: dict[str, Array] = {name: getattr(trained, name) for name in names}
    return found | {"documents": np.array([trained.documents], dtype=np.uint32)}


def unrelated(publishers: list[str]) -> list[Labelled]:
    """Returns requests that fit no skill, each for all skills and for one publisher's, in turn."""
    lines = (HERE / "unrelated.txt").read_text(encoding="utf-8").splitlines()
    return [
        Labelled(line, (f"{publishers[number % len(publishers)]}#",), f"unrelated-{number % FOLDS}", "unrelated")
        for number, line in enumerate(lines)
    ]


def cross_validate(asked: list[Labelled], material: Material) -> tuple[dict[str, Array], tuple[float, float]]:
    """Prints the figures; returns the networks of each fold as arrays, and the shift and bonus of the fit by library size."""
    fold_of = folds_by_source([one for one in asked if one.kind != "unrelated"])
    fold_of |= {one.source: int(one.source.rpartition("-")[2]) for one in asked if one.kind == "unrelated"}
    figures: Figures = defaultdict(list)
    answers = Answers()
    fitted: list[Fitted] = []
    for fold in range(FOLDS):
        left_out = {source for source, number in fold_of.items() if number == fold}
        made = fit([one for one in asked if one.source not in left_out], material, left_out)
        fitted.append(made)
        order = orders(made.networks["many"], made.networks["few"])
        held = examples(material.libraries, [one for one in asked if one.source in left_out], made.trained, SETTINGS)
        brief = [one for one in material.brief if one.source in left_out]
        for one in [*held, *examples(material.bare, brief, made.trained, BRIEF)]:
            raw = order_scores(order(one), one.values, one.strangeness)
            if one.request.kind not in (*NOT_ASKED, "quoted", "fragment"):
                figures[one.setting].append(measure(_best(one, raw), one.request.skills))
            answers.add(one, raw, made)
        print(f"fold {fold} done", flush=True)
    print_figures(figures)
    shift, ease = fit_threshold([(size, odds) for _, kind, size, odds in answers.fits if kind == "near-miss"])
    print(f"fit: {shift:+.3f}, and {ease:+.3f} for each tenfold of a large library")
    answers.show(shift, ease)
    for made in fitted:
        made.networks["fit"] = shifted(made.networks["fit"], shift)
    kept = {key: part for fold, made in enumerate(fitted) for key, part in made.arrays(f"{fold}.").items()}
    return kept, (shift, ease)


@dataclass
class Answers:
    """Results of the networks for held-out requests."""

    fits: list[tuple[str, str, int, float]] = field(default_factory=list)
    """Setting, kind of request, size of the library, and log-odds of a labelled skill."""
    sure: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """By setting: the confidence of each of the first three matches, and whether it is right."""

    def add(self, one: Example, raw: Array, made: Fitted) -> None:
        columns = rank_features(one.values, raw)
        odds = fit_of(columns, made.networks["fit"], one.size, 0.0)
        # A skill that is not among the candidates counts as not activated.
        named = [float(odds.max(initial=NEVER))] if one.request.kind == "unrelated" else odds[one.right].tolist()
        named += [NEVER] * (len(one.request.skills) - len(named))
        kind = one.request.kind if one.request.kind in (*NOT_ASKED, "quoted", "fragment") else "asked"
        self.fits += [(one.setting, kind, one.size, value) for value in named]
        sure = 1 / (1 + np.exp(-confidence(columns, made.networks["sure"])))
        self.sure[one.setting] += [(float(sure[place]), right) for place, right in judgements(one, raw)]

    def show(self, shift: float, ease: float) -> None:
        """Prints the activated shares by kind and size, and the calibration error."""
        shares: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for setting, kind, size, odds in self.fits:
            name = f"{setting} {max(one for one in SOME if one <= size):>5,}" if setting == "some" else setting
            shares[name, kind].append(odds + shift + ease * log_size_excess(size) >= 0)
        for (name, kind), passed in sorted(shares.items()):
            print(f"  {name:12s} {kind:10s} {100 * float(np.mean(passed)):5.1f} % of {len(passed)} activated")
        for setting, pairs in self.sure.items():
            print(f"  {setting:12s} confidence is {gap_of(pairs):.1f} points off, {len(pairs)} matches")


def _best(one: Example, scores: Array) -> list[str]:
    return [one.ids[place] for place in np.argsort(-scores, kind="stable")[:10]]


def print_figures(figures: Figures) -> None:
    for setting, rows in sorted(figures.items()):
        print(setting, len(rows), {key: round(100 * float(np.mean([row[key] for row in rows])), 2) for key in rows[0]})


if __name__ == "__main__":
    main()
