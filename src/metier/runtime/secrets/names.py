"""Names of secrets: those that an environment variable can have, and those that look like keys."""

from __future__ import annotations

import re

from metier.errors import UsageError

__all__ = ["check_secret_name", "is_secret_name"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SECRET = re.compile(
    r"(?:.*_)?(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?|APIKEY|PAT|AUTH)(?:_ID|_BASE64|_JSON)?", re.IGNORECASE
)


def check_secret_name(name: str) -> str:
    """Returns the name, or raises UsageError if no environment variable can have it."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is not a name for a secret", hint="use letters, digits and _, as for an environment variable"
        )
    return name


def is_secret_name(name: str) -> bool:
    return _SECRET.fullmatch(name) is not None
