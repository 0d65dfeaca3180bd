"""What skills mean to a sentence model: one vector each, made once, kept, and mixed into the order.

The `semantic` extra brings an encoder (`minilm.MiniLM`), but any function from texts to unit vectors will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from .container import Array, CorruptIndex, pack, unpack
from .document import Skill, stamp_of

__all__ = ["Encoder", "Meanings"]

_FORMAT = 1
_WEIGHT = 4.0
"""Of a cosine beside the network's score. Anything from 4 to 8 does as well."""


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
            texts = [f"{skill.name.replace('-', ' ')}. {skill.description}" for skill in new.values()]
            self._vectors |= zip(new, self._encoder(texts).astype(np.float16), strict=True)
        return len(new)

    def bonus(self, query: str, skills: Sequence[Skill]) -> Array:
        """What to add to the score of each candidate; a skill not learnt gets what is usual among the others."""
        known = [(place, self._vectors.get(stamp_of(skill))) for place, skill in enumerate(skills)]
        rows = [(place, vector) for place, vector in known if vector is not None]
        added = np.zeros(len(skills), dtype=np.float32)
        if rows:
            asked = self._encoder([query])[0]
            cosine = np.stack([vector for _, vector in rows]).astype(np.float32) @ asked
            added[[place for place, _ in rows]] = _WEIGHT * (cosine - cosine.mean())
        return added
