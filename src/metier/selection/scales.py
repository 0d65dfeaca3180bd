"""Arithmetic that several signals share."""

from __future__ import annotations

import math

import numpy as np

from .container import Array

__all__ = ["product", "standard"]

_ONE_THREAD = 1 << 18


def standard(values: Array) -> Array:
    """In thirds of the usual spread, around the middle."""
    if not len(values):
        return values
    centred = values - values.sum() / len(values)
    spread = math.sqrt(float(np.dot(centred, centred)) / len(values)) + 1e-3
    return np.asarray(centred / (3 * spread), dtype=np.float32)


def product(left: Array, right: Array) -> Array:
    """`left @ right` in blocks so small that the linear algebra library does not wake its threads.

    For products of this size that costs more than it saves, on a busy machine ten times more.
    """
    size = max(1, _ONE_THREAD // max(1, right.size))
    if len(left) <= size:
        return np.asarray(left @ right)
    return np.concatenate([left[at : at + size] @ right for at in range(0, len(left), size)])
