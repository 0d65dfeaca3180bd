"""Rules, commands, prompts and sections become skills that are valid and say when to use them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.hosts import ConvertedSkill, convert_file, is_convertible
from metier.spec import SKILL_FILE, MemoryFiles, check, load


def converted(path: str, text: str) -> ConvertedSkill:
    (skill,) = convert_file(path, text.encode())
    return skill


def description(skill: ConvertedSkill) -> str:
    files = MemoryFiles({SKILL_FILE: skill.text.encode()})
    assert check(files, folder=skill.name).ok, skill.text
    return load(files, folder=skill.name).description


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("description: Style\nglobs: *.ts,*.tsx", "Style. Use when working on files that match *.ts, *.tsx."),
        ('globs: ["src/**/*.{ts,js}"]', "Prefer const. Use when working on files that match src/**/*.{ts,js}."),
        ("globs:\n  - a.py\n  - b.py", "Prefer const. Use when working on files that match a.py, b.py."),
        ("alwaysApply: true", "Prefer const. Use for every task in this project."),
        ("description: Style. Use when you write code.", "Style. Use when you write code."),
        ("description: Style", "Style. Use when the task is about ts style."),
    ],
)  # fmt: skip
def test_globs_and_always_apply_say_when_to_use_the_skill(head: str, expected: str) -> None:
    skill = converted(".cursor/rules/TS Style.mdc", f"---\n{head}\n---\n\n# Rules\n\nPrefer const.\n")
    assert skill.name == "ts-style"
    assert description(skill) == expected


def test_a_rule_that_always_applies_is_remarked_on() -> None:
    (note,) = converted("a.mdc", "---\nalwaysApply: true\n---\nDo it.\n").notes
    assert "AGENTS.md is always loaded" in note


def test_instructions_of_copilot_are_rules() -> None:
    skill = converted("x/python.instructions.md", "---\napplyTo: '**/*.py'\n---\nUse types.\n")
    assert description(skill) == "Use types. Use when working on files that match **/*.py."


def test_arguments_and_tools_of_a_command_are_kept() -> None:
    head = "description: Fix an issue\nargument-hint: [number]\nallowed-tools: Bash(git add:*), Read\nmodel: x"
    text = f"---\n{head}\n---\nFix $1 of $2.\n"
    skill = converted(".claude/commands/fix-issue.md", text)
    assert description(skill) == "Fix an issue. Use when the user asks for fix issue."
    assert "allowed-tools: Bash(git add:*) Read\n" in skill.text
    assert "$ARGUMENTS. They have the form `[number]`." in skill.text
    assert "Fix <argument 1> of <argument 2>." in skill.text
    assert skill.notes == ("fix-issue: left out, because a skill has no such key: model",)


def test_a_body_with_the_whole_arguments_stays() -> None:
    assert "Fix $ARGUMENTS now." in converted(".codex/prompts/fix.md", "Fix $ARGUMENTS now.\n").text


def test_inputs_of_a_copilot_prompt_get_names() -> None:
    skill = converted("review.prompt.md", "---\nagent: ask\n---\nReview ${input:file:the file to read} for ${input:topic}.\n")
    assert "Review <file> for <topic>." in skill.text
    assert "- `<file>`: the file to read; ask if it is missing" in skill.text


def test_commands_that_ran_before_the_prompt_become_instructions() -> None:
    skill = converted("c.md", "State: !`git status`\n")
    assert "State: the output of `git status`" in skill.text
    assert "ran before the prompt" in skill.notes[0]


AGENTS = (
    "# Project\n\nHello.\n\n## Releases\n\nTag it.\n\n### Steps\n\n```sh\n## not a heading\n```\n\n## Empty\n\n"
    "## Tests\n\nRun them.\n"
)


def test_each_section_of_agents_md_becomes_a_skill() -> None:
    releases, tests = convert_file("AGENTS.md", AGENTS.encode())
    assert (releases.name, tests.name) == ("releases", "tests")
    assert description(releases) == "Tag it. Use when the task is about releases."
    assert "\n# Steps\n" in releases.text
    assert "\n## not a heading\n" in releases.text
    (chosen,) = convert_file("AGENTS.md", AGENTS.encode(), sections=["tests"])
    assert chosen == tests
    with pytest.raises(UsageError, match="no section 'Deploys'"):
        convert_file("AGENTS.md", AGENTS.encode(), sections=["Deploys"])


def test_an_exported_section_comes_back_as_the_same_skill() -> None:
    section = "## pdf\n\nFills forms. Use when asked.\n\n### Forms\n\nFill them.\n\n#### More\n"
    (skill,) = convert_file("AGENTS.md", section.encode())
    assert skill.text == "---\nname: pdf\ndescription: Fills forms. Use when asked.\n---\n\n# Forms\n\nFill them.\n\n## More\n"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("SKILL.md", b"x"),
        ("a.py", b"x"),
        ("a.md", b"\xff"),
        ("a.mdc", b"---\nglobs: x\n---\n"),
        ("AGENTS.md", b"# Only\n\nx\n"),
    ],
)
def test_another_file_is_refused_in_a_sentence(path: str, data: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        convert_file(path, data)
    assert caught.value.hint


def test_only_files_of_these_kinds_are_found_in_a_folder() -> None:
    names = ["a.mdc", "b.md", "c.prompt.md", ".cursorrules", "SKILL.md", "d.txt"]
    assert list(filter(is_convertible, names)) == ["a.mdc", "b.md", "c.prompt.md", ".cursorrules"]


@given(st.sampled_from(["a.mdc", "b.md", "c.prompt.md", "AGENTS.md", "d.instructions.md"]), st.text(max_size=300))
def test_any_text_gives_a_valid_skill_or_a_sentence(path: str, text: str) -> None:
    try:
        skills = convert_file(path, text.encode("utf-8", "replace"))
    except UsageError:
        return
    for skill in skills:
        assert check(MemoryFiles({SKILL_FILE: skill.text.encode()}), folder=skill.name).ok, skill.text
