"""Recorded answers of a model, so that a benchmark can be repeated without a model and without a key."""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from metier.models import ModelClient, ModelReply, choose_model

__all__ = [
    "Answer",
    "add_model_options",
    "check_model_options",
    "cost_columns",
    "model_client",
    "read_answers",
    "usage_of",
    "write_answer",
]


@dataclass(frozen=True, kw_only=True)
class Answer:
    request: str
    """The key of the request."""
    text: str
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None if the price is unknown."""


A = TypeVar("A", bound=Answer)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", help="as in model.name: openai:NAME, anthropic:NAME, ollama:NAME, ...")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    parser.add_argument("--key-variable", default="", help="name of the variable that holds the key")
    parser.add_argument("--record", type=Path, help="write the answers to this file")
    parser.add_argument("--replay", type=Path, help="take the answers from this file")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")


def check_model_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if bool(options.model) == bool(options.replay):
        parser.error("give either --model NAME or --replay FILE")
    if options.record and options.replay:
        parser.error("--record needs --model")


def model_client(options: argparse.Namespace) -> ModelClient:
    choice = choose_model(
        options.model, base_url=options.base_url, key_variable=options.key_variable, environment=dict(os.environ)
    )
    return ModelClient(choice)


def usage_of(reply: ModelReply) -> dict[str, Any]:
    """Returns tokens and cost, as the fields of an answer."""
    used = reply.response
    if used is None:
        return {}
    return {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "cost": used.cost}


def write_answer(file: Any, answer: Answer) -> None:
    file.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
    file.flush()


def read_answers(file: Path, kind: type[A]) -> list[A]:
    try:
        rows: list[dict[str, Any]] = [
            json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()
        ]
        return [kind(**row) for row in rows]
    except (OSError, ValueError, TypeError) as error:
        raise SystemExit(f"cannot read the recording {file}: {error}") from None


def cost_columns(answers: Sequence[Answer], *, per: int, digits: int = 3) -> tuple[str, str, str, str, str]:
    """Returns the model, the number of answers, mean tokens in and out, and US dollars for `per` requests."""
    prices = [answer.cost for answer in answers if answer.cost is not None]
    return (
        answers[0].model, str(len(answers)), f"{statistics.mean(answer.input_tokens for answer in answers):.0f}",
        f"{statistics.mean(answer.output_tokens for answer in answers):.1f}",
        f"{per * statistics.mean(prices):.{digits}f}" if prices else "unknown",
    )  # fmt: skip
