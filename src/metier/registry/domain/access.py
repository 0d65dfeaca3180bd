"""The caller of a request, and its rights.

    read            read private packages of every namespace; `read:acme` of one namespace
    publish:acme    publish in one namespace and manage its packages; `publish:*` in all, `publish` in the holder's own
    yank            yank and unyank releases of the token's namespaces
    review:acme     review uploads of one namespace and say whether it asks for reviews; `review:*` of all
    upload:NAMESPACE[/NAME]  add releases and nothing else; only trusted publishing makes such tokens
    tokens          list, create and revoke tokens of the holder
    metrics         read the counters of the server
    admin           everything

A token can also read the packages of its holder and of the namespaces it acts for. Packages that the caller may not read are
reported as not found, never as forbidden. Every route that reads or changes a package asks `PackageAccess`.
"""

from __future__ import annotations

from enum import StrEnum

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.values import dataclass

from .protocols import PackageStore
from .records import AuditEvent, Millis, Package, PackageStatus, PackageVisibility, RegistryToken

__all__ = ["ANONYMOUS", "Caller", "PackageAccess", "Right", "UnauthenticatedError", "local_caller"]

_MAX_DETAILS = 500


class UnauthenticatedError(MetierError):
    code = "unauthenticated"
    exit_status = 5


class Right(StrEnum):
    """A right on a namespace or on the packages that it owns."""

    READ = "read"
    MANAGE = "manage"
    """Publish, sign, rescan, delete, and change visibility, status, tags and owners."""
    YANK = "yank"
    REVIEW = "review"
    """Approve and return uploads, and read them."""
    MODERATE = "moderate"
    """Quarantine."""


@dataclass(frozen=True, slots=True)
class Caller:
    token: RegistryToken | None = None
    address: str = ""
    actor: str = ""
    """The name in the audit log; empty means the holder of the token."""

    @property
    def name(self) -> str:
        return self.token.holder if self.token else "anonymous"

    @property
    def scopes(self) -> tuple[str, ...]:
        return self.token.scopes if self.token else ()

    @property
    def is_admin(self) -> bool:
        return "admin" in self.scopes

    @property
    def manages_tokens(self) -> bool:
        """A person who signed in manages their own tokens; a token needs the scope."""
        return self.is_admin or "tokens" in self.scopes or (self.token is not None and self.token.is_sign_in)

    @property
    def acts_for(self) -> tuple[str, ...] | None:
        """Namespaces that the caller may publish in; None means all."""
        if self.is_admin or "publish:*" in self.scopes:
            return None
        named = [scope.removeprefix("publish:") for scope in self.scopes if scope.startswith("publish:")]
        return tuple(dict.fromkeys([*named, *([self.name] if "publish" in self.scopes else [])]))

    @property
    def publishes_in(self) -> tuple[str, ...] | None:
        """Namespaces in which the caller may add releases; None means all. A CI job may do nothing else there."""
        acting = self.acts_for
        return None if acting is None else tuple(dict.fromkeys([*acting, *(namespace for namespace, _ in self._uploads)]))

    def may_release(self, package: str) -> bool:
        """Returns whether the caller may add releases of a package with this name, in its own namespaces."""
        return self.acts_for != () or any(name in ("", package) for _, name in self._uploads)

    @property
    def _uploads(self) -> tuple[tuple[str, str], ...]:
        pairs = (scope.removeprefix("upload:").partition("/") for scope in self.scopes if scope.startswith("upload:"))
        return tuple((namespace, name) for namespace, _, name in pairs)

    @property
    def readable_namespaces(self) -> tuple[str, ...] | None:
        """Namespaces whose private packages the caller may read; None means all."""
        if self.token is None:
            return ()
        if self.is_admin or "read" in self.scopes or self.acts_for is None:
            return None
        named = [scope.removeprefix("read:") for scope in self.scopes if scope.startswith("read:")]
        reviewed = self.reviews_for
        return None if reviewed is None else tuple(dict.fromkeys([self.name, *named, *self.acts_for, *reviewed]))

    @property
    def reviews_for(self) -> tuple[str, ...] | None:
        """Namespaces whose uploads the caller may review; None means all."""
        if self.is_admin or "review:*" in self.scopes:
            return None
        return tuple(scope.removeprefix("review:") for scope in self.scopes if scope.startswith("review:"))

    @property
    def member_of(self) -> tuple[str, ...] | None:
        """Namespaces whose drafts the caller may see; None means all. A token that only reads sees none."""
        acting, reviewed = self.acts_for, self.reviews_for
        return None if acting is None or reviewed is None else tuple(dict.fromkeys([*acting, *reviewed]))

    def is_member(self, *owners: str) -> bool:
        namespaces = self.member_of
        return namespaces is None or not set(namespaces).isdisjoint(owners)

    def may(self, right: Right, *owners: str) -> bool:
        """Returns whether the caller has the right on one of these namespaces, or on a package that they own."""
        if self.is_admin:
            return True
        match right:
            case Right.READ:
                namespaces = self.readable_namespaces
            case Right.MANAGE:
                namespaces = self.acts_for
            case Right.YANK:
                if "yank" not in self.scopes:
                    return False
                acting = self.acts_for
                namespaces = None if acting is None else (self.name, *acting)
            case Right.REVIEW:
                namespaces = self.reviews_for
            case Right.MODERATE:
                return False
        return namespaces is None or not set(namespaces).isdisjoint(owners)

    def require(self, allowed: bool, action: str, *, scope: str) -> None:
        """Raises UnauthenticatedError without a token, and RefusedError if `allowed` is false."""
        if self.token is None:
            raise UnauthenticatedError(f"a token is required to {action}", hint=f"send a token with the scope {scope}")
        if not allowed:
            raise RefusedError(f"this token may not {action}", rule="scope", hint=f"use a token with the scope {scope}")

    def event(self, at: Millis, action: str, subject: str, details: str = "") -> AuditEvent:
        """Returns an entry of the audit log with this caller, its token and its address."""
        prefix = self.token.prefix if self.token else ""
        return AuditEvent(at, self.actor or self.name, action, subject, details[:_MAX_DETAILS], prefix, self.address)


