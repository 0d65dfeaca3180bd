"""`install.cooldown`: versions that are younger than that are not installed yet.

Most malicious releases are found within days. The age is the one that the source states: a registry's time of publication, the
date of a commit, the Last-Modified of a file. Only the first is out of the author's hands. So a ref that this machine has seen
somewhere else meanwhile counts as younger than that look, whatever date its commit has; and where nothing states an age, the
time at which this machine first saw these bytes counts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from metier.errors import RefusedError, UsageError
from metier.values import dataclass

if TYPE_CHECKING:
    from metier.install.protocols import FetchedSkill

    from .cache import SkillCache

__all__ = ["Cooldown", "read_duration", "utc"]

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    seconds: float
    origin: str = ""
    """The file and line of the setting."""
    now: Callable[[], float] = time.time

    def ends(self, published: float | None) -> float | None:
        """Returns when a version of this age may be installed; None if it may be now."""
        end = (self.now() if published is None else published) + self.seconds
        return end if end > self.now() else None

    def ends_for(self, skill: FetchedSkill, cache: SkillCache | None) -> float | None:
        """The same for a fetched skill. What is on this disk has no age."""
        if skill.origin.kind in ("path", "archive"):
            return None
        published = skill.published
        if published is None and cache:
            key = f"first seen {skill.digest}"
            published = (cache.recall(key) or {}).get("time")
            if published is None:
                cache.remember(key, {"time": self.now()})
        return self.ends(published)

    def refuse(self, name: str, skill: FetchedSkill, end: float) -> RefusedError:
        age = "nothing states its age" if skill.published is None else f"it is from {utc(skill.published)}"
        what = skill.origin.version or skill.origin.commit[:10]
        return RefusedError(
            f"{name}{f' {what}' if what else ''} is too new: {age}, "
            f"and install.cooldown ({self.origin or 'set by the caller'}) holds it back until {utc(end)}",
            rule="cooldown", hint="name an older version, wait, or add --no-cooldown if you know it",
        )  # fmt: skip

    def last_look(self, cache: SkillCache | None, ref: str, version: str) -> tuple[str, float]:
        """Returns the version at which this machine saw the ref before this one, and when it last did. Records this look."""
        if cache is None:
            return "", 0.0
        key = f"sighting {ref}"
        seen = cache.recall(key) or {}
        if seen.get("version") != version:
            seen = {"version": version, "before": seen.get("version", ""), "until": seen.get("time", 0.0)}
        cache.remember(key, {**seen, "time": self.now()})
        return str(seen["before"]), float(seen["until"])


def read_duration(text: str) -> float:
    """Parses `3d`, `12h` or `0`. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,6})([wdhms])", text.strip())
    if not match:
        if text.strip() == "0":
            return 0.0
        raise UsageError(f"{text!r} is not a duration", hint="write 30d, 12h, 45m or 10s")
    return float(int(match[1]) * _UNITS[match[2]])


def utc(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
