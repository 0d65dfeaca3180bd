"""Shell text as pipelines of commands. The reader never fails.

docs/adr/0015-scan.md explains why this is not a full parser. Markdown is full of commands that are not valid shell (`<file>`,
`[options]`, `$ ` prompts), and a strict parser stops at the first of them. This reader handles quotes, escapes, comments,
operators, redirections, here-documents, substitutions and continuation lines. It ignores control flow, because a command inside
`if` is still a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from metier.lazy import lazy_pattern
from metier.scan.patterns import words
from metier.values import dataclass, field

__all__ = ["MOST_TOKENS", "Pipeline", "ShellCommand", "is_too_long", "pipelines", "unescaped"]

MOST_TOKENS = 40_000
_DEEPEST = 4
_LONGEST_WORD = 4_000
_TOKEN = lazy_pattern(
    r"(?P<space>[ \t\r]+|\\\r?\n)|(?P<comment>(?<![^\s;|&(])\#[^\n]*)|(?P<newline>\n)"
    r"|(?P<heredoc><<-?[ \t]*(?P<quote>['\"\\]?)(?P<mark>[A-Za-z_][\w.-]{0,40})['\"]?)|(?P<redirect>\d?(?:&>>|&>|>>|>\||>&"
    r"|<&|<<<|>|<(?!\()))|(?P<operator>&&|\|\||\|&|;;&?|;&|[;&|])|(?P<paren>[()])|(?P<single>'[^']*'?)|(?P<ansi>\$'(?:[^'\\]"
    r"|\\.)*'?)|(?P<double>\"(?:[^\"\\`$]|\\.|\$(?!\()|`(?=[^`]*\"))*)|(?P<inner>\$\(|`|[<>]\()|(?P<escape>\\.)"
    r"|(?P<plain>[^\s'\"\\$`;|&()<>]+|.)",
    re.DOTALL,
)
_PROMPT = lazy_pattern(r"(?m)^[ \t]*(?:\$|%|❯|>>>|PS [^\n>]{0,60}>|[\w.-]{1,30}@[\w.-]{1,40}[:~][^\n$#]{0,40}[$#])[ \t]+")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*\+?=", re.ASCII)
_SUBSTITUTION = lazy_pattern(r"(?<!\\)(?:\$\((?!\()|`)")
_CLOSED = lazy_pattern(r"[ \t]*\)")
_ARRAY = lazy_pattern(r"[A-Za-z_]\w*\+?=", re.ASCII)
_PLAIN_VARIABLE = lazy_pattern(r"\$\{?([A-Za-z_]\w{0,60})\b\}?", re.ASCII)
_SKIPPED = words("if then else elif fi do done while until for in case esac { } ! time function select coproc")
_PREFIXES = words("sudo doas env command exec nohup nice time builtin xargs timeout stdbuf setsid unbuffer RUN CMD ENTRYPOINT")
_WITH_VALUE = frozenset(("-u", "-g", "-n", "-I", "-P", "-k", "-s", "-L", "--user", "--group", "--signal"))


@dataclass(slots=True)
class ShellCommand:
    words: list[str] = field(default_factory=list)
    """Without quotes; substitutions stay as written."""
    at: int = 0
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """Operator and target."""
    inner: list[Pipeline] = field(default_factory=list)
    """The pipelines of its substitutions."""
    assigns: list[tuple[str, str]] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    body: str = ""
    """A here-document."""

    @property
    def name(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> list[str]:
        return self.words[1:]

    def everything(self) -> str:
        return " ".join((*self.words, *(target for _, target in self.redirects), *(value for _, value in self.assigns)))


Pipeline = list[ShellCommand]


def pipelines(text: str, offset: int = 0, depth: int = 0) -> Iterator[Pipeline]:
    """Yields every pipeline within the first `MOST_TOKENS` tokens. Those inside substitutions belong to their commands."""
    if depth == 0:
        text = _PROMPT.sub(lambda found: " " * len(found[0]), text)
    yield from _Reader(text, offset, depth).read()


def is_too_long(text: str) -> bool:
    """Returns True if `pipelines` stops before the end of the text."""
    return len(text) > MOST_TOKENS and sum(1 for _ in islice(_TOKEN.finditer(text), MOST_TOKENS + 1)) > MOST_TOKENS


class _Reader:
    def __init__(self, text: str, offset: int, depth: int) -> None:
        self.text, self.offset, self.depth = text, offset, depth
        self.command = ShellCommand()
        self.pipeline: Pipeline = []
        self.word: list[str] | None = None
        self.word_at = 0
        self.redirect = ""
        self.skips = False
        self.heredocs: list[tuple[str, bool, ShellCommand]] = []
        self.is_loop = self.is_case = self.is_function = self.is_test = False
        self.cases = 0
        """The number of open `case` statements."""
        self.sums_left = 200
        """Bounds the searches for the end of arithmetic, which are long."""
        self.is_pattern = False
        """Between `in` or `;;` and the parenthesis that ends a pattern."""
        self.values: dict[str, str] = {}
        """Variables that were assigned plain text."""

    def read(self) -> Iterator[Pipeline]:
        at, left = 0, MOST_TOKENS
        while at < len(self.text) and left:
            left -= 1
            found = _TOKEN.match(self.text, at)
            if found is None:
                break
            at = found.end()
            kind = found.lastgroup or ""
            if kind in ("single", "ansi", "escape", "plain"):
                self._grow(found, kind)
            elif kind == "double":
                at = self._double(found)
            elif kind == "inner":
                at = self._inner(found)
            elif found[0] == "(" and self.word is not None and _ARRAY.fullmatch("".join(self.word)):
                at = self._array(at)
            elif kind == "paren":
                at = self._paren(found[0], at)
                yield from self._end_pipeline()
            else:
                self._end_word()
                if self.is_test and kind in ("redirect", "operator"):
                    # Inside `[[ ]]` these compare and combine.
                    continue
                if kind == "redirect":
                    self.redirect = found[0].lstrip("0123456789")
                elif kind in ("heredoc", "mark", "quote"):
                    self.heredocs.append((found["mark"], bool(found["quote"]), self.command))
                elif kind == "newline":
                    at = self._bodies(at)
                    # A pattern ends on its line.
                    self.is_pattern = self.is_pattern and not self.command.words and not self.pipeline
                    self.is_test = False
                    yield from self._end_pipeline()
                elif kind == "operator" and found[0] in ("|", "|&"):
                    self._end_command()
                elif kind == "operator":
                    yield from self._end_pipeline()
                    self.is_pattern = self.is_pattern or (self.cases > 0 and found[0] in (";;", ";&", ";;&"))
        self._end_word()
        yield from self._end_pipeline()

    def _grow(self, found: re.Match[str], kind: str) -> None:
        piece = found[0]
        if kind == "single":
            piece = piece[1:].removesuffix("'")
        elif kind == "ansi":
            piece = unescaped(piece[2:].removesuffix("'"))
        elif kind == "escape":
            piece = piece[1:]
        self._add(piece, found.start())

    def _add(self, piece: str, at: int) -> None:
        if self.word is None:
            self.word, self.word_at = [], at
        if len(self.word) < 1_000:
            self.word.append(piece[:_LONGEST_WORD])

    def _double(self, found: re.Match[str]) -> int:
        """Reads a double-quoted string, whose substitutions are commands."""
        start = found.start()
        end = found.end()
        self._add(found[0][1:].replace('\\"', '"').replace("\\$", "$"), start)
        text = self.text
        while end < len(text) and text[end] != '"':
            if text.startswith("$(", end) or text[end] == "`":
                end = self._substitution(end)
                continue
            stop = end + 1
            while stop < len(text) and text[stop] not in '"`$\\':
                stop += 1
            if text[end] == "\\":
                stop = max(stop, end + 2)
            self._add(text[end:stop], end)
            end = stop
        return end + 1

    def _paren(self, paren: str, at: int) -> int:
        """Reads a parenthesis of a pattern, a function, arithmetic or a subshell."""
        name = self.word if not self.command.words else None
        closed = _CLOSED.match(self.text, at) if paren == "(" else None
        if closed and (name or len(self.command.words) == 1):
            # `name() { ...; }` runs nothing yet; its body is read as commands.
            self.word, self.command = None, ShellCommand()
            return closed.end()
        self._end_word()
        if self.is_pattern and paren == ")":
            self.command, self.pipeline, self.is_pattern = ShellCommand(), [], False
        elif paren == "(" and self.text[at : at + 1] == "(" and not self.command.words and self.sums_left:
            self.sums_left -= 1
            end = _closing(self.text, at + 1)
            if end >= 0 and self.text[end + 1 : end + 2] == ")":
                self._substitutions(at + 1, end)
                return end + 2
        return at

    def _substitutions(self, start: int, end: int) -> None:
        """Reads the substitutions in arithmetic and here-documents."""
        for found in islice(_SUBSTITUTION.finditer(self.text, start, end), 200):
            inside = found.end()
            stop = self.text.find("`", inside, end) if found[0] == "`" else _closing(self.text, inside)
            if 0 <= stop <= end and self.depth < _DEEPEST:
                self.command.inner += list(pipelines(self.text[inside:stop], self.offset + inside, self.depth + 1))

    def _array(self, start: int) -> int:
        """Reads `name=(a b $(c))`: the name is assigned all words, and substitutions are commands."""
        end = _closing(self.text, start)
        end = end if end >= 0 else len(self.text)
        inside = self.text[start:end] if self.depth < _DEEPEST else ""
        for pipeline in pipelines(inside, self.offset + start, self.depth + 1):
            for command in pipeline:
                self._add(" ".join((*command.prefixes, *command.words, "")), start)
                self.command.inner += command.inner
        return end + 1

    def _inner(self, found: re.Match[str]) -> int:
        return self._substitution(found.start())

    def _substitution(self, start: int) -> int:
        text = self.text
        opening = 1 if text[start] == "`" else 2
        inside = start + opening
        end = _backtick(text, inside) if opening == 1 else _closing(text, inside)
        if end < 0:
            end = min(len(text), inside + _LONGEST_WORD)
        body = text[inside:end]
        self._add(text[start : end + 1], start)
        if body.startswith("("):
            self._substitutions(inside, end)
        elif self.depth < _DEEPEST:
            body = body.replace("\\`", "`") if opening == 1 else body
            self.command.inner += list(pipelines(body, self.offset + inside, self.depth + 1))
        return end + 1

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, at = self._expand("".join(self.word)[:_LONGEST_WORD]), self.word_at
        self.word = None
        command = self.command
        if self.redirect:
            command.redirects.append((self.redirect, word))
            self.redirect = ""
            return
        if self._is_grammar(word):
            return
        if not command.words:
            if self.skips or word in _SKIPPED or (command.prefixes and (word.startswith("-") or word[:1].isdigit())):
                self.skips = not self.skips and bool(command.prefixes) and word in _WITH_VALUE
                self.is_loop = self.is_loop or word in ("for", "select")
                return
            assigned = _ASSIGNMENT.match(word)
            if assigned:
                command.assigns.append((assigned[0].rstrip("+="), word[assigned.end() :]))
                command.at = command.at or self.offset + at
                return
            if word.rpartition("/")[2] in _PREFIXES:
                command.prefixes.append(word.rpartition("/")[2])
                command.at = command.at or self.offset + at
                return
            if not command.prefixes:
                command.at = self.offset + at
        command.words.append(word)

    def _is_grammar(self, word: str) -> bool:
        """Returns True if a word belongs to `case`, `function` or `[[ ]]` rather than to a command."""
        if self.is_function:
            self.is_function = False
            return True
        if self.is_case and word == "in":
            self.command.words = []
            self.is_case, self.is_pattern, self.cases = False, True, self.cases + 1
            return True
        if self.is_test:
            self.is_test = word != "]]"
            return False
        if self.command.words:
            return False
        if word == "esac" and self.cases:
            self.cases, self.is_pattern = self.cases - 1, False
            return True
        if not self.is_pattern:
            self.is_case = self.is_case or word == "case"
            self.is_function = word == "function"
            self.is_test = word == "[["
        return False

    def _expand(self, word: str) -> str:
        """Replaces variables that earlier lines assigned: `a=cu; b=rl; $a$b`."""
        if "$" not in word or not self.values:
            return word
        return _PLAIN_VARIABLE.sub(lambda found: self.values.get(found[1], found[0]), word)[:_LONGEST_WORD]

    def _end_command(self) -> None:
        command = self.command
        if self.is_loop and command.words[1:2] == ["in"]:
            # `for name in words` assigns the words to the name.
            command.assigns.append((command.words[0], " ".join(command.words[2:])))
            command.words = []
        elif not command.words:
            self.values.update((name, value) for name, value in command.assigns if "$" not in value and "`" not in value)
        if command.words or command.assigns or command.redirects or command.inner or command.prefixes:
            if not command.words and command.prefixes:
                command.words = command.prefixes[-1:]
            self.pipeline.append(command)
        self.command = ShellCommand()
        self.redirect, self.skips, self.is_loop, self.is_case = "", False, False, False

    def _end_pipeline(self) -> Iterator[Pipeline]:
        self._end_command()
        if self.pipeline:
            yield self.pipeline
        self.pipeline = []

    def _bodies(self, at: int) -> int:
        """Skips the here-documents that began on this line, and keeps them with their commands."""
        for mark, is_literal, command in self.heredocs:
            closing = lazy_pattern(rf"^[ \t]*{re.escape(mark)}[ \t]*$", re.MULTILINE).search(self.text, at)
            end = closing.start() if closing else len(self.text)
            command.body += self.text[at:end][:20_000]
            if not is_literal:
                self.command, outer = command, self.command
                self._substitutions(at, min(end, at + 20_000))
                self.command = outer
            at = min(closing.end() + 1, len(self.text)) if closing else end
        self.heredocs = []
        return at


def _backtick(text: str, at: int) -> int:
    """Returns the place of the closing backtick, past escaped ones; -1 if there is none."""
    found = text.find("`", at)
    while found > 0 and text[found - 1] == "\\":
        found = text.find("`", found + 1)
    return found


def _closing(text: str, at: int) -> int:
    """Returns the place of the closing parenthesis, past quotes; -1 if there is none nearby."""
    depth, quote = 1, ""
    for place in range(at, min(len(text), at + 20_000)):
        char = text[place]
        if quote:
            if char == quote and text[place - 1] != "\\":
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if not depth:
                return place
    return -1


def unescaped(text: str) -> str:
    """Resolves the escapes of Bash's $'...': hexadecimal, octal, `n` and `t`."""

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        if found[2]:
            return chr(int(found[2], 8))
        return {"n": "\n", "t": "\t"}.get(found[3], found[3])

    return re.sub(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", one, text, flags=re.DOTALL)
