"""The folders that a client has open are the workspace of the general tools: a real server process and the SDK's client."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ListRootsResult, Root, TextContent

from mcp_servers import environment, run, stdio
from metier.mcp.general_tools import named_roots

both_protocols = pytest.mark.parametrize("mode", ["legacy", "auto"])
LISTS = {"list_files", "read_file", "search_files", "run_command", "run_code", "read_output", "stop_command"}


def root(folder: Path, name: str | None = None) -> Root:
    return Root(uri=folder.as_uri(), name=name)  # type: ignore[arg-type]  # the SDK parses it


class OpenFolders:
    """A user's program with folders open."""

    def __init__(self, *roots: Root) -> None:
        self.roots: Sequence[Root] = roots
        self.asked = 0

    async def __call__(self, context: Any) -> ListRootsResult:  # Any: the SDK's context
        self.asked += 1
        return ListRootsResult(roots=list(self.roots))

    def client(self, server: StdioServerParameters, mode: Any) -> Client:  # Any: the SDK's own words
        return Client(server, mode=mode, list_roots_callback=self, cache=None)


def project(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / "projects" / name
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text(f"notes of {name}\n")
    (folder / ".env").write_text("secret")
    return folder


async def call(client: Client, name: str, **arguments: str) -> tuple[str, bool]:
    reply = await client.call_tool(name, arguments)
    (content,) = reply.content
    assert isinstance(content, TextContent)
    return content.text, bool(reply.is_error)


@both_protocols
def test_the_open_folder_is_the_workspace(tmp_path: Path, mode: str) -> None:
    folder = project(tmp_path, "shop with blanks")

    async def main() -> None:
        async with OpenFolders(root(folder)).client(stdio(tmp_path, "--tools"), mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) >= LISTS
            assert "root" in tools["run_command"].input_schema["properties"]
            text, failed = await call(client, "run_command", command="pwd; ls -A; cat notes.txt; echo x > new || true")
            assert f"{folder}\nnotes.txt\nnotes of shop with blanks" in text
            assert not failed
            assert "notes of shop" in (await call(client, "read_file", path="notes.txt"))[0]

    run(main())
    assert sorted(path.name for path in folder.iterdir()) == [".env", "notes.txt"]


@both_protocols
def test_several_open_folders_are_named_in_a_call(tmp_path: Path, mode: str) -> None:
    folders = [project(tmp_path, "one"), project(tmp_path, "two"), project(tmp_path, "deep/one")]
    roots = [root(folders[0]), root(folders[1], "second"), root(folders[2])]

    async def main() -> None:
        async with OpenFolders(*roots).client(stdio(tmp_path, "--tools"), mode) as client:
            text, failed = await call(client, "read_file", path="notes.txt")
            assert (text, failed) == ("the client has several roots; give one as root: one, second, one-2", True)
            for name, folder in zip(("one", "second", "one-2"), folders, strict=True):
                assert (folder / "notes.txt").read_text().strip() in (
                    await call(client, "read_file", path="notes.txt", root=name)
                )[0]
            text, failed = await call(client, "read_file", path="notes.txt", root="three")
            assert (text, failed) == ("no root is named 'three'; give one of: one, second, one-2", True)

    run(main())


@both_protocols
def test_folders_that_are_opened_later_are_seen(tmp_path: Path, mode: str) -> None:
    one, two = project(tmp_path, "one"), project(tmp_path, "two")
    opened = OpenFolders(root(one))

    async def main() -> None:
        async with opened.client(stdio(tmp_path, "--tools"), mode) as client:
            assert "notes of one" in (await call(client, "read_file", path="notes.txt"))[0]
            opened.roots = [root(two)]
            if mode == "legacy":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the notification is of the earlier protocol
                    await client.send_roots_list_changed()
            assert "notes of two" in (await call(client, "read_file", path="notes.txt"))[0]
            assert opened.asked == 2

    run(main())


@both_protocols
def test_a_root_that_cannot_be_a_workspace_is_refused_with_a_sentence(tmp_path: Path, mode: str) -> None:
    home, refused = tmp_path / "home", project(tmp_path, "refused")
    answers = home / ".metier/workspaces.json"
    answers.parent.mkdir(parents=True)
    answers.write_text(json.dumps({"version": 1, "folders": {str(refused): False}}))
    wanted = {
        home: "your home folder", tmp_path / "missing": "missing is not a folder", refused / "notes.txt": "is not a folder",
        Path("/etc"): "/etc cannot be a workspace", refused: "you answered that scripts may not work in",
    }  # fmt: skip

    async def main() -> None:
        for folder, sentence in wanted.items():
            async with OpenFolders(root(folder)).client(stdio(tmp_path, "--tools"), mode) as client:
                text, failed = await call(client, "run_command", command="ls")
                assert failed
                assert sentence in text

    run(main())


@both_protocols
def test_a_client_without_roots_has_the_named_workspace_or_none(tmp_path: Path, mode: Any) -> None:  # Any: the SDK's own words
    folder = project(tmp_path, "shop")

    async def main() -> None:
        async with Client(stdio(tmp_path, "--tools", "--workspace", str(folder)), mode=mode, cache=None) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "root" not in tools["read_file"].input_schema["properties"]
            assert "notes of shop" in (await call(client, "read_file", path="notes.txt"))[0]
        async with Client(stdio(tmp_path, "--tools"), mode=mode, cache=None) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names & LISTS == {"run_command", "run_code", "read_output", "stop_command"}
            assert "/tmp" in (await call(client, "run_command", command="pwd"))[0]
            text, failed = await call(client, "read_file", path="notes.txt")
            assert (text, failed) == ("read_file needs a folder to work in; start the server with --workspace DIR", True)
        # A client with roots and no folder open has none either, or the named one.
        async with OpenFolders().client(stdio(tmp_path, "--tools", "--workspace", str(folder)), mode) as client:
            assert "notes of shop" in (await call(client, "read_file", path="notes.txt"))[0]

    run(main())


@both_protocols
def test_changes_reach_an_open_folder_only_if_the_policy_allows_it(tmp_path: Path, mode: str) -> None:
    folder = project(tmp_path, "shop")
    server = stdio(tmp_path, "--tools")
    server.env = {**environment(tmp_path), "METIER_POLICY_WORKSPACE_WRITE": "allow"}

    async def main() -> None:
        async with OpenFolders(root(folder)).client(server, mode) as client:
            assert not (await call(client, "write_file", path="out.txt", content="out\n"))[1]

    run(main())
    assert (folder / "out.txt").read_text() == "out\n"


def test_only_addresses_of_files_of_this_machine_are_folders(tmp_path: Path) -> None:
    found = named_roots([Root(uri=uri) for uri in (tmp_path.as_uri(), "file://elsewhere/tmp", "file:///%00")])  # type: ignore[arg-type]
    assert [bool(each.problem) for each in found] == [False, True, True]
    assert found[1].problem == "file://elsewhere/tmp is not a file:// address of this machine"
