from __future__ import annotations

import subprocess
import sys

import pytest

from metier.selection.index_document import split_negative
from metier.selection.stem import stem
from metier.selection.tokenization import split_sentences, split_words, word_terms


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("relational", "relat"),
        ("hopping", "hop"),
        ("sized", "size"),
        ("sky", "sky"),
    ],
)
def test_stems_are_porters(word: str, wanted: str) -> None:
    assert stem(word) == wanted


@pytest.mark.parametrize(
    "family",
    [
        ("analyze", "analyse", "analysis", "analyses", "analysing"),
        ("deploy", "deployment", "deploying"),
        ("verify", "verification"),
        ("write", "writer", "written", "writing"),
        ("behavior", "behaviour"),
        ("kubernetes", "k8s"),
        ("summarize", "summarise", "summarising", "summarised"),
        ("organizations", "organisations"),
        ("dotnet", ".net"),
        ("csharp", "c#"),
    ],
)
def test_forms_of_one_word_share_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize("word", ["promise", "promised", "enterprise", "expertise", "sunrise", "raise", "precise", "otherwise"])
def test_what_only_ends_like_a_british_verb_stays(word: str) -> None:
    assert "z" not in stem(word)
    assert stem(word).startswith(word[:6].removesuffix("e"))


def test_a_platform_that_begins_with_a_dot_is_not_a_domain() -> None:
    assert split_words("port it to .NET 9 (.net Core), see example.net and ASP.NET") == [
        "port", "it", "to", ".NET", "9", ".net", "Core", "see", "example", "net", "and", "ASP", "NET",
    ]  # fmt: skip
    assert word_terms(".NET") == ("dotnet", "net")


def test_related_forms_share_a_stem() -> None:
    assert len({stem(word) for word in ("connect", "connected", "connecting", "connection", "connections")}) == 1


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("camelCase", ("camelcas", "camel", "case")),
        ("HTTPServer", ("httpserver", "http", "server")),
        ("python3", ("python3", "python")),
        ("C++", ("cpp",)),
        ("the", ()),
        ("Café", ("cafe",)),
        ("合并文件", ("合并", "并文", "文件")),
    ],
)
def test_a_word_is_kept_whole_and_in_parts(word: str, wanted: tuple[str, ...]) -> None:
    assert word_terms(word) == wanted


def test_hyphens_and_underscores_part_words() -> None:
    assert split_words("kebab-case snake_case") == ["kebab", "case", "snake", "case"]


def test_sentences_end_where_a_reader_stops() -> None:
    assert split_sentences("Fill forms. Merge files; split them\nUse often") == [
        "Fill forms.",
        "Merge files;",
        "split them",
        "Use often",
    ]


@pytest.mark.parametrize(
    ("text", "negative"),
    [
        ("Write letters. Not for contracts. Also poems.", "contracts"),
        ("Write letters. Do NOT use when the user asks for poems.", "poems"),
        ("Letters (not for legal mail) and cards", "legal mail"),
        ("Letters. Skip when typing code; cards are fine", "typing code"),
        ("Don't use for spreadsheets", "spreadsheets"),
    ],
)
def test_clauses_that_say_when_not_are_read_as_such(text: str, negative: str) -> None:
    kept, against = split_negative(text)
    assert negative in against
    assert negative not in kept


def test_a_description_without_such_a_clause_is_kept_whole() -> None:
    text = "Notes for knots, nothing else. Use when tying."
    assert split_negative(text) == (text, "")


def test_importing_the_package_does_not_import_numpy() -> None:
    code = "import sys, metier.selection; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
