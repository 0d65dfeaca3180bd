"""A secret in an address reaches no lock, cache, message or request line."""

from __future__ import annotations

import pytest

from builders import skill_text
from cli.shell import Shell
from install.servers import Answer, site
from metier.archive import Contents, Member, pack
from metier.errors import ConfigError, MetierError, RefusedError
from metier.install import parse_ref, read_sources

SECRETS = [
    "token=t0psecret",
    "TOKEN=t0psecret",
    "access_token=t0psecret",
    "v=1&private_token=t0psecret",
    "api-key=t0psecret",
    "apikey=t0psecret",
    "X-Amz-Signature=t0psecret",
    "X-Goog-Signature=t0psecret",
    "sv=1&sig=t0psecret",
    "auth=t0psecret",
    "password=t0psecret",
    "client_secret=t0psecret",
    "jwt=t0psecret",
    "t%6Fken=t0psecret",
    "q=ghp_t0psecret00000000000000000000000000",
    "q=glpat-t0psecret0000000000",
    "x=1;token=t0psecret",
]


@pytest.mark.parametrize("query", SECRETS)
@pytest.mark.parametrize("path", ["/pdf.zip", "/SKILL.md", "", "/team/r.git"])
def test_a_secret_in_the_query_is_refused_with_the_way_that_works(query: str, path: str) -> None:
    with pytest.raises(RefusedError) as caught:
        parse_ref(f"https://example.com{path}?{query}")
    assert caught.value.rule == "secret-in-url"
    assert "t0psecret" not in f"{caught.value} {caught.value.hint}"
    assert "--header" in caught.value.hint


@pytest.mark.parametrize("query", ["version=2", "key=skills/pdf.zip", "raw=true", "tokens=3", "design=1", "download"])
def test_other_queries_are_kept(query: str) -> None:
    assert parse_ref(f"https://example.com/pdf.zip?{query}").text == f"https://example.com/pdf.zip?{query}"


@pytest.mark.parametrize(
    "ref",
    [
        "https://u:t0psecret@example.com/a b.zip", "https://u:t0psecret@example.com/é.zip", "https://u:t0psecret@exa_mple!.com/x.zip",
        "https://ghp_t0psecret00000000000000000000000000@github.com/o/r", "ftp://u:t0psecret@example.com/x.zip",
        "https://example.com/a b.zip?token=t0psecret", "https://u:t0psecret@[::1/x.zip",
        "git+https://glpat-t0psecret0000000000@gitlab.com/o/r.git", "u:t0psecret@example.com/x",
    ],
)  # fmt: skip
def test_a_refused_address_is_shown_without_its_secret(ref: str) -> None:
    with pytest.raises(MetierError) as caught:
        parse_ref(ref)
    assert "t0psecret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("url", ["https://example.com/s?token=t0psecret", "https://u:t0psecret@example.com/s"])
def test_neither_does_a_source_hold_one_in_its_url(url: str) -> None:
    for table in ({"corp": {"url": url}}, {"corp": {"url": "https://example.com", "mirrors": [url]}}):
        with pytest.raises((ConfigError, RefusedError)) as caught:
            read_sources(table)
        assert "t0psecret" not in f"{caught.value} {caught.value.hint}"


def test_nothing_on_disk_or_in_the_output_has_the_secret_and_no_request_is_made(shell: Shell) -> None:
    data = pack(Contents([Member("SKILL.md", skill_text("pdf").encode())]))
    with site({"/pdf.zip": Answer(data)}) as server:
        ran = shell("skill", "install", f"{server.url}/pdf.zip?token=t0psecret")
        ran.failed(5, "?token=", "--header")
        assert server.log == [] and "t0psecret" not in ran.err
        listed = shell("skill", "install", f"{server.url}/pdf.zip?token=t0psecret", "--list", "--json")
        assert "t0psecret" not in listed.out
    assert all(b"t0psecret" not in file.read_bytes() for file in shell.home.rglob("*") if file.is_file())


def test_a_server_may_redirect_to_an_address_with_a_signature_which_is_kept_nowhere(shell: Shell) -> None:
    data = pack(Contents([Member("SKILL.md", skill_text("pdf").encode())]))
    with site({"/signed.zip": Answer(data)}) as server:
        server.routes["/pdf.zip"] = Answer(status=302, headers={"Location": "/signed.zip?X-Amz-Signature=t0psecret"})
        shell("skill", "install", f"{server.url}/pdf.zip").ok()
        server.routes["/pdf.zip"] = Answer(status=302, headers={"Location": "/gone.zip?X-Amz-Signature=t0psecret"})
        assert "t0psecret" not in (ran := shell("skill", "update")).out + ran.err
    assert all(b"t0psecret" not in file.read_bytes() for file in shell.home.rglob("*") if file.is_file())
