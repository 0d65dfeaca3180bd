"""Command lines read from the text of scripts, and arguments turned into words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metier.runtime import BadArgumentsError
from metier.runtime.scripts.script import is_script, read_script, scripts_of
from metier.sources import BUNDLED, load_folder
from metier.spec import FileEntry
from metier.testing import skill_folder


def properties(source: str, path: str = "scripts/go.py") -> dict[str, Any]:
    schema: dict[str, Any] = read_script(source, path).command_line.schema()
    found: dict[str, Any] = schema["properties"]
    return found


def words(source: str, path: str = "scripts/go.py", /, **values: Any) -> list[str]:
    return list(read_script(source, path).command_line.words(values))


ARGPARSE = '''
"""Draw a chart.

More about it.
"""
import argparse

def more(parser):
    add = parser.add_argument
    add("--limit", type=int, default=20, help="most bars")
    add("--kind", choices=("bar", "line"), required=True)

def main():
    parser = argparse.ArgumentParser(description="Draw.")
    parser.add_argument("file", help="the data")
    parser.add_argument("rest", nargs="*")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--y", action="append")
    parser.add_argument("--colour", action=argparse.BooleanOptionalAction)
    parser.add_argument("--version", action="version", version="1")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--ratio", type=float)
    more(parser)
    return parser.parse_args()
'''


def test_argparse_is_read_from_the_tree() -> None:
    script = read_script(ARGPARSE, "scripts/go.py")
    assert script.description == "Draw a chart."
    assert script.command_line.schema() == {
        "type": "object",
        "additionalProperties": False,
        "required": ["file", "kind"],
        "properties": {
            "file": {"type": "string", "description": "the data"},
            "rest": {"type": "array", "items": {"type": "string"}},
            "quiet": {"type": "boolean"},
            "y": {"type": "array", "items": {"type": "string"}},
            "colour": {"type": "boolean"},
            "ratio": {"type": "number"},
            "limit": {"type": "integer", "default": 20, "description": "most bars"},
            "kind": {"type": "string", "enum": ["bar", "line"]},
        },
    }


def test_arguments_become_the_words_that_argparse_reads() -> None:
    made = words(
        ARGPARSE, file="-x.csv", rest=["a b"], quiet=True, y=["one", "--two"], colour=False, ratio=1.5, limit=3, kind="bar"
    )
    assert made == [
        "--quiet",
        "--y=one",
        "--y=--two",
        "--no-colour",
        "--ratio=1.5",
        "--limit=3",
        "--kind=bar",
        "--",
        "-x.csv",
        "a b",
    ]
    code = ARGPARSE + "\nprint(vars(main()))\n"
    done = subprocess.run([sys.executable, "-c", code, *made], capture_output=True, text=True, check=True)
    assert "'file': '-x.csv'" in done.stdout
    assert "'y': ['one', '--two']" in done.stdout


@pytest.mark.parametrize(("values", "said"), [
    ({"kind": "bar"}, "file is missing"),
    ({"file": "x", "kind": "pie"}, "kind should be one of bar, line"),
    ({"file": "x", "kind": "bar", "limit": "3"}, "limit should be of type integer"),
    ({"file": "x", "kind": "bar", "shell": "rm"}, "unknown argument 'shell'"),
])  # fmt: skip
def test_arguments_are_held_against_the_schema(values: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgumentsError, match=said):
        words(ARGPARSE, **values)


SUBCOMMANDS = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--verbose", action="store_true")
commands = p.add_subparsers(dest="command")
a = commands.add_parser("add", help="add one")
b = commands.add_parser("drop", help="drop one")
for each in (a, b):
    each.add_argument("name")
a.add_argument("--size", type=int, required=True)
"""


