"""A home that metier 0.1.0 wrote still works: settings, locks, sessions, conversations, agents and the registry's database.

tests/data/home-0.1.0.tar.gz was made by the commands of that version, in /home/ann and without the cache.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from cli.registry.test_registry import serving
from cli.shell import Shell

_ARCHIVE = Path(__file__).parent.parent / "data" / "home-0.1.0.tar.gz"
_OLD_HOME = b"/home/ann"


@pytest.fixture
def upgraded(shell: Shell) -> Shell:
    with tarfile.open(_ARCHIVE) as archive:
        archive.extractall(shell.home, filter="data")
    shell.project = shell.home / "project"
    for file in (shell.metier / "trust.json", shell.metier / "metier.lock", shell.project / "metier.lock"):
        file.write_bytes(file.read_bytes().replace(_OLD_HOME, str(shell.home).encode()))
    return shell


def test_settings_skills_and_trust_are_kept(upgraded: Shell) -> None:
    assert upgraded("config", "get", "model.name").ok().out == "gpt-4o\n"
    listed = {each["name"]: each["state"] for each in upgraded("skill", "list", "--json").data["skills"]}
    assert {name: listed[name] for name in ("forms", "notes", "pdf", "reg-pdf")} == {
        "forms": "enabled", "notes": "disabled", "pdf": "enabled", "reg-pdf": "enabled",
    }  # fmt: skip
    assert "Bash(git log:*)" in upgraded("policy", "show").ok().out


def test_a_lock_of_0_1_0_verifies(upgraded: Shell) -> None:
    assert upgraded("skill", "verify").ok().out == "Verified 3 skills; 0 differ from the lock\n"
    (upgraded.metier / "plugins/forms/SKILL.md").write_text("---\nname: forms\ndescription: Other.\n---\n")
    ran = upgraded("skill", "verify")
    assert (ran.code, "forms: edited" in ran.out) == (1, True), ran


def test_sessions_conversations_and_agents_are_kept(upgraded: Shell) -> None:
    shown = upgraded("session", "show", "s1").ok().out
    assert "pdf " in shown
    assert "pinned" in shown
    assert "Filled it." in upgraded("chat", "--export", "form").ok().out
    assert "form" in upgraded("chat", "--search", "filled").ok().out
    assert upgraded("skill", "activate", "reg-pdf", "--session", "s1").code == 0
    assert "reg-pdf" in upgraded("session", "show", "s1").ok().out
    assert [line.split()[0] for line in upgraded("agent", "history", "helper").ok().out.splitlines()] == ["v2", "v1"]
    assert upgraded("agent", "rollback", "helper", "v1").code == 0
    assert " activations" in upgraded("stats").ok().out


def test_the_registry_is_updated_when_it_is_served(upgraded: Shell) -> None:
    with serving(upgraded) as (url, token, _):
        assert token is None, "it has an administrator already"
        (held,) = (upgraded.metier / "credentials.toml").read_text().splitlines()[2:]
        token = held.partition(" = ")[2].strip('"')
        upgraded("login", url, "--token", token).ok()
        assert upgraded("skill", "info", "pdf", "--registry", url, "--json").data["version"] == "1.1.0"
        assert "yanked" in upgraded("skill", "versions", "pdf", "--registry", url).ok().out
    assert [each["holder"] for each in upgraded("registry", "token", "list", "--json").data["tokens"]] == ["ann", "root"]


def test_doctor_finds_nothing_broken(upgraded: Shell) -> None:
    rows = upgraded("doctor", "--json").data["checks"]
    assert [row for row in rows if row["level"] == "error"] == []
