"""The index of a site: rows 67 to 72 of the conformance corpus."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import RefusedError
from metier.install.fetch.wellknown import SCHEMA, WellKnownIndex, WellKnownSkill, check_digest, index_urls, read_index

URL = "https://example.com/.well-known/agent-skills/index.json"
DIGEST = "sha256:" + "a" * 64


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "name": "code-review",
        "type": "skill-md",
        "description": "d",
        "url": "code-review/SKILL.md",
        "digest": DIGEST,
        **changes,
    }


def index(*entries: Any, schema: str | None = SCHEMA, legacy: bool = False) -> WellKnownIndex:
    value: dict[str, Any] = {"skills": list(entries), "unknown": 1}
    if schema is not None:
        value["$schema"] = schema
    return read_index(json.dumps(value).encode(), URL, legacy=legacy)


@pytest.mark.parametrize("schema", [None, "https://schemas.agentskills.io/discovery/0.3.0/schema.json", "", SCHEMA.upper()])
def test_67_an_index_of_no_or_an_unknown_version_stops(schema: str | None) -> None:
    with pytest.raises(RefusedError) as caught:
        index(entry(), schema=schema)
    assert caught.value.rule == "well-known-schema"


def test_67_version_0_1_0_is_read_on_request() -> None:
    old = {"name": "a", "description": "d", "files": ["SKILL.md", "references/x.md"]}
    read = index(old, schema=None, legacy=True)
    assert read.skills == (
        WellKnownSkill(
            name="a",
            description="d",
            kind="files",
            url="https://example.com/.well-known/agent-skills/a/",
            files=("SKILL.md", "references/x.md"),
        ),
    )
    with pytest.raises(RefusedError):
        index(old, schema="other", legacy=True)


def test_68_an_unknown_type_is_skipped_with_a_warning_and_an_extra_field_is_ignored() -> None:
    read = index(entry(type="zip-bundle"), entry(name="b", extra=1))
    assert [one.name for one in read.skills] == ["b"]
    assert "zip-bundle" in read.warnings[0]


@pytest.mark.parametrize(
    ("url", "absolute"),
    [
        ("code-review/SKILL.md", "https://example.com/.well-known/agent-skills/code-review/SKILL.md"),
        ("/.well-known/agent-skills/code-review/SKILL.md", "https://example.com/.well-known/agent-skills/code-review/SKILL.md"),
        ("https://cdn.example.net/SKILL.md", "https://cdn.example.net/SKILL.md"),
    ],
)
def test_69_addresses_are_relative_to_the_folder_the_origin_or_nothing(url: str, absolute: str) -> None:
    assert index(entry(url=url)).skills[0].url == absolute


def test_70_bytes_that_break_the_promise_are_refused() -> None:
    data = b"hello"
    good = WellKnownSkill(name="a", description="", kind="archive", url="", digest="sha256:" + hashlib.sha256(data).hexdigest())
    check_digest(data, good)
    with pytest.raises(RefusedError) as caught:
        check_digest(data + b"!", good)
    assert caught.value.rule == "digest-mismatch"


@pytest.mark.parametrize("digest", ["sha256:" + "A" * 64, "sha256-" + "a" * 43 + "=", "a" * 64, "md5:" + "a" * 32, "", None, 5])
def test_70_a_digest_in_another_form_is_not_used(digest: object) -> None:
    read = index(entry(digest=digest))
    assert read.skills == ()
    assert len(read.warnings) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../x"},
        {"name": "A"},
        {"name": 5},
        {"url": "file:///etc/passwd"},
        {"url": "javascript:x"},
        {"url": "https://u:p@example.com/x"},
        {"description": None},
        {"url": "http://["},
    ],
)
def test_an_entry_that_cannot_be_used_is_skipped_with_a_warning(changes: dict[str, Any]) -> None:
    read = index(entry(**changes), entry(name="good"))
    assert [one.name for one in read.skills] == ["good"]
    assert len(read.warnings) == 1


@pytest.mark.parametrize(
    "files", [["../x", "SKILL.md"], ["/SKILL.md"], ["x.md"], "SKILL.md", ["SKILL.md", "a\\b"], [5], ["SKILL.md", "a/./b"]]
)
def test_an_old_entry_with_files_that_leave_or_without_a_skill_is_skipped(files: object) -> None:
    assert index({"name": "a", "description": "d", "files": files}, schema=None, legacy=True).skills == ()


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b"{}", b'{"skills": 5}', b"[" * 100_000, b"\xff"])
def test_an_invalid_index_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedError) as caught:
        read_index(data, URL)
    assert caught.value.rule == "well-known-index"


def test_an_index_is_looked_for_below_the_address_and_then_at_the_top() -> None:
    assert index_urls("https://example.com/docs/") == (
        "https://example.com/docs/.well-known/agent-skills/index.json",
        "https://example.com/.well-known/agent-skills/index.json",
    )
    assert index_urls("https://example.com", legacy=True) == (URL, "https://example.com/.well-known/skills/index.json")


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "type", "description", "url", "digest", "files"]), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4), st.booleans())
def test_no_index_raises_anything_but_refused(entries: list[Any], legacy: bool) -> None:
    read = index(*entries, schema=None if legacy else SCHEMA, legacy=legacy)
    assert len(read.skills) + len(read.warnings) == len(entries)
