"""Archives with many links cost no more than they should."""

from __future__ import annotations

import pytest

from builders import count_calls
from guards import within_cpu_limit
from metier.archive import REPOSITORY_LIMITS, Contents, Link, Member
from metier.errors import RefusedError


def test_reading_a_file_costs_the_same_with_few_links_and_with_many() -> None:
    def reading(count: int) -> int:
        links = [Link(f"links/{number}", "../SKILL.md") for number in range(count)]
        whole = Contents([Member("SKILL.md", b"text")], links, limits=REPOSITORY_LIMITS)
        assert whole.read(f"links/{count - 1}", limit=10) == b"text"
        return count_calls(lambda: whole.read(f"links/{count - 1}", limit=10))

    assert reading(10_000) == reading(10)


def test_an_archive_of_links_is_unpacked_in_time_that_grows_with_its_size() -> None:
    targets = ("../SKILL.md", "../" + "d/../" * 200 + "SKILL.md")

    def unpacked() -> None:
        links = [Link(f"links/{number}", targets[number % 2]) for number in range(18_000)]
        whole = Contents([Member("SKILL.md", b"text"), Member("d/x", b"")], links, limits=REPOSITORY_LIMITS)
        for link in whole.links:
            whole.read(link.path, limit=10)

    within_cpu_limit(unpacked)


def test_a_link_through_more_folders_than_a_skill_can_have_is_refused() -> None:
    with pytest.raises(RefusedError, match="link out of the skill"):
        Contents([Member("SKILL.md", b"")], [Link("l", "d/" * 500 + "x")], limits=REPOSITORY_LIMITS)
