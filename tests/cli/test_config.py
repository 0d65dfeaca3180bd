"""`metier config`: settings, and where each came from."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from metier.config import KEYS


def test_every_setting_is_shown_with_its_origin(shell: Shell) -> None:
    shell.write_config('[skills]\ndeny = ["x-*"]\n')
    rows = shell("config", "show", "--json", SKILLS_MAX_ACTIVE="5").data["settings"]
    assert rows.keys() == KEYS.keys()
    assert rows["skills.deny"]["origin"] == f"{shell.config}:2"
    assert (rows["skills.max_active"]["value"], rows["skills.max_active"]["origin"]) == (5, "environment: SKILLS_MAX_ACTIVE")
    assert (rows["skills.max_depth"]["value"], rows["skills.max_depth"]["origin"]) == (6, "default")
    page = shell("config", "show", "--skills-dir", "here").ok().out
    assert f"x-*  ({shell.config}:2)" in page
    assert "here  (flag)" in page
    assert all(name in page for name in KEYS)


def test_a_group_of_settings_can_be_shown_alone(shell: Shell) -> None:
    shell("config", "set", "skills.sources.work.url", "https://skills.work.example").ok()

    def shown(*words: str) -> set[str]:
        return set(shell("config", "show", *words, "--json").data["settings"])

    assert shown("skills") == shown("skills.") == {name for name in KEYS if name.startswith("skills.")}
    assert shown("model", "skills.deny") == {name for name in KEYS if name.startswith("model.")} | {"skills.deny"}
    assert shown("skills.sources.work") == {"skills.sources"}
    assert "skills.deny" not in shell("config", "show", "model").ok().out
    shell("config", "show", "modl").failed(3, "unknown setting 'modl'")
    for command in ("get", "unset"):
        shell("config", command, "model").failed(3, "unknown setting 'model'", "metier config show model")


def test_a_setting_is_set_got_and_unset(shell: Shell) -> None:
    for key, words, text in (
        ("skills.deny", ("a", "b c"), "a b c"), ("skills.max_depth", ("3",), "3"), ("cache.enabled", ("off",), "false"),
        ("skills.registry", ("https://example.org",), "https://example.org"),
    ):  # fmt: skip
        default = shell("config", "get", key).ok().out
        assert f"{key} is {text}" in shell("config", "set", key, *words).ok().out
        assert shell("config", "get", key).ok().out == f"{text}\n"
        assert shell("config", "unset", key).ok().out == f"{key} is {default.strip()} (default)\n"
        assert shell("config", "get", key).ok().out == default
    assert shell("config", "set", "skills.deny", "a", "b c", "--json").data["value"] == ["a", "b c"]


def test_a_change_keeps_comments_and_order(shell: Shell) -> None:
    text = '# mine\n[skills] # here\ndeny = ["a"] # why\nmax_depth = 3\n'
    shell.write_config(text)
    shell("config", "set", "skills.max_depth", "4").ok()
    assert shell.config.read_text() == text.replace("3", "4")


def test_a_stronger_origin_is_named_when_it_has_the_last_word(shell: Shell) -> None:
    ran = shell("config", "set", "skills.max_depth", "4", METIER_SKILLS_MAX_DEPTH="2")
    assert ran.code == 0
    assert "METIER_SKILLS_MAX_DEPTH has the last word" in ran.err


def test_a_project_setting_needs_a_trusted_project(shell: Shell) -> None:
    shell("config", "set", "--project", "skills.deny", "x").failed(5, "not trusted")
    shell("trust").ok()
    shell("config", "set", "--project", "skills.deny", "x").ok()
    assert shell("config", "get", "skills.deny", "--json").data["origin"] == f"{shell.project}/.metier/config.toml:2"


@pytest.mark.parametrize(("text", "line", "part"), [
    ("[skills]\ndeny = [\n", 3, "not valid TOML"), ("[skills]\n\ndeny = 1\n", 3, "skills.deny is 1"),
    ("[skills]\nmax_depth = 0\n", 2, "1 or more"), ('skills.max_depth = "x"\n', 1, "not a number"),
    ("= 1\n", 1, "not valid TOML"),
    ("[cache]\nenabled = 'yes'\n", 2, "true or false"),
])  # fmt: skip
def test_a_bad_file_names_its_line(shell: Shell, text: str, line: int, part: str) -> None:
    shell.write_config(text)
    for words in (("config", "show"), ("skill", "list"), ("skill", "show"), ("prompt",)):
        shell(*words).failed(2, f"{shell.config}:{line}:", part)
    assert shell("skill", "list", "--json").error["code"] == "bad-config"


def test_a_bad_variable_is_named(shell: Shell) -> None:
    shell("skill", "list", METIER_SKILLS_MAX_DEPTH="deep").failed(2, "METIER_SKILLS_MAX_DEPTH")


def test_an_unknown_key_is_a_warning_with_its_line(shell: Shell) -> None:
    shell.write_config("[skills]\ndenny = []\n")
    ran = shell("config", "show")
    assert ran.code == 0
    assert ran.err.startswith(f"warning: {shell.config}:2: unknown setting 'skills.denny'")


def test_bytes_that_are_not_utf_8_are_reported(shell: Shell) -> None:
    shell.write_config("")
    shell.config.write_bytes(b"\xff")
    shell("skill", "list").failed(2, "not UTF-8")


def test_the_path_is_printed_even_when_the_file_is_broken(shell: Shell) -> None:
    shell.write_config("[")
    assert shell("config", "path").ok().out == f"{shell.config}\n"


def test_a_link_to_the_file_stays_a_link(shell: Shell) -> None:
    real = shell.home / "dotfiles/metier.toml"
    real.parent.mkdir()
    real.write_text("# kept\n")
    shell.metier.mkdir()
    shell.config.symlink_to(real)
    shell("config", "set", "skills.max_depth", "4").ok()
    assert shell.config.is_symlink()
    assert real.read_text().startswith("# kept\n")


def test_an_empty_path_is_refused_before_it_is_written(shell: Shell) -> None:
    shell("config", "set", "skills.dir", "").failed(2)
    assert shell("skill", "list").code == 0


def test_a_path_that_no_file_system_takes_names_its_line(shell: Shell) -> None:
    shell.write_config('[skills]\nuser_dir = "a\\u0000b"\n')
    shell("skill", "list").failed(2, f"{shell.config}:2:")


def test_a_value_in_a_table_is_set_got_and_unset(shell: Shell) -> None:
    name = "skills.sources.corp"
    assert (
        shell("config", "set", f"{name}.url", "https://corp.example")
        .ok()
        .out.startswith(f"{name}.url is https://corp.example ({shell.config}:")
    )
    shell("config", "set", f"{name}.mirrors", "https://a.example", "https://b.example").ok()
    shell("config", "set", f"{name}.signed", "yes").ok()
    shell("config", "set", "skills.parameters.pdf.dpi", "300").ok()
    shell("config", "set", "skills.parameters.pdf.title", "My file").ok()
    shell("config", "set", "skills.mcp.docs.env.LEVEL", "3").ok()
    assert shell.config.read_text() == (
        '[skills.sources.corp]\nurl = "https://corp.example"\nmirrors = ["https://a.example", "https://b.example"]\n'
        'signed = true\n\n[skills.parameters.pdf]\ndpi = 300\ntitle = "My file"\n\n[skills.mcp.docs.env]\nLEVEL = "3"\n'
    )
    assert shell("config", "get", f"{name}.url").ok().out == "https://corp.example\n"
    assert shell("config", "get", "skills.parameters").ok().out == '[skills.parameters.pdf]\ndpi = 300\ntitle = "My file"\n'
    assert shell("config", "get", "skills.parameters.pdf.dpi", "--json").data["value"] == 300
    assert shell("config", "unset", "skills.parameters.pdf.dpi").ok().out == "skills.parameters.pdf.dpi is not set\n"
    shell("config", "unset", "skills.parameters.pdf.title").ok()
    shell("config", "unset", name).ok()
    assert shell.config.read_text().strip() == '[skills.mcp.docs.env]\nLEVEL = "3"'
    shell("config", "get", f"{name}.url").failed(3, f"{name}.url is not set", f"metier config set {name}.url VALUE")


@pytest.mark.parametrize(("words", "parts"), [
    (("skills.sources", "x"), ("skills.sources is a table", "skills.sources.NAME.url")),
    (("skills.sources.corp.urll", "x"), ("unknown setting 'skills.sources.corp.urll'", "skills.sources.NAME.url")),
    (("skills.sources.corp.url", "x", "y"), ("takes one value",)),
    (("skills.sources.corp.signed", "maybe"), ("not a true or false",)),
    (("skills.plugins.x", "y"), ("list of tables", "metier install")),
    (("skills.mcp.docs.env", "x"), ("is a table",)),
])  # fmt: skip
def test_a_value_that_a_table_does_not_have_is_refused(shell: Shell, words: tuple[str, ...], parts: tuple[str, ...]) -> None:
    shell("config", "set", *words).failed(2, *parts)
    assert not shell.config.exists()


def test_a_new_key_does_not_part_a_comment_from_its_table(shell: Shell) -> None:
    shell.write_config("[skills]\nmax_depth = 3\n\n# The cache.\n# Off on this machine.\n[cache]\nenabled = false\n")
    shell("config", "set", "skills.max_active", "5").ok()
    shell("config", "set", "skills.sources.corp.url", "https://corp.example").ok()
    assert shell.config.read_text() == (
        '[skills]\nmax_depth = 3\nmax_active = 5\n\n[skills.sources.corp]\nurl = "https://corp.example"\n\n'
        "# The cache.\n# Off on this machine.\n[cache]\nenabled = false\n"
    )


def test_a_list_that_became_empty_is_not_kept(shell: Shell) -> None:
    shell.skill("pdf")
    shell.write_config("[skills]\nmax_depth = 3\n")
    shell("skill", "disable", "pdf").ok()
    shell("skill", "enable", "pdf").ok()
    assert shell.config.read_text() == "[skills]\nmax_depth = 3\n"


def test_tables_are_shown_without_python_in_them(shell: Shell) -> None:
    shell.write_config('[skills.sources.corp]\nurl = "https://corp.example"\nsigned = true\n')
    assert '{"corp": {"url": "https://corp.example", "signed": true}}' in shell("config", "show").ok().out


def test_a_secret_is_never_printed(shell: Shell) -> None:
    said = [shell("config", "set", "registry.oidc.client_secret", "hunter2").ok()]
    said += [shell("config", *words) for words in (("show",), ("show", "--json"), ("get", "registry.oidc.client_secret"))]
    assert not [ran for ran in said if "hunter2" in ran.out + ran.err]
    assert "***" in said[-1].out
    assert "hunter2" in shell.config.read_text()
