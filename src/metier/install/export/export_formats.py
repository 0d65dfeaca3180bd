"""Builds the files of each export format. The same skills give the same bytes. Pure.

Sources of the formats: Agent Plugins 1.0.0 (`plugin.json` and `skills/`), Claude Code's plugin reference
(`.claude-plugin/plugin.json` and `skills/`), Agent Skills discovery 0.2.0 (`.well-known/agent-skills/index.json` with
archives), and the help pages of claude.ai (a zip with the skill's folder at its top).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

from metier.archive import REPOSITORY_LIMITS, Contents, Link, Member, pack
from metier.errors import UsageError
from metier.install.fetch.plugins import AGENT_PLUGINS_SCHEMA, is_plugin_name
from metier.install.fetch.wellknown import SCHEMA as DISCOVERY_SCHEMA
from metier.spec import SKILL_FILE, Manifest
from metier.values import dataclass, replace

from .export_rules import refuse_unfit

__all__ = ["Export", "ExportFormat", "SkillToExport", "export_skills"]

_HEADING = re.compile(r"^(#{1,6})(?=\s)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


class ExportFormat(StrEnum):
    ZIP = "zip"
    AGENT_PLUGIN = "agent-plugin"
    CLAUDE_PLUGIN = "claude-plugin"
    WELL_KNOWN = "well-known"
    CLAUDE_AI = "claude-ai"
    AGENTS_MD = "agents-md"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillToExport:
    name: str
    manifest: Manifest
    body: str
    """The instructions, without frontmatter."""
    files: Contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One file, or the files of a folder."""

    default_path: str
    """Where it is written if the user names no path."""
    data: bytes | None = None
    files: Contents | None = None
    notes: tuple[str, ...] = ()


def export_skills(skills: Sequence[SkillToExport], to: ExportFormat, *, name: str = "") -> Export:
    """Returns the skills in a format. Raises RefusedError for a skill that does not fit it.

    `name` is the name of the plugin or archive; one skill needs none.
    """
    notes = tuple(note for skill in skills for note in refuse_unfit(skill.name, skill.manifest, skill.files, to))
    return replace(_BUILDERS[to](skills, _title(skills, name, needed=to in _NAMED)), notes=notes)


_NAMED = frozenset({ExportFormat.ZIP, ExportFormat.AGENT_PLUGIN, ExportFormat.CLAUDE_PLUGIN})


def _title(skills: Sequence[SkillToExport], name: str, *, needed: bool) -> str:
    if not needed:
        return name
    if not name and len(skills) > 1:
        raise UsageError(
            "several skills in one file or plugin need a name", hint="name it with --name, such as --name team-skills"
        )
    if name and not is_plugin_name(name):
        raise UsageError(f"{name!r} is not a plugin name", hint="use a-z, 0-9 and single hyphens or dots")
    return name or skills[0].name


def _zip(skills: Sequence[SkillToExport], name: str) -> Export:
    return Export(default_path=f"{name}.zip", data=pack(_below(skills)))


def _claude_ai(skills: Sequence[SkillToExport], _: str) -> Export:
    # claude.ai takes one skill per upload.
    archives = {f"{skill.name}.zip": pack(_below([skill])) for skill in skills}
    if len(archives) == 1:
        ((path, data),) = archives.items()
        return Export(default_path=path, data=data)
    return Export(default_path="claude-ai", files=_contents(archives))


def _agent_plugin(skills: Sequence[SkillToExport], name: str) -> Export:
    manifest = {"$schema": AGENT_PLUGINS_SCHEMA, "name": name, **_metadata(skills)}
    return _plugin(skills, name, {"plugin.json": manifest})


def _claude_plugin(skills: Sequence[SkillToExport], name: str) -> Export:
    return _plugin(skills, name, {".claude-plugin/plugin.json": {"name": name, **_metadata(skills)}})


def _plugin(skills: Sequence[SkillToExport], name: str, documents: Mapping[str, object]) -> Export:
    own = [Member(path, _json(document)) for path, document in documents.items()]
    return Export(default_path=f"{name}-plugin", files=_below(skills, "skills/", own))


def _metadata(skills: Sequence[SkillToExport]) -> dict[str, object]:
    """Returns the metadata that the skills agree on. Only one skill has a version and a description for the whole."""
    if len(skills) > 1:
        names = ", ".join(sorted(skill.name for skill in skills))
        return {"description": f"Skills: {names}"}
    manifest = skills[0].manifest
    extensions = manifest.extensions
    author = {"name": extensions.author} if extensions.author else None
    fields = {
        "version": extensions.version, "description": manifest.description, "author": author, "license": manifest.license,
        "keywords": list(extensions.tags),
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value}


def _well_known(skills: Sequence[SkillToExport], _: str) -> Export:
    files: dict[str, bytes] = {}
    rows = []
    for skill in sorted(skills, key=lambda one: one.name):
        paths = [member.path for member in skill.files.members]
        if paths == [SKILL_FILE]:
            kind, path, data = "skill-md", f"{skill.name}/{SKILL_FILE}", skill.files.members[0].data
        else:
            # In the root of the archive, where the clients look for it.
            kind, path, data = "archive", f"{skill.name}.zip", pack(skill.files)
        files[path] = data
        rows.append({
            "name": skill.name, "type": kind, "description": skill.manifest.description, "url": path,
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
        })  # fmt: skip
    files["index.json"] = _json({"$schema": DISCOVERY_SCHEMA, "skills": rows})
    return Export(default_path=".well-known/agent-skills", files=_contents(files))


def _agents_md(skills: Sequence[SkillToExport], _: str) -> Export:
    return Export(default_path="", data="\n".join(map(_section, skills)).encode())


def _section(skill: SkillToExport) -> str:
    """Returns the skill as a section of the second level; `metier skill convert` reads it back."""
    body = "\n".join(_demoted(skill.body.strip().splitlines()))
    return f"## {skill.name}\n\n{skill.manifest.description.strip()}\n\n{body}\n"


def _demoted(lines: Iterable[str]) -> Iterable[str]:
    """Yields the lines with headings two levels lower, outside of code blocks."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence:
            line = _HEADING.sub(lambda found: "#" * min(6, len(found[1]) + 2), line)
        yield line


def _below(skills: Sequence[SkillToExport], prefix: str = "", own: Iterable[Member] = ()) -> Contents:
    """Returns all skills in one tree, each in a folder of its name."""
    members = [
        Member(f"{prefix}{skill.name}/{member.path}", member.data, member.executable)
        for skill in skills
        for member in skill.files.members
    ]
    links = [Link(f"{prefix}{skill.name}/{link.path}", link.target) for skill in skills for link in skill.files.links]
    return Contents((*own, *members), links, limits=REPOSITORY_LIMITS)


def _contents(files: Mapping[str, bytes]) -> Contents:
    return Contents((Member(path, data) for path, data in files.items()), limits=REPOSITORY_LIMITS)


def _json(document: object) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


_BUILDERS: dict[ExportFormat, Callable[[Sequence[SkillToExport], str], Export]] = {
    ExportFormat.ZIP: _zip,
    ExportFormat.AGENT_PLUGIN: _agent_plugin,
    ExportFormat.CLAUDE_PLUGIN: _claude_plugin,
    ExportFormat.WELL_KNOWN: _well_known,
    ExportFormat.CLAUDE_AI: _claude_ai,
    ExportFormat.AGENTS_MD: _agents_md,
}
