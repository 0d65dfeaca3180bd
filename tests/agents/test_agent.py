"""An agent as a value, and as it is written down."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.agents import Agent, AgentVersion
from metier.agents.agent import diff_versions, fill_instructions, parse_version, render_version, variables_of
from metier.errors import ConfigError, UsageError

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def version(number: int = 1, **fields: object) -> AgentVersion:
    return AgentVersion(number=number, created=THEN, change="made", agent=Agent(**{"name": "clerk", **fields}))  # type: ignore[arg-type]


def written(text: str) -> str:
    return text.replace("\r\n", "\n").replace("{", "")


@given(model=TEXT, instructions=TEXT, skills=st.lists(TEXT, max_size=3), values=st.lists(TEXT, max_size=2))
def test_a_written_agent_is_read_back(model: str, instructions: str, skills: list[str], values: list[str]) -> None:
    before = version(
        model=written(model), instructions=written(instructions), skills=tuple(map(written, skills)),
        variables={f"v{place}": written(value) for place, value in enumerate(values)},
    )  # fmt: skip
    assert parse_version(render_version(before), file="x") == before


@pytest.mark.parametrize("text", ['a\n"""b', 'a\nb"', 'a\nb""', "a\n\\b\t", '"""\n"""', "\\\n", "tab\there\nend"])
def test_awkward_instructions_survive(text: str) -> None:
    assert parse_version(render_version(version(instructions=text)), file="x").agent.instructions == text


def test_every_variable_must_be_declared() -> None:
    with pytest.raises(UsageError, match=r"\{\{team\}\}") as error:
        Agent(name="clerk", instructions="For {{ team }}.")
    assert "--var team=VALUE" in error.value.hint
    Agent(name="clerk", instructions="For {{ team }}.", variables={"team": "us"})
    Agent(name="clerk", instructions="On {{date}} as {{agent}} by {{model}}; \\{{team}} is text.")


def test_a_variable_may_not_take_the_name_of_a_built_in() -> None:
    with pytest.raises(UsageError, match="date"):
        Agent(name="clerk", variables={"date": "x"})


def test_variables_are_filled_once_and_must_have_a_value() -> None:
    agent = Agent(name="clerk", instructions="{{a}} {{agent}} {{date}} {{model}} \\{{a}}", variables={"a": ""})
    assert variables_of(agent.instructions) == ("a", "agent", "date", "model")
    assert fill_instructions(agent, date="today", model="m", given={"a": "{{agent}}"}) == "{{agent}} clerk today m {{a}}"
    with pytest.raises(UsageError, match="needs a value for 'a'"):
        fill_instructions(agent, date="today", model="m")
    with pytest.raises(UsageError, match="has no variable 'b'"):
        fill_instructions(agent, date="today", model="m", given={"a": "x", "b": "y"})


def test_unused_variables_are_named() -> None:
    assert Agent(name="clerk", instructions="{{a}}", variables={"a": "1", "b": "2"}).unused_variables == ("b",)


@pytest.mark.parametrize("name", ["", "Clerk", "a--b", "../x", "a" * 65])
def test_a_name_is_a_name(name: str) -> None:
    with pytest.raises(UsageError):
        Agent(name=name)


@pytest.mark.parametrize(
    ("text", "why"),
    [("name = ", ":1:"), ("name = 3", "name"), ('name = "a"\nskills = "b"', "skills"),
     ('name = "a"\nvariables = 1', "variables"), ('name = "a"\nversion = "x"', "version"),
     ('name = "a"\nmodle = "x"', "modle"), ('name = "A B"', "not a valid agent name"),
     ('name = "a"\ninstructions = "{{x}}"', "undeclared variable")],
)  # fmt: skip
def test_a_broken_file_is_named_with_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as error:
        parse_version(text, file="agent.toml")
    assert "agent.toml" in str(error.value)


def test_a_difference_is_shown_by_field_and_by_line() -> None:
    names, diff = diff_versions(version(model="a"), version(2, model="b", skills=("pdf",)))
    assert names == ["model", "skills"]
    assert '-model = "a"' in diff
    assert '+    "pdf",' in diff
