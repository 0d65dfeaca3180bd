"""Parses what a user types to name a skill. Pure: nothing is looked up on disk or on the network.

The first form that fits wins: path, URL, `prefix:rest`, `user@host:path`, archive file, `owner/repo`, name. Host names are
compared whole. Where a URL is ambiguous (branch `feature` and folder `x`, or branch `feature/x`?), the ref keeps every reading
in `GitRef.candidates`, and the remote decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote

from metier.errors import RefusedError, SkillNotFoundError, UsageError
from metier.spec import is_name

from .ref_types import (
    ARCHIVE_ENDINGS,
    FORMS,
    REPOSITORY,
    ArchiveFile,
    GitRef,
    HttpArchive,
    HttpSkillFile,
    LocalName,
    LocalPath,
    OciRef,
    Ref,
    RegistryRef,
    WellKnown,
    git_ref,
    github,
    inner_path,
    is_commit,
    is_git_ref,
    split_fragment,
    unknown_form,
)
from .secrets import mask_secrets

__all__ = [
    "FORMS",
    "ArchiveFile",
    "GitRef",
    "HttpArchive",
    "HttpSkillFile",
    "LocalName",
    "LocalPath",
    "OciRef",
    "Ref",
    "RegistryRef",
    "WellKnown",
    "is_commit",
    "is_git_ref",
    "parse_ref",
]

_LONGEST = 2048
_SCHEMES = ("https", "http", "ssh", "git", "file", "oci")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+(?::[0-9]{{1,5}})?")
_SCP = re.compile(rf"(?P<user>[A-Za-z0-9_][\w.-]*)@(?P<host>{_LABEL}(?:\.{_LABEL})*):(?P<path>[\w./~+-]+)")
_OWNER = r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*"
_OWNED = re.compile(rf"(?:@?(?P<owner>{_OWNER})/)?(?P<name>[^@/]+)(?:@(?P<version>.*))?", re.DOTALL)
# An `@` at the start of a folder's name, as in npm scopes, is part of the name.
_AT = re.compile(r"(?P<left>.*?[^/])@(?P<right>.+)")


def parse_ref(text: str, *, aliases: Collection[str] = ("r9s", "clawhub"), github_host: str = "github.com") -> Ref:
    """Parses a ref. Raises SkillNotFoundError, UsageError for an address that cannot be fetched, or RefusedError for a ref
    that leaves its folder or runs a program.

    `aliases` are the names of the configured registries. `github_host` is the host of `owner/repo`, for GitHub Enterprise.
    """
    typed, text = text, text.strip()
    if not text or len(text) > _LONGEST or not text.isprintable() or text.startswith("-"):
        raise unknown_form(typed)
    if _is_path(text):
        return ArchiveFile(text) if text.lower().endswith(ARCHIVE_ENDINGS) else LocalPath(text)
    if re.match(r"[A-Za-z0-9+.-]+::", text):
        raise RefusedError(
            f"{mask_secrets(text)!r} makes git run a program", rule="git-transport", hint="use https, ssh or git@host:path"
        )
    if found := re.match(r"(?:git\+)?([A-Za-z][A-Za-z0-9+.-]*):(/+)", text):
        _check_scheme(found[1].lower(), found[2])
    if "://" in text:
        # Imported here: most refs are no URLs.
        from .forges import parse_address

        return parse_address(text, github_host=github_host)
    prefix, colon, rest = text.partition(":")
    if colon and re.fullmatch(r"[A-Za-z][\w.-]*", prefix) and not _HOST.match(text):
        return _prefix(prefix, rest, typed, aliases)
    if scp := _SCP.match(text):
        return _scp(text, scp, typed)
    if text.lower().endswith(ARCHIVE_ENDINGS) and "#" not in text:
        return ArchiveFile(text)
    if "/" in text:
        return _shorthand(text, typed, github_host)
    name, at, version = text.partition("@")
    if is_name(name) and (not at or _is_version_or_range(version)):
        return LocalName(name, version or None)
    raise unknown_form(typed)


def _check_scheme(scheme: str, slashes: str) -> None:
    """Raises UsageError for an address that cannot be fetched. The text may hold a secret and is not repeated."""
    if scheme in _SCHEMES and slashes == "/":
        raise UsageError(f"the address has one slash after {scheme}:", hint=f"write {scheme}://")
    if slashes.startswith("//") and scheme not in _SCHEMES:
        raise UsageError(f"skills cannot be fetched over {scheme}://", hint="use an https, ssh or git address, or a folder")


def _is_path(text: str) -> bool:
    return text in (".", "..", "~") or re.match(r"/|\.{1,2}[/\\]|~[\w.-]*/|[A-Za-z]:[/\\](?!/)", text) is not None


def _prefix(prefix: str, rest: str, typed: str, aliases: Collection[str]) -> Ref:
    if prefix in aliases:
        found = _OWNED.fullmatch(rest)
        if (
            not found
            or not is_name(found["name"])
            or (found["version"] is not None and not _is_version_or_range(found["version"]))
        ):
            raise unknown_form(typed)
        owner = (found["owner"] or "").lower()
        return RegistryRef(alias=prefix, name=found["name"], version=found["version"], owner=owner)
    rest, ref, skill = split_fragment(rest, typed)
    if found := _AT.fullmatch(rest):
        rest, ref = found["left"], git_ref(found["right"], typed)
    if prefix == "github":
        return _on_github(rest, "github.com", typed, ref=ref, skill=skill)
    if prefix == "gitlab":
        return _on_gitlab(rest, typed, ref=ref, skill=skill)
    known = ", ".join(sorted({*aliases, "github", "gitlab"}))
    raise SkillNotFoundError(
        mask_secrets(typed), hint=f"unknown source {prefix!r}; known: {known}; see `metier skill install --help`"
    )


def _is_version_or_range(text: str) -> bool:
    """Returns True for a version, a tag such as `beta`, or an npm range."""
    if _VERSION.fullmatch(text):
        return True
    # Imported here: few refs name a registry, and fewer a range.
    from metier.spec import VersionRange

    try:
        return bool(text.strip()) and VersionRange.parse(text) is not None
    except UsageError:
        return False


def _scp(text: str, match: re.Match[str], typed: str) -> GitRef:
    rest, ref, skill = split_fragment(text[match.end("host") + 1 :], typed)
    where, _, inside = rest.partition("//")
    if not re.fullmatch(r"/?[\w.~+-]+(?:/[\w.~+-]+)*", where) or ".." in where.split("/") or where.startswith("-"):
        raise unknown_form(typed)
    host = match["host"].lower()
    url = f"{match['user']}@{host}:{where}"
    return GitRef(host=host, url=url, path=inner_path(unquote(inside), typed), ref=ref, skill=skill)


def _shorthand(text: str, typed: str, github_host: str) -> Ref:
    first = text.split("/", 1)[0]
    if _HOST.fullmatch(first):
        from .forges import parse_without_scheme

        return parse_without_scheme(text, typed, github_host=github_host)
    rest, ref, skill = split_fragment(text, typed)
    if at := _AT.fullmatch(rest):
        rest, right = at["left"], unquote(at["right"])
        # In `owner/repo@x`, x is a skill if it is a valid name; versions, commits and branches with slashes are not.
        if rest.count("/") == 1 and is_name(right) and not is_commit(right):
            skill = skill or right
        else:
            ref = ref or git_ref(at["right"], typed)
    return _on_github(rest, github_host, typed, ref=ref, skill=skill)


def _on_github(rest: str, host: str, typed: str, *, ref: str | None, skill: str | None) -> GitRef:
    parts = rest.rstrip("/").split("/")
    if len(parts) < 2 or "" in parts:
        raise unknown_form(typed)
    host, url = github(parts[0], parts[1], host, typed)
    return GitRef(host=host, url=url, path=inner_path(unquote("/".join(parts[2:])), typed), ref=ref, skill=skill)


def _on_gitlab(rest: str, typed: str, *, ref: str | None, skill: str | None) -> GitRef:
    """GitLab groups nest, so `//` separates the repository from the path."""
    where, _, inside = rest.partition("//")
    groups = where.strip("/").split("/")
    if len(groups) < 2 or not all(REPOSITORY.fullmatch(group) and group.strip(".") for group in groups):
        raise unknown_form(typed)
    url = f"https://gitlab.com/{'/'.join(groups).removesuffix('.git')}.git"
    return GitRef(host="gitlab.com", url=url, path=inner_path(unquote(inside), typed), ref=ref, skill=skill)
