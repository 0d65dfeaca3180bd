"""Data flow: from a secret to the network, and from the network to an interpreter, over any number of steps and files.

The readers add `FlowStep`s to the collector; here they are joined. Variables belong to one file, functions and file names to
all files. Joining ignores order and branches: an `if` does not make it harmless to read a key and send it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping

from metier.scan.collector import FindingCollector, FlowStep
from metier.scan.scale import Confidence
from metier.scan.text import TextKind

__all__ = ["judge_data_flow"]

_MOST_STEPS = 40_000
_MOST_HOPS = 24


def judge_data_flow(collector: FindingCollector) -> None:
    """Flags each network call that a secret reaches, and each interpreter that a download reaches."""
    steps = collector.steps[:_MOST_STEPS]
    users: dict[str, list[FlowStep]] = defaultdict(list)
    for step in steps:
        for name in step.uses:
            users[name].append(step)
    for origin, step in _join(steps, users, lambda step: bool(step.secret), lambda step: bool(step.sends)):
        _flag_leak(origin, step, collector)
    for origin, step in _join(steps, users, lambda step: bool(step.fetched), lambda step: bool(step.runs)):
        message = f"{step.runs} runs code from {origin.fetched}"
        collector.flag("SK505", message, text=step.text, at=step.at, confidence=origin.confidence)
    for _, step in _join(steps, users, lambda step: step.decoded, lambda step: bool(step.runs)):
        collector.flag("SK701", f"{step.runs} runs decoded data", text=step.text, at=step.at)


def _join(
    steps: list[FlowStep],
    users: Mapping[str, list[FlowStep]],
    is_source: Callable[[FlowStep], bool],
    is_sink: Callable[[FlowStep], bool],
) -> Iterator[tuple[FlowStep, FlowStep]]:
    """Yields every sink that a source reaches, with the nearest source."""
    if not any(map(is_source, steps)) or not any(map(is_sink, steps)):
        return
    origins: dict[int, FlowStep] = {}
    waiting = deque((step, step, 0) for step in steps if is_source(step))
    while waiting:
        step, origin, hops = waiting.popleft()
        if id(step) in origins or hops > _MOST_HOPS:
            continue
        origins[id(step)] = origin
        waiting.extend(
            (user, origin, hops + 1) for name in step.defines for user in users.get(name, ()) if id(user) not in origins
        )
    yield from ((origins[id(step)], step) for step in steps if is_sink(step) and id(step) in origins)


def _flag_leak(origin: FlowStep, sink: FlowStep, collector: FindingCollector) -> None:
    if origin.is_explained and not sink.to_unknown_host:
        return
    if origin.text.path == sink.text.path:
        # Tokens of a fragment are less reliable than the tree of a whole script.
        confidence = Confidence.MEDIUM if sink.text.is_in_document and sink.text.kind is TextKind.JAVASCRIPT else None
        collector.flag(
            "SK611", f"{origin.secret} would be sent to {sink.sends}", text=sink.text, at=sink.at, confidence=confidence
        )
        return
    line, _ = origin.text.position(origin.at)
    message = f"{origin.secret}, read in {origin.text.path}:{line}, would be sent to {sink.sends}"
    collector.flag("SK612", message, text=sink.text, at=sink.at)
