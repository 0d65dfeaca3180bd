"""Skills out of git without a checkout, against real git servers and repositories that are built to do harm."""

from __future__ import annotations

import base64
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from builders import skill_text
from install.servers import Answer, Repository, authority, git_daemon, redirect, site
from metier.archive import ArchiveLimits, Link
from metier.errors import MetierError, NotFoundError, RefusedError, UnavailableError
from metier.install.fetch.credentials import Credentials, RegistrySource
from metier.install.fetch.http import HttpClient
from metier.install.git.git_errors import explain
from metier.install.git.objects import GitTree, Objects
from metier.install.git.program import GitProgram, find_git
from metier.install.git.remote import GitRemote
from metier.values import replace

SKILL = skill_text("a")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "srv" / "r.git")


@pytest.fixture(autouse=True)
def no_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever happens, no repository stays behind in the temporary folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []


def variables(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **more}


def remote(
    url: str,
    tmp_path: Path,
    *,
    credentials: Credentials | None = None,
    timeout: float = 30.0,
    more: Mapping[str, str] | None = None,
) -> GitRemote:
    environment = variables(tmp_path, **(more or {}))
    http = HttpClient(environment=environment, timeout=timeout, sleep=lambda _seconds: None)
    program = find_git(environment, timeout=timeout)
    return GitRemote(url=url, program=program, http=http, credentials=credentials or Credentials(), allow_file=True)


def local(repository: Repository, tmp_path: Path, more: Mapping[str, str] | None = None) -> GitRemote:
    return remote(f"file://{repository.folder}", tmp_path, more=more)


def head(here: GitRemote) -> str:
    return here.resolve([(None, "")]).commit


def paths(tree: GitTree, folder: str = "") -> list[str]:
    return [entry.path for entry in tree.contents(folder).list()]


def test_the_default_branch_is_the_remotes_own_head(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    trunk = repository.commit({"SKILL.md": SKILL, "x": "1"}, branch="trunk")
    repository.run("symbolic-ref", "HEAD", "refs/heads/trunk")
    found = local(repository, tmp_path).resolve([(None, "")])
    assert (found.commit, found.ref) == (trunk, "trunk")


def test_branches_tags_annotated_tags_and_commits_are_found(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit({"SKILL.md": SKILL})
    repository.tag("v1")
    repository.tag("v1a", annotated=True)
    second = repository.commit({"SKILL.md": SKILL, "x": "1"})
    here = local(repository, tmp_path)
    meant = {"main": second, "v1": first, "v1a": first, "refs/tags/v1a": first, "refs/heads/main": second, first: first}
    for ref, commit in meant.items():
        assert here.resolve([(ref, "")]).commit == commit, ref


def test_a_branch_with_slashes_is_distinguished_from_a_path_by_asking_the_remote(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": SKILL})
    repository.commit({"libs/a/SKILL.md": SKILL}, branch="fix/ABC-1")
    readings = [("fix/ABC-1/libs/a", ""), ("fix/ABC-1/libs", "a"), ("fix/ABC-1", "libs/a"), ("fix", "ABC-1/libs/a")]
    found = local(repository, tmp_path).resolve(readings)
    assert (found.ref, found.path) == ("fix/ABC-1", "libs/a")


def test_a_ref_that_is_not_there_is_not_found_and_the_hint_names_some_that_are(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    with pytest.raises(NotFoundError) as caught:
        local(repository, tmp_path).resolve([("nope", "")])
    assert "main" in caught.value.hint


def test_i25_a_short_commit_id_is_not_a_commit(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"SKILL.md": SKILL})
    with pytest.raises(NotFoundError, match="no branch or tag") as caught:
        local(repository, tmp_path).resolve([(commit[:8], "")])
    assert "40" in caught.value.hint


def test_an_empty_repository_says_so(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="is empty"):
        local(repository, tmp_path).resolve([(None, "")])


def test_i25_what_was_resolved_is_what_is_fetched_though_the_branch_moves(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL, "x": "old"})
    here = local(repository, tmp_path)
    commit = head(here)
    repository.commit({"SKILL.md": SKILL, "x": "new"})
    with here.tree(commit) as tree:
        assert tree.contents("").read("x", limit=10) == b"old"


def test_files_links_and_execute_bits_are_preserved(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"s/SKILL.md": SKILL, "s/run.sh": ("100755", "x"), "s/l": ("120000", "run.sh"), "other": "1"})
    here = local(repository, tmp_path)
    with here.tree(head(here)) as tree:
        contents = tree.contents("s")
    assert [(entry.path, entry.executable) for entry in contents.list()] == [("SKILL.md", False), ("run.sh", True)]
    assert contents.links == (Link("l", "run.sh"),)


def test_only_the_wanted_files_are_transferred(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"s/SKILL.md": SKILL, "huge": os.urandom(3 << 20)})
    grown: list[int] = []
    here = local(repository, tmp_path)
    here.grown = grown.append
    with here.tree(head(here)) as tree:
        assert paths(tree, "s") == ["SKILL.md"]
        folder = Path(tree._objects._folder)
        assert sum(file.stat().st_size for file in folder.rglob("*.pack")) < 100_000


