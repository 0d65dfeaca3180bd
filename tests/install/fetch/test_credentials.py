"""Credentials are sent only to the host they belong to."""

from __future__ import annotations

import base64

import pytest

from metier.errors import ConfigError, UsageError
from metier.install.fetch.credentials import Credentials, RegistrySource, origin_of, parse_header, read_sources

INTERNAL = RegistrySource(name="internal", url="https://internal.example.com/skills", auth="bearer:${INTERNAL_TOKEN}")


def given(url: str, *, origin: str = "https://internal.example.com", **options: object) -> tuple[tuple[str, str], ...]:
    environment = {"INTERNAL_TOKEN": "s3cret", "GITHUB_TOKEN": "gh"}
    return Credentials(sources=(INTERNAL,), environment=environment, origin=origin, **options).given(url)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("auth", "header"),
    [("bearer:${T}", "Bearer t"), ("token:${T}", "token t"), ("bearer:a-${T}-b", "Bearer a-t-b"), ("Bearer:x", "Bearer x")],
)
def test_auth_of_a_source_is_a_scheme_and_a_variable(auth: str, header: str) -> None:
    assert RegistrySource(name="x", url="https://x.example", auth=auth).header({"T": "t"}) == (("Authorization", header),)


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match="INTERNAL_TOKEN") as caught:
        INTERNAL.header({})
    assert "skills.sources.internal" in str(caught.value)


@pytest.mark.parametrize("auth", ["basic:x", "x", "bearer:", ":x"])
def test_auth_of_another_kind_is_a_mistake_of_the_configuration(auth: str) -> None:
    with pytest.raises(ConfigError):
        RegistrySource(name="x", url="https://x.example", auth=auth).header({})


@pytest.mark.parametrize(
    "url",
    [
        "https://internal.example.com/skills",
        "https://internal.example.com/skills/a/b.zip",
        "https://internal.example.com:443/skills/x",
    ],
)
def test_a_sources_secret_is_sent_to_addresses_below_its_own(url: str) -> None:
    assert given(url) == (("Authorization", "Bearer s3cret"),)


@pytest.mark.parametrize(
    "url",
    [
        "https://internal.example.com/skills-evil/x",
        "https://internal.example.com/",
        "http://internal.example.com/skills/x",
        "https://internal.example.com:8443/skills",
        "https://evil.example/skills",
        "https://internal.example.com.evil.example/skills",
        "https://internal.example.com/skills/../x",
        "git@internal.example.com:skills/x",
        "nonsense",
    ],
)
def test_i03_a_sources_secret_is_sent_to_no_other_address(url: str) -> None:
    assert given(url) == ()


def test_a_header_of_the_user_is_sent_to_its_origin_and_overrides_the_sources() -> None:
    own = (("Authorization", "Bearer mine"), ("X-Key", "k"))
    assert given("https://internal.example.com/skills/x", headers=own) == own
    assert given("https://other.example/x", headers=own) == ()
    assert given("https://other.example/x", origin="https://other.example", headers=own) == own
    assert given("https://other.example:8443/x", origin="https://other.example", headers=own) == ()
    assert given("http://other.example/x", origin="https://other.example", headers=own) == ()
    assert given("https://other.example/x", origin="", headers=own) == ()


def test_the_nearest_of_two_sources_counts() -> None:
    outer = RegistrySource(name="outer", url="https://x.example", auth="bearer:outer")
    inner = RegistrySource(name="inner", url="https://x.example/team", auth="token:inner")
    credentials = Credentials(sources=(outer, inner))
    assert credentials.given("https://x.example/team/a") == (("Authorization", "token inner"),)
    assert credentials.given("https://x.example/other") == (("Authorization", "Bearer outer"),)


def test_a_forges_token_is_for_its_own_hosts_over_https() -> None:
    credentials = Credentials(environment={"GITHUB_TOKEN": "gh", "GITLAB_TOKEN": "gl"})
    assert [
        credentials.token(f"https://{host}/x")
        for host in ("github.com", "raw.githubusercontent.com", "gitlab.com", "notgithub.com")
    ] == ["gh", "gh", "gl", None]
    assert [
        credentials.token(url) for url in ("http://github.com/x", "https://github.com:8443/x", "git@github.com:o/r.git")
    ] == [None, None, None]
    assert Credentials(environment={"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}).token("https://github.com/x") == "a"


def test_git_gets_a_token_as_the_password_of_the_user_that_the_forge_wants() -> None:
    credentials = Credentials(environment={"GITHUB_TOKEN": "gh", "GITLAB_TOKEN": "gl"})
    ((name, value),) = credentials.git_token_header("https://gitlab.com/g/r.git")
    assert (name, base64.b64decode(value.removeprefix("Basic "))) == ("Authorization", b"oauth2:gl")
    assert credentials.git_token_header("https://example.com/r.git") == ()


def test_headers_of_the_command_line_are_checked_and_never_repeated() -> None:
    assert parse_header("X-Key:  v 1 ") == ("X-Key", "v 1")
    for text in (
        "no colon",
        "A: b\r\nC: s3cret",
        ": s3cret",
        "A B: s3cret",
        "Host: s3cret",
        "Content-Length: s3cret",
        "A: b\x00s3cret",
    ):
        with pytest.raises(UsageError) as caught:
            parse_header(text)
        assert "s3cret" not in str(caught.value) + caught.value.hint


def test_the_sources_of_a_configuration_are_read_once_and_checked() -> None:
    table = {"internal": {"url": "https://internal.example.com/skills/", "auth": "bearer:${T}"}}
    assert read_sources(table, registry="https://registry.example/skills") == (
        RegistrySource(name="r9s", url="https://registry.example/skills"),
        RegistrySource(name="internal", url="https://internal.example.com/skills", auth="bearer:${T}"),
    )
    assert read_sources(None) == ()


@pytest.mark.parametrize(
    "table",
    [
        {"x": {}},
        {"x": 5},
        {"x": {"url": 5}},
        {"x": {"url": "nonsense"}},
        {"github": {"url": "https://x.example"}},
        {"a b": {"url": "https://x.example"}},
        {"x": {"url": "https://x.example", "auth": 5}},
        {"x": {"url": "https://u:p@x.example"}},
    ],
)
def test_a_source_that_cannot_be_used_is_a_mistake_of_the_configuration(table: object) -> None:
    with pytest.raises(ConfigError):
        read_sources(table)


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin_of("https://Example.com:443/x") == "https://example.com"
    assert origin_of("https://example.com:8443/x") == "https://example.com:8443"
    assert origin_of("nonsense") == origin_of("git@h.example:x") == ""


def test_a_registry_may_be_named_by_its_host_alone() -> None:
    for text in ("http://127.0.0.1:8437", "http://127.0.0.1:8437/", "http://127.0.0.1:8437/skills"):
        (source,) = read_sources({}, registry=text)
        assert source.url == "http://127.0.0.1:8437/skills"
