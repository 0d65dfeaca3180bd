"""What skills mean to a sentence model: one vector each, made once, kept, and mixed into the order.

The `semantic` extra brings an encoder (`minilm.MiniLM`), but any function from texts to unit vectors will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from .arrays import standard
from .container import Array, CorruptIndexError, pack, unpack
from .index_document import SelectableSkill, stamp_of

__all__ = ["Encoder", "SkillEmbeddings", "embedding_text"]

_FORMAT = 1


class Encoder(Protocol):
    def __call__(self, texts: Sequence[str]) -> Array:
        """One vector of length one for each text."""


class SkillEmbeddings:
    """Not safe for threads that make it learn; asking from several threads is fine."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._row: dict[bytes, int] = {}
        self._vectors = np.zeros((0, 0), dtype=np.float16)

    @classmethod
    def from_buffer(cls, buffer: Any, encoder: Encoder) -> SkillEmbeddings:
        """Open what `to_bytes` gave, without copying it. Raises `CorruptIndexError`."""
        arrays = unpack(buffer, version=_FORMAT)
        if set(arrays) != {"stamp", "vector"} or len(arrays["stamp"]) != len(arrays["vector"]):
            raise CorruptIndexError("it holds no embeddings")
        made = cls(encoder)
        stamps = arrays["stamp"].astype("<u8").tobytes()
        made._row = {stamps[8 * row : 8 * row + 8]: row for row in range(len(arrays["stamp"]))}
        made._vectors = arrays["vector"]
        return made

    def __len__(self) -> int:
        return len(self._row)

    def to_bytes(self, skills: Iterable[SelectableSkill] | None = None) -> bytes:
        """All that is kept, or what is kept of these skills."""
        wanted = self._row if skills is None else dict.fromkeys(map(stamp_of, skills))
        rows = {stamp: self._row[stamp] for stamp in wanted if stamp in self._row}
        stamps = np.frombuffer(b"".join(rows), dtype="<u8")
        return pack({"stamp": stamps, "vector": self._vectors[list(rows.values())]}, version=_FORMAT)

    def learn(self, skills: Iterable[SelectableSkill]) -> int:
        """Encode the skills not known yet; returns how many those were."""
        new = {stamp: skill for skill in skills if (stamp := stamp_of(skill)) not in self._row}
        if new:
            vectors = self._encoder([embedding_text(skill) for skill in new.values()]).astype(np.float16)
            self._row |= {stamp: len(self._row) + place for place, stamp in enumerate(new)}
            self._vectors = np.concatenate([self._vectors, vectors]) if len(self._vectors) else vectors
        return len(new)

    def nearness(self, query: str, skills: Sequence[SelectableSkill]) -> Array | None:
        """How similar each is to the request, beside the others; 0 is usual, and given to a skill not learnt.

        None when none is learnt.
        """
        rows = np.array([self._row.get(stamp_of(skill), -1) for skill in skills], dtype=np.int64)
        known = rows >= 0
        if not known.any():
            return None
        found = np.zeros(len(rows), dtype=np.float32)
        # The size of a cosine says little; how they stand to each other counts.
        found[known] = standard(self._vectors[rows[known]].astype(np.float32) @ self._encoder([query])[0])
        return found


def embedding_text(skill: SelectableSkill) -> str:
    """What of a skill the sentence model reads."""
    return f"{skill.name.replace('-', ' ')}. {skill.description}"
