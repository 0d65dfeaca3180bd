"""Trusted publishing: a job of a CI system proves its identity and gets a token that publishes for a quarter of an hour.

The token can only publish, in one namespace or one package of it. It cannot change owners, keys or trusted publishers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from metier.errors import NotFoundError, RefusedError, UsageError
from metier.registry.wire import Provenance
from metier.spec import is_name
from metier.values import dataclass

from .access import Caller, Right, UnauthenticatedError
from .protocols import RegistryStore
from .records import Millis, RegistryToken, TrustedPublisher
from .tokens import hash_secret, new_token_text, token_prefix

__all__ = ["TRUSTED_ISSUERS", "JobIdentity", "TrustedPublishers"]

TRUSTED_ISSUERS = ("https://token.actions.githubusercontent.com", "https://gitlab.com")
"""The issuers of GitHub Actions and of gitlab.com."""
_TOKEN_MS = 15 * 60_000
_SKEW_MS = 120_000
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+")
_WORKFLOW = re.compile(r"[\w. -]+(/[\w. -]+)*\.ya?ml")
_REF = re.compile(r"refs/(heads|tags)/[^\s*]*\*?")
_LONGEST = 255
_FOREIGN_EVENTS = ("pull_request_target", "workflow_run")
"""Events that run with the rights of the repository on behalf of a fork."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIdentity:
    """A job as its verified token describes it."""

    issuer: str
    token_id: str
    expires: Millis
    repository: str
    project_id: str
    workflow: str
    """The path of the workflow file in the repository."""
    ref: str
    environment: str
    event: str
    commit: str
    run_url: str


class TrustedPublishers:
    def __init__(self, store: RegistryStore, clock: Callable[[], Millis], issuers: tuple[str, ...]) -> None:
        self._store = store
        self._clock = clock
        self._issuers = issuers

    async def add(self, caller: Caller, wanted: TrustedPublisher) -> TrustedPublisher:
        self._require(caller, wanted.namespace)
        self._check(wanted)
        row = msgspec.structs.replace(wanted, repository=wanted.repository.lower(), created=self._clock())
        details = f"{row.repository} {row.workflow} {row.ref} {row.environment} {row.package}"
        event = caller.event(row.created, "trusted-publisher-add", f"namespace:{row.namespace}", " ".join(details.split()))
        return await self._store.add_trusted_publisher(row, event=event)

    async def list(self, caller: Caller, namespace: str) -> list[TrustedPublisher]:
        self._require(caller, namespace)
        return await self._store.trusted_publishers(namespace)

    async def remove(self, caller: Caller, namespace: str, publisher: int) -> None:
        """Removes a trusted publisher, and revokes the tokens that its jobs still have."""
        self._require(caller, namespace)
        event = caller.event(self._clock(), "trusted-publisher-remove", f"namespace:{namespace}", str(publisher))
        if not await self._store.remove_trusted_publisher(namespace, publisher, event=event):
            raise NotFoundError(
                f"{namespace[:80]} has no trusted publisher {publisher}",
                hint=f"metier registry trusted-publisher list {namespace[:80]}",
            )

    async def exchange(
        self, job: JobIdentity, *, namespace: str = "", package: str = "", address: str = ""
    ) -> tuple[str, RegistryToken]:
        """Returns the text of a publishing token for a job, and its record. A job's token is exchanged once."""
        if job.event in _FOREIGN_EVENTS:
            raise RefusedError(f"jobs of the event {job.event} may not publish", rule="trusted-publisher",
                          hint="publish on a push, a tag or a release")  # fmt: skip
        known = await self._store.publishers_of(job.issuer, job.repository.lower())
        found = [each for each in known if _matches(each, job) and namespace in ("", each.namespace)
                 and each.package in ("", package or each.package)]  # fmt: skip
        if not found:
            where = f" on {job.ref}" + (f" in the environment {job.environment}" if job.environment else "")
            target = f" for {package[:80]}" if package else ""
            raise RefusedError(
                f"no trusted publisher{target} matches {job.repository}, workflow {job.workflow}{where}",
                rule="trusted-publisher", hint="an owner of the namespace adds it: metier registry trusted-publisher add",
            )  # fmt: skip
        # The narrowest one first.
        chosen = min(found, key=lambda each: (not each.package, each.id))
        if len({each.namespace for each in found}) > 1 or (not package and chosen.package and len(found) > 1):
            raise UsageError("several trusted publishers match this job", hint="name the namespace with --namespace")
        now, text = self._clock(), new_token_text()
        scope = f"upload:{chosen.namespace}" + (f"/{chosen.package}" if chosen.package else "")
        row = RegistryToken(
            id=0, prefix=token_prefix(text), holder=chosen.namespace, scopes=(scope,), note=f"job of {job.repository}"[:200],
            created=now, expires=now + _TOKEN_MS, revoked=None, publisher_id=chosen.id, provenance=_provenance(job),
        )  # fmt: skip
        event = Caller(row, address).event(now, "token-exchange", f"token:{row.prefix}", f"{scope} {job.run_url}")
        made = await self._store.add_job_token(
            row, hash_secret(text), project_id=job.project_id, job_token=hash_secret(f"{job.issuer} {job.token_id}"),
            job_expires=job.expires + _SKEW_MS, event=event,
        )  # fmt: skip
        if made is None:
            raise UnauthenticatedError(
                "the ID token of this job was exchanged before", hint="ask for a new ID token for each skill"
            )
        return text, made

    def _check(self, wanted: TrustedPublisher) -> None:
        texts = (wanted.repository, wanted.workflow, wanted.ref, wanted.environment)
        if wanted.issuer not in self._issuers:
            raise UsageError(
                f"{wanted.issuer[:200]!r} is not a trusted issuer of this registry",
                hint=f"use {' or '.join(self._issuers)}; registry.trusted_issuers lists them",
            )
        if not is_name(wanted.namespace) or (wanted.package and not is_name(wanted.package)):
            raise UsageError("invalid namespace or package", hint="use a-z, 0-9 and single hyphens")
        if not _REPOSITORY.fullmatch(wanted.repository) or max(map(len, texts)) > _LONGEST:
            raise UsageError(f"invalid repository {wanted.repository[:80]!r}", hint="write OWNER/NAME, for example acme/skills")
        if not _WORKFLOW.fullmatch(wanted.workflow):
            raise UsageError(
                f"invalid workflow {wanted.workflow[:80]!r}", hint="name its file: release.yml, or .gitlab-ci.yml at GitLab"
            )
        if wanted.ref and not _REF.fullmatch(wanted.ref):
            raise UsageError(
                f"invalid ref {wanted.ref[:80]!r}", hint="write it whole: refs/heads/main, or refs/tags/v* for all such tags"
            )

    @staticmethod
    def _require(caller: Caller, namespace: str) -> None:
        allowed = caller.may(Right.MANAGE, namespace)
        caller.require(allowed, f"manage trusted publishers of {namespace[:80]!r}", scope=f"publish:{namespace[:80]}")


def _matches(publisher: TrustedPublisher, job: JobIdentity) -> bool:
    wanted, ref = publisher.workflow, publisher.ref
    return (
        job.workflow in (wanted, f".github/workflows/{wanted}")
        and (not ref or job.ref == ref or (ref.endswith("*") and job.ref.startswith(ref[:-1])))
        and publisher.environment in ("", job.environment)
    )


def _provenance(job: JobIdentity) -> str:
    made = Provenance(
        issuer=job.issuer, repository=job.repository, commit=job.commit, workflow=job.workflow, ref=job.ref,
        run_url=job.run_url,
    )  # fmt: skip
    return msgspec.json.encode(made).decode()