def test_a_server_that_cannot_filter_is_good_enough(repository: Repository, tmp_path: Path) -> None:
    repository.plain().commit({"s/SKILL.md": SKILL})
    with git_daemon(tmp_path / "srv") as url:
        here = remote(f"{url}/r.git", tmp_path)
        with here.tree(head(here)) as tree:
            assert paths(tree, "s") == ["SKILL.md"]


def test_an_older_commit_is_fetched_by_its_id(repository: Repository, tmp_path: Path) -> None:
    first = repository.plain().commit({"SKILL.md": SKILL, "x": "1"})
    repository.commit({"SKILL.md": SKILL})
    with git_daemon(tmp_path / "srv") as url, remote(f"{url}/r.git", tmp_path).tree(first) as tree:
        assert paths(tree) == ["SKILL.md", "x"]


def test_https_with_an_authority_of_its_own(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    ca, file = authority(tmp_path)
    with site(ca=ca, git_root=tmp_path / "srv") as server:
        here = remote(f"{server.url}/r.git", tmp_path, more={"SSL_CERT_FILE": file})
        with here.tree(head(here)) as tree:
            assert paths(tree) == ["SKILL.md"]
        with pytest.raises(MetierError):
            remote(f"{server.url}/r.git", tmp_path).refs()


def test_a_private_repository_opens_with_the_users_own_credential_helper(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    with site(git_root=tmp_path / "srv", password="me:s3cret") as server:
        (tmp_path / ".gitconfig").write_text('[credential]\n\thelper = "!f() { echo username=me; echo password=s3cret; }; f"\n')
        here = remote(f"{server.url}/r.git", tmp_path)
        with here.tree(head(here)) as tree:
            assert paths(tree) == ["SKILL.md"]


def test_a_private_repository_without_credentials_is_refused_at_once_without_a_prompt(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": SKILL})
    asked = tmp_path / "asked"
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\ntouch {asked}\necho x\n")
    ask.chmod(0o755)
    with site(git_root=tmp_path / "srv", password="me:s3cret") as server, pytest.raises(RefusedError) as caught:
        remote(f"{server.url}/r.git", tmp_path, more={"GIT_ASKPASS": str(ask), "SSH_ASKPASS": str(ask), "DISPLAY": ":0"}).refs()
    assert caught.value.rule == "git-credentials"
    assert not asked.exists()


def test_a_header_of_the_users_reaches_the_server_and_not_the_command_line(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    basic = "Basic " + base64.b64encode(b"me:s3cret").decode()
    with site(git_root=tmp_path / "srv", password="me:s3cret") as server:
        here = remote(
            f"{server.url}/r.git", tmp_path, credentials=Credentials(headers=(("Authorization", basic),), origin=server.url)
        )
        assert here.refs().head
        source = RegistrySource(name="x", url=server.url, auth="bearer:${T}")
        with pytest.raises(RefusedError):
            remote(f"{server.url}/r.git", tmp_path, credentials=Credentials(sources=(source,), environment={"T": "t"})).refs()
        assert server.log[-1].headers["authorization"] == "Bearer t"


def test_a_forges_token_is_used_only_after_it_has_refused_us(repository: Repository, tmp_path: Path) -> None:
    class Known(Credentials):
        def token(self, url: str) -> str | None:
            return "s3cret" if url.startswith("http://127") else None

    repository.commit({"SKILL.md": SKILL})
    with site(git_root=tmp_path / "srv", password="x-access-token:s3cret") as server:
        assert remote(f"{server.url}/r.git", tmp_path, credentials=Known()).refs().head
        sent = ["authorization" in seen.headers for seen in server.log]
        assert sent[0] is False
        assert sent[-1] is True


def test_i36_a_repository_that_moved_to_another_host_gets_no_header(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    with site(git_root=tmp_path / "srv") as new, site() as old:
        old.routes["/old.git/info/refs"] = redirect(f"{new.url}/r.git/info/refs?service=git-upload-pack", 301)
        here = remote(
            f"{old.url}/old.git", tmp_path, credentials=Credentials(headers=(("X-Api-Key", "s3cret"),), origin=old.url)
        )
        with here.tree(head(here)) as tree:
            assert paths(tree) == ["SKILL.md"]
        assert old.log[0].headers["x-api-key"] == "s3cret"
        assert not any("x-api-key" in seen.headers for seen in new.log)


def test_a_repository_that_was_renamed_on_its_own_host_is_followed_with_its_header(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"SKILL.md": SKILL})
    with site(git_root=tmp_path / "srv") as server:
        server.routes["/old.git/info/refs"] = redirect("/r.git/info/refs?service=git-upload-pack", 301)
        here = remote(
            f"{server.url}/old.git", tmp_path, credentials=Credentials(headers=(("X-Api-Key", "k"),), origin=server.url)
        )
        assert here.refs().head
        assert server.log[-1].headers["x-api-key"] == "k"


def test_a_redirect_of_a_repository_into_another_network_is_refused(tmp_path: Path) -> None:
    with site({"/r.git/info/refs": redirect("http://169.254.169.254/r.git/info/refs?service=git-upload-pack")}) as server:
        with pytest.raises(RefusedError) as caught:
            remote(f"{server.url}/r.git", tmp_path).refs()
        assert caught.value.rule == "redirect-inside"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, NotFoundError), (401, RefusedError), (403, RefusedError), (500, UnavailableError), (503, UnavailableError)],
)
def test_messages_of_git_servers_become_the_right_error(tmp_path: Path, status: int, kind: type[Exception]) -> None:
    with site({"/r.git/info/refs": Answer(status=status)}) as server, pytest.raises(kind):
        remote(f"{server.url}/r.git", tmp_path).refs()


def test_a_refused_connection_is_unavailable_and_retryable(tmp_path: Path) -> None:
    with site() as server:
        gone = server.url
    with pytest.raises(UnavailableError) as caught:
        remote(f"{gone}/r.git", tmp_path).refs()
    assert caught.value.retryable


def test_without_git_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        find_git({"PATH": str(tmp_path)})
    assert "install git" in caught.value.hint
    assert not caught.value.retryable


def test_a_git_that_is_too_old_to_be_safe_is_not_used(tmp_path: Path) -> None:
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.9\n")
    old.chmod(0o755)
    with pytest.raises(UnavailableError, match="too old") as caught:
        find_git({"PATH": str(tmp_path)})
    assert "2.31" in caught.value.hint


def test_i26_a_slow_server_is_left_at_the_deadline_and_leaves_no_process(tmp_path: Path) -> None:
    slow = Answer(b"x" * 400, drip=(1, 0.05), headers={"Content-Type": "application/x-git-upload-pack-advertisement"})
    with site({"/r.git/info/refs": slow}) as server, pytest.raises(UnavailableError, match="took longer than 1 seconds"):
        remote(f"{server.url}/r.git", tmp_path, timeout=1.0).refs()


def test_a_silent_server_is_left(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/r.git"
        here = remote(url, tmp_path, timeout=60.0)
        quick = replace(here, program=replace(here.program, silence=1))
        with pytest.raises(UnavailableError, match=r"cannot reach the repository: .*too slow"):
            quick.refs()


def test_i26_a_repository_that_is_too_large_is_stopped(repository: Repository, tmp_path: Path) -> None:
    repository.plain().commit({"SKILL.md": SKILL, **{f"f{n}": os.urandom(1 << 20) for n in range(6)}})
    here = local(repository, tmp_path)
    here.program = GitProgram(path=here.program.path, environment=here.program.environment, most_bytes=2 << 20)
    commit = head(here)
    with pytest.raises(RefusedError, match="more than 2,097,152 bytes"), here.tree(commit) as tree:
        tree.contents("", limits=ArchiveLimits(total=1 << 30))


def git_script(tmp_path: Path, body: str) -> str:
    file = tmp_path / "git"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_endless_output_of_git_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.install.git.program._MOST_OUTPUT", 1 << 20)
    program = GitProgram(path=git_script(tmp_path, "exec cat /dev/zero"), environment=variables(tmp_path))
    with pytest.raises(RefusedError, match="the output of git is too long"):
        program.run(["ls-remote"])


@pytest.mark.parametrize("printed", ["", f"{'a' * 40} blob 10\\nabc", f"{'a' * 40} blob 3\\nabc"])
def test_an_object_that_git_prints_in_part_is_not_read(tmp_path: Path, printed: str) -> None:
    program = GitProgram(path=git_script(tmp_path, f"read line; printf '{printed}'; exec >&-"), environment=variables(tmp_path))
    with Objects(program, str(tmp_path)) as objects, pytest.raises(UnavailableError, match="git ended"):
        objects.read("a" * 40, "blob", limit=1000)


def test_a_git_that_cannot_be_run_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(git_script(tmp_path, ""))
    file.write_bytes(b"\x7fELF, but no program")
    with pytest.raises(UnavailableError, match="cannot be run: exec format error"):
        find_git({"PATH": str(tmp_path)})
    monkeypatch.setattr("metier.install.git.program._START_SECONDS", 0.05)
    git_script(tmp_path, "exec sleep 60")
    with pytest.raises(UnavailableError, match="cannot be run: it takes too long"):
        find_git({"PATH": f"{tmp_path}:/usr/bin:/bin"})


def test_i26_trees_that_name_each_other_many_times_are_a_bomb(repository: Repository, tmp_path: Path) -> None:
    oid = repository.run("hash-object", "-t", "tree", "-w", "--stdin").strip()
    for _ in range(30):
        tree = b"".join(b"40000 " + name + b"\0" + bytes.fromhex(oid) for name in (b"a", b"b", b"c"))
        oid = repository.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=tree).strip()
    commit = repository.run("commit-tree", oid, "-m", "x").strip()
    repository.run("update-ref", "refs/heads/main", commit)
    with local(repository, tmp_path).tree(commit) as tree_, pytest.raises(RefusedError) as caught:
        _ = tree_.nodes
    assert caught.value.rule == "repository-size"


def test_i26_of_a_huge_repository_the_path_that_was_named_is_enough(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.install.git.objects._MOST_ENTRIES", 50)
    commit = repository.commit({"deep/s/SKILL.md": SKILL, **{f"many/{n}": "x" for n in range(60)}})
    with local(repository, tmp_path).tree(commit) as tree, pytest.raises(RefusedError):
        _ = tree.nodes
    with local(repository, tmp_path).tree(commit, below="deep/s") as tree:
        assert paths(tree, "deep/s") == ["SKILL.md"]


def test_a_git_in_the_current_folder_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_git(variables(tmp_path, PATH=f".::{os.environ['PATH']}")).path.startswith("/")
    with pytest.raises(UnavailableError):
        find_git({"PATH": ".:"})


def test_i26_a_huge_file_in_a_skill_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"s/SKILL.md": SKILL, "s/huge": bytes(2 << 20), "s/x": "1"})
    here = local(repository, tmp_path)
    with here.tree(head(here)) as tree:
        with pytest.raises(RefusedError, match="exceeds the limit of 1,048,576"):
            tree.contents("s", limits=ArchiveLimits(file=1 << 20))
        assert tree.read("s/x", limit=10) == b"1"


