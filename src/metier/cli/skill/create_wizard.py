"""The questions of `metier skill create` on a terminal: name, place, description, template and starters."""

from __future__ import annotations

from collections.abc import Collection

from metier.cli.core.questions import Choice, ask_many, ask_one, ask_text
from metier.cli.core.terminal import one_line, plural
from metier.errors import InvalidNameError, suggested_name
from metier.spec import MAX_DESCRIPTION_LENGTH, SKILL_TEMPLATES, MemoryFiles, SkillName, advise, new_skill_files

__all__ = ["advise_description", "ask_description", "ask_name", "ask_place", "ask_starters", "ask_template"]

_ABOUT_DESCRIPTIONS = frozenset({"SK201", "SK202", "SK203", "SK216", "SK219"})


def ask_name() -> str:
    return ask_text("Name", check=_check_name)


def ask_place(user_dir: str) -> bool:
    """Asks where the skill is for; returns True for this project."""
    choices = (
        Choice(value="user", title=f"Everywhere ({user_dir})", checked=True),
        Choice(value="project", title="This project (.metier/skills)"),
    )
    return ask_one("Where will you use it?", choices) == "project"


def ask_description(name: SkillName) -> str:
    """Asks for the description, with lint's advice below the line while it is typed."""
    question = "What does it do, and when should it be used?"
    return ask_text(question, check=_check_description, advise=lambda text: advise_description(name, text))


def ask_template() -> str:
    return ask_one("Template", [Choice(value=name, title=f"{name}: {each.about}") for name, each in SKILL_TEMPLATES.items()])


def ask_starters(*, has_scripts: bool) -> Collection[str]:
    choices = [Choice(value="evals", title="evals/eval_queries.json: requests that should select it, and some that should not")]
    if has_scripts:
        choices.append(Choice(value="tests", title="tests/scripts.md: tests of its scripts"))
    return ask_many("Also create", choices)


def advise_description(name: SkillName, text: str) -> str:
    """Returns the first advice of lint on a description, or a word of praise."""
    if not text.strip():
        return "For instance: Fills PDF forms. Use when the user has a form to fill."
    if len(text) > MAX_DESCRIPTION_LENGTH:
        return _check_description(text)
    report = advise(MemoryFiles(new_skill_files(name, text)), folder=name.text)
    found = next((problem for problem in report if problem.code in _ABOUT_DESCRIPTIONS), None)
    return one_line(f"{found.message}: {found.hint}") if found else "Good: it says what and when."


def _check_name(text: str) -> str:
    try:
        SkillName(text.strip())
    except InvalidNameError:
        suggestion = suggested_name(text)
        return f"use a-z, 0-9 and single hyphens{f', such as {suggestion}' if suggestion else ''}"
    return ""


def _check_description(text: str) -> str:
    if not text.strip():
        return "a skill needs a description"
    extra = len(text) - MAX_DESCRIPTION_LENGTH
    return f"{plural(extra, 'character')} too long" if extra > 0 else ""
