"""Tool patterns such as `Bash(git add:*)`. They match parsed words, never a shell string.

A shell string can contain anything after the part that a pattern matches (`git; id`, `git $(id)`), so no pattern grants a
command with shell syntax. Some programs start others by an option (`git -c core.pager=…`, `find -exec`); a pattern must spell
those out. Patterns are a convenience; the sandbox is the protection.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from fnmatch import fnmatchcase
from itertools import takewhile

from metier.errors import UsageError
from metier.values import dataclass

__all__ = ["ToolPattern", "ToolRequest", "command_request", "plain_words"]

_PATTERN = re.compile(r"(?P<tool>\*|[A-Za-z][\w.:-]*\*?)(?:\((?P<argument>.*)\))?", re.DOTALL)
# All syntax by which a shell does more than start one program with these words. `~` and globs change words, so they count.
_SHELL = re.compile(r"[;&|<>$`(){}\[\]!*?~#\n\r\x00-\x08\x0b-\x1f\x7f]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SHELLS = frozenset({"bash", "shell", "sh", "execute", "terminal", "run_command"})

_GIT_HARMLESS = frozenset({"--no-pager", "--version", "--help", "-P", "-h", "-v", "--no-optional-locks"})
_GIT_STARTING_COMMANDS = frozenset(
    {
        "bisect",
        "config",
        "daemon",
        "difftool",
        "filter-branch",
        "mergetool",
        "submodule",
        "send-email",
        "instaweb",
        "hook",
        "maintenance",
    }
)
_STARTING_OPTIONS: dict[str, tuple[str, ...]] = {
    "git": (
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--ext-diff",
        "--extcmd",
        "--open-files-in-pager",
        "--config",
        "--template",
        "-u",
        "-x",
        "-O",
    ),
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "grep": ("--devices",),
    "tar": (
        "--to-command",
        "--checkpoint-action",
        "-I",
        "--use-compress-program",
        "--rsh-command",
        "--rmt-command",
        "-F",
        "--info-script",
    ),
    "ssh": ("-o", "-F"),
    "scp": ("-o", "-F", "-S"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "sort": ("--compress-program", "-o", "--output"),
    "curl": ("-o", "-O", "--output", "--output-dir", "-K", "--config", "-T", "--upload-file"),
    "wget": ("-O", "--output-document", "--use-askpass", "-e", "--execute"),
    "sed": ("-i", "--in-place", "-e", "--expression", "-f", "--file"),
    "awk": ("-f", "--file", "-E", "--exec"),
    "gh": ("alias", "extension"),
    "npm": ("exec", "--script-shell"),
    "docker": ("--privileged", "-v", "--volume", "--mount"),
    "make": ("-f", "--file", "--eval", "-C"),
    "less": ("-o", "-O", "--log-file"),
    "man": ("-P", "--pager", "-H"),
    "vim": ("-c", "--cmd", "-S"),
    "zip": ("-T", "-TT", "--unzip-command"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A request to use a tool."""

    tool: str
    argument: str = ""
    """Compared with the parentheses of a pattern: a path or a name; for a shell, the command."""
    argv: tuple[str, ...] = ()
    """The words of a plain command; empty if it has shell syntax."""
    is_command: bool = False
    also: tuple[ToolRequest, ...] = ()
    """The same thing under other names: a script is `Script(scripts/a.py)` and `Bash(python3 scripts/a.py)`."""

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
                f"{text[:80]!r} is not a tool pattern", hint="write Read, Bash(git:*), Script(scripts/*) or Network"
            )
        argument = match["argument"]
        return cls(match["tool"], argument.strip() if argument is not None else None)

    def __str__(self) -> str:
        return self.tool if self.argument is None else f"{self.tool}({self.argument})"

    def grants(self, request: ToolRequest, *, which: Which | None = None) -> bool:
        """Returns True if the pattern certainly covers the request."""
        return any(self._covers(each, which) for each in (request, *request.also))

    def forbids(self, request: ToolRequest) -> bool:
        """Returns True if the pattern may cover the request: for deny lists."""
        return any(self._might_be(each) for each in (request, *request.also))

    def _names(self, request: ToolRequest) -> bool:
        # Each host has another name for its shell, and an author cannot know which.
        both_shells = is_shell(self.tool) and is_shell(request.tool)
        return both_shells or fnmatchcase(request.tool.casefold(), self.tool.casefold())

    def _covers(self, request: ToolRequest, which: Which | None) -> bool:
        if not self._names(request):
            return False
        if not request.is_command:
            if self.argument in (None, "*", request.argument):
                return True
            # `src/*` must not grant src/../../etc.
            return ".." not in request.argument.split("/") and fnmatchcase(request.argument, self.argument or "")
        # Only `*` alone covers a shell string.
        if self.argument in (None, "*", ":*"):
            return True
        return bool(request.argv) and _argv_matches(_words_of(self.argument or ""), request.argv, which)

    def _might_be(self, request: ToolRequest) -> bool:
        if not self._names(request):
            return False
        if self.argument in (None, "*", ":*"):
            return True
        if not request.is_command:
            return self.argument == request.argument or fnmatchcase(request.argument, self.argument or "")
        words, _ = _words_of(self.argument or "")
        if request.argv:
            found = (request.argv[0].rpartition("/")[2], *request.argv[1:])
            return any(_prefix(words, found[place:]) for place in range(len(found)))
        # It is not one plain command: test whether all words of the pattern occur in it.
        return all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", request.argument) for word in words)


