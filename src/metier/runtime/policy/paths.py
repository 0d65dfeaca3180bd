"""Path patterns such as `Read(src/*)` and `Edit(/etc/*)`.

An allow needs both the path and the file that it leads to (through links) to match; a deny needs one of them. Paths are
compared in their shortest form: `//etc/shadow` and `/usr/../etc/shadow` are `/etc/shadow`. A deny pattern also covers
everything below a path that it names, and a name without a slash is denied in every folder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from metier.lazy import lazy_pattern
from metier.values import dataclass

from .command_line import ShellLine
from .denials import all_commands
from .effects import operands_of, risks
from .programs import Effect, Operands, Program, find_program
from .shell_words import ShellWord, globs_meet
from .tool_names import is_reader, is_writer

__all__ = ["PathContext", "command_touches", "covers_path", "denies_path", "same_act"]

_WILD = lazy_pattern(r"[*?\[]")
_DRIVE = lazy_pattern(r"[A-Za-z]:[/\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathContext:
    """The facts about paths that a policy cannot know by itself. Without them paths are compared as text."""

    folder: str = ""
    """The folder that relative paths start from."""
    home: str = ""
    resolve: Callable[[str], str] | None = None
    """Follows links: `os.path.realpath`."""


def same_act(denied: str, tool: str) -> bool:
    """Returns True if a deny rule for paths of one tool applies to another: a denied read denies edits, too."""
    return (is_reader(denied) and is_path_tool(tool)) or (is_writer(denied) and is_writer(tool))


def is_path_tool(tool: str) -> bool:
    return is_reader(tool) or is_writer(tool)


def covers_path(pattern: str, path: str, context: PathContext) -> bool:
    """Returns True if the pattern certainly covers the path."""
    if path == pattern and not _WILD.search(pattern):
        return True
    if ".." in path.replace("\\", "/").split("/") or not fnmatchcase(path, pattern):
        return False
    if context.resolve is None or not path:
        return True
    # A link in an allowed folder may lead out of it.
    fixed = _fixed_folder(pattern)
    real = context.resolve(_absolute(path, context))
    allowed = posixpath.join(context.resolve(_absolute(fixed, context)), pattern[len(fixed) :].lstrip("/"))
    return fnmatchcase(real, allowed) or fnmatchcase(real, _absolute(pattern, context))


def denies_path(pattern: str, path: str, context: PathContext) -> bool:
    """Returns True if the path may be one that the pattern covers."""
    wanted = set(_patterns(pattern, context))
    return any(_below(spelling, glob) for spelling in _spellings(path, context) for glob in wanted)


def command_touches(tool: str, pattern: str, line: ShellLine, context: PathContext) -> bool:
    """Returns True if a command of the line may read (or, for a tool that writes, change) a path that the pattern denies."""
    is_write = is_writer(tool)
    if line.is_broken:
        return True
    for command in line.commands:
        for operator, target in command.redirects:
            if (">" in operator or not is_write) and _word_denied(target, pattern, context):
                return True
    seen: set[tuple[ShellWord, bool]] = set()
    for words in all_commands(line):
        program = find_program(words[0].text) if not words[0].is_dynamic else None
        if is_write and _only_reads(program, words):
            continue
        walks = program is not None and _walks(program, words)
        for word in words[0 if len(words) == 1 else 1 :]:
            # The commands of a line share most of their words.
            if (word, walks) not in seen and _word_denied(word, pattern, context, walks=walks):
                return True
            seen.add((word, walks))
        if program is not None and walks and _reads_current_folder(program, words) and _is_above(".", pattern, context):
            return True
    return False


def _reads_current_folder(program: Program, words: Sequence[ShellWord]) -> bool:
    """Returns True if a search has no folder: its one operand is what to search for."""
    return len(operands_of(program, [word.text for word in words])) < 2


def _only_reads(program: Program | None, words: Sequence[ShellWord]) -> bool:
    if program is None or program.operands not in (Operands.READ, Operands.CODE) or program.commands:
        return False
    return not any(
        risk.effect in (Effect.WRITES, Effect.UNKNOWN, Effect.STARTS) for risk in risks(program, [word.text for word in words])
    )


def _walks(program: Program, words: Sequence[ShellWord]) -> bool:
    if not program.walks:
        return False
    options = program.walks.split()
    letters = {option[1] for option in options if len(option) == 2}
    return "always" in options or any(
        word.text in options or (word.text.startswith("-") and not word.text.startswith("--") and letters & set(word.text[1:]))
        for word in words[1:]
    )


def _word_denied(word: ShellWord, pattern: str, context: PathContext, *, walks: bool = False) -> bool:
    return any(
        denies_path(pattern, text, context)
        or _globs_meet(text, word, pattern, context)
        or (walks and _is_above(text, pattern, context))
        for text in _paths_in(word)
    )


def _paths_in(word: ShellWord) -> Iterator[str]:
    """The word, and the parts of it that may be a path: `--file=x`, `-fx`, `if=x`, `@x`, `host:x`."""
    text = word.glob.replace("[*]", "*").replace("[?]", "?") if word.is_dynamic else word.text
    yield text
    for mark in ("=", "@", ":"):
        if mark in text:
            yield text.partition(mark)[2]
    if text.startswith("-") and not text.startswith("--") and len(text) > 2:
        yield text[2:]


def _globs_meet(text: str, word: ShellWord, pattern: str, context: PathContext) -> bool:
    """Returns True if a word with wildcards or variables may become a path that the pattern covers."""
    if not (word.is_dynamic or word.is_wild):
        return False
    mine = set(_spellings(text if word.is_dynamic else word.glob, context))
    other = {end for each in _patterns(pattern, context) for end in (each, f"{each}/*")}
    return any(globs_meet(one, two, crosses=word.is_dynamic) for one in mine for two in other)


def _is_above(folder: str, pattern: str, context: PathContext) -> bool:
    """Returns True if the folder contains what the pattern names."""
    if "/" not in pattern:
        return True
    fixed, above = _absolute(_fixed_folder(pattern) or ".", context), _absolute(folder, context)
    return _below(fixed, above) or (above == "." and not fixed.startswith(("/", "~")))


def _spellings(path: str, context: PathContext) -> Iterator[str]:
    """The ways to write a path: as given, in its shortest form, absolute, and where its links lead."""
    text = path.replace("\\", "/").casefold()
    yield text
    yield _shortest(text)
    absolute = _absolute(path, context)
    yield absolute.casefold()
    if not context.folder and absolute.startswith("../"):
        # It leads up from an unknown folder.
        yield "/" + re.sub(r"^(\.\./)+", "", absolute).casefold()
    if context.resolve is not None and absolute:
        fixed = _fixed_folder(absolute)
        yield posixpath.join(context.resolve(fixed or absolute), absolute[len(fixed) :].lstrip("/")).rstrip("/").casefold()
        if not _WILD.search(absolute):
            yield context.resolve(absolute).casefold()


def _patterns(pattern: str, context: PathContext) -> Iterator[str]:
    yield from _spellings(pattern, context)
    if "/" not in pattern.rstrip("/"):
        yield f"*/{pattern.casefold()}"


def _absolute(path: str, context: PathContext) -> str:
    text = path.replace("\\", "/") if not _DRIVE.match(path) else path[2:].replace("\\", "/")
    if text == "~" or text.startswith("~/"):
        text = context.home + text[1:] if context.home else text
    elif not text.startswith("/") and context.folder:
        text = posixpath.join(context.folder, text)
    return _shortest(text)


def _shortest(text: str) -> str:
    if not text:
        return text
    short = posixpath.normpath(text)
    return "/" + short.lstrip("/") if short.startswith("/") else short


def _fixed_folder(pattern: str) -> str:
    """The folder before the first wildcard."""
    found = _WILD.search(pattern)
    return (
        pattern
        if found is None
        else pattern[: pattern.rfind("/", 0, found.start()) + 1].rstrip("/") or ("/" if pattern.startswith("/") else "")
    )


def _below(path: str, glob: str) -> bool:
    """Returns True if the pattern covers the path or a folder above it."""
    if not path:
        return False
    glob = glob.rstrip("/") or "/"
    return (
        fnmatchcase(path, glob)
        or fnmatchcase(path, "/*" if glob == "/" else f"{glob}/*")
        or fnmatchcase(f"{path}/", glob.replace("**", "*"))
    )
