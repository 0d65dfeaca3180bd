"""Advisories: skills, publishers, hosts and packages that are known to be bad, as files that you keep.

Two forms are read. A list of our own:

    {"advisories": [{"id": "ORG-2026-1", "summary": "steals keys", "digests": ["sha256:…"], "names": ["pdf-pro", "tides@<2"],
                     "publishers": ["owner"], "hosts": ["bad.example"], "packages": ["pypi:reqeusts", "npm:left-pad"]}]}

and OSV records (https://ossf.github.io/osv-schema/), one or a list, for packages. A host covers the names below it. Versions of
packages count only where the skill names one: a skill without a version gets any, also the bad one. A skill's own version must
be known to be in a range.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from metier.errors import ConfigError, MetierError, UsageError
from metier.lazy import lazy_pattern
from metier.spec import Files, Version, VersionRange, is_version
from metier.values import dataclass, replace

from .data.hosts import urls_in
from .report import Finding, ScanReport
from .rules.table import RULES

__all__ = [
    "Advisory", "KnownBad", "SkillIdentity", "SkillTraits", "advisories_of", "apply_advisories", "known_bad", "read_advisories",
    "skill_traits",
]  # fmt: skip

_LISTS = ("digests", "names", "publishers", "hosts", "packages")
_ECOSYSTEMS = {"pypi": "pypi", "npm": "npm"}
_HINT = "see docs/scan.md for the form of advisories"
_LONGEST = 256 * 1024
_COMMAND = lazy_pattern(
    r"(?:(?P<python>pip3?|uv|poetry|pipx)|(?P<node>npm|pnpm|yarn|bun))[ \t]+(?:pip[ \t]+)?(?:install|add|i)"
    r"(?P<rest>[ \t][^\n;&|`#]{1,400})"
)
_PACKAGE = lazy_pattern(r"(?P<name>@?[A-Za-z0-9][\w./-]{0,100}?)(?:\[[\w,-]+\])?(?:(?:==|@)(?P<version>[\w.+-]{1,60}))?")
_LINE = lazy_pattern(
    r"^(?P<name>[A-Za-z0-9][\w.-]{0,100})(?:\[[\w, -]{0,100}\])?\s{0,4}(?:==\s{0,2}(?P<version>[\w.+-]{1,60}))?", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    id: str
    summary: str = ""
    digests: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """`NAME`, or `NAME@RANGE` for some of its versions."""
    publishers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """`pypi:NAME` or `npm:NAME`, for every version."""
    versions: Mapping[str, frozenset[str]] | None = None
    """The bad versions of a package of which not all are bad."""
    source: str = ""
    """The registry that lists it; empty for a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillIdentity:
    """What advisories call a skill. Unknown parts are empty."""

    name: str
    version: str = ""
    publishers: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTraits:
    """What advisories name in the files of a skill."""

    hosts: tuple[tuple[str, str], ...] = ()
    """Hosts of URLs, each with its file."""
    packages: tuple[tuple[str, str, str], ...] = ()
    """Packages that it installs or requires, each with its version, if it has one, and the file."""


@dataclass(frozen=True, slots=True)
class KnownBad:
    """A match of an advisory."""

    advisory: Advisory
    finding: Finding


