"""Advisories of a registry: administrators add them, the registry signs them, and refuses and quarantines what they name.

The private key is a file of the server and never in its database, so that a copy of the database cannot sign. The database has
the public key: a server that lacks the file, or has another one, does not sign.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from metier.archive import unpack
from metier.errors import ConfigError, ConflictError, NotFoundError, UnavailableError, UsageError
from metier.registry.advisory_list import AdvisoryList, sign_list
from metier.registry.client.credentials import SigningKeyFile
from metier.registry.ed25519 import key_id, new_signing_key, public_key
from metier.registry.wire import AdvisoryChange, AdvisoryKeyRow, AdvisoryRow, ReleaseFinding
from metier.scan import RULES, Advisory, KnownBad, SkillIdentity, SkillTraits, advisories_of, known_bad, skill_traits
from metier.sources import file_lock
from metier.values import replace

from .access import Caller, local_caller
from .admission import Admission, findings_from
from .protocols import BlobStore, RegistryStore
from .publish import findings_of
from .records import AuditEvent, Millis, Package, Release, ReleaseState, ScanStatus
from .rescans import Rescan

__all__ = ["Advisories", "archive_traits", "open_key", "replace_key", "stored_advisories", "with_known_bad"]

_log = logging.getLogger("metier.registry")
_RULE = "SK911"
_ID = re.compile(r"[A-Za-z0-9][\w.:-]{0,63}", re.ASCII)
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,62}\.)){1,8}[a-z0-9-]{2,63}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PACKAGE = re.compile(r"(?:pypi|npm):\S{1,214}")
_LONGEST = 300
_MOST_VALUES = 1_000
_MOST = 5_000
_PAGE = 200

ReadTraits = Callable[[bytes], Awaitable[SkillTraits]]
"""Reads the traits of an archive, in another process."""


class Advisories:
    def __init__(
        self, store: RegistryStore, blobs: BlobStore, clock: Callable[[], Millis], read_traits: ReadTraits,
        key: SigningKeyFile | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._read_traits = read_traits
        self._key = key
        self._known: tuple[int, list[AdvisoryRow], tuple[Advisory, ...]] = (-1, [], ())
        self._signed: tuple[tuple[int, str, str], bytes] | None = None

    async def active(self) -> tuple[Advisory, ...]:
        """Returns the advisories that are not withdrawn."""
        return (await self._load())[2]

    async def key(self) -> AdvisoryKeyRow:
        public = await self._store.advisory_key()
        if not public:
            raise NotFoundError("this registry has no key for advisories", hint="its database must be beside a folder for keys")
        return AdvisoryKeyRow(keyid=key_id(public), public=public)

    async def signed_list(self) -> bytes:
        """Returns the envelope. It is the same for a day unless the list changes."""
        private = self._key.read() if self._key else None
        public = await self._store.advisory_key()
        if private is None or public_key(private) != public:
            raise UnavailableError(
                "this server has not the key that signs its advisories", retryable=False,
                hint="copy advisories.key from the server that has it, or run `metier registry advisory key --replace`",
            )  # fmt: skip
        number, rows, _ = await self._load()
        day = datetime.fromtimestamp(self._clock() / 1000, UTC).date().isoformat()
        if self._signed is None or self._signed[0] != (number, day, public):
            signed = sign_list(AdvisoryList(number=number, dated=day, advisories=rows), private)
            self._signed = (number, day, public), signed
        return self._signed[1]

    async def add(self, caller: Caller, row: AdvisoryRow) -> AdvisoryChange:
        """Adds an advisory, and quarantines the versions that it names. Those whose files it names follow in the background."""
        caller.require(caller.is_admin, "add advisories", scope="admin")
        _, rows, _ = await self._load()
        if len(rows) >= _MOST:
            raise ConflictError(f"the registry has {_MOST:,} advisories", hint="withdraw those that are no longer needed")
        advisory = _checked(row)
        event = caller.event(self._clock(), "advisory-add", f"advisory:{row.id}", row.summary)
        if not await self._store.add_advisory(row.id, msgspec.json.encode(row).decode(), event=event):
            raise ConflictError(f"there was an advisory {row.id} before", hint="choose another id")
        held = await self._quarantine_by(lambda package, release: self._by_identity(advisory, package, release))
        # A job of its own: it reads every archive. It also finds what was uploaded meanwhile.
        await self._store.enqueue("advisory", row.id, due=self._clock())
        return AdvisoryChange(id=row.id, number=(await self._load())[0], quarantined=held)

    async def withdraw(self, caller: Caller, advisory: str) -> AdvisoryChange:
        """Withdraws an advisory. What it has quarantined stays so until an administrator releases it."""
        caller.require(caller.is_admin, "withdraw advisories", scope="admin")
        event = caller.event(self._clock(), "advisory-withdraw", f"advisory:{advisory[:64]}")
        if not await self._store.withdraw_advisory(advisory, event=event):
            raise NotFoundError(f"no advisory {advisory[:64]!r}", hint="see `metier registry advisory list`")
        held: list[str] = []
        async for package, release in self._releases():
            if _is_marked(release, advisory):
                await self._unmark(package, release, advisory)
                if release.state == ReleaseState.QUARANTINED:
                    held.append(f"{package.name} {release.version}")
        return AdvisoryChange(id=advisory, number=(await self._load())[0], quarantined=held)

    async def search_archives(self, advisory: str) -> list[str]:
        """Quarantines the versions whose files an advisory names. Returns them."""
        found = [one for one in await self.active() if one.id == advisory]

        async def match(package: Package, release: Release) -> list[KnownBad]:
            traits = SkillTraits()
            if any(one.hosts or one.packages for one in found):
                traits = await self._read_traits(await self._blobs.get(release.archive))
            return known_bad(found, await self._identity(package, release), traits)

        return await self._quarantine_by(match) if found else []

    async def check(self, admitted: Admission, publishers: Iterable[str], version: str = "") -> Admission:
        """Returns the upload, refused if an advisory names it."""
        identity = SkillIdentity(
            name=admitted.name, version=version or admitted.version or "", publishers=tuple(publishers), digest=admitted.digest
        )
        found = known_bad(await self.active(), identity, admitted.traits)
        if not found:
            return admitted
        findings = (*admitted.findings, *findings_from(one.finding.problem for one in found))
        return replace(admitted, findings=findings, verdict=ScanStatus.BLOCK, is_refused=True)

    async def names_versions_of(self, name: str) -> bool:
        """Returns whether the version decides if an advisory names this skill."""
        return any(listed.startswith(f"{name}@") for one in await self.active() for listed in one.names)

    async def _load(self) -> tuple[int, list[AdvisoryRow], tuple[Advisory, ...]]:
        number = await self._store.advisories_number()
        if number != self._known[0]:
            number, rows = await _stored_rows(self._store)
            self._known = number, rows, parsed_rows(rows)
        return self._known

    async def _by_identity(self, advisory: Advisory, package: Package, release: Release) -> list[KnownBad]:
        return known_bad([advisory], await self._identity(package, release), SkillTraits())

    async def _identity(self, package: Package, release: Release) -> SkillIdentity:
        owners = await self._store.owners(package.id)
        return SkillIdentity(name=package.name, version=release.version, publishers=owners, digest=release.digest)

    async def _quarantine_by(self, match: Callable[[Package, Release], Awaitable[list[KnownBad]]]) -> list[str]:
        held = []
        async for package, release in self._releases():
            try:
                found = await match(package, release)
            except (NotFoundError, UnavailableError) as error:
                _log.warning("%s %s was not compared with an advisory: %s", package.name, release.version, error)
                continue
            # An administrator may have put it online again in spite of this advisory.
            if found and not _is_marked(release, found[0].advisory.id):
                await self._hold(package, release, found)
                held.append(f"{package.name} {release.version}")
        return held

    async def _releases(self) -> AsyncIterator[tuple[Package, Release]]:
        after = 0
        while page := await self._store.release_page(after=after, limit=_PAGE):
            for pair in page:
                yield pair
            after = page[-1][1].id

    async def _hold(self, package: Package, release: Release, found: Sequence[KnownBad]) -> None:
        findings = [*findings_of(release), *findings_from(one.finding.problem for one in found)]
        await self._set_findings(package, release, ScanStatus.BLOCK, findings, found[0].advisory.id)
        if release.state != ReleaseState.QUARANTINED:
            reason = found[0].finding.message[:500]
            event = self._event("quarantine-version", package, f"{release.version} {release.digest} {reason}")
            await self._store.set_state(release, ReleaseState.QUARANTINED, reason=reason, event=event)

    async def _unmark(self, package: Package, release: Release, advisory: str) -> None:
        findings = [one for one in findings_of(release) if not _is_of(one, advisory)]
        ranks = {"error": ScanStatus.BLOCK, "warning": ScanStatus.REVIEW}
        verdicts = {ranks.get(one.severity, ScanStatus.PASS) for one in findings if one.rule in RULES}
        verdict = next((one for one in (ScanStatus.BLOCK, ScanStatus.REVIEW) if one in verdicts), ScanStatus.PASS)
        await self._set_findings(package, release, verdict, findings, advisory)

    async def _set_findings(
        self, package: Package, release: Release, verdict: ScanStatus, findings: list[ReleaseFinding], advisory: str
    ) -> None:
        event = self._event("scan", package, f"{release.version} {verdict} {advisory}")
        await self._store.set_scan(release.id, verdict=verdict, findings=msgspec.json.encode(findings).decode(), event=event)

    def _event(self, action: str, package: Package, details: str) -> AuditEvent:
        return AuditEvent(self._clock(), "registry", action, f"{package.kind}:{package.name}", details)


def parsed_rows(rows: Iterable[AdvisoryRow], source: str = "") -> tuple[Advisory, ...]:
    return advisories_of([msgspec.to_builtins(row) for row in rows], file="the list of advisories", source=source)


async def stored_advisories(store: RegistryStore) -> tuple[Advisory, ...]:
    return parsed_rows((await _stored_rows(store))[1])


async def _stored_rows(store: RegistryStore) -> tuple[int, list[AdvisoryRow]]:
    number, texts = await store.advisories()
    return number, [msgspec.json.decode(text, type=AdvisoryRow) for text in texts]


def archive_traits(data: bytes) -> SkillTraits:
    """Reads a stored archive, in a worker."""
    return skill_traits(unpack(data))


def with_known_bad(
    result: Rescan, advisories: Sequence[Advisory], package: Package, release: Release, owners: Sequence[str]
) -> Rescan:
    """Returns the result of a later scan with the advisories of today."""
    identity = SkillIdentity(name=package.name, version=release.version, publishers=tuple(owners), digest=release.digest)
    found = known_bad(advisories, identity, result.traits)
    if not found:
        return result
    problems = findings_from(one.finding.problem for one in found)
    return replace(result, verdict=ScanStatus.BLOCK, findings=(*result.findings, *problems))


async def open_key(store: RegistryStore, file: str, *, at: Millis) -> SigningKeyFile | None:
    """Returns the key of this server, which the first start makes; None without a file."""
    if not file:
        return None
    key = SigningKeyFile(file)
    try:
        with file_lock(file):
            private, public = key.read(), await store.advisory_key()
            if private is None and not public:
                private = await _new_key(store, key, at)
            elif private is not None and not public:
                await store.set_advisory_key(public_key(private), event=_key_event(public_key(private), at))
    except OSError as error:
        _log.warning("advisories are not signed: %s: %s", file, error.strerror or error)
        return None
    return key


async def replace_key(store: RegistryStore, file: str, *, at: Millis) -> tuple[str, str]:
    """Makes another key. Returns the ids of the former key, if there was one, and of the new one."""
    before = await store.advisory_key()
    private = await _new_key(store, SigningKeyFile(file), at)
    return key_id(before) if before else "", key_id(public_key(private))


async def _new_key(store: RegistryStore, key: SigningKeyFile, at: Millis) -> str:
    private, public = new_signing_key()
    key.write(private)
    await store.set_advisory_key(public, event=_key_event(public, at))
    return private


def _key_event(public: str, at: Millis) -> AuditEvent:
    return local_caller("registry").event(at, "advisory-key", "advisories", key_id(public))


def _is_marked(release: Release, advisory: str) -> bool:
    return any(_is_of(one, advisory) for one in findings_of(release))


def _is_of(finding: ReleaseFinding, advisory: str) -> bool:
    return finding.rule == _RULE and finding.message.startswith(f"{advisory}: ")


def _checked(row: AdvisoryRow) -> Advisory:
    """Raises UsageError for an advisory that names nothing, or something that cannot be."""
    values = [*row.digests, *row.names, *row.publishers, *row.hosts, *row.packages]
    if not _ID.fullmatch(row.id):
        raise UsageError(f"invalid id {row.id[:64]!r}", hint="use letters, digits and . _ : -, for example ACME-2026-1")
    if not values or len(values) > _MOST_VALUES or len(row.summary) > _LONGEST:
        raise UsageError(
            "an advisory names something bad, and has a short summary",
            hint=f"up to {_MOST_VALUES:,} digests, names, publishers, hosts and packages, and {_LONGEST} characters of summary",
        )
    if not row.summary.isprintable() or not all(value.isprintable() and 0 < len(value) <= _LONGEST for value in values):
        raise UsageError("an advisory has a value with unusual characters", hint="write plain text")
    for kind, pattern, example, listed in (
        ("host", _HOST, "bad.example", row.hosts), ("digest", _DIGEST, "sha256:…", row.digests),
        ("package", _PACKAGE, "pypi:NAME or npm:NAME", row.packages),
    ):  # fmt: skip
        for value in listed:
            if not pattern.fullmatch(value.lower()):
                raise UsageError(f"invalid {kind} {value[:80]!r}", hint=f"write {example}")
    try:
        return parsed_rows([row])[0]
    except ConfigError as error:
        raise UsageError(str(error), hint="write NAME or NAME@RANGE, such as pdf-pro@<1.2.0") from None
