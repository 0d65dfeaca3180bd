"""The requirements of a skill, as far as they can be checked.

`metadata.requires` is a list of commands and always checked. `compatibility` is prose: its clear parts are checked too
(`Requires Python 3.11+ and git`, `macOS only`), and the rest is only shown. When in doubt, a skill is available: a wrong
"unavailable" hides a working skill, a wrong "available" only fails with a clear message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Protocol

from metier.lazy import lazy_pattern
from metier.values import dataclass, replace

__all__ = ["Environment", "Needs", "encoded_needs", "known_commands", "missing_needs", "read_compatibility"]

_SYSTEMS = {
    "linux": "linux",
    "macos": "macos",
    "mac os": "macos",
    "darwin": "macos",
    "os x": "macos",
    "windows": "windows",
}
_COMMANDS = frozenset({
    "ansible", "aws", "az", "bash", "brew", "bun", "bwrap", "cargo", "chromium", "clang", "cmake", "composer",
    "convert", "curl", "deno", "docker", "docker-compose", "dotnet", "exiftool", "ffmpeg", "ffprobe", "flyctl",
    "gcc", "gcloud", "gh", "git", "glab", "go", "gradle", "helm", "heroku", "hugo", "java", "javac", "jq",
    "julia", "kubectl", "libreoffice", "lua", "magick", "make", "mvn", "mysql", "ninja", "node", "npm", "npx",
    "nvidia-smi", "ollama", "openssl", "pandoc", "pdftotext", "pdftoppm", "perl", "php", "pip", "pipx", "pnpm",
    "podman", "poetry", "psql", "pulumi", "redis-cli", "rg", "rsync", "ruby", "rustc", "sed", "soffice",
    "sqlite3", "ssh", "supabase", "terraform", "tesseract", "tmux", "uv", "uvx", "vercel", "wget", "wkhtmltopdf",
    "wrangler", "yarn", "yq", "yt-dlp", "zsh",
})  # fmt: skip
_PYTHON = lazy_pattern(r"\bpython\s*(?:>=|≥)?\s*(3(?:\.\d{1,2}){0,2})\s*(\+|or (?:later|newer|higher|above))?", re.IGNORECASE)
# "python packages listed in a file" names no package: the list must run to the end of what is said about it.
_PACKAGE = r"[A-Za-z][\w.-]*+(?:\[[\w,-]+\])?+(?:\s*+(?:[=~!]=|[<>]=?)\s*+[\w.*]++)?+"
_PACKAGES = lazy_pattern(
    rf"\bpython packages?:?\s+({_PACKAGE}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_PACKAGE})*+)"
    r"(?=\s*(?:$|[()]|(?:to be |must be |are )?installed\b))", re.IGNORECASE,
)  # fmt: skip
_ASKS = lazy_pattern(r"\b(?:requires?|required|needs?|must have|depends on|prerequisites?)\b", re.IGNORECASE)
_SOFTENS = lazy_pattern(
    r"\b(?:optional(?:ly)?|recommended|preferred|if available|when available|or|either|e\.g\.|such as|no|not|never|without)\b"
    r"|n't\b", re.IGNORECASE,
)  # fmt: skip
_SYSTEM = r"\b(?:linux|macos|mac os|os x|darwin|windows)\b"
_SYSTEM_LIST = rf"{_SYSTEM}(?:\s*(?:,|/|&|\band\b|\bor\b)\s*(?:(?:and|or)\s+)?{_SYSTEM})*"
# "On Windows, only PowerShell works" and "tested only on Linux" close no other system out.
_ONLY = lazy_pattern(
    rf"{_SYSTEM_LIST}[\s-]+only(?=\s*(?:,|$))"
    rf"|\bonly\s+(?:(?:works?|runs?|available|supported|compatible|usable|designed|intended)\s+)?(?:on|for|with|under)\s+{_SYSTEM_LIST}"
    rf"|\bonly\s+supports\s+{_SYSTEM_LIST}|\bsupports\s+only\s+{_SYSTEM_LIST}", re.IGNORECASE,
)  # fmt: skip
_UNSURE = lazy_pattern(r"\b(?:tested|verified|checked|not)\b|n't\b", re.IGNORECASE)
# "Go to the page" is not the command go, so a word counts only in a list of requirements.
_LISTED = lazy_pattern(
    r"(?:\brequires?:?|\brequired:?|\bneeds?:?|\bmust have|\bdepends on|\bprerequisites?:?|[,+&](?:\s+and\b)?|\band\b)"
    r"\s+(?:the\s+)?`?([A-Za-z][\w.+-]*)(?P<ends>(?=`|\s*(?:$|[,+&()\d]|and\b|installed\b)))?", re.IGNORECASE,
)  # fmt: skip
# Verbs too, "make sure it is set": these count only where nothing follows that they could be the verb of.
_VERBS = frozenset({"convert", "go", "make"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    commands: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    python: tuple[int, ...] | None = None
    systems: tuple[str, ...] = ()
    """Empty means any."""

    def encoded(self) -> str:
        """Returns the text for the metadata cache: empty if nothing is needed, and equal for equal needs."""
        if self == Needs():
            return ""
        return json.dumps([self.commands, self.packages, self.python, self.systems], separators=(",", ":"))

    @classmethod
    def decoded(cls, text: str) -> Needs:
        commands, packages, python, systems = json.loads(text)
        return cls(
            commands=tuple(commands),
            packages=tuple(packages),
            python=tuple(python) if python else None,
            systems=tuple(systems),
        )


def known_commands() -> frozenset[str]:
    """Returns the programs that a text may ask for by name."""
    return _COMMANDS


class Environment(Protocol):
    """The facts about a machine that availability depends on; the caller supplies them."""

    @property
    def python(self) -> tuple[int, ...]: ...

    @property
    def system(self) -> str:
        """linux, macos, windows or another word."""

    def has_command(self, name: str) -> bool: ...

    def has_package(self, name: str) -> bool: ...


def read_compatibility(text: str) -> Needs:
    """Returns the requirements in a compatibility text that can be checked."""
    commands: dict[str, None] = {}
    packages: dict[str, None] = {}
    python: tuple[int, ...] | None = None
    systems: set[str] = set()
    for clause in re.split(r"[;\n]|\.(?=\s|$)", text[:2000]):
        systems.update(_only(clause))
        if _SOFTENS.search(_PYTHON.sub("", clause)) or not (_ASKS.search(clause) or _PYTHON.fullmatch(clause.strip())):
            continue
        version = _PYTHON.search(clause)
        if version:
            python = tuple(int(part) for part in version[1].split("."))
        # Few clauses have these words, so the pattern is rarely compiled.
        listed = _PACKAGES.search(clause) if "python package" in clause.lower() else None
        if listed:
            packages.update(dict.fromkeys(_packages(listed[1])))
            clause = clause.replace(listed[0], "")
        commands.update(dict.fromkeys(word for word in _words(clause) if word in _COMMANDS))
    return Needs(commands=tuple(commands), packages=tuple(packages), python=python, systems=tuple(sorted(systems)))


@lru_cache(maxsize=4096)
def encoded_needs(compatibility: str, requires: str) -> str:
    """The needs of a skill, as the cache keeps them. Remembered: a library's skills tend to repeat the same sentence."""
    if not compatibility and not requires:
        return ""
    needs = read_compatibility(compatibility)
    commands = dict.fromkeys((*requires.replace(",", " ").split(), *needs.commands))
    return replace(needs, commands=tuple(commands)).encoded()


