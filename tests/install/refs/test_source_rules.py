"""Which sources a list of patterns covers."""

from __future__ import annotations

import pytest

from metier.errors import RefusedError
from metier.install.refs.source_rules import SourceList, SourceRules, is_source_pattern


def allow(*patterns: str) -> SourceRules:
    return SourceRules(allow=(SourceList(patterns=patterns, origin="config.toml:3"),))


def deny(*patterns: str) -> SourceRules:
    return SourceRules(deny=(SourceList(patterns=patterns, origin="config.toml:3"),))


COVERED = [
    ("github.com", "https://github.com/o/r.git"),
    ("github.com", "git@github.com:o/r.git"),
    ("github.com", "ssh://git@github.com:22/o/r.git"),
    ("GitHub.com/Acme/*", "https://github.com/acme/skills.git"),
    ("github.com/acme", "https://github.com/ACME/skills.git"),
    ("github.com/acme/*", "git@github.com:acme/skills.git"),
    ("github.com/acme/skills", "https://github.com/acme/skills.git"),
    ("github.com/acme/*", "https://github.com/%61cme/skills.git"),
    ("*.example.com", "https://a.b.example.com/x.zip"),
    ("https://reg.example.com/skills", "https://reg.example.com/skills/pdf"),
    ("reg.example.com:8443", "https://reg.example.com:8443/skills/pdf"),
    ("reg.example.com", "https://reg.example.com:8443/skills/pdf"),
    ("[::1]", "http://[::1]:80/x.zip"),
    ("path", ""),
    ("path", "/home/me/skills"),
    ("path", "./skills"),
    ("path", "file:///srv/r.git"),
    ("*", ""),
    ("*", "https://x.example/y"),
]
OTHERS = [
    ("github.com", "https://github.com.evil.example/o/r.git"),
    ("github.com", "https://evil.example/github.com/o/r"),
    ("github.com/acme/*", "https://github.com/acme-evil/skills.git"),
    ("github.com/acme/*", "https://github.com/acme/../evil/skills.git"),
    ("github.com/acme/*", "https://github.com/acme"),
    ("*.example.com", "https://example.com/x.zip"),
    ("*.example.com", "https://evil.example/x.example.com"),
    ("https://reg.example.com/skills", "http://reg.example.com/skills/pdf"),
    ("https://reg.example.com/skills", "https://reg.example.com/skills-of-others/pdf"),
    ("reg.example.com:8443", "https://reg.example.com/skills/pdf"),
    ("path", "https://path/x.zip"),
    ("github.com", ""),
    ("home", "/home/me/skills"),
]


@pytest.mark.parametrize(("pattern", "url"), COVERED)
def test_a_pattern_covers_its_host_and_what_is_below_its_path(pattern: str, url: str) -> None:
    allow(pattern).check(url)
    with pytest.raises(RefusedError) as caught:
        deny(pattern).check(url)
    assert caught.value.rule == "source-denied" and "config.toml:3" in str(caught.value)


@pytest.mark.parametrize(("pattern", "url"), OTHERS)
def test_a_pattern_covers_nothing_else(pattern: str, url: str) -> None:
    deny(pattern).check(url)
    with pytest.raises(RefusedError) as caught:
        allow(pattern).check(url)
    assert caught.value.rule == "source-not-allowed"


def test_a_deny_wins_and_every_allow_list_must_match() -> None:
    admin, mine = SourceList(patterns=("github.com",), origin="admin"), SourceList(patterns=("*/acme",), origin="mine")
    rules = SourceRules(allow=(admin, mine), deny=(SourceList(patterns=("github.com/acme/bad",), origin="admin"),))
    rules.check("https://github.com/acme/good")
    for url, origin in (("https://github.com/o/r", "mine"), ("https://gitlab.com/acme/r", "admin"), ("", "admin")):
        with pytest.raises(RefusedError, match=origin):
            rules.check(url)
    with pytest.raises(RefusedError, match="deny_sources"):
        rules.check("https://github.com/acme/bad.git")


def test_a_link_of_an_allowed_source_is_compared_by_its_host() -> None:
    rules = allow("https://reg.example.com/skills")
    rules.check("https://reg.example.com/blobs/1.zip", is_linked=True)
    with pytest.raises(RefusedError):
        rules.check("https://cdn.example.com/blobs/1.zip", is_linked=True)


def test_a_pattern_is_one_word() -> None:
    assert all(map(is_source_pattern, ("path", "*", "github.com/acme/*", "https://x.example:1/y", "[::1]")))
    assert not any(map(is_source_pattern, ("", "a b", "/x", "https://", "u:p@x.example", "x?y")))
