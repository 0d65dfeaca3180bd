"""The frontmatter of SKILL.md as one value."""

from __future__ import annotations

import pytest

from metier.spec import STANDARD_KEYS, Json, Manifest
from metier.spec.manifest import manifest_from


def manifest(**fields: Json) -> Manifest:
    """`_` stands for the hyphen of a standard key."""
    renamed = {key.replace("allowed_tools", "allowed-tools"): value for key, value in fields.items()}
    return manifest_from(renamed, name="pdf", description="Fills forms. Use when asked.")[0]


def test_the_standard_has_six_keys() -> None:
    assert STANDARD_KEYS == ("name", "description", "license", "compatibility", "metadata", "allowed-tools")


def test_absent_fields_are_empty() -> None:
    assert manifest() == Manifest(name="pdf", description="Fills forms. Use when asked.")


@pytest.mark.parametrize(("value", "text"), [("MIT", "MIT"), (" MIT\n", "MIT"), ("", None), ("  ", None), (["MIT"], None)])
def test_a_licence_is_text_or_nothing(value: Json, text: str | None) -> None:
    assert manifest(license=value).license == text
    assert manifest(compatibility=value).compatibility == text


def test_metadata_is_always_text_to_text() -> None:
    given: Json = {
        "a": "b",
        "tags": ["pdf", "forms"],
        "people": ["Ann Lee", "Bo"],
        "deep": {"ü": ["x"]},
        "mixed": ["a", {}],
    }
    assert manifest(metadata=given).metadata == {
        "a": "b",
        "tags": "pdf forms",
        "people": "Ann Lee, Bo",
        "deep": '{"ü": ["x"]}',
        "mixed": '["a", {}]',
    }


@pytest.mark.parametrize("value", ["text", ["list"], None])
def test_metadata_that_is_not_a_map_is_empty(value: Json) -> None:
    assert manifest(metadata=value).metadata == {}


@pytest.mark.parametrize(
    "value", ["Read Bash(git add *)", "Read, Bash(git add *)", ["Read", "Bash(git add *)"], ["Read Bash(git add *)"]]
)
def test_tools_are_read_in_every_form(value: Json) -> None:
    assert manifest(allowed_tools=value).allowed_tools == ("Read", "Bash(git add *)")


@pytest.mark.parametrize("value", [None, "", [], {"a": "b"}, [["Read"]]])
def test_tools_that_cannot_be_read_are_none(value: Json) -> None:
    assert manifest(allowed_tools=value).allowed_tools == ()


def test_unknown_keys_are_kept_as_they_are() -> None:
    assert manifest(homepage="x", hooks={"a": [1]}).extra == {"homepage": "x", "hooks": {"a": [1]}}


def test_the_brief_is_the_first_sentence_unless_the_author_wrote_one() -> None:
    assert manifest().brief == "Fills forms."
    assert manifest(brief_description="Forms").brief == "Forms"


def test_odd_extensions_come_back_beside_the_manifest() -> None:
    _, (found,) = manifest_from({"version": "latest"}, name="pdf", description="d")
    assert found.code == "SK304"
