"""Allowed and denied sources: `install.allow_sources` and `install.deny_sources`. Pure.

A pattern is `path` for what is on this disk, `*` for everything, or a host with an optional path: `github.com`,
`*.example.com`, `github.com/acme/*`, `https://registry.example.com/skills`. A path covers what is below it; `*` and `?` stay
within one segment. Upper and lower case are the same, because forges treat them so. A deny wins. Of several allow lists, the
administrator's and the user's, each must have a match.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from metier.errors import RefusedError
from metier.values import dataclass

__all__ = ["LOCAL", "SourceList", "SourceRules", "is_below", "is_source_pattern"]

LOCAL = "path"
"""The name of every source on this disk."""
_SCP = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceList:
    patterns: tuple[str, ...]
    origin: str
    """The file and line that it is from, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRules:
    allow: tuple[SourceList, ...] = ()
    deny: tuple[SourceList, ...] = ()

    def check(self, url: str, *, is_linked: bool = False) -> None:
        """Raises RefusedError if this source must not be used. An empty URL is a source on this disk.

        A URL that a source redirects or links to is compared with the allow lists by its host only: the path of a download is
        the server's own business.
        """
        source = _Source.of(url)
        for rules in self.deny:
            for pattern in rules.patterns:
                if source.matches(pattern):
                    raise _refused(source, f"install.deny_sources has {pattern!r}", "source-denied", rules)
        for rules in self.allow:
            if not any(source.matches(pattern, host_only=is_linked) for pattern in rules.patterns):
                raise _refused(source, "install.allow_sources does not have it", "source-not-allowed", rules)


def is_source_pattern(text: str) -> bool:
    return bool(re.fullmatch(r"(?:[a-z]+://)?(?:[^\s/?#@:\[\]]+|\[[0-9a-f:.]+\])(?::\d+)?(?:/[^\s?#]*)?", text))


def is_below(url: str, base: str) -> bool:
    """Returns whether a URL is below another, or the same, whatever their schemes. `/v2` of an OCI registry does not count."""
    source, top = _Source.of(url), _Source.of(base)
    parts = top.parts[1:] if source.scheme == "oci" and top.parts[:1] == ("v2",) else top.parts
    is_same_port = source.scheme == "ssh" or _port(source) == _port(top)
    return bool(top.host) and source.host == top.host and is_same_port and source.parts[: len(parts)] == parts


def _port(source: _Source) -> str:
    return "" if source.port in ("80", "443") else source.port


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    scheme: str
    host: str
    """Empty for what is on this disk."""
    port: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, url: str) -> _Source:
        if not url or url.startswith("file:"):
            return cls(scheme="", host="", port="", parts=())
        if "://" in url:
            split = urlsplit(url)
            return cls(
                scheme=split.scheme.lower(), host=(split.hostname or "").rstrip("."), port=str(split.port or ""),
                parts=_parts(split.path),
            )  # fmt: skip
        scp = _SCP.fullmatch(url)
        # A path on this disk, as a lock holds it.
        if scp is None or url.startswith((".", "/")):
            return cls(scheme="", host="", port="", parts=())
        return cls(scheme="ssh", host=scp["host"].lower(), port="", parts=_parts(scp["path"]))

    @property
    def text(self) -> str:
        return "/".join((self.host + (f":{self.port}" if self.port else ""), *self.parts))

    def matches(self, pattern: str, *, host_only: bool = False) -> bool:
        if pattern in ("*", LOCAL):
            return pattern == "*" or not self.host
        scheme, _, rest = pattern.rpartition("://")
        host, _, path = rest.partition("/")
        name = f"{self.host}:{self.port}" if ":" in host.rpartition("]")[2] else self.host
        if not self.host or (scheme and scheme.lower() != self.scheme) or not fnmatchcase(name, host.lower().strip("[]")):
            return False
        wanted = _parts(path)
        if host_only:
            return True
        return len(wanted) <= len(self.parts) and all(map(fnmatchcase, self.parts, wanted))


def _parts(path: str) -> tuple[str, ...]:
    parts: list[str] = []
    for part in unquote(path).lower().split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return tuple(part.removesuffix(".git") for part in parts)


def _refused(source: _Source, why: str, rule: str, rules: SourceList) -> RefusedError:
    what = "sources on this disk" if not source.host else source.text
    return RefusedError(f"{what} must not be used: {why} ({rules.origin})", rule=rule,
                        hint="use another source, or have that file changed")  # fmt: skip
