"""Fetches skills from a registry: `alias:name`, `alias:name@1.2.0`, `alias:name@^1.2`, `alias:name@beta`.

Below a source's URL, `NAME` has the newest release and `NAME/versions` all of them; ranges are resolved here. A server without
these may have `NAME/VERSION`, and a plain folder of skills has `NAME/SKILL.md`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeGuard, TypeVar
from urllib.parse import quote

from metier.archive import digest, sniff_format
from metier.errors import ConfigError, RefusedError, SkillNotFoundError, UnavailableError, UsageError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.forges import absolute
from metier.install.refs.ref_types import RegistryRef
from metier.spec import SKILL_FILE, Version, VersionRange, is_version
from metier.values import dataclass, field, replace

from .cooldown import utc
from .credentials import RegistrySource, SourceKind, origin_of
from .http import HttpNotFoundError, HttpUnavailableError
from .job import FetchJob, FetchStage
from .local import open_archive
from .web import LARGEST_ARCHIVE, LARGEST_INDEX, LARGEST_SKILL_FILE, get, single_file
from .wellknown import WellKnownSkill, check_digest

__all__ = [
    "RemoteRelease",
    "best_release",
    "fetch_registry",
    "find_release",
    "first_to_answer",
    "list_releases",
    "locked_ref",
    "select_release",
    "source_of",
]

T = TypeVar("T")
_LARGEST_KEPT = 256 * 1024
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRelease:
    """One version of a skill in a registry."""

    version: str = ""
    url: str = ""
    archive: str = ""
    """sha256:… of the bytes at `url`, if the registry has it."""
    digest: str = ""
    """sha256:… of the contents."""
    yanked: bool = False
    yank_reason: str = ""
    published: float | None = None
    """In seconds since 1970, if the registry states it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each file, if the registry lists them (ClawHub)."""
    fingerprint: str = ""
    """sha256:… over `files`."""
    held: str = ""
    """The newer version that the cool-down holds back in favour of this one, and until when."""
    available: str = ""
    """The end of the registry's own cool-down for this version; empty if that is over."""


def fetch_registry(ref: RegistryRef, job: FetchJob) -> Fetched:
    job.report(FetchStage.ASKING)
    source = source_of(ref, job)
    if source.kind is SourceKind.CLAWHUB:
        from .clawhub import fetch_clawhub

        return fetch_clawhub(ref, job, source)
    return first_to_answer(source, lambda url: _fetched(ref, job, source, f"{url}/{ref.name}"))


def _yank_warning(name: str, release: RemoteRelease) -> tuple[str, ...]:
    reason = f": {release.yank_reason}" if release.yank_reason else ""
    return (f"{name} {release.version} was withdrawn by its publisher{reason}",) if release.yanked else ()


def _fresh_warning(name: str, release: RemoteRelease) -> tuple[str, ...]:
    return (f"{name}: newer version in its cool-down: {release.held}",) if release.held else ()


def find_release(ref: RegistryRef, job: FetchJob) -> RemoteRelease | None:
    """Returns the release that the ref resolves to; None if the source has no releases. Nothing is downloaded."""

    def find(base: str) -> RemoteRelease | None:
        release = _found(ref, job, base)
        return replace(release, held=_held(ref, job, base, release)) if release else None

    source = source_of(ref, job)
    if source.kind is SourceKind.CLAWHUB:
        from .clawhub import find_clawhub_release

        return find_clawhub_release(ref, job, source)
    return first_to_answer(source, lambda url: find(f"{url}/{ref.name}"))


