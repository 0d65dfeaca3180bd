"""`metier skill install` from servers, typed by a person: sites, registries, git; online, offline, on a terminal and off."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from cli.shell import Shell
from install.servers import Answer, Repository, Seen, redirect, site
from metier.archive import Contents, Member, pack


def packed(name: str = "pdf", body: str = "Do it.\n") -> bytes:
    return pack(Contents([Member("SKILL.md", skill_text(name, body=body).encode())]))


def test_an_old_index_is_read_only_on_request(shell: Shell) -> None:
    index = {"skills": [{"name": "pdf", "description": "Reads PDFs.", "files": ["SKILL.md"]}]}
    with site() as server:
        server.routes |= {
            "/.well-known/skills/index.json": Answer(json.dumps(index).encode()),
            "/.well-known/skills/pdf/SKILL.md": Answer(skill_text("pdf").encode()),
        }
        assert shell("skill", "install", server.url).code != 0
        assert shell.listed() == {}
        shell("skill", "install", server.url, "--allow-old-index").ok()
        assert shell.listed() == {"pdf": "enabled"}


def test_a_cached_skill_is_installed_offline_without_a_request(shell: Shell, tmp_path: Path) -> None:
    Repository(tmp_path / "git/r.git").commit({"skills/pdf/SKILL.md": skill_text("pdf"), "skills/x/SKILL.md": skill_text("x")})
    path = os.environ["PATH"]
    with site(git_root=tmp_path / "git") as server:
        ref = f"git+{server.url}/r.git"
        shell("skill", "install", ref, "--all", "--offline", PATH=path).failed(4, "not in the cache", "without --offline")
        shell("skill", "install", ref, "--all", PATH=path).ok()
        shell("skill", "remove", "pdf", "--yes").ok()
        server.log.clear()
        shell("skill", "install", ref, "--skill", "pdf", "--offline", PATH=path).ok()
        assert server.log == []
        shell("skill", "outdated", "--offline", PATH=path)
        assert server.log == []


def test_a_password_that_was_typed_is_written_nowhere(shell: Shell) -> None:
    with site({"/pdf.zip": Answer(packed())}) as server:
        address = server.url.replace("://", "://someone:s3cret@")
        shell("skill", "install", f"{address}/pdf.zip", "--header", "X-Key: t0psecret")
        shell("skill", "install", f"{server.url}/pdf.zip", "--header", "X-Key: t0psecret").ok()
        assert server.log[-1].headers["x-key"] == "t0psecret"
    kept = b"".join(file.read_bytes() for file in shell.home.rglob("*") if file.is_file())
    assert b"s3cret" not in kept and b"t0psecret" not in kept


def test_a_secret_does_not_follow_to_another_origin(shell: Shell) -> None:
    with site({"/pdf.zip": Answer(packed())}) as there, site() as here:
        here.routes["/pdf.zip"] = redirect(f"{there.url}/pdf.zip")
        shell("skill", "install", f"{here.url}/pdf.zip", "--header", "Authorization: Bearer t0psecret").ok()
        assert here.log[0].headers["authorization"] == "Bearer t0psecret"
        assert "authorization" not in there.log[0].headers


def test_without_encryption_only_loopback_or_on_request(shell: Shell) -> None:
    shell("skill", "install", "http://192.0.2.1/pdf.zip").failed(5, "--insecure-http")


@pytest.mark.parametrize("broken", [b"<html>Log in</html>", b"", b"PK\3\4 not a zip", packed()[:-30]])
def test_a_folder_without_a_skill_leaves_nothing_behind(shell: Shell, broken: bytes) -> None:
    with site({"/pdf.zip": Answer(broken)}) as server:
        ran = shell("skill", "install", f"{server.url}/pdf.zip")
        assert ran.code in (3, 5) and ran.err.count("\n") == 2, ran
    assert not (shell.home / ".metier/plugins").exists() and not (shell.home / ".metier/metier.lock").exists()


def test_on_a_terminal_each_source_has_its_bar_and_elsewhere_there_is_none(shell: Shell) -> None:
    def slow(_seen: Seen) -> Answer:
        time.sleep(0.6)
        return Answer(packed())

    with site({"/pdf.zip": slow, "/docx.zip": Answer(packed("docx"))}) as server:
        refs = [f"{server.url}/pdf.zip", f"{server.url}/docx.zip"]
        child = shell.terminal("skill", "install", *refs, "--yes", columns=200)
        child.expect("fetching [^\n]*pdf.zip")
        child.expect("Installed 2 skills")
        child.wait()
        assert shell("skill", "install", *refs, "--force").ok().err == ""


def test_several_sources_are_fetched_at_once(shell: Shell) -> None:
    at_once: list[int] = []
    running = 0

    def answer(seen: Seen) -> Answer:
        nonlocal running
        running += 1
        at_once.append(running)
        time.sleep(0.3)
        running -= 1
        return Answer(packed(Path(seen.path).stem))

    with site({f"/s{number}.zip": answer for number in range(6)}) as server:
        shell("skill", "install", *(f"{server.url}/s{number}.zip" for number in range(6))).ok()
    assert max(at_once) >= 4


def test_an_update_shows_what_changed_upstream_and_keeps_local_edits(shell: Shell, tmp_path: Path) -> None:
    repository, path = Repository(tmp_path / "git/r.git"), os.environ["PATH"]
    repository.commit({"SKILL.md": skill_text("pdf", body="One.\n")})
    with site(git_root=tmp_path / "git") as server:
        shell("skill", "install", f"git+{server.url}/r.git", PATH=path).ok()
        listed = shell("skill", "manage", "list").ok().out.splitlines()[1].split(", ")
        assert re.fullmatch(rf"    {server.url}/r.git at [0-9a-f]{{10}}", listed[0])
        file = shell.home / ".metier/plugins/pdf/SKILL.md"
        file.write_text(file.read_text() + "Mine.\n")
        assert shell("skill", "update", PATH=path).ok().out.endswith("Updated 0 skills; 1 already up to date; 0 failed\n")
        repository.commit({"SKILL.md": skill_text("pdf", body="Two.\n")})
        assert shell("skill", "outdated", PATH=path).code == 1
        before = shell.tree(shell.home / ".metier")
        ran = shell("skill", "update", "--dry-run", PATH=path)
        # Upstream's change, not the difference to what was edited here.
        assert "-One." in ran.out and "+Two." in ran.out and "-Mine." not in ran.out
        ran = shell("skill", "update", PATH=path)
        assert ran.code == 6 and "conflict in SKILL.md" in ran.out
        assert "One.\nMine.\n=======\nTwo.\n" in file.read_text()
        shell("skill", "update", "--abort", PATH=path).ok()
        assert {name: data for name, data in shell.tree(shell.home / ".metier").items() if "cache" not in name} == {
            name: data for name, data in before.items() if "cache" not in name
        }
        shell("skill", "update", "--keep", PATH=path).ok()
        assert file.read_text().endswith("One.\nMine.\n")


def test_two_skills_of_one_name_in_one_source_are_a_question(shell: Shell, tmp_path: Path) -> None:
    write_skill(tmp_path / "repo/skills", "pdf")
    other = write_skill(tmp_path / "repo/skills", "other", body="Another.\n")
    (other / "SKILL.md").write_text(skill_text("pdf", body="Another.\n"))
    shell("skill", "install", str(tmp_path / "repo"), "--all").failed(6, "both", "--skill", "--name")
    shell("skill", "install", str(tmp_path / "repo"), "--skill", "pdf").failed(3, "2 skills are called 'pdf'", "skills/other")
    shell("skill", "install", str(tmp_path / "repo"), "--skill", "skills/other").ok()
    assert "Another." in (shell.home / ".metier/plugins/pdf/SKILL.md").read_text()


def test_ctrl_c_while_servers_are_silent_ends_at_once_and_leaves_nothing(shell: Shell, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    asked, over = threading.Event(), threading.Event()

    def silent(_seen: Seen) -> Answer:
        asked.set()
        over.wait(600)
        return Answer(b"")

    Repository(tmp_path / "git/r.git").commit({"SKILL.md": skill_text("pdf")})
    with site({"/a.zip": silent, "/r.git/git-upload-pack": silent}, git_root=tmp_path / "git") as server:
        refs = [f"{server.url}/a.zip", f"git+{server.url}/r.git"]
        variables = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch)}
        process = shell.start("skill", "install", *refs, variables=variables)
        assert asked.wait(60)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        over.set()
    assert process.returncode == 130
    assert err == b"\ninterrupted\n"
    assert list(scratch.iterdir()) == []
    assert not (shell.home / ".metier/plugins").exists() and not (shell.home / ".metier/metier.lock").exists()
