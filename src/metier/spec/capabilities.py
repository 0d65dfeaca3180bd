"""The capabilities of a skill: what it reaches, runs, reads and needs, as one short list.

The scan finds them, the author may declare them, the lock holds them, and the runtime holds an installed skill to them. The
list limits; it grants nothing: within it the user's policy and approvals decide as they do without it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping

from metier.errors import UsageError
from metier.values import dataclass

from .host_pattern import HostPattern, parse_host

__all__ = ["ANY", "CAPABILITY_KINDS", "COMPUTED", "EVERYDAY_COMMANDS", "Capabilities", "clean_capability", "package_name"]

COMPUTED = "(computed)"
"""Stands for names that cannot be read from the files: a host put together while a script runs. It covers nothing."""
ANY = "*"
"""Any command. Only the author's own request for a whole shell gives it."""
CAPABILITY_KINDS = {
    "hosts": "host", "commands": "command", "processes": "process", "variables": "variable", "reads": "read",
    "writes": "write", "packages": "package",
}  # fmt: skip
"""The kinds, each with the word for one of them: `host:api.example.com` declares one, `new: host api.example.com` shows one."""
EVERYDAY_COMMANDS = frozenset({
    "basename", "cat", "cd", "cut", "date", "diff", "dirname", "echo", "expr", "false", "file", "grep", "head", "ls",
    "printf", "pwd", "realpath", "rg", "sort", "stat", "tail", "test", "tr", "true", "uniq", "wc", "which", "[", ":",
    "export", "set", "local", "return", "exit", "shift", "read", "source", "eval", "trap", "wait", "declare", "readonly",
    "unset", "break", "continue", "alias", "type", "let", "command", "sleep", "seq",
})  # fmt: skip
"""Programs that read and print, and words of the shell itself. A list that names them says nothing."""
_COMPUTED_TEXT = {
    "hosts": "hosts it computes at run time", "commands": "commands it computes at run time",
    "processes": "programs it computes at run time", "variables": "variables it computes at run time",
    "reads": "files it computes at run time", "writes": "files it computes at run time",
    "packages": "packages it computes at run time",
}  # fmt: skip
_PYTHON = ("python", "python3")
_LONGEST = 120
_MOST_OF_A_KIND = 500
_MOST_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Each field is sorted and has each name once."""

    hosts: tuple[str, ...] = ()
    """Host patterns; those that are written out in the files, or declared."""
    commands: tuple[str, ...] = ()
    """Programs that its instructions have an agent run."""
    processes: tuple[str, ...] = ()
    """Programs that its scripts start."""
    variables: tuple[str, ...] = ()
    """Environment variables that it reads."""
    reads: tuple[str, ...] = ()
    """Files outside itself, such as ~/.notes, or a description such as `SSH keys`."""
    writes: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Names of packages from PyPI or npm, without versions."""

    @classmethod
    def of(cls, names: Mapping[str, Iterable[str]]) -> Capabilities:
        """Cleans, sorts and limits the names of each kind; unknown kinds are left out."""
        cleaned = {kind: {clean_capability(name) for name in names.get(kind, ())} - {""} for kind in CAPABILITY_KINDS}
        return cls(**{kind: tuple(sorted(found)[:_MOST_OF_A_KIND]) for kind, found in cleaned.items()})

    def __bool__(self) -> bool:
        return any(getattr(self, kind) for kind in CAPABILITY_KINDS)

    def __or__(self, other: Capabilities) -> Capabilities:
        return Capabilities.of({kind: (*getattr(self, kind), *getattr(other, kind)) for kind in CAPABILITY_KINDS})

    def beyond(self, other: Capabilities) -> Capabilities:
        """Returns what the other list does not cover."""
        kinds = CAPABILITY_KINDS
        return Capabilities(**{kind: tuple(n for n in getattr(self, kind) if not other.covers(kind, n)) for kind in kinds})

    def covers(self, kind: str, name: str) -> bool:
        """Returns True if the list has the name, or one that is wider: a host pattern, a folder above a file, any command."""
        listed = getattr(self, kind)
        if name in listed:
            return True
        if kind in ("commands", "processes"):
            # A program is the same program, whether a script or an agent starts it.
            programs = (*self.commands, *self.processes)
            return ANY in self.commands or name in programs or (name in _PYTHON and any(one in _PYTHON for one in programs))
        if kind == "hosts":
            return _covers_host(listed, name)
        if kind in ("reads", "writes"):
            return any(_is_above(place, name) for place in (*listed, *(self.writes if kind == "reads" else ())))
        return kind == "packages" and package_name(name) in listed

    def names(self) -> Iterator[tuple[str, str]]:
        """Yields each kind and name, such as `hosts` and `api.example.com`."""
        for kind in CAPABILITY_KINDS:
            yield from ((kind, name) for name in getattr(self, kind))

    def words(self) -> tuple[str, ...]:
        """Returns each capability in plain words: `host api.example.com`, `hosts it computes at run time`."""
        return tuple(dict.fromkeys(_in_words(kind, name) for kind, name in self.names()))

    def row(self) -> dict[str, list[str]]:
        """Returns the lists by kind, for JSON and for the lock."""
        return {kind: list(getattr(self, kind)) for kind in CAPABILITY_KINDS}

    def lines(self, most: int = _MOST_SHOWN) -> tuple[str, ...]:
        """Returns at most four lines for a person: network, commands, data and packages. Long lists end with a count."""
        starts = f"its scripts start {_enumerate('processes', self.processes, most)}" if self.processes else ""
        runs = _enumerate("commands", self.commands, most)
        data = (
            ("variables", "variables"), ("reads", "reads"), ("writes", "writes"),
        )  # fmt: skip
        used = [f"{word} {_enumerate(kind, getattr(self, kind), most)}" for kind, word in data if getattr(self, kind)]
        rows = {
            "network": _enumerate("hosts", self.hosts, most),
            "commands": "; ".join(filter(None, (runs, starts))),
            "data": "; ".join(used),
            "packages": _enumerate("packages", self.packages, most),
        }
        return tuple(f"{name}: {text}" for name, text in rows.items() if text)