def list_releases(ref: RegistryRef, job: FetchJob) -> tuple[RemoteRelease, ...]:
    """Returns every release that is a version, the lowest first; none if the source does not list them."""

    def ask(base: str) -> list[RemoteRelease]:
        wire = _asked(f"{base}/versions", job) or {}
        rows = wire.get("versions")
        return [_release(one, base) for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []

    source = source_of(ref, job)
    if source.kind is SourceKind.CLAWHUB:
        from .clawhub import list_clawhub_releases

        found = list_clawhub_releases(ref, job, source)
    else:
        found = first_to_answer(source, lambda url: ask(f"{url}/{ref.name}"))
    return tuple(sorted((one for one in found if is_version(one.version)), key=lambda one: Version.parse(one.version)))


def first_to_answer(source: RegistrySource, ask: Callable[[str], T]) -> T:
    """Asks the registry, and its mirrors if it cannot be reached; the digests must be the same."""
    *places, last = source.url, *source.mirrors
    for url in places:
        try:
            return ask(url)
        except HttpUnavailableError:
            continue
    return ask(last)


def _fetched(ref: RegistryRef, job: FetchJob, source: RegistrySource, base: str) -> Fetched:
    release = _found(ref, job, base)
    if release is None:
        return _plain(ref, base, job)
    if source.keys or source.signed:
        from metier.install.lock.signatures import check_signature

        check_signature(ref.name, release, source, lambda url: _asked(url, job) or {}, base)
    # The registry's own URL, also if a mirror answered: it is the same skill.
    home = f"{source.url}/{ref.name}"
    origin = Origin(kind="registry", url=home, ref=ref.version or "", version=release.version)
    # Without a digest, each ref keeps what it has brought; two versions of the same bytes are two versions.
    at = f"{home}@{release.digest}" if release.digest else f"{ref.text} {release.version}"
    held = _held(ref, job, base, release)
    if release.digest and (known := job.recalled(at, origin=origin)) is not None:
        job.remember_ref(at, origin)
        known = replace(
            known, warnings=(*known.warnings, *_yank_warning(ref.name, release), *_fresh_warning(ref.name, release))
        )
        return job.dated(known, release.published, at, held=held)
    job.report(FetchStage.FETCHING)
    reply = get(job, release.url, limit=LARGEST_ARCHIVE, via=base)
    check_digest(
        reply.body, WellKnownSkill(name=ref.name, description="", kind="archive", url=release.url, digest=release.archive)
    )
    fetched = job.from_tree(open_archive(reply.body), origin, key=at)
    if release.digest and [digest(skill.files) for skill in fetched.skills] != [release.digest]:
        raise RefusedError(
            f"the files of {ref.name} {release.version} differ from the registry's digest",
            rule="digest-mismatch",
            hint="report it to the registry",
        )
    job.remember_ref(at, origin)
    warnings = (*_yank_warning(ref.name, release), *_fresh_warning(ref.name, release))
    fetched = replace(fetched, warnings=(*fetched.warnings, *warnings))
    return job.dated(fetched, release.published, at, held=held)


def _held(ref: RegistryRef, job: FetchJob, base: str, release: RemoteRelease) -> str:
    """Returns the version that the ref would lead to without the cool-down, and until when it is held back."""
    cooldown = job.access.cooldown
    if cooldown is None:
        return release.held
    newest = _found(ref, replace(job, access=replace(job.access, cooldown=None)), base, listed=True)
    end = cooldown.ends(newest.published) if newest else None
    return f"{newest.version} until {utc(end)}" if newest and end and newest.version != release.version else release.held


def _found(ref: RegistryRef, job: FetchJob, base: str, *, listed: bool = False) -> RemoteRelease | None:
    cooldown = job.access.cooldown
    # Only the list of versions states when each was published.
    if not ref.version and not cooldown and not listed:
        wire = _asked(base, job)
        return _newest(ref, wire, base) if _is_named(wire) else None
    wire = _asked(f"{base}/versions", job)
    if _is_named(wire) and isinstance(wire.get("versions"), list):
        releases = [_release(one, base) for one in wire["versions"] if isinstance(one, dict)]
        tags = wire.get("tags") if isinstance(wire.get("tags"), dict) else {}
        named = {str(tag): str(version) for tag, version in (tags or {}).items()}
        ripe = [one for one in releases if not one.available]
        old = [one for one in ripe if not cooldown or cooldown.ends(one.published) is None]
        found = best_release(ref, old, releases, named)
        if found.available and found.version != ref.version:
            raise _too_fresh(ref, found.version, found.available)
        return replace(found, held=_newer(ref, releases, found))
    if not ref.version:
        wire = _asked(base, job)
        return _newest(ref, wire, base) if _is_named(wire) else None
    exact = f"{base}/{quote(ref.version, safe='')}"
    wire = _asked(exact, job)
    return _release(wire, exact) if _is_named(wire) else None


def _newest(ref: RegistryRef, wire: dict[str, Any], base: str) -> RemoteRelease:
    """Returns the release that a registry shows. Raises RefusedError if it has only versions in their cool-down."""
    fresh, available = str(wire.get("fresh") or ""), str(wire.get("available") or "")
    if fresh and not wire.get("version"):
        raise _too_fresh(ref, fresh, available)
    return replace(_release(wire, base), held=f"{fresh} until {available}" if fresh else "", available="")


def _newer(ref: RegistryRef, every: list[RemoteRelease], found: RemoteRelease) -> str:
    """Returns the newer version that would be selected if the registry's cool-down were over, and when that is."""
    try:
        newest = select_release(ref, every, {})
    except SkillNotFoundError:
        return ""
    return f"{newest.version} until {newest.available}" if newest.available and newest.version != found.version else ""


def _too_fresh(ref: RegistryRef, version: str, until: str) -> RefusedError:
    return RefusedError(
        f"{ref.name} {version} is in its cool-down at {ref.alias} until {until}", rule="cooldown",
        hint=f"wait, or name the version if you know it: {ref.alias}:{ref.name}@{version}",
    )  # fmt: skip


def best_release(
    ref: RegistryRef, old: list[RemoteRelease], every: list[RemoteRelease], tags: Mapping[str, str]
) -> RemoteRelease:
    """Selects from the releases that are old enough; what only a newer one can be is refused where it is installed."""
    is_exact = any(ref.version == one.version for one in every) or (ref.version or "latest") in tags
    try:
        return select_release(ref, every if is_exact and ref.version else old, tags)
    except SkillNotFoundError:
        try:
            return select_release(ref, [one for one in every if not one.available], tags)
        except SkillNotFoundError:
            return select_release(ref, every, tags)


def _is_named(wire: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Returns True if this JSON describes a skill."""
    return wire is not None and isinstance(wire.get("name"), str)


def select_release(ref: RegistryRef, releases: Iterable[RemoteRelease], tags: Mapping[str, str]) -> RemoteRelease:
    """Selects by version, by tag, else the newest in a range. A yanked release only by its exact version, so that locks can
    be restored."""
    by_version = {release.version: release for release in releases}
    wanted = ref.version or "latest"
    exact = by_version.get(wanted) or by_version.get(tags.get(wanted, ""))
    if exact is not None:
        return exact
    usable = {Version.parse(text): one for text, one in by_version.items() if is_version(text) and not one.yanked}
    try:
        best = VersionRange.parse("*" if wanted == "latest" else wanted).best(usable)
    except UsageError:
        best = None
    if best is None:
        some = ", ".join(str(version) for version in sorted(usable, reverse=True)[:5])
        raise SkillNotFoundError(ref.text, hint=f"versions of {ref.name}: {some or 'none that can be installed'}")
    return usable[best]


def source_of(ref: RegistryRef, job: FetchJob) -> RegistrySource:
    source = next((one for one in job.access.sources if one.name == ref.alias), None)
    if source is None and ref.alias == "r9s":
        raise ConfigError(
            "no registry is configured", file="skills.registry",
            hint="run `metier login URL`, or `metier config set skills.registry URL`",
        )  # fmt: skip
    if source is None:
        raise ConfigError(f"unknown source {ref.alias!r}", file=f"skills.sources.{ref.alias}",
                        hint=f'write [skills.sources.{ref.alias}] with url = "https://…"')  # fmt: skip
    source.check_granted()
    if ref.owner and source.kind is not SourceKind.CLAWHUB:
        raise UsageError(
            f"{ref.text} names an owner, and names in {ref.alias} have none", hint=f"write {replace(ref, owner='').text}"
        )
    return source


def locked_ref(origin: Origin, sources: Sequence[RegistrySource], version: str | None = None) -> RegistryRef:
    """Returns the ref of a skill in a registry, for the origin that a lock has. Raises ConfigError."""
    is_clawhub = origin.kind == "clawhub"
    home, _, name = origin.url.rpartition("/")
    home, _, owner = home.partition("/@") if is_clawhub else (home, "", "")
    for source in sources:
        if source.url == home and (source.kind is SourceKind.CLAWHUB) == is_clawhub:
            return RegistryRef(alias=source.name, name=name, version=version, owner=owner)
    # Never another registry: its skill of that name belongs to other people.
    kind = ' and kind = "clawhub"' if is_clawhub else ""
    has_default = is_clawhub or any(source.name == "r9s" for source in sources)
    login = "" if has_default else f"run `metier login {origin_of(home)}`, or "
    hint = f'{login}write [skills.sources.NAME] with url = "{home}"{kind}'
    raise ConfigError(f"no source has the url {home}", file="skills.sources", hint=hint)


def _asked(url: str, job: FetchJob) -> dict[str, Any] | None:  # Any: untrusted JSON
    """Returns the JSON object at a URL, by ETag from the cache; None if there is none."""
    cache, key = job.access.cache, f"asked {url}"
    known = (cache.recall(key) if cache else None) or {}
    try:
        reply = get(job, url, limit=LARGEST_INDEX, etag=known.get("etag"))
        text = known["body"] if reply.status == 304 else reply.body.decode()
        value = json.loads(text)
    except (HttpNotFoundError, ValueError, RecursionError):
        return None
    except RefusedError as error:
        if error.rule != "download-size":
            raise
        # An archive, for instance.
        return None
    if not isinstance(value, dict):
        return None
    if cache and reply.etag and reply.status != 304 and len(text) <= _LARGEST_KEPT:
        cache.remember(key, {"etag": reply.etag, "body": text})
    return value


def _release(wire: Mapping[str, Any], base: str) -> RemoteRelease:
    texts = {key: wire.get(key) or "" for key in ("version", "download_url", "digest", "archive_digest")}
    for key, value in texts.items():
        if not isinstance(value, str) or (key.endswith("digest") and value and not _DIGEST.fullmatch(value)):
            raise UnavailableError(
                f"the registry's response has an invalid {key}", hint="report it to the registry", retryable=False
            )
    # A single digest is that of the archive, as in other registries.
    both = bool(texts["archive_digest"])
    url = absolute(f"{base}/", texts["download_url"]).url if texts["download_url"] else f"{base}/download"
    return RemoteRelease(
        version=texts["version"], url=url, archive=texts["archive_digest"] or texts["digest"],
        digest=texts["digest"] if both else "", yanked=wire.get("yanked") is True,
        yank_reason=str(wire.get("yank_reason") or ""), published=_moment(wire.get("published")),
        available=str(wire.get("available") or ""),
    )  # fmt: skip


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) and text else None
    except (ValueError, OverflowError):
        return None


def _plain(ref: RegistryRef, base: str, job: FetchJob) -> Fetched:
    """Fetches from a server that describes nothing: an archive at the URL itself, or a folder with a SKILL.md."""
    url = f"{base}/{quote(ref.version, safe='')}" if ref.version else base
    origin = Origin(kind="registry", url=base, ref=ref.version or "")
    try:
        reply = get(job, url, limit=LARGEST_ARCHIVE)
        if sniff_format(reply.body):
            return job.from_tree(open_archive(reply.body), origin, key=ref.text)
    except HttpNotFoundError:
        pass
    try:
        reply = get(job, f"{url}/{SKILL_FILE}", limit=LARGEST_SKILL_FILE)
    except HttpNotFoundError as error:
        raise SkillNotFoundError(ref.text, hint=f"{ref.alias} has no such skill or version ({error})") from error
    fetched = job.from_tree(single_file(reply), origin, key=ref.text)
    note = f"{ref.name}: only its {SKILL_FILE} was fetched, because {ref.alias} does not list files"
    return replace(fetched, warnings=(*fetched.warnings, note))