HOSTILE = {
    "I17 link to a file of the machine": {"s/SKILL.md": SKILL, "s/ref.md": ("120000", "/etc/passwd")},
    "I17 link out of the skill": {"s/SKILL.md": SKILL, "s/ref.md": ("120000", "../secret"), "secret": "1"},
    "I17 link to a folder out of the skill": {"s/SKILL.md": SKILL, "s/refs": ("120000", "../other"), "other/x": "1"},
    "I17 link that is no text": {"s/SKILL.md": SKILL, "s/ref": ("120000", b"\xff\xfe")},
    "I18 submodule in the skill": {"s/SKILL.md": SKILL, "s/sub": ("160000", "1" * 40)},
    "I13 names that differ in case": {"s/SKILL.md": SKILL, "s/skill.md": "x"},
    "I14 names that differ in composition": {"s/SKILL.md": SKILL, "s/é": "1", "s/e\u0301": "2"},
    "I15 device names": {"s/SKILL.md": SKILL, "s/aux.md": "x"},
    "I16 invisible names": {"s/SKILL.md": SKILL, "s/a\u202eb": "x"},
    "I08 too many files": {"s/SKILL.md": SKILL, **{f"s/{n}": "" for n in range(2_000)}},
}


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in HOSTILE.items()])
def test_a_hostile_skill_in_a_repository_is_refused(repository: Repository, tmp_path: Path, files: dict[str, object]) -> None:
    repository.commit(files)  # type: ignore[arg-type]
    here = local(repository, tmp_path)
    with here.tree(head(here)) as tree, pytest.raises(RefusedError):
        tree.contents("s")


