"""The command line of a shell as simple commands, for a policy that has to be sure.

The reader resolves quotes and notes every other piece of syntax as a doubt. An allow pattern needs a line without a doubt; a
deny pattern looks at all commands of the line, also inside substitutions and here-documents. Where the text of a word is
decided only when the command runs (`$x`, `$(…)`, `{a,b}`), the word is *dynamic* and can be anything.

The reader of `metier.scan` reads prose and never fails, so it drops what it does not understand. A permission needs the
opposite, hence two readers. The tests compare this one with bash and with tree-sitter.
"""

from __future__ import annotations

import re
from glob import escape

from metier.lazy import lazy_pattern
from metier.values import dataclass, field

from .shell_words import ShellWord

__all__ = ["ASSIGNMENT", "ShellLine", "SimpleCommand", "read_command_line"]

_DEEPEST = 12
_LONGEST = 20_000
_BLANK = " \t\r"
_PLAIN = lazy_pattern(r"[^\s'\"\\$`;|&()<>*?\[{}~!#=\x00-\x1f\x7f]+")
_QUOTED = lazy_pattern(r"[^\"\\$`!\x00]+")
_NAME = lazy_pattern(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII)
_REDIRECT = lazy_pattern(r"&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||<|>")
ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=", re.ASCII)
_CASE = lazy_pattern(r"(?:^|[\s;&|(])case\s")


@dataclass(slots=True)
class SimpleCommand:
    words: list[ShellWord] = field(default_factory=list)
    assignments: list[ShellWord] = field(default_factory=list)
    redirects: list[tuple[str, ShellWord]] = field(default_factory=list)
    """Operator and target."""
    bodies: list[str] = field(default_factory=list)
    """Here-documents."""
    is_piped: bool = False
    """Its input is the output of the command before it."""


@dataclass(slots=True)
class ShellLine:
    commands: list[SimpleCommand] = field(default_factory=list)
    """All of them, those of substitutions included."""
    is_plain: bool = True
    """It is at most one command, and all its words are certain."""
    is_broken: bool = False
    """It was not read to its end."""


def read_command_line(text: str) -> ShellLine:
    line = ShellLine()
    if "\0" in text or len(text) > _LONGEST:
        line.is_plain, line.is_broken = False, True
        return line
    try:
        _Reader(text, line, 0).read()
    except _UnreadableError:
        line.is_plain, line.is_broken = False, True
    return line


class _UnreadableError(Exception):
    """The text ends inside a quotation or a substitution, or is nested too deeply."""


