"""The steps of an observation: every script with several arguments, and every runnable code block of the documents."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from metier.errors import MetierError
from metier.spec import SKILL_FILE, Files
from metier.values import dataclass

__all__ = ["Language", "SkillSources", "Step", "plan_steps", "read_sources", "sample_files"]

from enum import StrEnum

_MOST_SCRIPTS, _MOST_BLOCKS, _MOST_EXAMPLES = 30, 40, 2
_MOST_BYTES = 512 * 1024
_FENCE = re.compile(r"(?ms)^([ \t]*)(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n]*\n(.*?)^[ \t]*\2[`~]*[ \t]*$")
_FIRST_WORDS = re.compile(
    r"(?m)^\s*(?:\$ )?(?:curl|wget|python3?|node|bash|sh|source|export|npm|npx|pip3?|git|sudo|chmod|\./|cat|echo|eval|base64)\b"
)
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|fixtures?|node_modules|vendor|dist)/|(?:^|/)(?:test_|conftest)|\.(?:test|spec)\."
)


class Language(StrEnum):
    PYTHON = "python"
    SHELL = "shell"
    JAVASCRIPT = "javascript"


_SUFFIXES = {
    ".py": Language.PYTHON, ".sh": Language.SHELL, ".bash": Language.SHELL, ".zsh": Language.SHELL,
    ".js": Language.JAVASCRIPT, ".mjs": Language.JAVASCRIPT, ".cjs": Language.JAVASCRIPT,
}  # fmt: skip
_OTHER_SUFFIXES = (".ts", ".mts", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd", ".go", ".rs", ".lua", ".swift", ".exe")
_NAMES = {
    "bash": Language.SHELL, "sh": Language.SHELL, "shell": Language.SHELL, "zsh": Language.SHELL, "console": Language.SHELL,
    "shell-session": Language.SHELL, "shellscript": Language.SHELL, "terminal": Language.SHELL,
    "python": Language.PYTHON, "python3": Language.PYTHON, "py": Language.PYTHON,
    "javascript": Language.JAVASCRIPT, "js": Language.JAVASCRIPT, "node": Language.JAVASCRIPT, "mjs": Language.JAVASCRIPT,
}  # fmt: skip
_SHEBANG = re.compile(rb"#![^\n]*?\b(python3?|node|bash|sh|zsh|dash)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One program to run."""

    file: str
    """The file of the skill that it comes from."""
    line: int | None = None
    """Of a code block: its first line in the document."""
    language: Language
    arguments: tuple[str, ...] = ()
    code: str = ""
    """The text of a code block; empty for a script."""

    @property
    def is_block(self) -> bool:
        return bool(self.code)

    @property
    def name(self) -> str:
        if self.is_block:
            return f"{self.file}:{self.line}"
        return " ".join((self.file, *self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSources:
    """The texts of a skill that an observation needs."""

    name: str
    documents: dict[str, str]
    """Markdown files by path."""
    scripts: dict[str, tuple[Language, str]]
    not_run: tuple[str, ...] = ()
    """Scripts in languages that are not run."""

    @property
    def prose(self) -> str:
        return "\n".join(self.documents.values())

    @property
    def code(self) -> str:
        return "\n".join(text for _, text in self.scripts.values())


def read_sources(files: Files, name: str) -> SkillSources:
    documents: dict[str, str] = {}
    scripts: dict[str, tuple[Language, str]] = {}
    not_run: list[str] = []
    for entry in files.list():
        path = entry.path
        suffix = path[path.rfind(".") :].lower() if "." in path.rsplit("/", 1)[-1] else ""
        if entry.size > _MOST_BYTES or _TESTS.search(path):
            continue
        if suffix == ".md":
            documents[path] = _text(files, path)
        elif suffix in _SUFFIXES:
            scripts[path] = (_SUFFIXES[suffix], _text(files, path))
        elif suffix in _OTHER_SUFFIXES and path.startswith("scripts/"):
            not_run.append(path)
        elif not suffix and "/" in path and (language := _by_first_line(_text(files, path))):
            scripts[path] = (language, _text(files, path))
    ordered = dict(sorted(documents.items(), key=lambda item: (item[0] != SKILL_FILE, item[0])))
    return SkillSources(name=name, documents=ordered, scripts=scripts, not_run=tuple(not_run))


def plan_steps(sources: SkillSources) -> tuple[Step, ...]:
    """Returns the steps in the order in which a user would take them: the examples of the text first."""
    return (*_script_steps(sources), *list(_blocks(sources.documents))[:_MOST_BLOCKS])


def _script_steps(sources: SkillSources) -> Iterator[Step]:
    paths = [path for path in sources.scripts if not path.endswith("__init__.py")]
    paths.sort(key=lambda path: (not path.startswith("scripts/"), path))
    for path in paths[:_MOST_SCRIPTS]:
        language, text = sources.scripts[path]
        takes_arguments = bool(
            re.search(r"argv|argparse|click|typer|fire\.|\$[1@*{]|getopts|process\.argv|commander|yargs", text)
        )
        sets: list[tuple[str, ...]] = [()]
        if takes_arguments:
            sets = [*_examples(path, sources.prose), ("--help",), (), ("data.csv",)]
        for arguments in list(dict.fromkeys(sets))[: _MOST_EXAMPLES + 3]:
            yield Step(file=path, language=language, arguments=arguments)


def _examples(path: str, prose: str) -> list[tuple[str, ...]]:
    """Returns the arguments of this script in command lines of the documents."""
    name = re.escape(path.rsplit("/", 1)[-1])
    found: list[tuple[str, ...]] = []
    for match in re.finditer(rf"(?m)^[^\n]*?\b{name}((?:[ \t]+[^\n|;&>`#]*)?)", prose):
        try:
            words = tuple(shlex.split(match[1].rstrip("\\"), comments=True))
        except ValueError:
            continue
        if 0 < len(words) <= 12 and words not in found and not any(len(word) > 200 for word in words):
            found.append(words)
    return found[:_MOST_EXAMPLES]


def _blocks(documents: dict[str, str]) -> Iterator[Step]:
    for path, text in documents.items():
        for match in _FENCE.finditer(text):
            indent, _, label, code = match.groups()
            language = _NAMES.get(label.lower())
            if language is None and (label or not _FIRST_WORDS.search(code)):
                continue
            line = text.count("\n", 0, match.start(4)) + 1
            code = re.sub(rf"(?m)^{re.escape(indent)}", "", code) if indent else code
            if language in (None, Language.SHELL):
                code = _commands(code)
            if code.strip():
                yield Step(file=path, line=line, language=language or Language.SHELL, code=code)


def _commands(code: str) -> str:
    """Removes the prompts and the output of a session."""
    if not re.search(r"(?m)^\s*\$ ", code):
        return code
    lines: list[str] = []
    is_continued = False
    for line in code.splitlines():
        if match := re.match(r"\s*\$ (.*)", line):
            line, is_command = match[1], True
        else:
            is_command = is_continued
        if is_command:
            lines.append(line)
        is_continued = is_command and line.endswith("\\")
    return "\n".join(lines) + "\n"


def _by_first_line(text: str) -> Language | None:
    match = _SHEBANG.match(text.encode("utf-8", "replace")[:200])
    if not match:
        return None
    name = match[1].decode()
    return Language.PYTHON if name.startswith("python") else Language.JAVASCRIPT if name == "node" else Language.SHELL


def _text(files: Files, path: str) -> str:
    try:
        return files.read(path, limit=_MOST_BYTES).decode("utf-8", "replace")
    except MetierError:
        return ""


def sample_files(steps: Iterable[Step]) -> Sequence[str]:
    """Returns the names of files that examples mention, to be made up."""
    found = [
        word
        for step in steps
        for word in step.arguments
        if re.fullmatch(r"[\w./-]{1,80}\.\w{1,5}", word) and not word.startswith(("/", "-", "..")) and "/../" not in word
    ]
    return list(dict.fromkeys(found))[:20]
