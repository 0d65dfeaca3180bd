"""The options of this room, as one value. The learnt weights are data; these are choices."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SelectorOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorOptions:
    max_skills: int = 3
    """Activated when the caller sets no limit."""
    candidates: int = 80
    """Taken from the word index and looked at closely."""
    further: int = 400
    """Taken by words alone, behind those, when the caller asks for more."""
    activate: float = 0.5
    """Least fit to load a skill unasked; docs/abstention.svg shows what moving it costs."""
    suggest: float = 0.25
    """Least fit to mention one."""
    meaning: float = 1.6
    """Log-odds that a sentence model adds at most for three times the usual spread; between 1.2 and 2.4 nothing changes."""
    keyword: float = 0.6
    """How sure one trigger keyword alone makes us."""
    verb: float = 1.8
    """Log-odds added by a trigger verb: a verb alone suggests a skill at most."""
    phrase: float = 0.85
    """A trigger keyword of several words, found whole."""
    pattern: float = 0.7
    recent: float = 0.7
    """Log-odds added to a skill used earlier in this session."""
    rejected: int = 3
    """Also-rans kept in the answer."""
