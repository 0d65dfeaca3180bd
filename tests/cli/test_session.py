"""`metier session`."""

from __future__ import annotations

from cli.shell import Shell


def test_a_session_is_stored_shown_and_cleared(shell: Shell) -> None:
    for name in ("a", "b"):
        shell.skill(name)
    assert shell("session", "list").ok().out == "No sessions\n"
    shell("skill", "activate", "a", "--session", "work", "--pin")
    shell("skill", "activate", "b", "--session", "work", "--mode", "persistent")
    again = shell("skill", "activate", "a", "--session", "work")
    assert again.out == "The skill a is already active; follow the instructions that were given before.\n"
    [kept] = shell("session", "list", "--json").data["sessions"]
    assert (kept["id"], [row["name"] for row in kept["active"]]) == ("work", ["a", "b"])
    shown = shell("session", "show", "work").ok().out
    assert "by user, bounded, pinned" in shown
    assert "by user, persistent" in shown
    shell("session", "show", "other").failed(3, "unknown session 'other'")
    shell("session", "clear").failed(2, "name a session, or use --all")
    assert shell("session", "clear", "work").ok().out == "Cleared work\n"
    assert shell("session", "clear", "--all").ok().out == "No sessions\n"


def test_a_damaged_store_is_reported_once_and_renamed(shell: Shell) -> None:
    shell.metier.mkdir(parents=True)
    (shell.metier / "sessions.sqlite").write_bytes(b"no database")
    ran = shell("session", "list")
    assert ran.code == 0
    assert "was damaged and is now" in ran.err
    shell("session", "list").ok()
    assert list(shell.metier.glob("sessions.sqlite.damaged-*"))
