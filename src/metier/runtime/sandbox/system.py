"""The system paths that every script may read, and its environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from metier.errors import RefusedError
from metier.runtime.secrets.names import is_secret_name

__all__ = ["DEVICES", "PATH", "environment", "masked", "readable", "system_links"]

PATH = "/usr/local/bin:/usr/bin:/bin"
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/opt/homebrew")
# For finding libraries, commands, time zones, fonts and certificates. Each path costs a mount.
_SETTINGS = (
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/fonts", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/ssl/cert.pem", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates/extracted",
    # Debian's Python links its sitecustomize there.
    "/etc/python3.11", "/etc/python3.12", "/etc/python3.13", "/etc/python3.14",
)  # fmt: skip
# Tables of the kernel: other users' keys, addresses, and the state of all processes. Most are readable for root only.
_TABLES = (
    "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
    "/proc/latency_stats", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo", "/proc/kpagecount", "/proc/kpageflags",
    "/proc/kpagecgroup",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Each of these loads code or reveals the caller before the first line of the script runs.
_FORBIDDEN = re.compile(
    r"(?:LD_|DYLD_|PYTHON|GIT_|DBUS_|BASH_FUNC_).*|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|SSH_AUTH_SOCK|PERL5(?:LIB|OPT)"
    r"|RUBY(?:OPT|LIB)|SHELLOPTS|BASHOPTS|PS4|IFS|CDPATH|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|PATH|HOME|TMPDIR|SKILL_DIR"
)


def readable() -> tuple[str, ...]:
    """Returns the existing paths, links unresolved: on most systems /bin is a link into /usr."""
    return tuple(path for path in (*_PROGRAMS, *_SETTINGS) if os.path.lexists(path))


def masked() -> tuple[str, ...]:
    """Returns the files of /proc that this user can read and that no script needs."""
    return tuple(path for path in _TABLES if os.access(path, os.R_OK))


def system_links(paths: Iterable[str]) -> dict[str, str]:
    """Returns the top-level paths that are links, with their targets: a new root needs them too."""
    return {path: os.readlink(path) for path in paths if path.count("/") == 1 and os.path.islink(path)}


def environment(
    *, scratch: str, skill: str, allowed: Mapping[str, str], secrets: Mapping[str, str], zone: str | None
) -> dict[str, str]:
    """Returns all variables of the script. The user has named those in `allowed`, and in `secrets` as secrets."""
    for name, value in (*allowed.items(), *secrets.items()):
        if not _NAME.fullmatch(name) or "\0" in value:
            raise RefusedError(f"{name!r} is not a valid variable name", rule="environment", hint="use letters, digits and _")
        if _FORBIDDEN.fullmatch(name.upper()):
            raise RefusedError(f"scripts cannot get the variable {name}", rule="environment",
                          hint="it changes how programs start; pass the value as an argument")  # fmt: skip
    for name in allowed:
        if is_secret_name(name):
            raise RefusedError(f"{name} looks like a secret", rule="environment",
                          hint=f"run `metier secret set {name}`; in Python, pass it in ScriptRun.secrets")  # fmt: skip
    clean = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": scratch, "TMPDIR": scratch}
    if skill:
        clean["SKILL_DIR"] = skill
    # For a Python that the script starts: it neither reads nor writes bytecode in the skill.
    clean["PYTHONPYCACHEPREFIX"] = f"{scratch}/.pycache"
    if zone and re.fullmatch(r"[A-Za-z0-9_+\-/]{1,64}", zone) and ".." not in zone:
        clean["TZ"] = zone
    return {**clean, **allowed, **secrets}