ANONYMOUS = Caller()


def local_caller(actor: str) -> Caller:
    """Returns the caller of maintenance commands, which have direct access to the database."""
    token = RegistryToken(
        id=0, prefix="", holder="admin", scopes=("admin",), note="", created=0, expires=None, revoked=None
    )  # fmt: skip
    return Caller(token, actor=actor)


class PackageAccess:
    """The one check of every action on a package."""

    def __init__(self, packages: PackageStore) -> None:
        self._packages = packages

    async def readable(self, caller: Caller, kind: str, name: str) -> Package:
        """Returns a package that the caller may read. One that was never online is not found, also by its owners."""
        package = await self._present(caller, kind, name)
        if package.hidden:
            raise _unknown(kind, name)
        return package

    async def _present(self, caller: Caller, kind: str, name: str) -> Package:
        package = await self._packages.find_package(kind, name)
        if package is None or package.status == PackageStatus.DELETED or not await self._may_see(caller, package):
            raise _unknown(kind, name)
        if package.status == PackageStatus.QUARANTINED and not caller.is_admin:
            raise RefusedError(f"{name} is quarantined: {package.reason or 'it is under review'}", rule="quarantined",
                          hint="wait for the review, or ask the administrator")  # fmt: skip
        return package

    async def allowed(self, caller: Caller, right: Right, kind: str, name: str, action: str) -> tuple[Package, tuple[str, ...]]:
        """Returns a package on which the caller has the right, and its owners; `action` completes "may not … NAME"."""
        package = await self._present(caller, kind, name)
        owners = await self._packages.owners(package.id)
        if package.hidden and not caller.is_member(*owners):
            raise _unknown(kind, name)
        scope = {
            Right.READ: "read",
            Right.YANK: "yank",
            Right.MODERATE: "admin",
            Right.REVIEW: f"review:{package.namespace}",
        }.get(right, f"publish:{package.namespace}")
        caller.require(caller.may(right, *owners), f"{action} {name}", scope=scope)
        return package, owners

    async def member(self, caller: Caller, kind: str, name: str) -> tuple[Package, tuple[str, ...]]:
        """Returns a package whose drafts the caller may see, and its owners. To all others it is not found."""
        package = await self._packages.find_package(kind, name)
        owners = await self._packages.owners(package.id) if package else ()
        if package is None or package.status == PackageStatus.DELETED or not caller.is_member(*owners):
            raise _unknown(kind, name)
        return package, owners

    async def deleted(self, caller: Caller, kind: str, name: str) -> Package:
        """Returns a deleted package that the caller may manage. To all others it is not found."""
        package = await self._packages.find_package(kind, name)
        if (
            package is None
            or package.status != PackageStatus.DELETED
            or not caller.may(Right.MANAGE, *await self._packages.owners(package.id))
        ):
            raise NotFoundError(
                f"no {kind} named {name[:80]!r} was deleted", hint="after its time it is purged; then publish it again"
            )
        return package

    async def _may_see(self, caller: Caller, package: Package) -> bool:
        if package.visibility == PackageVisibility.PUBLIC or caller.may(Right.READ, package.namespace):
            return True
        # The first owner is in the row; only a caller with a token can be another owner.
        return caller.token is not None and caller.may(Right.READ, *await self._packages.owners(package.id))


def _unknown(kind: str, name: str) -> NotFoundError:
    return NotFoundError(f"unknown {kind} {name[:80]!r}", hint="search for it, or log in if it is private")
