"""Another description, and every other byte as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import InvalidSkillError
from metier.spec import parse
from metier.spec.repairs.edit import replace_description

NEW = "Draws charts: bars, lines. Use when the user has \"numbers\" # and a goal. Not for 'tables'."


@pytest.mark.parametrize(
    "written",
    [
        "description: old",
        'description: "old"',
        "description: 'old: words'",
        "description: >-\n  old\n  words",
        "description: |\n  old\n\n  words\n",
        "description:\n  old words\n  over lines",
        'description: "old\n  over lines"',
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_way_of_writing_it_is_replaced_and_the_rest_stays(written: str, end: str) -> None:
    rest = "# about the license\nlicense: MIT\nmetadata:\n  x: y\n---\n\n# Body\n\ndescription: not this\n"
    text = f"---\nname: a # mine\n{written}\n{rest}"
    before = text.replace("\n", end).encode()
    after = replace_description(before, NEW)
    manifest = parse(after).manifest
    assert manifest is not None
    assert manifest.description == NEW
    assert after.startswith(f"---{end}name: a # mine{end}description: ".encode())
    assert after.endswith(before[before.index(b"# about the license") :])


def test_a_long_one_is_folded() -> None:
    long = "Word " * 100 + "end."
    after = replace_description(b"---\nname: a\ndescription: old\n---\n", long).decode()
    assert "description: >-\n  Word" in after
    assert max(map(len, after.splitlines())) < 120


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=300))
def test_any_description_is_read_back_unchanged(text: str) -> None:
    wanted = " ".join(text.split())
    if not wanted:
        return
    try:
        after = replace_description(b"---\nname: a\ndescription: old\nlicense: MIT\n---\nbody\n", wanted)
    except InvalidSkillError:
        return  # what no reader would read back is not written
    manifest = parse(after).manifest
    assert manifest is not None
    assert (manifest.description, manifest.license) == (wanted, "MIT")


@pytest.mark.parametrize("data", [b"", b"no head", b"---\nname: a\n---\n", b"\xff", b"---\n{name: a, description: b}\n---\n"])
def test_a_file_that_cannot_be_changed_safely_is_left_alone(data: bytes) -> None:
    with pytest.raises(InvalidSkillError):
        replace_description(data, "new")
