"""Finds the paths into the skill that a text mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from metier.errors import RefusedError
from metier.spec.files import resource_path
from metier.values import dataclass

from .subject import LintSubject, TextLine, folders_of

__all__ = ["INLINE_CODE", "Mention", "is_spelled_out", "mentions", "names_in", "names_of", "own_path"]

INLINE_CODE = re.compile(r"`([^`]+)`")
_BASE = (
    r"(?P<base>\{baseDir\}/|\$\{?(?:CLAUDE_)?SKILL_(?:DIR|PATH|ROOT)\}?/|\{\{?\s?skill_?(?:dir|path)\s?\}\}?/"
    r"|<skill[-_ ]?(?:dir|path|root)[a-z]{0,6}>/|\./)?"
)
_OWN = re.compile(
    r"(?<![\w./@{}$<>*~%\\:-])" + _BASE + r"(?P<path>(?:scripts|references|assets)/[\w.+@/-]{1,200})(?P<next>.?)", re.IGNORECASE
)
_LINK = re.compile(r"\]\([ \t]{0,4}<?(?P<path>[^()<>\s]{1,300})>?(?=[ \t)])")
_DEFINITION = re.compile(r"^[ \t]{0,3}\[[^\[\]]{1,200}\]:[ \t]{1,4}<?(?P<path>[^<>\s]{1,300})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_ENDING = re.compile(r"[^.].*\.[A-Za-z0-9]{1,8}")
_MADE_UP = re.compile(
    r"[*{}<>$|…]|\.\.\.|xxx|yyyy|nnn|path/to|your[-_]|placeholder|(?:^|[/_-])(?:foo|bar|baz)\b"
    r"|(?:^|/)(?:file|filename|script|image|name|link|url|doc|document|my[-_]\w+|some[-_]\w+)\.\w+$",
    re.IGNORECASE,
)
_MODULES = (".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".sh", ".rb", ".ps1")
_RUN = re.compile(r"\b(?:run|runs|running|execute|executes|call|calls|invoke|start) (?:the )?(?:script )?$", re.IGNORECASE)
_OF_PROJECT = re.compile(
    r"`\s+(?:of|in|from) (?:the|your|this|that) (?:\w+ )?(?:project|repo|repository|workspace)", re.IGNORECASE
)
_TOKEN = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*/?")


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of a file of the skill in a text."""

    path: str
    line: TextLine
    column: int
    is_link: bool
    is_certain: bool
    """The text clearly means the skill's own folder."""


def own_path(word: str) -> tuple[str, str] | None:
    """Returns the prefix and the path of a word that is a path in one of the standard's three folders."""
    found = _OWN.match(word)
    if not found or found.end("path") < len(word.rstrip(".,;:)\"'`")):
        return None
    path = _clean(found["path"])
    return (found["base"] or "", path) if path else None


def is_spelled_out(base: str) -> bool:
    """Returns whether a prefix clearly means the skill's folder; `./` or none may mean the project."""
    return base not in ("", "./")


def mentions(lines: tuple[TextLine, ...], page: LintSubject) -> Iterator[Mention]:
    """Yields links to relative paths, and paths in the standard's three folders, in prose."""
    for line in lines:
        if not line.is_prose or not ("/" in line.text or "](" in line.text or "]:" in line.text):
            continue
        # Inline code shows a link and does not make one; blanks keep the columns.
        shown = INLINE_CODE.sub(lambda code: " " * len(code[0]), line.text) if "`" in line.text else line.text
        linked = []
        for pattern in (_LINK, _DEFINITION):
            for found in pattern.finditer(shown):
                path = _link_path(found["path"])
                linked.append(found.span("path"))
                if path:
                    yield Mention(path, line, found.start("path") + 1, is_link=True, is_certain=True)
        for found in _OWN.finditer(line.text):
            path = _clean(found["path"])
            inside_link = any(start <= found.start("path") < end for start, end in linked)
            if path and not inside_link and found["next"] not in tuple("*{<$[%("):
                explicit = is_spelled_out(found["base"] or "") or path.startswith("references/")
                certain = explicit or path.partition("/")[0] in page.folders or _is_run(line.text, found)
                yield Mention(path, line, found.start("path") + 1, is_link=False, is_certain=certain)


def _is_run(text: str, found: re.Match[str]) -> bool:
    """Returns whether the text says to run this path of the skill, in inline code: run `scripts/lint.sh`."""
    before, after = text[: found.start()], text[found.end("path") :]
    in_code = before.endswith("`") and after.startswith("`")
    return in_code and bool(_RUN.search(before[:-1])) and not _OF_PROJECT.match(after)


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Returns every name in the texts, in the forms that `names_of` gives a file."""
    names: set[str] = set()
    for text in texts:
        for token in _TOKEN.findall(text):
            path = token.strip("./")
            last = path.rpartition("/")[2]
            names.update((path, last, last.rpartition(".")[2]))
            if "/" in token:
                names.add(path + "/")
    return frozenset(names)


def names_of(path: str) -> frozenset[str]:
    """Returns the names by which a text may mention this file: its path, its last part, a folder it is in, a module's name."""
    last = path.rpartition("/")[2]
    stem = {last.partition(".")[0]} if path.lower().endswith(_MODULES) else set()
    return frozenset({path, last, *stem, *(folder + "/" for folder in folders_of(path))})


def _clean(written: str) -> str | None:
    path = written.rstrip("./-+@")
    if _MADE_UP.search(path) or not _ENDING.fullmatch(path.rpartition("/")[2]):
        return None
    return _inside(path)


def _link_path(target: str) -> str | None:
    path = target.partition("#")[0].partition("?")[0].replace("%20", " ")
    if not path or _SCHEME.match(path) or path.startswith(("/", "~", "@")) or _MADE_UP.search(path):
        return None
    last = path.rstrip("/").rpartition("/")[2]
    # `[text](word)` is an example of a link; a file has an extension.
    return _inside(path) if _ENDING.fullmatch(last) and re.search(r"[A-Za-z]", last.rpartition(".")[2]) else None


def _inside(path: str) -> str | None:
    try:
        return resource_path(path)
    except RefusedError:
        return None
