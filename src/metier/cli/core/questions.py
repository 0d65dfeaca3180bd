"""Questions on a terminal: text, one of several, several of several, yes or no.

Questions and answers go to stderr, so that stdout holds only the command's output. Ctrl-C ends the command like any other.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from metier.values import dataclass

if TYPE_CHECKING:
    from questionary import Choice as QuestionaryChoice
    from questionary import Question

__all__ = ["Choice", "ask_many", "ask_one", "ask_text", "ask_yes_no", "can_ask", "forget_typed_ahead"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    value: str
    title: str
    checked: bool = False


def can_ask() -> bool:
    """Returns whether there is a terminal to ask on."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def forget_typed_ahead() -> None:
    """Drops keys that were typed before a question is shown: an Enter too many must not answer it."""
    with contextlib.suppress(OSError, ImportError, ValueError):
        import termios

        from prompt_toolkit.input import create_input
        from prompt_toolkit.input.typeahead import clear_typeahead

        clear_typeahead(create_input(sys.stdin))
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def ask_text(
    question: str, *, check: Callable[[str], str] | None = None, advise: Callable[[str], str] | None = None, default: str = ""
) -> str:
    """Asks for one line. `check` returns an error and blocks Enter; `advise` returns a remark that is shown while typing."""
    import questionary
    from prompt_toolkit.application import get_app

    options: dict[str, Any] = {}  # Any: options of prompt_toolkit
    if check is not None:
        options["validate"] = lambda text: check(text) or True
    if advise is not None:
        options["bottom_toolbar"] = lambda: advise(get_app().current_buffer.text)
    return str(_answer(questionary.text(question, default=default, qmark="?", **options, **_streams()))).strip()


def ask_one(question: str, choices: Sequence[Choice]) -> str:
    """Asks for one of the choices; the checked one is the default."""
    import questionary

    default = next((each.value for each in choices if each.checked), choices[0].value)
    return str(_answer(questionary.select(question, choices=_titled(choices), default=default, qmark="?", **_streams())))


def ask_many(question: str, choices: Sequence[Choice], *, least: int = 0) -> tuple[str, ...]:
    """Asks which of the choices, with checkboxes; those that are checked are preselected."""
    import questionary

    def check(chosen: list[str]) -> bool | str:
        return len(chosen) >= least or "choose at least one with the space bar"

    answer = _answer(
        questionary.checkbox(
            question,
            choices=_titled(choices, checked=True),
            validate=check,
            qmark="?",
            instruction="(space selects, enter continues)",
            **_streams(),
        )
    )
    return tuple(map(str, answer))


def ask_yes_no(question: str, *, default: bool) -> bool:
    import questionary

    return bool(_answer(questionary.confirm(question, default=default, qmark="?", **_streams())))


def _titled(choices: Sequence[Choice], *, checked: bool = False) -> list[QuestionaryChoice]:
    import questionary

    return [questionary.Choice(title=each.title, value=each.value, checked=checked and each.checked) for each in choices]


def _answer(question: Question) -> Any:  # Any: as the kind of question returns
    return question.unsafe_ask()


def _streams() -> dict[str, Any]:  # Any: prompt_toolkit's output
    from prompt_toolkit.output import create_output

    return {"output": create_output(stdout=sys.stderr)}