def clean_capability(text: str) -> str:
    """Returns a name as one short line without control characters: it comes from another author's file."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: _LONGEST * 2])
    plain = " ".join(shown.split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def package_name(requirement: str) -> str:
    """Returns the name in a requirement: `polars` of `polars[all]>=1`, `@scope/x` of `@scope/x@^1`."""
    text = requirement.strip()
    scope = "@" if text.startswith("@") else ""
    plain = text.removeprefix("@")
    ends = [place for place, letter in enumerate(plain) if letter in " [<>=!~;@("]
    return scope + plain[: ends[0] if ends else len(plain)].lower()


def _covers_host(listed: Iterable[str], name: str) -> bool:
    try:
        wanted = parse_host(name)
    except UsageError:
        return False
    return any(pattern.covers_pattern(wanted) or _any_port(pattern, wanted) for pattern in _patterns(listed))


def _any_port(pattern: HostPattern, wanted: HostPattern) -> bool:
    """A host that is listed without a port is this host on any port: the list names it, the grant has the ports."""
    return pattern.port is None and pattern.covers_pattern(HostPattern(wanted.name))


def _patterns(listed: Iterable[str]) -> Iterator[HostPattern]:
    for text in listed:
        try:
            yield parse_host(text)
        except UsageError:
            continue


def _is_above(place: str, path: str) -> bool:
    folder = place.removesuffix("/*").removesuffix("/**").rstrip("/")
    return folder not in ("", "~") and (posixpath.normpath(path) + "/").startswith(f"{folder}/")


def _in_words(kind: str, name: str) -> str:
    if name == COMPUTED:
        return _COMPUTED_TEXT[kind]
    if name == ANY:
        return "any command"
    words = {"processes": "program", "reads": "file", "writes": "written file"}
    return f"{words.get(kind, CAPABILITY_KINDS[kind])} {name}"


def _enumerate(kind: str, names: tuple[str, ...], most: int) -> str:
    named = [name for name in names if name not in (COMPUTED, ANY)]
    special = [_in_words(kind, name) for name in names if name in (ANY, COMPUTED)]
    shown = ", ".join((*named[:most], *special))
    return f"{shown} and {len(named) - most} more" if len(named) > most else shown
