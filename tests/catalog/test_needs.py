"""Requirements that are read from a compatibility text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import FakeMachine
from metier.catalog import Needs, missing_needs, read_compatibility
from metier.catalog.needs import encoded_needs


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Requires git", "git"),
        ("Requires git, docker, jq, and access to the internet", "git docker jq"),
        ("Requires git, jq, and docker", "git jq docker"),
        ("Requires Python 3.14+ and uv", "uv"),
        ("requires `gh` and `jq`", "gh jq"),
        ("Needs ffmpeg and ImageMagick", "ffmpeg"),
        ("Needs: pandoc", "pandoc"),
        ("Must have node + npm", "node npm"),
        ("Depends on the gh CLI", "gh"),
        ("Prerequisites: docker, kubectl", "docker kubectl"),
        ("Works anywhere. Requires git.", "git"),
        ("Requires go 1.21", "go"),
        ("Requires go, make and git", "go make git"),
        ("Requires yt-dlp and docker-compose", "yt-dlp docker-compose"),
    ],
)
def test_commands_that_are_asked_for_are_read(text: str, commands: str) -> None:
    assert read_compatibility(text).commands == tuple(commands.split())


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("Requires Python 3.11+", (3, 11)),
        ("Python 3.11+", (3, 11)),
        ("Requires Python 3.14+ and uv", (3, 14)),
        ("requires python >= 3.12.1", (3, 12, 1)),
        ("Needs Python ≥3.10", (3, 10)),
        ("Requires Python 3.12 or later", (3, 12)),
        ("Requires Python 3", (3,)),
    ],
)
def test_python_versions_are_read(text: str, python: tuple[int, ...]) -> None:
    assert read_compatibility(text).python == python


@pytest.mark.parametrize(
    ("text", "systems"),
    [
        ("macOS only", "macos"),
        ("Linux-only", "linux"),
        ("Linux and macOS only", "linux macos"),
        ("Linux, macOS only", "linux macos"),
        ("Only works on Windows", "windows"),
        ("Only for OS X", "macos"),
        ("Runs on macOS only, uses AppleScript", "macos"),
        ("This skill only supports Linux", "linux"),
        ("Requires git. Linux only.", "linux"),
    ],
)
def test_systems_are_read_where_the_text_says_only(text: str, systems: str) -> None:
    assert read_compatibility(text).systems == tuple(systems.split())


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("Requires Python packages: pandas, numpy and matplotlib", "pandas numpy matplotlib"),
        ("Requires Python packages pandas and numpy to be installed", "pandas numpy"),
        ("Requires the Python package requests", "requests"),
        ("Requires Python packages: pandas>=2.0, scikit-learn, and httpx[http2] (see the docs)", "pandas scikit-learn httpx"),
    ],
)
def test_packages_are_read_where_they_are_listed_as_such(text: str, packages: str) -> None:
    assert read_compatibility(text).packages == tuple(packages.split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Designed for Claude Code (or similar products)",
        "Works best with git",
        "Optionally requires ffmpeg",
        "Requires git or jj",
        "Requires docker if available",
        "Requires a container runtime such as docker",
        "Does not require git",
        "Doesn't need docker",
        "Requires no git",
        "Needs nothing; runs without docker",
        "Go to the settings page and make a token",
        "Requires a token, make sure it is set, and go to the page",
        "Requires a picture, and convert it first",
        "Requires Python 2.7",
        "Requires Python < 3.9",
        "Tested only on Linux",
        "On Windows, only PowerShell is supported",
        "Windows is supported only through WSL",
        "Not only for Windows",
        "Works on Linux, macOS and Windows",
        "Requires pywin32 (on Windows only)",
        "Requires Python packages listed in requirements.txt",
        "Requires Python package requests for the network",
        "Requires frobnicate and xyzzy",
        "Recommended: git and docker",
        "git",
    ],
)
def test_ambiguous_prose_is_ignored(text: str) -> None:
    assert read_compatibility(text) == Needs()


@given(st.text())
def test_no_text_makes_the_reader_fail(text: str) -> None:
    needs = read_compatibility(text)
    assert needs == Needs() or Needs.decoded(needs.encoded()) == needs


PIECES = [
    "Requires",
    " ",
    ",",
    "git",
    "Python",
    "packages:",
    "3.",
    "11",
    "+",
    "and",
    "only",
    "macOS",
    ";",
    ".",
    "\n",
    "a-b",
    "(",
    "or",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_mixture_of_its_own_words_makes_the_reader_fail(text: str) -> None:
    read_compatibility(text)


@pytest.mark.parametrize(
    "text", ["requires python packages " + "a, " * 3000 + "!", "only " * 3000, "linux, " * 3000, "python " * 3000]
)
def test_only_the_start_of_a_long_text_is_read(text: str) -> None:
    assert read_compatibility(text) == read_compatibility(text[:2_000])


NEEDS = st.builds(
    Needs,
    commands=st.lists(st.text(), max_size=3).map(tuple),
    packages=st.lists(st.text(), max_size=3).map(tuple),
    python=st.none() | st.tuples(st.just(3), st.integers(0, 99)),
    systems=st.lists(st.sampled_from(["linux", "macos"]), max_size=2).map(tuple),
)


@given(NEEDS.filter(lambda needs: needs != Needs()))
def test_needs_survive_the_cache(needs: Needs) -> None:
    assert Needs.decoded(needs.encoded()) == needs


def test_nothing_needed_is_kept_as_nothing() -> None:
    assert (Needs().encoded(), encoded_needs("", ""), encoded_needs("Designed for everyone", "")) == ("", "", "")


def test_a_command_named_twice_is_needed_once() -> None:
    assert encoded_needs("Requires git and jq", "jq, git gh") == '[["jq","git","gh"],[],null,[]]'


# --- against a machine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (Needs(), ""),
        (Needs(commands=("git",)), ""),
        (Needs(commands=("git", "jq", "gh")), "missing commands: jq, gh"),
        (Needs(packages=("yaml", "pandas")), "missing Python packages: pandas"),
        (Needs(python=(3, 11)), ""),
        (Needs(python=(3, 11, 7)), ""),
        (Needs(python=(3, 11, 8)), "needs Python 3.11.8, this is 3.11"),
        (Needs(python=(3, 14)), "needs Python 3.14, this is 3.11"),
        (Needs(python=(3,)), ""),
        (Needs(systems=("linux", "macos")), ""),
        (Needs(systems=("macos", "windows")), "only for macos, windows"),
        (
            Needs(commands=("jq",), packages=("pandas",), python=(3, 99), systems=("windows",)),
            "missing commands: jq; missing Python packages: pandas; needs Python 3.99, this is 3.11; only for windows",
        ),
    ],
)
def test_the_reason_names_everything_that_is_missing(needs: Needs, reason: str) -> None:
    machine = FakeMachine(commands=frozenset({"git"}), packages=frozenset({"yaml"}), python=(3, 11, 7), system="linux")
    assert missing_needs(needs, machine) == reason
