"""The filter of containers denies what the filter of the sandbox denies."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from metier.runtime.containers.seccomp_profile import Condition, conditions, seccomp_profile
from metier.runtime.sandbox.seccomp import AARCH64, X86_64, ArgumentTest, FilterOptions, denied_calls

TESTS = {
    (call.name, call.when) for internet in (False, True) for call in denied_calls(FilterOptions(internet=internet)) if call.when
}


def denies(condition: Condition, value: int) -> bool:
    """Evaluates one condition as libseccomp does, on 64 bits."""
    wanted = int(condition["value"])
    return {
        "SCMP_CMP_LT": value < wanted,
        "SCMP_CMP_GT": value > wanted,
        "SCMP_CMP_MASKED_EQ": value & wanted == int(condition.get("valueTwo", 0)),
    }[str(condition["op"])]


def is_true(test: ArgumentTest, value: int) -> bool:
    return (value & 0xFFFFFFFF & test.mask in test.values) != test.negated


def samples(test: ArgumentTest) -> Iterator[int]:
    """Values near those of the test, every single bit, and all of them with a filled upper half."""
    near = {value + step for value in (0, *test.values, test.mask) for step in (-1, 0, 1)}
    for value in {abs(each) & 0xFFFFFFFF for each in (*near, *(1 << bit for bit in range(32)), 0xFFFFFFFF, 0x5413, 0x8901)}:
        yield from (value, value | 0xDEADBEEF << 32)


@pytest.mark.parametrize(("name", "test"), sorted(TESTS, key=str))
def test_a_value_that_the_sandbox_denies_is_denied(name: str, test: ArgumentTest) -> None:
    found = list(conditions(test))
    for value in samples(test):
        denied = any(denies(condition, value) for condition in found)
        assert denied or not is_true(test, value), (name, hex(value))
        if value < 1 << 32:
            assert denied == is_true(test, value), (name, hex(value))


@pytest.mark.parametrize("architecture", [X86_64, AARCH64], ids=["x86_64", "aarch64"])
def test_the_profile_names_every_denied_call_with_its_error(architecture: object) -> None:
    profile = json.loads(seccomp_profile(X86_64 if architecture is X86_64 else AARCH64))
    found = {(name, rule["errnoRet"]) for rule in profile["syscalls"] for name in rule["names"]}
    assert found == {(call.name, call.error) for call in denied_calls(FilterOptions())}
    assert (profile["defaultAction"], len(profile["architectures"])) == ("SCMP_ACT_ALLOW", 1)
    assert all(len(rule.get("args", [])) <= 1 for rule in profile["syscalls"]), "engines join conditions of one argument by or"
