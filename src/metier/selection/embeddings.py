"""Sentence embeddings of skills: one vector per skill, computed once, saved, and used to reorder the candidates.

The extra `semantic` adds an encoder (`MiniLM`); any function from texts to unit vectors works.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from .arrays import Array, standard
from .container import CorruptIndexError, pack, unpack
from .index_document import SelectableSkill, stamp_of

__all__ = ["Encoder", "SkillEmbeddings", "embedding_text"]

_FORMAT = 2
"""Another one when the shipped encoder changes, so that saved embeddings are computed again."""


class Encoder(Protocol):
    def __call__(self, texts: Sequence[str]) -> Array:
        """Returns one vector of length one per text."""


class SkillEmbeddings:
    """`similarity` is thread-safe; `learn` is not."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._row: dict[bytes, int] = {}
        self._vectors = np.zeros((0, 0), dtype=np.float16)

    @classmethod
    def from_buffer(cls, buffer: Any, encoder: Encoder) -> SkillEmbeddings:
        """Opens what `to_bytes` returned, without copying it. Raises `CorruptIndexError`."""
        arrays = unpack(buffer, version=_FORMAT)
        if set(arrays) != {"stamp", "vector"} or len(arrays["stamp"]) != len(arrays["vector"]):
            raise CorruptIndexError("it is not an embeddings file")
        made = cls(encoder)
        stamps = arrays["stamp"].astype("<u8").tobytes()
        made._row = {stamps[8 * row : 8 * row + 8]: row for row in range(len(arrays["stamp"]))}
        made._vectors = arrays["vector"]
        return made

    def __len__(self) -> int:
        return len(self._row)

    def to_bytes(self, skills: Iterable[SelectableSkill] | None = None) -> bytes:
        """Returns all embeddings, or those of these skills."""
        wanted = self._row if skills is None else dict.fromkeys(map(stamp_of, skills))
        rows = {stamp: self._row[stamp] for stamp in wanted if stamp in self._row}
        stamps = np.frombuffer(b"".join(rows), dtype="<u8")
        return pack({"stamp": stamps, "vector": self._vectors[list(rows.values())]}, version=_FORMAT)

    def learn(self, skills: Iterable[SelectableSkill]) -> int:
        """Encodes the skills that have no embedding yet and returns their number."""
        new = {stamp: skill for skill in skills if (stamp := stamp_of(skill)) not in self._row}
        if new:
            vectors = self._encoder([embedding_text(skill) for skill in new.values()]).astype(np.float16)
            self._row |= {stamp: len(self._row) + place for place, stamp in enumerate(new)}
            self._vectors = np.concatenate([self._vectors, vectors]) if len(self._vectors) else vectors
        return len(new)

    def similarity(self, query: str, skills: Sequence[SelectableSkill]) -> Array | None:
        """Returns the similarity of the request and each skill, relative to the others; 0 is the mean.

        A skill without an embedding gets 0. Returns None if none of them has one.
        """
        rows = np.array([self._row.get(stamp_of(skill), -1) for skill in skills], dtype=np.int64)
        known = rows >= 0
        if not known.any():
            return None
        found = np.zeros(len(rows), dtype=np.float32)
        # A cosine alone says little; only the comparison with the others counts.
        found[known] = standard(self._vectors[rows[known]].astype(np.float32) @ self._encoder([query])[0])
        return found


def embedding_text(skill: SelectableSkill) -> str:
    """Returns the text that the sentence model reads."""
    return f"{skill.name.replace('-', ' ')}. {skill.description}"
