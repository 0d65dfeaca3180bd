"""`metier skill list`: filters, paging, colours, watching."""

from __future__ import annotations

import json
from typing import Any

import pexpect
import pytest

from cli.shell import Shell, escapes, plain
from metier.cli.core.terminal import cell_width


@pytest.fixture
def many(shell: Shell) -> Shell:
    shell.skill("pdf-read", head="metadata:\n  tags: documents reading")
    shell.skill("pdf-write", head="metadata:\n  tags: documents writing")
    shell.skill("chart", head="metadata:\n  requires: plotter")
    shell.skill("quiet", head="default_enabled: false")
    shell.skill("broken", data=b"nothing")
    shell.skill("pdf-read", root=shell.metier / "plugins")
    shell.skill("local", root=shell.project / ".claude/skills")
    return shell


def names(shell: Shell, *words: str) -> list[str]:
    return [row["name"] for row in shell("skill", "list", "--json", *words).data["skills"] if row["source"] != "bundled"]


def test_every_state_has_its_own_line(many: Shell) -> None:
    lines = many("skill", "list").ok().out.splitlines()
    signs = {(line.split()[1], line.split()[2]): (line[0], line.split(maxsplit=3)[3]) for line in lines[:-1]}
    assert signs[("pdf-read", "plugin")][0] == "✓"
    assert signs[("pdf-read", "user")] == ("≡", f"hidden by the plugin skill in {many.metier}/plugins/pdf-read")
    assert signs[("chart", "user")] == ("✗", "missing commands: plotter")
    assert signs[("quiet", "user")][0] == "○"
    assert signs[("local", "claude")][0] == "?"
    assert signs[("broken", "user")][0] == "!"
    assert "1 disabled" in lines[-1]
    assert "1 shadowed, 1 untrusted, 1 skipped" in lines[-1]


def test_a_row_for_a_program_has_every_fact(many: Shell) -> None:
    rows = many("skill", "list", "--json", "chart", "broken").data["skills"]
    assert [row["name"] for row in rows] == ["broken", "chart"]
    assert rows[1] == {
        "name": "chart", "description": "Does it. Use when asked.", "source": "user", "state": "unavailable",
        "reason": "missing commands: plotter", "folder": str(many.skills / "chart"), "agents": [],
    }  # fmt: skip
    assert rows[0]["problems"][0]["code"] == "SK005"


def test_filters_select_by_name_source_state_and_tag(many: Shell) -> None:
    assert names(many, "pdf-*") == ["pdf-read", "pdf-read", "pdf-write"]
    assert names(many, "pdf-w*", "ch?rt") == ["chart", "pdf-write"]
    assert names(many, "--source", "plugin") == ["pdf-read"]
    assert names(many, "--source", "plugin", "--source", "claude") == ["local", "pdf-read"]
    assert names(many, "--state", "unavailable", "--state", "disabled") == ["chart", "quiet"]
    assert names(many, "--tag", "writing") == ["pdf-write"]
    assert names(many, "--tag", "documents", "--source", "user", "pdf-r*") == ["pdf-read"]
    assert names(many, "nothing-*") == []


def test_an_empty_result_is_reported(shell: Shell) -> None:
    assert shell("skill", "list", "nothing-*").ok().out == "No matching skills\n"


def test_a_limit_says_how_many_more_there_are(many: Shell) -> None:
    data = many("skill", "list", "--limit", "2", "--json").data
    assert (len(data["skills"]), data["shown"], data["found"]) == (2, 2, 13)
    assert "; 11 more; use a higher --limit to see them" in many("skill", "list", "--limit", "2").out
    assert "more" not in many("skill", "list", "--limit", "13", "pdf-*").out.splitlines()[-1]


def test_a_line_fits_its_terminal(many: Shell) -> None:
    many.skill("wide", description="技能 " * 60)
    code, text = many.on_terminal("skill", "list", columns=60, rows=50)
    assert code == 0
    assert max(cell_width(line) for line in plain(text).splitlines()[:-1]) <= 60
    assert not list(escapes(text))


