"""Arithmetic that several signals share."""

from __future__ import annotations

import numpy as np

from .container import Array

__all__ = ["product", "standard", "starts_of", "unit"]

_ONE_THREAD = 1 << 18


def standard(values: Array) -> Array:
    """In thirds of the usual spread, around the middle; of each row by itself."""
    if not values.shape[-1]:
        return values
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True)) + 1e-3
    return np.asarray(centred / (3 * spread), dtype=np.float32)


def unit(rows: Array) -> Array:
    """Each row at length one; zeros stay zeros."""
    wide = rows.astype(np.float32)
    wide /= np.maximum(np.sqrt(np.einsum("rd,rd->r", wide, wide)), 1e-6)[:, None]
    return wide


def starts_of(*columns: Array) -> Array:
    """Where a run of equal neighbours begins; all columns must stay the same."""
    begins = np.ones(len(columns[0]), dtype=bool)
    begins[1:] = False
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def product(left: Array, right: Array) -> Array:
    """`left @ right` in blocks so small that the linear algebra library does not wake its threads.

    For products of this size that costs more than it saves, on a busy machine ten times more.
    """
    size = max(1, _ONE_THREAD // max(1, right.size))
    if len(left) <= size:
        return np.asarray(left @ right)
    return np.concatenate([left[at : at + size] @ right for at in range(0, len(left), size)])
