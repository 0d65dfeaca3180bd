"""Advisories: skills, publishers, hosts and packages that are known to be bad, as files that you keep.

Two forms are read. A list of our own:

    {"advisories": [{"id": "ORG-2026-1", "summary": "steals keys", "digests": ["sha256:…"], "names": ["pdf-pro"],
                     "publishers": ["owner"], "hosts": ["bad.example"], "packages": ["pypi:reqeusts", "npm:left-pad"]}]}

and OSV records (https://ossf.github.io/osv-schema/), one or a list, for packages. A host covers the names below it. Versions
count only where the skill names one: a skill without a version gets any, also the bad one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from metier.errors import ConfigError, MetierError
from metier.lazy import lazy_pattern
from metier.spec import Files
from metier.values import dataclass, replace

from .data.hosts import urls_in
from .report import Finding, ScanReport
from .rules.table import RULES

__all__ = ["Advisory", "apply_advisories", "read_advisories"]

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
    publishers: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """`pypi:NAME` or `npm:NAME`, for every version."""
    versions: Mapping[str, frozenset[str]] | None = None
    """The bad versions of a package of which not all are bad."""


def read_advisories(text: str, *, file: str) -> tuple[Advisory, ...]:
    """Parses a file of advisories. `file` is named in errors."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}", file=file, hint=_HINT) from None
    if isinstance(document, dict) and "advisories" in document:
        rows = document["advisories"]
        if not isinstance(rows, list):
            raise ConfigError("`advisories` is not a list", file=file, hint=_HINT)
        return tuple(_own(row, number, file) for number, row in enumerate(rows, start=1))
    records = document if isinstance(document, list) else [document]
    return tuple(_osv(row, number, file) for number, row in enumerate(records, start=1))


def _own(row: object, number: int, file: str) -> Advisory:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not set(row) <= {"id", "summary", *_LISTS}:
        raise ConfigError(f"advisory {number} has no id, or unknown keys", file=file, hint=_HINT)
    lists = {key: row.get(key, []) for key in _LISTS}
    if not all(isinstance(values, list) and all(isinstance(one, str) for one in values) for values in lists.values()):
        raise ConfigError(f"advisory {row['id']} has a value that is not a list of texts", file=file, hint=_HINT)
    digests, names, publishers, hosts, packages = (tuple(map(str.lower, lists[key])) for key in _LISTS)
    return Advisory(
        id=row["id"], summary=str(row.get("summary", "")), digests=digests, names=names, publishers=publishers, hosts=hosts,
        packages=packages,
    )  # fmt: skip


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
    report: ScanReport, advisories: Sequence[Advisory], *, files: Files, name: str, publisher: str = "", digest: str = ""
) -> ScanReport:
    """Adds a finding for each advisory that names this skill, its publisher, or a host or package that it uses."""
    if not advisories:
        return report
    texts = dict(_texts(files))
    used = tuple(dict.fromkeys(_packages(texts)))
    hosts = tuple(dict.fromkeys((url.host, path) for path, text in texts.items() for url in urls_in(text)))
    found = [
        Finding(
            code="SK911", message=f"{one.id}: {what}{f' ({one.summary})' if one.summary else ''}", file=where,
            confidence=RULES["SK911"].confidence, reach=RULES["SK911"].reach,
        )
        for one in advisories
        for what, where in _matches(one, hosts, used, (name.lower(), publisher.lower(), digest))
    ]  # fmt: skip
    return replace(report, findings=tuple(sorted((*report.findings, *found), key=lambda one: one.order)))


def _matches(
    advisory: Advisory,
    hosts: Iterable[tuple[str, str]],
    packages: Iterable[tuple[str, str, str]],
    identity: tuple[str, str, str],
) -> Iterator[tuple[str, str]]:
    name, publisher, digest = identity
    if digest and digest in advisory.digests:
        yield "these files are known to be bad", "SKILL.md"
    if name in advisory.names:
        yield f"the name {name} is known to be bad", "SKILL.md"
    if publisher and publisher in advisory.publishers:
        yield f"the publisher {publisher} is known to be bad", "SKILL.md"
    for host, where in hosts:
        if any(f".{host}".endswith(f".{bad}") for bad in advisory.hosts):
            yield f"the host {host} is known to be bad", where
    for package, version, where in packages:
        bad = (advisory.versions or {}).get(package, frozenset())
        if package in advisory.packages or (bad and (not version or version in bad)):
            yield f"the package {package.partition(':')[2]}{f' {version}' if version else ''} is known to be bad", where


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
