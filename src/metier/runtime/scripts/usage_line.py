"""Reads a usage line such as `Usage: convert.sh [--quality N] <input> [output...]` in the text of a script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metier.values import replace

from .command_line import ArgumentKind, CommandLine, ScriptArgument

__all__ = ["read_usage", "usage_text"]

_USAGE = re.compile(r"^[\s#/*;\"'-]*usage:?[ \t]*(?P<rest>.*)$", re.IGNORECASE)
_COMMENT = re.compile(r"^\s*(?:#+!?|//+|/?\*+/?|--|;+)?[ \t]?(?P<text>.*?)\s*$")
_OPTION_LINE = re.compile(
    r"^\s+(?P<names>-{1,2}[\w-]+(?:[ ,=|/]+(?:-{1,2}[\w-]+|[<\[]?[A-Za-z_][\w.-]*[>\]]?))*)\s{2,}(?P<help>\S.*)$"
)
_TOKEN = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|<[^<>]+>(?:\.\.\.|…)?|\([^()]*\)|\S+")
_RUNNERS = frozenset(
    {"python", "python3", "uv", "run", "bash", "sh", "node", "bun", "deno", "ruby", "perl", "npx", "tsx", "./"}
)
_MAX_LINES = 120


def usage_text(source: str) -> list[str]:
    """Returns the usage line and the lines below it, without comment marks; empty if there is none."""
    lines = source.splitlines()[:_MAX_LINES]
    for place, line in enumerate(lines):
        found = _USAGE.match(line)
        if found is None:
            continue
        below = [_COMMENT.match(each) for each in lines[place + 1 : place + 40]]
        texts = [each["text"] for each in below if each is not None]
        head = found["rest"].strip().rstrip("\"'")
        if not head and texts:
            head, texts = texts[0].strip(), texts[1:]
        return [head, *texts]
    return []


def read_usage(source: str, file: str) -> CommandLine | None:
    """Returns the command line of the usage line, or None without one."""
    lines = usage_text(source)
    if not lines or not lines[0]:
        return None
    words = _after_program(_TOKEN.findall(lines[0]), file)
    if words is None:
        return None
    helps = dict(_option_helps(lines[1:]))
    found: dict[str, ScriptArgument] = {}
    for argument in _arguments(words):
        found.setdefault(argument.name, argument)
    arguments = tuple(_with_help(each, helps) for each in found.values())
    return CommandLine(arguments=arguments, supports_equals=False)


def _after_program(words: list[str], file: str) -> list[str] | None:
    """Returns the words after the script's own name, or None if the line does not name it."""
    name = file.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    for place, word in enumerate(words):
        bare = word.rpartition("/")[2].strip("`\"'")
        if bare in (name, stem, "$0", "${0}", "%prog") or bare.startswith("$(basename"):
            return words[place + 1 :]
        if word not in _RUNNERS and not word.startswith("-"):
            return None
    return None


def _arguments(words: list[str]) -> Iterator[ScriptArgument]:
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        optional = word.startswith("[") and "]" in word
        repeated = word.endswith(("...", "…", "...]", "…]")) or (place < len(words) and words[place] in ("...", "…"))
        inner = (
            word.strip("[]").replace("...", "").replace("…", "").strip()
            if optional
            else word.replace("...", "").replace("…", "").strip()
        )
        if not inner or inner.upper() in ("OPTIONS", "OPTION", "FLAGS", "<OPTIONS>"):
            continue
        if inner.startswith("-"):
            takes = ""
            if not optional and place < len(words) and _is_value(words[place]):
                takes = words[place]
                place += 1
            yield _option(inner, takes, required=not optional)
        elif _is_value(inner) or optional:
            yield ScriptArgument(name=_name(inner), required=not optional, repeated=repeated, choices=_choices(inner))


def _option(inner: str, takes: str, *, required: bool) -> ScriptArgument:
    spellings, _, value = inner.replace("=", " ").partition(" ")
    value = value.strip() or takes
    names = re.split(r"[|,/]", spellings)
    spelling = max((name for name in names if name.startswith("-")), key=len)
    if not value:
        return ScriptArgument(name=_name(spelling), kind=ArgumentKind.FLAG, spelling=spelling)
    kind = "integer" if re.fullmatch(r"<?(?:N|NUM|COUNT|INT)>?", value) else "string"
    return ScriptArgument(
        name=_name(spelling), kind=ArgumentKind.OPTION, spelling=spelling, type=kind, choices=_choices(value), required=required
    )


def _is_value(word: str) -> bool:
    return bool(re.fullmatch(r"<[^<>]+>|\{[^{}]+\}|[A-Z][A-Z0-9_./-]*|[A-Za-z_][\w.-]*", word))


def _choices(word: str) -> tuple[str, ...]:
    inner = word.strip("<>{}[]()")
    parts = re.split(r"[|,]", inner)
    return (
        tuple(part.strip() for part in parts)
        if len(parts) > 1 and all(re.fullmatch(r"[\w.-]+", part.strip()) for part in parts)
        else ()
    )


def _name(word: str) -> str:
    return re.sub(r"\W+", "_", word.strip("<>{}[]().-")).strip("_").lower() or "value"


def _option_helps(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        found = _OPTION_LINE.match(line if line.startswith(" ") else f"  {line}")
        if found:
            for name in re.findall(r"-{1,2}[\w-]+", found["names"]):
                yield name, found["help"].strip()


def _with_help(argument: ScriptArgument, helps: dict[str, str]) -> ScriptArgument:
    text = helps.get(argument.spelling, "")
    return replace(argument, help=text) if text else argument