def missing_needs(needs: Needs, machine: Environment) -> str:
    """Returns what is missing, as a readable reason; empty if nothing is."""
    return "; ".join(_reasons(needs, machine))


def _reasons(needs: Needs, machine: Environment) -> Iterator[str]:
    absent = _absent(needs.commands, machine.has_command)
    if absent:
        yield f"missing commands: {', '.join(absent)}"
    absent = _absent(needs.packages, machine.has_package)
    if absent:
        yield f"missing Python packages: {', '.join(absent)}"
    if needs.python and machine.python < needs.python:
        yield f"needs Python {'.'.join(map(str, needs.python))}, this is {'.'.join(map(str, machine.python[:2]))}"
    if needs.systems and machine.system not in needs.systems:
        yield f"only for {', '.join(needs.systems)}"


def _absent(names: tuple[str, ...], has: Callable[[str], bool]) -> list[str]:
    return [name for name in names if not has(name)]


def _only(clause: str) -> Iterator[str]:
    said = _ONLY.search(clause) if "only" in clause.lower() else None
    if said and not _UNSURE.search(clause):
        lowered = said[0].lower()
        yield from (system for word, system in _SYSTEMS.items() if word in lowered)


def _packages(listed: str) -> Iterator[str]:
    """Yields the names without extras and versions."""
    for item in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", listed):
        yield re.split(r"[\s\[<>=~!]", item, maxsplit=1)[0]


def _words(clause: str) -> Iterator[str]:
    for match in _LISTED.finditer(clause):
        word = match[1].rstrip(".+").lower()
        if word not in _VERBS or match["ends"] is not None:
            yield word
