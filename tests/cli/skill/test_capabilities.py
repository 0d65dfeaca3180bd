"""The list of an installed skill: shown before the question, in the lock, asked about again, and held to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import write_skill
from cli.shell import Shell, plain
from metier.app import App
from metier.runtime import ToolRequest

SCRIPT = "import os, requests\nkey = os.environ['WEATHER_UNITS']\nrequests.get('https://{host}/v1')\n"


BODY = "```bash\njq .days x.json\n```\n"


def weather(root: Path, host: str = "api.weather.example", body: str = BODY, head: str = "") -> Path:
    folder = write_skill(root, "weather", body=body, head=head)
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts/get.py").write_text(SCRIPT.format(host=host))
    return folder


def test_an_installation_shows_the_list_and_json_and_the_lock_have_it(shell: Shell, tmp_path: Path) -> None:
    source = weather(tmp_path / "src")
    out = shell("skill", "install", str(source)).ok().out
    assert "\n  weather network: api.weather.example\n  weather commands: jq\n  weather data: variables WEATHER_UNITS\n" in out
    (row,) = shell("skill", "install", str(source), "--json").ok().data["skills"]
    assert (row["capabilities"]["hosts"], row["capabilities"]["packages"]) == (["api.weather.example"], [])
    assert 'hosts = ["api.weather.example"]' in (shell.metier / "metier.lock").read_text()


def test_a_skill_of_text_only_adds_no_line(shell: Shell, tmp_path: Path) -> None:
    out = shell("skill", "install", str(write_skill(tmp_path / "src", "notes"))).ok().out
    assert [line.split()[0] for line in out.splitlines()] == ["+", "Installed"]


def test_of_many_skills_each_has_one_line(shell: Shell, tmp_path: Path) -> None:
    for number in range(7):
        write_skill(tmp_path / "src", f"s{number}", body="```bash\ngit log\n```\nUse `curl https://api.quarvex.net/v1`.\n")
    out = shell("skill", "install", str(tmp_path / "src"), "--all").ok().out
    assert out.count(" network: api.quarvex.net; commands: curl, git\n") == 7


def test_on_a_terminal_the_list_stands_before_the_question(shell: Shell, tmp_path: Path) -> None:
    (shell.home / ".claude").mkdir()
    child = shell.terminal("skill", "install", str(weather(tmp_path / "src")), columns=200)
    child.expect_exact("Which agents")
    child.send("\r")
    child.expect_exact("Install?")
    assert "weather network: api.weather.example" in plain(str(child.before))
    child.send("\r")
    child.expect_exact("Installed 1 skill")
    assert child.wait() == 0


def test_an_update_that_wants_more_asks_on_a_terminal(shell: Shell, tmp_path: Path) -> None:
    shell("skill", "install", str(weather(tmp_path / "src"))).ok()
    weather(tmp_path / "src", "alerts.weather.example")
    child = shell.terminal("skill", "update", columns=200)
    child.expect_exact("new: host alerts.weather.example")
    child.expect_exact("Install the new version?")
    child.send("n")
    child.expect_exact("not installed")
    assert child.wait() == 1
    assert "alerts" not in (shell.metier / "metier.lock").read_text()
    child = shell.terminal("skill", "update", columns=200)
    child.expect_exact("Install the new version?")
    child.send("y")
    child.expect_exact("Updated 1 skill")
    assert child.wait() == 0


def test_without_a_terminal_an_update_or_an_installation_that_wants_more_needs_yes(shell: Shell, tmp_path: Path) -> None:
    source = weather(tmp_path / "src")
    shell("skill", "install", str(source)).ok()
    weather(tmp_path / "src", "alerts.weather.example")
    ran = shell("skill", "update", "--json")
    (row,) = ran.data["skills"]
    assert ran.code == 1
    assert (row["newer"], row["new_capabilities"]) == (False, {"hosts": ["alerts.weather.example"]})
    shell("skill", "install", str(source)).failed(5, "new: host alerts.weather.example", "--yes")
    assert "! new: host alerts.weather.example" in shell("skill", "update", "--yes").ok().out


def test_an_update_that_wants_less_is_not_asked_about(shell: Shell, tmp_path: Path) -> None:
    shell("skill", "install", str(weather(tmp_path / "src"))).ok()
    weather(tmp_path / "src", body="Do it.\n")
    assert "Updated 1 skill" in shell("skill", "update").ok().out


def test_a_restored_lock_of_version_1_still_works(shell: Shell, tmp_path: Path) -> None:
    shell("skill", "install", str(weather(tmp_path / "src"))).ok()
    lock = shell.metier / "metier.lock"
    text = lock.read_text()
    lock.write_text(text[: text.index("\n[skills.weather.capabilities]")].replace("version = 2", "version = 1"))
    shell("skill", "install").ok()
    shell("skill", "verify").ok()
    audited = {row["name"]: row for row in shell("skill", "audit", "--json").ok().data["skills"]}
    assert (audited["weather"]["held"], audited["weather"]["capabilities"]["hosts"]) == (False, ["api.weather.example"])


def test_show_and_audit_have_the_list_of_the_lock_and_what_was_edited_since(shell: Shell, tmp_path: Path) -> None:
    shell("skill", "install", str(weather(tmp_path / "src"))).ok()
    assert "  held to       network: api.weather.example\n" in shell("skill", "show", "weather").ok().out
    script = shell.metier / "plugins/weather/scripts/get.py"
    script.write_text(script.read_text() + "requests.get('https://other.weather.example/')\n")
    audited = {row["name"]: row for row in shell("skill", "audit", "--json").ok().data["skills"]}
    assert audited["weather"]["held"]
    assert audited["weather"]["unlisted"] == {"hosts": ["other.weather.example"]}
    assert "    not in its list: host other.weather.example\n" in shell("skill", "audit").ok().out


def test_lint_says_where_declaration_and_files_differ(shell: Shell) -> None:
    weather(shell.skills, head="metadata:\n  capabilities: host:api.weather.example command:jq package:polars")
    out = shell("skill", "lint", "weather").out
    assert "warning SK223: variable WEATHER_UNITS: it is used" in out
    assert "info SK224: package polars: it is declared" in out
    assert "SK223: host" not in out
    assert shell("skill", "validate", "weather").code == 0


@pytest.fixture
def project(shell: Shell, tmp_path: Path) -> Shell:
    """A trusted project with an installed skill, and a user who allows network by default."""
    shell("config", "set", "policy.network", "allow").ok()
    shell("trust").ok()
    shell("skill", "install", str(weather(tmp_path / "src")), "--project").ok()
    return shell


def decided(shell: Shell, host: str) -> str:
    """The decision about a host, as a session of the application makes it."""
    app = App(environment=shell.environment, folder=str(shell.project))
    session = app.sessions.open(kept=False)
    request = ToolRequest(tool="Network", argument=host)
    found = session.services.permissions.decide(request, session.skills.requester(session.skills.skill("weather")))
    session.close()
    return f"{found.verdict} {found.rule}"


def test_a_host_beyond_the_list_asks_although_the_default_allows_it(project: Shell) -> None:
    assert decided(project, "api.weather.example").startswith("allow")
    assert decided(project, "evil.example").startswith("ask capabilities: not in the list")


def test_a_list_that_came_with_the_project_counts_only_when_it_was_shown(project: Shell) -> None:
    lock = project.project / "metier.lock"
    lock.write_text(lock.read_text().replace('hosts = ["', 'hosts = ["evil.example", "'))
    for host in ("evil.example", "api.weather.example"):
        assert "you have not agreed to its list" in decided(project, host)
    assert "  weather network: api.weather.example, evil.example\n" in project("skill", "install").ok().out
    assert decided(project, "evil.example").startswith("allow")


def test_an_unreadable_lock_of_a_project_grants_nothing(project: Shell) -> None:
    (project.project / "metier.lock").write_text("version = 2\n[skills.weather")
    assert decided(project, "api.weather.example").startswith("ask")


def test_the_agreement_is_an_approval_of_the_user(project: Shell) -> None:
    (approval,) = json.loads((project.metier / "approvals.json").read_text())["approvals"]
    assert (approval["skill"], approval["pattern"][:13]) == ("weather", "Capabilities(")
    project("policy", "deny", "--skill", "weather").ok()
    assert "you have not agreed" in decided(project, "api.weather.example")
