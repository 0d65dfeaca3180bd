"""One row of the table of programs, and how its options are written.

An option list is text, so that a row reads like the manual page of its program:

    -abc       three options without a value        --name     an option without a value
    -o:        takes a value (`-o x`, `-ox`)        --name=    takes a value (`--name x`, `--name=x`)
    -i?        a value only if it is attached       --name?    a value only after `=`
    -exec*     all following words belong to it

A row lists all options that are known to be harmless. Everything that is in no list is unknown, and an unknown option is asked.
Abbreviations of long options are unknown as well: only the program knows what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from functools import lru_cache

from metier.lazy import lazy_pattern
from metier.values import dataclass

__all__ = ["Effect", "Operands", "Option", "Program", "Value", "options_of", "synonyms_of"]


class Effect(StrEnum):
    """What a word of a command does besides the purpose of its program."""

    NONE = "none"
    STARTS = "starts"
    """It starts a program, or contains code."""
    WRITES = "writes"
    """It writes to a place, or changes the place."""
    CODE = "code"
    """Its value is code of the program's own language."""
    UNKNOWN = "unknown"


class Value(Enum):
    NONE, OPTIONAL, REQUIRED, REST = range(4)


class Operands(StrEnum):
    READ = "read"
    """They are only read, or only printed."""
    PURPOSE = "purpose"
    """Changing or running them is the purpose of the program, which its name says: `mkdir x`, `npm run test`."""
    ASK = "ask"
    COMMAND = "command"
    """They are a command line, after the number of words in `lead`."""
    SCRIPT = "script"
    """The first is a file with code, and the others are its arguments."""
    CODE = "code"
    """The first is code, unless an option holds code."""


@dataclass(frozen=True, slots=True)
class Option:
    effect: Effect
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    names: str
    safe: str = ""
    starts: str = ""
    writes: str = ""
    code: str = ""
    """Options whose value is code. `check` judges it; without a check it counts as a program."""
    check: str = ""
    """The name of a function in `code_checks`."""
    operands: Operands = Operands.READ
    lead: int = 0
    """The number of operands before the command."""
    most: int = 1_000
    """Operands after this number name a place to write to."""
    commands: tuple[Program, ...] = ()
    """Its subcommands. A subcommand that is not listed is unknown."""
    inherits: bool = False
    """Its options may also follow the subcommand."""
    long_dash: bool = False
    """Long options have one dash: `go test -run x`, `find -name x`."""
    old_cluster: bool = False
    """The first word may be options without a dash: `tar xf`."""
    same: str = ""
    """Names of the same option, for deny patterns: `-f/--force -r/-R/--recursive`."""
    is_shell: bool = False
    """It runs the commands that it reads from its input."""
    appends: bool = False
    """It adds words from its input to the command."""
    walks: str = ""
    """Options that make it read whole folders; `always` if it needs none."""


_CLUSTER = lazy_pattern(r"-[^-][^:?*]*")


@lru_cache(maxsize=1_000)
def options_of(program: Program) -> Mapping[str, Option]:
    """The options of a row by name: `-o`, `--output`; with one dash for programs with `long_dash`."""
    lists = (
        (Effect.NONE, program.safe),
        (Effect.CODE, program.code),
        (Effect.WRITES, program.writes),
        (Effect.STARTS, program.starts),
    )
    # An effect wins over the list of harmless options.
    return {name: Option(effect, value) for effect, text in lists for name, value in _read_list(text, whole=program.long_dash)}


def _read_list(text: str, *, whole: bool) -> Iterator[tuple[str, Value]]:
    endings = {":": Value.REQUIRED, "=": Value.REQUIRED, "?": Value.OPTIONAL, "*": Value.REST}
    for token in text.split():
        value = endings.get(token[-1], Value.NONE) if len(token) > 2 else Value.NONE
        name = token if value is Value.NONE else token[:-1]
        if _CLUSTER.fullmatch(name) and not whole:
            yield from ((f"-{letter}", value) for letter in name[1:])
        else:
            yield name, value


@lru_cache(maxsize=1_000)
def synonyms_of(program: Program) -> Mapping[str, frozenset[str]]:
    groups = [frozenset(group.split("/")) for group in program.same.split()]
    return {name: group for group in groups for name in group}
