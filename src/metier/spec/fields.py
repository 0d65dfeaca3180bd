"""What a skill may be called."""

from __future__ import annotations

import re

from metier.errors import InvalidNameError
from metier.values import dataclass

__all__ = ["MAX_NAME_LENGTH", "SkillName", "is_name"]

MAX_NAME_LENGTH = 64
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def is_name(text: str) -> bool:
    """Lowercase words joined by single hyphens, as every client can read them."""
    # The standard's page says a-z; skills-ref also takes other alphabets. We write what everyone can read.
    return len(text) <= MAX_NAME_LENGTH and _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, order=True)
class SkillName:
    """A name that exists is valid."""

    text: str

    def __post_init__(self) -> None:
        if not is_name(self.text):
            raise InvalidNameError(self.text)

    def __str__(self) -> str:
        return self.text
