"""What a command may be told, declared once and read in two ways.

click reads every command line, explains mistakes and prints pages. But importing it costs more than a start of Python, so a
line on which every word is plain (a flag, an option with its text, an argument) is read here first; whatever else there is on
it, this reads nothing and click decides. Declare with `option` and `argument` where a command must start quickly; a command
that needs click's types declares with click, and is read by click alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from metier.values import dataclass

if TYPE_CHECKING:
    import click

    from .result import Result

__all__ = ["Command", "Declared", "argument", "option"]

F = TypeVar("F", bound=Callable[..., Any])
_PLAIN = frozenset({"help", "is_flag", "metavar", "multiple"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """An option, or an argument, as click would be told."""

    words: tuple[str, ...]
    """As click takes them: how it is spelled, and its name in Python where that is another."""
    settings: dict[str, Any]  # Any: click's keywords
    is_argument: bool = False

    @property
    def name(self) -> str:
        return self.words[-1].lstrip("-").replace("-", "_")

    @property
    def is_plain(self) -> bool:
        """Can it be read without click?"""
        if self.is_argument:
            return self.settings.keys() <= {"nargs", "metavar"} and self.settings.get("nargs") == -1
        return self.settings.keys() <= _PLAIN and self.words[0].startswith("--") and len(self.words) <= 2

    @property
    def untold(self) -> Any:
        """What the command is told when nobody says anything about it."""
        if self.is_argument or self.settings.get("multiple"):
            return ()
        return False if self.is_flag else None

    @property
    def is_flag(self) -> bool:
        return bool(self.settings.get("is_flag"))

    def heard(self, text: str, before: Any) -> Any:
        """What the command is told after this; None if that is for click to say, as where one text follows another."""
        if self.is_flag:
            return True
        if self.untold == ():
            return (*before, text)
        return text if before is None else None


def option(*words: str, **settings: Any) -> Callable[[F], F]:
    """As `click.option`."""
    return _declaring(Declared(words=words, settings=settings))


def argument(name: str, **settings: Any) -> Callable[[F], F]:
    """As `click.argument`."""
    return _declaring(Declared(words=(name,), settings=settings, is_argument=True))


def _declaring(declared: Declared) -> Callable[[F], F]:
    def declare(function: F) -> F:
        # Where click's own decorators keep theirs, so that the two can be mixed.
        function.__dict__.setdefault("__click_params__", []).append(declared)
        return function

    return declare


@dataclass(frozen=True, kw_only=True)
class Command:
    name: str
    function: Callable[..., Result]
    params: tuple[Declared | click.Parameter, ...]
    text: str
    """One line for the page of its group; the function's own words are its page."""

    def read(self, words: Sequence[str]) -> dict[str, Any] | None:
        """The options of a plain command line; None if click must have a look."""
        declared = [each for each in self.params if isinstance(each, Declared) and (each.is_plain or not each.is_argument)]
        if len(declared) < len(self.params):
            return None
        told = {each.name: each.untold for each in declared}
        spelled = {each.words[0]: each for each in declared if each.is_plain and not each.is_argument}
        taker = next((each for each in declared if each.is_argument), None)
        left = list(reversed(words))
        while left:
            word = left.pop()
            name, equals, text = word.partition("=")
            one = spelled.get(name) if word.startswith("-") else taker
            if one is taker:
                text = word
            elif one and not one.is_flag and not equals:
                text = left.pop() if left else "-"
            # A mistake, or what looks like one.
            if one is None or (one.is_flag and equals) or text.startswith("-"):
                return None
            told[one.name] = one.heard(text, told[one.name])
            if told[one.name] is None:
                return None
        return told
