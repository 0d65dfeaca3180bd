"""The rules of each export target. A skill that breaks a rule is refused, with the rule in the message. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from metier.archive import Contents
from metier.errors import RefusedError, plural
from metier.spec import SKILL_FILE, Manifest

if TYPE_CHECKING:
    from .export_formats import ExportFormat

__all__ = ["refuse_unfit"]

# The upload limits of claude.ai, from its help page on custom skills and the reference of its Skills API.
_CLAUDE_AI_BYTES = 30 * 1024 * 1024
_CLAUDE_AI_DESCRIPTION = 200
_CLAUDE_AI_WORDS = ("anthropic", "claude")
_MARKUP = re.compile(r"<[A-Za-z/!][^>]*>")
# The limits of npm's `skills`, the most used reader of a static index.
_WELL_KNOWN_BYTES = 50 * 1024 * 1024
_WELL_KNOWN_FILES = 1_000


def refuse_unfit(name: str, manifest: Manifest, files: Contents, to: ExportFormat) -> tuple[str, ...]:
    """Raises RefusedError if the skill does not fit the target. Returns remarks about what the target may not use."""
    if files.links and to != "zip":
        raise _refusal(
            name, f"has a link, {files.links[0].path!r}, which {to} cannot hold", "put a copy of the file in its place"
        )
    rule = _RULES.get(to)
    return tuple(rule(name, manifest, files)) if rule else ()


def _claude_ai(name: str, manifest: Manifest, files: Contents) -> Iterator[str]:
    if files.size > _CLAUDE_AI_BYTES:
        raise _refusal(name, f"has {plural(files.size, 'byte')}; claude.ai takes 30 MB", "move large files out of the skill")
    if word := next((word for word in _CLAUDE_AI_WORDS if word in name), None):
        raise _refusal(name, f"has the reserved word {word!r} in its name, which claude.ai refuses", "rename the skill")
    if _MARKUP.search(manifest.description):
        raise _refusal(name, "has an XML tag in its description, which claude.ai refuses", "write the description without tags")
    if manifest.extra:
        keys = ", ".join(sorted(manifest.extra))
        raise _refusal(name, f"has keys that claude.ai refuses: {keys}", "move them below `metadata`, as text")
    if len(manifest.description) > _CLAUDE_AI_DESCRIPTION:
        yield (
            f"{name}: the description has {plural(len(manifest.description), 'character')}; claude.ai's help page allows "
            f"{_CLAUDE_AI_DESCRIPTION}, and its API 1,024"
        )


def _agent_plugin(name: str, manifest: Manifest, _: Contents) -> Iterator[str]:
    if manifest.extra:
        keys = ", ".join(sorted(manifest.extra))
        yield f"{name}: a strict client may skip it for keys that the standard does not have: {keys}"


def _well_known(name: str, _: Manifest, files: Contents) -> Iterator[str]:
    if files.size > _WELL_KNOWN_BYTES:
        raise _refusal(
            name, f"has {plural(files.size, 'byte')}; clients of a static index take 50 MB", "move large files out of it"
        )
    if len(files.members) > _WELL_KNOWN_FILES:
        raise _refusal(
            name, f"has {plural(len(files.members), 'file')}; clients of a static index take 1,000", "pack some of them"
        )
    yield from ()


def _agents_md(name: str, _: Manifest, files: Contents) -> Iterator[str]:
    others = [member.path for member in files.members if member.path != SKILL_FILE]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise _refusal(
            name, f"has {others[0]}{more}, which a section of AGENTS.md cannot hold",
            "install it in the project, and list it with `metier skill sync --agents-md`",
        )  # fmt: skip
    yield from ()


def _refusal(name: str, fault: str, hint: str) -> RefusedError:
    return RefusedError(f"{name} {fault}", rule="export", hint=hint)


_RULES: dict[str, Callable[[str, Manifest, Contents], Iterator[str]]] = {
    "claude-ai": _claude_ai,
    "agent-plugin": _agent_plugin,
    "well-known": _well_known,
    "agents-md": _agents_md,
}
