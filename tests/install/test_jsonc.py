"""JSON with comments, changed in one place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.install.jsonc import JsoncError, read_jsonc, with_item, with_member, without_item, without_member
from metier.spec import Json

NOTED = """\
// the team's servers
{
    "servers": {
        /* the first */
        "one": {"command": "x"}, // keep me
        "two": {
            "args": ["a",], // and me
        },
    },
    "inputs": [] // last
}
"""


def test_a_member_is_added_after_the_last_one_and_comments_are_kept() -> None:
    after = with_member(NOTED, ("servers", "three", "command"), "y")
    added = '        "three": {\n            "command": "y"\n        }\n'
    assert after == NOTED.replace("        },\n    },\n", f"        }},\n{added}    }},\n")


def test_a_value_is_replaced_where_it_stands() -> None:
    assert with_member(NOTED, ("servers", "two", "args"), ["b"]) == NOTED.replace(
        '["a",]', '[\n                "b"\n            ]'
    )


def test_a_remark_about_the_last_member_stays_with_it() -> None:
    after = with_member(NOTED, ("more",), 1)
    assert after.endswith('    "inputs": [], // last\n    "more": 1\n}\n')


@pytest.mark.parametrize("text", ["", "\n", "// nothing yet\n", "{}", "{ }", "{\n}", "/* a */ {} // b"])
def test_an_empty_file_or_object_gets_its_first_member(text: str) -> None:
    after = with_member(text, ("a", "b"), [1])
    assert read_jsonc(after) == {"a": {"b": [1]}}
    for note in ("// nothing yet", "/* a */", "// b"):
        assert (note in after) == (note in text)


def test_line_ends_and_tabs_are_those_of_the_file() -> None:
    after = with_member('{\r\n\t"a": 1\r\n}\r\n', ("b", "c"), 2)
    assert after == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}\r\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [("{", 1), ('{"a": }', 1), ('{\n"a": 1\n"b": 2}', 3), ("{'a': 1}", 1), ('{"a": 1} {}', 1), ('{"a": "x', 1), ("{\n\n/* ", 3),
     ("[" * 500, 1), ('{"a" 1}', 1), ('{"a": tru}', 1)],
)  # fmt: skip
def test_invalid_json_is_reported_with_its_line_and_left_alone(text: str, line: int) -> None:
    with pytest.raises(JsoncError, match=f"^line {line}: "):
        with_member(text, ("x",), 1)


def test_a_value_that_is_not_an_object_is_not_changed() -> None:
    with pytest.raises(JsoncError):
        with_member("[1]", ("x",), 1)


SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@given(OBJECTS, st.lists(st.text(max_size=4), min_size=1, max_size=3), VALUES, st.sampled_from([None, 2, "\t"]))
def test_only_the_named_value_changes(document: dict[str, Any], path: list[str], value: Any, indent: int | str | None) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    expected = json.loads(text)
    place = expected
    for key in path[:-1]:
        if not isinstance(place.get(key), dict):
            place[key] = {}
        place = place[key]
    place[path[-1]] = value
    after = with_member(text, path, value)
    assert read_jsonc(after) == expected == json.loads(after)
    assert with_member(after, path, value) == after or isinstance(value, list | dict)


ITEM: Json = {"hooks": [{"command": "metier hook run codex"}]}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)


@given(
    st.lists(VALUES, max_size=4), st.sampled_from([None, 2, "\t"]), st.dictionaries(st.sampled_from("abc"), VALUES, max_size=2)
)
def test_an_item_that_is_added_and_removed_leaves_the_text_as_it_was(
    items: list[Json], indent: int | str | None, rest: dict[str, Json]
) -> None:
    text = json.dumps({**rest, "hooks": {"event": items}}, indent=indent)
    added = with_item(text, ("hooks", "event"), ITEM)
    assert json.loads(added)["hooks"]["event"] == [*items, ITEM]
    assert json.loads(without_item(added, ("hooks", "event"), len(items))) == json.loads(text)
    if items:
        assert without_item(added, ("hooks", "event"), len(items)) == text


def test_comments_around_a_removed_item_stay() -> None:
    text = '{"a": [\n  // first\n  1,\n  // second\n  2 // end\n]}'
    assert read_jsonc(without_item(text, ("a",), 0)) == {"a": [2]}
    assert "// first" in without_item(text, ("a",), 0)
    assert read_jsonc(without_item(text, ("a",), 1)) == {"a": [1]}
    assert "// second" in without_item(text, ("a",), 1)


def test_a_member_is_removed_with_its_comma() -> None:
    assert without_member('{"a": 1, "b": 2}', ("a",)) == '{"b": 2}'
    assert without_member('{"a": 1, "b": 2}', ("b",)) == '{"a": 1}'
    assert without_member('{"a": {"b": 2}}', ("a", "b")) == '{"a": {}}'
    assert without_member('{"a": 1}', ("missing",)) == '{"a": 1}'