def test_sub_commands_are_a_choice_and_each_has_its_own_options() -> None:
    schema: dict[str, Any] = read_script(SUBCOMMANDS, "scripts/x.py").command_line.schema()
    assert schema["properties"]["command"] == {
        "type": "string",
        "enum": ["add", "drop"],
        "description": "add: add one; drop: drop one",
    }
    assert schema["properties"]["size"]["description"] == "For add."
    assert schema["required"] == ["command", "name"]
    assert words(SUBCOMMANDS, command="add", name="x", size=3, verbose=True) == ["--verbose", "add", "--size=3", "x"]
    with pytest.raises(BadArgumentsError, match="unknown argument 'size'"):
        words(SUBCOMMANDS, command="drop", name="x", size=3)
    with pytest.raises(BadArgumentsError, match="size is missing"):
        words(SUBCOMMANDS, command="add", name="x")


CLICK = '''
import click

@click.command()
@click.argument("source")
@click.option("--count", "-n", type=int, default=1, help="How often.")
@click.option("--loud/--quiet", default=False)
@click.option("--kind", type=click.Choice(["a", "b"]), required=True)
@click.option("--tag", multiple=True)
def main(source, count, loud, kind, tag):
    """Copy it."""
'''


def test_click_is_read_from_its_decorators() -> None:
    found = properties(CLICK)
    assert list(found) == ["source", "count", "loud", "kind", "tag"]
    assert found["count"] == {"type": "integer", "default": 1, "description": "How often."}
    assert words(CLICK, source="x", kind="a", loud=False, tag=["p", "q"]) == ["--quiet", "--kind=a", "--tag=p", "--tag=q", "x"]


TYPER = '''
from typing import Annotated, Optional
import typer
app = typer.Typer()

@app.command()
def main(name: str, count: int = 1, dry_run: bool = False, size: Optional[float] = None,
         tags: Annotated[list[str], typer.Option(help="Tags.")] = [], out: str = typer.Option(..., "--out", "-o")):
    """Greet a person."""
'''


def test_typer_is_read_from_the_signature() -> None:
    found = properties(TYPER)
    assert found["size"] == {"type": "number"}
    assert found["tags"] == {"type": "array", "items": {"type": "string"}, "description": "Tags."}
    assert read_script(TYPER, "scripts/x.py").command_line.schema()["required"] == ["name", "out"]
    assert words(TYPER, name="Ada", dry_run=True, out="f") == ["--dry-run", "--out=f", "Ada"]


def test_a_usage_line_and_type_hints_are_enough() -> None:
    source = '''"""
Render a JavaScript page and return HTML.

Usage: python render_page.py <url> [--depth N] [--json]
"""
import sys
def render_page(url: str, depth: int) -> str: ...
'''
    script = read_script(source, "scripts/render_page.py")
    assert script.description == "Render a JavaScript page and return HTML."
    assert script.command_line.schema()["properties"] == {
        "url": {"type": "string"},
        "depth": {"type": "integer"},
        "json": {"type": "boolean"},
    }
    assert script.command_line.words({"url": "https://x", "depth": 2, "json": True}) == ("--depth", "2", "--json", "https://x")


SHELL = """#!/bin/sh
# Convert images.
#
# Usage: convert.sh [-q|--quality N] [--force] [--to <png|jpg>] <input> [output...]
#   -q, --quality N   how good it should be
"""


def test_a_usage_comment_of_a_shell_script_is_read() -> None:
    assert properties(SHELL, "scripts/convert.sh") == {
        "quality": {"type": "integer", "description": "how good it should be"},
        "force": {"type": "boolean"},
        "to": {"type": "string", "enum": ["png", "jpg"]},
        "input": {"type": "string"},
        "output": {"type": "array", "items": {"type": "string"}},
    }
    assert words(SHELL, "scripts/convert.sh", input="a", output=["b"], to="png") == ["--to", "png", "a", "b"]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("echo hi\n", "scripts/x.sh"),
        ("console.log(1)", "scripts/x.js"),
        ("print(1)\n", "scripts/x.py"),
        ("def broken(:\n", "scripts/x.py"),
        ("", "scripts/x.py"),
        ("\0", "scripts/x.py"),
        ("# Usage: something else entirely\n", "scripts/x.sh"),
    ],
)
def test_a_script_that_says_nothing_takes_a_plain_list(source: str, path: str) -> None:
    assert list(properties(source, path)) == ["args"]
    assert words(source, path, args=["a b", "-c", "$(id)"]) == ["a b", "-c", "$(id)"]


