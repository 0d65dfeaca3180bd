"""Settings from files, environment and flags; every value knows where it came from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from builders import app_in, as_another_user, write_config
from metier.config import KEYS, SettingKey, SettingKind, Settings, SettingValue, hide_password, read_settings
from metier.errors import ConfigError, NotFoundError

NAMES = sorted(KEYS)
# An example of each kind: as TOML, as an environment variable, and the value that both mean.
EXAMPLES: dict[SettingKind, tuple[str, str, Any]] = {
    SettingKind.TEXT: ('"https://r.example"', "https://r.example", "https://r.example"),
    SettingKind.PATH: ('"/some/where"', "/some/where", "/some/where"),
    SettingKind.LOCATION: ('"postgresql://h/d"', "postgresql://h/d", "postgresql://h/d"),
    SettingKind.NUMBER: ("2000007", "2000007", 2_000_007),
    SettingKind.BOOLEAN: ("false", "false", False),
    SettingKind.LIST: ('["a", "b-*"]', "a, b-*", ("a", "b-*")),
    SettingKind.TABLE: ('{ one = { url = "u" } }', "", {"one": {"url": "u"}}),
}


def settings(
    *texts: str, tmp_path: Path, environment: dict[str, str] | None = None, flags: dict[str, SettingValue] | None = None
) -> Settings:
    files = []
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, encoding="utf-8")
        files.append(file)
    return read_settings(files, environment=environment or {}, flags=flags, folder=tmp_path)


def example_of(key: SettingKey) -> tuple[str, str, Any]:
    return EXAMPLES[key.kind]


def lines(name: str, value: str) -> str:
    table, _, leaf = name.rpartition(".")
    return f"# a comment\n\n[{table}]\n{leaf} = {value}\n"


def test_every_kind_of_key_is_tried_here() -> None:
    assert {key.kind for key in KEYS.values()} == set(EXAMPLES)


def test_a_location_is_an_address_or_a_path(tmp_path: Path) -> None:
    file = write_config(tmp_path, '[session]\nstore = "deep/sessions.sqlite"\n')
    found = read_settings([file], environment={}, folder=tmp_path)["session.store"].value
    assert found == str(file.parent / "deep" / "sessions.sqlite")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:hunter2@db/x", "postgresql://ada:***@db/x"),
        ("postgresql://ada:hunter2@hunter2@db/x", "postgresql://ada:***@db/x"),
        ("postgresql://ada@db/x?password=hunter2&sslmode=require", "postgresql://ada@db/x?password=***&sslmode=require"),
        ("https://skills.example/a:b@c", "https://skills.example/a:b@c"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert hide_password(address) == shown


@pytest.mark.parametrize("name", NAMES)
def test_without_anything_a_key_has_its_default(tmp_path: Path, name: str) -> None:
    value = settings(tmp_path=tmp_path)[name]
    assert (value.value, value.origin) == (KEYS[name].default, "default")


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_read_from_the_user_file_and_names_its_line(tmp_path: Path, name: str) -> None:
    toml, _, meant = example_of(KEYS[name])
    file = write_config(tmp_path, lines(name, toml))
    value = app_in(tmp_path).settings[name]
    assert (value.value, value.origin) == (meant, f"{file}:4")


@pytest.mark.parametrize("name", [name for name in NAMES if KEYS[name].project and KEYS[name].kind is not SettingKind.PATH])
def test_a_key_for_projects_is_read_from_the_project_file_only_when_the_project_is_trusted(tmp_path: Path, name: str) -> None:
    toml, _, meant = example_of(KEYS[name])
    file = write_config(tmp_path, lines(name, toml), project=True)
    trusted, untrusted = app_in(tmp_path, variables={"METIER_TRUST": "1"}), app_in(tmp_path)
    assert (trusted.settings[name].value, trusted.settings[name].origin) == (meant, f"{file}:4")
    assert untrusted.settings[name].origin == "default"


@pytest.mark.parametrize("name", [name for name in NAMES if KEYS[name].asks])
def test_what_a_trusted_project_asks_for_is_kept_apart_from_the_settings(tmp_path: Path, name: str) -> None:
    toml, _, meant = example_of(KEYS[name])
    write_config(tmp_path, lines(name, toml), project=True)
    trusted = app_in(tmp_path, variables={"METIER_TRUST": "1"}).settings
    assert (trusted[name].origin, trusted.asked[name].value) == ("default", meant)
    assert app_in(tmp_path).settings.asked == {}


@pytest.mark.parametrize("name", [name for name in NAMES if not (KEYS[name].project or KEYS[name].asks)])
def test_a_key_of_the_user_is_ignored_in_a_trusted_projects_file_with_a_warning(tmp_path: Path, name: str) -> None:
    toml, _, _ = example_of(KEYS[name])
    file = write_config(tmp_path, lines(name, toml), project=True)
    trusted = app_in(tmp_path, variables={"METIER_TRUST": "1"})
    assert trusted.settings[name].origin == "default"
    assert trusted.settings.warnings == (f"{file}:4: {name} is ignored, because a project cannot set it",)


def test_no_key_that_reaches_secrets_user_folders_or_permissions_is_for_projects() -> None:
    private = ("policy.", "sandbox.", "budget.", "telemetry.", "model.", "engine.", "registry.")
    named = {"skills.user_dir", "skills.plugins_dir", "skills.registry", "skills.mcp", "skills.script_timeout", "session.store"}
    assert [name for name in NAMES if KEYS[name].project and (name.startswith(private) or name in named)] == []


@pytest.mark.parametrize("value", ["..", "../..", "/", "~", "link", "../../elsewhere"])
def test_a_project_cannot_set_a_path_outside_of_itself(tmp_path: Path, value: str) -> None:
    app = app_in(tmp_path, variables={"METIER_TRUST": "1"})
    file = write_config(tmp_path, f'[skills]\ndir = "{value}"\n', project=True)
    (file.parent / "link").symlink_to(tmp_path)
    inside = value == ".."
    assert (app.settings.path("skills.dir") is not None) == inside
    assert app.settings.warnings == (
        () if inside else (f"{file}:2: skills.dir is ignored, because it leads out of the project",)
    )


def test_a_wrong_value_of_a_key_that_a_project_cannot_set_is_a_warning_only(tmp_path: Path) -> None:
    write_config(tmp_path, "[skills]\nuser_dir = 3\n", project=True)
    app = app_in(tmp_path, variables={"METIER_TRUST": "1"})
    assert app.settings.path("skills.user_dir") == app.paths.at("skills")


def test_in_the_home_folder_the_projects_file_is_the_users(tmp_path: Path) -> None:
    file = write_config(tmp_path, '[skills]\nuser_dir = "mine"\n')
    read = read_settings([file], project_file=file, environment={}, folder=file.parent)
    assert (read.path("skills.user_dir"), read.warnings, read.files) == (str(file.parent / "mine"), (), (str(file),))


@pytest.mark.parametrize("name", [name for name in NAMES if KEYS[name].kind is not SettingKind.TABLE])
def test_every_key_is_read_from_its_variable(tmp_path: Path, name: str) -> None:
    _, text, meant = example_of(KEYS[name])
    variable = "METIER_" + name.upper().replace(".", "_")
    value = settings(tmp_path=tmp_path, environment={variable: text})[name]
    assert (value.value, value.origin) == (meant, f"environment: {variable}")


@pytest.mark.parametrize("name", [name for name in NAMES if KEYS[name].kind is not SettingKind.TABLE])
def test_every_key_can_be_a_flag(tmp_path: Path, name: str) -> None:
    meant = example_of(KEYS[name])[2]
    value = settings(tmp_path=tmp_path, flags={name: meant})[name]
    assert (value.value, value.origin) == (meant, "flag")


@pytest.mark.parametrize(
    ("variable", "text", "name", "meant"),
    [
        ("SKILLS_DIR", "/mine", "skills.dir", "/mine"),
        ("SKILLS_AUTO_SELECT", "false", "skills.auto_select", False),
        ("SKILLS_AUTO_SELECT", "0", "skills.auto_select", False),
        ("SKILLS_AUTO_SELECT", "TRUE", "skills.auto_select", True),
        ("SKILLS_MAX_ACTIVE", "5", "skills.max_active", 5),
    ],
)
def test_the_variables_of_the_older_engine_are_honoured(
    tmp_path: Path, variable: str, text: str, name: str, meant: SettingValue
) -> None:
    value = settings(tmp_path=tmp_path, environment={variable: text})[name]
    assert (value.value, value.origin) == (meant, f"environment: {variable}")


def test_our_own_variable_beats_the_older_one(tmp_path: Path) -> None:
    environment = {"SKILLS_MAX_ACTIVE": "5", "METIER_SKILLS_MAX_ACTIVE": "6"}
    assert settings(tmp_path=tmp_path, environment=environment).number("skills.max_active") == 6


def test_later_wins_file_over_file_then_environment_then_flag(tmp_path: Path) -> None:
    texts = [f"[skills]\nmax_active = {number}\n" for number in (1, 2)]
    name, variable = "skills.max_active", {"METIER_SKILLS_MAX_ACTIVE": "3"}
    assert settings(texts[0], tmp_path=tmp_path).number(name) == 1
    assert settings(*texts, tmp_path=tmp_path).number(name) == 2
    assert settings(*texts, tmp_path=tmp_path, environment=variable).number(name) == 3
    assert settings(*texts, tmp_path=tmp_path, environment=variable, flags={name: 4}).number(name) == 4


def test_a_flag_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    assert settings(tmp_path=tmp_path, flags={"skills.dir": None})["skills.dir"].origin == "default"


def test_a_file_leaves_alone_what_it_does_not_name(tmp_path: Path) -> None:
    read = settings('[skills]\ndisabled = ["a"]\n', "[skills]\nmax_active = 2\n", tmp_path=tmp_path)
    assert (read.strings("skills.disabled"), read.number("skills.max_active")) == (("a",), 2)


def test_a_missing_file_is_not_an_error_and_still_named(tmp_path: Path) -> None:
    read = read_settings([tmp_path / "nothing.toml"], environment={})
    assert (read.files, read.warnings) == ((str(tmp_path / "nothing.toml"),), ())


def test_an_unknown_setting_is_not_found_and_the_nearest_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"unknown setting 'skills\.disable'") as raised:
        settings(tmp_path=tmp_path)["skills.disable"]
    assert raised.value.hint == "did you mean 'skills.disabled'?"


# --- where a key is written -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[skills]\nmax_depth = 3\n", 2),
        ("\n\n[skills]\n# max_depth = 9\n  max_depth = 3\n", 5),
        ("skills.max_depth = 3\n", 1),
        ("[cache]\nenabled = true\n[skills]\nmax_depth=3", 4),
        ('["skills"]\n"max_depth" = 3\n', 2),
        ("skills = { max_depth = 3 }\n", 1),
        ("[skills] # the place\nmax_active = 1\nmax_depth = 3 # not four\n", 3),
        ("[skills]\r\nmax_depth = 3\r\n", 2),
        ('[skills]\nregistry = "a\u2028b"\nmax_depth = 3\n', 3),
    ],
)
def test_the_line_of_a_key_is_found_however_it_is_written(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(text.encode())
    value = read_settings([file], environment={})["skills.max_depth"]
    assert (value.value, value.origin) == (3, f"{file}:{line}")


def test_tables_name_the_line_of_their_header(tmp_path: Path) -> None:
    text = '[skills]\n\n[skills.sources.main]\nurl = "u"\n\n[[skills.plugins]]\nurl = "p"\n'
    read = settings(text, tmp_path=tmp_path)
    assert [read[name].origin.rpartition(":")[2] for name in ("skills.sources", "skills.plugins")] == ["3", "6"]
    assert (read["skills.sources"].value, read["skills.plugins"].value) == ({"main": {"url": "u"}}, [{"url": "p"}])


# --- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("skills", "{tmp}/home/.metier/skills"),
        ("./a/b", "{tmp}/home/.metier/a/b"),
        ("~/skills", "{tmp}/home/skills"),
        ("~", "{tmp}/home"),
        ("/abs", "/abs"),
        ("~no-such-user/x", "{tmp}/home/.metier/~no-such-user/x"),
    ],
)
def test_a_path_in_a_file_starts_at_the_file_and_a_tilde_is_home(tmp_path: Path, written: str, meant: str) -> None:
    write_config(tmp_path, f'[skills]\nuser_dir = "{written}"\n')
    assert app_in(tmp_path).installation.user_dir == meant.format(tmp=tmp_path)


@pytest.mark.parametrize(
    ("written", "meant"), [("mine", "{tmp}/project/mine"), ("~/mine", "{tmp}/home/mine"), ("/abs", "/abs"), ("", None)]
)
def test_a_path_in_the_environment_starts_at_the_current_folder(tmp_path: Path, written: str, meant: str | None) -> None:
    app = app_in(tmp_path, variables={"SKILLS_DIR": written})
    assert app.settings.path("skills.dir") == (meant.format(tmp=tmp_path) if meant else None)


def test_a_path_in_a_flag_starts_at_the_current_folder_too(tmp_path: Path) -> None:
    app = app_in(tmp_path, flags={"skills.dir": "mine"})
    assert app.settings.path("skills.dir") == str(tmp_path / "project/mine")


# --- what is wrong with a file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[skills\n", 1),
        ("[skills]\nmax_depth =\n", 2),
        ("[skills]\n\n\nmax_depth = 1\nmax_depth = 2\n", 5),
        ("[skills]\nallow = [\n", 2),
        ("[skills]\nregistry = 'a\n", 2),
        ("\ufeff[skills]\n", 1),
    ],
)
def test_bad_toml_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(ConfigError, match="not valid TOML") as raised:
        settings(text, tmp_path=tmp_path)
    assert raised.value.file == str(tmp_path / "0.toml")
    assert raised.value.line in (line, line + 1)
    assert str(raised.value).startswith(f"{tmp_path}/0.toml:{raised.value.line}: ")
    assert "(at " not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("skills.max_depth", '"six"', "'six', not a number"),
        ("skills.max_depth", "true", "True, not a number"),
        ("skills.max_depth", "1.5", "1.5, not a number"),
        ("skills.max_depth", "0", "0, not 1 or more"),
        ("skills.max_active", "-3", "-3, not 1 or more"),
        ("skills.auto_select", '"yes"', "'yes', not a true or false"),
        ("skills.auto_select", "1", "1, not a true or false"),
        ("skills.disabled", '"pdf"', "'pdf', not a list of texts"),
        ("skills.disabled", "[1]", "[1], not a list of texts"),
        ("skills.dir", "5", "5, not a path"),
        ("skills.dir", '""', "'', not a path"),
        ("skills.registry", "[]", "[], not a text"),
        ("skills.sources", '"x"', "'x', not a table"),
    ],
)
def test_a_value_of_the_wrong_type_names_its_line_and_what_is_wanted(
    tmp_path: Path, name: str, written: str, said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(lines(name, written), tmp_path=tmp_path)
    assert str(raised.value) == f"{tmp_path}/0.toml:4: {name} is {said}"
    assert raised.value.hint == f"{name}: {KEYS[name].text}"


def test_a_wrong_value_in_an_inline_table_names_its_line_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        settings("\nskills = { max_depth = 'x' }\n", tmp_path=tmp_path)
    assert raised.value.line == 2


@pytest.mark.parametrize(
    ("variable", "text"), [("METIER_SKILLS_MAX_DEPTH", "deep"), ("SKILLS_MAX_ACTIVE", "0"), ("SKILLS_AUTO_SELECT", "maybe")]
)
def test_a_bad_variable_names_itself(tmp_path: Path, variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"^environment variable {variable}: "):
        settings(tmp_path=tmp_path, environment={variable: text})


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("[skills]\ndisbled = []\n", "0.toml:2: unknown setting 'skills.disbled'; did you mean 'skills.disabled'?"),
        ("\n[skils]\ndisabled = []\n", "0.toml:3: unknown setting 'skils.disabled'; did you mean 'skills.disabled'?"),
        ("zzz = 1\n", "0.toml:1: unknown setting 'zzz'"),
    ],
)
def test_an_unknown_key_is_a_warning_with_a_suggestion(tmp_path: Path, text: str, warning: str) -> None:
    read = settings(text, tmp_path=tmp_path)
    assert read.warnings == (f"{tmp_path}/{warning}",)


def test_an_unknown_key_hides_no_known_one(tmp_path: Path) -> None:
    read = settings("[skills]\nzzz = 1\nmax_depth = 3\n", tmp_path=tmp_path)
    assert (read.number("skills.max_depth"), len(read.warnings)) == (3, 1)


def test_a_file_that_is_not_utf_8_is_bad_configuration(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        read_settings([tmp_path / "c.toml"], environment={})


def test_a_folder_in_the_place_of_a_file_is_bad_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a regular file"):
        read_settings([tmp_path], environment={})


def test_a_file_that_may_not_be_read_is_bad_configuration(open_path: Path) -> None:
    (open_path / "c.toml").write_text("")
    os.chmod(open_path / "c.toml", 0)
    code = """
    from pathlib import Path
    from metier.config import read_settings
    try:
        read_settings([Path(folder, "c.toml")], environment={})
    except ConfigError as error:
        print(json.dumps(str(error)))
    """
    assert as_another_user(open_path, code) == f"{open_path}/c.toml: cannot be read: permission denied"


def test_iterating_gives_every_value_once(tmp_path: Path) -> None:
    assert sorted(value.key.name for value in settings(tmp_path=tmp_path)) == NAMES


def test_an_unknown_key_of_a_table_is_a_warning_with_its_file_and_table(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[[skills.plugins]]\nurl = "owner/repo"\ninstalledAt = "2024-01-05"\n'
        '[skills.sources.corp]\nurl = "https://corp.example"\npassword = "x"\n'
        '[skills.mcp.acme]\nurl = "https://acme.example/mcp"\ntimeout = 3\n'
    )
    read = read_settings([file], environment={})
    assert [warning.partition("unknown key ")[2] for warning in read.warnings] == [
        "'installedAt' in [[skills.plugins]]", "'password' in [skills.sources.corp]", "'timeout' in [skills.mcp.acme]",
    ]  # fmt: skip
    assert all(warning.startswith(f"{file}:") for warning in read.warnings)
    assert read["skills.plugins"].value[0]["url"] == "owner/repo"


def with_system(tmp_path: Path, system: str, user: str = "", **options: Any) -> Settings:
    files = {name: tmp_path / f"{name}.toml" for name in ("system", "user")}
    files["system"].write_text(system)
    files["user"].write_text(user)
    return read_settings([files["user"]], system_file=files["system"], environment=options.pop("environment", {}), **options)


def test_the_systems_file_is_read_first_and_a_user_overrides_what_is_not_held(tmp_path: Path) -> None:
    read = with_system(tmp_path, "[skills]\nmax_depth = 2\nmax_active = 7\n", "[skills]\nmax_depth = 4\n")
    assert (read["skills.max_depth"].value, read["skills.max_active"].value) == (4, 7)
    assert read["skills.max_active"].origin == f"{tmp_path}/system.toml:3"
    assert read.files == (str(tmp_path / "system.toml"), str(tmp_path / "user.toml"))


def test_a_project_overrides_nothing_that_the_administrator_sets(tmp_path: Path) -> None:
    project = tmp_path / "project.toml"
    project.write_text("[skills]\nmax_depth = 9\nmax_active = 9\n")
    read = with_system(tmp_path, "[skills]\nmax_depth = 2\n", project_file=project, folder=tmp_path)
    assert (read["skills.max_depth"].value, read["skills.max_active"].value) == (2, 9)
    assert "system.toml:2 sets it" in read.warnings[0]


@pytest.mark.parametrize(
    ("key", "system", "user", "value"),
    [
        ("policy.scripts", '"ask"', '"allow"', "ask"),
        ("policy.scripts", '"ask"', '"deny"', "deny"),
        ("policy.network", '"deny"', '"allow"', "deny"),
        ("policy.tools", '"nonsense"', '"deny"', "nonsense"),
        ("sandbox.require", '"namespace"', '"off"', "namespace"),
        ("sandbox.require", '"limits"', '"landlock"', "landlock"),
        ("policy.deny", '["Bash(rm:*)"]', '["Read(/etc/*)"]', ("Bash(rm:*)", "Read(/etc/*)")),
        ("policy.allow", '["Bash(git:*)"]', '["Bash(git:*)", "Bash(curl:*)"]', ("Bash(git:*)",)),
        ("policy.allow", '["Bash(git:*)"]', "[]", ()),
        ("install.allow_sources", '["a.example"]', '["b.example"]', ("b.example",)),
    ],
)
def test_a_user_does_not_go_beyond_the_administrator(tmp_path: Path, key: str, system: str, user: str, value: object) -> None:
    table, _, leaf = key.partition(".")
    read = with_system(tmp_path, f"[{table}]\n{leaf} = {system}\n", f"[{table}]\n{leaf} = {user}\n")
    assert read[key].value == value
    assert read.system[key].origin == f"{tmp_path}/system.toml:2"
    variable = {KEYS[key].variable: "allow" if KEYS[key].order else "everything"}
    again = with_system(tmp_path, f"[{table}]\n{leaf} = {system}\n", environment=variable)
    assert read.system == again.system


@pytest.mark.parametrize("text", ["broken [", "[skills]\nmax_depth = 'x'\n"])
def test_a_systems_file_that_cannot_be_used_fails_closed(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"system\.toml"):
        with_system(tmp_path, text)


def test_a_systems_file_that_cannot_be_read_fails_closed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a regular file"):
        read_settings([], system_file=tmp_path, environment={})
    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings([], system_file=f"{tmp_path}/{'x' * 300}", environment={})
    assert read_settings([], system_file=tmp_path / "none.toml", environment={}).system == {}


@pytest.mark.parametrize("text", ["", "  "])
@pytest.mark.parametrize("key", [key for key in KEYS.values() if key.kind is not SettingKind.TABLE], ids=lambda key: key.name)
def test_an_empty_variable_counts_as_unset(key: SettingKey, text: str) -> None:
    found = read_settings([], environment={key.variable: text})[key.name]
    assert (found.value, found.origin) == (key.default, "default")
