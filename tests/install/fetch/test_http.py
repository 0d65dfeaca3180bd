"""One way to GET, against servers that redirect, fail, dawdle and lie."""

from __future__ import annotations

import socket
import threading
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from install.servers import Answer, Seen, authority, redirect, site
from metier.errors import MetierError, RefusedError
from metier.install.fetch.http import HttpClient, HttpNotFoundError, HttpRefusedError, HttpUnavailableError
from metier.install.fetch.network import NetworkRoute, _zone, proxy_for, route_to
from metier.install.refs.forges import read_address

SECRET = (("Authorization", "Bearer s3cret"), ("X-Api-Key", "s3cret"), ("PRIVATE-TOKEN", "s3cret"), ("Cookie", "s3cret"))
LIMIT = 1 << 20


def client(**options: Any) -> HttpClient:
    waits: list[float] = []
    http = HttpClient(sleep=waits.append, timeout=options.pop("timeout", 5.0), **options)
    http.waits = waits  # type: ignore[attr-defined]
    return http


def secrets(seen: Seen) -> list[str]:
    return [name for name, value in seen.headers.items() if "s3cret" in value]


def test_a_body_comes_with_its_etag_type_and_address() -> None:
    answer = Answer(b"hello", headers={"ETag": '"1"', "Content-Type": "text/markdown; charset=utf-8"})
    with site({"/x": answer}) as server:
        reply = client().get(f"{server.url}/x", limit=LIMIT)
    assert (reply.body, reply.etag, reply.content_type, reply.url) == (b"hello", '"1"', "text/markdown", f"{server.url}/x")


def test_an_unchanged_file_is_not_sent_again() -> None:
    def answer(seen: Seen) -> Answer:
        return Answer(status=304) if seen.headers.get("if-none-match") == '"1"' else Answer(b"new", headers={"ETag": '"2"'})

    with site({"/x": answer}) as server:
        assert client().get(f"{server.url}/x", limit=LIMIT, etag='"1"').status == 304
        assert client().get(f"{server.url}/x", limit=LIMIT, etag='"0"').body == b"new"


def test_headers_go_to_the_origin_they_were_meant_for() -> None:
    with site({"/x": Answer(b"x")}) as server:
        client().get(f"{server.url}/x", limit=LIMIT, headers=SECRET)
    assert len(secrets(server.log[0])) == 4


def test_i36_every_header_is_dropped_at_the_first_hop_to_another_origin_and_stays_dropped() -> None:
    with site() as server:
        server.routes |= {
            "/a": redirect("/b"),
            "/b": redirect(f"{server.other}/c"),
            "/c": redirect(f"{server.url}/d"),
            "/d": Answer(b"x"),
        }
        client().get(f"{server.url}/a", limit=LIMIT, headers=SECRET)
        assert [len(secrets(seen)) for seen in server.log] == [4, 4, 0, 0]


def test_i36_another_port_is_another_origin() -> None:
    with site({"/x": Answer(b"x")}) as second, site({"/a": redirect(f"{second.url}/x")}) as first:
        client().get(f"{first.url}/a", limit=LIMIT, headers=SECRET)
    assert secrets(second.log[0]) == []


def test_headers_do_not_follow_an_address_that_a_document_named_elsewhere() -> None:
    with site({"/x": Answer(b"x")}) as server:
        client().get(f"{server.url}/x", limit=LIMIT, headers=SECRET, via=f"{server.other}/index.json")
    assert secrets(server.log[0]) == []


def test_i37_https_never_becomes_http(tmp_path: Path) -> None:
    ca, file = authority(tmp_path)
    with site({"/x": Answer(b"x")}) as plain, site({"/a": redirect(f"{plain.url}/x")}, ca=ca) as safe:
        with pytest.raises(RefusedError) as caught:
            client(environment={"SSL_CERT_FILE": file}, insecure=True).get(f"{safe.url}/a", limit=LIMIT)
        assert caught.value.rule == "redirect-downgrade"
        assert plain.log == []


