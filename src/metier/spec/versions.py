"""Semantic Versioning 2.0.0, and version ranges in the notation of npm (`^1.2`, `~1.2.3`, `1.x`).

A range is a list of alternatives (`||`), each a list of bounds that must all hold. A pre-release (`2.0.0-rc.1`) satisfies only
a bound that names a pre-release of the same version: `>=1.0` does not ask for pre-releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import total_ordering

from metier.errors import UsageError
from metier.values import dataclass

__all__ = ["Version", "VersionRange", "is_version", "newest_version"]

# Fifteen digits are enough for any version, and keep parsing cheap.
_NUMBER = r"(?:0|[1-9][0-9]{0,14})"
_WORD = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_TAIL = rf"(?:-(?P<pre>{_WORD}(?:\.{_WORD})*))?(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
_VERSION = re.compile(rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER}){_TAIL}")
_PART = rf"(?:{_NUMBER}|[xX*])"
_BOUND = re.compile(
    rf"(?P<sign>\^|~>?|>=|<=|>|<|=)?[ ]*v?(?P<major>{_PART})(?:\.(?P<minor>{_PART})(?:\.(?P<patch>{_PART}){_TAIL})?)?"
)
_BETWEEN = re.compile(r"(\S+) +- +(\S+)")
_SIGN = re.compile(r"(\^|~>?|[<>]=?|=) +")
_LONGEST = 128


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version, ordered by precedence. The build after `+` distinguishes versions but does not order them."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()
    build: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        if len(text) > _LONGEST or not (found := _VERSION.fullmatch(text)):
            raise UsageError(f"{text[:_LONGEST]!r} is not a version", hint="use three numbers, such as 1.2.3 or 2.0.0-rc.1")
        return cls(int(found["major"]), int(found["minor"]), int(found["patch"]), *_tail(found))

    def __str__(self) -> str:
        pre, build = f"-{'.'.join(self.pre)}" if self.pre else "", f"+{self.build}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}{build}"

    def __lt__(self, other: Version) -> bool:
        return self._precedence < other._precedence

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._precedence == other._precedence and self.build == other.build

    def __hash__(self) -> int:
        return hash((self._precedence, self.build))

    @property
    def release(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    @property
    def next_patch(self) -> Version:
        """The smallest release above this one."""
        return Version(self.major, self.minor, self.patch if self.pre else self.patch + 1)

    @property
    def _precedence(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        # Numbers come before words, and `1.0.0-rc` before `1.0.0`.
        words = tuple((False, int(word), "") if word.isdigit() else (True, 0, word) for word in self.pre)
        return self.release, not self.pre, words


@dataclass(frozen=True, slots=True)
class VersionRange:
    """`version in Range.parse("^1.2")`."""

    text: str
    alternatives: tuple[tuple[tuple[str, Version], ...], ...]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        if len(text) > _LONGEST:
            raise _bad(text)
        return cls(text, tuple(_bounds(each.strip(), text) for each in text.split("||")))

    def __str__(self) -> str:
        return self.text

    def __contains__(self, version: Version) -> bool:
        return any(_fits(version, bounds) for bounds in self.alternatives)

    def best(self, versions: Iterable[Version]) -> Version | None:
        """Returns the newest version in the range."""
        return max((version for version in versions if version in self), default=None)


def is_version(text: str) -> bool:
    return len(text) <= _LONGEST and _VERSION.fullmatch(text) is not None


def newest_version(versions: Iterable[Version]) -> Version | None:
    """Returns the newest release; the newest pre-release only if there is no release."""
    return max(versions, key=lambda version: (not version.pre, version), default=None)


def _fits(version: Version, bounds: tuple[tuple[str, Version], ...]) -> bool:
    if version.pre and not any(bound.pre and bound.release == version.release for _, bound in bounds):
        return False
    return all(_holds(version, sign, bound) for sign, bound in bounds)


def _holds(version: Version, sign: str, bound: Version) -> bool:
    match sign:
        case "<":
            return version < bound
        case ">":
            return bound < version
        case "<=":
            return not bound < version
        case ">=":
            return not version < bound
        case _:
            # Builds are compared only if the bound names one.
            return version == bound if bound.build else not (version < bound or bound < version)


def _bounds(text: str, whole: str) -> tuple[tuple[str, Version], ...]:
    if between := _BETWEEN.fullmatch(text):
        text = f">={between[1]} <={between[2]}"
    words = _SIGN.sub(r"\1", text).split()
    found = [_BOUND.fullmatch(word) for word in words or ["*"]]
    return tuple(bound for match in found for bound in _bound(match, whole))


def _bound(found: re.Match[str] | None, whole: str) -> tuple[tuple[str, Version], ...]:
    """Returns one comparison as plain bounds: an open part becomes a lowest version and the first that is too high."""
    if found is None:
        raise _bad(whole)
    numbers = [None if part is None or part in "xX*" else int(part) for part in found.group("major", "minor", "patch")]
    given = next((place for place, number in enumerate(numbers) if number is None), 3)
    if any(number is not None for number in numbers[given:]):
        raise _bad(whole)
    major, minor, patch = (number or 0 for number in numbers)
    low = Version(major, minor, patch, *_tail(found))
    sign = found["sign"] or "="
    if given == 0:
        # Nothing satisfies `>*` and `<*`.
        return (("<", _first(0, 0, 0)),) if sign in "<>" else ((">=", low),)
    if sign == "^":
        width = next((place for place in range(given) if numbers[place]), given - 1)
        return (">=", low), ("<", _above(low, width))
    if sign in ("~", "~>"):
        return (">=", low), ("<", _above(low, min(given - 1, 1)))
    if given == 3:
        return ((sign, low),)
    return {
        "=": ((">=", low), ("<", _above(low, given - 1))),
        ">": ((">=", _above(low, given - 1, pre=())),),
        ">=": ((">=", low),),
        "<": (("<", _first(*low.release)),),
        "<=": (("<", _above(low, given - 1)),),
    }[sign]


def _above(low: Version, place: int, *, pre: tuple[str, ...] = ("0",)) -> Version:
    """Returns the first version with a higher number at this place; the pre-release `-0` precedes all others."""
    major, minor, patch = [*low.release[:place], low.release[place] + 1, 0, 0][:3]
    return Version(major, minor, patch, pre)


def _first(major: int, minor: int, patch: int) -> Version:
    return Version(major, minor, patch, ("0",))


def _tail(found: re.Match[str]) -> tuple[tuple[str, ...], str]:
    return tuple(found["pre"].split(".")) if found["pre"] else (), found["build"] or ""


def _bad(text: str) -> UsageError:
    return UsageError(f"{text[:_LONGEST]!r} is not a version range", hint="use 1.2.3, ^1.2, ~1.2.3, 1.x or >=1.0 <2.0")
