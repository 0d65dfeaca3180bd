"""Escape suite, E09-E15: every way out that is a socket, and what a script is born with."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

import pytest

from metier.errors import RefusedError
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from runtime.sandbox.escape.runner_choice import IN_CONTAINERS
from runtime.sandbox.escape.stage import Stage, at_every_level

DENIED = {"EPERM", "EACCES"}
LOOPBACK = ("127.0.0.1", 0)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@at_every_level
def test_e09_no_tcp_reaches_the_host(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E09", level, Guard.NETWORK):
        with stage.listening(socket.AF_INET, socket.SOCK_STREAM, LOOPBACK) as tcp:
            results = stage.results("e09", level, facts={"tcp": tcp.getsockname()[1]})
        assert set(results.values()) <= DENIED, results


@at_every_level
def test_e10_no_datagram_and_no_name_leaves(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E10", level, Guard.NETWORK):
        with stage.listening(socket.AF_INET, socket.SOCK_DGRAM, LOOPBACK) as udp:
            results = stage.results("e10", level, facts={"udp": udp.getsockname()[1]})
        assert results["udp"] in DENIED
        assert results["dns"] != "ok", results


@at_every_level
def test_e11_no_family_of_sockets_can_be_opened(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E11", level, Guard.NETWORK):
        with stage.listening(socket.AF_INET, socket.SOCK_STREAM, LOOPBACK) as tcp:
            results = stage.results("e11", level, facts={"tcp": tcp.getsockname()[1]})
        assert set(results.values()) == {"EPERM"}, results


@at_every_level
@pytest.mark.parametrize("hosts", [(), ("example.com",)])
def test_e12_sockets_of_other_programs_are_out_of_reach(stage: Stage, level: IsolationLevel, hosts: tuple[str, ...]) -> None:
    """With granted hosts too: a run may then talk to them, never to an agent or a daemon beside it."""
    if not stage.claims("E12", level, Guard.SOCKETS) or (hosts and (IN_CONTAINERS or level is not IsolationLevel.NAMESPACE)):
        return
    # The name of a socket may have 107 bytes, so not below pytest's own folder.
    folder = Path("/tmp") / f"metier-sockets-{secrets.token_hex(4)}"
    folder.mkdir()
    names = {
        "path": str(folder / "s"),
        "dgram_path": str(folder / "d"),
        "abstract": stage.nonce,
        "dgram_abstract": f"{stage.nonce}-d",
    }
    try:
        with (
            stage.listening(socket.AF_UNIX, socket.SOCK_STREAM, names["path"]),
            stage.listening(socket.AF_UNIX, socket.SOCK_DGRAM, names["dgram_path"]),
            stage.listening(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + names["abstract"]),
            stage.listening(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + names["dgram_abstract"]),
        ):
            results = stage.results("e12", level, facts=dict(names), hosts=hosts)
    finally:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    assert results.pop("stream pair").startswith("ok")
    assert set(results.values()) <= {*DENIED, "ENOENT"}, results


@at_every_level
def test_e13_a_script_cannot_listen(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E13", level, Guard.NETWORK):
        with socket.socket() as probe:
            probe.bind(LOOPBACK)
            port = probe.getsockname()[1]
        results = stage.results("e13", level, facts={"free_port": port})
        assert set(results.values()) <= DENIED, results


@at_every_level
def test_e14_no_descriptor_of_the_caller_is_open(stage: Stage, level: IsolationLevel) -> None:
    assert stage.claims("E14", level, Guard.DESCRIPTORS)
    opened = os.open(stage.canaries[0], os.O_RDONLY)
    left, right = socket.socketpair()
    try:
        for number in (opened, left.fileno()):
            os.set_inheritable(number, True)
        assert stage.results("e14", level) == {"fds": []}
    finally:
        os.close(opened)
        left.close()
        right.close()


@at_every_level
@pytest.mark.parametrize(("given", "kind"), [(None, "null"), (b"some input", "pipe"), (b"", "pipe"), (b"x" * 300_000, "pipe")])
def test_e15_standard_input_is_empty_or_a_pipe(stage: Stage, level: IsolationLevel, given: bytes | None, kind: str) -> None:
    assert stage.claims("E15", level, Guard.DESCRIPTORS)
    results = stage.results("e15", level, stdin=given)
    assert results[kind]
    assert not results["socket"]
    assert results["read"].encode() == (given or b"")


@pytest.mark.skipif(IN_CONTAINERS, reason="containers have no network")
@at_every_level
def test_granted_hosts_are_held_by_a_namespace_and_refused_by_every_other_level(stage: Stage, level: IsolationLevel) -> None:
    with socket.create_server(LOOPBACK) as server:
        server.settimeout(10)
        port = server.getsockname()[1]
        if level is not IsolationLevel.NAMESPACE:
            with pytest.raises(RefusedError, match="needs isolation level namespace"):
                stage.attempt("allowed", level, facts={"tcp": port}, hosts=(f"localhost:{port}",))
            return
        outcome = stage.attempt("allowed", level, facts={"tcp": port}, hosts=(f"localhost:{port}",))
    assert outcome.exit_code == 0
    assert Guard.NETWORK.value in outcome.isolation.missing
    assert outcome.isolation.has(Guard.HOSTS)