def test_i37_six_redirects_are_too_many() -> None:
    with site() as server:
        server.routes |= {f"/{n}": redirect(f"/{n + 1}") for n in range(9)} | {"/5": Answer(b"x")}
        assert client().get(f"{server.url}/0", limit=LIMIT).body == b"x"
        server.routes["/5"] = redirect("/6")
        with pytest.raises(HttpUnavailableError, match="more than 5 times"):
            client().get(f"{server.url}/0", limit=LIMIT)


@pytest.mark.parametrize(
    "target",
    ["file:///etc/passwd", "ftp://example.com/x", "", "javascript:x", "https://u:p@example.com/", "http://[", "data:,x"],
)
def test_a_redirect_to_another_scheme_is_refused(target: str) -> None:
    with site({"/a": redirect(target)}) as server, pytest.raises(MetierError) as caught:
        client().get(f"{server.url}/a", limit=LIMIT)
    assert not isinstance(caught.value, HttpNotFoundError)


@pytest.mark.parametrize(
    "target",
    [
        "http://10.0.0.1/x",
        "http://169.254.169.254/latest",
        "http://192.168.1.1/",
        "http://[fd00::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0.0.0.0/",
        "http://[fe80::1]/",
        "http://167772161/",
    ],
)
def test_i35_a_server_cannot_send_us_into_another_network(target: str) -> None:
    with site({"/a": redirect(target)}) as server, pytest.raises(RefusedError) as caught:
        client(insecure=True).get(f"{server.url}/a", limit=LIMIT)
    assert caught.value.rule == "redirect-inside"


def test_i35_a_public_server_cannot_send_us_to_loopback_under_any_name() -> None:
    public, inside = (
        NetworkRoute(zone="public", addresses=("93.184.216.34",)),
        {"rebound.example": ("127.0.0.1",), "two.example": ("93.184.216.34", "10.0.0.1")},
    )
    for host in inside:
        with pytest.raises(RefusedError):
            route_to(read_address(f"https://{host}/"), public, lambda name, _port: inside[name])
    assert route_to(read_address("https://two.example/"), None, lambda name, _port: inside[name]).zone == "odd"


