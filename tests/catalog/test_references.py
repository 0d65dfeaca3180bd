"""What the text of a skill relies on is found, and ordinary words are not."""

from __future__ import annotations

import pytest

from metier.catalog import References, missing_references, read_references
from metier.spec import Manifest
from metier.testing import FakeMachine


def read(body: str = "", **fields: object) -> References:
    return read_references(Manifest(name="pdf", description="x", **fields), body)  # type: ignore[arg-type]  # fields of a test


@pytest.mark.parametrize(
    "body",
    [
        "See [tables](../csv-tools/SKILL.md).",
        "Use the `csv-tools` skill first.",
        "Then invoke the **csv-tools** skill.",
        "Follow the csv-tools skill.",
        "The `csv-tools` skill reads them.",
        "Run `/csv-tools data.csv` before.",
    ],
)
def test_other_skills_are_found_in_the_text(body: str) -> None:
    assert read(body).skills == ("csv-tools",)


@pytest.mark.parametrize(
    "body",
    [
        "Use the right skill.", "This skill is good.", "Write to `/tmp`.", "Call `/api/users`.", "Run `/clear`.",
        "Use the `pdf` skill.", "See ../shared/notes.md.", "Use the Same skill.", "/usr/bin",
    ],
)  # fmt: skip
def test_ordinary_words_name_no_skill(body: str) -> None:
    assert read(body).skills == ()


def test_mcp_servers_come_from_tools_metadata_and_text() -> None:
    found = read(
        "Call `mcp__slack__post`.", allowed_tools=("mcp__github__create_issue", "Read"), metadata={"mcp-servers": "jira, x"}
    )
    assert found.servers == ("github", "jira", "x", "slack")


def test_known_commands_of_code_blocks_are_found() -> None:
    shell = "```bash\nsudo docker run x | jq .\nFOO=1 ffmpeg -i a && ls\n# git\nunknowntool\n```\n"
    body = f"{shell}\n```console\n$ pandoc a\ngit\n```\n\n```json\ngh\n```\n"
    assert read(body).commands == ("docker", "jq", "ffmpeg", "pandoc")


def test_only_what_is_missing_is_named() -> None:
    found = References(servers=("github", "jira"), skills=("a", "b"), commands=("git", "jq"))
    missing = missing_references(
        found, machine=FakeMachine(commands=frozenset({"git"})), has_skill={"a"}.__contains__, has_server={"jira"}.__contains__
    )
    assert missing == ("MCP server github", "skill b (named in its text)", "jq (in its code blocks; not on PATH)")
