"""A plain command line means the same whether click reads it or not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metier.cli.core.click_groups import _by_click, root_command
from metier.cli.core.commands import GROUPS
from metier.cli.core.options import Command, Declared, argument, option
from metier.cli.skill.install import install

QUICK = ("skill install",)
_SPELLED = [each.words[0] for each in install.params if isinstance(each, Declared)]
_WORDS = st.sampled_from(
    [*_SPELLED, *(f"{word}=x" for word in _SPELLED), "x", "a=b", "", "-", "--", "-x", "--nobody", "--help", "--name=-x"]
)


def by_click(command: Command, words: list[str]) -> dict[str, Any] | None:
    """What click makes of it; None for a mistake or a page of help."""
    try:
        with _by_click(command).make_context("metier", list(words)) as context:
            return dict(context.params)
    except (click.ClickException, click.exceptions.Exit):
        return None


@given(st.lists(_WORDS, max_size=7))
@example(["x", "--all", "--target", "a", "--target=b", "--name", "n", "--json"])
@example(["--name", "a", "--name", "b"])
@example(["--name"])
@example(["--all=yes"])
@example(["--skills-dir", "x"])
def test_what_is_read_without_click_is_what_click_reads(words: list[str]) -> None:
    read = install.read(words)
    if read is not None:
        assert read == by_click(install, words)


@pytest.mark.parametrize("words", [
    [], ["./repo"], ["a/b", "c/d", "--all"], ["a/b", "--skill", "x", "--skill=y"],
    ["x", "--target", "claude-code,codex", "--project"],
    ["--frozen", "--offline"], ["x", "--name", "y", "--json", "--dry-run"], ["x", "--header", "A: b", "--insecure-http"],
])  # fmt: skip
def test_what_people_type_needs_no_click(words: list[str]) -> None:
    assert install.read(words) is not None


@pytest.mark.parametrize(
    "words", [["--help"], ["--nobody"], ["--name"], ["--all=1"], ["--", "x"], ["--skills-dir", "x"], ["-x"]]
)
def test_what_is_not_plain_is_left_to_click(words: list[str]) -> None:
    assert install.read(words) is None


def test_a_command_that_declares_with_click_is_read_by_click() -> None:
    typed = click.Option(["--count"], type=int)
    flag = Declared(words=("--all",), settings={"is_flag": True})
    mixed = Command(name="x", function=install.function, params=(flag, typed), text="")
    assert mixed.read(["--all"]) is None


def test_our_declarations_and_clicks_can_be_mixed_in_any_order() -> None:
    @argument("refs", nargs=-1)
    @click.option("--one")
    @option("--two", is_flag=True)
    def function() -> None: ...

    assert [each.name for each in reversed(function.__click_params__)] == ["refs", "one", "two"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", QUICK)
def test_a_quick_command_is_the_one_that_click_finds(path: str) -> None:
    group, _, name = path.rpartition(" ")
    module, _, attribute = GROUPS[group][name][0].partition(":")
    command: Command = getattr(import_module(module), attribute)
    root = root_command()
    with root.make_context("metier", [*path.split(), "--help"], resilient_parsing=True) as context:
        inner = root.get_command(context, "skill")
        assert isinstance(inner, click.Group)
        found = inner.get_command(context, name)
    assert found is not None
    assert [each.name for each in found.params] == [each.name for each in command.params]
