"""From a secret to the network, over as many steps and files as it takes.

The languages leave `Step`s in the notes; here they are joined. Names in one file are that file's, names of functions and of
files are everybody's. Joining ignores order and branches: a script that reads a key and sends it is not made harmless by
an `if`.
"""

from __future__ import annotations

from collections import defaultdict, deque

from .notes import Notes, Step
from .scale import Confidence
from .text import Kind

__all__ = ["follow"]

_MOST_STEPS = 40_000
_MOST_HOPS = 24


def follow(notes: Notes) -> None:
    """A finding for each sink that a secret reaches."""
    steps = notes.steps[:_MOST_STEPS]
    if not any(step.source for step in steps) or not any(step.sink for step in steps):
        return
    users: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        for name in step.uses:
            users[name].append(step)
    reached: dict[int, tuple[Step, int]] = {}
    waiting = deque((step, step, 0) for step in steps if step.source)
    while waiting:
        step, origin, hops = waiting.popleft()
        if id(step) in reached or hops > _MOST_HOPS:
            continue
        reached[id(step)] = (origin, hops)
        waiting.extend((user, origin, hops + 1) for name in step.defines for user in users[name] if id(user) not in reached)
    for step in steps:
        if step.sink and id(step) in reached:
            _report(reached[id(step)][0], step, notes)


def _report(origin: Step, sink: Step, notes: Notes) -> None:
    if origin.text.path == sink.text.path:
        # Tokens of a fragment say less than a tree of a whole script.
        sure = Confidence.MEDIUM if sink.text.is_shown and sink.text.kind is Kind.JAVASCRIPT else None
        notes.find("SK611", f"{origin.source} would be sent to {sink.sink}", text=sink.text, at=sink.at, confidence=sure)
        return
    line, _ = origin.text.place(origin.at)
    message = f"{origin.source}, read in {origin.text.path}:{line}, would be sent to {sink.sink}"
    notes.find("SK612", message, text=sink.text, at=sink.at)
