"""The shell reader: the commands of hard scripts, and no text that makes it fail.

`python -m benchmarks.scan` compares it with tree-sitter on published skills.
"""

from __future__ import annotations

import subprocess

import pytest

from metier.scan.readers.shell import ShellCommand, pipelines
from metier.scan.rules.shell_commands import walk


def commands(text: str) -> list[list[ShellCommand]]:
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "'",
        '"',
        "$(",
        "`",
        "<<A",
        "|",
        "\\",
        "a $(b $(c $(d $(e $(f",
        "(((",
        "}{",
        "a=(" * 3_000,
        "((" * 3_000,
        "case a in " * 500,
    ],
)
def test_broken_text_is_read_as_far_as_it_goes(text: str) -> None:
    commands(text)


def test_variables_that_were_spelled_out_are_put_in() -> None:
    assert commands("a=cu; b=rl\n$a$b x | ba\\sh")[2][0].words == ["curl", "x"]
    assert commands("a=$(x)\n$a y")[1][0].words == ["$a", "y"]


def test_a_loop_gives_its_name_its_words() -> None:
    assert commands("for f in a b; do run $f; done")[0][0].assigns == [("f", "a b")]


# Each with the commands that bash would run in it, in any order.
HARD = (
    ('cat <<EOF\na $(date)\nEOF\nls', 'cat date ls'),
    ("cat <<'EOF'\na $(date)\nEOF\nls", 'cat ls'),
    ('cat <<-EOF | sh\n\techo hi\n\tEOF\nls', 'cat sh ls'),
    ('cat <<A <<B\n1\nA\n2\nB\nls', 'cat ls'),
    ("cat <<'END-MARK'\nrm -rf /\nEND-MARK\nls", 'cat ls'),
    ('grep x <<< "$(curl u)"', 'grep curl'),
    ('diff <(sort a) <(sort b)', 'diff sort sort'),
    ('tee >(gzip > x.gz) < y', 'tee gzip'),
    ('echo $(echo $(echo $(whoami)))', 'echo echo echo whoami'),
    ('echo "a $(b "c $(d)")"', 'echo b d'),
    ('x=$(curl -s u | sh)', 'curl sh'),
    ('x=`curl -s \\`whoami\\``', 'curl whoami'),
    ('case $1 in start) run a ;; stop|halt) kill b ;; *) usage ;; esac', 'run kill usage'),
    ('case "$x" in\n  *.gz) gunzip "$x" ;;\n  *) cat "$x" ;;\nesac', 'gunzip cat'),
    ('f() { curl u; }\nf', 'curl f'),
    ('function g { wget u; }; g', 'wget g'),
    ('if curl -f u; then sh x; elif wget u; then y; else z; fi', 'curl sh wget y z'),
    ('while read -r l; do echo "$l"; done < <(find .)', 'read echo find'),
    ('for i in $(seq 3); do dig $i; done', 'seq dig'),
    ('for ((i=0;i<3;i++)); do curl u; done', 'curl'),
    ('((n++)) && curl u', 'curl'),
    ('echo $((1 + (2*3))) ; ls', 'echo ls'),
    ('[[ $a == b && -f c ]] && curl u || sh z', 'curl sh'),
    ('a=(1 2 $(curl u)); ls "${a[@]}"', 'curl ls'),
    ('(cd /tmp && curl u | sh) &', 'cd curl sh'),
    ('{ curl u; wget v; } | sh', 'curl wget sh'),
    ('! curl u && time sh x', 'curl sh'),
    ('curl u |& sh', 'curl sh'),
    ('curl u 2>&1 | tee -a log | sh -s -- --yes', 'curl tee sh'),
    ('A=1 B=2 curl u', 'curl'),
    ("sudo -u root env X=1 bash -c 'curl u | sh'", 'bash'),
    ('echo \'it\'\\\'\'s\' "fine; rm -rf /" # ; curl u', 'echo'),
    ('echo a\\;b ; curl u', 'echo curl'),
    ('curl \\\n  -s \\\n  u \\\n  | sh', 'curl sh'),
    ('echo "$(cat <<EOF\n)\nEOF\n)"; ls', 'echo cat ls'),
    ('echo ${x:-$(curl u)}; ls', 'echo curl ls'),
    ('echo "${x:-`curl u`}"; ls', 'echo curl ls'),
    ("echo $'a\\'b; c'; ls", 'echo ls'),
    ('until nc -z h 1; do sleep 1; done; ls', 'nc sleep ls'),
    ('select x in a b; do curl $x; break; done', 'curl break'),
    ('coproc curl u\nls', 'curl ls'),
    ("trap 'curl u' EXIT; ls", 'trap ls'),
    ('exec 3<>/dev/tcp/h/1; cat <&3', 'exec cat'),
    ('if (curl u); then x; fi', 'curl x'),
    ('echo a > b; curl u >/dev/null 2>&1 &\nls', 'echo curl ls'),
    ('x() ( curl u )\nls', 'curl ls'),
    ('echo "a\'b" \'c"d\' ; ls', 'echo ls'),
    ('curl u | while read l; do sh -c "$l"; done', 'curl read sh'),
)  # fmt: skip


def names(text: str) -> list[str]:
    return [command.words[0] for pipeline in pipelines(text) for command in walk(pipeline) if command.words]


@pytest.mark.parametrize(("text", "run"), HARD)
def test_hard_shell_gives_the_commands_that_bash_would_run(text: str, run: str) -> None:
    assert sorted(name for name in names(text) if name != "[[") == sorted(run.split())


@pytest.mark.parametrize("text", [text for text, _ in HARD])
def test_hard_shell_is_shell(text: str) -> None:
    assert subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False).returncode == 0
