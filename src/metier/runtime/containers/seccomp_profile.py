"""The system call filter of the sandbox, in the format that container engines read.

The rules are those of `sandbox.seccomp`. An engine compares whole arguments of 64 bits, and has no test for "none of these
bits". So a rule becomes several, one for each denied value. Where the two forms differ, this one denies more: it never lets
pass what the sandbox denies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from metier.runtime.sandbox.seccomp import (
    AARCH64,
    X86_64,
    Architecture,
    ArgumentTest,
    DeniedCall,
    FilterOptions,
    denied_calls,
)

__all__ = ["Condition", "conditions", "seccomp_profile"]

Condition = dict[str, int | str]
_WORD = 0xFFFFFFFF
_NAMES = {X86_64: "SCMP_ARCH_X86_64", AARCH64: "SCMP_ARCH_AARCH64"}
# Names that libseccomp does not know are left out by the engine. It denies them by their number only if it is new enough.


@cache
def seccomp_profile(architecture: Architecture, *, internet: bool = False) -> bytes:
    """Returns the profile of a run with or without network, as JSON. Calls of another architecture end the process."""
    rules = [rule for call in denied_calls(FilterOptions(internet=internet)) for rule in _rules(call)]
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [_NAMES[architecture]], "syscalls": rules}
    return json.dumps(profile, separators=(",", ":")).encode()


def _rules(call: DeniedCall) -> Iterator[dict[str, object]]:
    rule: dict[str, object] = {"names": [call.name], "action": "SCMP_ACT_ERRNO", "errnoRet": call.error}
    if call.when is None:
        yield rule
        return
    for condition in conditions(call.when):
        yield {**rule, "args": [condition]}


def conditions(test: ArgumentTest) -> Iterator[Condition]:
    """Yields conditions of which at least one is true whenever the test is."""
    if not test.negated:
        yield from (_masked(test, value) for value in test.values)
    elif test.mask == _WORD:
        yield from _outside(test)
    elif test.values == (0,):
        yield from (_masked(test, bit, mask=bit) for bit in _bits(test.mask))
    else:
        yield from (_masked(test, value) for value in _values(test.mask) if value not in test.values)


def _masked(test: ArgumentTest, value: int, *, mask: int | None = None) -> Condition:
    # The mask also covers a full word: the kernel ignores the upper half of these arguments, and so must the test.
    return {"index": test.argument, "op": "SCMP_CMP_MASKED_EQ", "value": test.mask if mask is None else mask, "valueTwo": value}


def _outside(test: ArgumentTest) -> Iterator[Condition]:
    """Yields the ranges below, between and above the allowed values."""
    values = sorted(test.values)
    if values[0] > 0:
        yield {"index": test.argument, "op": "SCMP_CMP_LT", "value": values[0]}
    for value in range(values[0], values[-1]):
        if value not in values:
            yield _masked(test, value)
    yield {"index": test.argument, "op": "SCMP_CMP_GT", "value": values[-1]}


def _bits(mask: int) -> Iterator[int]:
    return (1 << number for number in range(32) if mask >> number & 1)


def _values(mask: int) -> Iterator[int]:
    """Yields every value that has only bits of the mask."""
    value = 0
    while True:
        yield value
        value = (value - mask) & mask
        if value == 0:
            return
