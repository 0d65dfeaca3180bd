"""Cutting SKILL.md in two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import Document, split_document
from metier.spec.document import MAX_FRONTMATTER_BYTES


def codes(document: Document) -> list[str]:
    return [found.code for found in document.problems]


def test_the_frontmatter_is_between_the_dashes_and_the_body_after_them() -> None:
    document = split_document(b"---\nname: a\n---\n# Title\n")
    assert (document.frontmatter, document.body) == ("name: a\n", "# Title\n")
    assert document.problems == ()


def test_the_body_records_its_first_line() -> None:
    assert split_document(b"---\nname: a\ndescription: b\n---\nText\n").body_line == 5


@pytest.mark.parametrize(
    ("data", "lines"), [(b"---\na: b\n---\n", 4), (b"---\na: b\n---\nx\n", 4), (b"---\na: b\n---\nx\ny", 5)]
)
def test_lines_are_counted_over_the_whole_file(data: bytes, lines: int) -> None:
    assert split_document(data).lines == lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_becomes_a_newline(end: str) -> None:
    document = split_document("---\nname: a\n---\none\ntwo\n".replace("\n", end).encode())
    assert (document.frontmatter, document.body) == ("name: a\n", "one\ntwo\n")


def test_a_byte_order_mark_is_skipped_and_reported() -> None:
    document = split_document(b"\xef\xbb\xbf---\nname: a\n---\n")
    assert (document.frontmatter, codes(document)) == ("name: a\n", ["SK014"])


def test_spaces_after_the_dashes_are_tolerated() -> None:
    assert split_document(b"--- \t\nname: a\n---  \nBody\n").body == "Body\n"


def test_dashes_inside_a_line_are_not_a_delimiter() -> None:
    assert (
        split_document(b"---\ndescription: a --- b\n  ---\n# ---\n---\nBody\n").frontmatter
        == "description: a --- b\n  ---\n# ---\n"
    )


def test_the_body_may_hold_rules_of_its_own() -> None:
    assert split_document(b"---\na: b\n---\nOne\n---\nTwo\n").body == "One\n---\nTwo\n"


def test_the_closing_dashes_may_end_the_file() -> None:
    document = split_document(b"---\na: b\n---")
    assert (document.frontmatter, document.body, document.problems) == ("a: b\n", "", ())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "there is no frontmatter"),
        (b"# Title\n", "there is no frontmatter"),
        (b"\n---\na: b\n---\n", "blank lines stand before the opening `---`"),
        (b"----\na: b\n----\n", "the first line is not exactly `---`"),
        (b"---name: a\n---\n", "the first line is not exactly `---`"),
    ],
)
def test_a_file_without_an_opening_line_says_why(data: bytes, message: str) -> None:
    document = split_document(data)
    (found,) = document.problems
    assert (found.code, found.message, found.line, found.column) == ("SK005", message, 1, 1)
    assert (document.has_frontmatter, document.body) == (False, data.decode())


def test_frontmatter_that_is_never_closed_is_all_body() -> None:
    document = split_document(b"---\nname: a\n...\n")
    assert (codes(document), document.has_frontmatter, document.body) == (["SK006"], False, "---\nname: a\n...\n")


def test_frontmatter_of_64_kib_is_read_and_one_byte_more_is_not() -> None:
    line = b"a: " + b"x" * (MAX_FRONTMATTER_BYTES - 4) + b"\n"
    assert codes(split_document(b"---\n" + line + b"---\n")) == []
    assert codes(split_document(b"---\n" + b"x" + line + b"---\nBody\n")) == ["SK007"]
    assert split_document(b"---\n" + b"x" + line + b"---\nBody\n").body == "Body\n"


def test_the_cap_counts_bytes_not_characters() -> None:
    assert codes(split_document(b"---\na: " + "é".encode() * (MAX_FRONTMATTER_BYTES // 2) + b"\n---\n")) == ["SK007"]


def test_a_nul_byte_is_found_where_it_stands() -> None:
    (found,) = split_document(b"---\nname: a\0b\n---\n").problems
    assert (found.code, found.line, found.column) == ("SK004", 2, 8)


def test_a_byte_that_is_not_utf_8_is_found_where_it_stands() -> None:
    (found,) = split_document(b"---\nname: a\ndescription: caf\xe9\n---\n").problems
    assert (found.code, found.line, found.column) == ("SK003", 3, 17)
    assert found.message == "byte 0xe9 is not UTF-8"


@given(st.binary())
def test_no_bytes_make_it_raise(data: bytes) -> None:
    document = split_document(data)
    assert document.has_frontmatter or document.problems


@given(head=st.from_regex(r"([a-z]+: [a-z ]+\n)*", fullmatch=True), body=st.text(alphabet="ab-# \n"))
def test_a_composed_document_is_split_again(head: str, body: str) -> None:
    document = split_document(f"---\n{head}---\n{body}".encode())
    assert (document.frontmatter, document.body) == (head, body)
