"""The list as a value: what covers what, the words for people, and the author's declaration."""

from __future__ import annotations

import pytest

from metier.spec import ANY, COMPUTED, Capabilities, clean_capability, package_name, parse


def declared(lines: str) -> Capabilities | None:
    manifest = parse(f"---\nname: a\ndescription: Does b.\n{lines}\n---\n".encode()).manifest
    assert manifest is not None
    return manifest.extensions.capabilities


@pytest.mark.parametrize(
    ("kind", "name", "is_covered"),
    [
        ("hosts", "api.example.com", True),
        ("hosts", "a.b.example.org", True),
        ("hosts", "api.example.com:8443", True),
        ("hosts", "example.org", False),
        ("hosts", "api.example.com.evil.net", False),
        ("hosts", "not a host", False),
        ("commands", "git", True),
        ("commands", "ffmpeg", True),
        ("processes", "git", True),
        ("commands", "curl", False),
        ("commands", ANY, False),
        ("commands", "python", True),
        ("reads", "~/.notes/today.md", True),
        ("reads", "~/.notes-secret", False),
        ("reads", "~/.notes/../.ssh/id_rsa", False),
        ("writes", "~/.notes/today.md", False),
        ("variables", "API_KEY", True),
        ("variables", "API_KEY2", False),
        ("packages", "polars[all]>=1", True),
    ],
)
def test_a_list_covers_what_it_names(kind: str, name: str, is_covered: bool) -> None:
    listed = Capabilities(
        hosts=(COMPUTED, "*.example.org", "api.example.com"), commands=("git", "python3"), processes=("ffmpeg",),
        variables=("API_KEY",), reads=("~/.notes",), packages=("polars",),
    )  # fmt: skip
    assert listed.covers(kind, name) is is_covered


def test_any_command_covers_commands_and_nothing_else() -> None:
    listed = Capabilities(commands=(ANY,))
    assert listed.covers("commands", "rm")
    assert listed.covers("processes", "rm")
    assert not listed.covers("hosts", "a.example")


def test_what_is_new_is_said_in_words_and_what_is_gone_is_not() -> None:
    old = Capabilities(hosts=("a.example", "b.example"), commands=("git",))
    new = Capabilities(hosts=(COMPUTED, "a.example", "c.example"), variables=("GITHUB_TOKEN",))
    words = new.beyond(old).words()
    assert words == ("hosts it computes at run time", "host c.example", "variable GITHUB_TOKEN")
    assert not old.beyond(old)


def test_the_lines_are_at_most_four_and_long_lists_end_with_a_count() -> None:
    names = tuple(f"n{number}.example" for number in range(40))
    full = Capabilities(
        hosts=names, commands=names, processes=names, variables=names, reads=names, writes=names, packages=names
    )  # fmt: skip
    assert len(full.lines()) == 4
    assert full.lines()[0] == "network: n0.example, n1.example, n2.example, n3.example, n4.example, n5.example and 34 more"


def test_a_name_is_one_short_printable_line() -> None:
    assert clean_capability("a\x1b[31m\nb\u202e" + "x" * 500) == "a [31m b " + "x" * 110 + "…"


@pytest.mark.parametrize(
    ("requirement", "name"),
    [("Polars>=1", "polars"), ("a[b,c]==1 ; python_version>'3'", "a"), ("@s/x@^1.2", "@s/x"), ("left-pad@^1", "left-pad")],
)
def test_a_package_is_known_by_its_name(requirement: str, name: str) -> None:
    assert package_name(requirement) == name


def test_an_author_declares_a_list_in_one_text() -> None:
    words = "host:api.example.com command:git process:ffmpeg env:KEY read:~/a write:~/b package:polars"
    assert declared(f"metadata:\n  capabilities: {words}") == Capabilities(
        hosts=("api.example.com",), commands=("git",), processes=("ffmpeg",), variables=("KEY",), reads=("~/a",),
        writes=("~/b",), packages=("polars",),
    )  # fmt: skip
    assert declared("metadata:\n  capabilities: none") == Capabilities()
    assert declared("metadata:\n  network: a.example") is None


def test_network_env_and_requires_belong_to_a_declared_list() -> None:
    text = "metadata:\n  capabilities: none\n  network: a.example\n  env: KEY\n  requires: jq"
    assert declared(text) == Capabilities(hosts=("a.example",), variables=("KEY",), commands=("jq",))


def test_the_fields_of_the_owasp_format_are_read() -> None:
    text = """permissions:
  files:
    read: [~/.config/app.json]
    write: [~/.config/app.json]
    deny_write: [SOUL.md]
  network:
    allow: [api.example.com]
    deny: "*"
  shell: false
  tools: [web_fetch]
requires:
  binaries: [jq, curl]"""
    assert declared(text) == Capabilities(
        hosts=("api.example.com",), reads=("~/.config/app.json",), writes=("~/.config/app.json",), commands=("curl", "jq")
    )
    assert declared("permissions:\n  shell: true") == Capabilities(commands=(ANY,))
    assert declared("permissions: [read]") is None


def test_a_word_that_is_no_capability_is_reported() -> None:
    report = parse(b"---\nname: a\ndescription: Does b.\nmetadata:\n  capabilities: host:a.example internet\n---\n").report
    assert [one.code for one in report] == ["SK312"]
