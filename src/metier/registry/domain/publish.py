"""Publishes an upload: checks it, stores its archive, then writes all rows in one transaction.

The archive is written first. A worker that dies in between leaves an unused archive, which garbage collection deletes; the
other order would leave a release without an archive. The transaction looks for the archive again, because garbage collection
may have deleted an old copy of the same bytes meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec

from metier.errors import InvalidSkillError, UsageError
from metier.registry.wire import ReleaseFinding
from metier.spec import Problem, Report, Severity, is_name
from metier.values import dataclass, replace

from .access import Caller
from .admission import Admission
from .protocols import BlobStore, RegistryStore
from .records import Millis, Package, PackageKind, PackageVisibility, Release, ReleaseDraft, ReleaseState
from .similar_names import SimilarNames
from .turns import UploadTurns

__all__ = [
    "RESERVED", "Admit", "PublishOutcome", "PublishRequest", "Publisher", "ReleasePolicy", "check_namespace", "draft_release",
    "findings_of", "report_of",
]  # fmt: skip

RESERVED = frozenset("""
    account admin advisories agents anonymous api audit docs favicon-ico healthz index invitations login logout metier metrics
    namespaces new openapi owner owners publish quarantine readyz registry reports review reviews robots-txt search
    security settings skill skills static t tokens trending users v2 well-known
""".split())  # noqa: SIM905  # fmt: skip
"""Names of pages, which cannot be namespaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """The options of an upload."""

    kind: PackageKind = PackageKind.SKILL
    namespace: str = ""
    """Empty means the namespace of the token."""
    visibility: PackageVisibility | None = None
    version: str | None = None
    dry_run: bool = False
    as_draft: bool = False
    """Keep it as a draft until it is submitted."""


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    admitted: Admission
    package: Package | None
    release: Release | None
    """Both are None for a dry run of an upload that would be refused."""
    created: bool
    dry_run: bool = False
    visibility_changed: bool = False
    """False for a new package."""


class UploadCheck(Protocol):
    """Refuses an upload that an advisory names."""

    async def check(self, admitted: Admission, publishers: Iterable[str], version: str = "") -> Admission: ...

    async def names_versions_of(self, name: str) -> bool:
        """Returns whether the version decides if an advisory names this skill."""


