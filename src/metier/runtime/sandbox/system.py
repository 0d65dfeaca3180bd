"""The parts of the system that every script may read, and the environment that it gets. Nothing else of either."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from metier.errors import RefusedError

__all__ = ["DEVICES", "PATH", "environment", "readable", "system_links"]

PATH = "/usr/local/bin:/usr/bin:/bin"
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/opt/homebrew")
# Libraries are found through the cache, commands through alternatives, times through localtime. Each costs a mount.
_SETTINGS = (
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/ssl/cert.pem", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates/extracted",
)  # fmt: skip
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/host.conf", "/etc/gai.conf")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Each of these would run or load something, or say who the caller is, before the script's first line.
_NEVER = re.compile(
    r"(?:LD_|DYLD_|PYTHON|GIT_|DBUS_|BASH_FUNC_).*|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|SSH_AUTH_SOCK|PERL5(?:LIB|OPT)"
    r"|RUBY(?:OPT|LIB)|SHELLOPTS|BASHOPTS|PS4|IFS|CDPATH|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|PATH|HOME|TMPDIR|SKILL_DIR"
)
_SECRET = re.compile(r"(?:.*_)?(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)", re.IGNORECASE)


def readable(*, network: bool) -> tuple[str, ...]:
    """What is there of it, links as links: on most systems /bin is one into /usr."""
    wanted = (*_PROGRAMS, *_SETTINGS, *(_NETWORK if network else ()))
    return tuple(path for path in wanted if os.path.lexists(path))


def system_links(paths: Iterable[str]) -> dict[str, str]:
    """Of these paths the top-level ones that are links, and where they lead: a new root has to have them too."""
    return {path: os.readlink(path) for path in paths if path.count("/") == 1 and os.path.islink(path)}


def environment(
    *, scratch: str, skill: str, allowed: Mapping[str, str], secrets: Mapping[str, str], zone: str | None
) -> dict[str, str]:
    """All variables of the script. `allowed` are those that the user named, `secrets` those that were named as secrets."""
    for name, value in (*allowed.items(), *secrets.items()):
        if not _NAME.fullmatch(name) or "\0" in value:
            raise RefusedError(
                f"{name!r} cannot be a variable of a script", rule="environment", hint="use letters, digits and _"
            )
        if _NEVER.fullmatch(name.upper()):
            raise RefusedError(f"a script never gets the variable {name}", rule="environment",
                          hint="it changes how programs start; pass what you need as an argument")  # fmt: skip
    for name in allowed:
        if _SECRET.fullmatch(name):
            raise RefusedError(f"{name} looks like a secret", rule="environment",
                          hint="allow it for this skill by name, as a secret")  # fmt: skip
    clean = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": scratch, "TMPDIR": scratch, "SKILL_DIR": skill}
    if zone and re.fullmatch(r"[A-Za-z0-9_+\-/]{1,64}", zone) and ".." not in zone:
        clean["TZ"] = zone
    return {**clean, **allowed, **secrets}
