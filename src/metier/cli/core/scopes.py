"""The scopes of a token in plain words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["describe_scopes"]

_WORDS = {
    "admin": "administer the registry",
    "publish": "publish in your own namespace",
    "publish:*": "publish in every namespace and read all private skills",
    "read": "read all private skills",
    "yank": "yank versions",
    "review:*": "review uploads of every namespace",
    "metrics": "read the server's metrics",
    "tokens": "create and revoke your own tokens",
}


def describe_scopes(scopes: Sequence[str]) -> str:
    """Returns what the holder of a token can do, as "publish in team and read its private skills, and yank versions"."""
    if "admin" in scopes:
        return f"do everything: publish in every namespace, and {_WORDS['admin']}"
    phrases = [_WORDS.get(scope) or _in_namespace(scope) for scope in scopes]
    return ", and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))


def _in_namespace(scope: str) -> str:
    right, _, namespace = scope.partition(":")
    if right == "publish":
        return f"publish in {namespace} and read its private skills"
    if right == "review":
        return f"review uploads of {namespace}"
    return f"read private skills of {namespace}" if right == "read" else scope
