"""The file names that a skill may have: those that mean the same file on every system.

A skill travels. `aux.md` cannot exist on Windows, `é` is two files on Linux and one on a Mac, `SKILL.md` and `skill.md`
are one file on both. Otherwise an installed skill could differ from the reviewed one. So a name that is not the same everywhere
is refused on all systems, and names are stored in the composed form of Unicode (NFC).
"""

from __future__ import annotations

import re
import unicodedata

from metier.spec import resource_path

from .limits import SKILL_LIMITS, ArchiveLimits, archive_error

__all__ = ["collision_key", "portable_path"]

_DEVICES = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.[^/]*)?", re.IGNORECASE)
# Windows forbids these, and a colon opens an alternate data stream.
_FORBIDDEN = re.compile(r'[<>:"|?*]')
# `git~1` is what NTFS may call `.git`; HFS+ ignores some characters inside it, which the format check below refuses.
_GIT = re.compile(r"\.git|git~[0-9]+", re.IGNORECASE)


def portable_path(text: str, limits: ArchiveLimits = SKILL_LIMITS) -> str:
    """Returns the path in composed form. Raises RefusedError if it does not name the same file on every system."""
    if not text.isascii():
        if any(unicodedata.category(character) in ("Cf", "Cc", "Zl", "Zp", "Cs", "Co") for character in text):
            raise archive_error("path", f"{_display(text)} has an invisible character")
        text = unicodedata.normalize("NFC", text)
    if resource_path(text) != text:
        raise archive_error("path", f"{_display(text)} is not a normalized path: it has `.`, `//` or a trailing `/`")
    if len(text.encode()) > limits.path:
        raise archive_error("path", f"{_display(text)} is longer than {limits.path} bytes")
    parts = text.split("/")
    if len(parts) > limits.depth:
        raise archive_error("depth", f"{_display(text)} is more than {limits.depth} folders deep")
    for part in parts:
        _check_part(part, text)
    return text


def collision_key(path: str) -> str:
    """Returns a key that is equal for two paths if they are one file on some system."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def _check_part(part: str, path: str) -> None:
    if _FORBIDDEN.search(part) or part[-1] in ". " or part[0] == " ":
        raise archive_error("path", f"{_display(path)} cannot be a file on Windows")
    if _DEVICES.fullmatch(part):
        raise archive_error("path", f"{_display(path)} is a device on Windows")
    if _GIT.fullmatch(part):
        raise archive_error("path", f"{_display(path)} is a git repository inside the skill")


def _display(text: str) -> str:
    return ascii(text if len(text) <= 80 else text[:79] + "…")
