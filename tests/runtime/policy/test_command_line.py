"""The reader of command lines, compared with bash and with tree-sitter over the whole corpus."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from metier.runtime.policy.command_line import read_command_line
from metier.runtime.policy.patterns import plain_words
from metier.runtime.policy.shell_words import globs_meet

from .corpus import rows

COMMANDS = list(dict.fromkeys(row.command for row in rows()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("git log", [["git", "log"]]),
        ("git 'a b' \"c d\" e''f", [["git", "a b", "c d", "ef"]]),
        ("a; b && c | d || e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("echo $(a b)", [["a", "b"], ["echo", "$(a b)"]]),
        ('echo "x $(a "$(b)") y"', [["b"], ["a", "$(b)"], ["echo", 'x $(a "$(b)") y']]),
        ("echo `a b`", [["a", "b"], ["echo", "`a b`"]]),
        ("diff <(a) >(b)", [["a"], ["b"], ["diff", "<(a)", ">(b)"]]),
        ("A=1 b 2>c <d >>e f", [["b", "f"]]),
        ("cat <<E\n$(a) it's\nE\nb", [["cat"], ["a"], ["b"]]),
        ("cat <<'E'\n$(a)\nE", [["cat"]]),
        ("f() { a; }", [["f"], ["a"]]),
        ("echo ${x:-$(a)}", [["a"], ["echo", "${x:-$(a)}"]]),
        ("a \\\n b # c", [["a", "b"]]),
        ("echo a#b", [["echo", "a#b"]]),
    ],
)
def test_every_command_of_a_line_is_found(text: str, words: list[list[str]]) -> None:
    line = read_command_line(text)
    assert [[word.text for word in command.words] for command in line.commands if command.words] == words
    assert not line.is_broken


@pytest.mark.parametrize(
    "text", ["a 'b", 'a "b', "a $(b", "a `b", "a ${b", "a $'b", "x\0y", "$(" * 20 + ")" * 20, "a" * 30_000]
)
def test_a_line_that_cannot_be_read_to_its_end_is_broken(text: str) -> None:
    assert read_command_line(text).is_broken


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("p?sh", "push", True),
        ("p?sh", "pull", False),
        ("*.py", ".env", False),
        ("a*c", "*b*", True),
        ("[*]", "x", False),
        ("[*]", "*", True),
        ("[ab]x", "bx", True),
        ("", "", True),
        ("", "*", True),
        ("a", "", False),
    ],
)
def test_two_globs_meet_if_some_text_matches_both(one: str, other: str, expected: bool) -> None:
    assert globs_meet(one, other) is expected
    assert globs_meet(other, one) is expected


def test_a_star_of_a_shell_stops_at_a_slash() -> None:
    assert globs_meet("*.py", "/etc/*")
    assert not globs_meet("*.py", "/etc/*", crosses=False)


def test_bash_reads_the_same_words_from_every_plain_command_of_the_corpus() -> None:
    plain = [command for command in COMMANDS if plain_words(command)]
    assert len(plain) > 700
    # A builtin prints the words, so no program of the corpus starts.
    script = "\n".join(f"printf '%s\\0' {command}\nprintf '\\n\\0'" for command in plain)
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    found = [tuple(part.split("\0")[:-1]) for part in done.stdout.split("\n\0")[:-1]]
    assert found == [plain_words(command) for command in plain]


def test_bash_refuses_every_broken_command_of_the_corpus() -> None:
    broken = [command for command in COMMANDS if read_command_line(command).is_broken]
    accepted = [
        command
        for command in broken
        if subprocess.run(["bash", "-n", "-c", command], capture_output=True, timeout=60, check=False).returncode == 0
    ]
    assert len(broken) > 3
    assert accepted == []


def test_every_command_that_tree_sitter_finds_in_the_corpus_is_found() -> None:
    parser = Parser(Language(tree_sitter_bash.language()))
    missing = []
    for command in COMMANDS:
        line = read_command_line(command)
        tree = parser.parse(command.encode())
        if line.is_broken or tree.root_node.has_error:
            continue
        ours = {word.text for each in line.commands for word in each.words}
        missing += [(command, name) for name in _names(tree.root_node) if name not in ours]
    assert missing == []


def _names(node: Node) -> Iterator[str]:
    if node.type == "command_name" and node.text is not None and node.children and node.children[0].type == "word":
        text = node.text.decode()
        if "\\" not in text:
            yield text
    for child in node.children:
        yield from _names(child)
