"""A small network: one orders the candidates, one says whether they fit, one how sure we may be.

Several networks, trained from different seeds, vote with their mean: it costs microseconds and takes
away most of the luck of one training run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import product
from .container import Array

__all__ = ["Network", "read_network"]

_PARTS = ("middle", "spread", "hidden", "hidden_bias", "output")


@dataclass(frozen=True, kw_only=True)
class Network:
    middle: Array
    spread: Array
    hidden: Array
    """By vote, signal and unit."""
    hidden_bias: Array
    output: Array
    bias: float = 0.0
    """Added by whoever reads the answer as a probability."""

    def scores(self, values: Array) -> Array:
        """One number a candidate; only their order and distances within a request mean anything."""
        hidden, bias, output = self._flat
        inputs = np.clip((values - self.middle) / self.spread, -4, 4)
        return np.asarray(product(np.tanh(product(inputs, hidden) + bias), output))[:, 0]

    @cached_property
    def _flat(self) -> tuple[Array, Array, Array]:
        """All votes side by side, as one wide layer."""
        votes, width, units = self.hidden.shape
        hidden = np.ascontiguousarray(self.hidden.transpose(1, 0, 2).reshape(width, votes * units))
        return hidden, self.hidden_bias.reshape(-1), self.output.reshape(-1, 1) / np.float32(votes)


def read_network(arrays: Mapping[str, Array], prefix: str) -> Network:
    parts = {name: arrays[f"{prefix}.{name}"].astype(np.float32) for name in _PARTS}
    return Network(**parts, bias=float(arrays[f"{prefix}.bias"][0]))
