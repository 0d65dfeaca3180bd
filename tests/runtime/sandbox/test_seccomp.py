"""The system call filter, interpreted without a kernel and compared with libseccomp."""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from metier.runtime.sandbox.seccomp import (
    AARCH64,
    ALLOW,
    KILL,
    NUMBERS,
    X86_64,
    Architecture,
    ArgumentTest,
    DeniedCall,
    FilterOptions,
    assemble,
    denied_calls,
    filter_program,
)

POLICIES = [
    FilterOptions(), FilterOptions(internet=True), FilterOptions(keep_files=True),
    FilterOptions(keep_files=True, keep_sizes=True),
]  # fmt: skip
ARCHITECTURES = [X86_64, AARCH64]


def answer(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """Returns the answer of the kernel to a call: an interpreter for the instructions that we use."""
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, arch, 0, *(*arguments, *[0] * 6)[:6])
    at, accumulator = 0, 0
    instructions = list(struct.iter_unpack("=HBBI", code))
    while True:
        what, if_true, if_false, value = instructions[at]
        at += 1
        if what == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif what == 0x54:
            accumulator &= value
        elif what == 0x15:
            at += if_true if accumulator == value else if_false
        elif what == 0x35:
            at += if_true if accumulator >= value else if_false
        else:
            assert what == 0x06
            return int(value)


def number_of(name: str, architecture: Architecture) -> int:
    number = NUMBERS[name][architecture.column]
    assert number is not None
    return number


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda one: one.name)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_rule_answers_as_it_says_and_everything_else_is_allowed(
    policy: FilterOptions, architecture: Architecture
) -> None:
    code = filter_program(policy, architecture)
    rules: dict[str, list[DeniedCall]] = {}
    for rule in denied_calls(policy):
        rules.setdefault(rule.name, []).append(rule)
    for name, numbers in NUMBERS.items():
        number = numbers[architecture.column]
        if number is None:
            continue
        plain = [rule for rule in rules.get(name, []) if rule.when is None]
        for arguments in ((0, 0, 0), (1, 1, 1), (2, 2, 2), (10, 5, 0o1000), (0x10000011, 0x5412, 0), (17, 0x541C, 0o1001)):
            want = next((rule.error for rule in rules.get(name, []) if _holds(rule, arguments)), None)
            expected = ALLOW if want is None else 0x50000 | want
            assert answer(code, architecture.audit, number, *arguments) == expected, (name, arguments, plain)
    assert answer(code, architecture.audit, 5000) == ALLOW


def _holds(rule: DeniedCall, arguments: tuple[int, ...]) -> bool:
    if rule.when is None:
        return True
    return ((arguments[rule.when.argument] & rule.when.mask) in rule.when.values) != rule.when.negated


def test_a_call_made_as_another_processor_is_deadly() -> None:
    assert answer(filter_program(FilterOptions(), X86_64), 0x40000003, 20) == KILL  # i386
    assert answer(filter_program(FilterOptions(), X86_64), X86_64.audit, 0x40000000 + 39) == KILL  # x32
    assert answer(filter_program(FilterOptions(), X86_64), X86_64.audit, 0xFFFFFFFF) == KILL
    assert answer(filter_program(FilterOptions(), AARCH64), 0x40000028, 20) == KILL  # 32-bit ARM


