"""The index of skills that a site keeps at `/.well-known/agent-skills/index.json`, version 0.2.0, and 0.1.0 for whoever
insists.

A digest in the index is a promise about bytes, so bytes that break it are never used. The older version promises
nothing, which is why it has to be asked for. An index of a version that is not known here may mean anything: nothing of
it is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from metier.errors import MetierError, RefusedError
from metier.install.refs.forges import absolute, read_address
from metier.spec import SKILL_FILE, is_name, resource_path
from metier.values import dataclass

__all__ = ["SCHEMA", "IndexedSkill", "SkillIndex", "check_digest", "index_urls", "read_index"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_PLACE, _OLD_PLACE = "/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_SKILLS = 2_000
_MOST_FILES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedSkill:
    name: str
    description: str
    kind: str
    """`skill-md`, `archive`, or `files` of the older version."""
    url: str
    """Absolute. Of `files`, the folder they are in."""
    digest: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillIndex:
    url: str
    skills: tuple[IndexedSkill, ...]
    warnings: tuple[str, ...] = ()


def index_urls(site: str, *, legacy: bool = False) -> tuple[str, ...]:
    """Where a site may keep its index: below the address that was typed, then at the top of the host."""
    address = read_address(site)
    bases = dict.fromkeys((address.origin + address.path.rstrip("/"), address.origin))
    places = (_PLACE, _OLD_PLACE) if legacy else (_PLACE,)
    return tuple(base + place for base in bases for place in places)


def read_index(data: bytes, url: str, *, legacy: bool = False) -> SkillIndex:
    """The skills of an index. One that cannot be used is a warning; a version that is not known is Refused."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the index at {url} is not JSON: {str(error)[:80]}", rule="well-known-index",
                      hint="check the address; error pages come as HTML") from error  # fmt: skip
    schema = value.get("$schema") if isinstance(value, dict) else None
    entries = value.get("skills") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise RefusedError(f"the index at {url} lists no skills", rule="well-known-index", hint="tell whoever runs the site")
    if schema is None and legacy:
        read = [_old(entry, url) for entry in entries[:_MOST_SKILLS]]
    elif schema == SCHEMA:
        read = [_new(entry, url) for entry in entries[:_MOST_SKILLS]]
    else:
        raise _unknown(schema, url)
    skills = tuple(one for one in read if isinstance(one, IndexedSkill))
    return SkillIndex(url=url, skills=skills, warnings=tuple(one for one in read if isinstance(one, str)))


def check_digest(data: bytes, listed: IndexedSkill) -> None:
    """The bytes are those that the index promised, or Refused."""
    actual = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if listed.digest and actual != listed.digest:
        raise RefusedError(
            f"{listed.name} is not what the index promised: {actual} instead of {listed.digest}",
            rule="digest-mismatch",
            hint="the site changed one and not the other, or somebody changed the skill; nothing was used",
        )


def _unknown(schema: object, url: str) -> RefusedError:
    if schema is None:
        return RefusedError(f"the index at {url} does not say which version it is, as only 0.1.0 did", rule="well-known-schema",
                       hint="ask for 0.1.0 with --allow-old-index; it has no digests")  # fmt: skip
    return RefusedError(f"the index at {url} is of an unknown version: {str(schema)[:120]!r}", rule="well-known-schema",
                   hint=f"metier reads {SCHEMA}; a newer metier may read more")  # fmt: skip


def _new(entry: object, url: str) -> IndexedSkill | str:
    fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
    texts = {key: fields.get(key) for key in ("name", "type", "description", "url", "digest")}
    name = str(texts["name"])[:64]
    if not all(isinstance(value, str) for value in texts.values()):
        return f"{name!r} lacks one of name, type, description, url and digest, and was skipped"
    if not is_name(name):
        return f"{name!r} is not a skill's name, and was skipped"
    if texts["type"] not in ("skill-md", "archive"):
        return f"{name} is of the unknown type {str(texts['type'])[:40]!r}, and was skipped"
    if not _DIGEST.fullmatch(str(texts["digest"])):
        return f"{name} has a digest that is not sha256: and 64 lowercase hex digits, and was skipped"
    try:
        target = absolute(url, str(texts["url"])).url
    except MetierError:
        return f"{name} has an address that is none, and was skipped"
    return IndexedSkill(
        name=name, description=str(texts["description"]), kind=str(texts["type"]), url=target, digest=str(texts["digest"])
    )


def _old(entry: object, url: str) -> IndexedSkill | str:
    fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
    name, files = str(fields.get("name"))[:64], fields.get("files")
    if not is_name(name) or not isinstance(files, list) or not isinstance(fields.get("description"), str):
        return f"{name!r} lacks a name, a description or files, and was skipped"
    try:
        paths = tuple(_old_paths(files[:_MOST_FILES]))
    except MetierError as error:
        return f"{name}: {error}; it was skipped"
    if SKILL_FILE not in paths:
        return f"{name} has no {SKILL_FILE}, and was skipped"
    return IndexedSkill(name=name, description=fields["description"], kind="files", url=urljoin(url, f"{name}/"), files=paths)


def _old_paths(files: list[object]) -> Iterator[str]:
    for file in files:
        path = resource_path(str(file))
        if path != file or ".." in path:
            raise RefusedError(f"{path!r} is no plain path", rule="path-gate", hint="tell whoever runs the site")
        yield path