@pytest.mark.parametrize("name", ["../x", "..", ".git", "a/b", ".", ".GIT", "git~1"])
def test_i03_a_tree_with_names_that_leave_is_refused(repository: Repository, tmp_path: Path, name: str) -> None:
    commit = repository.raw_commit([("100644", "SKILL.md", SKILL.encode()), ("100644", name, b"evil")])
    with pytest.raises(MetierError), local(repository, tmp_path).tree(commit) as tree:
        tree.contents("")


def test_i18_a_submodule_beside_the_skill_is_left_alone(repository: Repository, tmp_path: Path) -> None:
    modules = '[submodule "x"]\n\tpath = x\n\turl = https://e.example/never\n'
    repository.plain().commit({"s/SKILL.md": SKILL, "x": ("160000", "1" * 40), ".gitmodules": modules})
    here = local(repository, tmp_path)
    with here.tree(head(here)) as tree:
        assert paths(tree, "s") == ["SKILL.md"]


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch {mark}",
        "-cprotocol.ext.allow=always",
        "ext::sh -c 'touch {mark}'",
        "ssh://-oProxyCommand=touch {mark}/x",
        "-oProxyCommand=touch {mark}:x",
    ],
)
def test_i19_to_i22_an_address_never_runs_a_command_even_if_it_gets_this_far(tmp_path: Path, url: str) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(MetierError):
        remote(url.format(mark=mark), tmp_path).refs()
    assert not mark.exists()


