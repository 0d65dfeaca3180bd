"""The list of an installed skill as a limit: finds what a request uses beyond it.

The list grants nothing. A request within it is decided as without a list. A request beyond it is asked, unless the user has
named it: with an approval of this version of the skill, or with a pattern of `policy.allow` that has an argument. A default
such as `policy.network = "allow"`, a bare pattern and the skill's own `allowed-tools` are not such a decision.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import urlsplit

from metier.spec import ANY, EVERYDAY_COMMANDS, Capabilities
from metier.values import dataclass, field

from .effects import command_starts
from .grants import NETWORK, SECRET
from .patterns import PathContext, ToolRequest, part_requests
from .programs import find_program
from .tool_names import ToolKind, is_reader, is_writer, kind_of_tool

__all__ = ["CapabilityList", "beyond_list"]

_SYSTEM_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityList:
    """The list of a skill that a lock has installed."""

    listed: Capabilities = field(default_factory=Capabilities)
    is_agreed: bool = True
    """False for a list in a project's lock that the user has not been shown: it is then empty."""

    @property
    def rule(self) -> str:
        if self.is_agreed:
            return "capabilities: not in the list that it was installed with"
        return "capabilities: you have not agreed to its list in metier.lock; `metier skill install` shows it"


def beyond_list(request: ToolRequest, capabilities: Capabilities, context: PathContext) -> bool:
    """Returns True if the request needs something that is not in the list, or may need it."""
    return not all(capabilities.covers(kind, name) for kind, name in _needs(request, context))


def _needs(request: ToolRequest, context: PathContext) -> Iterator[tuple[str, str]]:
    """Yields the kinds and names that a request needs to be in the list."""
    kind = kind_of_tool(request.tool)
    if request.tool == NETWORK:
        yield from (("hosts", host) for host in request.argument.split(","))
    elif request.tool == SECRET:
        name, _, hosts = request.argument.partition("@")
        yield "variables", name
        yield from (("hosts", host) for host in hosts.split(",") if host)
    elif request.packages:
        yield from (("packages", name) for name in request.packages)
    elif request.is_command and not request.is_script:
        yield from (("commands", name) for name in _programs(request))
    elif kind is ToolKind.CODE:
        yield "commands", "python3"
    elif kind is ToolKind.FETCH and request.argument:
        yield "hosts", urlsplit(request.argument).hostname or ANY
    elif kind is not None and not request.is_confined and (path := _outer_path(request.argument, context)):
        if is_writer(request.tool):
            yield "writes", path
        elif is_reader(request.tool):
            yield "reads", path


def _programs(request: ToolRequest) -> Iterator[str]:
    """Yields the programs of a command line; any command, if they are not certain."""
    parts = part_requests(request.argument)
    if not parts:
        yield ANY
    for words in (part.argv for part in parts if part.is_command):
        folder, name = posixpath.split(words[0])
        program = find_program(name)
        if folder and folder not in _SYSTEM_FOLDERS:
            # Another file may have the name of a listed program.
            yield words[0]
        elif name not in EVERYDAY_COMMANDS:
            yield name
        elif program is not None and command_starts(program, words):
            yield ANY


def _outer_path(path: str, context: PathContext) -> str:
    """Returns a path outside the folder at hand, with ~ for the home; empty for one inside it."""
    resolve = context.resolve or posixpath.normpath
    folder, home = (resolve(place).rstrip("/") if place else "" for place in (context.folder, context.home))
    if not path or not (folder or path.startswith(("/", "~"))):
        return ""
    expanded = home + path[1:] if path.startswith("~") and home else path
    whole = resolve(posixpath.join(folder or "/", expanded))
    if folder and (whole + "/").startswith(f"{folder}/"):
        return ""
    return f"~{whole[len(home) :]}" if home and (whole + "/").startswith(f"{home}/") else whole
