"""The user's logins to container registries, as `docker login`, `podman login` and `oras login` write them.

Only entries of `auths` are read. A credential helper (`credsStore`, `credHelpers`) is a program, and none is run.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterator, Mapping

from metier.errors import MetierError
from metier.sources import open_regular

__all__ = ["docker_login"]

_LARGEST = 1024 * 1024
# The key under which programs store the login to Docker Hub.
_HUB = ("index.docker.io/v1", "index.docker.io", "docker.io", "registry-1.docker.io")


def docker_login(host: str, repository: str, environment: Mapping[str, str]) -> str:
    """Returns `Basic …` for a repository; empty if no login is stored. The longest matching entry of the first file wins."""
    hosts = _HUB if host in ("docker.io", "index.docker.io", "registry-1.docker.io") else (host,)
    for path in _files(environment):
        for place in _places(hosts, repository):
            if secret := _auths(path).get(place):
                return f"Basic {secret}"
    return ""


def _files(environment: Mapping[str, str]) -> Iterator[str]:
    if named := environment.get("REGISTRY_AUTH_FILE"):
        yield named
        return
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        yield os.path.join(runtime, "containers", "auth.json")
    home = environment.get("HOME", "")
    folder = environment.get("DOCKER_CONFIG") or (os.path.join(home, ".docker") if home else "")
    if folder:
        yield os.path.join(folder, "config.json")


def _places(hosts: tuple[str, ...], repository: str) -> Iterator[str]:
    """Yields the keys to look for: podman also stores logins for a part of a registry."""
    parts = repository.split("/")
    for host in hosts:
        yield from ("/".join((host, *parts[:count])) for count in range(len(parts), -1, -1))


def _auths(path: str) -> dict[str, str]:
    """Returns `user:password` in base64 by place; empty for a file that is missing or not readable."""
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            tables = json.loads(stream.read(_LARGEST)).get("auths", {})
        rows = {str(place): row.get("auth") for place, row in tables.items() if isinstance(row, dict)}
    except (OSError, MetierError, ValueError, AttributeError, RecursionError):
        return {}
    return {_place(place): secret for place, secret in rows.items() if isinstance(secret, str) and _is_basic(secret)}


def _place(text: str) -> str:
    return text.partition("://")[2].rstrip("/") if "://" in text else text.rstrip("/")


def _is_basic(text: str) -> bool:
    try:
        return b":" in base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
