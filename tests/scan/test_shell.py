"""The shell reader: enough of the grammar to judge, and no text that stops it."""

from __future__ import annotations

import pytest

from metier.scan.shell.reader import Command, pipelines


def commands(text: str) -> list[list[Command]]:
    return list(pipelines(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'a b' \"c d\" e\\ f", [["echo", "a b", "c d", "e f"]]),
        ("a && b || c; d", [["a"], ["b"], ["c"], ["d"]]),
        ("$ git status", [["git", "status"]]),
        ("if [ -f x ]; then run; fi", [["[", "-f", "x", "]"], ["run"]]),
        ("sudo -u root rm x", [["rm", "x"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("# a comment\nrun # another", [["run"]]),
        ("printf $'\\x63url'", [["printf", "curl"]]),
    ],
)
def test_words_and_operators(text: str, words: list[list[str]]) -> None:
    assert [command.words for pipeline in commands(text) for command in pipeline] == words


def test_a_pipe_joins_commands() -> None:
    assert [[command.name for command in pipeline] for pipeline in commands("a | b | /bin/c; d")] == [["a", "b", "c"], ["d"]]


@pytest.mark.parametrize("text", ['x "$(inner a)"', "x `inner a`", "x <(inner a)", "X=$(inner a)"])
def test_a_substitution_is_a_command_of_its_own(text: str) -> None:
    assert commands(text)[0][0].inner[0][0].words == ["inner", "a"]


def test_redirections_and_here_documents_hang_on_their_command() -> None:
    command = commands("cat <<EOF > ~/.profile\nexport A=1\nEOF\nnext")[0][0]
    assert command.redirects == [(">", "~/.profile")]
    assert command.body == "export A=1\n"
    assert commands("cat <<EOF\nx\nEOF\nnext")[1][0].words == ["next"]


@pytest.mark.parametrize("text", ["", "'", '"', "$(", "`", "<<A", "|", "\\", "a $(b $(c $(d $(e $(f", "(((", "}{"])
def test_broken_text_is_read_as_far_as_it_goes(text: str) -> None:
    commands(text)


def test_variables_that_were_spelled_out_are_put_in() -> None:
    assert commands("a=cu; b=rl\n$a$b x | ba\\sh")[2][0].words == ["curl", "x"]
    assert commands("a=$(x)\n$a y")[1][0].words == ["$a", "y"]


def test_a_loop_gives_its_name_its_words() -> None:
    assert commands("for f in a b; do run $f; done")[0][0].assigns == [("f", "a b")]