def test_a_script_is_never_run_to_learn_about_it(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    skill_folder(
        tmp_path, "evil", files={"scripts/x.py": f"import argparse\nopen({str(mark)!r}, 'w')\nargparse.ArgumentParser()\n"}
    )
    assert scripts_of(load_folder(tmp_path / "evil"))[0].path == "scripts/x.py"
    assert not mark.exists()


def test_a_hostile_tree_costs_neither_time_nor_the_session() -> None:
    assert list(properties("import argparse\nx = " + "(" * 5_000 + ")" * 5_000)) == ["args"]
    recursive = "import argparse\np = argparse.ArgumentParser()\np.add_argument('a')\ndef f(q):\n    f(q)\n    f(q)\nf(p)\n"
    assert list(properties(recursive)) == ["a"]


def test_tool_names_are_what_every_provider_takes_and_no_two_are_equal(tmp_path: Path) -> None:
    files = {
        "scripts/run.py": "",
        "scripts/run.sh": "",
        "scripts/sub/deep name.py": "",
        "scripts/ü.py": "",
        f"scripts/{'x' * 80}.py": "",
    }
    folder = skill_folder(tmp_path, "a-skill", files=files)
    tools = [script.tool_name for script in scripts_of(load_folder(folder))]
    assert "a-skill_run" in tools
    assert "a-skill_run_sh" in tools
    assert len(set(tools)) == len(tools) == 5
    assert all(len(tool) <= 64 and tool.replace("_", "").replace("-", "").isascii() for tool in tools)


@pytest.mark.parametrize(
    ("path", "executable", "expected"),
    [
        ("scripts/a.py", False, True),
        ("scripts/a", True, True),
        ("scripts/a", False, False),
        ("scripts/a.json", True, False),
        ("scripts/_helper.py", False, False),
        ("scripts/.hidden.py", False, False),
        ("references/a.py", False, False),
        ("scripts/a.ts", False, True),
    ],
)
def test_what_counts_as_a_script(path: str, executable: bool, expected: bool) -> None:
    assert is_script(FileEntry(path=path, size=1, executable=executable)) is expected


@pytest.mark.parametrize("name", ["data-analysis", "web-scraping"])
def test_the_bundled_scripts_are_read_whole(name: str) -> None:
    [script] = scripts_of(load_folder(f"{BUNDLED}/{name}"))
    schema: dict[str, Any] = script.command_line.schema()
    assert len(schema["properties"]) >= 15
    assert script.description.endswith(".")


OWN_WORDS = '''
"""Draw a histogram.

{docs}
"""
import sys

def main(path, bins=10):
    pass

main(*sys.argv[1:])
'''


@pytest.mark.parametrize(
    "docs",
    ["Args:\n    path (str): The table,\n        with a header.\n    bins (int, optional): Number of bars.",
     "Parameters\n----------\npath : str\n    The table,\n    with a header.\nbins : int, optional\n    Number of bars.",
     ":param str path: The table,\n    with a header.\n:param bins: Number of bars.\n:type bins: int, optional"],
    ids=["google", "numpy", "sphinx"],
)  # fmt: skip
def test_the_arguments_of_a_script_that_parses_its_own_words_come_from_its_docstring(docs: str) -> None:
    source = OWN_WORDS.format(docs=docs)
    assert properties(source) == {
        "path": {"type": "string", "description": "The table, with a header."},
        "bins": {"type": "integer", "description": "Number of bars."},
    }
    assert words(source, path="a.csv", bins=5) == ["a.csv", "5"] == words(source, bins=5, path="a.csv")
    assert read_script(source, "scripts/go.py").description == "Draw a histogram."


def test_the_docstring_of_main_is_read_with_its_signature() -> None:
    source = '''
import sys
def main(path: str, bins: int = 10) -> None:
    """Draw.

    Args:
        path: The table.
        bins: Number of bars.
    """
main(sys.argv[1], int(sys.argv[2]))
'''
    schema = read_script(source, "scripts/go.py").command_line.schema()
    assert schema["required"] == ["path"]
    assert properties(source)["bins"] == {"type": "integer", "description": "Number of bars."}


def test_a_documented_argument_that_the_script_spells_with_dashes_is_an_option() -> None:
    source = (
        '"""Draw.\n\nArgs:\n    path: The table.\n    max_rows (int): Most.\n    quiet (bool): No output.\n"""\nimport sys\n'
    )
    source += 'if "--quiet" in sys.argv: pass\nat = sys.argv.index("--max-rows")\n'
    assert words(source, path="a.csv", max_rows=3, quiet=True) == ["--max-rows", "3", "--quiet", "a.csv"]


def test_main_that_takes_the_whole_command_line_documents_no_arguments() -> None:
    source = 'import sys\ndef main(argv):\n    """Go.\n\n    Args:\n        argv: All words.\n    """\nmain(sys.argv)\n'
    assert list(properties(source)) == ["args"]


def test_a_docstring_of_a_script_that_reads_no_arguments_is_not_a_command_line() -> None:
    assert list(properties('"""Go.\n\nArgs:\n    path: Of the module\'s functions.\n"""\n')) == ["args"]


def test_docstrings_describe_the_arguments_of_a_parser() -> None:
    source = '''
"""Draw.

Args:
    file: The table.
    limit: Most bars.
"""
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--limit", type=int, help="its own help")
parser.parse_args()
'''
    found = properties(source)
    assert (found["file"]["description"], found["limit"]["description"]) == ("The table.", "its own help")


def test_docstrings_describe_the_arguments_of_a_usage_line_and_of_typer() -> None:
    usage = '"""Draw.\n\nUsage: go.py <file>\n\nArgs:\n    file: The table.\n"""\n'
    typer = 'import typer\ndef main(file: str, limit: int = 3):\n    """Draw.\n\n    :param limit: Most bars.\n    """\n'
    typer += "typer.run(main)\n"
    assert properties(usage)["file"]["description"] == "The table."
    assert properties(typer)["limit"]["description"] == "Most bars."


@pytest.mark.parametrize("suffix", ["js", "ts", "mjs"])
def test_jsdoc_describes_the_arguments_of_a_script(suffix: str) -> None:
    source = """#!/usr/bin/env node
/**
 * Draw a histogram.
 *
 * @param {string} path - The table.
 * @param {number} [bins=10] - Number of bars.
 */
import fs from "node:fs";

/**
 * @param {string} text - Something else.
 */
function helper(text) {}

const [path, bins] = process.argv.slice(2);
"""
    script = read_script(source, f"scripts/go.{suffix}")
    assert script.description == "Draw a histogram."
    assert script.command_line.schema() == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The table."},
            "bins": {"type": "number", "description": "Number of bars.", "default": 10},
        },
        "additionalProperties": False,
        "required": ["path"],
    }
    assert script.command_line.words({"path": "a.csv", "bins": 5}) == ("a.csv", "5")


def test_jsdoc_above_main_wins_and_parse_args_makes_options() -> None:
    source = """
/** @param {string} x - Of a helper. */
function helper(x) {}
/**
 * @param {number} bins - Number of bars.
 * @param {boolean} quiet - No output.
 */
async function main({ bins, quiet }) {}
const { values } = parseArgs({ options: { bins: { type: "string" }, quiet: { type: "boolean" } } });
await main(values);
"""
    assert list(properties(source, "scripts/go.js")) == ["bins", "quiet"]
    assert words(source, "scripts/go.js", bins=-5, quiet=True) == ["--bins=-5", "--quiet"]
