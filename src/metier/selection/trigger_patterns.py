"""Trigger patterns: untrusted regular expressions, run in linear time.

The author of a skill writes its trigger patterns, and `(a+)+$` would keep Python's `re` busy for years. A pattern is compiled
to an automaton whose states are followed at once: each character of the request is read once, and the work is bounded by
instructions x characters and counted. (`regex` has a timeout, but `(((a{1000}){1000}){1000})` exhausts the memory first.)
Patterns that need backtracking (lookaround, back-references, possessive groups) raise `TriggerPatternError`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from metier.errors import MetierError
from metier.values import dataclass, field

__all__ = ["TriggerPattern", "TriggerPatternError", "compile_pattern"]

MAX_PATTERN_CHARS = 500
MAX_INSTRUCTIONS = 2_000
"""Maximum number of instructions after counted repeats are expanded."""
MAX_STEPS = 60_000
"""Maximum number of steps of one search, which take tens of milliseconds. Then the search ends without a match."""

_REPEAT = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")
_FLAGS = re.compile(r"\(\?[aiLmsux]+\)")
_ESCAPED = re.compile(r"\\(?:[dDwWsS]|[nrtfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^\w])", re.DOTALL)
_ASSERTIONS = {"^": "start", "$": "end", r"\A": "start", r"\Z": "end", r"\b": "edge", r"\B": "inside"}


class TriggerPatternError(MetierError, ValueError):
    """The pattern is invalid or cannot be run safely; the skill is matched without it."""

    code = "bad-pattern"

    def __init__(self, pattern: str, reason: str) -> None:
        hint = "use only words, classes, groups, | and repeats"
        super().__init__(f"ignored trigger pattern {pattern[:60]!r}: {reason}", hint=hint)


class _Instruction(NamedTuple):
    what: Literal["char", "split", "assert", "match"]
    test: re.Pattern[str] | str | None = None
    to: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TriggerPattern:
    program: tuple[_Instruction, ...]

    def is_found_in(self, text: str) -> bool:
        """Returns True if it matches anywhere, ignoring case."""
        return self.search(text)[0]

    def search(self, text: str) -> tuple[bool, int]:
        """Returns whether it matches, and the number of steps that it took."""
        states: set[int] = set()
        steps = 0
        for place in range(len(text) + 1):
            states |= self._reached({0}, text, place)
            if any(self.program[state].what == "match" for state in states):
                return True, steps
            steps += len(states) + 1
            if steps > MAX_STEPS or place == len(text):
                break
            states = self._reached(self._after(states, text[place]), text, place + 1)
        return False, steps

    def _after(self, states: set[int], char: str) -> set[int]:
        taken = set()
        for state in states:
            test = self.program[state].test
            if isinstance(test, re.Pattern) and test.fullmatch(char):
                taken.add(state + 1)
        return taken

    def _reached(self, states: set[int], text: str, place: int) -> set[int]:
        """Returns the states that these reach without reading a character."""
        seen: set[int] = set()
        open_states = list(states)
        while open_states:
            state = open_states.pop()
            if state in seen:
                continue
            seen.add(state)
            instruction = self.program[state]
            if instruction.what == "split":
                open_states.extend(instruction.to)
            elif instruction.what == "assert" and _holds(str(instruction.test), text, place):
                open_states.append(state + 1)
        return seen


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> TriggerPattern:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise TriggerPatternError(pattern, f"it is longer than {MAX_PATTERN_CHARS} characters")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise TriggerPatternError(pattern, str(error)) from error
    reader = _Reader(pattern)
    program = reader.alternatives()
    if reader.place < len(pattern):
        raise TriggerPatternError(pattern, f"cannot read {pattern[reader.place :][:10]!r}")
    return TriggerPattern((*program, _Instruction("match")))


def _holds(assertion: str, text: str, place: int) -> bool:
    if assertion == "start":
        return place == 0
    if assertion == "end":
        return place == len(text)
    before = place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_")
    after = place < len(text) and (text[place].isalnum() or text[place] == "_")
    return (before != after) == (assertion == "edge")


@dataclass(slots=True)
class _Reader:
    """Recursive descent parser; every method returns a program whose jumps are relative to its beginning."""

    pattern: str
    place: int = field(default=0)

    def alternatives(self) -> list[_Instruction]:
        program = self.sequence()
        while self._take("|"):
            other = self.sequence()
            jump = len(program) + 2
            program = [
                _Instruction("split", to=(1, jump)),
                *_moved(program, 1),
                _Instruction("split", to=(jump + len(other),)),
                *_moved(other, jump),
            ]
            self._check(program)
        return program

    def sequence(self) -> list[_Instruction]:
        program: list[_Instruction] = []
        while self.place < len(self.pattern) and self.pattern[self.place] not in "|)":
            program += _moved(self.repeated(self.atom()), len(program))
            self._check(program)
        return program

    def atom(self) -> list[_Instruction]:
        rest = self.pattern[self.place :]
        for text, name in _ASSERTIONS.items():
            if self._take(text):
                return [_Instruction("assert", name)]
        if flags := _FLAGS.match(rest):
            if set(flags[0]) - set("(?ims)"):
                raise TriggerPatternError(self.pattern, f"it uses {flags[0]!r}")
            self.place += flags.end()
            return []
        if group := _GROUP.match(rest):
            self.place += group.end()
            inner = self.alternatives()
            if not self._take(")"):
                raise TriggerPatternError(self.pattern, "a group is not closed")
            return inner
        piece = _CLASS.match(rest) or _ESCAPED.match(rest) or re.match(r"[^\\()\[]", rest, re.DOTALL)
        if not piece:
            raise TriggerPatternError(self.pattern, f"{rest[:6]!r} cannot run in linear time")
        self.place += piece.end()
        char = piece[0] if piece[0] == "." or len(piece[0]) > 1 else re.escape(piece[0])
        return [_Instruction("char", re.compile(char, re.IGNORECASE | re.DOTALL))]

    def repeated(self, once: list[_Instruction]) -> list[_Instruction]:
        least, most = 1, 1
        if self._take("*"):
            least, most = 0, -1
        elif self._take("+"):
            least, most = 1, -1
        elif self._take("?"):
            least, most = 0, 1
        elif counted := _REPEAT.match(self.pattern, self.place):
            self.place = counted.end()
            least = int(counted[1] or 0)
            most = least if not counted[2] else int(counted[3]) if counted[3] else -1
        else:
            return once
        if self._take("+"):
            raise TriggerPatternError(self.pattern, "a possessive repeat cannot run in linear time")
        self._take("?")  # lazy and greedy repeats match the same texts
        if len(once) * max(least, most, 1) > MAX_INSTRUCTIONS:
            raise TriggerPatternError(self.pattern, "its repeats are too large")
        return self._expand(once, least, most)

    def _expand(self, once: list[_Instruction], least: int, most: int) -> list[_Instruction]:
        program: list[_Instruction] = []
        for _ in range(least):
            program += _moved(once, len(program))
        if most < 0:
            begin = len(program)
            end = begin + len(once) + 2
            program.append(_Instruction("split", to=(begin + 1, end)))
            program += _moved(once, begin + 1)
            program.append(_Instruction("split", to=(begin,)))
        for _ in range(most - least):
            skip = len(program) + 1 + len(once)
            program.append(_Instruction("split", to=(len(program) + 1, skip)))
            program += _moved(once, len(program))
        return program

    def _take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.place):
            return False
        self.place += len(text)
        return True

    def _check(self, program: list[_Instruction]) -> None:
        if len(program) > MAX_INSTRUCTIONS:
            raise TriggerPatternError(self.pattern, "it is too large after its repeats are expanded")


def _moved(program: list[_Instruction], by: int) -> list[_Instruction]:
    return [one._replace(to=tuple(target + by for target in one.to)) for one in program]
