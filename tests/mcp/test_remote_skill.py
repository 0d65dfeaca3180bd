"""Validation of an entry and of its files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text
from mcp_fake_server import entry_of
from metier.errors import ConfigError, NotFoundError, RefusedError, UnavailableError
from metier.mcp.remote_files import RemoteSkillFiles
from metier.mcp.remote_servers import Listings, RemoteServer, read_servers
from metier.mcp.remote_skill import RemoteSkill, labelled, offer_of_remote, read_entry

TEXT = skill_text("refunds", head="metadata:\n  version: 1.0\nversion: 2\n").encode()
FILES = {"SKILL.md": TEXT, "notes.md": b"notes", "scripts/go.sh": b"echo refunded\n"}


def honest(**head: Any) -> dict[str, Any]:
    return entry_of("refunds", FILES, **{"metadata": {"version": "1.0"}, "version": 2, **head})


def skill(entry: dict[str, Any] | None = None) -> RemoteSkill:
    return labelled([read_entry("acme", entry or honest())])[0]


def test_an_honest_entry_is_taken_under_a_name_that_names_its_server() -> None:
    found = skill()
    assert found.label == "acme:refunds"
    assert found.folder == "mcp://acme/refunds"
    assert found.files is not None
    assert list(found.files) == list(FILES)
    offer = offer_of_remote(found)
    assert offer.name == "acme:refunds"
    assert offer.description == "Does it. Use when asked. (From the MCP server acme.)"


def changed(**changes: Any) -> dict[str, Any]:
    return {**honest(), **changes}


def file_row(**changes: Any) -> dict[str, Any]:
    entry = copy.deepcopy(honest())
    entry["resources"][1].update(changes)
    return entry


@pytest.mark.parametrize(
    "entry",
    [
        None, [], {}, changed(uri="skill://refunds/skill.md"), changed(uri="skill://other/SKILL.md"), changed(uri=7),
        changed(uri="SKILL.md"), changed(uri="skill://refunds/SKILL.md?x=1"), changed(frontmatter=None),
        changed(frontmatter={"name": "refunds"}), changed(frontmatter={"name": "refunds", "description": " "}),
        changed(frontmatter={"name": "refunds", "description": "x" * 1025}),
        changed(frontmatter={"name": "Refunds", "description": "x"}), changed(resources=None), changed(resources="static"),
        changed(resources=[]), changed(resources=honest()["resources"][1:]), changed(resources=honest()["resources"] * 2),
        changed(resources=honest()["resources"] * 200), file_row(digest="sha256:" + "A" * 64), file_row(digest="md5:1"),
        file_row(digest=None), file_row(size=-1), file_row(size="5"), file_row(size=True), file_row(size=16 * 1024 * 1024),
        file_row(uri="skill://refunds/../x"), file_row(uri="skill://refunds/%2e%2e/x"), file_row(uri="skill://refunds/a%2fb"),
        file_row(uri="skill://refunds-evil/x"), file_row(uri="file:/etc/passwd"), file_row(uri="skill://refunds/a//b"),
        file_row(uri="skill://refunds/./SKILL.md"), file_row(uri="skill://refunds/%00"), file_row(uri="skill://refunds/~/x"),
        file_row(uri="skill://refunds/notes.md#x"), file_row(uri=None), file_row(uri="skill://refunds/scripts"),
        changed(uri="skill://a\nb/refunds/SKILL.md"), changed(uri="skill://\u202erefunds/refunds/SKILL.md"),
    ],
)  # fmt: skip
def test_an_entry_that_breaks_a_rule_is_not_taken(entry: Any) -> None:
    with pytest.raises(RefusedError) as caught:
        read_entry("acme", entry)
    assert caught.value.rule == "mcp-entry"


def test_the_limits_that_every_host_must_accept_are_accepted() -> None:
    files = {"SKILL.md": TEXT, **{f"{number}.txt": b"x" for number in range(511)}}
    found = read_entry("acme", entry_of("refunds", files))
    assert found.files is not None
    assert len(found.files) == 512
    entry = file_row(size=16 * 1024 * 1024 - len(TEXT) - len(FILES["scripts/go.sh"]))
    assert read_entry("acme", entry).files


def test_two_skills_of_one_name_on_one_server_are_distinguished_by_their_paths() -> None:
    first, second = entry_of("refunds", FILES, path="eu/refunds"), entry_of("refunds", FILES, path="us/refunds")
    found = labelled([read_entry("acme", first), read_entry("acme", second)])
    assert [each.label for each in found] == ["acme:eu/refunds", "acme:us/refunds"]


def test_any_change_of_the_set_of_files_or_of_the_frontmatter_is_another_digest() -> None:
    digests = {
        skill().digest,
        skill(file_row(size=6)).digest,
        skill(file_row(digest="sha256:" + "0" * 64)).digest,
        skill(changed(resources=honest()["resources"][:2])).digest,
        skill(honest(license="MIT")).digest,
        labelled([read_entry("other", honest())])[0].digest,
    }
    assert len(digests) == 6
    assert skill().digest == skill().digest
    assert skill(changed(resources="dynamic")).digest == ""


# --- files ------------------------------------------------------------------------------------------------------------


class Server:
    """A server's responses, and the requests it received."""

    def __init__(self, **changes: bytes) -> None:
        self.files = {**FILES, **{name.replace("_", "."): data for name, data in changes.items()}}
        self.asked: list[str] = []

    def __call__(self, server: str, uri: str) -> bytes:
        assert server == "acme"
        self.asked.append(uri)
        return self.files[uri.removeprefix("skill://refunds/")]


def files(tmp_path: Path, fetch: Server | None, entry: dict[str, Any] | None = None) -> RemoteSkillFiles:
    return RemoteSkillFiles(skill(entry), cache=str(tmp_path / "cache"), fetch=fetch)


