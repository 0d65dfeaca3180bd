"""Compares a trained file with the one that ships: by digest, and array by array if they differ."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from metier.selection.container import unpack
from metier.selection.trained_data import TRAINED_FORMAT

__all__ = ["TOLERANCE", "compare", "digest"]

TOLERANCE = 1e-3
"""Largest difference of an array, relative to its largest value, that another processor or numpy version may cause."""


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def compare(made: Path, shipped: Path) -> list[str]:
    """Returns one line per array that differs by more than the tolerance; none if the files are equal."""
    if digest(made) == digest(shipped):
        return []
    one, other = (unpack(file.read_bytes(), version=TRAINED_FORMAT) for file in (made, shipped))
    lines = [f"{name}: only in one of the files" for name in sorted(one.keys() ^ other.keys())]
    for name in sorted(one.keys() & other.keys()):
        left, right = one[name], other[name]
        if left.shape != right.shape:
            lines.append(f"{name}: shape {left.shape} instead of {right.shape}")
            continue
        scale = max(1e-9, float(np.abs(right.astype(np.float64)).max(initial=0)))
        apart = float(np.abs(left.astype(np.float64) - right.astype(np.float64)).max(initial=0)) / scale
        if apart > TOLERANCE:
            lines.append(f"{name}: differs by up to {apart:.2%} of its largest value")
    return lines