def test_the_filter_is_what_a_hand_decodes_it_to_be() -> None:
    code = assemble([DeniedCall("ptrace"), DeniedCall("ioctl", errno.EPERM, ArgumentTest(1, (0x5412, 0x541C)))], X86_64)
    assert list(struct.iter_unpack("=HBBI", code)) == [
        (0x20, 0, 0, 4), (0x15, 1, 0, 0xC000003E), (0x06, 0, 0, KILL),
        (0x20, 0, 0, 0), (0x35, 0, 1, 0x40000000), (0x06, 0, 0, KILL),
        (0x15, 0, 1, 101), (0x06, 0, 0, 0x50001),
        (0x15, 0, 5, 16), (0x20, 0, 0, 24), (0x15, 1, 0, 0x5412), (0x15, 0, 1, 0x541C), (0x06, 0, 0, 0x50001), (0x20, 0, 0, 0),
        (0x06, 0, 0, ALLOW),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def libseccomp() -> ModuleType:
    """pyseccomp over libseccomp.so.2: an independent table of numbers, for both processors."""
    try:
        import pyseccomp  # type: ignore[import-untyped]
    except Exception:
        pytest.skip("pyseccomp or libseccomp.so.2 is not installed; the hand-decoded filter above is the check then")
    module: ModuleType = pyseccomp
    return module


def test_our_numbers_are_those_of_libseccomp(libseccomp: ModuleType) -> None:
    arches: list[tuple[Architecture, Any]] = [(X86_64, libseccomp.Arch.X86_64), (AARCH64, libseccomp.Arch.AARCH64)]
    # Calls that are younger than the libseccomp of the older distributions we run on.
    young = {"open_tree_attr", "setxattrat", "removexattrat", "file_setattr", "fchmodat2"}
    young |= {"getxattrat", "listxattrat", "file_getattr"}
    for name, numbers in NUMBERS.items():
        for architecture, arch in arches:
            theirs = libseccomp.resolve_syscall(arch, name)
            if name in young and theirs < 0:
                continue
            ours = numbers[architecture.column]
            assert (theirs if theirs >= 0 else None) == ours, (name, architecture.name)


def test_libseccomp_builds_a_filter_that_answers_the_same(libseccomp: ModuleType, tmp_path: Path) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("pyseccomp builds for the machine it runs on")
    theirs = libseccomp.SyscallFilter(defaction=libseccomp.ALLOW)
    names = [rule.name for rule in denied_calls(FilterOptions()) if rule.when is None and rule.error == errno.EPERM]
    names = [name for name in names if NUMBERS[name][0] is not None and name != "open_tree_attr"]
    for name in names:
        theirs.add_rule(libseccomp.ERRNO(errno.EPERM), name)
    with open(tmp_path / "filter", "w+b") as file:
        theirs.export_bpf(file)
        file.seek(0)
        assert len(file.read()) % 8 == 0
    ours = filter_program(FilterOptions(), X86_64)
    for name in names:
        assert answer(ours, X86_64.audit, number_of(name, X86_64)) == 0x50000 | errno.EPERM


def test_a_run_with_the_network_gets_the_internet_and_no_other_family() -> None:
    code = filter_program(FilterOptions(internet=True), X86_64)
    families = {family: answer(code, X86_64.audit, 41, family, 1, 0) for family in (1, 2, 10, 16, 17, 38, 40)}
    assert {family for family, said in families.items() if said == ALLOW} == {2, 10}


def test_a_pair_of_sockets_is_a_stream_or_nothing() -> None:
    for kind, allowed in ((1, True), (5, True), (1 | 0o2000000, True), (2, False), (3, False), (2 | 0o4000, False)):
        said = answer(filter_program(FilterOptions(), X86_64), X86_64.audit, 53, 1, kind, 0)
        assert (said == ALLOW) == allowed, kind


def test_a_fork_is_allowed_and_a_namespace_is_not() -> None:
    code = filter_program(FilterOptions(), X86_64)
    assert answer(code, X86_64.audit, 56, 0x01200011) == ALLOW
    assert answer(code, X86_64.audit, 56, 0x003D0F00) == ALLOW  # a thread
    for bit in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(code, X86_64.audit, 56, bit | 17) == 0x50000 | errno.EPERM


def test_old_landlocks_get_a_filter_that_keeps_the_size_of_files() -> None:
    old = replace(POLICIES[2], keep_sizes=True)
    code = filter_program(old, X86_64)
    assert answer(code, X86_64.audit, 257, 0, 0, 0o1000) == 0x50000 | errno.EPERM  # openat(O_RDONLY | O_TRUNC)
    assert answer(code, X86_64.audit, 257, 0, 0, 0o1001) == ALLOW  # O_WRONLY: Landlock decides
    assert answer(code, X86_64.audit, 437) == 0x50000 | errno.ENOSYS
