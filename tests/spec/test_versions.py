"""Rows marked * are examples of semver.org or of npm's own documentation of ranges."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.spec.versions import Version, VersionRange, is_version, newest_version

# * semver.org, section 11
ASCENDING = (
    "0.0.1", "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
    "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0-0", "2.0.0", "2.1.0", "2.1.1", "10.0.0",
)  # fmt: skip


def test_versions_are_ordered_by_precedence() -> None:
    parsed = [Version.parse(text) for text in ASCENDING]
    assert all(low < high and not high < low for low, high in pairwise(parsed))


def test_a_build_distinguishes_versions_and_does_not_order_them() -> None:
    one, two = Version.parse("1.0.0+a"), Version.parse("1.0.0+b")
    assert one != two and not one < two and not two < one
    assert {one, two, Version.parse("1.0.0+a")} == {one, two}


@pytest.mark.parametrize(
    "text",
    ["", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.03", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.3\n", " 1.2.3",
     "1.2.x", "١.2.3", "1.2.3-ü", "1" * 16 + ".0.0", "1.0.0-" + "a" * 200],
)  # fmt: skip
def test_an_invalid_version_is_rejected(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(UsageError, match="is not a version"):
        Version.parse(text)


FITS = {
    "1.2.3": ("1.2.3 1.2.3+build", "1.2.4 1.2.2 1.2.3-rc.1"),
    "=1.2.3+a": ("1.2.3+a", "1.2.3 1.2.3+b"),
    "^1.2.3": ("1.2.3 1.9.0", "1.2.2 2.0.0 2.0.0-rc.1 1.3.0-rc.1"),  # *
    "^0.2.3": ("0.2.3 0.2.9", "0.3.0 0.2.2"),  # *
    "^0.0.3": ("0.0.3", "0.0.4 0.0.2"),  # *
    "^1.2.3-beta.2": ("1.2.3-beta.2 1.2.3-beta.4 1.2.3 1.4.0", "1.2.3-beta.1 1.2.4-beta.2"),  # *
    "^0.0.3-beta": ("0.0.3-pr.2 0.0.3", "0.0.3-alpha 0.0.4"),  # *
    "^1.2.x": ("1.2.0 1.9.9", "2.0.0 1.1.9"),  # *
    "^1.2": ("1.2.0 1.9.9", "2.0.0 1.1.9"),
    "^0.0.x": ("0.0.0 0.0.9", "0.1.0"),  # *
    "^0.0": ("0.0.0 0.0.9", "0.1.0"),  # *
    "^1.x": ("1.0.0 1.9.9", "2.0.0 0.9.9"),  # *
    "^0.x": ("0.0.0 0.9.9", "1.0.0"),  # *
    "~1.2.3": ("1.2.3 1.2.9", "1.3.0 1.2.2"),  # *
    "~1.2": ("1.2.0 1.2.9", "1.3.0"),  # *
    "~1": ("1.0.0 1.9.9", "2.0.0"),  # *
    "~0.2.3": ("0.2.3 0.2.9", "0.3.0"),  # *
    "~1.2.3-beta.2": ("1.2.3-beta.2 1.2.9", "1.2.4-beta.2 1.3.0"),  # *
    "~> 1.2": ("1.2.5", "1.3.0"),
    "*": ("0.0.0 9.9.9", "1.0.0-rc.1"),  # *
    "": ("0.0.0 9.9.9", "1.0.0-rc.1"),  # *
    "1.x": ("1.0.0 1.9.9", "2.0.0 2.0.0-rc.1"),  # *
    "1.2.*": ("1.2.0 1.2.9", "1.3.0"),  # *
    "1": ("1.0.0 1.9.9", "2.0.0"),  # *
    ">=1.2.7 <1.3.0": ("1.2.7 1.2.99", "1.2.6 1.3.0 1.3.0-rc.1"),  # *
    ">= 1.2.7 < 1.3.0": ("1.2.7 1.2.99", "1.2.6 1.3.0"),
    "1.2.7 || >=1.2.9 <2.0.0": ("1.2.7 1.2.9 1.4.6", "1.2.8 2.0.0"),  # *
    ">1.2.3-alpha.3": ("1.2.3-alpha.7 3.4.5", "3.4.5-alpha.9 1.2.3-alpha.3"),  # *
    "1.2.3 - 2.3.4": ("1.2.3 2.3.4", "1.2.2 2.3.5"),  # *
    "1.2 - 2.3.4": ("1.2.0", "1.1.9"),  # *
    "1.2.3 - 2.3": ("2.3.9", "2.4.0"),  # *
    "1.2.3 - 2": ("2.9.9", "3.0.0"),  # *
    ">1": ("2.0.0", "1.9.9"),
    ">1.2": ("1.3.0", "1.2.9 1.3.0-rc.1"),
    "<=1": ("1.9.9 0.1.0", "2.0.0"),
    "<1.2": ("1.1.9", "1.2.0 1.2.0-rc.1"),
    "<*": ("", "0.0.0 1.0.0"),
    "v1.2.3": ("1.2.3", "1.2.4"),
}


@pytest.mark.parametrize(("text", "inside", "outside"), [(text, *sides) for text, sides in FITS.items()])
def test_a_range_matches_as_in_npm(text: str, inside: str, outside: str) -> None:
    wanted = VersionRange.parse(text)
    assert [version for version in inside.split() if Version.parse(version) not in wanted] == []
    assert [version for version in outside.split() if Version.parse(version) in wanted] == []


@pytest.mark.parametrize(
    "text", ["^", "latest", "1.2.3.4", "^^1", "1.x.3", "x.1", ">=", "1 -", "^1.2-", "^1,2", "1.2.3 -2", "1" * 200]
)
def test_an_invalid_range_is_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="is not a version range"):
        VersionRange.parse(text)


def test_the_best_is_the_newest_that_fits() -> None:
    versions = [Version.parse(text) for text in ASCENDING]
    assert str(VersionRange.parse("^1.0").best(versions)) == "1.10.0"
    assert VersionRange.parse("^3").best(versions) is None


def test_without_a_range_a_release_is_chosen_and_a_prerelease_only_if_there_is_no_release() -> None:
    assert str(newest_version(map(Version.parse, ["1.0.0", "2.0.0-rc.1", "1.1.0"]))) == "1.1.0"
    assert str(newest_version(map(Version.parse, ["2.0.0-rc.1", "2.0.0-rc.2"]))) == "2.0.0-rc.2"
    assert newest_version([]) is None


def test_the_next_patch_is_the_smallest_release_above() -> None:
    assert str(Version.parse("1.2.3").next_patch) == "1.2.4"
    assert str(Version.parse("1.2.3-rc.1+x").next_patch) == "1.2.3"


_numbers = st.integers(min_value=0, max_value=30)
_words = st.lists(st.one_of(_numbers.map(str), st.from_regex(r"[a-z-][0-9a-z-]{0,3}", fullmatch=True)), max_size=3).map(tuple)
_versions = st.builds(Version, _numbers, _numbers, _numbers, _words)


@given(_versions)
def test_a_version_keeps_its_written_form(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(_versions, _versions, _versions)
def test_the_order_is_total_and_transitive(one: Version, two: Version, three: Version) -> None:
    assert (one < two) + (two < one) + (one == two) == 1
    assert not (one < two < three) or one < three


@given(_versions, _versions)
def test_a_caret_never_crosses_a_major_version_nor_goes_back(base: Version, other: Version) -> None:
    if other in VersionRange.parse(f"^{base}"):
        assert other.major == base.major and not other < base


@given(st.text(alphabet="0123456789.x*^~<>=|- vab+", max_size=20))
def test_any_text_is_a_range_or_bad_usage(text: str) -> None:
    try:
        wanted = VersionRange.parse(text)
    except UsageError:
        return
    assert VersionRange.parse(str(wanted)) == wanted
