"""Host patterns, and the addresses that a granted host may have."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from metier.errors import UsageError
from metier.runtime.network import GrantedHosts
from metier.spec import clean_host, host_problem, parse_host


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("api.github.com", "api.github.com"),
        ("API.GitHub.com.", "api.github.com"),
        ("*.example.org:443", "*.example.org:443"),
        ("host:8080", "host:8080"),
        ("localhost", "localhost"),
        ("192.0.2.7:81", "192.0.2.7:81"),
        ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
        ("::1", "[::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_is_a_name_or_an_address_with_or_without_a_port(text: str, shown: str) -> None:
    assert str(parse_host(text)) == shown


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.*", "*.com", "a.*.com", "ex*mple.com", "https://example.com", "example.com/path", "user@example.com",
     "a b.com", "example.com:0", "example.com:65536", "example.com:x", "2130706433", "0x7f.1", "127.1", "0177.0.0.1",
     "a\0.com", "-a.com", "a..b", "x" * 300],
)  # fmt: skip
def test_what_is_not_a_host_is_refused_with_the_reason(text: str) -> None:
    assert host_problem(text)
    with pytest.raises(UsageError, match="is not a host"):
        parse_host(text)


@pytest.mark.parametrize(
    ("pattern", "covered", "not_covered"),
    [
        ("example.com", [("example.com", 80), ("example.com", 443)], [("example.com", 22), ("www.example.com", 443)]),
        ("*.example.com", [("a.example.com", 443), ("a.b.example.com", 80)], [("example.com", 443), ("aexample.com", 443)]),
        ("example.com:8080", [("example.com", 8080)], [("example.com", 443), ("example.com", 80)]),
    ],
)
def test_a_pattern_covers_whole_labels_and_its_ports(
    pattern: str, covered: list[tuple[str, int]], not_covered: list[tuple[str, int]]
) -> None:
    granted = GrantedHosts.of([pattern])
    assert all(granted.covers(*each) for each in covered)
    assert not any(granted.covers(*each) for each in not_covered)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("example.com", "example.com:443"), ("*.example.com", "a.example.com"), ("*.example.com", "*.a.example.com"),
     ("example.com", "example.com")],
)  # fmt: skip
def test_a_pattern_covers_a_narrower_one_and_not_the_reverse(wide: str, narrow: str) -> None:
    assert parse_host(wide).covers_pattern(parse_host(narrow))
    assert wide == narrow or not parse_host(narrow).covers_pattern(parse_host(wide))


PRIVATE = ["127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
           "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
           "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1", "fd00:ec2::254"]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_granted_name_does_not_lead_to_a_private_address(address: str) -> None:
    assert not GrantedHosts.of(["example.com"]).covers_address("example.com", ip_address(address), 443)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07::1", "64:ff9b::5db8:d70e"])
def test_a_granted_name_leads_to_a_public_address(address: str) -> None:
    assert GrantedHosts.of(["example.com"]).covers_address("example.com", ip_address(address), 443)


def test_localhost_is_this_machine_and_an_address_is_granted_by_name() -> None:
    local = GrantedHosts.of(["localhost:8080"])
    assert local.covers_address("localhost", ip_address("127.0.0.1"), 8080)
    assert not local.covers_address("localhost", ip_address("10.0.0.1"), 8080)
    named = GrantedHosts.of(["intern.example", "10.0.0.5"])
    assert named.covers_address("intern.example", ip_address("10.0.0.5"), 443)
    assert not named.covers_address("intern.example", ip_address("10.0.0.6"), 443)
    assert not named.covers_address("intern.example", ip_address("10.0.0.5"), 22)


def test_a_host_is_compared_in_one_form() -> None:
    assert clean_host("[::FFFF:127.0.0.1]") == clean_host("::ffff:7f00:1") != ""
    assert clean_host("EXAMPLE.com.") == "example.com"
    assert clean_host("example.com\0.evil.example") == ""
