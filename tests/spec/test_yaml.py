"""Frontmatter YAML: text stays text, everything has a place, and nothing grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import Json
from metier.spec.yaml import ListNode, MapNode, Scalar, quote_colons, quoted, read_yaml, scalar_value, to_json, to_text


def value(text: str) -> Json:
    root = read_yaml(text).root
    assert root is not None
    return to_json(root)


def written(text: str) -> Json:
    root = read_yaml(text).root
    assert root is not None
    return to_text(root)


def refusals(text: str) -> list[tuple[str, int | None, int | None]]:
    tree = read_yaml(text)
    assert tree.root is None
    return [(found.code, found.line, found.column) for found in tree.problems]


def test_nodes_know_their_line_and_column() -> None:
    root = read_yaml("a: b\nlist:\n  - one\n", first_line=2).root
    assert isinstance(root, MapNode)
    first, second = root.entries
    assert (first[1].line, first[1].column) == (2, 4)
    assert isinstance(second[1], ListNode)
    assert (second[1].items[0].line, second[1].items[0].column) == (4, 5)


def test_get_finds_a_key_or_nothing() -> None:
    root = read_yaml("a: b").root
    assert isinstance(root, MapNode)
    assert root.get("a") == Scalar("b", 1, 4)
    assert root.get("z") is None


@pytest.mark.parametrize("word", ["on", "yes", "no", "off", "1.10", "0o17", "007", "2024-01-01", "1_000", "12:30:45"])
def test_text_stays_as_it_was_written(word: str) -> None:
    assert written(f"a: {word}") == {"a": word}


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("true", True), ("FALSE", False), ("yes", "yes"), ("on", "on"), ("null", None), ("~", None), ("", None),
        ("12", 12), ("-3", -3), ("0o17", 15), ("0xff", 255), ("007", 7), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0),
        ("1e999", "1e999"), ("2024-01-01", "2024-01-01"), (".inf", ".inf"),
    ],
)  # fmt: skip
def test_unquoted_scalars_mean_what_yaml_1_2_says(word: str, meaning: Json) -> None:
    assert value(f"a: {word}") == {"a": meaning}


@pytest.mark.parametrize("text", ['a: "12"', "a: '12'", "a: |-\n  12", "a: >-\n  12"])
def test_quotes_and_blocks_are_certainly_text(text: str) -> None:
    assert value(text) == {"a": "12"}


def test_a_number_of_any_length_resolves_without_failing() -> None:
    assert scalar_value(Scalar("9" * 5000, 1, 1)) == "9" * 5000


def test_flow_collections_are_yaml() -> None:
    assert value("a: {b: [c, 1, true]}") == {"a": {"b": ["c", 1, True]}}


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a: &x b", "SK011", (1, 4)),
        ("a: *x", "SK011", (1, 4)),
        ("a: !!str b", "SK011", (1, 4)),
        ("a: !mine b", "SK011", (1, 4)),
        ("<<: {a: b}", "SK011", (1, 1)),
        ("a: b\nc: d\na: e", "SK010", (3, 1)),
        ("? [a]\n: b", "SK161", (1, 3)),
        ("a: b: c", "SK008", (1, 5)),
        ("a: [b", "SK008", (2, 1)),
        ("a: b\n---\nc: d", "SK008", (2, 1)),
        ("a: @b", "SK008", (1, 4)),
    ],
)
def test_ambiguous_yaml_is_refused_with_its_place(text: str, code: str, place: tuple[int, int]) -> None:
    assert refusals(text)[0][0] == code
    if code != "SK008" or "[" not in text:
        assert refusals(text)[0][1:] == place


def test_every_refusal_is_collected_in_one_pass() -> None:
    assert [code for code, _, _ in refusals("a: &x b\nc: *x\na: !t d\n")] == ["SK011", "SK011", "SK011", "SK010"]


def test_refusals_stop_at_twenty() -> None:
    assert len(refusals("\n".join(f"k{n}: &a{n} v" for n in range(100)))) == 20


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert value("'<<': a") == {"<<": "a"}


def test_control_characters_are_refused_on_their_line() -> None:
    assert refusals("a: b\nc: d\x07\n") == [("SK008", 2, 1)]


def test_nesting_is_capped_at_24() -> None:
    assert read_yaml("[" * 24 + "]" * 24).problems == ()
    assert refusals("[" * 25 + "]" * 25) == [("SK008", 1, 25)]
    assert refusals("[" * 50_000)[0][0] == "SK008"


def test_an_alias_bomb_stays_as_small_as_its_text() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    tree = read_yaml("\n".join(lines))
    assert tree.root is None
    assert {found.code for found in tree.problems} == {"SK011"}


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_nothing_is_no_root_and_no_problem(text: str) -> None:
    assert (read_yaml(text).root, read_yaml(text).problems) == (None, ())


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    tree = read_yaml(text)
    if tree.root is not None:
        to_json(tree.root)
        to_text(tree.root)


@given(st.text(alphabet="ab: -[]{}\"'|>#\n\t&*!?,%", max_size=60))
def test_no_punctuation_makes_it_raise(text: str) -> None:
    tree = read_yaml(text)
    assert tree.root is None or tree.problems == ()


@given(st.dictionaries(st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.text(alphabet="abc '\"\\:#-é😀", max_size=30)))
def test_single_quoted_text_is_read_back_unchanged(fields: dict[str, str]) -> None:
    quotes = "'"
    text = "".join(f"{key}: '{text.replace(quotes, quotes * 2)}'\n" for key, text in fields.items())
    assert (written(text) if fields else {}) == fields


def rescued(head: str) -> object:
    root = read_yaml(quote_colons(head)[0]).root
    return to_text(root) if root else None


@pytest.mark.parametrize(
    ("head", "meaning"),
    [
        ("description: Use this when: asked", {"description": "Use this when: asked"}),
        ("description: ends with a colon:", {"description": "ends with a colon:"}),
        ("a: it's: quoted", {"a": "it's: quoted"}),
        ('a: say "x": y', {"a": 'say "x": y'}),
        ("a: one: two\nb: three", {"a": "one: two", "b": "three"}),
        ("a: one\n  two: three\n  four\nb: c", {"a": "one two: three four", "b": "c"}),
        ("metadata:\n  note: one: two", {"metadata": {"note": "one: two"}}),
        ("list:\n  - key: one: two", {"list": [{"key": "one: two"}]}),
        ("a: one: two # three", {"a": "one: two # three"}),
    ],
)
def test_the_author_gets_the_text_that_was_meant(head: str, meaning: object) -> None:
    assert read_yaml(head).root is None
    assert rescued(head) == meaning


def test_each_rescue_says_its_key_line_and_column() -> None:
    assert quote_colons("name: a\ndescription: b: c\nmeta:\n  x: y: z")[1] == [("description", 1, 14), ("x", 3, 6)]


@pytest.mark.parametrize(
    "head",
    [
        "a: b\nc: d",
        "a: http://example.com",
        "a: 10:30",
        'a: "b: c"',
        "a: 'b: c'",
        "a: |\n  b: c",
        "a: >-\n  b: c",
        "a: {b: c}",
        "a: [b: c]",
        "a:\n  b: c",
        "# a: b: c",
        "- a: b",
        "",
    ],
)
def test_lines_that_need_no_rescue_stay_as_they_are(head: str) -> None:
    assert quote_colons(head) == (head, [])


@given(st.text(alphabet="ab: '\"\n-#|>", max_size=60))
def test_no_text_makes_it_raise_or_changes_the_number_of_lines(head: str) -> None:
    text, changed = quote_colons(head)
    assert text.count("\n") == head.count("\n")
    assert changed or text == head


@given(st.text(alphabet="ab:' \"#é", min_size=1, max_size=40))
def test_a_quoted_value_reads_as_the_value(value: str) -> None:
    root = read_yaml("a: " + quoted(value)).root
    assert root is not None
    assert to_text(root) == {"a": value.rstrip()}


def test_a_block_with_colons_in_it_is_text_already_and_stays_as_it_is() -> None:
    head = "description: |\n  Steps: first: second\n\n  More: of: it\nlicense: a: b\n"
    quoted, changed = quote_colons(head)
    assert quoted == "description: |\n  Steps: first: second\n\n  More: of: it\nlicense: 'a: b'\n"
    assert [key for key, _, _ in changed] == ["license"]
