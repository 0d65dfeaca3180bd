from __future__ import annotations

from metier.runtime.behaviour.steps import Language, plan_steps, read_sources
from metier.spec import MemoryFiles


def steps_of(**files: str) -> list[tuple[str, int | None, Language, tuple[str, ...], str]]:
    named = {path.replace("__", "/").replace("_dot_", "."): text.encode() for path, text in files.items()}
    found = plan_steps(read_sources(MemoryFiles(named), "a"))
    return [(step.file, step.line, step.language, step.arguments, step.code) for step in found]


def test_a_script_runs_with_the_examples_of_the_text_its_help_nothing_and_a_file() -> None:
    text = "Run:\n\n    python scripts/a.py --in data.csv --fast\n"
    found = steps_of(SKILL_dot_md=text, scripts__a_dot_py="import argparse\n")
    assert [arguments for _, _, _, arguments, _ in found] == [("--in", "data.csv", "--fast"), ("--help",), (), ("data.csv",)]


def test_a_script_without_arguments_runs_once() -> None:
    assert steps_of(scripts__a_dot_sh="echo hello\n") == [("scripts/a.sh", None, Language.SHELL, (), "")]


def test_blocks_of_shell_python_and_javascript_run_and_others_do_not() -> None:
    text = "```bash\nls\n```\n\n```json\n{}\n```\n\n```python\nprint(1)\n```\n\n```\nSome output\n```\n\n"
    text += "```\ncurl -s x.test\n```\n"
    assert [(line, language) for _, line, language, _, _ in steps_of(SKILL_dot_md=text)] == [
        (2, Language.SHELL),
        (10, Language.PYTHON),
        (18, Language.SHELL),
    ]


def test_of_a_session_the_commands_run_and_not_their_output() -> None:
    text = "```console\n$ echo one \\\n  two\none two\n$ ls\na.txt\n```\n"
    assert steps_of(SKILL_dot_md=text)[0][4] == "echo one \\\n  two\nls\n"


def test_tests_and_vendored_files_of_a_skill_do_not_run() -> None:
    assert steps_of(tests__test_a_dot_py="x = 1\n", node_modules__x__index_dot_js="1\n") == []
