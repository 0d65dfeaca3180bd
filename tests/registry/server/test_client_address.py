"""A client's address is the connection's, unless a proxy that the administrator named says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.errors import UsageError
from metier.registry.domain.registry import RequestRates
from metier.registry.server.client_address import TrustedProxies, limit_key
from registry.asgi import RawRequest, send_raw
from registry.builders import site
from registry.server_process import serve


def address(peer: str, *forwarded: str, trusted: tuple[str, ...] = ("10.0.0.0/8", "::1")) -> str:
    headers = [(b"x-forwarded-for", each.encode("latin-1")) for each in forwarded]
    return TrustedProxies(trusted).client({"client": (peer, 1), "headers": headers})


@pytest.mark.parametrize(("peer", "forwarded", "expected"), [
    ("198.51.100.1", ["203.0.113.9"], "198.51.100.1"),
    ("10.0.0.1", [], "10.0.0.1"),
    ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
    ("10.0.0.1", ["6.6.6.6, 203.0.113.9"], "203.0.113.9"),
    ("10.0.0.1", ["6.6.6.6, 203.0.113.9, 10.2.2.2"], "203.0.113.9"),
    ("10.0.0.1", ["6.6.6.6", "203.0.113.9"], "203.0.113.9"),
    ("10.0.0.1", ["203.0.113.9, 10.2.2.2, unknown"], "10.0.0.1"),
    ("::1", ["2001:DB8::1"], "2001:db8::1"),
    ("10.0.0.1", ["10.2.2.2"], "10.2.2.2"),
    ("unix", ["203.0.113.9"], "unix"),
])  # fmt: skip
def test_the_first_untrusted_address_from_the_right_is_the_client(peer: str, forwarded: list[str], expected: str) -> None:
    assert address(peer, *forwarded) == expected


def test_without_named_proxies_no_header_is_believed() -> None:
    assert address("127.0.0.1", "203.0.113.9", trusted=()) == "127.0.0.1"


def test_what_is_not_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match="invalid proxy address"):
        TrustedProxies(("proxy.example",))


def test_the_scheme_of_the_client_is_taken_from_a_trusted_proxy_only(tmp_path: Path) -> None:
    with site(tmp_path, trust_proxy=("10.0.0.1",)) as here:
        for peer, expected in (("10.0.0.1", b'"https://registry.test"'), ("10.0.0.2", b'"http://registry.test"')):
            request = RawRequest("GET", "/.well-known/clawhub.json", "", [("x-forwarded-proto", "https")], client=peer)
            assert expected in here.call(send_raw, here.app, request).body


@pytest.mark.parametrize(("trusted", "statuses"), [((), [200, 429]), (("10.0.0.1",), [200, 200])])
def test_limits_count_by_the_forwarded_address_only_if_configured(
    tmp_path: Path, trusted: tuple[str, ...], statuses: list[int]
) -> None:
    with site(tmp_path, rates=RequestRates(read=(1, 1)), trust_proxy=trusted) as here:
        requests = [
            RawRequest("GET", "/skills", "", [("x-forwarded-for", f"203.0.113.{n}")], client="10.0.0.1") for n in range(2)
        ]
        assert [here.call(send_raw, here.app, request).status for request in requests] == statuses


def test_one_ipv6_network_is_one_client() -> None:
    assert limit_key("2001:db8::1") == limit_key("2001:db8::ffff:1") != limit_key("2001:db8:0:1::1")
    assert limit_key("203.0.113.9") == "203.0.113.9"


def test_a_served_registry_ignores_the_header_of_a_local_process(tmp_path: Path) -> None:
    import urllib.request

    with serve(tmp_path) as server:
        request = urllib.request.Request(f"{server.url}/.well-known/clawhub.json", headers={"x-forwarded-proto": "https"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert b"https" not in answer.read()
