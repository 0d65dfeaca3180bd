"""Tool patterns such as `Bash(git add:*)`. They match parsed words, never a shell string.

An allow pattern grants a command only if it is sure: one plain command, whose words start with those of the pattern, and whose
further words neither start another program nor write to a place (`effects`, with the table in `programs`). What the pattern
spells out word by word is granted. A deny pattern hits if the command may be the one that it names (`denials`, `paths`).
Patterns are a convenience; the sandbox is the protection.
"""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Callable
from fnmatch import fnmatchcase
from itertools import takewhile

from metier.errors import UsageError
from metier.lazy import lazy_pattern
from metier.values import dataclass

from .command_line import read_command_line
from .denials import is_same_command, may_run
from .effects import is_covered
from .grants import GRANT_TOOLS, covers_grant, overlaps_grant
from .paths import PathContext, command_touches, covers_path, denies_path, is_path_tool, same_act
from .programs import Operands, find_program
from .shell_words import ShellWord, literal_word
from .tool_names import covers_kind, is_shell, kind_of_tool

__all__ = [
    "PathContext", "ToolPattern", "ToolRequest", "command_request", "literal_pattern", "part_requests", "plain_words",
]  # fmt: skip

_PATTERN = lazy_pattern(r"(?P<tool>\*|[A-Za-z][\w.:-]*\*?)(?:\((?P<argument>.*)\))?", re.DOTALL)
_EVERYTHING = (None, "*", ":*")
_NOWHERE = PathContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A request to use a tool."""

    tool: str
    argument: str = ""
    """Compared with the parentheses of a pattern: a path or a name; for a shell, the command."""
    argv: tuple[str, ...] = ()
    """The words of a plain command; empty if it has shell syntax."""
    words: tuple[str, ...] = ()
    """The command line that is run, for the user to read; empty if `argv` is it."""
    is_command: bool = False
    is_script: bool = False
    """The command runs a script of the skill, which metier starts in the sandbox."""
    is_confined: bool = False
    """metier runs it itself: in the sandbox, without network, with writes only to the layer of the workspace."""
    also: tuple[ToolRequest, ...] = ()
    """The same thing under other names: a script is `Script(scripts/a.py)` and `Bash(python3 scripts/a.py)`."""
    details: tuple[str, ...] = ()
    """More lines for the user to read, such as the packages that would be fetched."""
    packages: tuple[str, ...] = ()
    """The names of the packages that the skill declares."""

    def __str__(self) -> str:
        return f"{self.tool}({self.argument})" if self.argument else self.tool


@dataclass(frozen=True, slots=True)
class ToolPattern:
    tool: str
    argument: str | None = None

    @classmethod
    def parse(cls, text: str) -> ToolPattern:
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise UsageError(
                f"{text[:80]!r} is not a tool pattern",
                hint="write Read, Bash(git:*), Script(scripts/*) or Network(api.example.com)",
            )
        argument = match["argument"]
        return cls(match["tool"], argument.strip() if argument is not None else None)

    @property
    def is_specific(self) -> bool:
        """Returns False for a pattern that covers every use of its tool."""
        return self.argument not in _EVERYTHING and "*" not in self.tool

    def __str__(self) -> str:
        return self.tool if self.argument is None else f"{self.tool}({self.argument})"

    def grants(
        self, request: ToolRequest, *, which: Which | None = None, context: PathContext = _NOWHERE, known_only: bool = False
    ) -> bool:
        """Returns True if the pattern certainly covers the request. With `known_only` a program must be in the table."""
        return any(self._covers(each, which, context, known_only) for each in (request, *request.also))

    def forbids(self, request: ToolRequest, *, context: PathContext = _NOWHERE) -> bool:
        """Returns True if the pattern may cover the request: for deny lists."""
        return any(self._might_be(each, context) for each in (request, *request.also))

    def arguments_of(self, script: str) -> tuple[str, ...]:
        """Returns the arguments with which a pattern of a shell names a script: `Bash(python3 scripts/a.py --check)`."""
        words = _words_of(self.argument)[0] if self.argument and is_shell(self.tool) else ()
        place = next((place for place, word in enumerate(words) if word.removeprefix("./") == script), None)
        return words[place + 1 :] if place is not None else ()

    def _names(self, request: ToolRequest) -> bool:
        # Each host has other names for its tools, and an author cannot know which.
        mine, other = kind_of_tool(self.tool), kind_of_tool(request.tool)
        if mine is not None and other is not None:
            return covers_kind(mine, other)
        return fnmatchcase(request.tool.casefold(), self.tool.casefold())

    def _covers(self, request: ToolRequest, which: Which | None, context: PathContext, known_only: bool) -> bool:
        if not self._names(request):
            return False
        if self.argument is None or self.argument in _EVERYTHING:
            return True
        if request.tool in GRANT_TOOLS:
            return covers_grant(self.argument, request)
        if not request.is_command:
            return covers_path(self.argument, request.argument, context)
        words, is_open = _words_of(self.argument)
        if self.argument == glob.escape(request.argument):
            # It spells out the whole command.
            return True
        return bool(request.argv) and _argv_matches(words, is_open, request, which=which, known_only=known_only)

    def _might_be(self, request: ToolRequest, context: PathContext) -> bool:
        argument = self.argument
        if argument is None or argument in _EVERYTHING:
            return self._names(request)
        if request.tool in GRANT_TOOLS:
            return self._names(request) and overlaps_grant(argument, request)
        if request.is_command:
            return self._might_run(argument, request, context)
        if not (self._names(request) or same_act(self.tool, request.tool)):
            return False
        return fnmatchcase(request.argument, argument) or denies_path(argument, request.argument, context)

    def _might_run(self, argument: str, request: ToolRequest, context: PathContext) -> bool:
        words, _ = _words_of(argument)
        if request.is_script:
            # Its arguments are no shell text, and the sandbox keeps it away from the user's files.
            return self._names(request) and is_same_command(words, [literal_word(word) for word in request.argv])
        line = read_command_line(request.argument)
        if is_path_tool(self.tool):
            return command_touches(self.tool, argument, line, context)
        return self._names(request) and (not words or may_run(words, line))


Which = Callable[[str], str | None]
"""Returns the path of a command, on a PATH that the user trusts."""


def command_request(tool: str, command: str) -> ToolRequest:
    return ToolRequest(tool=tool, argument=command, argv=plain_words(command), is_command=True)


def tool_request(tool: str, argument: str) -> ToolRequest:
    """The use of a tool; `argument` is the command of a shell, or a path."""
    return command_request(tool, argument) if is_shell(tool) and argument else ToolRequest(tool=tool, argument=argument)


def plain_words(command: str) -> tuple[str, ...]:
    """The words of a command that starts one program and nothing else; empty when it might do more."""
    line = read_command_line(command)
    if not line.is_plain or len(line.commands) != 1:
        return ()
    words = tuple(word.text for word in line.commands[0].words)
    return words if words and words[0] and not any("\n" in word for word in words) else ()


def part_requests(command: str) -> tuple[ToolRequest, ...]:
    """The commands of a list or a pipe, and a write for each file that its output goes to; empty if one is uncertain.

    For confined commands only: there a command line is judged by its parts, as other agents do.
    """
    line = read_command_line(command)
    if line.is_broken or "\r" in command:
        return ()
    has_cd = any(each.words[0].text == "cd" for each in line.commands if each.words)
    parts: list[ToolRequest] = []
    for each in line.commands:
        words = tuple(word.text for word in each.words)
        is_certain = bool(words) and all(map(_is_certain, (*each.words, *(target for _, target in each.redirects))))
        if not is_certain or each.assignments or each.bodies or (each.is_piped and _runs_its_input(words[0])):
            return ()
        files = [(operator, target.text) for operator, target in each.redirects if not _is_stream(operator, target.text)]
        if files and has_cd:
            # A path after `cd` starts elsewhere.
            return ()
        if words[0] != "cd":
            parts.append(ToolRequest(tool="Bash", argument=shlex.join(words), argv=words, is_command=True))
        parts += [ToolRequest(tool="Write" if ">" in operator else "Read", argument=path) for operator, path in files]
    return tuple(parts)


def _runs_its_input(name: str) -> bool:
    program = find_program(name)
    return program is not None and (program.is_shell or program.operands is Operands.SCRIPT)


def _is_stream(operator: str, target: str) -> bool:
    """Returns True for `2>&1` and `>/dev/null`, which write to no file."""
    return target == "/dev/null" or (operator == ">&" and target.isdigit())


def _is_certain(word: ShellWord) -> bool:
    return not word.is_dynamic and not word.is_wild and "~" not in word.text and "\n" not in word.text


def literal_pattern(request: ToolRequest) -> ToolPattern:
    """The pattern for exactly this request: wildcards in its argument stand for themselves."""
    if request.tool in GRANT_TOOLS:
        return ToolPattern(request.tool, request.argument or None)
    return ToolPattern(request.tool, glob.escape(request.argument) if request.argument else None)


def _words_of(argument: str) -> tuple[tuple[str, ...], bool]:
    """`git add:*` and `git add *` are the words git and add, and more may follow; after `git status` nothing may."""
    is_open = argument.endswith((":*", " *"))
    text = argument[:-2] if is_open else argument
    return _split(text), is_open


def _split(text: str) -> tuple[str, ...]:
    """The words of a pattern. Quotes hold a word together, as in a shell."""
    line = read_command_line(text)
    is_quoted = ("'" in text or '"' in text) and not line.is_broken and len(line.commands) == 1
    return tuple(word.text for word in line.commands[0].words) if is_quoted else tuple(text.split())


def _argv_matches(
    words: tuple[str, ...], is_open: bool, request: ToolRequest, *, which: Which | None, known_only: bool
) -> bool:
    argv = request.argv
    if not words or not _is_binary(words[0], argv[0], which):
        return False
    if not _prefix(words[1:], argv[1:]) or (not is_open and len(words) != len(argv)):
        return False
    if request.is_script:
        return True
    program = find_program(words[0])
    if program is None:
        return not known_only
    literal = takewhile(lambda place: place == 0 or words[place] == argv[place], range(len(words)))
    return is_covered(program, argv, frozenset(literal), find=find_program)


def _is_binary(wanted: str, given: str, which: Which | None) -> bool:
    """Returns True for the same word, or its file on a trusted PATH; never for another program of the same name."""
    if given == wanted or given.removeprefix("./") == wanted.removeprefix("./") != wanted.rpartition("/")[2]:
        return True
    return which is not None and given.startswith("/") and "/" not in wanted and which(wanted) == given


def _prefix(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return len(words) >= len(pattern) and all(fnmatchcase(word, wanted) for word, wanted in zip(words, pattern, strict=False))
