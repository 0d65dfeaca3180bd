"""Makes src/metier/selection/data/trained.bin: `python -m training`.

Prints every figure under cross-validation grouped by source, writes what each fold learnt to training/folds.bin (the
benchmark ranks a publisher's queries with the fold that never saw that publisher), then fits on everything.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from metier.selection.confidence import confidence
from metier.selection.container import Array, pack
from metier.selection.trained import TRAINED_FORMAT, Trained
from training.examples import FOLDS, Example, examples, folds_by_source, judgements
from training.fitting import BRIEF, SETTINGS, Fitted, Material, fit
from training.labels import DEFAULT, Labelled, measure, read_corpus, read_negatives, read_queries
from training.networks import NOT_ASKED, calibrated, orders, platt
from training.vectors import make_vectors

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "src" / "metier" / "selection" / "data" / "trained.bin"
Figures = dict[str, list[dict[str, float]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT, help="folder with corpus.jsonl.gz, queries and negatives")
    parser.add_argument("--work", type=Path, default=HERE / "work", help="keeps what takes long; remove it to start afresh")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--folds", type=Path, default=HERE / "folds.bin")
    options = parser.parse_args()
    begin = time.time()
    options.work.mkdir(parents=True, exist_ok=True)
    skills, queries = read_corpus(options.data), read_queries(options.data)
    vectors = options.work / "vectors.npz"
    if not vectors.exists():
        make_vectors(skills, vectors)
    trained = trained_from(vectors)
    asked = [*queries, *read_negatives(options.data), *unrelated(sorted({one.home for one in queries}))]
    material = Material(skills, asked, trained)
    print(f"{len(material.wordings)} requests read, {time.time() - begin:.0f} s", flush=True)
    kept, calibration = cross_validate(asked, material)
    options.folds.write_bytes(pack(kept, version=TRAINED_FORMAT))
    whole = fit(asked, material)
    whole.networks["sure"] = calibrated(whole.networks["sure"], *calibration)
    options.out.write_bytes(pack(statistics_of(trained) | whole.arrays(), version=TRAINED_FORMAT))
    print(f"{options.out.name}: {options.out.stat().st_size / 1e6:.1f} MB, {time.time() - begin:.0f} s")


def trained_from(path: Path) -> Trained:
    """Word vectors in bytes, the axes turned so that the first hold most; each word's scale goes into its importance."""
    found = np.load(path)
    order = np.argsort(found["hashes"])
    vectors = found["vectors"][order].astype(np.float64)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    vectors = (vectors @ axes[:, ::-1]).astype(np.float32)
    peak = np.abs(vectors).max(axis=1, keepdims=True)
    return Trained(
        vocabulary=found["hashes"][order],
        frequency=found["frequency"][order],
        documents=int(found["documents"][0]),
        in_front=found["in_front"][order],
        in_name=found["in_name"][order],
        importance=(found["importance"][order] * peak[:, 0] / 127).astype(np.float32),
        vectors=np.round(vectors / peak * 127).astype(np.int8),
        networks={},
    )


def statistics_of(trained: Trained) -> dict[str, Array]:
    names = ("vocabulary", "frequency", "in_front", "in_name", "importance", "vectors")
    found: dict[str, Array] = {name: getattr(trained, name) for name in names}
    return found | {"documents": np.array([trained.documents], dtype=np.uint32)}


def unrelated(publishers: list[str]) -> list[Labelled]:
    """Each is asked of all skills and of one publisher's, in turn."""
    lines = (HERE / "unrelated.txt").read_text(encoding="utf-8").splitlines()
    return [
        Labelled(line, (f"{publishers[number % len(publishers)]}#",), f"unrelated-{number % FOLDS}", "unrelated")
        for number, line in enumerate(lines)
    ]


