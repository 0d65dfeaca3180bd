"""The lock of a project that the user does not trust makes no request into the user's own network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import skill_text
from cli.shell import Shell
from install.servers import Answer, Repository, site
from metier.archive import Contents, Member, pack
from metier.errors import RefusedError
from metier.install.fetch.credentials import Credentials
from metier.install.fetch.destinations import Destinations
from metier.install.fetch.http import HttpClient
from metier.install.git.program import find_git
from metier.install.git.remote import GitRemote

PATH = os.environ["PATH"]
LOCK = """version = 1
[skills.pdf]
source = "{kind}"
url = "{url}"
commit = "{commit}"
digest = "sha256:{digest}"
[skills.pdf.files]
"SKILL.md" = "100644 {digest}"
"""


def cloned(shell: Shell, kind: str, url: str) -> None:
    commit = "c" * 40 if kind == "git" else ""
    (shell.project / "metier.lock").write_text(LOCK.format(kind=kind, url=url, commit=commit, digest="0" * 64))


@pytest.mark.parametrize("words", [("install",), ("update", "--project"), ("outdated", "--project")])
@pytest.mark.parametrize(
    ("kind", "path"), [("http", "/x.zip"), ("git", "/r.git"), ("well-known", "/.well-known/agent-skills/index.json")]
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_it_is_not_asked_on_this_machine(shell: Shell, kind: str, path: str, host: str, words: tuple[str, ...]) -> None:
    with site() as server:
        cloned(shell, kind, f"http://{host}:{server.port}{path}")
        ran = shell("skill", *words, PATH=PATH)
        assert server.log == []
        assert ran.code != 0 or "outdated" in words
        assert "is not trusted" in ran.out + ran.err and host in ran.out + ran.err


@pytest.mark.parametrize("url", ["https://169.254.169.254/x.zip", "https://10.1.2.3/x.zip", "https://[fd00::1]/x.zip"])
@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
def test_nor_at_internal_addresses_with_or_without_a_proxy(shell: Shell, url: str, proxy: str) -> None:
    cloned(shell, "http", url)
    shell("skill", "install", https_proxy=proxy).failed(5, "is not trusted", "metier trust")


def test_a_name_is_judged_by_the_addresses_that_it_resolves_to() -> None:
    http = HttpClient(destinations=Destinations(untrusted_lock="metier.lock"), resolve=lambda _host, _port: ("10.0.0.1",))
    with pytest.raises(RefusedError) as caught:
        http.get("https://innocent.example/x.zip", limit=10)
    assert caught.value.rule == "untrusted-lock"


@pytest.mark.parametrize(
    "url", ["git@innocent.example:o/r.git", "ssh://git@innocent.example:2222/o/r.git", "https://innocent.example/r.git"]
)
def test_so_is_the_host_of_a_repository(tmp_path: Path, url: str) -> None:
    http = HttpClient(destinations=Destinations(untrusted_lock="metier.lock"), resolve=lambda _host, _port: ("127.0.0.1",))
    program = find_git({"PATH": PATH, "HOME": str(tmp_path)})
    with pytest.raises(RefusedError) as caught:
        GitRemote(url=url, program=program, http=http, credentials=Credentials()).refs()
    assert caught.value.rule == "untrusted-lock"


def test_git_connects_to_the_address_that_was_judged(tmp_path: Path) -> None:
    Repository(tmp_path / "git/r.git").commit({"SKILL.md": skill_text("pdf")})
    with site(git_root=tmp_path / "git") as server:
        origin = f"http://innocent.invalid:{server.port}"
        known = Destinations(untrusted_lock="metier.lock", known=frozenset({origin}))
        http = HttpClient(destinations=known, insecure=True, resolve=lambda _host, _port: ("127.0.0.1", "127.0.0.1"))
        program = find_git({"PATH": PATH, "HOME": str(tmp_path)})
        assert GitRemote(url=f"{origin}/r.git", program=program, http=http, insecure=True).refs().head
        assert server.log[0].headers["host"] == f"innocent.invalid:{server.port}"


def test_a_host_of_the_users_own_configuration_may_be_internal(shell: Shell) -> None:
    data = pack(Contents([Member("SKILL.md", skill_text("pdf").encode())]))
    with site({"/skills/x.zip": Answer(data)}) as server:
        cloned(shell, "http", f"{server.url}/skills/x.zip")
        shell.write_config(f'[skills.sources.corp]\nurl = "{server.url}/skills"\n')
        shell("skill", "install").failed(5, "differs from the lock")
        assert len(server.log) == 1


def test_a_trusted_lock_is_restored_from_anywhere(shell: Shell) -> None:
    data = pack(Contents([Member("SKILL.md", skill_text("pdf").encode())]))
    with site({"/x.zip": Answer(data)}) as server:
        cloned(shell, "http", f"{server.url}/x.zip")
        shell("trust").ok()
        shell("skill", "install").failed(5, "differs from the lock")
        assert len(server.log) == 1
