"""Skills of a registry: `alias:name`, `alias:name@1.2.0`, `alias:name@^1.2`, `alias:name@beta`.

Below a source's address, `NAME` says what its newest release is and `NAME/versions` lists all of them; which one a range means
is decided here, so a server need not know ranges. A server that knows neither may have `NAME/VERSION`, and a plain folder of
skills has `NAME/SKILL.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from metier.archive import digest
from metier.errors import BadConfig, BadUsage, Refused, SkillNotFound, Unavailable
from metier.spec import SKILL_FILE
from metier.spec.versions import Range, Version, is_version

from .fetch_local import opened
from .fetch_web import LARGEST_ARCHIVE, LARGEST_INDEX, LARGEST_SKILL_FILE, get, single
from .fetched import Fetched, Origin
from .fetching import Job, Stage
from .forges import absolute
from .http import HttpNotFound
from .kinds import Registry
from .wellknown import Listed, check_digest

__all__ = ["Release", "chosen_release", "fetch_registry", "find_release"]

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a registry says of one version of a skill."""

    version: str = ""
    url: str = ""
    archive: str = ""
    """sha256:… of the bytes behind `url`, where the registry says so."""
    digest: str = ""
    """sha256:… of the contents."""
    yanked: bool = False


def fetch_registry(ref: Registry, job: Job) -> Fetched:
    job.tell(Stage.ASKING)
    base = _base(ref, job)
    release = find_release(ref, job)
    if release is None:
        return _plain(ref, base, job)
    origin = Origin(kind="registry", url=base, ref=ref.version or "", version=release.version)
    at = f"{base}@{release.digest}"
    if release.digest and (known := job.recalled(at)) is not None:
        return known
    job.tell(Stage.FETCHING)
    reply = get(job, release.url, limit=LARGEST_ARCHIVE, named=base, via=base)
    check_digest(reply.body, Listed(name=ref.name, description="", kind="archive", url=release.url, digest=release.archive))
    fetched = job.from_tree(opened(reply.body), origin, keys=(ref.text, at) if release.digest else (ref.text,))
    if release.digest and [digest(skill.files) for skill in fetched.skills] != [release.digest]:
        raise Refused(f"{ref.name} {release.version} holds other files than the registry promised", rule="digest-mismatch",
                      hint="tell whoever runs the registry; nothing was used")  # fmt: skip
    return fetched


def find_release(ref: Registry, job: Job) -> Release | None:
    """Which release the ref means now; None where the source knows no releases. Nothing is downloaded."""
    base = _base(ref, job)
    if not ref.version:
        wire = _asked(base, job, base)
        return _release(wire, base) if wire else None
    wire = _asked(f"{base}/versions", job, base)
    if wire is not None and isinstance(wire.get("versions"), list):
        releases = [_release(one, base) for one in wire["versions"] if isinstance(one, dict)]
        tags = wire.get("tags") if isinstance(wire.get("tags"), dict) else {}
        return chosen_release(ref, releases, {str(tag): str(version) for tag, version in (tags or {}).items()})
    wire = _asked(f"{base}/{quote(ref.version, safe='')}", job, base)
    return _release(wire, f"{base}/{quote(ref.version, safe='')}") if wire else None


def chosen_release(ref: Registry, releases: Iterable[Release], tags: Mapping[str, str]) -> Release:
    """By version, by tag, else the newest in a range. A yanked one only by its own version: locks must stay restorable."""
    by_version = {release.version: release for release in releases}
    wanted = ref.version or "latest"
    exact = by_version.get(wanted) or by_version.get(tags.get(wanted, ""))
    if exact is not None:
        return exact
    usable = {Version.parse(text): one for text, one in by_version.items() if is_version(text) and not one.yanked}
    try:
        best = Range.parse("*" if wanted == "latest" else wanted).best(usable)
    except BadUsage:
        best = None
    if best is None:
        some = ", ".join(str(version) for version in sorted(usable, reverse=True)[:5])
        raise SkillNotFound(ref.text, hint=f"{ref.alias} has {ref.name} in {some or 'no version that can be installed'}")
    return usable[best]


def _base(ref: Registry, job: Job) -> str:
    source = next((one for one in job.access.sources if one.name == ref.alias), None)
    if source is None:
        raise BadConfig(f"no source is called {ref.alias!r}", file=f"skills.sources.{ref.alias}",
                        hint=f'write [skills.sources.{ref.alias}] with url = "https://…"')  # fmt: skip
    return f"{source.url}/{ref.name}"


def _asked(url: str, job: Job, named: str) -> dict[str, Any] | None:  # Any: what a stranger's JSON holds
    """The JSON object at an address; None if there is none."""
    try:
        body = get(job, url, limit=LARGEST_INDEX, named=named).body
        value = json.loads(body)
    except (HttpNotFound, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("name"), str) else None


def _release(wire: Mapping[str, Any], base: str) -> Release:
    texts = {key: wire.get(key) or "" for key in ("version", "download_url", "digest", "archive_digest")}
    for key, value in texts.items():
        if not isinstance(value, str) or (key.endswith("digest") and value and not _DIGEST.fullmatch(value)):
            raise Unavailable(f"the registry's answer has no usable {key}", hint="tell whoever runs it", retryable=False)
    # Where there is only one digest it is that of the archive, as in other registries.
    both = bool(texts["archive_digest"])
    url = absolute(f"{base}/", texts["download_url"]).url if texts["download_url"] else f"{base}/download"
    return Release(
        version=texts["version"], url=url, archive=texts["archive_digest"] or texts["digest"],
        digest=texts["digest"] if both else "", yanked=wire.get("yanked") is True,
    )  # fmt: skip


def _plain(ref: Registry, base: str, job: Job) -> Fetched:
    url = f"{base}/{quote(ref.version, safe='')}" if ref.version else base
    try:
        reply = get(job, f"{url}/{SKILL_FILE}", limit=LARGEST_SKILL_FILE, named=base)
    except HttpNotFound as error:
        raise SkillNotFound(ref.text, hint=f"{ref.alias} has no such skill or version ({error})") from error
    return job.from_tree(single(reply), Origin(kind="registry", url=base, ref=ref.version or ""), keys=(ref.text,))
