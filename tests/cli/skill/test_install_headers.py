"""`--header` and other credentials go to the one origin that they were given for."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text
from cli.shell import Shell
from install.servers import Answer, Repository, Site, redirect, site
from metier.archive import Contents, Member, digest, pack
from metier.install.fetch.wellknown import SCHEMA

HEADER = ("--header", "X-Key: t0psecret")
PATH = os.environ["PATH"]


def packed(name: str = "pdf", body: str = "Do it.\n") -> Contents:
    return Contents([Member("SKILL.md", skill_text(name, body=body).encode())])


def archive(name: str = "pdf", body: str = "Do it.\n") -> Answer:
    return Answer(pack(packed(name, body)))


def secrets(server: Site) -> list[str]:
    return [seen.path for seen in server.log if "t0psecret" in seen.headers.values()]


def test_refs_of_two_origins_take_one_command_each(shell: Shell) -> None:
    with site({"/pdf.zip": archive()}) as here, site({"/docx.zip": archive("docx")}) as there:
        refs = (f"{here.url}/pdf.zip", f"{there.url}/docx.zip")
        shell("skill", "install", *refs, *HEADER).failed(2, here.url, there.url, "one command for each")
        assert here.log == there.log == []
        shell("skill", "install", refs[0], *HEADER).ok()
        assert secrets(here) == ["/pdf.zip"]


def test_two_refs_of_one_origin_share_a_header(shell: Shell) -> None:
    with site({"/pdf.zip": archive(), "/docx.zip": archive("docx")}) as here:
        shell("skill", "install", f"{here.url}/pdf.zip", f"{here.url}/docx.zip", *HEADER).ok()
        assert sorted(secrets(here)) == ["/docx.zip", "/pdf.zip"]


def test_a_header_that_has_no_origin_to_go_to_is_an_error(shell: Shell) -> None:
    shell.skill("pdf", root=shell.home)
    shell("skill", "install", str(shell.home / "pdf"), *HEADER).failed(2, "web address")


@pytest.fixture
def two_origins(shell: Shell, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Two skills from two hosts, one of them by git."""
    Repository(tmp_path / "git/r.git").commit({"SKILL.md": skill_text("docx")})
    with site({"/pdf.zip": archive()}) as here, site(git_root=tmp_path / "git") as there:
        shell("skill", "install", f"{here.url}/pdf.zip", f"git+{there.url}/r.git", PATH=PATH).ok()
        here.log.clear()
        there.log.clear()
        yield here, there


@pytest.mark.parametrize("words", [("update",), ("outdated",), ("install",)])
def test_a_lock_with_two_origins_gets_no_header(shell: Shell, two_origins: tuple[Site, Site], words: tuple[str, ...]) -> None:
    here, there = two_origins
    shell("skill", *words, *HEADER, PATH=PATH).failed(2, here.url, there.url, "[skills.sources.NAME]")
    assert here.log == there.log == []


def test_an_update_of_one_skill_sends_the_header_to_its_origin_only(shell: Shell, two_origins: tuple[Site, Site]) -> None:
    here, there = two_origins
    shell("skill", "update", "pdf", *HEADER, PATH=PATH).ok()
    assert (secrets(here), there.log) == (["/pdf.zip"], [])
    shell("skill", "outdated", "docx", *HEADER, PATH=PATH).ok()
    assert secrets(there) and len(here.log) == 1


def test_the_lock_of_an_untrusted_project_gets_no_header(shell: Shell) -> None:
    with site({"/pdf.zip": archive()}) as here:
        shell("skill", "install", f"{here.url}/pdf.zip", "--project")
        here.log.clear()
        for words in (("install",), ("update", "--project"), ("outdated", "--project")):
            shell("skill", *words, *HEADER).failed(5, here.url, "metier trust")
        assert here.log == []
        shell("trust").ok()
        shell("skill", "update", "--project", *HEADER).ok()
        assert secrets(here) == ["/pdf.zip"]


def test_an_archive_on_another_host_than_its_registry_gets_no_credentials(shell: Shell) -> None:
    data = pack(packed())
    with site({"/pdf.zip": Answer(data)}) as there, site() as here:
        row = {"name": "pdf", "version": "1.0.0", "download_url": f"{there.url}/pdf.zip", "digest": digest(packed()),
               "archive_digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}  # fmt: skip
        here.routes["/skills/pdf"] = Answer(json.dumps(row).encode())
        shell.write_config(f'[skills.sources.corp]\nurl = "{here.url}/skills"\nauth = "bearer:${{T}}"\n')
        assert shell("skill", "install", "corp:pdf", *HEADER, T="t0ken").code == 0
        assert secrets(here) == ["/skills/pdf"]
        assert here.log[0].headers["authorization"] == "Bearer t0ken"
        assert secrets(there) == [] and "authorization" not in there.log[0].headers


def test_an_index_that_moved_keeps_the_address_that_was_typed_and_its_skills_get_no_header(shell: Shell) -> None:
    data = pack(packed())
    place = "/.well-known/agent-skills/index.json"
    listed = {"name": "pdf", "type": "archive", "description": "d", "url": "/pdf.zip",
              "digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}  # fmt: skip
    index = Answer(json.dumps({"$schema": SCHEMA, "skills": [listed]}).encode())
    with site({f"{place}": index, "/pdf.zip": Answer(data)}) as there, site() as here:
        here.routes[place] = redirect(f"{there.url}{place}?sig=s1gned")
        shell("skill", "install", here.url, *HEADER).ok()
        assert secrets(here) == [place] and secrets(there) == []
        lock = (shell.metier / "metier.lock").read_text()
        assert f'url = "{here.url}{place}"' in lock and "s1gned" not in lock
        shell("skill", "update", *HEADER).ok()
        assert secrets(there) == []


def test_a_mirror_gets_no_credentials(shell: Shell) -> None:
    with site({"/skills/pdf/SKILL.md": Answer(skill_text("pdf").encode())}) as mirror, site() as here:
        down = Answer(status=500, headers={"Retry-After": "0"})
        here.routes |= {"/skills/pdf": down}
        shell.write_config(
            f'[skills.sources.corp]\nurl = "{here.url}/skills"\nauth = "bearer:${{T}}"\nmirrors = ["{mirror.url}/skills"]\n'
        )
        assert shell("skill", "install", "corp:pdf", *HEADER, T="t0ken").code == 0
        assert here.log and mirror.log
        assert all(not {"authorization", "x-key"} & seen.headers.keys() for seen in mirror.log)


@pytest.mark.parametrize("address", ["http://192.0.2.7/x.zip", "git+http://192.0.2.7/r.git", "http://192.0.2.7"])
def test_https_only_holds_whatever_proxies_are_set(shell: Shell, address: str) -> None:
    with site() as proxy:
        variables: dict[str, Any] = {"http_proxy": proxy.url, "all_proxy": proxy.url, "PATH": PATH}
        shell("skill", "install", address, *HEADER, **variables).failed(5, "not encrypted", "--insecure-http")
        assert proxy.log == []


def test_a_git_server_on_this_machine_is_reached_without_the_proxy(shell: Shell, tmp_path: Path) -> None:
    Repository(tmp_path / "git/r.git").commit({"SKILL.md": skill_text("docx")})
    with site() as proxy, site(git_root=tmp_path / "git") as here:
        shell("skill", "install", f"git+{here.url}/r.git", *HEADER, PATH=PATH, http_proxy=proxy.url).ok()
        assert proxy.log == [] and secrets(here)
