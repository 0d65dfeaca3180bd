"""The array type and the arithmetic that several signals share."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Array", "product", "standard", "starts_of", "unit"]

# Any: the element type differs from array to array, and `container.unpack` callers check it.
Array = np.ndarray[Any, np.dtype[Any]]

_ONE_THREAD = 1 << 18
"""Largest product, in elements, that the linear algebra library computes in one thread."""


def standard(values: Array) -> Array:
    """Returns each row in thirds of its standard deviation, around its mean."""
    if not values.shape[-1]:
        return values
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True)) + 1e-3
    return np.asarray(centred / (3 * spread), dtype=np.float32)


def unit(rows: Array) -> Array:
    """Returns each row scaled to length one; a row of zeros stays zeros."""
    wide = rows.astype(np.float32)
    wide /= np.maximum(np.sqrt(np.einsum("rd,rd->r", wide, wide)), 1e-6)[:, None]
    return wide


def starts_of(*columns: Array) -> Array:
    """Returns where each run of equal values begins; a run ends when any of the columns changes."""
    begins = np.ones(len(columns[0]), dtype=bool)
    begins[1:] = False
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def product(left: Array, right: Array) -> Array:
    """Computes `left @ right` in blocks that are small enough for one thread.

    For products of this size, starting the threads costs more than it saves; on a busy machine, ten times more.
    """
    size = max(1, _ONE_THREAD // max(1, right.size))
    if len(left) <= size:
        return np.asarray(left @ right)
    return np.concatenate([left[at : at + size] @ right for at in range(0, len(left), size)])
