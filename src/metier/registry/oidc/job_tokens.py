"""Tokens of CI jobs: GitHub Actions and GitLab. Only issuers of the registry's list are ever contacted."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.trusted_publishers import JobIdentity

from .provider import OidcProvider
from .signed_tokens import Claims, SignedTokenError

__all__ = ["JobTokens"]

_LONGEST = 64 * 1024
_GITHUB = "https://token.actions.githubusercontent.com"


class JobTokens:
    def __init__(self, issuers: Iterable[str], *, audience: str, clock: Callable[[], int]) -> None:
        self._audience = audience
        self._providers = {
            issuer: OidcProvider(
                issuer=issuer, client_id=audience, client_secret="", groups_claim="", clock=clock,
                setting="registry.trusted_issuers",
            )
            for issuer in issuers
        }  # fmt: skip

    async def verify(self, text: str) -> JobIdentity:
        """Returns the job of a token. Raises UnauthenticatedError for one that no trusted issuer made for this registry."""
        issuer = _claimed_issuer(text)
        provider = self._providers.get(issuer)
        if provider is None:
            raise UnauthenticatedError(
                f"{issuer[:200]!r} is not a trusted issuer of this registry",
                hint="its setting registry.trusted_issuers lists them",
            )
        try:
            claims = await provider.verify(text)
        except SignedTokenError as error:
            raise UnauthenticatedError(
                f"the job's ID token is not valid: {error.reason}", hint=f"ask for one with the audience {self._audience}"
            ) from None
        return _job(issuer, claims)

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()


def _claimed_issuer(text: str) -> str:
    """Returns the issuer that an unverified token names, only to choose the keys."""
    parts = text.split(".")
    try:
        if len(text) > _LONGEST or len(parts) != 3:
            raise ValueError
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return str(claims["iss"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnauthenticatedError("this is not an ID token", hint="send the token that the CI system made") from None


def _job(issuer: str, claims: Claims) -> JobIdentity:
    if "project_path" in claims:
        return _gitlab_job(issuer, claims)
    return _github_job(issuer, claims)


def _github_job(issuer: str, claims: Claims) -> JobIdentity:
    repository = _text(claims, "repository")
    # OWNER/NAME/.github/workflows/FILE@REF; a workflow of another repository does not count.
    path, _, _ = _text(claims, "workflow_ref").rpartition("@")
    parts = urlsplit(issuer)
    server = "https://github.com" if issuer == _GITHUB else f"{parts.scheme}://{parts.netloc}"
    return JobIdentity(
        issuer=issuer,
        token_id=_text(claims, "jti"),
        expires=int(claims["exp"]) * 1000,
        repository=repository,
        project_id=_text(claims, "repository_id"),
        workflow=_below(path, f"{repository}/"),
        ref=_text(claims, "ref"),
        environment=_text(claims, "environment", default=""),
        event=_text(claims, "event_name"),
        commit=_text(claims, "sha"),
        run_url=f"{server}/{repository}/actions/runs/{_text(claims, 'run_id')}",
    )


def _gitlab_job(issuer: str, claims: Claims) -> JobIdentity:
    project = _text(claims, "project_path")
    # HOST/GROUP/PROJECT//FILE@REF
    path, _, _ = _text(claims, "ci_config_ref_uri").rpartition("@")
    kind = {"branch": "heads", "tag": "tags"}.get(_text(claims, "ref_type"), "")
    return JobIdentity(
        issuer=issuer,
        token_id=_text(claims, "jti"),
        expires=int(claims["exp"]) * 1000,
        repository=project,
        project_id=_text(claims, "project_id"),
        workflow=_below(path, f"{urlsplit(issuer).netloc}/{project}//"),
        ref=f"refs/{kind}/{_text(claims, 'ref')}" if kind else "",
        environment=_text(claims, "environment", default=""),
        event=_text(claims, "pipeline_source"),
        commit=_text(claims, "sha"),
        run_url=f"{issuer}/{project}/-/jobs/{_text(claims, 'job_id')}",
    )


def _below(path: str, folder: str) -> str:
    """Returns the rest of a path; empty if it is elsewhere, which no trusted publisher matches."""
    return path[len(folder) :] if path.lower().startswith(folder.lower()) else ""


def _text(claims: Claims, name: str, *, default: str | None = None) -> str:
    value = claims.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or (not value and default is None):
        raise UnauthenticatedError(
            f"the job's ID token has no {name}", hint="GitHub Actions and GitLab are known; others are not"
        )
    return value[:255]
