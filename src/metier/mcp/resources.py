"""Skills as plain resources: what a client without the Skills extension can list and read.

Before the extension settled, servers had two shapes of their own, and clients still know them: `skill://NAME/_manifest`
names a skill's files, and `skill://index.json` names all skills. Both are answered; neither is listed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from metier.errors import MetierError, NotFoundError
from metier.spec import SKILL_FILE, Json

from .published_skill import SCHEME, ListedFile, PublishedSkill, is_text, media_type
from .served_catalog import ServedCatalog

__all__ = ["TEMPLATE", "read", "resource"]

INDEX = f"{SCHEME}index.json"
MANIFEST = "_manifest"
TEMPLATE: Mapping[str, Json] = {
    "uriTemplate": f"{SCHEME}{{name}}/{{+path}}",
    "name": "skill-file",
    "title": "A file of a skill",
    "description": "Any file of a skill, by the skill's name and the path inside its folder.",
}
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


def resource(skill: PublishedSkill) -> dict[str, Json]:
    """A skill's SKILL.md as `resources/list` names it: name and description are the skill's own."""
    return {
        "uri": skill.uri,
        "name": skill.name,
        "description": skill.source.description,
        "mimeType": "text/markdown",
        "size": skill.files[SKILL_FILE].size,
    }


def read(served: ServedCatalog, uri: str) -> dict[str, Json]:
    """One file as the one content of an answer."""
    if uri == INDEX:
        return _json(uri, _index(served))
    skill, path = served.file(uri)
    if path == MANIFEST and path not in skill.files:
        return _json(uri, _manifest(skill))
    try:
        data = skill.read(path)
    except (MetierError, OSError) as error:
        raise NotFoundError(f"{uri!r} not found: {error}", hint="see skills/list") from error
    kind = media_type(path)
    if is_text(kind):
        try:
            # Exactly these bytes again once the client has encoded it: no mark removed, no line end changed.
            return {"uri": uri, "mimeType": kind, "text": data.decode("utf-8")}
        except UnicodeDecodeError:
            pass
    return {"uri": uri, "mimeType": kind, "blob": base64.b64encode(data).decode("ascii")}


def _manifest(skill: PublishedSkill) -> Json:
    def row(path: str, listed: ListedFile) -> Json:
        return {"path": path, "size": listed.size, "hash": listed.digest}

    return {"skill": skill.name, "files": [row(path, listed) for path, listed in skill.files.items()]}


def _index(served: ServedCatalog) -> Json:
    def row(skill: PublishedSkill) -> Json:
        digest = skill.files[SKILL_FILE].digest
        return {
            "name": skill.name,
            "type": "skill-md",
            "description": skill.source.description,
            "url": skill.uri,
            "digest": digest,
        }

    return {"$schema": _SCHEMA, "skills": [row(skill) for skill in served.listed]}


def _json(uri: str, value: Json) -> dict[str, Json]:
    return {"uri": uri, "mimeType": "application/json", "text": json.dumps(value, ensure_ascii=False)}