def test_i20_a_ref_never_runs_a_command_even_if_it_gets_this_far(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    mark = tmp_path / "mark"
    here = local(repository, tmp_path)
    with pytest.raises(NotFoundError):
        here.resolve([(f"--upload-pack=touch {mark}", "")])
    with pytest.raises(NotFoundError), here.tree(f"--upload-pack=touch {mark}"):
        pass
    assert not mark.exists()


def test_i23_no_hook_filter_template_or_variable_of_the_environment_runs(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL, ".gitattributes": "* filter=evil\n"})
    mark, evil = tmp_path / "mark", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    evil.chmod(0o755)
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    for hook in ("post-checkout", "reference-transaction", "fsmonitor-watchman", "post-index-change", "pre-auto-gc"):
        (hooks / hook).symlink_to(evil)
    (tmp_path / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {hooks}\n\tfsmonitor = {evil}\n\taskPass = {evil}\n[filter "evil"]\n\tsmudge = {evil}\n'
        f'[init]\n\ttemplateDir = {hooks.parent}\n[url "ext::{evil}"]\n\tinsteadOf = file://\n[protocol]\n\tallow = always\n'
    )
    dangerous = {
        "GIT_TEMPLATE_DIR": str(hooks.parent),
        "GIT_EXEC_PATH": "/nonexistent",
        "GIT_DIR": "/nonexistent",
        "GIT_SSH_VARIANT": "x",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": str(hooks),
        "GIT_PROXY_COMMAND": str(evil),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent",
        "GIT_EXTERNAL_DIFF": str(evil),
    }
    here = local(repository, tmp_path, dangerous)
    with here.tree(head(here)) as tree:
        assert paths(tree) == [".gitattributes", "SKILL.md"]
    assert not mark.exists()


