"""The index of skills at a site's `/.well-known/agent-skills/index.json`, version 0.2.0, and 0.1.0 on request.

Version 0.2.0 has a digest for each skill; bytes with another digest are refused. Version 0.1.0 has none, so it must be allowed.
Unknown versions are refused.
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

__all__ = ["SCHEMA", "WellKnownIndex", "WellKnownSkill", "check_digest", "index_urls", "read_index"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_PLACE, _OLD_PLACE = "/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_SKILLS = 2_000
_MOST_FILES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class WellKnownSkill:
    name: str
    description: str
    kind: str
    """`skill-md`, `archive`, or `files` of the older version."""
    url: str
    """Absolute; for `files`, their folder."""
    digest: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WellKnownIndex:
    url: str
    skills: tuple[WellKnownSkill, ...]
    warnings: tuple[str, ...] = ()


def index_urls(site: str, *, legacy: bool = False) -> tuple[str, ...]:
    """Returns the possible URLs of an index: below the typed URL, then at the top of the host."""
    address = read_address(site)
    bases = dict.fromkeys((address.origin + address.path.rstrip("/"), address.origin))
    places = (_PLACE, _OLD_PLACE) if legacy else (_PLACE,)
    return tuple(base + place for base in bases for place in places)


def read_index(data: bytes, url: str, *, legacy: bool = False) -> WellKnownIndex:
    """Reads an index. An unusable skill is a warning. Raises RefusedError for an unknown version."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the index at {url} is not JSON: {str(error)[:80]}", rule="well-known-index",
                      hint="check the address; error pages come as HTML") from error  # fmt: skip
    schema = value.get("$schema") if isinstance(value, dict) else None
    entries = value.get("skills") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise RefusedError(f"the index at {url} lists no skills", rule="well-known-index", hint="report it to the site")
    if schema is None and legacy:
        read = [_old(entry, url) for entry in entries[:_MOST_SKILLS]]
    elif schema == SCHEMA:
        read = [_new(entry, url) for entry in entries[:_MOST_SKILLS]]
    else:
        raise _unknown(schema, url)
    skills = tuple(one for one in read if isinstance(one, WellKnownSkill))
    return WellKnownIndex(url=url, skills=skills, warnings=tuple(one for one in read if isinstance(one, str)))


def check_digest(data: bytes, listed: WellKnownSkill) -> None:
    """Raises RefusedError if the bytes have another digest than the index says."""
    actual = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if listed.digest and actual != listed.digest:
        raise RefusedError(
            f"{listed.name} has the digest {actual}, and the index says {listed.digest}",
            rule="digest-mismatch",
            hint="the skill or the index was changed; report it to the site",
        )


def _unknown(schema: object, url: str) -> RefusedError:
    if schema is None:
        return RefusedError(f"the index at {url} has no version, so it is 0.1.0", rule="well-known-schema",
                       hint="--allow-old-index accepts 0.1.0, which has no digests")  # fmt: skip
    return RefusedError(f"the index at {url} has the unknown version {str(schema)[:120]!r}", rule="well-known-schema",
                   hint=f"this version of metier reads {SCHEMA}; update metier")  # fmt: skip


def _new(entry: object, url: str) -> WellKnownSkill | str:
    fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
    texts = {key: fields.get(key) for key in ("name", "type", "description", "url", "digest")}
    name = str(texts["name"])[:64]
    if not all(isinstance(value, str) for value in texts.values()):
        return f"{name!r} lacks one of name, type, description, url and digest, and was skipped"
    if not is_name(name):
        return f"{name!r} is not a skill name, and was skipped"
    if texts["type"] not in ("skill-md", "archive"):
        return f"{name} has the unknown type {str(texts['type'])[:40]!r}, and was skipped"
    if not _DIGEST.fullmatch(str(texts["digest"])):
        return f"{name} has a digest that is not sha256: and 64 lowercase hex digits, and was skipped"
    try:
        target = absolute(url, str(texts["url"])).url
    except MetierError:
        return f"{name} has an invalid URL, and was skipped"
    return WellKnownSkill(
        name=name, description=str(texts["description"]), kind=str(texts["type"]), url=target, digest=str(texts["digest"])
    )


def _old(entry: object, url: str) -> WellKnownSkill | str:
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
    return WellKnownSkill(name=name, description=fields["description"], kind="files", url=urljoin(url, f"{name}/"), files=paths)


def _old_paths(files: list[object]) -> Iterator[str]:
    for file in files:
        path = resource_path(str(file))
        if path != file or ".." in path:
            raise RefusedError(f"invalid path {path!r}", rule="path-check", hint="report it to the site")
        yield path