def test_only_files_that_are_read_are_fetched_and_only_once(tmp_path: Path) -> None:
    server = Server()
    held = files(tmp_path, server)
    assert [file.path for file in held.list()] == ["SKILL.md", "notes.md", "scripts/go.sh"]
    assert held.digest
    assert server.asked == []
    assert held.read("notes.md", limit=100) == b"notes"
    assert files(tmp_path, None).read("notes.md", limit=100) == b"notes"
    assert server.asked == ["skill://refunds/notes.md"]
    with pytest.raises(UnavailableError):
        files(tmp_path, None).read("SKILL.md", limit=10_000)


@pytest.mark.parametrize(
    ("sent", "path", "rule"),
    [
        ({"notes_md": b"other"}, "notes.md", "mcp-digest"),
        ({"notes_md": b"notes and more"}, "notes.md", "mcp-size"),
        ({"notes_md": b""}, "notes.md", "mcp-size"),
        ({"SKILL_md": TEXT.replace(b"Do it.", b"Rob it")}, "SKILL.md", "mcp-digest"),
    ],
)
def test_a_file_with_another_size_or_digest_is_not_used_and_not_kept(
    tmp_path: Path, sent: dict[str, bytes], path: str, rule: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        files(tmp_path, Server(**sent)).read(path, limit=10_000)
    assert caught.value.rule == rule
    assert not list((tmp_path / "cache").rglob("*"))


@pytest.mark.parametrize(
    "head",
    [{"description": "Harmless."}, {"license": "MIT"}, {"metadata": {"version": "1.1"}}, {"metadata": {}}, {"version": 3},
     {"allowed-tools": "Bash"}],
)  # fmt: skip
def test_a_skill_md_that_says_other_things_than_its_entry_is_not_used(tmp_path: Path, head: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as caught:
        files(tmp_path, Server(), honest(**head)).read("SKILL.md", limit=10_000)
    assert caught.value.rule == "mcp-frontmatter"


@pytest.mark.parametrize("head", [{"metadata": {"version": 1.0}}, {"version": "2"}])
def test_a_number_may_be_sent_as_a_number_or_as_text(tmp_path: Path, head: dict[str, Any]) -> None:
    assert files(tmp_path, Server(), honest(**head)).read("SKILL.md", limit=10_000) == TEXT


def test_nothing_is_asked_for_that_the_entry_does_not_list(tmp_path: Path) -> None:
    server = Server()
    held = files(tmp_path, server)
    with pytest.raises(NotFoundError):
        held.read("secrets.md", limit=100)
    with pytest.raises(RefusedError):
        held.read("../notes.md", limit=100)
    with pytest.raises(RefusedError):
        held.read("notes.md", limit=4)
    assert server.asked == []


def test_a_file_changed_on_disk_is_fetched_again(tmp_path: Path) -> None:
    server = Server()
    held = files(tmp_path, server)
    held.read("notes.md", limit=100)
    (kept,) = (file for file in (tmp_path / "cache").rglob("*") if file.is_file())
    kept.write_bytes(b"other")
    assert held.read("notes.md", limit=100) == b"notes"
    assert len(server.asked) == 2


def test_a_folder_to_run_in_holds_exactly_the_listed_files(tmp_path: Path) -> None:
    held = files(tmp_path, Server())
    folder = Path(held.folder())
    (folder / "conftest.py").write_text("evil")
    (folder / "notes.md").write_text("other")
    (folder / "scripts/link").symlink_to("/etc")
    assert Path(held.folder()) == folder
    found = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert found == FILES


def test_a_generated_skill_can_be_read_but_never_pinned_or_run(tmp_path: Path) -> None:
    held = files(tmp_path, Server(), changed(resources="dynamic"))
    assert held.read("SKILL.md", limit=10_000) == TEXT
    assert held.digest == ""
    with pytest.raises(UnavailableError):
        held.folder()
    assert not (tmp_path / "cache").exists()


# --- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        {"a": {}}, {"a": {"command": "x", "url": "https://x"}}, {"A b": {"command": "x"}}, {"a": {"url": "http://example.com"}},
        {"a": {"command": 1}}, {"a": {"command": "x", "args": "y"}}, {"a": {"command": "x", "env": {"A": 1}}},
        {"a": "x"}, {"a": {"url": "http://localhost.evil.example"}},
        {"a": {"command": "x", "enabled": "no"}},
    ],
)  # fmt: skip
def test_a_wrong_server_is_named(table: Any) -> None:
    with pytest.raises(ConfigError):
        read_servers(table)


def test_a_secret_comes_from_the_environment_and_is_in_no_file(tmp_path: Path) -> None:
    (server,) = read_servers({"acme": {"url": "https://x.example/mcp", "auth": "bearer:${ACME}"}})
    assert server.headers({"ACME": "s3cret"}) == {"Authorization": "Bearer s3cret"}
    with pytest.raises(ConfigError, match="ACME"):
        server.headers({})
    assert "s3cret" not in server.identity
    with pytest.raises(ConfigError):
        RemoteServer(name="a", url="https://x", auth="basic:x").headers({})


def test_a_name_that_leads_elsewhere_starts_anew(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    listings = Listings(str(tmp_path / "listings.json"))
    first, second = RemoteServer(name="acme", url="https://one.example"), RemoteServer(name="acme", url="https://two.example")
    assert listings.keep(first, [honest()], now=datetime.now(UTC)).skills
    assert listings.of(first).skills
    assert listings.of(second) == type(listings.of(second))(server=second)
    (tmp_path / "listings.json").write_text('{"version": 1, "servers": {"acme": 7}}')
    assert listings.of(first).skills == ()
