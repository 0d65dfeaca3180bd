"""Fix: what it repairs, what it leaves, and the promises it keeps for any input."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import count_calls
from metier.spec import Verdict, parse, split_document
from metier.spec.repairs import AppliedFix, FixResult, fix_skill_file


def page(head: str, body: str = "Do this.\n") -> bytes:
    return f"---\n{head}---\n{body}".encode()


def fixed(head: str, *, folder: str | None = "pdf") -> str:
    """The head after the fix, with a sound name and description around it taken away again."""
    sound = "name: pdf\ndescription: d\n"
    text = fix_skill_file(page(sound + head), folder=folder).data.decode()
    assert text.startswith("---\n" + sound)
    return text.removeprefix("---\n" + sound).removesuffix("---\nDo this.\n")


def codes(result: FixResult) -> list[str]:
    return [change.code for change in result.changes]


def test_a_sound_file_stays_as_it_is() -> None:
    data = page("# a comment\nname:   pdf\ndescription: 'd'   # why\nmetadata: {a: b}\n")
    assert fix_skill_file(data, folder="pdf") == FixResult(data=data)


def test_a_byte_order_mark_goes() -> None:
    data = page("name: pdf\ndescription: d\n")
    result = fix_skill_file(b"\xef\xbb\xbf" + data)
    assert result == FixResult(data=data, changes=(AppliedFix(code="SK014", line=1, message="removed the byte order mark"),))
    assert fix_skill_file(b"\xef\xbb\xbf\xef\xbb\xbf" + data).data == data
    assert fix_skill_file(b"\xef\xbb\xbfno frontmatter").data == b"no frontmatter"


def test_blank_lines_before_the_frontmatter_are_removed() -> None:
    result = fix_skill_file(b"\r\n  \n" + page("name: pdf\ndescription: d\nmetadata:\n  v: 1\n"))
    assert result.data == page('name: pdf\ndescription: d\nmetadata:\n  v: "1"\n')
    assert [(change.code, change.line) for change in result.changes] == [("SK005", 1), ("SK142", 7)]


def test_a_rule_across_a_page_without_frontmatter_is_not_made_frontmatter() -> None:
    data = b"\n\n---\nJust text.\n---\nMore.\n"
    assert fix_skill_file(data, folder="pdf") == FixResult(data=data)


def test_spaces_after_the_delimiters_go_and_those_in_the_body_stay() -> None:
    result = fix_skill_file(b"--- \nname: pdf\ndescription: d\n---\t \nText.  \n---  \n")
    assert result.data == b"---\nname: pdf\ndescription: d\n---\nText.  \n---  \n"
    assert [(change.code, change.line) for change in result.changes] == [("SK005", 1), ("SK006", 4)]


def test_unquoted_colons_are_quoted_and_line_ends_kept() -> None:
    result = fix_skill_file(b"---\r\nname: pdf\r\ndescription: Use when: it's time\r\n---\r\nA\nB\r\n")
    assert result.data == b"---\r\nname: pdf\r\ndescription: 'Use when: it''s time'\r\n---\r\nA\nB\r\n"
    assert [(change.code, change.line) for change in result.changes] == [("SK012", 3)]


def test_old_mac_line_ends_survive() -> None:
    assert (
        fix_skill_file(b"---\rname: pdf\rdescription: a: b\r---\rA\r").data == b"---\rname: pdf\rdescription: 'a: b'\r---\rA\r"
    )


def test_a_line_of_a_block_text_that_looks_like_a_key_is_not_quoted() -> None:
    result = fix_skill_file(page("name: pdf\ndescription: |\n  Steps: first: second\nlicense: a: b\n"))
    assert result.data == page("name: pdf\ndescription: |\n  Steps: first: second\nlicense: 'a: b'\n")
    assert [change.line for change in result.changes] == [5]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("allowed-tools: [Read, Bash(git add *)]\n", "allowed-tools: Read Bash(git add *)\n"),
        ("allowed-tools: [Read, Grep]  # both\n", "allowed-tools: Read Grep  # both\n"),
        ("allowed-tools:\n  - Read\n  - Bash(git add *)\n", "allowed-tools: Read Bash(git add *)\n"),
        ("allowed-tools:\n- Read\n- Grep\nlicense: MIT\n", "allowed-tools: Read Grep\nlicense: MIT\n"),
        ("allowed-tools:  # why\n  - Read  # a\n  # b\n\n  - Grep\n", "allowed-tools: Read Grep  # why\n  # a\n  # b\n"),
        ("allowed-tools: [\n  Read,\n  Grep\n]\n", "allowed-tools: Read Grep\n"),
        ('allowed-tools: ["Bash(a: *)", Read]\n', 'allowed-tools: "Bash(a: *) Read"\n'),
        ("allowed-tools: Read, Grep # both\n", "allowed-tools: Read Grep # both\n"),
        ('allowed-tools: "Read, Grep"\n', 'allowed-tools: "Read Grep"\n'),
        ("allowed-tools: Read,\n  Grep\n", "allowed-tools: Read Grep\n"),
        ("allowed_tools: Read, Bash(a, b)\n", "allowed-tools: Read Bash(a, b)\n"),
        ("metadata:\n  tags: [pdf, forms]\n", "metadata:\n  tags: pdf forms\n"),
        ("metadata:\n  tags: [pdf, fill in]\n", "metadata:\n  tags: pdf, fill in\n"),
        ("metadata:\n  tags:\n    - pdf\n    - forms\n  a: b\n", "metadata:\n  tags: pdf forms\n  a: b\n"),
        ("metadata: {tags: [pdf, forms], a: 1}\n", 'metadata: {tags: pdf forms, a: "1"}\n'),
        ("metadata: {tags: [pdf, fill in]}\n", 'metadata: {tags: "pdf, fill in"}\n'),
        ("metadata:\n  years: [2024]\n", 'metadata:\n  years: "2024"\n'),
        ("metadata:\n  version: 1.10  # text\n", 'metadata:\n  version: "1.10"  # text\n'),
        ("metadata:\n  on: true\n  day: 2026-01-31\n", 'metadata:\n  on: "true"\n  day: "2026-01-31"\n'),
        ("License: MIT\n", "license: MIT\n"),
        ("Metadata:\n  version: 1.0\n", 'metadata:\n  version: "1.0"\n'),
        ("Allowed_Tools: [Read, Grep]\n", "allowed-tools: Read Grep\n"),
    ],
)  # fmt: skip
def test_values_are_written_as_the_standard_has_them(wrong: str, right: str) -> None:
    assert fixed(wrong) == right


@pytest.mark.parametrize(
    "head",
    [
        "allowed-tools: [Read, {a: b}]\n",
        "allowed-tools: |\n  Read,\n  Grep\n",
        "allowed-tools: [\n  Read, # to read\n  Grep\n]\n",
        "metadata:\n  a: {b: c}\n",
        "metadata:\n  tags: ['a, b', c]\n",
        "metadata:\n  tags: [fill in]\n",
        "metadata:\n  triggers: [fill, sign]\n",
        "metadata:\n  a: null\n  b:\n",
        "license: MIT\nLicense: BSD\n",
        "unknown: 1\n",
        "version: 1.10\n",
    ],
)
def test_problems_that_need_a_decision_are_left(head: str) -> None:
    assert fixed(head) == head


def test_a_value_cut_by_a_comment_is_left() -> None:
    data = page("name: pdf\ndescription: Posts to channel #general\n")
    assert fix_skill_file(data, folder="pdf") == FixResult(data=data)


@pytest.mark.parametrize(
    ("head", "right", "code"),
    [
        ("name: My_PDF\ndescription: d\n", "name: pdf\ndescription: d\n", "SK102"),
        ("name: -pdf # x\ndescription: d\n", "name: pdf # x\ndescription: d\n", "SK104"),
        ("description: d\nname: 'forms'\n", "description: d\nname: 'pdf'\n", "SK105"),
        ("Name: pdf\ndescription: d\n", "name: pdf\ndescription: d\n", "SK160"),
        ("# c\ndescription: d\n", "name: pdf\n# c\ndescription: d\n", "SK101"),
        ("  description: d\n", "  name: pdf\n  description: d\n", "SK101"),
    ],
)
def test_the_name_becomes_the_folders(head: str, right: str, code: str) -> None:
    result = fix_skill_file(page(head), folder="pdf")
    assert result.data == page(right)
    assert codes(result) == [code]


def test_without_a_valid_folder_the_name_stays() -> None:
    data = page("name: My_PDF\ndescription: d\n")
    assert fix_skill_file(data) == fix_skill_file(data, folder="My PDF") == FixResult(data=data)


def test_a_folder_that_looks_like_a_number_is_quoted() -> None:
    assert fix_skill_file(page("name: x\ndescription: d\n"), folder="123").data == page('name: "123"\ndescription: d\n')


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe", b"---\nname: \xff\n---\n", b"---\nname: a\0\n---\n", b"---\nname: a\n", b"---\n- a\n---\n",
     b"---\na: [\n---\n", b"---\n---\n", b"---\na: &x 1\nb: *x\n---\n", b"---\nname: a\nname: b\n---\n",
     "---\nname: a\u2028allowed-tools: [b]\n---\n".encode()],
)  # fmt: skip
def test_an_unreadable_file_is_returned_unchanged(data: bytes) -> None:
    assert fix_skill_file(data, folder="pdf") == FixResult(data=data)


@pytest.mark.parametrize(("more", "changes"), [("", 3_501), ("  triggers: [a, b]\n", 1)])
def test_a_large_frontmatter_is_not_parsed_again_for_each_of_its_values(more: str, changes: int) -> None:
    lists = "".join(f"  k{at}: [a, b]\n" for at in range(3_500))
    data = page(f"name: x\ndescription: d\nmetadata:\n{lists}{more}")
    fixed: list[FixResult] = []
    assert count_calls(lambda: fixed.append(fix_skill_file(data, folder="pdf"))) < 3_500 * 2_000
    assert len(fixed[0].changes) == changes


def promises_hold(data: bytes, folder: str | None) -> None:
    result = fix_skill_file(data, folder=folder)
    assert (result.data != data) == bool(result.changes)
    assert fix_skill_file(result.data, folder=folder) == FixResult(data=result.data), "a second fix changes nothing"
    before, after = (parse(one, folder=folder, verdict=Verdict.STRICT) for one in (data, result.data))
    if before.document.has_frontmatter:
        assert split_document(result.data).body == before.document.body
        tail = re.split(rb"(?:\r\n|\r|\n)---[ \t]*(?=[\r\n]|\Z)", data, maxsplit=1)[-1]
        assert result.data.endswith(tail), "the body's bytes are the same"
        assert {one.code for one in after.report.errors} <= {one.code for one in before.report.errors}
        assert len(after.report) <= len(before.report)
    if before.manifest is None:
        return
    assert after.manifest is not None
    renamed = any(change.code == "SK160" for change in result.changes)
    old, new = before.manifest, after.manifest
    assert new.name in (old.name, folder)
    assert new.description == old.description
    if not renamed:
        assert (new.license, new.compatibility, new.metadata) == (old.license, old.compatibility, old.metadata)
        assert (new.allowed_tools, new.extensions, new.extra) == (old.allowed_tools, old.extensions, old.extra)


WORDS = st.sampled_from(
    ["pdf", "a b", "a: b", "1.0", "true", "no", "2026-01-31", "#x", "a #b", "'q'", '"q"', "it's", "[a, b]", "{a: b}",
    "- a", "~",
     "", "é中", "Read, Grep", "Bash(git add *)", "Bash(a, b)", "[Read, 'a: b']", "[1, 2]", "['a b', c]", "[]", "|", ">-", "!x",
     "&a", "*a", "\\", "\t"],
)  # fmt: skip
KEYS = st.sampled_from(
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "Name", "allowed_tools",
    "Metadata", "version",
     "tags", "triggers", "requires", "'name'", '"allowed-tools"', "#", "? a"],
)  # fmt: skip
COMMENTS = st.sampled_from(["", "", "", "  # why", " #", "   "])
SIMPLE = st.builds("{}: {}{}".format, KEYS, WORDS, COMMENTS)
LIST = st.builds(
    lambda key, items, indent, comment: "\n".join([f"{key}:{comment}", *(f"{indent}- {item}" for item in items)]),
    KEYS, st.lists(st.builds("{}{}".format, WORDS, COMMENTS), max_size=4), st.sampled_from(["", "  ", "    "]), COMMENTS,
)  # fmt: skip
MAP = st.builds(
    lambda lines: "\n".join(["metadata:", *("  " + line.replace("\n", "\n  ") for line in lines)]),
    st.lists(SIMPLE | LIST, max_size=4),
)
HEADS = st.lists(SIMPLE | LIST | MAP, max_size=6, unique_by=lambda line: line.partition(":")[0]).map(
    lambda lines: "\n".join([*(() if any("description:" in line for line in lines) else ("description: d",)), *lines])
)
FILES = st.builds(
    lambda bom, blank, spaces, head, close, body, end: (
        bom + f"{blank}---{spaces}\n{head}\n---{close}{body}".replace("\n", end).encode()
    ),
    st.sampled_from([b"", b"\xef\xbb\xbf"]), st.sampled_from(["", "\n", " \n\n"]), st.sampled_from(["", " \t"]), HEADS,
    st.sampled_from(["", "  "]), st.sampled_from(["", "\n", "\nText\n---\nMore: [a, b]\n", "\r\rx"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)  # fmt: skip
FOLDERS = st.sampled_from([None, "pdf", "forms", "No_Name", "123", "true"])


@given(FILES, FOLDERS)
@example(b"---\nname: pdf\ndescription: d\nallowed_tools: [a]\nAllowed-Tools: b\n---\n", "pdf")
def test_promises_hold_for_made_up_frontmatter(data: bytes, folder: str | None) -> None:
    promises_hold(data, folder)


@given(
    st.binary(max_size=200)
    | st.text(alphabet="-\n\r \t:,[]{}#'\"abc|>&*!?\ufeff\u2028", max_size=80).map(lambda text: f"---\n{text}\n---\nx".encode())
)
def test_promises_hold_for_noise(data: bytes) -> None:
    promises_hold(data, "pdf")


@given(
    st.lists(st.text(alphabet="ab1,:#'\"\\ []{}()-é\u200b", min_size=1, max_size=8), min_size=1, max_size=4),
    st.sampled_from(["allowed-tools", "metadata:\n  tags"]),
)
def test_a_list_of_any_words_keeps_its_meaning(words: list[str], key: str) -> None:
    promises_hold(page(f"name: pdf\ndescription: d\n{key}: {json.dumps(words)}\n"), "pdf")
