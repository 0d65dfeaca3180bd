"""Whether a command may be what a deny pattern names. In doubt the answer is yes.

Every command of the line counts, also inside substitutions, here-documents and the strings that a program may run. Wrappers
(`sudo`, `env`, `xargs`) and programs that the table does not know may run any of their words. Global options may stand before a
subcommand, option clusters may be joined or split, and quotes, wildcards and variables may hide a word.

A file that a program reads (`sh build.sh`, `make`) is not opened: the sandbox is the protection against those.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from metier.lazy import lazy_pattern

from .command_line import ASSIGNMENT, ShellLine, SimpleCommand, read_command_line
from .effects import command_starts
from .programs import Operands, Program, Value, find_program, options_of, synonyms_of
from .shell_words import ShellWord, literal_word

__all__ = ["all_commands", "is_same_command", "may_run"]

_DEEPEST = 6
_MOST_WORDS = 250
_RESERVED = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "time", "coproc", "function", "{", "("})
_TEXT = lazy_pattern(r"[\w./@%+~:-]+")
_SPACE = lazy_pattern(r"[\s;|&(){}<>`$'\"\\,]")
_ANY = ShellWord("", "*", is_dynamic=True)


def may_run(pattern: Sequence[str], line: ShellLine) -> bool:
    """Returns True if a command of the line may be the one that the words of the pattern name."""
    return line.is_broken or any(is_same_command(pattern, words) for words in all_commands(line))


def all_commands(line: ShellLine) -> Iterator[Sequence[ShellWord]]:
    """All word lists that may run as a command when the line runs. A single dynamic word can be any command."""
    yield from _commands(line, 0)


def _commands(line: ShellLine, depth: int) -> Iterator[Sequence[ShellWord]]:
    if line.is_broken or depth > _DEEPEST:
        yield (_ANY,)
        return
    for command in line.commands:
        words, assignments = _peel(command)
        for assignment in assignments if words else ():
            # GIT_PAGER, LD_PRELOAD and the like name programs.
            yield from _texts(assignment, depth)
        if len(words) > _MOST_WORDS:
            yield (_ANY,)
            continue
        if words:
            yield from _command(words, command, line, depth)


def _peel(command: SimpleCommand) -> tuple[Sequence[ShellWord], Sequence[ShellWord]]:
    """The words of a command without reserved words such as `if`, and its assignments."""
    words, assignments = list(command.words), list(command.assignments)
    while words and (words[0].text in _RESERVED or ASSIGNMENT.match(words[0].text)):
        if words[0].text == "function":
            words = words[1:]
        elif words[0].text not in _RESERVED:
            assignments.append(words[0])
        words = words[1:]
    return words, assignments


def _command(words: Sequence[ShellWord], command: SimpleCommand, line: ShellLine, depth: int) -> Iterator[Sequence[ShellWord]]:
    """The command itself, and what it may start."""
    yield words
    program = find_program(words[0].text.casefold()) if not words[0].is_dynamic and not words[0].is_wild else None
    if program is not None and program.is_shell:
        yield from _shell(words, command, depth)
    elif _is_interpreter(program) and (command.is_piped or command.bodies or command.redirects or len(words) == 1):
        # Its code comes from the line: from a here-document, or from the command before it.
        for each in line.commands:
            for word in each.words:
                yield from _texts(word, depth)
            for body in each.bodies:
                yield from _texts(literal_word(body), depth)
    if program is not None and not command_starts(program, [word.text for word in words]):
        return
    more = (_ANY,) if program is not None and program.appends else ()
    for place in range(1, len(words)):
        inner = find_program(words[place].text)
        if inner is not None and inner.is_shell:
            yield from _shell(words[place:], command, depth)
        yield (*words[place:], *more)
        yield from _texts(words[place], depth, more)


def _shell(words: Sequence[ShellWord], command: SimpleCommand, depth: int) -> Iterator[Sequence[ShellWord]]:
    operands = list(_shell_operands(words))
    if not operands or any(word.is_dynamic for word in words[1:]):
        # It reads its commands from its input, or they are decided later.
        if not command.bodies or command.is_piped or any(word.is_dynamic for word in words[1:]):
            yield (_ANY,)
        for body in command.bodies:
            yield from _commands(read_command_line(body), depth + 1)
    elif words[0].text == "eval":
        yield from _commands(read_command_line(" ".join(word.text for word in words[1:])), depth + 1)


def _shell_operands(words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """The script of a shell, or the code of `-c`; nothing if it reads its input."""
    is_value = False
    for word in words[1:]:
        text = word.text
        if is_value or text in ("-", "/dev/stdin", "/dev/fd/0"):
            is_value = False
        elif text.startswith("-"):
            is_value = text in ("-o", "-O", "--rcfile", "--init-file") or re.fullmatch(r"-[a-zA-Z]+[oO]", text) is not None
        else:
            yield word


def _is_interpreter(program: Program | None) -> bool:
    return program is not None and program.operands in (Operands.SCRIPT, Operands.CODE)


def _texts(word: ShellWord, depth: int, more: tuple[ShellWord, ...] = ()) -> Iterator[Sequence[ShellWord]]:
    """The commands that the text of a word may hold: as a shell would read it, and as plain words in other code."""
    if word.is_dynamic or depth >= _DEEPEST:
        yield (_ANY,)
        return
    for text in {word.text, word.text.partition("=")[2], word.text.lstrip("!+")} - {""}:
        if not _SPACE.search(text):
            if text != word.text:
                yield (literal_word(text), *more)
            continue
        inner = read_command_line(text)
        if not inner.is_broken:
            yield from ((*words, *more) for words in _commands(inner, depth + 1))
        pieces = [literal_word(piece) for piece in _TEXT.findall(text)]
        if len(pieces) > _MOST_WORDS:
            yield (_ANY,)
            return
        yield from ((*pieces[place : place + 12], *more) for place in range(len(pieces)))


def is_same_command(pattern: Sequence[str], words: Sequence[ShellWord]) -> bool:
    """Returns True if these words may be the command that the pattern names; options may stand between them."""
    if not words:
        return False
    if words[0].is_dynamic:
        return True
    if not _is_program(pattern[0], words[0]):
        # `git-push` is `git push`.
        dashed = words[0].text.rpartition("/")[2]
        if not (dashed.startswith(f"{pattern[0]}-") and len(pattern) > 1):
            return False
        words = (literal_word(pattern[0]), literal_word(dashed[len(pattern[0]) + 1 :]), *words[1:])
    program = find_program(pattern[0].casefold())
    rest = [word for word in pattern[1:] if word != "--"]
    options = [word for word in rest if word.startswith("-") and len(word) > 1]
    operands = tuple(word for word in rest if not word.startswith("-") or len(word) == 1)
    synonyms = _synonyms(program, operands)
    return all(_has_option(option, words[1:], synonyms) for option in options) and _walk(operands, words[1:], program)


def _is_program(wanted: str, word: ShellWord) -> bool:
    """Compares names without folder and case; macOS and Windows ignore the case."""
    name = wanted.casefold().rpartition("/")[2] or wanted
    found = word.text.casefold().replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    if not word.is_wild:
        return fnmatchcase(found, name)
    glob = word.glob.casefold().rpartition("/")[2]
    return fnmatchcase(name, glob) or ShellWord(found, glob).may_be(name)


def _synonyms(program: Program | None, operands: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Other names of options, for a program and the subcommands that the pattern names."""
    found: dict[str, frozenset[str]] = {}
    names = iter(operands)
    while program is not None:
        found |= synonyms_of(program)
        name = next(names, None)
        program = next((row for row in program.commands if name in row.names.split()), None)
    return found


