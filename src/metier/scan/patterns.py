"""Regular expressions that are compiled when they are first used.

The rules have hundreds, and compiling them all takes longer than reading most skills: an ordinary skill needs few of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

__all__ = ["lazy_pattern"]


def lazy_pattern(spelled: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but later."""
    # Cast: it has all that a compiled one has, once it is asked for it.
    return cast("re.Pattern[str]", _Expression(spelled, flags))


class _Expression:
    def __init__(self, spelled: str, flags: int) -> None:
        self.spelled, self.wanted = spelled, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.spelled, self.wanted)

    def __getattr__(self, name: str) -> Any:  # Any: whatever a compiled one has of that name
        found = getattr(self.compiled, name)
        # So that the next time it is found at once.
        setattr(self, name, found)
        return found