Which = Callable[[str], str | None]
"""Returns the path of a command, on a PATH that the user trusts."""


def command_request(tool: str, command: str) -> ToolRequest:
    return ToolRequest(tool=tool, argument=command, argv=plain_words(command), is_command=True)


def tool_request(tool: str, argument: str) -> ToolRequest:
    """The use of a tool; `argument` is the command of a shell, or a path."""
    return command_request(tool, argument) if is_shell(tool) and argument else ToolRequest(tool=tool, argument=argument)


def is_shell(tool: str) -> bool:
    return tool.casefold() in _SHELLS


def plain_words(command: str) -> tuple[str, ...]:
    """The words of a command that starts one program and nothing else; empty when it might do more."""
    quoted = re.sub(r"'[^']*'", "''", command)
    if _SHELL.search(quoted) or "\\" in quoted:
        return ()
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    if not words or _ASSIGNMENT.match(words[0]) or any("\n" in word or "\0" in word for word in words):
        return ()
    return tuple(words)


def _words_of(argument: str) -> tuple[tuple[str, ...], bool]:
    """`git add:*` and `git add *` are the words git and add, and more may follow; after `git status` nothing may."""
    is_open = argument.endswith((":*", " *"))
    text = argument[:-2] if is_open else argument
    return tuple(text.split()), is_open


def _argv_matches(pattern: tuple[tuple[str, ...], bool], argv: tuple[str, ...], which: Which | None) -> bool:
    words, is_open = pattern
    if not words or not (_is_binary(words[0], argv[0], which)):
        return False
    if not _prefix(words[1:], argv[1:]) or (not is_open and len(words) != len(argv)):
        return False
    return not _starts_other_program(words[0], argv[1:], allowed=words[1:])


def _is_binary(wanted: str, given: str, which: Which | None) -> bool:
    """Returns True for the same word, or its file on a trusted PATH; never for another program of the same name."""
    if given == wanted or given.removeprefix("./") == wanted.removeprefix("./") != wanted.rpartition("/")[2]:
        return True
    return which is not None and given.startswith("/") and "/" not in wanted and which(wanted) == given


def _prefix(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return len(words) >= len(pattern) and all(fnmatchcase(word, glob) for word, glob in zip(words, pattern, strict=False))


def _starts_other_program(program: str, arguments: tuple[str, ...], *, allowed: tuple[str, ...]) -> bool:
    name = program.rpartition("/")[2]
    extra = [word for word in arguments if word not in allowed]
    if name == "git":
        before = takewhile(lambda word: word.startswith("-"), arguments)
        if any(word not in _GIT_HARMLESS and word not in allowed for word in before):
            return True
        command = next((word for word in arguments if not word.startswith("-")), "")
        if command in _GIT_STARTING_COMMANDS and command not in allowed:
            return True
    return any(_is_option(word, option) for word in extra for option in _STARTING_OPTIONS.get(name, ()))


def _is_option(word: str, option: str) -> bool:
    if word == option or word.startswith(f"{option}="):
        return True
    # `-ofile` is `-o file`, and `--upload-p` is short for `--upload-pack`.
    if len(option) == 2 and option.startswith("-") and not word.startswith("--"):
        return word.startswith(option)
    head = word.partition("=")[0]
    return len(head) > 3 and head.startswith("--") and option.startswith(head)
