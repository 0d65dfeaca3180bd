"""The options that choose a period and agents, for commands that read transcripts."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from metier.errors import UsageError
from metier.hosts.transcripts import TRANSCRIPT_AGENTS
from metier.install import read_duration

__all__ = ["SinceType", "agent_option", "since_option"]

F = TypeVar("F", bound=Callable[..., Any])  # Any: a command


class SinceType(click.ParamType[float]):
    """A duration before now, or a date; seconds since 1970."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002  (click's)
        if isinstance(value, float):
            return value
        try:
            return datetime.fromisoformat(value).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            pass
        try:
            return max(0.0, time.time() - read_duration(value))
        except UsageError:
            raise UsageError(f"{value!r} is not a period", hint="write 30d, 12h, or a date such as 2026-01-31") from None


def since_option(default: str | None = None) -> Callable[[F], F]:
    return click.option(
        "--since", type=SinceType(), default=default, show_default=default is not None, metavar="PERIOD",
        help="Only since then: 30d, 12h, or a date.",
    )  # fmt: skip


def agent_option(function: F) -> F:
    option = click.option(
        "--agent", "agents", multiple=True, type=click.Choice(TRANSCRIPT_AGENTS), help="Only this agent; repeatable."
    )
    return option(function)