def test_colours_are_for_terminals(many: Shell) -> None:
    assert "\x1b[" not in many("skill", "list").out
    assert "\x1b[32m✓" in many.on_terminal("skill", "list", rows=50)[1]
    assert "\x1b[" not in many.on_terminal("skill", "list", rows=50, NO_COLOR="1")[1]
    assert "\x1b[" not in many.on_terminal("skill", "list", rows=50, TERM="dumb")[1]
    assert "\x1b[32m✓" in many("skill", "list", FORCE_COLOR="1").out
    assert "\x1b[" not in many("skill", "list", "--json", FORCE_COLOR="1").out


def test_a_long_list_is_paged_and_a_short_one_is_not(many: Shell) -> None:
    many.install("pager", 'echo "PAGED"; exec /bin/cat')
    pager: dict[str, Any] = {"PAGER": str(many.bin / "pager")}
    assert "PAGED" in many.on_terminal("skill", "list", rows=8, **pager)[1]
    assert "PAGED" not in many.on_terminal("skill", "list", rows=50, **pager)[1]
    assert "PAGED" not in many("skill", "list", **pager).out
    assert "PAGED" not in many.on_terminal("skill", "list", "--json", rows=8, **pager)[1]


def test_a_pager_can_be_left_with_q(many: Shell) -> None:
    for number in range(60):
        many.skill(f"more-{number}")
    child = many.terminal("skill", "list", rows=8, PATH="/usr/bin:/bin", PAGER="less")
    child.expect("code-review")
    child.expect(":")
    child.send("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "Traceback" not in str(child.before)


def test_a_pager_that_is_not_there_costs_no_answer(many: Shell) -> None:
    code, text = many.on_terminal("skill", "list", rows=8, PAGER="/nonexistent/pager")
    assert code == 0
    assert "pdf-write" in text


def test_watching_reports_added_changed_and_removed_skills(shell: Shell) -> None:
    shell.skills.mkdir(parents=True)
    child = shell.terminal("skill", "list", "--watch")
    child.expect("Watching for changes; press Ctrl-C to stop")
    folder = shell.skill("new")
    child.expect("added .*new.* \\(user\\)")
    (folder / "SKILL.md").write_text("broken")
    child.expect("changed .*new")
    (folder / "SKILL.md").unlink()
    child.expect("removed .*new")
    child.sendintr()
    child.expect(pexpect.EOF)


def test_watching_for_a_program_prints_an_envelope_a_line(shell: Shell) -> None:
    shell.skill("old")
    with shell.start("skill", "list", "--watch", "--json", "n*") as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["data"] == {"skills": []}
        shell.skill("new")
        second = json.loads(process.stdout.readline())
        assert [(change["kind"], change["name"]) for change in second["data"]["changes"]] == [("added", "new")]
        assert second["version"] == 1
        process.terminate()


def test_making_and_deleting_a_skill_shows_no_half_of_it_to_a_watcher(shell: Shell) -> None:
    shell.skills.mkdir(parents=True)
    with shell.start("skill", "list", "--watch", "--json", "--source", "user") as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = []
        for words in (("create", "one", "-d", "Does it. Use when asked."), ("delete", "one", "--yes")):
            shell("skill", *words).ok()
            changes = json.loads(process.stdout.readline())["data"]["changes"]
            seen += [(change["kind"], change["name"], change["folder"]) for change in changes]
        process.terminate()
    assert seen == [("added", "one", f"{shell.skills}/one"), ("removed", "one", f"{shell.skills}/one")]


def test_installed_plugins_are_listed_by_manage(many: Shell) -> None:
    rows = many("skill", "manage", "list", "--json").data["skills"]
    assert [(row["name"], row["source"]) for row in rows] == [("pdf-read", "plugin")]