def read_advisories(text: str, *, file: str) -> tuple[Advisory, ...]:
    """Parses a file of advisories. `file` is named in errors."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", file=file, hint=_HINT) from None
    if isinstance(document, dict) and "advisories" in document:
        return advisories_of(document["advisories"], file=file)
    records = document if isinstance(document, list) else [document]
    return tuple(_osv(row, number, file) for number, row in enumerate(records, start=1))


def advisories_of(rows: object, *, file: str, source: str = "") -> tuple[Advisory, ...]:
    """Parses a list of our own form. `file` is named in errors, and `source` is the registry that serves the list."""
    if not isinstance(rows, list):
        raise ConfigError("`advisories` is not a list", file=file, hint=_HINT)
    return tuple(_own(row, number, file, source) for number, row in enumerate(rows, start=1))


def _own(row: object, number: int, file: str, source: str) -> Advisory:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not set(row) <= {"id", "summary", *_LISTS}:
        raise ConfigError(f"advisory {number} has no id, or unknown keys", file=file, hint=_HINT)
    lists = {key: row.get(key, []) for key in _LISTS}
    if not all(isinstance(values, list) and all(isinstance(one, str) for one in values) for values in lists.values()):
        raise ConfigError(f"advisory {row['id']} has a value that is not a list of texts", file=file, hint=_HINT)
    digests, names, publishers, hosts, packages = (tuple(map(str.lower, lists[key])) for key in _LISTS)
    for name in names:
        _check_range(name, str(row["id"]), file)
    return Advisory(
        id=row["id"], summary=str(row.get("summary", "")), digests=digests, names=names, publishers=publishers, hosts=hosts,
        packages=packages, source=source,
    )  # fmt: skip


def _check_range(name: str, advisory: str, file: str) -> None:
    try:
        VersionRange.parse(name.partition("@")[2] or "*")
    except UsageError:
        raise ConfigError(f"advisory {advisory} has a name without a valid range: {name!r}", file=file, hint=_HINT) from None


def _osv(row: object, number: int, file: str) -> Advisory:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not isinstance(row.get("affected", []), list):
        raise ConfigError(f"record {number} is neither a list of advisories nor an OSV record", file=file, hint=_HINT)
    packages, versions = list[str](), dict[str, frozenset[str]]()
    for one in row.get("affected", []):
        package = one.get("package", {}) if isinstance(one, dict) else {}
        ecosystem = _ECOSYSTEMS.get(str(package.get("ecosystem", "")).lower())
        if ecosystem is None:
            continue
        name = f"{ecosystem}:{_normal(str(package.get('name', '')))}"
        named = frozenset(map(str, one.get("versions") or ()))
        # A malicious package is bad in every version, whatever the record lists.
        if named and not row["id"].startswith("MAL-"):
            versions[name] = versions.get(name, frozenset()) | named
        else:
            packages.append(name)
    return Advisory(id=row["id"], summary=str(row.get("summary", "")), packages=tuple(packages), versions=versions)


def apply_advisories(
    report: ScanReport, advisories: Sequence[Advisory], *, files: Files, name: str, publisher: str = "", digest: str = "",
    version: str = "",
) -> ScanReport:  # fmt: skip
    """Adds a finding for each advisory that names this skill, its publisher, or a host or package that it uses."""
    if not advisories:
        return report
    identity = SkillIdentity(name=name, version=version, publishers=(publisher,) if publisher else (), digest=digest)
    found = [one.finding for one in known_bad(advisories, identity, skill_traits(files))]
    return replace(report, findings=tuple(sorted((*report.findings, *found), key=lambda one: one.order)))


def skill_traits(files: Files) -> SkillTraits:
    texts = dict(_texts(files))
    hosts = dict.fromkeys((url.host, path) for path, text in texts.items() for url in urls_in(text))
    return SkillTraits(hosts=tuple(hosts), packages=tuple(dict.fromkeys(_packages(texts))))


def known_bad(advisories: Iterable[Advisory], identity: SkillIdentity, traits: SkillTraits) -> list[KnownBad]:
    """Returns every match of these advisories."""
    rule = RULES["SK911"]
    found = []
    for one in advisories:
        label = f"{one.id} of {one.source}" if one.source else one.id
        for what, where in (*_by_identity(one, identity), *_by_traits(one, traits)):
            message = f"{label}: {what}{f' ({one.summary})' if one.summary else ''}"
            finding = Finding(code="SK911", message=message, file=where, confidence=rule.confidence, reach=rule.reach)
            found.append(KnownBad(one, finding))
    return found


def _by_identity(advisory: Advisory, identity: SkillIdentity) -> Iterator[tuple[str, str]]:
    if identity.digest and identity.digest in advisory.digests:
        yield "these files are known to be bad", "SKILL.md"
    for listed in advisory.names:
        name, _, versions = listed.partition("@")
        if name == identity.name.lower() and _covers(versions, identity.version):
            yield f"the name {name}{f' {identity.version}' if versions else ''} is known to be bad", "SKILL.md"
    for publisher in identity.publishers:
        if publisher.lower() in advisory.publishers:
            yield f"the publisher {publisher.lower()} is known to be bad", "SKILL.md"


def _by_traits(advisory: Advisory, traits: SkillTraits) -> Iterator[tuple[str, str]]:
    for host, where in traits.hosts:
        if any(f".{host}".endswith(f".{bad}") for bad in advisory.hosts):
            yield f"the host {host} is known to be bad", where
    for package, version, where in traits.packages:
        bad = (advisory.versions or {}).get(package, frozenset())
        if package in advisory.packages or (bad and (not version or version in bad)):
            yield f"the package {package.partition(':')[2]}{f' {version}' if version else ''} is known to be bad", where


def _covers(versions: str, version: str) -> bool:
    return not versions or (is_version(version) and Version.parse(version) in VersionRange.parse(versions))


def _texts(files: Files) -> Iterator[tuple[str, str]]:
    for entry in files.list():
        if entry.size <= _LONGEST:
            try:
                yield entry.path, files.read(entry.path, limit=_LONGEST).decode("utf-8", "replace")
            except MetierError:
                # The scan itself has reported what cannot be read.
                continue


def _packages(texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yields the packages that a skill installs or requires, each with its version, if it has one, and the file."""
    for path, text in texts.items():
        last = path.rpartition("/")[2].lower()
        if last == "package.json":
            yield from ((*one, path) for one in _package_json(text))
        elif re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", last):
            yield from ((f"pypi:{_normal(one['name'])}", one["version"] or "", path) for one in _LINE.finditer(text))
        for command in _COMMAND.finditer(text):
            ecosystem = "pypi" if command["python"] else "npm"
            for word in command["rest"].split()[:30]:
                spelled = _PACKAGE.fullmatch(word.strip("'\""))
                if spelled:
                    yield f"{ecosystem}:{_normal(spelled['name'])}", spelled["version"] or "", path


def _package_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        document = json.loads(text)
    except ValueError:
        return
    for key in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        rows = document.get(key) if isinstance(document, dict) else None
        for name, version in rows.items() if isinstance(rows, dict) else ():
            yield f"npm:{_normal(name)}", version if isinstance(version, str) and version[:1].isdigit() else ""


def _normal(name: str) -> str:
    return name.lower() if name.startswith("@") else re.sub(r"[-_.]+", "-", name.lower())
