"""`metier registry`, as a person would use it: start it, publish to it, back it up, look after it."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from cli.shell import Shell
from metier.registry import AuditEvent, RegistryLocation, RegistryUser, statistics
from metier.testing import run_now
from registry.builders import archive


@contextlib.contextmanager
def serving(shell: Shell, *words: str) -> Iterator[tuple[str, str | None, subprocess.Popen[bytes]]]:
    """A server of its own: its address, and the token if it is the first start."""
    process = shell.start("registry", "serve", "--port", "0", "--json", *words)
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    try:
        started = json.loads(line)
        for _ in range(200):
            with contextlib.suppress(OSError), urlopen(f"{started['url']}/healthz", timeout=5):
                break
            time.sleep(0.1)
        yield started["url"], started["admin_token"], process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stdout.close()
        process.stderr.close()


def publish(url: str, token: str, data: bytes) -> dict[str, object]:
    with urlopen(Request(f"{url}/skills?visibility=public", data, {"Authorization": f"Bearer {token}"}), timeout=20) as answer:
        body: dict[str, object] = json.loads(answer.read())
        return body


def test_a_registry_needs_no_set_up_and_shows_its_token_once(shell: Shell) -> None:
    with serving(shell) as (url, token, process):
        assert token
        assert publish(url, token, archive("pdf", "1.0.0"))["created"] is True
    assert process.returncode in (0, -signal.SIGINT, 130)
    with serving(shell) as (url, again, _):
        assert again is None
        with urlopen(f"{url}/skills/pdf", timeout=5) as answer:
            assert json.loads(answer.read())["version"] == "1.0.0"
    assert (shell.metier / "registry/registry.sqlite").stat().st_mode & 0o077 == 0


def make_registry(shell: Shell) -> None:
    """An empty registry, as its first start makes it."""
    run_now(statistics(RegistryLocation.in_folder(str(shell.metier / "registry"))))


@pytest.mark.parametrize(
    "words",
    [
        ("stats",), ("token", "create", "ana", "--scope", "read"), ("token", "list"), ("token", "revoke", "1"), ("gc",),
        ("backup", "copy"),
    ],
)  # fmt: skip
def test_no_command_that_needs_a_registry_makes_one_at_a_mistyped_place(shell: Shell, words: tuple[str, ...]) -> None:
    hint = "`metier registry serve` makes a new registry"
    shell("registry", *words, "--db", f"sqlite://{shell.home}/typo/r.sqlite").failed(3, "there is no registry at", hint)
    shell("registry", *words).failed(3, "there is no registry at", hint)
    assert not (shell.home / "typo").exists()
    assert not (shell.metier / "registry").exists()
    assert not list(shell.project.iterdir())


def test_a_migration_from_a_mistyped_place_makes_nothing(shell: Shell) -> None:
    there = (f"sqlite://{shell.home}/new/r.sqlite", f"file://{shell.home}/new/blobs")
    typo = (f"sqlite://{shell.home}/typo/r.sqlite", f"file://{shell.home}/typo/blobs")
    for source in ((), ("--from", *typo)):
        shell("registry", "migrate", *source, "--to", *there).failed(3, "there is no registry at")
    shell("registry", "restore", "nowhere", "--db", there[0], "--blobs", there[1]).failed(3, "no backup")
    assert not (shell.home / "typo").exists()
    assert not (shell.home / "new").exists()


def test_tokens_are_made_listed_and_revoked_without_a_server(shell: Shell) -> None:
    make_registry(shell)
    made = shell("registry", "token", "create", "acme", "--scope", "publish:acme", "--days", "30", "--json").data
    assert made["token"].startswith("mtr_")
    (row,) = shell("registry", "token", "list", "--json").data["tokens"]
    assert (row["holder"], row["scopes"], row["revoked"]) == ("acme", ["publish:acme"], None)
    assert made["token"] not in shell("registry", "token", "list").ok().out
    shell("registry", "token", "revoke", str(row["id"])).ok()
    shell("registry", "token", "revoke", str(row["id"])).failed(3, "no active token")
    shell("registry", "token", "create", "acme", "--scope", "fly").failed(2, "unknown scope")


def test_a_new_token_is_the_output_and_what_to_send_with_it_is_a_remark(shell: Shell) -> None:
    make_registry(shell)
    ran = shell("registry", "token", "create", "ana", "--scope", "publish:team", "--scope", "yank")
    assert ran.out.startswith("mtr_") and ran.out.count("\n") == 1
    assert ran.err.splitlines() == [
        "With this token, ana can publish in team and read its private skills, and yank versions. It is shown once.",
        "Send it to ana in private, with: run `metier login URL` and paste the token.",
    ]
    shell("config", "set", "registry.url", "https://skills.example.com").ok()
    ran = shell("registry", "token", "create", "ana", "--scope", "read")
    assert "ana can read all private skills." in ran.err and "`metier login https://skills.example.com`" in ran.err


def test_the_first_start_says_what_to_do_next(shell: Shell) -> None:
    process = shell.start("registry", "serve", "--port", "0")
    assert process.stdout is not None
    assert process.stderr is not None
    lines = [process.stdout.readline().decode().rstrip() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    process.wait(20)
    process.stdout.close()
    process.stderr.close()
    url = lines[0].split()[2]
    assert lines[1].startswith("Admin token (shown once, save it): mtr_")
    assert lines[2:] == [
        f"Next: open {url}/login or run `metier login {url}`",
        "Next: invite a colleague with `metier registry token create NAME --scope publish:TEAM`",
    ]


def test_a_backup_is_restored_and_a_migration_is_a_copy(shell: Shell, tmp_path: Path) -> None:
    make_registry(shell)
    shell("registry", "token", "create", "acme", "--scope", "admin", "--json").ok()
    folder = str(tmp_path / "backup")
    assert shell("registry", "backup", folder, "--json").data["rows"] > 0
    shell("registry", "restore", str(tmp_path / "none")).failed(3, "no backup")
    target = (f"sqlite://{tmp_path}/other/r.sqlite", f"file://{tmp_path}/other/blobs")
    shell("registry", "restore", folder, "--db", target[0], "--blobs", target[1]).ok()
    assert len(shell("registry", "token", "list", "--db", target[0], "--json").data["tokens"]) == 1
    moved = (f"sqlite://{tmp_path}/moved/r.sqlite", f"file://{tmp_path}/moved/blobs")
    shell("registry", "migrate", "--from", *target, "--to", *moved).ok()
    assert shell("registry", "stats", "--db", moved[0], "--json").data["packages"] == 0
    shell("registry", "migrate", "--to", *moved[:1], "nonsense://x").failed(2, "nonsense")
    shell("registry", "gc", "--dry-run").ok()


def test_a_port_in_use_is_reported(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        shell("registry", "serve", "--port", str(taken.getsockname()[1])).failed(6, "cannot listen")


def test_an_invalid_address_is_reported(shell: Shell) -> None:
    shell("registry", "stats", "--db", "mysql://host/x").failed(2, "not the address of a database")
    shell("registry", "serve", "--port", "0", "--db", "sqlite:////proc/none/x.sqlite").failed(4, "database")


@pytest.mark.parametrize(
    "words",
    [
        ("stats",),
        ("gc",),
        ("backup", "copy"),
        ("export", "out"),
        ("bundle", "out.bundle", "pdf"),
        ("unbundle", "in.bundle"),
        ("token", "list"),
        ("token", "revoke", "1"),
    ],
    ids=lambda words: words[0],
)
def test_a_mistyped_path_makes_no_registry(shell: Shell, words: tuple[str, ...]) -> None:
    file = shell.home / "mistyped.sqlite"
    shell("registry", *words, "--db", f"sqlite://{file}").failed(3, f"there is no registry at {file}", "metier registry serve")
    shell("registry", *words).failed(3, "there is no registry at")
    assert not file.exists()
    assert not (shell.home / ".metier/registry").exists()


def test_users_are_listed_and_disabled(shell: Shell) -> None:
    shell("registry", "user", "list").failed(3, "there is no registry")
    make_registry(shell)
    assert shell("registry", "user", "list").out == "No users have signed in\n"
    shell("registry", "user", "disable", "ann").failed(3, "no user is named 'ann'")
    location = RegistryLocation.in_folder(str(shell.metier / "registry"))
    ann = RegistryUser(
        id=0, issuer="https://id.example", subject="7", name="ann", email="ann@example.com", scopes=("read",), created=1,
        signed_in=1, disabled=None,
    )  # fmt: skip

    async def add() -> None:
        async with location.open() as (store, _):
            await store.add_user(ann, event=AuditEvent(1, "test", "user-create", "user:ann"))

    run_now(add())
    assert shell("registry", "user", "list").out == "ann  ann@example.com  read\n"
    assert shell("registry", "user", "disable", "ann").out == "Disabled ann and revoked 0 tokens\n"
    assert shell("registry", "user", "list").out == "ann  ann@example.com  read  disabled\n"
    assert shell("registry", "user", "enable", "ann").out == "Enabled ann\n"


def test_a_wrong_setting_of_single_sign_on_is_named_before_the_server_starts(shell: Shell) -> None:
    shell.metier.mkdir(exist_ok=True)
    for text, message in (
        ("", "client ID"),
        ('client_id = "x"\n', "at least one group"),
        ('client_id = "x"\nroles = {"team" = ["fly"]}\n', "unknown scope 'fly'"),
        ('client_id = "x"\nroles = {"team" = "read"}\n', "not a list of texts"),
    ):
        shell.config.write_text(f'[registry.oidc]\nissuer = "https://id.example"\n{text}')
        shell("registry", "serve", "--port", "0").failed(2, message)


def test_an_invitation_is_one_line(shell: Shell) -> None:
    make_registry(shell)
    shell.metier.mkdir(exist_ok=True)
    shell.config.write_text('[registry]\nurl = "https://skills.example.com"\n')
    ran = shell("registry", "invite", "--scope", "publish:team")
    assert ran.code == 0 and ran.out.startswith("https://skills.example.com/invite/") and ran.out.count("\n") == 1
    assert "can publish in team" in ran.err and "It works once, for 7 days" in ran.err
    shell("registry", "invite", "--scope", "fly").failed(2, "unknown scope 'fly'")


def test_a_bundle_reports_itself_as_json_and_refuses_what_it_is_not(shell: Shell) -> None:
    make_registry(shell)
    shell("registry", "bundle", "out.bundle").failed(2, "NAME")
    shell("registry", "bundle", "out.bundle", "nothing").failed(3, "unknown skill 'nothing'")
    shell("registry", "unbundle", "missing.bundle").failed(3, "cannot read missing.bundle", "metier registry bundle")
    with serving(shell) as (url, _, _process):
        token = shell("registry", "token", "create", "acme", "--scope", "publish:acme").out.strip()
        publish(url, token, archive("pdf", "1.0.0"))
    made = shell("registry", "bundle", "out.bundle", "pdf@1.0.0", "--json").data
    assert [(row["name"], row["namespace"]) for row in made["releases"]] == [("pdf", "acme")]
    other = shell.home / "other"
    run_now(statistics(RegistryLocation.in_folder(str(other))))
    there = ("--db", f"sqlite://{other}/registry.sqlite", "--blobs", f"file://{other}/blobs")
    shell("registry", "unbundle", "out.bundle", "--namespace", "No Name", *there).failed(2, "invalid namespace 'No Name'")
    done = shell("registry", "unbundle", "out.bundle", "--namespace", "inner", "--json", *there).data
    assert done["sha256"] == made["sha256"]
    assert [(row["namespace"], row["created"]) for row in done["releases"]] == [("inner", True)]
    with zipfile.ZipFile(shell.project / "out.bundle") as opened:
        opened.extractall(shell.project / "opened")
    shell("skill", "install", "./opened/skills/pdf-1.0.0.zip", "--yes")
    assert "pdf" in shell("skill", "list").out


def test_a_registry_that_does_not_answer_is_named_in_plain_words(shell: Shell) -> None:
    with socket.socket() as taken:
        # Bound and not listening: connections are refused.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        ran = shell("skill", "search", "pdf", "--registry", url)
    ran.failed(ran.code, f"cannot reach {url}: Connection refused\n")
