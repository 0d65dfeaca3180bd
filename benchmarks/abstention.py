"""The abstention curve as SVG, right skills kept over near misses that activate their skill; and a library twice as large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from metier.selection.arrays import unit
from metier.selection.index_document import read_skill
from metier.selection.segment import build_segment
from metier.selection.tokenization import split_sentences
from metier.selection.trained_data import TrainedData
from training.labels import Plain

__all__ = ["crossed", "plot"]

_WIDTH, _HEIGHT, _EDGE = 520, 380, 50
_COLOURS = ("#1f6feb", "#d1242f")
_TWIN = 0.97
"""Cosine above which two skills are the same one twice."""


def plot(curves: Mapping[str, Sequence[Mapping[str, float]]], default: float) -> str:
    """Each curve is a list of thresholds with the kept right skills and the activated near misses, in per cent."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<path d="M{_EDGE} {_EDGE}V{_HEIGHT - _EDGE}H{_WIDTH - _EDGE}" fill="none" stroke="#57606a"/>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}" text-anchor="middle">near misses that activate their skill, %</text>',
        f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">right skills kept, %</text>',
    ]
    for mark in (25, 50, 75, 100):
        x, y = _spot({"near misses": mark, "kept": mark})
        parts.append(f'<text x="{x}" y="{_HEIGHT - _EDGE + 16}" text-anchor="middle">{mark}</text>')
        parts.append(f'<text x="{_EDGE - 8}" y="{y + 4}" text-anchor="end">{mark}</text>')
        parts.append(f'<path d="M{_EDGE} {y}H{_WIDTH - _EDGE}" stroke="#d0d7de" stroke-dasharray="3 3"/>')
    for line, (colour, (name, curve)) in enumerate(zip(_COLOURS, curves.items(), strict=False)):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(_spot, curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for figures in curve:
            x, y = _spot(figures)
            size = 5 if figures["threshold"] == default else 2.5
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"/>')
        parts.append(
            f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - 100 + 16 * line}" text-anchor="end" fill="{colour}">{name}</text>'
        )
    note = f'<text x="{_WIDTH - _EDGE}" y="{_HEIGHT - 64}" text-anchor="end">large dots: the default, {default:g}</text>'
    return "\n".join([*parts, note, "</svg>", ""])


def _spot(figures: Mapping[str, float]) -> tuple[float, float]:
    x = _EDGE + figures["near misses"] / 100 * (_WIDTH - 2 * _EDGE)
    return x, _HEIGHT - _EDGE - figures["kept"] / 100 * (_HEIGHT - 2 * _EDGE)


def crossed(skills: Sequence[Plain], trained: TrainedData) -> Iterator[Plain]:
    """Returns a rival for each skill: half of its description and half of the most similar one's, with that one's body.

    This is harder than a library of real skills: every right skill gets a rival with half of its description.
    """
    vectors = build_segment([read_skill(skill) for skill in skills], trained).vector.reshape(len(skills), -1)
    front = unit(vectors[:, : trained.dimensions])
    for place, skill in enumerate(skills):
        alike = front @ front[place]
        alike[(alike > _TWIN) | (np.arange(len(skills)) == place)] = -1
        other = skills[int(alike.argmax())]
        name = [*_half(skill.name.split("-"), first=True), *_half(other.name.split("-"), first=False)]
        says = [*_half(_parts(skill.description), first=True), *_half(_parts(other.description), first=False)]
        yield Plain(f"crossed#{place}", "-".join(name), " ".join(says), other.body)


def _parts(text: str) -> list[str]:
    said = split_sentences(text)
    return said if len(said) > 1 else text.split()


def _half(parts: Sequence[str], *, first: bool) -> Sequence[str]:
    middle = (len(parts) + 1) // 2
    return parts[:middle] if first else parts[middle:] or parts
