"""Trusted publishing from a CI job: its ID token is exchanged for a publishing token, so that no secret is stored."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from metier.errors import MetierError, RefusedError, UnavailableError, connection_problem
from metier.values import replace

from .http_client import RegistryClient

__all__ = ["has_job_token", "with_job_token"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 20.0
_GITHUB = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
_GITLAB = "METIER_ID_TOKEN"


def has_job_token(environment: Mapping[str, str]) -> bool:
    """Returns whether this is a CI job that can prove its identity."""
    return bool(environment.get(_GITLAB)) or all(environment.get(name) for name in _GITHUB)


def with_job_token(client: RegistryClient, *, namespace: str, package: str) -> RegistryClient:
    """Returns a client with a publishing token for this job. Raises RefusedError or UnavailableError with the reason."""
    if not has_job_token(client.environment):
        raise RefusedError(
            "this is not a CI job with an ID token", rule="trusted-publisher",
            hint=f"GitHub Actions: permissions: id-token: write; GitLab: id_tokens: {_GITLAB}: aud: {client.url}",
        )  # fmt: skip
    # A token that is stored for the registry has no part in the exchange.
    anonymous = replace(client, token="", cache=None)
    try:
        text = client.environment.get(_GITLAB) or _ask_github(client.environment, audience=client.url)
        answer = anonymous.exchange_job_token(text, namespace=namespace, package=package)
    except UnavailableError as error:
        raise UnavailableError(f"trusted publishing failed: {error}", hint=error.hint, retryable=error.retryable) from error
    except MetierError as error:
        raise RefusedError(
            f"trusted publishing failed: {error}", rule="trusted-publisher",
            hint="compare the job with `metier registry trusted-publisher list NAMESPACE`",
        ) from error  # fmt: skip
    return replace(client, token=str(answer.get("token", "")), cache=None)


def _ask_github(environment: Mapping[str, str], *, audience: str) -> str:
    import httpx2

    url, secret = (environment[name] for name in _GITHUB)
    parts = urlsplit(url)
    is_local = parts.hostname in _LOOPBACK
    if parts.scheme != "https" and not is_local:
        raise UnavailableError(f"{_GITHUB[0]} is not an https address", hint="run it in GitHub Actions", retryable=False)
    try:
        with httpx2.Client(timeout=_SECONDS, follow_redirects=False, trust_env=not is_local) as http:
            wanted = httpx2.URL(url).copy_merge_params({"audience": audience})
            reply = http.get(wanted, headers={"authorization": f"Bearer {secret}", "accept": "application/json"})
        value = reply.json() if reply.is_success else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        why = connection_problem(error)
        raise UnavailableError(f"GitHub sends no ID token: {why}", hint="run the job again") from error
    if not isinstance(value, dict) or not isinstance(value.get("value"), str):
        raise UnavailableError(
            f"GitHub sends no ID token: status {reply.status_code}", hint="check permissions: id-token: write"
        )
    return str(value["value"])