Admit = Callable[[bytes, PackageKind, str | None], Awaitable[Admission]]
"""Checks an upload; the last argument is the version that the request names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePolicy:
    """The steps of an upload on its way online."""

    review: bool = False
    """Every upload waits for a review. Else a namespace may ask for it."""
    self_review: bool = False
    """A reviewer may approve their own uploads."""
    cooldown: Millis = 0
    """Time for which only its exact version finds a new version."""


class Publisher:
    def __init__(
        self, store: RegistryStore, blobs: BlobStore, clock: Callable[[], Millis], admit: Admit, turns: UploadTurns,
        policy: ReleasePolicy | None = None, advisories: UploadCheck | None = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._admit = admit
        self._policy = policy or ReleasePolicy()
        self._similar = SimilarNames(store, clock)
        self._advisories = advisories
        self.turns = turns

    def namespace(self, caller: Caller, wanted: str) -> str:
        """Returns the namespace of an upload. Called before the upload is read; raises if the caller may not publish there."""
        acting = caller.publishes_in
        chosen = wanted or (acting[0] if acting and caller.name not in acting else caller.name)
        caller.require(acting is None or chosen in acting, f"publish in {chosen!r}", scope=f"publish:{chosen}")
        check_namespace(chosen)
        return chosen

    async def publish(
        self, caller: Caller, read: Callable[[], bytes], options: PublishRequest, *, name: str = ""
    ) -> PublishOutcome:
        """Publishes an archive, which is read when it is its turn. `name` is the expected name, if the request has one."""
        namespace = self.namespace(caller, options.namespace)
        async with self.turns.turn(caller):
            admitted = await self._admit(read(), options.kind, options.version)
        if name and admitted.name != name:
            raise UsageError(
                f"the name in SKILL.md is {admitted.name!r}, but the request says {name[:80]!r}", hint="use the same name"
            )
        caller.require(caller.may_release(admitted.name), f"publish {admitted.name}", scope=f"publish:{namespace}")
        before = await self._store.find_package(admitted.kind, admitted.name)
        if before is None:
            admitted = await self._with_similar_name(admitted)
        admitted = await self._with_advisories(caller, admitted, namespace)
        if admitted.is_refused:
            if options.dry_run:
                return PublishOutcome(admitted, None, None, created=False, dry_run=True)
            raise InvalidSkillError(
                f"{admitted.name} cannot be published", report=report_of(admitted.findings), hint="fix the findings"
            )
        draft = draft_release(caller, namespace, admitted, visibility=options.visibility, at=self._clock())
        state = ReleaseState.DRAFT if options.as_draft else ReleaseState.REVIEW if self._policy.review else ""
        draft = msgspec.structs.replace(draft, state=state, cooldown=self._policy.cooldown)
        if options.dry_run:
            package, release, created = await self._store.try_publish(draft, caller.publishes_in)
        else:
            package, release, created = await self._write(draft, admitted, caller)
        changed = before is not None and before.visibility != package.visibility
        return PublishOutcome(admitted, package, release, created, dry_run=options.dry_run, visibility_changed=changed)

    async def _write(self, draft: ReleaseDraft, admitted: Admission, caller: Caller) -> tuple[Package, Release, bool]:
        await self._blobs.put(admitted.archive_name, admitted.archive)

        async def keep_archive() -> None:
            if not await self._blobs.has(admitted.archive_name):
                await self._blobs.put(admitted.archive_name, admitted.archive)

        return await self._store.publish(draft, caller.publishes_in, keep_archive=keep_archive)

    async def _with_advisories(self, caller: Caller, admitted: Admission, namespace: str) -> Admission:
        if self._advisories is None or admitted.is_refused:
            return admitted
        version = admitted.version or ""
        if not version and await self._advisories.names_versions_of(admitted.name):
            draft = draft_release(caller, namespace, admitted, visibility=None, at=self._clock())
            version = (await self._store.try_publish(draft, caller.publishes_in))[1].version
        return await self._advisories.check(admitted, (namespace,), version)

    async def _with_similar_name(self, admitted: Admission) -> Admission:
        """Adds a warning if a new name is one edit away from a popular one."""
        near = await self._similar.find(admitted.kind, admitted.name)
        if near is None:
            return admitted
        warning = ReleaseFinding(
            rule="RG002",
            severity=Severity.WARNING,
            message=f"{admitted.name!r} is similar to the popular skill {near!r}",
            file=admitted.file,
            hint="choose a more distinct name",
        )
        return replace(admitted, findings=(*admitted.findings, warning))


def check_namespace(name: str) -> None:
    """Raises UsageError for a namespace that cannot exist."""
    if not is_name(name) or name in RESERVED - {"admin"}:
        raise UsageError(
            f"invalid namespace {name[:80]!r}", hint="use a-z, 0-9 and single hyphens; names of pages are reserved"
        )


def draft_release(
    caller: Caller, namespace: str, admitted: Admission, *, visibility: PackageVisibility | None, at: Millis
) -> ReleaseDraft:
    return ReleaseDraft(
        kind=admitted.kind,
        name=admitted.name,
        namespace=namespace,
        visibility=visibility,
        version=admitted.version,
        digest=admitted.digest,
        archive=admitted.archive_name,
        size=len(admitted.archive),
        description=admitted.description,
        author=admitted.author or namespace,
        license=admitted.license,
        tags=admitted.tags,
        details=admitted.details_json,
        verdict=admitted.verdict,
        findings=admitted.findings_json,
        words=admitted.words,
        spellings=admitted.spellings,
        publisher=caller.actor or caller.name,
        at=at,
        token=caller.token.prefix if caller.token else "",
        address=caller.address,
        provenance=caller.token.provenance if caller.token else "",
    )


def findings_of(release: Release) -> list[ReleaseFinding]:
    return msgspec.json.decode(release.findings, type=list[ReleaseFinding])


def report_of(findings: tuple[ReleaseFinding, ...]) -> Report:
    return Report.of(
        Problem(
            code=each.rule,
            severity=Severity(each.severity),
            message=each.message,
            file=each.file,
            line=each.line,
            hint=each.hint,
        )
        for each in findings
    )
