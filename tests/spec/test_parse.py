"""SKILL.md bytes to a manifest and a report of everything that is odd about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import count_calls
from metier.spec import CODES, ParseResult, Severity, Verdict, parse

PLAIN = "name: my-skill\ndescription: Fills forms. Use when asked.\n"


def parsed(
    head: str = PLAIN, extra: str = "", *, folder: str | None = "my-skill", verdict: Verdict = Verdict.STRICT
) -> ParseResult:
    return parse(f"---\n{head}{extra}---\nDo it.\n".encode(), folder=folder, verdict=verdict)


def places(found: ParseResult) -> list[tuple[str, int | None, int | None]]:
    return [(one.code, one.line, one.column) for one in found.report]


def codes(found: ParseResult) -> list[str]:
    return [one.code for one in found.report]


def test_a_clean_file_is_a_manifest_and_an_empty_report() -> None:
    found = parsed(extra="license: MIT\n")
    assert found.manifest is not None
    assert (found.manifest.name, found.manifest.license, found.body) == ("my-skill", "MIT", "Do it.\n")
    assert found.report.problems == ()


def test_without_a_folder_nothing_is_compared_with_the_name() -> None:
    assert parsed(folder=None).report.problems == ()


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("description: d\n", ("SK101", 2, 1)),
        ("name: My_Skill\ndescription: d\n", ("SK102", 2, 7)),
        (f"name: {'a' * 65}\ndescription: d\n", ("SK103", 2, 7)),
        ("name: my--skill\ndescription: d\n", ("SK104", 2, 7)),
        ("name: other\ndescription: d\n", ("SK105", 2, 7)),
        ("name: []\ndescription: d\n", ("SK106", 2, 7)),
        ("name: my-skill\n", ("SK110", 2, 1)),
        ("name: my-skill\ndescription:   ''\n", ("SK110", 3, 16)),
        (f"name: my-skill\ndescription: {'x' * 1025}\n", ("SK111", 3, 14)),
        ("name: my-skill\ndescription: [d]\n", ("SK112", 3, 14)),
        ("name: my-skill\ndescription: d # and more\n", ("SK213", 3, 16)),
        ("name: my-skill\ndescription: when: asked\n", ("SK012", 3, 14)),
        ("name: my-skill\ndescription: &d d\n", ("SK011", 3, 14)),
        ("name: my-skill\ndescription: d\nname: x\n", ("SK010", 4, 1)),
        ("- name\n", ("SK009", 2, 1)),
        ("", ("SK009", 2, 1)),
    ],
)
def test_a_problem_is_reported_at_its_cause(head: str, place: tuple[str, int, int]) -> None:
    assert place in places(parsed(head))


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ("compatibility: ''\n", ("SK120", 4, 16)),
        (f"compatibility: {'x' * 501}\n", ("SK121", 4, 16)),
        ("license: [MIT]\n", ("SK130", 4, 10)),
        ("metadata: text\n", ("SK140", 4, 11)),
        ("metadata:\n  a: b\n  tags: [x]\n", ("SK143", 6, 9)),
        ("metadata:\n  a: {b: c}\n", ("SK141", 5, 6)),
        ("metadata:\n  a: 1.10\n", ("SK142", 5, 6)),
        ("metadata:\n  a: 2024-01-01\n", ("SK142", 5, 6)),
        ("allowed-tools:\n  - Read\n", ("SK150", 5, 3)),
        ("allowed-tools: Read, Grep\n", ("SK151", 4, 16)),
        ("allowed-tools: Bash(git\n", ("SK152", 4, 16)),
        ("Licence: MIT\n", ("SK160", 4, 1)),
        ("? [a]\n: b\n", ("SK161", 4, 3)),
        ("license: a\u200bb\n", ("SK162", 4, 10)),
        ("metadata:\n  a: b\u202ec\n", ("SK162", 5, 6)),
        ("tags:\n  a: b\n", ("SK301", 5, 3)),
        ("triggers:\n  patterns: ['[a']\n", ("SK302", 5, 13)),
        ("toolsets: nowhere\n", ("SK303", 4, 11)),
        ("metadata:\n  version: latest\n", ("SK304", 5, 12)),
        ("parameters:\n  x: {type: date}\n", ("SK305", 5, 6)),
        ("dependencies: [Other Skill]\n", ("SK306", 4, 15)),
        ("metadata:\n  requires: ./run\n", ("SK307", 5, 13)),
        ("metadata:\n  network: https://a.example/x\n", ("SK310", 5, 12)),
        ("metadata:\n  env: A=b\n", ("SK311", 5, 8)),
    ],
)
def test_a_problem_of_an_optional_field_is_reported_at_its_value(extra: str, place: tuple[str, int, int]) -> None:
    assert place in places(parsed(extra=extra))


def test_a_problem_has_all_that_a_person_needs() -> None:
    (found,) = parsed("name: My Skill\ndescription: d\n", folder=None).report
    assert (found.code, found.severity, found.file, found.line, found.column) == (
        "SK102",
        Severity.ERROR,
        "SKILL.md",
        2,
        7,
    )
    assert found.message == "the name 'My Skill' has characters other than a-z, 0-9 and -"
    assert found.hint == "use 'my-skill'"


def test_everything_is_found_in_one_pass_and_in_the_order_of_the_file() -> None:
    head = "name: My--Skill\ndescription: ''\nlicense: []\nmetadata: x\nallowed-tools: a(, b\nversion: x\ncolour: red\n"
    assert codes(parsed(head)) == [
        "SK102", "SK104", "SK105", "SK110", "SK130", "SK140", "SK152", "SK160", "SK304", "SK160",
    ]  # fmt: skip


def test_the_file_s_own_problems_come_with_those_of_its_fields() -> None:
    found = parse(b"\xef\xbb\xbf---\nname: other\ndescription: d\n---\n", folder="my-skill")
    assert codes(found) == ["SK014", "SK105"]


def test_lenient_weighs_the_same_problems_less() -> None:
    head = "name: Other\ndescription: d\ncolour: red\nmetadata:\n  a: 1\n"
    strict, lenient = parsed(head), parsed(head, verdict=Verdict.LENIENT)
    assert [one.code for one in strict.report.errors] == ["SK102", "SK105", "SK160"]
    assert [(one.code, one.severity.value) for one in lenient.report] == [("SK102", "warning"), ("SK105", "warning")]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_without_a_description_there_is_no_manifest_under_any_verdict(verdict: Verdict) -> None:
    for head in ("name: my-skill\n", "name: my-skill\ndescription: ' '\n", "name: my-skill\ndescription: [a]\n"):
        assert parsed(head, verdict=verdict).manifest is None


def test_the_folder_name_replaces_a_missing_name() -> None:
    found = parsed("description: d\n", folder="My Folder", verdict=Verdict.LENIENT)
    assert found.manifest is not None
    assert found.manifest.name == "My Folder"
    assert found.report.problems[0].hint == "add `name: my-folder`"


def test_without_name_and_folder_there_is_nothing_to_call_it_by() -> None:
    assert parsed("description: d\n", folder=None, verdict=Verdict.LENIENT).manifest is None


def test_name_and_description_are_trimmed() -> None:
    found = parsed('name: " my-skill "\ndescription: |\n\n  One\n\n')
    assert found.manifest is not None
    assert (found.manifest.name, found.manifest.description) == ("my-skill", "One")


@pytest.mark.parametrize("version", ["1.10", "1", "2024-01-01", "1e3"])
def test_a_version_stays_the_text_that_was_written(version: str) -> None:
    found = parsed(extra=f"version: {version}\nauthor: 007\n", verdict=Verdict.LENIENT)
    assert found.manifest is not None
    assert (found.manifest.extensions.version, found.manifest.extensions.author) == (version, "007")


def test_unknown_keys_are_kept_as_json() -> None:
    found = parsed(extra="priority: 5\nhooks: {pre: [true, ~, 1.5]}\n", verdict=Verdict.LENIENT)
    assert found.manifest is not None
    assert found.manifest.extra == {"priority": 5, "hooks": {"pre": [True, None, 1.5]}}


@pytest.mark.parametrize(("key", "near"), [("allowed_tools", "allowed-tools"), ("Description", "description")])
def test_a_key_that_is_nearly_right_is_named(key: str, near: str) -> None:
    (found,) = [one for one in parsed(extra=f"{key}: x\n").report if one.code == "SK160"]
    assert found.hint == f"write {near!r}"


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ("name: my-skill\ndescription: Use when: asked\n", "Use when: asked"),
        ("name: my-skill\ndescription: Use\n  when: asked\n  nicely\n", "Use when: asked nicely"),
        ("name: my-skill\ndescription: it's: so\nlicense: a: b\n", "it's: so"),
    ],
)
def test_an_unquoted_colon_is_understood_and_reported(head: str, description: str) -> None:
    found = parsed(head, verdict=Verdict.LENIENT)
    assert found.manifest is not None
    assert found.manifest.description == description
    assert set(codes(found)) == {"SK012"}
    assert all(one.severity is Severity.WARNING for one in found.report)


def test_an_unquoted_colon_in_a_list_item_is_understood_too() -> None:
    found = parsed(extra="steps:\n  - do: this: now\n", verdict=Verdict.LENIENT)
    assert found.manifest is not None
    assert found.manifest.extra == {"steps": [{"do": "this: now"}]}
    assert places(found) == [("SK012", 5, 9)]


def test_a_rescue_that_does_not_help_reports_the_first_error_only() -> None:
    found = parsed("name: my-skill\ndescription: when: asked\nlicense: [\n")
    assert (codes(found), found.manifest) == (["SK008"], None)


@pytest.mark.parametrize("extra", ["license: &l MIT\n", "license: !!str MIT\n", "metadata: {a: &a [*a]}\n", "name: x\n"])
def test_refused_yaml_is_never_loaded(extra: str) -> None:
    assert parsed(extra=extra, verdict=Verdict.LENIENT).manifest is None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\0", "SK004"),
        (b"---\nname: caf\xe9\n---\n", "SK003"),
        (b"\xff\xfe-\0-\0-\0", "SK004"),
        (b"", "SK005"),
        (b"---\n", "SK006"),
        (b"---\n" + b"a" * 70_000 + b"\n---\n", "SK007"),
        (b"---\n{\n---\n", "SK008"),
    ],
)
def test_bytes_that_are_not_a_skill_give_one_plain_reason(data: bytes, code: str) -> None:
    found = parse(data)
    assert (codes(found), found.manifest) == ([code], None)


def test_line_ends_do_not_move_a_problem() -> None:
    text = "---\nname: my-skill\ndescription: d\nlicense: []\n---\n"
    assert {tuple(places(parse(text.replace("\n", end).encode()))) for end in ("\n", "\r\n", "\r")} == {(("SK130", 4, 10),)}


@pytest.mark.parametrize(
    "data",
    [
        b"---\n" + b"a: b\n" * 200_000 + b"---\n",
        b"---\n" + b"".join(b"k%d: v\n" % n for n in range(8_000)) + b"---\n",
        b"---\nx: " + b"[" * 60_000 + b"\n---\n",
        b"---\nx: " + b"{a: " * 15_000 + b"\n---\n",
        b"---\n" + b"- " * 30_000 + b"\n---\n",
        b"---\nx: " + b"a: " * 20_000 + b"\n---\n",
        b"---\nallowed-tools: " + b"(" * 60_000 + b"\n---\n",
        b"---\n" * 200_000,
        b"\r" * 1_000_000,
        b" " * 1_000_000,
    ],
    ids=[
        "many-same-keys",
        "many-keys",
        "deep-list",
        "deep-map",
        "deep-items",
        "colons",
        "parentheses",
        "dashes",
        "cr",
        "spaces",
    ],
)
@pytest.mark.parametrize("folder", [None, "a"])
def test_no_shape_of_a_megabyte_takes_more_than_a_few_calls_for_each_byte(data: bytes, folder: str | None) -> None:
    assert count_calls(lambda: parse(data, folder=folder)) < 3 * len(data)


@given(st.binary())
def test_no_bytes_make_it_raise(data: bytes) -> None:
    parse(data)
    parse(b"---\n" + data + b"\n---\n", folder="a")


HEADS = st.text(alphabet="nabcd:-'\"[]{}|>&*!#?%, \n\t~0\u200bé\U000e0041", max_size=80)


@given(HEADS, st.sampled_from(list(Verdict)))
def test_no_frontmatter_makes_it_raise_and_every_problem_is_complete(text: str, verdict: Verdict) -> None:
    found = parsed(PLAIN, text + "\n", verdict=verdict)
    for one in found.report:
        assert one.code in CODES
        assert one.message
        assert one.file == "SKILL.md"
        assert one.line is not None
        assert 1 <= one.line <= text.count("\n") + 6
    assert found.manifest is not None or found.report.problems


@pytest.mark.parametrize("quote", ['"', "'"])
def test_an_unclosed_quote_is_reported_where_it_opens(quote: str) -> None:
    text = f"---\nname: pdf\ndescription: {quote}Fills forms.\nlicense: MIT\n---\n\nBody\n"
    (problem,) = parse(text.encode()).report
    assert (problem.code, problem.where) == ("SK008", "SKILL.md:3:14")
    assert problem.message == "not valid YAML: the quote that opens here is not closed"
    assert "quote" in problem.hint