def test_i23_large_file_storage_stays_a_pointer(repository: Repository, tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    repository.commit({"SKILL.md": SKILL, "big.bin": pointer, ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"})
    here = local(repository, tmp_path)
    with here.tree(head(here)) as tree:
        assert tree.contents("").read("big.bin", limit=1000).decode() == pointer


def test_i24_a_repository_on_disk_needs_permission(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as caught:
        GitRemote(url=f"file://{repository.folder}", program=find_git(variables(tmp_path)), http=HttpClient())
    assert caught.value.rule == "git-local"


@pytest.mark.parametrize("url", ["http://example.com/r.git", "git://example.com/r.git"])
def test_git_without_encryption_is_refused(tmp_path: Path, url: str) -> None:
    program = find_git(variables(tmp_path))
    with pytest.raises(RefusedError) as caught:
        GitRemote(url=url, program=program, http=HttpClient())
    assert caught.value.rule == "https-only"
    assert GitRemote(url=url, program=program, http=HttpClient(), insecure=True).url == url


def test_ssh_is_the_users_own_and_does_not_ask(repository: Repository, tmp_path: Path) -> None:
    """A program in the place of ssh shows what git calls, and serves the repository."""
    repository.commit({"SKILL.md": SKILL})
    script = tmp_path / "ssh"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\nfor last; do :; done\nexec sh -c "$last"\n')
    script.chmod(0o755)
    here = remote(f"git@example.com:{repository.folder}", tmp_path, more={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    with here.tree(head(here)) as tree:
        assert paths(tree) == ["SKILL.md"]
    called = (tmp_path / "called").read_text()
    assert "-oBatchMode=yes" in called
    assert "git@example.com git-upload-pack" in called


def test_a_password_in_gits_output_is_not_repeated() -> None:
    said = explain(
        "fatal: unable to access 'https://me:s3cret@example.com/r.git/': The requested URL returned error: 403", ["fetch"]
    )
    assert "s3cret" not in str(said)


def test_sha256_repositories_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "r.git"
    repository = Repository(folder)
    repository.run("init", "--quiet", "--bare", "--object-format=sha256", "-b", "main", str(tmp_path / "s.git"), place=False)
    repository.folder = tmp_path / "s.git"
    commit = repository.commit({"SKILL.md": SKILL})
    with local(repository, tmp_path).tree(commit) as tree:
        assert (len(commit), paths(tree)) == (64, ["SKILL.md"])


def test_the_environment_that_git_gets_has_no_word_of_ours_in_its_arguments(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL})
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    real = find_git(variables(tmp_path)).path
    wrapper.write_text(
        f"#!{sys.executable}\nimport os, sys\nopen({str(tmp_path / 'seen')!r}, 'a').write(repr(sys.argv) + chr(10))\n"
        f"os.execv({real!r}, sys.argv)\n"
    )
    wrapper.chmod(0o755)
    with site(git_root=tmp_path / "srv") as server:
        secret = Credentials(headers=(("X-Api-Key", "s3cret"),), origin=server.url)
        here = remote(
            f"{server.url}/r.git", tmp_path, credentials=secret, more={"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
        )
        assert here.refs().head
        assert server.log[-1].headers["x-api-key"] == "s3cret"
    assert "s3cret" not in (tmp_path / "seen").read_text()


def test_a_file_is_as_old_as_its_commit(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"SKILL.md": SKILL, "run.sh": ("100755", "x")})
    here = local(repository, tmp_path)
    with here.tree(head(here)) as tree:
        assert {member.time for member in tree.contents("").members} == {1_700_000_000 * 10**9}