class _Reader:
    def __init__(self, text: str, line: ShellLine, depth: int) -> None:
        if depth > _DEEPEST:
            raise _UnreadableError
        self.text, self.line, self.depth, self.at = text, line, depth, 0
        self.command = SimpleCommand()
        self.heredocs: list[tuple[SimpleCommand, str, bool]] = []
        self.redirect = ""
        self._start_word()

    def _start_word(self) -> None:
        self.parts: list[str] = []
        self.globs: list[str] = []
        self.in_word = self.is_dynamic = self.is_quoted = False

    def read(self) -> None:
        """Reads commands to the end of the text."""
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                self._add(plain[0])
                self.at = plain.end()
            elif char in _BLANK:
                self.line.is_plain &= char != "\r"
                self._end_word()
                self.at += 1
            elif char in "'\"\\$`":
                self._quotation(char)
            else:
                self._syntax(char)
        self._end_command()

    def _add(self, text: str, glob: str | None = None) -> None:
        self.in_word = True
        self.parts.append(text)
        self.globs.append(escape(text) if glob is None else glob)

    def _doubt(self) -> None:
        self.line.is_plain = False

    def _quotation(self, char: str) -> None:
        if char == "'":
            self._single(self.at + 1)
        elif char == '"':
            self.at += 1
            self._double()
        elif char == "\\":
            self._doubt()
            following = self.text[self.at + 1 : self.at + 2]
            if following != "\n":
                self._add(following)
                self.is_quoted = True
            self.at += 2
        else:
            self._expansion(is_quoted=False)

    def _single(self, start: int) -> None:
        end = self.text.find("'", start)
        if end < 0:
            raise _UnreadableError
        self._add(self.text[start:end])
        self.is_quoted = True
        self.at = end + 1

    def _double(self, closing: str = '"') -> None:
        """Reads up to the closing quote. Substitutions inside are commands."""
        self._add("")
        self.is_quoted = True
        while self.at < len(self.text):
            char = self.text[self.at]
            found = _QUOTED.match(self.text, self.at)
            if char == closing:
                self.at += 1
                return
            if char == "\\":
                self._doubt()
                following = self.text[self.at + 1 : self.at + 2]
                if following != "\n":
                    self._add(following if following in '$`"\\' else "\\" + following)
                self.at += 2
            elif char in "$`":
                self._expansion(is_quoted=True)
            else:
                if char == "!":
                    # An interactive shell replaces it.
                    self._doubt()
                self._add(found[0] if found else char)
                self.at = found.end() if found else self.at + 1
        if closing:
            raise _UnreadableError

    def _expansion(self, *, is_quoted: bool) -> None:
        self._doubt()
        text, start = self.text, self.at
        following = text[start + 1 : start + 2]
        if text[start] == "`":
            self._backticks(start + 1)
        elif following == "'" and not is_quoted:
            self._ansi(start + 2)
        elif following == '"' and not is_quoted:
            self.at += 2
            self._double()
        elif following == "(":
            self._dynamic(_inside(self, start + 2))
        elif following == "{":
            self._dynamic(self._braces(start + 2))
        elif found := _NAME.match(text, start):
            self._dynamic(found.end())
        else:
            self._add("$")
            self.at += 1

    def _dynamic(self, end: int) -> None:
        self._add(self.text[self.at : end], "*")
        self.is_dynamic = True
        self.at = end

    def _backticks(self, start: int) -> None:
        found = re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL).match(self.text, start)
        if found is None:
            raise _UnreadableError
        inner = re.sub(r"\\([`$\\])", r"\1", found[0][:-1])
        _Reader(inner, self.line, self.depth + 1).read()
        self._dynamic(found.end())

    def _ansi(self, start: int) -> None:
        found = re.compile(r"((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, start)
        if found is None:
            raise _UnreadableError
        self._add(found[1], "*" if "\\" in found[1] else None)
        self.is_dynamic |= "\\" in found[1]
        self.is_quoted = True
        self.at = found.end()

    def _braces(self, start: int) -> int:
        """Returns the place after `${…}`, and reads the substitutions in it."""
        depth, at = 1, start
        while at < len(self.text):
            char = self.text[at]
            if self.text.startswith("$(", at):
                at = _inside(self, at + 2)
                continue
            if char == "`":
                end = self.text.find("`", at + 1)
                if end < 0:
                    raise _UnreadableError
                _Reader(self.text[at + 1 : end], self.line, self.depth + 1).read()
                at = end
            depth += (char == "{") - (char == "}")
            at += 1
            if not depth:
                return at
        raise _UnreadableError

    def _syntax(self, char: str) -> None:
        """Reads a character that has a meaning outside quotes."""
        redirect = _REDIRECT.match(self.text, self.at)
        if char == "=" or (char == "~" and self.in_word and not "".join(self.parts).endswith(("=", ":"))):
            # A tilde means the home folder only where a path may begin.
            self._add(char)
            self.at += 1
            return
        self._doubt()
        if char in "<>" and self.text[self.at + 1 : self.at + 2] == "(":
            self._dynamic(_inside(self, self.at + 2))
        elif redirect:
            self._redirect(redirect[0])
        elif char == "\n":
            self._end_command()
            self.at += 1
            self._heredocs()
        elif char in ";&|()":
            is_pipe = char == "|" and not self.text.startswith("||", self.at)
            self._end_command()
            self.command.is_piped = is_pipe
            self.at += 2 if self.text.startswith(("||", "&&", "|&"), self.at) else 1
        elif char == "#" and not self.in_word:
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)
        else:
            self._special(char)

    def _special(self, char: str) -> None:
        """Reads wildcards, braces and the other characters that can change a word."""
        following = self.text[self.at + 1 : self.at + 2]
        is_group = char == "}" or (char == "{" and following in ("", " ", "\t", "\n"))
        if is_group and not self.in_word:
            self._end_command()
        elif char == "{" and not self.text.startswith("{}", self.at):
            self._add("{", "*")
            self.is_dynamic = True
        elif char == "!" and following not in ("", " ", "\t", "=", "\n") and not self.in_word:
            self._add("!", "*")
            self.is_dynamic = True
        else:
            self._add(char, char if char in "*?[" else None)
        self.at += 1

    def _redirect(self, operator: str) -> None:
        if self.in_word and "".join(self.parts).isdigit() and not self.is_quoted:
            self._start_word()
        self._end_word()
        self.redirect = operator
        self.at += len(operator)

    def _end_word(self) -> None:
        if not self.in_word:
            return
        text = "".join(self.parts)
        # The name of the test command has no closing bracket.
        glob = escape(text) if text in ("[", "[[") else "".join(self.globs)
        word = ShellWord(text, glob, self.is_dynamic)
        is_quoted = self.is_quoted
        self._start_word()
        if self.redirect in ("<<", "<<-"):
            self.heredocs.append((self.command, word.text, is_quoted))
            self.redirect = ""
        elif self.redirect:
            self.command.redirects.append((self.redirect, word))
            self.redirect = ""
        elif not self.command.words and ASSIGNMENT.match(word.text):
            self._doubt()
            self.command.assignments.append(word)
        else:
            self.command.words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        command, self.command, self.redirect = self.command, SimpleCommand(), ""
        if command.words or command.assignments or command.redirects:
            if self.line.commands:
                self._doubt()
            self.line.commands.append(command)

    def _heredocs(self) -> None:
        for command, mark, is_literal in self.heredocs:
            closing = re.compile(rf"^\t*{re.escape(mark)}$", re.MULTILINE).search(self.text, self.at)
            end = closing.start() if closing else len(self.text)
            body = self.text[self.at : end]
            command.bodies.append(body)
            if not is_literal:
                _Reader(body, self.line, self.depth + 1)._double(closing="")  # noqa: SLF001
            self.at = min(closing.end() + 1, len(self.text)) if closing else len(self.text)
        self.heredocs = []


def _inside(reader: _Reader, start: int) -> int:
    """Reads the commands of a substitution. Returns the place after it."""
    text = _balanced(reader.text[start:])
    if _CASE.search(text):
        # A pattern of `case` ends with the same parenthesis as the substitution.
        raise _UnreadableError
    _Reader(text, reader.line, reader.depth + 1).read()
    return start + len(text) + 1


def _balanced(text: str) -> str:
    """Returns the text up to the parenthesis that closes it, past quotes and inner parentheses."""
    depth, at = 1, 0
    skip = re.compile(r"'[^']*'|\\.|\"(?:[^\"\\]|\\.)*\"|[^()'\"\\]+", re.DOTALL)
    while at < len(text):
        found = skip.match(text, at)
        if found:
            at = found.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return text[:at]
        at += 1
    raise _UnreadableError
