"""The way of an upload: draft, in review, online. A reviewer who did not upload it approves it, or returns it with a comment.

Drafts are seen by the members of a namespace only: callers that publish in it or review its uploads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.errors import ConflictError, NotFoundError, RefusedError, UsageError
from metier.spec import is_name
from metier.values import dataclass

from .access import Caller, PackageAccess, Right
from .protocols import RegistryStore
from .publish import ReleasePolicy
from .records import AuditEvent, Millis, Package, PackageKind, Release, ReleaseState

__all__ = ["Reviews", "WaitingRelease"]

_WAITING = (ReleaseState.DRAFT, ReleaseState.REVIEW)
_ACTIONS = ("upload", "submit", "approve", "return", "withdraw", "quarantine-version", "release-version")
_MAX_COMMENT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRelease:
    """A release that is not online."""

    package: Package
    release: Release
    current: Release | None
    """The version that is online now, for comparison."""
    history: tuple[AuditEvent, ...]
    """The steps of this version so far, the latest first."""
    may_decide: bool
    """The caller may approve it and return it."""
    is_own: bool
    """The caller uploaded it, and the registry does not let them approve it."""
    may_submit: bool


class Reviews:
    def __init__(self, store: RegistryStore, clock: Callable[[], Millis], policy: ReleasePolicy) -> None:
        self._store = store
        self._access = PackageAccess(store)
        self._clock = clock
        self._policy = policy

    async def list(self, caller: Caller, *, before: int | None = None) -> list[tuple[Package, Release]]:
        """Returns the drafts and reviews of the caller's namespaces, newest first."""
        caller.require(True, "list reviews", scope="review:NAMESPACE")
        return await self._store.waiting(_WAITING, caller.member_of, before=before)

    async def find(self, caller: Caller, kind: PackageKind, name: str, version: str) -> WaitingRelease:
        package, owners = await self._access.member(caller, kind, name)
        release = await self._waiting(package, version, (*_WAITING, ReleaseState.QUARANTINED))
        current = await self._store.release(package.id, package.version) if package.version else None
        events = await self._store.events(subject=f"{kind}:{name}")
        history = [event for _, event in events if event.action in _ACTIONS and event.details.split(" ")[0] == version]
        waits = release.state != ReleaseState.QUARANTINED
        return WaitingRelease(
            package=package, release=release, current=current, history=tuple(history),
            may_decide=release.state == ReleaseState.REVIEW and caller.may(Right.REVIEW, *owners),
            is_own=not self._policy.self_review and _is_own(caller, release),
            may_submit=waits and caller.may(Right.MANAGE, *owners),
        )  # fmt: skip

    async def submit(self, caller: Caller, kind: PackageKind, name: str, version: str) -> str:
        """Submits a draft. It waits for a review, or comes online if its namespace does not ask for one. Returns its state."""
        package, owners = await self._access.allowed(caller, Right.MANAGE, kind, name, "submit versions of")
        release = await self._waiting(package, version, (ReleaseState.DRAFT,))
        demanded = self._policy.review or await self._store.demands_review(owners)
        state = ReleaseState.REVIEW if demanded else ReleaseState.ONLINE
        await self._set_state(caller, package, release, state, "submit", "")
        return state

    async def approve(
        self, caller: Caller, kind: PackageKind, name: str, version: str, *, digest: str, comment: str = ""
    ) -> None:
        """Puts a version online. `digest` is that of the files that the reviewer has read."""
        package, release = await self._reviewed(caller, kind, name, version, digest, "approve versions of")
        if not self._policy.self_review and _is_own(caller, release):
            raise RefusedError(
                f"you uploaded {name} {version}, so another reviewer approves it", rule="own-upload",
                hint="ask another person with the scope review; `registry.self_review` allows it for all",
            )  # fmt: skip
        await self._set_state(caller, package, release, ReleaseState.ONLINE, "approve", comment)

    async def return_to_draft(
        self, caller: Caller, kind: PackageKind, name: str, version: str, *, digest: str, comment: str
    ) -> None:
        """Returns a version to its publisher, with the reason."""
        if not comment.strip():
            raise UsageError("a version is returned with a comment", hint="say what should change")
        package, release = await self._reviewed(caller, kind, name, version, digest, "return versions of")
        await self._set_state(caller, package, release, ReleaseState.DRAFT, "return", comment)

    async def withdraw(self, caller: Caller, kind: PackageKind, name: str, version: str) -> None:
        """Deletes a draft or a version in review. Its number is free again."""
        package, _ = await self._access.allowed(caller, Right.MANAGE, kind, name, "withdraw versions of")
        release = await self._waiting(package, version, _WAITING)
        event = self._event(caller, package, release, "withdraw", "")
        if not await self._store.remove_release(release, event=event):
            raise _changed(name, version)

    async def demands_review(self, caller: Caller, namespace: str) -> bool:
        self._require_member(caller, namespace)
        return self._policy.review or await self._store.demands_review((namespace,))

    async def set_demands_review(self, caller: Caller, namespace: str, *, demanded: bool) -> bool:
        """Says whether uploads of a namespace wait. Publishers cannot switch it off. Returns False if unchanged."""
        if not is_name(namespace):
            raise UsageError(f"invalid namespace {namespace[:80]!r}", hint="use a-z, 0-9 and single hyphens")
        caller.require(caller.may(Right.REVIEW, namespace), f"change the reviews of {namespace!r}", scope=f"review:{namespace}")
        event = caller.event(self._clock(), "review-setting", f"namespace:{namespace}", "on" if demanded else "off")
        return await self._store.set_demands_review(namespace, demanded=demanded, event=event)

    async def _reviewed(
        self, caller: Caller, kind: PackageKind, name: str, version: str, digest: str, action: str
    ) -> tuple[Package, Release]:
        package, _ = await self._access.allowed(caller, Right.REVIEW, kind, name, action)
        release = await self._waiting(package, version, (ReleaseState.REVIEW,))
        if release.digest != digest:
            raise _changed(name, version)
        return package, release

    async def _waiting(self, package: Package, version: str, states: Sequence[ReleaseState]) -> Release:
        release = await self._store.any_release(package.id, version)
        if release is None or release.state not in states:
            raise NotFoundError(
                f"{package.name} {version[:80]} is {'online' if release and release.state == 'online' else 'not waiting'}",
                hint="see `metier registry review list`",
            )
        return release

    async def _set_state(
        self, caller: Caller, package: Package, release: Release, state: str, action: str, comment: str
    ) -> None:
        text = " ".join(comment.split())[:_MAX_COMMENT]
        event = self._event(caller, package, release, action, text)
        reason = text if state == ReleaseState.DRAFT else ""
        if not await self._store.set_state(release, state, reason=reason, event=event, cooldown=self._policy.cooldown):
            raise _changed(package.name, release.version)

    def _event(self, caller: Caller, package: Package, release: Release, action: str, text: str) -> AuditEvent:
        details = f"{release.version} {release.digest} {text}".strip()
        return caller.event(self._clock(), action, f"{package.kind}:{package.name}", details)

    @staticmethod
    def _require_member(caller: Caller, namespace: str) -> None:
        caller.require(
            caller.is_member(namespace), f"read the settings of {namespace[:80]!r}", scope=f"review:{namespace[:80]}"
        )


def _is_own(caller: Caller, release: Release) -> bool:
    return release.publisher in (caller.name, caller.actor)


def _changed(name: str, version: str) -> ConflictError:
    return ConflictError(f"{name} {version} has changed since you read it", hint="read it again, then decide")