def test_i35_the_address_that_was_judged_is_the_one_that_is_connected_to() -> None:
    """DNS rebinding: the second answer would be another, so there is no second question."""
    asked: list[str] = []

    def answers(host: str, _port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("127.0.0.1",)

    with site({"/x": Answer(b"x")}) as server:
        reply = client(resolve=answers).get(f"http://rebinding.example:{server.port}/x", limit=LIMIT)
    assert (reply.body, asked) == (b"x", ["rebinding.example"])
    assert server.log[0].headers["host"] == f"rebinding.example:{server.port}"


def test_i35_a_site_cannot_move_into_our_network_after_its_index_was_read() -> None:
    """The name of the index leads elsewhere when its files are asked for, and they name an address inside."""
    answers = iter([("127.0.0.1",), ("10.0.0.1",), ("10.0.0.1",)])
    with site({"/index.json": Answer(b"{}")}) as server:
        http = client(resolve=lambda host, _port: next(answers) if host == "evil.example" else ("10.0.0.2",), insecure=True)
        index = http.get(f"http://evil.example:{server.port}/index.json", limit=LIMIT).url
        with pytest.raises(RefusedError) as caught:
            http.get("http://inside.example/x", limit=LIMIT, via=index)
    assert caught.value.rule == "redirect-inside"


@pytest.mark.parametrize(
    ("address", "zone"),
    [
        ("8.8.8.8", "public"),
        ("10.1.2.3", "private"),
        ("127.8.8.8", "loopback"),
        ("169.254.169.254", "odd"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("fe80::1%eth0", "odd"),
        ("224.0.0.1", "odd"),
        ("100.64.0.1", "private"),
        ("2606:4700::1111", "public"),
        ("fd00:ec2::254", "odd"),
        ("0.0.0.0", "odd"),
    ],
)
def test_an_address_is_where_it_leads_however_it_is_written(address: str, zone: str) -> None:
    assert _zone(address) == zone


def test_https_only_unless_loopback_or_asked() -> None:
    def resolve_to_public_address(_host: str, _port: int) -> tuple[str, ...]:
        return ("203.0.113.1",)

    with pytest.raises(RefusedError) as caught:
        client(resolve=resolve_to_public_address).get("http://example.com/x", limit=LIMIT)
    assert caught.value.rule == "https-only"
    assert "--insecure-http" in caught.value.hint


def test_https_needs_a_trusted_certificate(tmp_path: Path) -> None:
    ca, file = authority(tmp_path)
    with site({"/x": Answer(b"x")}, ca=ca) as server:
        http = client()
        with pytest.raises(HttpUnavailableError, match="cannot verify the certificate") as caught:
            http.get(f"{server.url}/x", limit=LIMIT)
        assert not caught.value.retryable
        assert http.waits == []  # type: ignore[attr-defined]
        trusting = client(environment={"SSL_CERT_FILE": file})
        assert trusting.get(f"{server.url}/x", limit=LIMIT).body == trusting.get(f"{server.other}/x", limit=LIMIT).body == b"x"


def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    ca, file = authority(tmp_path)
    with (
        site({"/x": Answer(b"x")}, ca=ca) as server,
        pytest.raises(HttpUnavailableError, match="cannot verify the certificate"),
    ):
        client(environment={"SSL_CERT_FILE": file}, resolve=lambda _h, _p: ("127.0.0.1",)).get(
            f"https://other.example:{server.port}/x", limit=LIMIT
        )


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "tries"),
    [
        (404, HttpNotFoundError, False, 1),
        (410, HttpNotFoundError, False, 1),
        (401, HttpRefusedError, False, 1),
        (403, HttpRefusedError, False, 1),
        (500, HttpUnavailableError, True, 4),
        (503, HttpUnavailableError, True, 4),
        (429, HttpUnavailableError, True, 4),
        (418, HttpUnavailableError, False, 1),
    ],
)
def test_an_error_says_status_and_whether_to_try_again(status: int, kind: type[Exception], retryable: bool, tries: int) -> None:
    with site({"/x": Answer(status=status)}) as server, pytest.raises(kind) as caught:
        client().get(f"{server.url}/x?signature=s3cret", limit=LIMIT)
    error = caught.value
    assert (getattr(error, "status", None), getattr(error, "retryable", None), len(server.log)) == (status, retryable, tries)
    assert "s3cret" not in str(error)


def test_a_flaky_server_is_asked_again_with_longer_and_longer_waits() -> None:
    answers = [Answer(status=503), Answer(b"half", length=100), Answer(status=502), Answer(b"x")]
    with site({"/x": lambda _seen: answers.pop(0)}) as server:
        http = client()
        assert http.get(f"{server.url}/x", limit=LIMIT).body == b"x"
    waits: list[float] = http.waits  # type: ignore[attr-defined]
    assert len(waits) == 3
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1 <= waits[2] <= 2


def test_a_server_is_given_the_time_it_asks_for_but_not_for_ever() -> None:
    answers = [
        Answer(status=429, headers={"Retry-After": "7"}),
        Answer(status=503, headers={"Retry-After": formatdate(time.time() + 20)}),
        Answer(b"x"),
    ]
    with site({"/x": lambda _seen: answers.pop(0), "/y": Answer(status=429, headers={"Retry-After": "3600"})}) as server:
        http = client()
        assert http.get(f"{server.url}/x", limit=LIMIT).body == b"x"
        waits: list[float] = http.waits  # type: ignore[attr-defined]
        assert waits[0] == 7
        assert 15 < waits[1] <= 20
        with pytest.raises(HttpUnavailableError) as caught:
            http.get(f"{server.url}/y", limit=LIMIT)
        assert "3600 seconds" in caught.value.hint
        assert len(server.requests("/y")) == 1


def test_a_refused_connection_is_unavailable_and_retryable() -> None:
    with site() as server:
        gone = server.url
    with pytest.raises(HttpUnavailableError) as caught:
        client(attempts=2).get(f"{gone}/x", limit=LIMIT)
    assert (caught.value.retryable, caught.value.status) == (True, None)


