"""Small networks, trained by gradient descent in numpy: ensembles, dropout, AdamW, a cosine schedule.

A few thousand weights need no framework. Gradients are written out by hand; tests/selection/test_training.py holds them
to finite differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from metier.selection.arrays import Array
from metier.selection.trained_data import Network

__all__ = ["Ensemble", "descend", "listwise", "mean_and_spread"]


@dataclass
class Ensemble:
    """Several networks of one hidden layer of tanh units, from different starts. Gradients add up until they are used."""

    hidden: Array
    """By vote, input and unit."""
    bias: Array
    output: Array
    drop_inputs: float = 0.0
    drop_units: float = 0.0
    gradients: list[Array] = field(default_factory=list)
    _seen: tuple[Array, ...] = ()

    @classmethod
    def begin(
        cls, width: int, units: int, ensemble: int, rng: np.random.Generator, *, drop_inputs: float, drop_units: float
    ) -> Ensemble:
        hidden = rng.standard_normal((ensemble, width, units)) * 0.6 / math.sqrt(width)
        output = rng.standard_normal((ensemble, units)) * 0.6 / math.sqrt(units)
        return cls(
            hidden=hidden.astype(np.float32),
            bias=np.zeros((ensemble, units), dtype=np.float32),
            output=output.astype(np.float32),
            drop_inputs=drop_inputs,
            drop_units=drop_units,
        )

    @property
    def parameters(self) -> list[Array]:
        return [self.hidden, self.bias, self.output]

    def forward(self, values: Array, rng: np.random.Generator | None = None) -> Array:
        """Returns scores by network, list and member of the list. With `rng`, dropout applies to a whole list at once."""
        ensemble, lists, width = len(self.hidden), len(values), values.shape[-1]
        inputs = np.broadcast_to(values, (ensemble, *values.shape))
        if rng is not None and self.drop_inputs:
            inputs = inputs * _kept((ensemble, lists, 1, width), self.drop_inputs, rng)
        flat = inputs.reshape(ensemble, -1, width)
        units = np.tanh(flat @ self.hidden + self.bias[:, None])
        mask = np.ones(1, dtype=np.float32)
        if rng is not None and self.drop_units:
            mask = _kept((ensemble, lists, 1, units.shape[-1]), self.drop_units, rng)
            mask = np.broadcast_to(mask, (ensemble, lists, values.shape[1], units.shape[-1])).reshape(units.shape)
        self._seen = (flat, units, mask)
        return np.asarray(np.einsum("vcu,vu->vc", units * mask, self.output)).reshape(ensemble, lists, -1)

    def backward(self, slope: Array) -> None:
        """`slope` is the gradient of the loss by the result of the last `forward`."""
        flat, units, mask = self._seen
        slope = slope.reshape(len(slope), -1)
        inner = slope[..., None] * self.output[:, None] * mask * (1 - units * units)
        self.gradients = [
            np.matmul(flat.transpose(0, 2, 1), inner),
            inner.sum(axis=1),
            np.einsum("vc,vcu->vu", slope, units * mask),
        ]

    def frozen(self, middle: Array, spread: Array) -> Network:
        hidden, bias, output = (part.astype(np.float32) for part in self.parameters)
        return Network(middle=middle, spread=spread, hidden=hidden, hidden_bias=bias, output=output)


def _kept(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> Array:
    return (rng.random(shape, dtype=np.float32) >= share).astype(np.float32) / np.float32(1 - share)


def mean_and_spread(values: Array) -> tuple[Array, Array]:
    """Returns the offset and the divisor of each signal, so that all are of one scale."""
    return values.mean(0).astype(np.float32), (values.std(0) + 1e-4).astype(np.float32)


def listwise(scores: Array, wanted: Array, there: Array) -> tuple[float, Array]:
    """Returns the cross-entropy of each list's softmax and `wanted`, and its slope. `wanted` adds up to a list's weight."""
    shifted = np.where(there, scores, -1e4)
    shifted = shifted - shifted.max(axis=2, keepdims=True)
    exponent = np.exp(shifted)
    softmax = exponent / exponent.sum(axis=2, keepdims=True)
    loss = -(wanted * np.log(np.maximum(softmax, 1e-12))).sum(axis=2).mean(axis=1).sum()
    slope = (softmax * wanted.sum(axis=1)[None, :, None] - wanted) / scores.shape[1]
    return float(loss), slope.astype(np.float32)


def descend(
    step: Callable[[Array, np.random.Generator], Sequence[Array]],
    parameters: Sequence[Array],
    size: int,
    rng: np.random.Generator,
    *,
    batch: int,
    epochs: int,
    rate: float,
    decay: float,
) -> None:
    """Runs AdamW in place. `step` returns the gradients for a batch of the `size` examples."""
    first = [np.zeros_like(part) for part in parameters]
    second = [np.zeros_like(part) for part in parameters]
    count = 0
    for epoch in range(epochs):
        now = rate * (1 + math.cos(math.pi * epoch / epochs)) / 2
        order = rng.permutation(size)
        for start in range(0, size, batch):
            gradients = step(order[start : start + batch], rng)
            count += 1
            for part, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient * gradient - square)
                part -= now * decay * part
                part -= now * (mean / (1 - 0.9**count)) / (np.sqrt(square / (1 - 0.999**count)) + 1e-8)
