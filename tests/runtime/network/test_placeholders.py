"""Placeholders in requests: replaced for granted hosts, kept and noted for all others."""

from __future__ import annotations

import base64
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from metier.runtime import MaskedSecret, SecretPlace
from metier.runtime.network.placeholders import SecretPlaceholders

EVERYWHERE = tuple(SecretPlace)


def placeholders(*places: SecretPlace) -> SecretPlaceholders:
    secret = MaskedSecret(name="KEY", value="s&cret", hosts=("api.example.com",), places=places or (SecretPlace.HEADERS,))
    return SecretPlaceholders([secret])


def test_headers_get_the_value_also_inside_basic_authentication() -> None:
    made = placeholders()
    held = made.variables["KEY"].encode()
    request = made.for_request("api.example.com", 443, is_private=True)
    basic = b"Basic " + base64.b64encode(b"user:" + held)
    sent = dict(request.headers([(b"X-Key", b"a " + held), (b"Authorization", basic)]))
    assert sent[b"X-Key"] == b"a s&cret"
    assert base64.b64decode(sent[b"Authorization"][6:]) == b"user:s&cret"
    assert request.kept == set()


def test_a_query_and_a_body_get_it_only_if_asked() -> None:
    made = placeholders()
    held = made.variables["KEY"].encode()
    request = made.for_request("api.example.com", 443, is_private=True)
    assert request.target(b"/?k=" + held) == b"/?k=" + held
    assert request.kept == {"KEY"}
    asked = placeholders(*EVERYWHERE)
    held = asked.variables["KEY"].encode()
    request = asked.for_request("api.example.com", 443, is_private=True)
    assert request.target(b"/?k=" + held) == b"/?k=s%26cret"


def test_another_host_another_port_and_plain_http_get_the_placeholder() -> None:
    made = placeholders(*EVERYWHERE)
    held = made.variables["KEY"].encode()
    for host, port, is_private in (
        ("evil.example", 443, True),
        ("api.example.com", 8443, True),
        ("api.example.com", 80, False),
    ):
        request = made.for_request(host, port, is_private=is_private)
        assert request.headers([(b"X-Key", held)]) == [(b"X-Key", held)]
        assert request.kept == {"KEY"}


@given(st.lists(st.integers(0, 60), max_size=6), st.binary(max_size=40))
def test_a_placeholder_in_a_body_is_found_across_parts(cuts: list[int], around: bytes) -> None:
    made = placeholders(*EVERYWHERE)
    held = made.variables["KEY"].encode()
    data = around + held + around + held
    body = made.for_request("api.example.com", 443, is_private=True).body()
    edges = [0, *sorted(cuts), len(data)]
    out = b"".join(body.feed(data[start:end]) for start, end in pairwise(edges)) + body.rest()
    assert out == data.replace(held, b"s&cret")


def test_a_secret_does_not_show_in_its_representation() -> None:
    assert "s&cret" not in repr(MaskedSecret(name="KEY", value="s&cret", hosts=("a.example",)))
