"""The parts of the sandbox that can be looked at without a run: filters, command lines, profiles, scratch folders."""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from metier.errors import RefusedError
from metier.runtime.sandbox import bubblewrap, scratch, seatbelt, system
from metier.runtime.sandbox.isolation import Guard, IsolationLevel, isolation_at
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
    FilterOptions(), FilterOptions(network=True), FilterOptions(keep_modes=True, keep_queues=True),
    FilterOptions(keep_modes=True, keep_queues=True, keep_sizes=True),
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
    """pyseccomp over libseccomp.so.2: somebody else's table of numbers, for both processors."""
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
    code = filter_program(FilterOptions(network=True), X86_64)
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


def test_bubblewrap_gets_nothing_writable_but_the_scratch_folder() -> None:
    words = bubblewrap.arguments(
        "/usr/bin/bwrap", ["/usr/bin/python3", "x"], skill="/s/skill", script="/s/skill/scripts/x.py", network=False,
        scratch_bytes=1000,
        also_readable=["/opt/py/lib", "/opt/py", "/usr/lib/x"],
    )  # fmt: skip
    assert "--bind" not in words
    assert "--share-net" not in words
    assert words[words.index("--") :] == ["--", "/usr/bin/python3", "x"]
    bound = [words[at + 1] for at, word in enumerate(words) if word == "--ro-bind"]
    assert "/opt/py" in bound
    assert "/opt/py/lib" not in bound
    assert "/usr/lib/x" not in bound
    for option in ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--seccomp"):
        assert option in words
    readonly = [words[at + 1] for at, word in enumerate(words) if word == "--remount-ro"]
    assert readonly == ["/dev", "/proc", "/"]


def test_the_profile_for_macos_denies_first_and_quotes_paths() -> None:
    text = seatbelt.profile(readable=["/usr", '/a "b"\\c'], writable="/scratch", network=False)
    assert text.startswith("(version 1)\n(deny default)\n")
    assert '(subpath "/a \\"b\\"\\\\c")' in text
    assert '(allow file-write* (subpath "/scratch"))' in text
    assert "network" not in text
    assert text.count("(") == text.count(")")
    assert "(allow network-outbound" in seatbelt.profile(readable=[], writable="/scratch", network=True)


@pytest.mark.parametrize("level", IsolationLevel)
def test_what_a_level_has_and_what_it_lacks_is_everything_there_is(level: IsolationLevel) -> None:
    for network in (False, True):
        found = isolation_at(level, network=network, abi=7)
        assert sorted((*found.layers, *found.missing)) == sorted(Guard)
        assert found.has(Guard.NETWORK) == (not network and level.strength >= 2)


def test_an_old_landlock_says_that_signals_get_through() -> None:
    assert Guard.SIGNALS.value in isolation_at(IsolationLevel.LANDLOCK, abi=5).missing
    assert isolation_at(IsolationLevel.LANDLOCK, abi=6).has(Guard.SIGNALS)


def test_the_zone_of_the_caller_is_passed_on_only_if_it_is_a_plain_name() -> None:
    def zone(text: str | None) -> str | None:
        return system.environment(scratch="/t", skill="/s", allowed={}, secrets={}, zone=text).get("TZ")

    assert zone("Europe/Paris") == "Europe/Paris"
    assert zone(None) is zone("../../etc/passwd") is zone(":/etc/passwd") is zone("a\nb") is None


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "ld_library_path", "DYLD_X", "PYTHONPATH", "GIT_DIR", "DBUS_X", "ENV", "A B", "1A", ""]
)
def test_some_variables_are_never_passed_on_not_even_as_secrets(name: str) -> None:
    for allowed, secret in (({name: "x"}, {}), ({}, {name: "x"})):
        with pytest.raises(RefusedError) as refused:
            system.environment(scratch="/t", skill="/s", allowed=allowed, secrets=secret, zone=None)
        assert refused.value.rule == "environment"


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "API_KEY", "KEY", "db_password", "MY_SECRET"])
def test_a_secret_has_to_be_called_one(name: str) -> None:
    with pytest.raises(RefusedError, match="looks like a secret"):
        system.environment(scratch="/t", skill="/s", allowed={name: "x"}, secrets={}, zone=None)
    assert system.environment(scratch="/t", skill="/s", allowed={}, secrets={name: "x"}, zone=None)[name] == "x"


def test_any_tree_can_be_removed(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    os.chdir(base)
    try:
        for _ in range(3000):  # deeper than a recursion and longer than a path may be
            os.mkdir("d" * 20)
            os.chdir("d" * 20)
        Path("leaf").write_text("x")
    finally:
        os.chdir(tmp_path)
    (base / "link").symlink_to(tmp_path)
    (base / "shut").mkdir()
    (base / "shut/inner").mkdir()
    (base / "shut/inner/file").write_text("x")
    (base / "shut/inner").chmod(0)
    (base / "shut").chmod(0)
    os.mkfifo(base / "fifo")
    (tmp_path / "kept").write_text("x")
    scratch.remove(str(base))
    assert not base.exists()
    assert (tmp_path / "kept").exists()


def test_a_mirror_holds_the_checked_script_and_links_to_everything_beside_it(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "scripts/deep").mkdir(parents=True)
    (skill / "assets").mkdir()
    (skill / "assets/a.txt").write_text("asset")
    (skill / "scripts/deep/run.py").write_text("on disk")
    (skill / "scripts/lib.py").write_text("lib")
    scratch.mirror(str(skill), "scripts/deep/run.py", b"checked", str(tmp_path / "mirror"))
    mirror = tmp_path / "mirror"
    assert (mirror / "scripts/deep/run.py").read_text() == "checked"
    assert (mirror / "scripts/lib.py").read_text() == "lib"
    assert (mirror / "assets/a.txt").read_text() == "asset"
    assert not (mirror / "scripts/deep/run.py").is_symlink()


def test_levels_have_an_order() -> None:
    order = [IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.LIMITS, IsolationLevel.OFF]
    assert sorted(order, key=lambda level: -level.strength) == order
    assert IsolationLevel.SEATBELT.strength == IsolationLevel.LANDLOCK.strength


def test_old_landlocks_get_a_filter_that_keeps_the_size_of_files() -> None:
    old = replace(POLICIES[2], keep_sizes=True)
    code = filter_program(old, X86_64)
    assert answer(code, X86_64.audit, 257, 0, 0, 0o1000) == 0x50000 | errno.EPERM  # openat(O_RDONLY | O_TRUNC)
    assert answer(code, X86_64.audit, 257, 0, 0, 0o1001) == ALLOW  # O_WRONLY: Landlock decides
    assert answer(code, X86_64.audit, 437) == 0x50000 | errno.ENOSYS
