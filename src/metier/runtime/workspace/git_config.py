"""The configuration of a git repository as a script sees it: enough to read the repository, without tokens or programs."""

from __future__ import annotations

import re

__all__ = ["clean_git_config"]

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+("(?:[^"\\]|\\.)*"))?\s*\]\s*(.*)')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_KEPT = {
    "core": frozenset({
        "repositoryformatversion", "filemode", "bare", "ignorecase", "symlinks", "precomposeunicode", "autocrlf", "eol",
        "logallrefupdates", "quotepath", "safecrlf",
    }),
    "extensions": frozenset({"objectformat", "refstorage", "noop", "compatobjectformat"}),
    "remote": frozenset({"url", "fetch"}),
    "branch": frozenset({"remote", "merge", "rebase"}),
    "user": frozenset({"name", "email"}),
    "submodule": frozenset({"url", "active"}),
}  # fmt: skip
_USER = re.compile(r"([a-z][a-z0-9+.-]*://)[^/@\s]*@", re.IGNORECASE)
_QUERY = re.compile(r"([?&#]).*")


def clean_git_config(text: str) -> str:
    """Keeps the listed keys only. User names, passwords and queries are removed from addresses."""
    lines: list[str] = []
    section, is_continued = "", False
    for line in text.splitlines():
        was_continued, is_continued = is_continued, line.endswith("\\")
        if was_continued or is_continued:
            continue
        if found := _SECTION.fullmatch(line):
            section = found[1].lower()
            lines.append(f"[{found[1]} {found[2]}]" if found[2] else f"[{found[1]}]") if section in _KEPT else None
            line = found[3]
        key = _KEY.fullmatch(line)
        if key and section in _KEPT and key[1].lower() in _KEPT[section]:
            lines.append(f"\t{key[1]}" + (f" = {_without_secrets(key[2])}" if key[2] is not None else ""))
    return "\n".join([*lines, ""])


def _without_secrets(value: str) -> str:
    return _QUERY.sub("", _USER.sub(r"\1", value)) if "://" in value else value
