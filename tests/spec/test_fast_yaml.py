"""The fast parser answers only where the slow one would find nothing to report."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import Manifest, Verdict, split_document
from metier.spec.fast_yaml import fast_fields
from metier.spec.manifest import manifest_from
from metier.spec.parse import parse_with_positions

PLAIN = "name: my-skill\ndescription: Fills forms. Use when asked.\n"


def fast(extra: str = "", head: str = PLAIN, folder: str = "my-skill") -> Manifest | None:
    found = fast_fields(head + extra, folder)
    if found is None:
        return None
    manifest, odd = manifest_from(found.fields, name=folder, description=found.fields["description"].strip())
    assert odd == ()
    return manifest


def slow(extra: str = "", head: str = PLAIN, folder: str = "my-skill") -> Manifest | None:
    return parse_with_positions(split_document(f"---\n{head}{extra}---\n".encode()), folder, Verdict.LENIENT).manifest


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "license: MIT\ncompatibility: Requires git\n",
        "allowed-tools: Read Bash(git:*)\n",
        "metadata:\n  author: Ann\n  version: '1.0'\n",
        "metadata: {author: Ann}\n",
        "user-invocable: false\n",
        "tags: [pdf, forms]\n",
        "triggers:\n  keywords: [pdf]\n",
        "# a comment on a line of its own\n",
        "homepage: https://example.com\n",
    ],
)
def test_a_clean_frontmatter_is_answered_as_the_slow_parser_does(extra: str) -> None:
    assert fast(extra) is not None
    assert fast(extra) == slow(extra)


@pytest.mark.parametrize(
    "head",
    [
        "description: Fills forms.\n",
        "name: my-skill\n",
        "name: other\ndescription: Fills forms.\n",
        "name: my-skill\ndescription: ''\n",
        "name: my-skill\ndescription: null\n",
        "name: my-skill\ndescription: 12\n",
        "name: my-skill\ndescription: [a]\n",
        "name: my-skill\ndescription: when: asked\n",
        "name: my-skill\ndescription: forms # all\n",
        "name: my-skill\ndescription:\tforms\n",
        'name: my-skill\ndescription: "bell \\u0007"\n',
        "name: my-skill\ndescription: zero\u200bwidth\n",
        f"name: my-skill\ndescription: {'x' * 1025}\n",
        "- name\n",
        "name\n",
        "",
        "name: my-skill\nname: my-skill\ndescription: d\n",
        "name: my-skill\ndescription: [\n",
    ],
)
def test_a_frontmatter_with_a_problem_is_left_to_the_slow_parser(head: str) -> None:
    assert fast(head=head) is None


@pytest.mark.parametrize(
    "extra",
    [
        "license: &l MIT\n",
        "license: *l\n",
        "license: !!str MIT\n",
        "<<: {a: b}\n",
        "license: ''\n",
        "license: 3\n",
        "compatibility: ' '\n",
        f"compatibility: {'x' * 501}\n",
        "allowed-tools: Read, Grep\n",
        "allowed-tools: Bash(git\n",
        "metadata: text\n",
        "metadata:\n  version: 1.0\n",
        "version: latest\n",
        "version: 1.10\n",
        "priority: 5\n",
        "user-invocable: perhaps\n",
    ],
)
def test_an_odd_field_is_left_to_the_slow_parser(extra: str) -> None:
    assert fast(extra) is None


@pytest.mark.parametrize("folder", ["My-Skill", "my_skill", "-my-skill", "навык", "a" * 65])
def test_a_name_that_breaks_the_rules_is_left_to_the_slow_parser(folder: str) -> None:
    assert fast(head=f"name: {folder}\ndescription: Fills forms.\n", folder=folder) is None


WORDS = st.text(alphabet="abc é.,'-()[]/%@=~", min_size=1, max_size=30)


@given(description=WORDS, licence=WORDS, label=WORDS)
def test_the_fast_parser_agrees_with_the_slow_one(description: str, licence: str, label: str) -> None:
    head = f"name: my-skill\ndescription: {description}\nlicense: {licence}\nmetadata:\n  label: {label}\n"
    answer = fast(head=head)
    assert answer is None or answer == slow(head=head)


@pytest.mark.parametrize("extra", ["allowed-tools: [Read, 'Bash(git add *)']\n", "metadata:\n  tags: [a, b]\n"])
def test_a_list_where_text_belongs_is_read_and_marked(extra: str) -> None:
    found = fast_fields(PLAIN + extra, "my-skill")
    assert found is not None
    assert found.warned
    assert fast(extra) == slow(extra)


@pytest.mark.parametrize("run", ["- ", "? ", ": ", "-  ", "- ? ", "- : "])
def test_a_deeply_nested_frontmatter_does_not_overflow_the_stack(run: str) -> None:
    # In a process of its own: yaml-rs would end this one.
    code = "import sys; from metier.spec import parse; print(parse(sys.stdin.buffer.read(), folder='x').manifest)"
    data = b"---\n" + (run * 30_000)[:65_000].encode() + b"\n---\n"
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"None\n")


def test_indentation_is_followed_only_so_deep() -> None:
    levels = "".join(" " * (2 + at) + "a:\n" for at in range(80))
    assert fast("metadata:\n  note: x\nmore:\n" + levels) is None


PARSES_ON_THREADS = """
import threading
from metier.spec import parse

def run():
    for _ in range(50):
        assert parse(b"---\\nname: pdf\\ndescription: Reads PDF files\\nmetadata:\\n  version: 1.0.0\\n---\\n").manifest

for _ in range(100):
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_a_program_that_parses_first_on_a_thread_that_ends_does_not_crash() -> None:
    assert subprocess.run([sys.executable, "-c", PARSES_ON_THREADS], check=False, timeout=300).returncode == 0
