"""What is learnt from a set of requests: all networks, in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from metier.selection.container import Array
from metier.selection.meanings import meaning_columns, meaning_text
from metier.selection.network import Network
from metier.selection.trained import Trained
from training.examples import Example, Shelves, examples, wordings
from training.labels import Labelled, Plain
from training.networks import (
    FEW,
    MANY,
    NOT_ASKED,
    confidence_rows,
    fit_confidence,
    fit_meaning,
    fit_order,
    fit_salience,
    orders,
)
from training.quoted import fragments, quoted_requests
from training.vectors import encoded

__all__ = ["BRIEF", "SETTINGS", "Fitted", "Material", "fit"]

SETTINGS = ("all", "own", "tiny", "all-front", "own-front", "tiny-front")
BRIEF = ("tiny", "tiny-front")
"""The libraries that short requests are asked of, to learn how sure to be. In larger ones two words seldom tell enough."""


class Material:
    """What all folds share, because nothing of it depends on which requests are held out."""

    def __init__(self, skills: Sequence[Plain], asked: Sequence[Labelled], trained: Trained, work: Path) -> None:
        self.trained = trained
        self.shelves = Shelves(skills, trained)
        bare, self.quoted = quoted_requests(skills)
        self.bare = Shelves(bare, trained)
        self.brief = [*fragments(self.quoted), *self.quoted[1::3]]
        real = [one for one in asked if one.kind not in NOT_ASKED]
        self.wordings = wordings(self.shelves, real, trained)
        texts = [meaning_text(skill) for skill in skills]
        self._skill = dict(zip((skill.id for skill in skills), encoded(texts, work / "descriptions.npy"), strict=True))
        requests = list(dict.fromkeys(one.query for one in real))
        self._asked = dict(zip(requests, encoded(requests, work / "requests.npy"), strict=True))

    def meant(self, one: Example) -> Array:
        """MiniLM's view of an example's candidates."""
        asked = self._asked[one.asked.query]
        return meaning_columns(np.array([float(self._skill[name] @ asked) for name in one.ids], dtype=np.float32))


@dataclass(frozen=True)
class Fitted:
    trained: Trained
    """With the salience network."""
    networks: dict[str, Network]
    meaning: Array

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        found = {key: part for name, network in self.networks.items() for key, part in _arrays(network, prefix + name).items()}
        return found | {f"{prefix}meaning": self.meaning}


def fit(asked: Sequence[Labelled], material: Material, left_out: AbstractSet[str] = frozenset()) -> Fitted:
    """Everything, from these requests and from the quoted ones of publishers that are not left out."""
    wanted = {one.query for one in asked if one.kind not in NOT_ASKED}
    salience = fit_salience([one for one in material.wordings if one.asked.query in wanted])
    trained = replace(material.trained, networks={"salience": salience})
    lists = examples(material.shelves, asked, trained, SETTINGS)
    right = [one for one in lists if one.asked.kind not in NOT_ASKED]
    quoted = [one for one in material.quoted if one.source not in left_out]
    more = examples(material.bare, quoted, trained, ("all", "own"))
    brief = examples(material.bare, [one for one in material.brief if one.source not in left_out], trained, BRIEF)
    many, few = fit_order(right + more, MANY), fit_order(right + more, FEW)
    order = orders(many, few)
    meaning = [
        fit_meaning([(one, order(one).scores(one.values), material.meant(one)) for one in right if one.setting == setting])
        for setting in ("all", "own")
    ]
    networks = {
        "salience": salience,
        "many": many,
        "few": few,
        "sure": fit_confidence(*confidence_rows([*lists, *brief], order)),
    }
    return Fitted(trained, networks, np.stack(meaning))


def _arrays(network: Network, prefix: str) -> dict[str, Array]:
    parts = ("middle", "spread", "hidden", "hidden_bias", "output")
    found: dict[str, Array] = {f"{prefix}.{part}": getattr(network, part).astype(np.float32) for part in parts}
    return found | {f"{prefix}.bias": np.array([network.bias], dtype=np.float32)}
