"""The effects of a command: which of its words start another program, write to a place, or are unknown.

The table in `programs` says what each option means. A word that the table does not know is reported as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from metier.lazy import lazy_pattern
from metier.values import dataclass, replace

from .code_checks import check_code, tar_goes_further
from .programs import Effect, Operands, Option, Program, Value, options_of

__all__ = ["Risk", "command_starts", "is_covered", "operands_of", "risks"]

Lookup = Callable[[str], Program | None]

_NUMBER = lazy_pattern(r"-\d+[ckMGbw]?")


@dataclass(frozen=True, slots=True)
class Risk:
    """Words of a command that do more than the purpose of its program."""

    effect: Effect
    places: tuple[int, ...]
    is_command: bool = False
    """The words from the first place on are a command."""


def is_covered(program: Program | None, words: Sequence[str], spelled: frozenset[int], *, find: Lookup) -> bool:
    """Returns True if all risks of the command are among the words that a pattern spells out."""
    if program is None:
        return True
    for risk in risks(program, words):
        if risk.is_command and risk.places[0] in spelled:
            start = risk.places[0]
            inner = words[start:]
            if not is_covered(
                find(inner[0]), inner, frozenset(place - start for place in spelled if place >= start), find=find
            ):
                return False
        elif not spelled.issuperset(risk.places):
            return False
    return True


def command_starts(program: Program, words: Sequence[str]) -> bool:
    """Returns True if the command may start another program: it has a word that does, or a word that is not known."""
    return any(risk.effect is not Effect.WRITES for risk in risks(program, words))


def risks(program: Program, words: Sequence[str]) -> Iterator[Risk]:
    yield from _Reading(program, words).read(1)


def operands_of(program: Program, words: Sequence[str]) -> list[int]:
    """The places of the words that are neither options nor their values."""
    reading = _Reading(program, words)
    for _ in reading.read(1):
        pass
    return reading.operands


class _Reading:
    """One pass over the words of a command."""

    def __init__(self, program: Program, words: Sequence[str], inherited: Mapping[str, Option] | None = None) -> None:
        self.program, self.words, self.inherited = program, words, inherited
        self.options = {**(inherited or {}), **options_of(program)}
        self.operands: list[int] = []
        self.has_code = False

    def read(self, at: int) -> Iterator[Risk]:
        words, program = self.words, self.program
        if program.old_cluster and at < len(words) and not words[at].startswith("-"):
            yield from self._old_cluster(at)
            at += 1
        is_open = True
        while at < len(words):
            word = words[at]
            if is_open and word == "--":
                is_open, at = False, at + 1
            elif is_open and len(word) > 1 and word.startswith("-"):
                found = list(self._option(at, word))
                yield from (risk for risk, _ in found if risk is not None)
                at += max((used for _, used in found), default=1)
            elif program.commands and not self.operands:
                yield from self._subcommand(at)
                return
            elif program.operands is Operands.COMMAND and len(self.operands) == program.lead:
                yield Risk(Effect.STARTS, tuple(range(at, len(words))), is_command=True)
                return
            else:
                self.operands.append(at)
                at += 1
                if program.operands is Operands.SCRIPT:
                    # The following words are arguments of the script.
                    break
        yield from self._operands()

    def _subcommand(self, at: int) -> Iterator[Risk]:
        name = self.words[at]
        row = next((row for row in self.program.commands if name in row.names.split()), None)
        if row is None:
            yield Risk(Effect.UNKNOWN, (at,))
            yield from self._inherited_risks(at + 1)
            return
        if row.operands is Operands.ASK and not row.commands:
            # A pattern that spells out the subcommand covers its operands.
            yield Risk(Effect.UNKNOWN, (at,))
            row = replace(row, operands=Operands.PURPOSE)
        inherited = self.options if self.program.inherits else self.inherited
        yield from _Reading(row, self.words, inherited).read(at + 1)

    def _inherited_risks(self, start: int) -> Iterator[Risk]:
        """The risky options of the program behind a subcommand that is not in the table."""
        for at in range(start, len(self.words) if self.program.inherits else start):
            option = self.options.get(self.words[at].partition("=")[0])
            if option is not None and option.effect is not Effect.NONE:
                yield Risk(option.effect, (at, at + 1))

    def _option(self, at: int, word: str) -> Iterator[tuple[Risk | None, int]]:
        """Yields the risk of each option in a word, and the number of words that it takes."""
        if self.program.long_dash or word.startswith("--"):
            name, attached, value = word.partition("=")
            yield self._judge(self._long(name), at, value if attached else None)
            return
        for place, letter in enumerate(word[1:], start=2):
            option = self.options.get(f"-{letter}")
            rest = word[place:]
            yield self._judge(option, at, rest or None)
            if option is None or (option.value is not Value.NONE and (rest or option.value is not Value.OPTIONAL)):
                return

    def _long(self, name: str) -> Option | None:
        if self.program.long_dash:
            return self.options.get(name) or self.options.get(name[1:] if name.startswith("--") else f"-{name}")
        return self.options.get(name)

    def _judge(self, option: Option | None, at: int, attached: str | None) -> tuple[Risk | None, int]:
        words = self.words
        if option is None:
            return Risk(Effect.UNKNOWN, (at,)), 1
        if option.value is Value.REST:
            return Risk(option.effect, tuple(range(at, len(words)))), len(words) - at
        is_next = option.value is Value.REQUIRED and attached is None
        places = (at, at + 1) if is_next and at + 1 < len(words) else (at,)
        value = words[at + 1] if len(places) == 2 else attached or ""
        # A word that looks like an option is read as one too: versions of a program differ in which options take a value.
        used = 1 if is_next and value.startswith("-") and not _NUMBER.fullmatch(value) and len(value) > 1 else len(places)
        if option.effect is Effect.NONE:
            return None, used
        if option.effect is Effect.CODE:
            self.has_code = True
            if self.program.check and check_code(self.program.check, value):
                return None, len(places)
            return Risk(Effect.STARTS, places), len(places)
        return Risk(option.effect, places), used

    def _old_cluster(self, at: int) -> Iterator[Risk]:
        """`tar xIf program file`: the values follow in the order of the letters, so a risk concerns all words."""
        whole = tuple(range(1, len(self.words)))
        for letter in self.words[at]:
            option = self.options.get(f"-{letter}")
            if option is None or option.effect is not Effect.NONE:
                yield Risk(option.effect if option else Effect.UNKNOWN, whole)

    def _operands(self) -> Iterator[Risk]:
        program, operands = self.program, self.operands
        if program.operands is Operands.CODE and not self.has_code and operands:
            code = operands.pop(0)
            if not (program.check and check_code(program.check, self.words[code])):
                yield Risk(Effect.STARTS, (code,))
            return
        reads_input = program.operands is Operands.SCRIPT and operands and self.words[operands[0]] == "-"
        if reads_input or (len(self.words) == 1 and (program.is_shell or program.operands is Operands.ASK)):
            # Commands come from its input: only an exact pattern covers that.
            yield Risk(Effect.STARTS, (len(self.words),))
        if program.operands is Operands.ASK:
            yield from (Risk(Effect.UNKNOWN, (place,)) for place in operands)
        elif program.check == "tar_words":
            if tar_goes_further(self.words):
                yield Risk(Effect.WRITES, tuple(range(1, len(self.words))))
        elif program.check and program.operands is not Operands.CODE:
            yield from (Risk(Effect.STARTS, (place,)) for place in operands if not check_code(program.check, self.words[place]))
        if len(operands) > program.most:
            yield Risk(Effect.WRITES, tuple(operands[program.most :]))
