"""Shell text cut into pipelines of commands, well enough to judge and never failing.

Why not a full parser: docs/adr/0017-scan.md has the figures. Markdown is full of commands that are no valid shell
(`<file>`, `[options]`, `$ ` prompts), and a parser that stops at the first of them sees nothing of the rest. This one knows
quotes, escapes, comments, operators, redirections, here-documents, substitutions and continuation lines; it understands no
control flow, because a command inside `if` is still a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from metier.scan.expressions import expression
from metier.scan.text import words
from metier.values import dataclass, field

__all__ = ["MOST_TOKENS", "Command", "Pipeline", "is_too_long", "pipelines", "unescaped"]

MOST_TOKENS = 40_000
_DEEPEST = 4
_LONGEST_WORD = 4_000
_TOKEN = expression(
    r"(?P<space>[ \t\r]+|\\\r?\n)"
    r"|(?P<comment>(?<![^\s;|&(])\#[^\n]*)"
    r"|(?P<newline>\n)"
    r"|(?P<heredoc><<-?[ \t]*(?P<quote>['\"]?)(?P<mark>[A-Za-z_]\w{0,40})(?P=quote))"
    r"|(?P<redirect>\d?(?:&>>|&>|>>|>\||>&|<&|<<<|>|<(?!\()))"
    r"|(?P<operator>&&|\|\||\|&|;;|[;&|])"
    r"|(?P<paren>[()])"
    r"|(?P<single>'[^']*'?)"
    r"|(?P<ansi>\$'(?:[^'\\]|\\.)*'?)"
    r"|(?P<double>\"(?:[^\"\\`$]|\\.|\$(?!\()|`(?=[^`]*\"))*)"
    r"|(?P<inner>\$\(|`|[<>]\()"
    r"|(?P<escape>\\.)"
    r"|(?P<plain>[^\s'\"\\$`;|&()<>]+|.)",
    re.DOTALL,
)
_PROMPT = expression(r"(?m)^[ \t]*(?:\$|%|❯|>>>|PS [^\n>]{0,60}>|[\w.-]{1,30}@[\w.-]{1,40}[:~][^\n$#]{0,40}[$#])[ \t]+")
_ASSIGNMENT = expression(r"[A-Za-z_]\w*\+?=", re.ASCII)
_PLAIN_VARIABLE = expression(r"\$\{?([A-Za-z_]\w{0,60})\b\}?", re.ASCII)
_SKIPPED = words("if then else elif fi do done while until for in case esac { } ! time function select coproc")
_PREFIXES = words("sudo doas env command exec nohup nice time builtin xargs timeout stdbuf setsid unbuffer RUN CMD ENTRYPOINT")
_WITH_VALUE = frozenset(("-u", "-g", "-n", "-I", "-P", "-k", "-s", "-L", "--user", "--group", "--signal"))


@dataclass(slots=True)
class Command:
    words: list[str] = field(default_factory=list)
    """Quotes removed; a substitution stays as written."""
    at: int = 0
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """Operator and target."""
    inner: list[Pipeline] = field(default_factory=list)
    """What its substitutions run."""
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


Pipeline = list[Command]


def pipelines(text: str, offset: int = 0, depth: int = 0) -> Iterator[Pipeline]:
    """Every pipeline of the text, with those inside substitutions hanging on their commands; none beyond `MOST_TOKENS`."""
    if depth == 0:
        text = _PROMPT.sub(lambda found: " " * len(found[0]), text)
    yield from _Reader(text, offset, depth).read()


def is_too_long(text: str) -> bool:
    """Would `pipelines` stop before the end? Only long texts are worth the question."""
    return len(text) > MOST_TOKENS and sum(1 for _ in islice(_TOKEN.finditer(text), MOST_TOKENS + 1)) > MOST_TOKENS


class _Reader:
    def __init__(self, text: str, offset: int, depth: int) -> None:
        self.text, self.offset, self.depth = text, offset, depth
        self.command = Command()
        self.pipeline: Pipeline = []
        self.word: list[str] | None = None
        self.word_at = 0
        self.redirect = ""
        self.skips = False
        self.heredocs: list[tuple[str, Command]] = []
        self.is_loop = False
        self.values: dict[str, str] = {}
        """Variables that were given a plain text."""

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
            else:
                self._end_word()
                if kind == "redirect":
                    self.redirect = found[0].lstrip("0123456789")
                elif kind in ("heredoc", "mark", "quote"):
                    self.heredocs.append((found["mark"], self.command))
                elif kind == "newline":
                    at = self._bodies(at)
                    yield from self._end_pipeline()
                elif kind == "operator" and found[0] in ("|", "|&"):
                    self._end_command()
                elif kind in ("operator", "paren"):
                    yield from self._end_pipeline()
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
        """A double-quoted string, whose substitutions are commands."""
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

    def _inner(self, found: re.Match[str]) -> int:
        return self._substitution(found.start())

    def _substitution(self, start: int) -> int:
        text = self.text
        opening = 1 if text[start] == "`" else 2
        inside = start + opening
        end = text.find("`", inside) if opening == 1 else _closing(text, inside)
        if end < 0:
            end = min(len(text), inside + _LONGEST_WORD)
        body = text[inside:end]
        self._add(text[start : end + 1], start)
        if self.depth < _DEEPEST and not body.startswith("("):
            self.command.inner += list(pipelines(body, self.offset + inside, self.depth + 1))
        return end + 1

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, at = self._expanded("".join(self.word)[:_LONGEST_WORD]), self.word_at
        self.word = None
        command = self.command
        if self.redirect:
            command.redirects.append((self.redirect, word))
            self.redirect = ""
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

    def _expanded(self, word: str) -> str:
        """Pieces of a word that earlier lines spelled out: `a=cu; b=rl; $a$b`."""
        if "$" not in word or not self.values:
            return word
        return _PLAIN_VARIABLE.sub(lambda found: self.values.get(found[1], found[0]), word)[:_LONGEST_WORD]

    def _end_command(self) -> None:
        command = self.command
        if self.is_loop and command.words[1:2] == ["in"]:
            # `for name in words`: the name is given the words.
            command.assigns.append((command.words[0], " ".join(command.words[2:])))
            command.words = []
        elif not command.words:
            self.values.update((name, value) for name, value in command.assigns if "$" not in value and "`" not in value)
        if command.words or command.assigns or command.redirects or command.inner or command.prefixes:
            if not command.words and command.prefixes:
                command.words = command.prefixes[-1:]
            self.pipeline.append(command)
        self.command = Command()
        self.redirect, self.skips, self.is_loop = "", False, False

    def _end_pipeline(self) -> Iterator[Pipeline]:
        self._end_command()
        if self.pipeline:
            yield self.pipeline
        self.pipeline = []

    def _bodies(self, at: int) -> int:
        """Skip the here-documents that began on the line just ended, and keep them with their commands."""
        for mark, command in self.heredocs:
            closing = expression(rf"^[ \t]*{re.escape(mark)}[ \t]*$", re.MULTILINE).search(self.text, at)
            end = closing.start() if closing else len(self.text)
            command.body = self.text[at:end][:20_000]
            at = closing.end() if closing else end
        self.heredocs = []
        return at


def _closing(text: str, at: int) -> int:
    """The parenthesis that closes the one before `at`, past quotes; -1 if there is none nearby."""
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
    """Bash's $'...': hexadecimal, octal and the usual letters."""

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        if found[2]:
            return chr(int(found[2], 8))
        return {"n": "\n", "t": "\t"}.get(found[3], found[3])

    return re.sub(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", one, text, flags=re.DOTALL)
