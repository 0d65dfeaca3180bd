from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from metier.errors import UnavailableError
from metier.extras import install_command
from metier.selection import minilm
from metier.selection.minilm import MiniLM


@pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="needs the extra `semantic`")
def test_texts_that_mean_the_same_are_near() -> None:
    kitten, cat, invoice = MiniLM()(["A kitten is asleep.", "The young cat sleeps.", "Pay this invoice by Friday."])
    assert kitten @ cat > 0.7
    assert kitten @ invoice < 0.2
    assert float(cat @ cat) == pytest.approx(1, abs=1e-5)


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_WHEEL", "a_wheel_that_is_not_here")
    with pytest.raises(UnavailableError, match="sentence model") as caught:
        MiniLM()
    assert caught.value.hint == f"run `{install_command('semantic')}`"


@pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="needs the extra `semantic`")
def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_DIGEST", "0" * 64)
    with pytest.raises(UnavailableError, match="not the one"):
        MiniLM()


@pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="needs the extra `semantic`")
def test_our_changes_are_small_and_in_the_linear_layers_only() -> None:
    tuned, plain = MiniLM().weights, MiniLM(tuned=False).weights
    changed = {name for name in plain if not np.array_equal(tuned[name], plain[name])}
    assert changed == {f"encoder.layer.{layer}.{part}.weight" for layer in range(6) for part in minilm.LINEAR}
    for name in sorted(changed):
        change = tuned[name] - plain[name]
        assert np.linalg.norm(change) < 0.5 * np.linalg.norm(plain[name])
        assert np.linalg.matrix_rank(change, tol=1e-3 * np.linalg.norm(change, 2)) <= 16


@pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="needs the extra `semantic`")
def test_a_vector_does_not_depend_on_the_texts_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["A kitten is asleep.", "", "Pay this invoice by Friday. " * 40, "pods crash"]
    model = MiniLM()
    together = model(texts)
    monkeypatch.setattr(minilm, "_BATCH", 1)
    assert together == pytest.approx(model(texts), abs=1e-5)
    assert model([]).shape == (0, 384)
