"""An operation of a conversation while it runs: a turn, a request to a model, a call of a tool.

Events say that something happened. An operation has a start and an end, and contains others: a tool that a turn calls runs
inside the turn. So a tracer is told of both, in the task or thread in which the operation runs, and finds the operation
around it by Python's own context variables. Nothing carries ids.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, runtime_checkable

from metier.values import dataclass

__all__ = ["Operation", "OperationKind", "Tracer"]


class OperationKind(StrEnum):
    """The values are the names of OpenTelemetry's conventions for generative AI."""

    TURN = "invoke_agent"
    MODEL = "chat"
    TOOL = "execute_tool"


@dataclass(slots=True, kw_only=True)
class Operation:
    """The fields about the result are set before the operation ends."""

    kind: OperationKind
    name: str = ""
    """Of the agent, the model or the tool."""
    session: str = ""
    version: str = ""
    """Of the agent."""
    skill: str = ""
    resource: str = ""
    call_id: str = ""
    """The model's id of the tool call."""
    purpose: str = ""
    """Of a request to a model: answer, selection or summary."""
    provider: str = ""
    model: str = ""
    """The model that was asked for."""
    answered_by: str = ""
    """The model that answered, as its provider names it."""
    response_id: str = ""
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    error: str = ""
    """The code or the class of the error; empty if the operation succeeded."""


@runtime_checkable
class Tracer(Protocol):
    """A subscriber of the bus that also follows operations."""

    def begin_operation(self, operation: Operation) -> Callable[[], None]:
        """Begins a span in the current context. The returned function ends it, in the same context."""
