"""Escape suite, E70-E79: a run with granted hosts reaches those and no others, and does not learn a masked secret.

Only a namespace can hold a run to hosts. At every other level such a run is refused, which a test of E09-E15 shows.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metier.runtime import (
    ConnectionDecision,
    Limits,
    MaskedSecret,
    MemorySecrets,
    Session,
    SessionOptions,
    SessionServices,
    StoredSecret,
)
from metier.runtime.policy.permissions import Permissions, Policy, PolicyVerdict
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.sources import discover
from runtime.sandbox.escape.runner_choice import runner_at
from runtime.sandbox.escape.stage import LEVELS, Stage, at_every_level, note

pytestmark = pytest.mark.skipif(IsolationLevel.NAMESPACE not in LEVELS, reason="no namespaces here")
LEVEL = IsolationLevel.NAMESPACE


class Listener:
    """A service of the host that keeps what it gets, and answers as a plain web server."""

    def __init__(self) -> None:
        self.link = socket.create_server(("127.0.0.1", 0))
        self.got = b""
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        return int(self.link.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.link.accept()
            except OSError:
                return
            with client:
                client.settimeout(10)
                try:
                    self.got += client.recv(1 << 16)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                except OSError:
                    continue


@contextmanager
def listener() -> Iterator[Listener]:
    made = Listener()
    try:
        yield made
    finally:
        made.link.shutdown(socket.SHUT_RDWR)
        made.link.close()
        made.thread.join()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_e70_the_proxy_does_not_lead_to_the_host(stage: Stage) -> None:
    note("E70", LEVEL, "held")
    with listener() as victim:
        outcome = stage.attempt("e70", LEVEL, facts={"port": victim.port}, hosts=("example.com", f"example.com:{victim.port}"))
        assert outcome.ok, outcome
        assert victim.got == b""
    assert b"escaped" not in victim.got
    assert all(each.decision is not ConnectionDecision.ALLOWED for each in outcome.connections)


def test_e71_no_other_host_by_tunnel_server_name_or_header(stage: Stage) -> None:
    note("E71", LEVEL, "held")
    with listener() as granted, listener() as other:
        facts = {"granted": f"localhost:{granted.port}", "other": f"127.0.0.1:{other.port}"}
        outcome = stage.attempt("e71", LEVEL, facts=facts, hosts=(f"localhost:{granted.port}", "localhost:443", "localhost:80"))
        assert outcome.ok, outcome
        assert other.got == b""
        # What was for the other host did not reach the granted one either, with the exception of a first, honest request.
        assert granted.got.count(b"escaped") <= 2
        assert f"Host: 127.0.0.1:{other.port}".encode() not in granted.got
        assert b"\x16\x03" not in granted.got
    assert ConnectionDecision.REFUSED in {each.decision for each in outcome.connections}


def test_e72_odd_spellings_of_an_address_are_no_hosts(stage: Stage) -> None:
    note("E72", LEVEL, "held")
    with listener() as victim:
        hosts = ("example.com", f"*.example.com:{victim.port}", f"example.com:{victim.port}")
        outcome = stage.attempt("e72", LEVEL, facts={"port": victim.port}, hosts=hosts)
        assert outcome.ok, outcome
        assert victim.got == b""


def test_e73_a_granted_name_that_leads_to_this_machine_is_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    note("E73", LEVEL, "held")
    calls: list[str] = []

    def rebinding(host: str, port: int, *_: object, **__: object) -> list[object]:
        """A name server that answers with this machine, and with a public address before and after it."""
        calls.append(host)
        found = ["127.0.0.1"] if len(calls) % 2 else ["::ffff:127.0.0.1", "169.254.169.254"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    with listener() as victim:
        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        place = f"rebound.example:{victim.port}"
        results = stage.attempt("e73", LEVEL, facts={"granted": place}, hosts=(place,))
        assert results.ok, results
        assert victim.got == b""
    assert calls == ["rebound.example"] * 3
    assert {each.decision for each in results.connections} == {ConnectionDecision.REFUSED}
    assert "not a public address" in results.connections[0].note


def test_e74_a_name_query_does_not_leave_the_run(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    note("E74", LEVEL, "held")
    asked: list[str] = []

    def resolve(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    outcome = stage.attempt("e74", LEVEL, hosts=("*.example.com",))
    assert outcome.ok, outcome
    assert asked == []
    assert '"type 1": "ok \'code 3\'"' in outcome.stdout
    assert '"below a granted name": "ok \'code 0\'"' in outcome.stdout
    assert stage.nonce in outcome.connections[0].host


def test_e75_other_sockets_stay_closed_and_datagrams_stay_inside(stage: Stage) -> None:
    note("E75", LEVEL, "held")
    with stage.listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)) as udp:
        results = stage.results("e75", LEVEL, hosts=("example.com",))
        assert not any(said.startswith("ok") for said in results.values()), results
        stage.results("e75_datagram", LEVEL, facts={"udp": udp.getsockname()[1]}, hosts=("example.com",))


def test_e76_the_value_of_a_masked_secret_stays_outside(stage: Stage) -> None:
    note("E76", LEVEL, "held")
    value = f"value-{secrets.token_hex(16)}"
    with listener() as granted, listener() as other:
        place, elsewhere = f"localhost:{granted.port}", f"localhost:{other.port}"
        key = MaskedSecret(name="API_KEY", value=value, hosts=(place,))
        facts = {"granted": place, "other": elsewhere, "reversed": value[::-1]}
        outcome = stage.attempt("e76", LEVEL, facts=facts, hosts=(place, elsewhere), masked=(key,))
        assert outcome.ok, outcome
        assert f"X-Key: {value}".encode() in granted.got
        assert b"/?" + value.encode() not in granted.got
        assert value.encode() not in other.got
        assert b"metier-masked-" in other.got
    assert value not in repr(outcome)
    results = json.loads(outcome.stdout)
    assert results["variable"].startswith("metier-masked-")
    assert results["readable"] == 0


def test_e77_the_key_of_the_runs_authority_stays_outside(stage: Stage) -> None:
    note("E77", LEVEL, "held")
    key = MaskedSecret(name="API_KEY", value="a value", hosts=("example.com",))
    results = stage.results("e77", LEVEL, hosts=("example.com",), masked=(key,))
    assert (results["private keys"], results["certificates"]) == (0, True)
    assert not results["memory"].startswith("ok")


@at_every_level
def test_e78_a_skill_does_not_get_the_secret_of_another(stage: Stage, level: IsolationLevel) -> None:
    note("E78", level, "held")
    (stage.skill / "scripts" / "read.py").write_text(
        "import os\nprint(os.environ.get('API_KEY'), os.environ.get('OTHER_TOKEN'))\n", encoding="utf-8"
    )
    stored = MemorySecrets(
        (StoredSecret(name="API_KEY", skill="another"), "value of another"),
        (StoredSecret(name="OTHER_TOKEN", skill=""), "value of no skill"),
    )
    permissions = Permissions(policy=Policy(secrets=PolicyVerdict.ASK))
    services = SessionServices(runner=runner_at(level), secrets=stored, permissions=permissions)
    options = SessionOptions(limits=Limits(require=level))
    session = Session(discover(stage.skill.parent), options=options, services=services)
    outcome = asyncio.run(session.run_script("hostile", "read.py"))
    assert outcome.stdout == "None None\n"
    assert any("API_KEY is not set" in each for each in outcome.notes)
    assert any("Secret(OTHER_TOKEN)" in each for each in outcome.notes)


def test_e79_connections_beyond_the_limit_are_refused_and_end_with_the_run(stage: Stage) -> None:
    note("E79", LEVEL, "held")
    outcome = stage.attempt("e79", LEVEL, hosts=("example.com",), limits={"open_files": 256})
    assert outcome.isolation.has(Guard.HOSTS)
    assert any("connections at once" in each.note for each in outcome.connections)
    assert not [thread for thread in threading.enumerate() if thread.name in ("metier-proxy", "metier-connection")]