def cross_validate(asked: list[Labelled], material: Material) -> tuple[dict[str, Array], tuple[float, float]]:
    """Prints the figures; returns what each fold learnt as arrays, and the calibration."""
    fold_of = folds_by_source([one for one in asked if one.kind != "unrelated"])
    fold_of |= {one.source: int(one.source.rpartition("-")[2]) for one in asked if one.kind == "unrelated"}
    figures: Figures = defaultdict(list)
    logits: dict[str, list[float]] = defaultdict(list)
    judged: list[tuple[float, float]] = []
    fitted: list[Fitted] = []
    for fold in range(FOLDS):
        left_out = {source for source, number in fold_of.items() if number == fold}
        made = fit([one for one in asked if one.source not in left_out], material, left_out)
        fitted.append(made)
        order = orders(made.networks["many"], made.networks["few"])
        held = examples(material.shelves, [one for one in asked if one.source in left_out], made.trained, SETTINGS)
        brief = [one for one in material.brief if one.source in left_out]
        for one in [*held, *examples(material.bare, brief, made.trained, BRIEF)]:
            raw = order(one).scores(one.values)
            if one.asked.kind not in (*NOT_ASKED, "quoted", "fragment"):
                figures[one.setting].append(measure(_best(one, raw), one.asked.skills))
            odds = confidence(one.values, raw, made.networks["sure"])
            logits[f"{one.setting} {one.asked.kind}"] += asked_logits(one, odds)
            if one.setting in ("all", "own", "tiny"):
                # Nobody looked at other publishers' skills; but a random handful holds no second right one.
                found = judgements(one, raw, strict=one.setting == "tiny")
                judged += [(float(odds[place]), right) for place, right in found]
        print(f"fold {fold} done", flush=True)
    print_figures(figures)
    slope, shift = platt(*np.array(judged).T)
    print(f"calibration: {slope:.3f} x + {shift:.3f}")
    print_curve({key: [slope * value + shift for value in values] for key, values in logits.items()})
    for made in fitted:
        made.networks["sure"] = calibrated(made.networks["sure"], slope, shift)
    kept = {key: part for fold, made in enumerate(fitted) for key, part in made.arrays(f"{fold}.").items()}
    return kept, (slope, shift)


def _best(one: Example, scores: Array) -> list[str]:
    return [one.ids[place] for place in np.argsort(-scores, kind="stable")[:10]]


def print_figures(figures: Figures) -> None:
    for setting, rows in sorted(figures.items()):
        print(setting, len(rows), {key: round(100 * float(np.mean([row[key] for row in rows])), 2) for key in rows[0]})


def print_curve(logits: dict[str, list[float]]) -> None:
    """Right skills kept, beside near misses and unrelated requests let through, over the threshold."""
    for setting in SETTINGS:
        kinds = [key for key in logits if key.split(" ")[0] == setting]
        gold = np.concatenate([logits[key] for key in kinds if key.split(" ")[1] not in (*NOT_ASKED, "quoted", "fragment")])
        false, strange = np.array(logits[f"{setting} near-miss"]), np.array(logits[f"{setting} unrelated"])
        for threshold in (0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.3, 0.4, 0.5):
            cut = math.log(threshold / (1 - threshold))
            shares = ", ".join(f"{100 * float(np.mean(values > cut)):.1f}" for values in (gold, false, strange))
            print(f"  {setting} {threshold:.2f}: kept, near-miss, unrelated {shares} %")
            if setting in BRIEF:
                short = (100 * float(np.mean(np.array(logits[f"{setting} {kind}"]) > cut)) for kind in ("quoted", "fragment"))
                print("    quoted and fragments of them kept", ", ".join(f"{share:.1f}" for share in short), "%")


def asked_logits(one: Example, odds: Array) -> list[float]:
    """Of the skills named by the label, or of the best for an unrelated request; found nowhere counts as no."""
    if one.asked.kind == "unrelated":
        return [float(odds.max(initial=-9))]
    named = [float(value) for value in odds[one.right]]
    return named + [-9.0] * (len(one.asked.skills) - len(named))


if __name__ == "__main__":
    main()
