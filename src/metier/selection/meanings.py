"""What skills mean to a sentence model: one vector each, made once, kept, and mixed into the order.

The `semantic` extra brings an encoder (`minilm.MiniLM`), but any function from texts to unit vectors will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from .container import Array, CorruptIndex, pack, unpack
from .document import Skill, stamp_of
from .scales import standard

__all__ = ["Encoder", "Meanings", "meaning_columns", "meaning_text"]

_FORMAT = 1


class Encoder(Protocol):
    def __call__(self, texts: Sequence[str]) -> Array:
        """One vector of length one for each text."""


class Meanings:
    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: dict[bytes, Array] = {}

    @classmethod
    def from_buffer(cls, buffer: Any, encoder: Encoder) -> Meanings:
        """Raises `CorruptIndex`."""
        arrays = unpack(buffer, version=_FORMAT)
        if set(arrays) != {"stamp", "vector"} or len(arrays["stamp"]) != len(arrays["vector"]):
            raise CorruptIndex("it holds no meanings")
        made = cls(encoder)
        stamps = arrays["stamp"].astype("<u8").tobytes()
        made._vectors = {stamps[8 * row : 8 * row + 8]: vector for row, vector in enumerate(arrays["vector"])}
        return made

    def to_bytes(self) -> bytes:
        stamps = np.frombuffer(b"".join(self._vectors), dtype="<u8")
        vectors = np.stack(list(self._vectors.values())) if self._vectors else np.zeros((0, 0), dtype=np.float16)
        return pack({"stamp": stamps, "vector": vectors.astype(np.float16)}, version=_FORMAT)

    def learn(self, skills: Iterable[Skill]) -> int:
        """Encode the skills not known yet; returns how many those were."""
        new = {stamp: skill for skill in skills if (stamp := stamp_of(skill)) not in self._vectors}
        if new:
            texts = [meaning_text(skill) for skill in new.values()]
            self._vectors |= zip(new, self._encoder(texts).astype(np.float16), strict=True)
        return len(new)

    def columns(self, query: str, skills: Sequence[Skill]) -> Array | None:
        """Two more signals of each candidate; a skill not learnt gets what is usual. None when none is learnt."""
        known = [(place, self._vectors.get(stamp_of(skill))) for place, skill in enumerate(skills)]
        rows = [(place, vector) for place, vector in known if vector is not None]
        if not rows:
            return None
        cosine = np.stack([vector for _, vector in rows]).astype(np.float32) @ self._encoder([query])[0]
        near = np.full(len(skills), cosine.mean(), dtype=np.float32)
        near[[place for place, _ in rows]] = cosine
        return meaning_columns(near)


def meaning_text(skill: Skill) -> str:
    """What of a skill the sentence model reads."""
    return f"{skill.name.replace('-', ' ')}. {skill.description}"


def meaning_columns(near: Array) -> Array:
    """The cosines, and how they stand to each other."""
    return np.stack([near, standard(near)], axis=1).astype(np.float32)