def _has_option(option: str, words: Sequence[ShellWord], synonyms: Mapping[str, frozenset[str]]) -> bool:
    names = synonyms.get(option, frozenset({option}))
    if any(word.is_dynamic or _is_option(name, word) for word in words for name in names):
        return True
    # `-rf` is `-r` and `-f`, in any order.
    is_cluster = not option.startswith("--") and len(option) > 2
    return is_cluster and all(_has_option(f"-{letter}", words, synonyms) for letter in option[1:])


def _is_option(option: str, word: ShellWord) -> bool:
    if word.is_wild:
        return word.may_be(option)
    text = word.text
    if text == option or text.startswith(f"{option}="):
        return True
    if option.startswith("--"):
        # An abbreviation.
        head = text.partition("=")[0]
        return len(head) > 3 and option.startswith(head)
    return len(option) == 2 and text.startswith("-") and not text.startswith("--") and option[1] in text


def _walk(operands: Sequence[str], words: Sequence[ShellWord], program: Program | None) -> bool:
    """Returns True if the operands of the pattern come first among the words that are neither options nor their values."""
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        wanted, at = todo.pop()
        if wanted == len(operands) or (at < len(words) and words[at].is_dynamic):
            return True
        if operands[wanted] == "*":
            steps = [(wanted + 1, place) for place in range(at, len(words) + 1)]
        elif at == len(words):
            continue
        else:
            steps = list(_steps(operands[wanted], words[at], wanted, at, program))
        new = [step for step in steps if step not in seen and step[1] <= len(words)]
        seen.update(new)
        todo += new
    return False


def _steps(operand: str, word: ShellWord, wanted: int, at: int, program: Program | None) -> Iterator[tuple[int, int]]:
    """The places from which the search goes on after a word: it is the operand, an option, or the value of an option."""
    text = word.text
    if word.may_be(operand) or ("/" in text and _shortest(text) == _shortest(operand)):
        yield wanted + 1, at + 1
    if not text.startswith("-"):
        return
    tails = {text.partition("=")[2], *(text[place:] for place in range(2, min(len(text), 12)))} - {""}
    if any(fnmatchcase(tail, operand) for tail in tails):
        yield wanted + 1, at + 1
    yield wanted, at + 1
    if _may_take_value(text, program):
        yield wanted, at + 2


def _shortest(path: str) -> str:
    short = posixpath.normpath(path)
    return "/" + short.lstrip("/") if short.startswith("/") else short


def _may_take_value(option: str, program: Program | None) -> bool:
    if "=" in option or option == "--":
        return False
    known = options_of(program).get(option) if program is not None else None
    return known is None or known.value is Value.REQUIRED
