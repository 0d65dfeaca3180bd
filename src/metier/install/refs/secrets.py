"""Secrets in addresses. An address ends up in locks, caches and messages, so one with a secret is refused."""

from __future__ import annotations

import re
from urllib.parse import unquote

from metier.errors import RefusedError

__all__ = ["mask_secrets", "refuse_secrets"]

_NAME = re.compile(
    r"(?:.*[_-])?(?:token|secret|passw(?:or)?d|passwd|pwd|api[_-]?key|access[_-]?key|auth|authorization|signature|credentials?|jwt|session(?:id)?)"
    r"|sig|apikey|authtoken|accesstoken|awsaccesskeyid|bearer",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?:gh[pousr]_|github_pat_|glpat-|xox[abpr]-|sk-|AKIA|eyJ)[A-Za-z0-9_.-]{12,}")
_USER = re.compile(r"(?<=//)[^/?#@]*@|^[^/?#@:]+:[^/?#@]+@")
_QUERY = re.compile(r"\?[^#\s]*")


def refuse_secrets(host: str, user: str, query: str) -> None:
    """Raises RefusedError if the user part or a parameter of the query is a secret. The message does not contain it."""
    for part in re.split(r"[&;]", query):
        name, _, value = part.partition("=")
        if value and (_NAME.fullmatch(unquote(name)) or _VALUE.search(unquote(value))):
            raise _refused(f"the URL of {host} has a secret in its query (?{unquote(name)}=…)")
    if _VALUE.match(user):
        raise _refused(f"the URL of {host} has a token as its user name")


def mask_secrets(text: str) -> str:
    """Returns a ref that cannot be parsed without what may be a secret in it, for a message."""
    return _QUERY.sub("?…", _USER.sub("…@", text))


def _refused(message: str) -> RefusedError:
    return RefusedError(
        message, rule="secret-in-url",
        hint='send it as a header, also to update it: --header "Authorization: Bearer …", or auth in [skills.sources.NAME]; '
        "or download the file and install that",
    )  # fmt: skip
