"""The hosts and secrets of one run: what the caller names, and what the skill declares and the user grants.

Hosts and secrets that the caller names must be granted, or the run is refused. Those that the skill declares are asked for; a
run goes on without the ones that are not granted, and its outcome says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metier.errors import NotFoundError, RefusedError
from metier.runtime import events
from metier.runtime.network.connections import MaskedSecret
from metier.runtime.policy.grants import NETWORK, SECRET, secret_argument
from metier.runtime.policy.patterns import ToolRequest
from metier.runtime.policy.permissions import PolicyVerdict, Requester
from metier.runtime.secrets.names import check_secret_name
from metier.runtime.secrets.needs import needed_variables
from metier.runtime.secrets.stored_secret import StoredSecret
from metier.spec import Skill, parse_host
from metier.values import dataclass, field

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["RunGrants", "authorise", "authorise_host", "find_grants"]


@dataclass(slots=True, kw_only=True)
class RunGrants:
    hosts: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    masked: list[MaskedSecret] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_host(self, host: str) -> None:
        if host not in self.hosts:
            self.hosts.append(host)


def find_grants(
    session: Session,
    skill: Skill,
    requester: Requester,
    *,
    hosts: tuple[str, ...],
    secrets: tuple[str, ...],
    words: tuple[str, ...],
) -> RunGrants:
    """Returns what the run gets. `words` is its command line, for the questions."""
    grants = RunGrants()
    for host in hosts:
        grants.add_host(authorise_host(session, host, requester, words=words))
    named = tuple(map(parse_host, hosts))
    for host in skill.manifest.extensions.network:
        # A host that the caller names, with a port or without, is decided.
        if not any(pattern.covers_pattern(parse_host(host)) for pattern in named):
            request = ToolRequest(tool=NETWORK, argument=host, words=words)
            if _is_granted(session, request, requester, grants):
                grants.add_host(host)
    for name, is_named in _variables(session, skill, secrets):
        _add_secret(session, requester, grants, name, is_named=is_named, words=words)
    return grants


def authorise_host(session: Session, host: str, requester: Requester, *, words: tuple[str, ...]) -> str:
    """Returns the host as it is granted, or raises RefusedError."""
    pattern = str(parse_host(host))
    authorise(session, ToolRequest(tool=NETWORK, argument=pattern, words=words), requester)
    return pattern


def authorise(session: Session, request: ToolRequest, requester: Requester) -> None:
    """Raises RefusedError, and emits it, unless the user's policy or the user allows the request."""
    try:
        session.services.permissions.authorise(request, requester)
    except RefusedError as refused:
        session.emit(
            events.ActionRefused(
                session=session.id,
                timestamp=session.services.clock(),
                name=requester.name,
                what=str(request),
                rule=refused.rule,
                reason=f"{refused}; {refused.hint}",
            )
        )
        raise


def _is_granted(session: Session, request: ToolRequest, requester: Requester, grants: RunGrants) -> bool:
    question = (requester.name, str(request))
    if question in session.declined:
        grants.notes.append(f"{request} was not granted")
        return False
    try:
        authorise(session, request, requester)
    except RefusedError as refused:
        session.declined.add(question)
        grants.notes.append(f"without {request}: {refused}; {refused.hint}")
        return False
    return True


def _variables(session: Session, skill: Skill, secrets: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Yields names of variables, and whether the caller named them. The caller's environment needs no secret."""
    yield from ((check_secret_name(name), True) for name in secrets)
    if session.services.secrets is not None:
        for needed in needed_variables(skill):
            if needed.name not in secrets and needed.name not in session.options.environment:
                yield needed.name, False


def _add_secret(
    session: Session, requester: Requester, grants: RunGrants, name: str, *, is_named: bool, words: tuple[str, ...]
) -> None:
    source = session.services.secrets
    secret = source.find(requester.name, name) if source else None
    if source is None or secret is None:
        hint = f"run `metier secret set {name} --skill {requester.name}`"
        if is_named:
            raise NotFoundError(f"no secret is named {name}", hint=hint)
        grants.notes.append(f"{name} is not set; {hint}")
        return
    hosts = () if secret.in_clear else secret.hosts or tuple(grants.hosts)
    request = ToolRequest(tool=SECRET, argument=secret_argument(name, hosts), words=words)
    if is_named:
        authorise(session, request, requester)
    elif not _is_granted(session, request, requester, grants):
        return
    _give(session, requester, grants, secret, hosts, source.value(secret))


def _give(
    session: Session, requester: Requester, grants: RunGrants, secret: StoredSecret, hosts: tuple[str, ...], value: str
) -> None:
    if not hosts:
        grants.secrets[secret.name] = value
        return
    for host in hosts:
        # The user has granted the secret for this host; only a policy against the host still counts.
        decision = session.services.permissions.decide(ToolRequest(tool=NETWORK, argument=host), requester)
        if decision.verdict is PolicyVerdict.DENY:
            grants.notes.append(f"without {secret.name}: {decision.rule}")
            return
    for host in hosts:
        grants.add_host(host)
    grants.masked.append(MaskedSecret(name=secret.name, value=value, hosts=hosts, places=secret.places))
