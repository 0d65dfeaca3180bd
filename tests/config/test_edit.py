"""Changing a configuration file the way its owner would."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from builders import python
from metier.config import KEYS, SettingValue, change_list, parse_value, read_settings, set_value, unset_value
from metier.errors import ConfigError, UsageError

DISABLED, DEPTH = KEYS["skills.disabled"], KEYS["skills.max_depth"]
WRITTEN = """\
# my settings

[cache]
enabled = true   # keep it

[skills]   # skills
# the ones I do not want
disabled = [
    "b",  # too loud
    "a",
]
max_depth    =    4

[skills.sources.main]
url = "https://example.org"   # ours
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(WRITTEN)
    return path


def value_of(file: Path, name: str) -> object:
    return read_settings([file], environment={})[name].value


def test_setting_a_value_changes_that_value_and_nothing_else(file: Path) -> None:
    set_value(file, DEPTH, 9)
    assert file.read_text() == WRITTEN.replace("=    4", "=    9")


def test_unsetting_a_value_removes_that_line_and_nothing_else(file: Path) -> None:
    unset_value(file, DEPTH)
    assert file.read_text() == WRITTEN.replace("max_depth    =    4\n", "")


def test_a_new_value_goes_into_its_table(file: Path) -> None:
    set_value(file, KEYS["skills.max_active"], 5)
    assert tomllib.loads(file.read_text())["skills"]["max_active"] == 5
    assert all(line in file.read_text().splitlines() for line in WRITTEN.splitlines())


def test_adding_and_removing_words_keeps_the_other_words_and_comments(file: Path) -> None:
    change_list(file, DISABLED, add=["c", "a"], remove=["b"])
    assert value_of(file, "skills.disabled") == ("a", "c")
    for kept in ("# my settings", "# keep it", "# skills", "# the ones I do not want", "# ours"):
        assert kept in file.read_text()
    assert file.read_text().index("[cache]") < file.read_text().index("[skills]")


def test_changing_words_back_and_forth_changes_no_meaning(file: Path) -> None:
    before = tomllib.loads(file.read_text())
    change_list(file, DISABLED, add=["x"])
    change_list(file, DISABLED, remove=["x"])
    assert tomllib.loads(file.read_text()) == before


@pytest.mark.parametrize("text", ["skills.disabled = ['a']\n", "skills = { disabled = ['a'] }\n", "[skills]\ndisabled=['a']"])
def test_a_list_is_changed_however_it_is_written(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    change_list(file, DISABLED, add=["b"])
    assert value_of(file, "skills.disabled") == ("a", "b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[cache]\nenabled = false\n",
        "# only a comment\n",
        "[[skills.plugins]]\nurl = 'u'\n",
        "[skills.sources.m]\nurl='u'\n",
    ],
)
def test_a_value_can_be_set_in_any_file_and_keeps_what_is_there(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    set_value(file, DEPTH, 3)
    set_value(file, DISABLED, ("a", "b"))
    document = tomllib.loads(file.read_text())
    assert (value_of(file, "skills.max_depth"), value_of(file, "skills.disabled")) == (3, ("a", "b"))
    assert set(tomllib.loads(text)) <= set(document)
    assert document.get("cache") == tomllib.loads(text).get("cache")


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(b"# mine\r\n[skills]\r\nmax_depth = 4\r\nmax_active = 2\r\n")
    set_value(file, DEPTH, 5)
    assert file.read_bytes() == b"# mine\r\n[skills]\r\nmax_depth = 5\r\nmax_active = 2\r\n"


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    file = tmp_path / "home/config.toml"
    change_list(file, DISABLED, add=["a"])
    assert value_of(file, "skills.disabled") == ("a",)


@pytest.mark.parametrize("text", [None, "", "[cache]\nenabled = true\n"])
def test_unsetting_what_is_not_set_changes_nothing(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "c.toml"
    if text is not None:
        file.write_text(text)
    unset_value(file, DEPTH)
    assert (file.read_text() if file.exists() else None) == text


@pytest.mark.parametrize("text", ["skills = 5\n", "[skills\n", "skills = ['a']\n"])
def test_a_file_that_cannot_be_changed_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=str(file)) as raised:
        set_value(file, DEPTH, 3)
    assert (file.read_text(), raised.value.hint) == (text, "fix it by hand first; nothing was changed")


def test_words_are_not_added_to_a_value_that_is_not_a_list(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[skills]\ndisabled = 'a'\n")
    with pytest.raises(ConfigError, match="not a list of texts"):
        change_list(file, DISABLED, add=["b"])
    assert file.read_text() == "[skills]\ndisabled = 'a'\n"


def test_a_link_to_a_dotfiles_repository_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/c.toml").write_text("# mine\n")
    (tmp_path / "c.toml").symlink_to("dotfiles/c.toml")
    set_value(tmp_path / "c.toml", DEPTH, 3)
    assert ((tmp_path / "c.toml").is_symlink(), (tmp_path / "dotfiles/c.toml").read_text()) == (
        True,
        "# mine\n\n[skills]\nmax_depth = 3\n",
    )


def test_eight_processes_that_change_list_at_once_lose_none(tmp_path: Path) -> None:
    code = """
    import sys
    from pathlib import Path
    from metier.config import KEYS, change_list
    for number in range(5):
        change_list(Path(sys.argv[1]), KEYS["skills.disabled"], add=[f"s{sys.argv[2]}-{number}"])
    """
    file = tmp_path / "home/config.toml"
    processes = [python(code, file, process) for process in range(8)]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 8
    words = read_settings([file], environment={}).strings("skills.disabled")
    assert sorted(words) == sorted(f"s{process}-{number}" for process in range(8) for number in range(5))


# --- what was typed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words", "meant"),
    [
        ("skills.max_depth", ["5"], 5),
        ("skills.auto_select", ["off"], False),
        ("skills.auto_select", ["Yes"], True),
        ("skills.disabled", ["a", "b"], ("a", "b")),
        ("skills.disabled", [], ()),
        ("skills.dir", ["~/skills"], "~/skills"),
        ("skills.registry", ["https://r"], "https://r"),
    ],
)
def test_typed_words_become_the_keys_type(name: str, words: list[str], meant: SettingValue) -> None:
    assert parse_value(KEYS[name], words) == meant


@pytest.mark.parametrize(
    ("name", "words"), [("skills.max_depth", ["a"]), ("skills.max_depth", ["0"]), ("skills.auto_select", ["maybe"])]
)
def test_a_typed_word_of_the_wrong_type_is_bad(name: str, words: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"^command line: "):
        parse_value(KEYS[name], words)


@pytest.mark.parametrize(("name", "words"), [("skills.max_depth", ["1", "2"]), ("skills.dir", []), ("skills.sources", ["x"])])
def test_the_wrong_number_of_words_is_bad_usage(name: str, words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_value(KEYS[name], words)
