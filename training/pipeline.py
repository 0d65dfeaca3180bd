"""Fits all networks to a set of requests, in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from training.written import by_others, read_near_misses, read_written

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
        self.written, self.near_misses = read_written(skills), read_near_misses(skills)
        real = [one for one in asked if one.kind not in NOT_ASKED]
        self.wordings = wordings(self.libraries, real, trained)


@dataclass(frozen=True)
class Fitted:
    trained: TrainedData
    """With the salience network."""
    networks: dict[str, Network]

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        return {key: part for name, network in self.networks.items() for key, part in _arrays(network, prefix + name).items()}


def fit(
    asked: Sequence[Labelled],
    material: Material,
    left_out: AbstractSet[str] = frozenset(),
    kept: Mapping[str, Network] | None = None,
) -> Fitted:
    """Fits all networks to these requests and to the quoted and written ones of publishers that are not left out.

    The written requests and near misses teach when a skill fits. The order learns nothing from them: they were written for
    skills of all kinds, and the networks would unlearn what distinguishes the skills that people ask for. With `kept`
    networks, only the fit is new.
    """
    networks = {**(kept or _ordering(asked, material, left_out))}
    trained = replace(material.trained, networks={"salience": networks["salience"]})
    order = orders(networks["many"], networks["few"])
    lists = examples(material.libraries, asked, trained, SETTINGS)
    lists += examples(material.bare, by_others(material.brief, left_out), trained, BRIEF)
    others = [*by_others(material.written, left_out)[::3], *by_others(material.near_misses, left_out)]
    apart = examples(material.libraries, others, trained, ("all", "own"))
    networks["fit"] = fit_verdict(*fitting_rows([*lists, *apart], order))
    if "sure" not in networks:
        networks["sure"] = fit_verdict(*right_rows(lists, order))
    return Fitted(trained, networks)


def _ordering(asked: Sequence[Labelled], material: Material, left_out: AbstractSet[str]) -> dict[str, Network]:
    real = [one for one in asked if one.kind not in NOT_ASKED]
    wanted = {one.query for one in real}
    salience = fit_salience([one for one in material.wordings if one.request.query in wanted])
    trained = replace(material.trained, networks={"salience": salience})
    lists = examples(material.libraries, real, trained, sorted({*MANY, *FEW}))
    lists += examples(material.bare, by_others(material.quoted, left_out), trained, ("all", "own"))
    return {"salience": salience, "many": fit_order(lists, MANY), "few": fit_order(lists, FEW)}


def _arrays(network: Network, prefix: str) -> dict[str, Array]:
    parts = ("middle", "spread", "hidden", "hidden_bias", "output")
    found: dict[str, Array] = {f"{prefix}.{part}": getattr(network, part).astype(np.float32) for part in parts}
    return found | {f"{prefix}.bias": np.array([network.bias], dtype=np.float32)}
