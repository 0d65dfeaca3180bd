"""The training scripts: slopes against finite differences, and what must not leak."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from metier.selection.confidence import log_size_excess
from metier.selection.container import pack
from metier.selection.trained_data import TRAINED_FORMAT, load_trained_data
from training.descent import Ensemble, listwise
from training.examples import Libraries, folds_by_source
from training.labels import SELECTION_FILES, Labelled, Plain, data_folder, gap_of
from training.networks import fit_threshold
from training.pipeline import Material, fit
from training.quoted import quoted_requests
from training.reproducibility import compare, digest
from training.vectors import Bag, Static, losses

Array = np.ndarray


def nudged(part: Array, place: tuple[int, ...], loss: Callable[[], float], step: float = 1e-3) -> float:
    """The slope by taking a step to either side."""
    before = part[place]
    part[place] = before + step
    above = loss()
    part[place] = before - step
    below = loss()
    part[place] = before
    return (above - below) / (2 * step)


def doubled(ensemble: Ensemble) -> Ensemble:
    hidden, bias, output = (part.astype(np.float64) for part in ensemble.parameters)
    return Ensemble(hidden, bias, output)


def test_the_gradient_of_a_network_is_right() -> None:
    rng = np.random.default_rng(1)
    ensemble = doubled(Ensemble.begin(4, 3, 2, rng, drop_inputs=0, drop_units=0))
    values = rng.standard_normal((5, 6, 4))
    wanted = np.zeros((5, 6))
    wanted[np.arange(5), rng.integers(0, 4, 5)] = 0.7
    there = np.ones((5, 6), dtype=bool)
    there[:, 5] = False

    def loss() -> float:
        return listwise(ensemble.forward(values), wanted, there)[0]

    _, slope = listwise(ensemble.forward(values), wanted, there)
    ensemble.backward(slope)
    for part, gradient in zip(ensemble.parameters, ensemble.gradients, strict=True):
        place = tuple(int(rng.integers(size)) for size in part.shape)
        assert nudged(part, place, loss) == pytest.approx(float(gradient[place]), rel=1e-3, abs=1e-5)


def test_vectors_know_their_slope() -> None:
    rng = np.random.default_rng(2)
    model = Static(rng.standard_normal((12, 5)), np.full(12, 2.0))
    model.vectors, model.importance = model.vectors.astype(np.float64), model.importance.astype(np.float64)
    kinds = [
        [Bag(rng.choice(12, 4, replace=False), np.array([1.0, 2, 1, 3])) for _ in range(6)]
        for _ in ("request", "front", "back")
    ]
    teacher = rng.standard_normal((6, 3))
    same = np.zeros((6, 6), dtype=bool)
    same[0, 1] = same[1, 0] = True

    def found() -> tuple[float, list[Array], float]:
        request, front, back = (model.read(bags).units for bags in kinds)
        return losses(request, front, back, same, teacher, 4.0)

    def loss() -> float:
        return found()[0]

    texts, slopes = [model.read(bags) for bags in kinds], found()[1]
    for_vectors, for_importance = model.slope(texts, slopes)
    for place in ((0, 0), (5, 3), (11, 4)):
        assert nudged(model.vectors, place, loss) == pytest.approx(float(for_vectors[place]), rel=1e-3, abs=1e-5)
    assert nudged(model.importance, (3,), loss) == pytest.approx(float(for_importance[3]), rel=1e-3, abs=1e-4)


def test_no_source_is_on_both_sides() -> None:
    asked = [Labelled(f"request {n}", (f"{n}#x",), f"source-{n % 7}", "task") for n in range(50)]
    fold = folds_by_source(asked)
    assert set(fold) == {one.source for one in asked}
    assert len(set(fold.values())) == 5


def test_a_quoted_phrase_becomes_a_request_and_is_removed_from_the_skill() -> None:
    said = '# Use\nTriggers when the user says:\n- "turn this recording into minutes"\n\n'
    body = said + '# Notes\nA "term of art here too" is not one.'
    skill = Plain("me#minutes", "minutes", 'Writes minutes. Use for "sum up what we decided today".', body)
    [bare], requests = quoted_requests([skill])
    assert {one.query for one in requests} == {"turn this recording into minutes", "sum up what we decided today"}
    assert all(one.skills == ("me#minutes",) for one in requests)
    assert "decided" not in bare.description
    assert "recording" not in bare.body
    assert "term of art" in bare.body


def test_the_same_share_of_near_misses_gets_through_in_small_and_large_libraries() -> None:
    rng = np.random.default_rng(3)
    near = [(size, float(odds)) for size, middle in ((30, 1.0), (10_000, -2.0)) for odds in rng.normal(middle, 1, 20_000)]
    shift, ease = fit_threshold(near)
    through = {
        size: np.mean([odds + shift + ease * log_size_excess(at) >= 0 for at, odds in near if at == size])
        for size in (30, 10_000)
    }
    assert through == pytest.approx({30: 0.3, 10_000: 0.2}, abs=0.01)


def test_a_calibrated_confidence_has_no_gap() -> None:
    assert gap_of([(0.25, 1.0), (0.25, 0.0), (0.25, 0.0), (0.25, 0.0)]) == 0
    assert gap_of([(0.9, 0.0), (0.9, 1.0), (0.1, 0.0), (0.1, 0.0)]) == pytest.approx(25)


def test_a_part_of_all_skills_holds_the_named_one() -> None:
    skills = [Plain(f"me#{n}", f"name-{n}", "says something") for n in range(50)]
    one = Labelled("say something", ("me#7",), "me", "task")
    own, library = Libraries(skills, load_trained_data()).some(one, 10)
    there = {own[row].id for row in np.flatnonzero(library.alive)}
    assert "me#7" in there
    assert 10 <= library.live_count == len(there) <= 11


def small_set() -> tuple[list[Plain], list[Labelled]]:
    topics = ("invoice", "poem", "cluster", "recipe", "contract", "garden", "telescope", "piano", "passport", "beehive")
    skills = [
        Plain(f"p#{topic}", topic, f"Helps with a {topic}. Use for each {topic}.", f"# {topic}\nCheck the {topic}.")
        for topic in topics
    ]
    asked = [Labelled(f"check my {one.name} today", (one.id,), one.publisher, "task") for one in skills]
    return skills, asked + [Labelled(f"a {one.name} in a song", (one.id,), one.publisher, "near-miss") for one in skills]


def test_the_same_data_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / "one.bin", tmp_path / "other.bin"]
    for file in files:
        skills, asked = small_set()
        fitted = fit(asked, Material(skills, asked, load_trained_data()))
        file.write_bytes(pack(fitted.arrays(), version=TRAINED_FORMAT))
    assert digest(files[0]) == digest(files[1])
    assert compare(*files) == []


def test_a_file_that_differs_names_its_arrays(tmp_path: Path) -> None:
    values = np.linspace(1, 2, 64, dtype=np.float32)
    for name, arrays in {
        "shipped": {"kept": values, "moved": values, "cut": values},
        "near": {"kept": values, "moved": values * np.float32(1.0001), "cut": values},
        "far": {"kept": values, "moved": values * np.float32(1.1), "cut": values[:10]},
    }.items():
        (tmp_path / name).write_bytes(pack(arrays, version=TRAINED_FORMAT))
    assert compare(tmp_path / "near", tmp_path / "shipped") == []
    found = compare(tmp_path / "far", tmp_path / "shipped")
    assert [line.partition(":")[0] for line in found] == ["cut", "moved"]


def test_missing_data_is_named_with_the_way_to_pass_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "queries.jsonl").write_text("")
    monkeypatch.setenv("METIER_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"no corpus\.jsonl\.gz, negatives\.jsonl; pass --data FOLDER"):
        data_folder(None)
    for name in SELECTION_FILES:
        (tmp_path / name).write_text("")
    assert data_folder(None) == data_folder(tmp_path) == tmp_path


def test_parts_of_one_library_do_not_share_what_was_read_of_them() -> None:
    skills = [Plain(f"me#{n}", f"name-{n}", "says something") for n in range(50)]
    asked = [Labelled(f"say something {n}", (f"me#{n}",), "me", "task") for n in (7, 8)]
    libraries = Libraries(skills, load_trained_data())
    for one in asked:
        own, library = libraries.some(one, 10)
        there = {own[row].id for row in library.whole(load_trained_data()).rows}
        assert one.skills[0] in there
        assert len(there) == library.live_count
