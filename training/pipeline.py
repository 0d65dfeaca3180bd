"""Fits all networks to a set of requests, in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from metier.selection.arrays import Array
from metier.selection.trained_data import Network, TrainedData
from training.examples import Libraries, examples, wordings
from training.labels import Labelled, Plain
from training.networks import (
    FEW,
    MANY,
    NOT_ASKED,
    fit_order,
    fit_salience,
    fit_verdict,
    fitting_rows,
    orders,
    right_rows,
)
from training.quoted import fragments, quoted_requests

__all__ = ["BRIEF", "SETTINGS", "Fitted", "Material", "fit"]

SETTINGS = ("all", "some", "own", "tiny", "all-front", "own-front", "tiny-front")
BRIEF = ("tiny", "tiny-front")
"""The libraries for short requests, to learn the confidence. In larger ones two words are seldom enough."""


class Material:
    """Data that all folds share, because it does not depend on the held-out requests."""

    def __init__(self, skills: Sequence[Plain], asked: Sequence[Labelled], trained: TrainedData) -> None:
        self.trained = trained
        self.libraries = Libraries(skills, trained)
        bare, self.quoted = quoted_requests(skills)
        self.bare = Libraries(bare, trained)
        self.brief = [*fragments(self.quoted), *self.quoted[1::3]]
        real = [one for one in asked if one.kind not in NOT_ASKED]
        self.wordings = wordings(self.libraries, real, trained)


@dataclass(frozen=True)
class Fitted:
    trained: TrainedData
    """With the salience network."""
    networks: dict[str, Network]

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        return {key: part for name, network in self.networks.items() for key, part in _arrays(network, prefix + name).items()}


def fit(asked: Sequence[Labelled], material: Material, left_out: AbstractSet[str] = frozenset()) -> Fitted:
    """Fits all networks to these requests and to the quoted ones of publishers that are not left out."""
    wanted = {one.query for one in asked if one.kind not in NOT_ASKED}
    salience = fit_salience([one for one in material.wordings if one.request.query in wanted])
    trained = replace(material.trained, networks={"salience": salience})
    lists = examples(material.libraries, asked, trained, SETTINGS)
    right = [one for one in lists if one.request.kind not in NOT_ASKED]
    quoted = [one for one in material.quoted if one.source not in left_out]
    more = examples(material.bare, quoted, trained, ("all", "own"))
    brief = examples(material.bare, [one for one in material.brief if one.source not in left_out], trained, BRIEF)
    many, few = fit_order(right + more, MANY), fit_order(right + more, FEW)
    order = orders(many, few)
    networks = {
        "salience": salience,
        "many": many,
        "few": few,
        "fit": fit_verdict(*fitting_rows([*lists, *brief], order)),
        "sure": fit_verdict(*right_rows([*lists, *brief], order)),
    }
    return Fitted(trained, networks)


def _arrays(network: Network, prefix: str) -> dict[str, Array]:
    parts = ("middle", "spread", "hidden", "hidden_bias", "output")
    found: dict[str, Array] = {f"{prefix}.{part}": getattr(network, part).astype(np.float32) for part in parts}
    return found | {f"{prefix}.bias": np.array([network.bias], dtype=np.float32)}