def test_i38_a_body_is_cut_at_its_limit_whatever_it_said() -> None:
    def endless(_seen: Seen) -> Answer:
        return Answer(b"x" * 5000, length=100)

    with site({"/long": Answer(b"x" * 5000), "/said": Answer(b"", length=10**12), "/lies": endless}) as server:
        for path in ("/long", "/said"):
            with pytest.raises(RefusedError) as caught:
                client().get(f"{server.url}{path}", limit=1000)
            assert caught.value.rule == "download-size"
        assert len(client().get(f"{server.url}/lies", limit=1000).body) == 100


def test_i38_a_body_that_was_cut_off_is_not_taken_for_whole() -> None:
    with site({"/x": Answer(b"half", length=1000)}) as server, pytest.raises(HttpUnavailableError):
        client(attempts=2).get(f"{server.url}/x", limit=LIMIT)


def test_i38_nothing_is_decompressed_on_the_way() -> None:
    import gzip

    bomb = gzip.compress(bytes(1 << 20))
    with site({"/x": Answer(bomb, headers={"Content-Encoding": "gzip"})}) as server:
        assert client().get(f"{server.url}/x", limit=5000).body == bomb
    assert server.log[0].headers["accept-encoding"] == "identity"


def test_i38_a_server_that_drips_is_left_at_the_deadline() -> None:
    slow = Answer(b"x" * 100, drip=(1, 0.05))
    with site({"/x": slow}) as server, pytest.raises(HttpUnavailableError, match=r"longer than 0\.5 seconds"):
        client(timeout=0.5).get(f"{server.url}/x", limit=LIMIT)


def test_a_silent_server_is_asked_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        waits: list[float] = []
        with pytest.raises(HttpUnavailableError, match=rf"{url} does not answer: nothing came for 0\.2 seconds") as caught:
            HttpClient(sleep=waits.append, silence=0.2).get(f"{url}/x", limit=LIMIT)
    assert waits == []
    assert caught.value.retryable


def test_bytes_are_counted_as_they_come() -> None:
    heard: list[tuple[int, int | None]] = []
    with site({"/x": Answer(b"x" * 200_000)}) as server:
        client().get(f"{server.url}/x", limit=LIMIT, received=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (200_000, 200_000)
    assert len(heard) > 1


def test_several_threads_share_one_client() -> None:
    with site({f"/{n}": Answer(str(n).encode()) for n in range(20)}) as server:
        http, got = client(), {}

        def ask(number: int) -> None:
            got[number] = http.get(f"{server.url}/{number}", limit=LIMIT).body

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        http.close()
    assert got == {number: str(number).encode() for number in range(20)}


def test_netrc_and_proxies_of_the_machine_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password s3cret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with site({"/x": Answer(b"x")}) as server:
        client().get(f"{server.url}/x", limit=LIMIT)
    assert "authorization" not in server.log[0].headers


def test_a_proxy_is_the_one_of_the_environment_that_was_given() -> None:
    here, away = read_address("http://127.0.0.1/"), read_address("https://a.example.com/")
    environment = {"https_proxy": "proxy.example:3128", "http_proxy": "http://p"}
    assert proxy_for(away, environment) == "http://proxy.example:3128"
    assert proxy_for(here, environment) == ""
    assert proxy_for(away, {**environment, "no_proxy": "x.org, .example.com"}) == ""
    assert proxy_for(read_address("https://notexample.com/"), {**environment, "no_proxy": "example.com"}) != ""
    assert proxy_for(read_address("http://a.example.com/"), {"HTTP_PROXY": "http://evil"}) == ""


def test_a_proxy_is_used_for_remote_hosts() -> None:
    with site({"http://skills.example/x": Answer(b"by proxy")}) as server:
        http = client(environment={"http_proxy": server.url}, insecure=True)
        assert http.get("http://skills.example/x", limit=LIMIT).body == b"by proxy"


def test_importing_the_client_imports_no_library() -> None:
    import subprocess
    import sys

    code = "import sys, metier.install.fetch.dispatch; print('httpx2' in sys.modules, 'asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == [
        "False",
        "False",
    ]
