"""Allowed and denied sources hold for every way in which a skill is fetched, also from the cache and over redirects."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from install.servers import Answer, Repository, Site, redirect, site
from metier.app import App
from metier.archive import Contents, Member, pack
from metier.errors import ConfigError, RefusedError
from metier.install import LockFetcher, ScopeLevel, list_source, outdated, parse_ref, scan_ref

DATA = pack(Contents([Member("SKILL.md", skill_text("pdf").encode())]))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Site]:
    Repository(tmp_path / "git/acme/r.git").commit({"SKILL.md": skill_text("docx")})
    routes = {"/acme/pdf.zip": Answer(DATA), "/skills/pdf/SKILL.md": Answer(skill_text("pdf").encode())}
    with site(dict(routes), git_root=tmp_path / "git") as here:
        yield here


def app(tmp_path: Path, *, user: str = "", system: str | None = None, project: str = "", **variables: str) -> App:
    for file, text in (
        ("home/.metier/config.toml", user),
        ("project/.metier/config.toml", project),
        ("etc/config.toml", system),
    ):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text)
        elif path.exists():
            path.unlink()
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "METIER_TRUST": "1", **variables}
    return App(environment=environment, folder=tmp_path / "project", system_config_file=str(tmp_path / "etc/config.toml"))


def rules(**lists: str) -> str:
    return "[install]\n" + "".join(f'{name} = ["{pattern}"]\n' for name, pattern in lists.items())


def refs(server: Site, tmp_path: Path) -> list[str]:
    write_skill(tmp_path / "local", "pdf")
    (tmp_path / "pdf.zip").write_bytes(DATA)
    return [
        f"{server.url}/acme/pdf.zip",
        f"git+{server.url}/acme/r.git",
        "corp:pdf",
        str(tmp_path / "local/pdf"),
        str(tmp_path / "pdf.zip"),
    ]


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("offline", [False, True])
def test_an_administrator_holds_a_machine_to_one_registry(tmp_path: Path, server: Site, number: int, offline: bool) -> None:
    corp = f'[skills.sources.corp]\nurl = "{server.url}/skills"\n'
    ref = refs(server, tmp_path)[number]
    app(tmp_path, user=corp).install(ref)
    held = app(tmp_path, user=corp, system=rules(allow_sources="registry.example.com"))
    server.log.clear()
    with pytest.raises(RefusedError, match=r"etc/config\.toml:2") as caught:
        held.install(ref, access=held.installation.access(offline=offline))
    assert caught.value.rule == "source-not-allowed" and server.log == []
    open_again = app(tmp_path, user=corp, system=rules(allow_sources="127.0.0.1" if number < 3 else "path"))
    open_again.install(ref, access=open_again.installation.access(offline=offline))


def test_listing_scanning_updating_restoring_and_plugins_are_held_too(tmp_path: Path, server: Site) -> None:
    ref = refs(server, tmp_path)[0]
    app(tmp_path).install(ref)
    held = app(tmp_path, system=rules(deny_sources="127.0.0.1"), user=f'[[skills.plugins]]\nurl = "{server.url}/acme/x.zip"\n')
    access, store = held.installation.access(), held.installation.store(ScopeLevel.USER)
    server.log.clear()
    for attempt in (lambda: list_source([ref], access), lambda: scan_ref(parse_ref(ref), access), lambda: held.install()):
        with pytest.raises(RefusedError, match="deny_sources"):
            attempt()
    ((_, (updated,), _),) = held.update()
    (state,) = outdated(store, LockFetcher(access))
    assert "deny_sources" in updated.problem and "deny_sources" in state.problem
    (tmp_path / "home/.metier/config.toml").write_text("")
    shutil.rmtree(tmp_path / "home/.metier/plugins/pdf")
    restored = app(tmp_path, system=rules(deny_sources="127.0.0.1"))
    with pytest.raises(RefusedError, match="deny_sources"):
        restored.install()
    assert server.log == []


def test_a_redirect_or_an_archive_on_another_host_does_not_pass(tmp_path: Path, server: Site) -> None:
    server.routes["/acme/moved.zip"] = redirect(f"{server.other}/acme/pdf.zip")
    server.routes["/skills/far"] = Answer(
        f'{{"name": "far", "version": "1.0.0", "download_url": "{server.other}/acme/pdf.zip"}}'.encode()
    )
    server.routes["/acme/old.git/info/refs"] = redirect(f"{server.other}/acme/r.git/info/refs?service=git-upload-pack")
    user = rules(allow_sources="127.0.0.1") + f'[skills.sources.corp]\nurl = "{server.url}/skills"\n'
    for ref in (f"{server.url}/acme/moved.zip", "corp:far", f"git+{server.url}/acme/old.git"):
        with pytest.raises(RefusedError, match="localhost"):
            app(tmp_path, user=user).install(ref)


def test_the_user_narrows_what_the_administrator_allows_and_cannot_widen_it(tmp_path: Path, server: Site) -> None:
    ref = f"{server.url}/acme/pdf.zip"
    system = rules(allow_sources="127.0.0.1/acme")
    app(tmp_path, system=system).install(ref)
    for user in (rules(allow_sources="127.0.0.1/other"), rules(deny_sources="127.0.0.1/acme/pdf.zip")):
        with pytest.raises(RefusedError, match=r"\.metier/config\.toml:2"):
            app(tmp_path, system=system, user=user).install(ref)
    for allowed in ("*", "path"):
        with pytest.raises(RefusedError, match=r"etc/config\.toml:2"):
            app(tmp_path, system=system, user=rules(allow_sources=allowed)).install(str(tmp_path / "git"))
    with pytest.raises(RefusedError, match=r"etc/config\.toml:2"):
        app(tmp_path, system=system, METIER_INSTALL_ALLOW_SOURCES="*").install("path/x/y")


def test_a_project_has_no_say(tmp_path: Path, server: Site) -> None:
    asking = app(
        tmp_path, system=rules(deny_sources="127.0.0.1"), project=rules(allow_sources="*", deny_sources="nothing.example")
    )
    with pytest.raises(RefusedError, match="deny_sources"):
        asking.install(f"{server.url}/acme/pdf.zip")
    assert [warning.rpartition(": ")[2] for warning in asking.settings.warnings] == [
        "install.allow_sources is ignored, because a project cannot set it",
        "install.deny_sources is ignored, because a project cannot set it",
    ]


@pytest.mark.parametrize("pattern", ["a b", "", "https://"])
def test_a_pattern_that_is_none_is_an_error_with_its_line(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.toml:2"):
        app(tmp_path, user=rules(allow_sources=pattern)).install("./x")
