"""The server as the official client sees it, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ToolsListChanged
from mcp_types import BlobResourceContents, TextContent, TextResourceContents

from builders import app_in, write_skill
from mcp_servers import Anything, ask, home_skills, run, serving
from metier.mcp import GeneralTools, SkillServer
from metier.mcp.published_skill import EXTENSION
from metier.runtime import Session

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


def skills(tmp_path: Path, *names: str, **options: Any) -> Path:
    root = home_skills(tmp_path)
    for name in names:
        write_skill(root, name, **options)
    return root


def only_ours(answer: Anything, *names: str) -> dict[str, Any]:
    """The entries of these names; what metier brings along is left out."""
    return {entry["frontmatter"]["name"]: entry for entry in answer["skills"] if entry["frontmatter"]["name"] in names}


def text_of(result: Any) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@ERAS
def test_an_entry_has_the_frontmatter_as_it_is_written_and_every_file_with_size_and_digest(tmp_path: Path, mode: str) -> None:
    head = "license: MIT\nmetadata:\n  version: 1.0\nversion: 2.5\ntags: [a, b]\nready: true\n"
    folder = skills(tmp_path, "pdf-forms", head=head) / "pdf-forms"
    (folder / "references").mkdir()
    guide = "caf\u00e9\r\n".encode()
    (folder / "references/a guide.md").write_bytes(guide)

    async def main() -> None:
        async with serving(tmp_path, mode=mode) as client:
            entry = only_ours(await ask(client, "skills/list"), "pdf-forms")["pdf-forms"]
        assert entry["uri"] == "skill://pdf-forms/SKILL.md"
        assert entry["frontmatter"] == {
            "name": "pdf-forms", "description": "Does it. Use when asked.", "license": "MIT", "metadata": {"version": "1.0"},
            "version": 2.5, "tags": ["a", "b"], "ready": True,
        }  # fmt: skip
        data = (folder / "SKILL.md").read_bytes()
        assert entry["resources"] == [
            {"uri": "skill://pdf-forms/SKILL.md", "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)},
            {
                "uri": "skill://pdf-forms/references/a%20guide.md",
                "digest": f"sha256:{hashlib.sha256(guide).hexdigest()}",
                "size": 7,
            },
        ]

    run(main())


def test_the_extension_and_directory_reads_are_declared(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as client:
            capabilities = client.server_capabilities
            assert client.protocol_version == "2026-07-28"
            assert capabilities.extensions == {EXTENSION: {"directoryRead": True}}
            assert capabilities.resources is not None
            listing = await ask(client, "skills/list")
            assert (listing["ttlMs"], listing["cacheScope"]) == (0, "private")

    run(main())


@ERAS
def test_every_listed_file_reads_as_the_bytes_that_were_summed_up(tmp_path: Path, mode: str) -> None:
    folder = skills(tmp_path, "pdf-forms") / "pdf-forms"
    (folder / "assets").mkdir()
    for name, data in {"a.png": b"\x89PNG\x00", "latin.txt": b"caf\xe9", "bom.md": b"\xef\xbb\xbfhi\r\n", "empty": b""}.items():
        (folder / "assets" / name).write_bytes(data)

    async def main() -> None:
        async with serving(tmp_path, mode=mode) as client:
            entry = (await ask(client, "skills/get", uri="skill://pdf-forms/SKILL.md"))["skill"]
            assert len(entry["resources"]) == 5
            for listed in entry["resources"]:
                (content,) = (await client.read_resource(listed["uri"])).contents
                data = base64.b64decode(content.blob) if isinstance(content, BlobResourceContents) else content.text.encode()
                assert (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") == (listed["size"], listed["digest"])

    run(main())


@pytest.mark.parametrize(
    "uri",
    [
        "skill://pdf-forms/../../x", "skill://pdf-forms/%2e%2e/x", "skill://pdf-forms/references%2f..%2fSKILL.md",
        "skill://pdf-forms/node_modules/x.js", "skill://pdf-forms/link.md", "skill://pdf-forms/inside.md", "skill://pdf-forms",
        "skill://missing/SKILL.md", "skill://pdf-forms/SKILL.md?x", "file:///etc/passwd", "skill://pdf-forms/%ff", "skill:///SKILL.md",
    ],
)  # fmt: skip
def test_only_files_listed_in_an_entry_are_read(tmp_path: Path, uri: str) -> None:
    folder = skills(tmp_path, "pdf-forms") / "pdf-forms"
    (folder / "node_modules").mkdir()
    (folder / "node_modules/x.js").write_text("1")
    (tmp_path / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "inside.md").symlink_to("SKILL.md")

    async def main() -> None:
        async with serving(tmp_path) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
        assert caught.value.error.code == -32602
        assert caught.value.error.data["uri"] == uri

    run(main())


def test_a_skill_that_is_closed_to_models_is_unlisted_and_still_answered_for(tmp_path: Path) -> None:
    skills(tmp_path, "deploy", head="disable-model-invocation: true")

    async def main() -> None:
        async with serving(tmp_path) as client:
            assert not only_ours(await ask(client, "skills/list"), "deploy")
            assert "deploy" not in {resource.name for resource in (await client.list_resources()).resources}
            assert (await ask(client, "skills/get", uri="skill://deploy/SKILL.md"))["skill"]["frontmatter"]["name"] == "deploy"
            assert "deploy" in {prompt.name for prompt in (await client.list_prompts()).prompts}
            loaded = await client.call_tool("read_skill_resource", {"skill_name": "deploy", "resource_name": "SKILL.md"})
            assert loaded.is_error

    run(main())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Bad_Name", {}),
        ("nested", {"head": "metadata:\n  x: {a: 1}\n"}),
        ("listed-tools", {"head": "allowed-tools: [Read, Grep]\n"}),
        ("wordy", {"description": "x" * 1025}),
    ],
)
def test_skills_that_break_the_extension_are_hidden_from_it_but_not_from_the_tools(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    skills(tmp_path, name, **options)
    skills(tmp_path, "good")

    async def main() -> None:
        async with serving(tmp_path) as client:
            assert set(only_ours(await ask(client, "skills/list"), name, "good")) == {"good"}
            loaded = await client.call_tool("load_skill", {"skill_name": name})
            assert "Do it." in text_of(loaded)

    run(main())


def test_a_skill_over_the_limits_of_the_extension_is_withheld(tmp_path: Path) -> None:
    root = skills(tmp_path, "many", "full", "large")
    for number in range(512):
        (root / "many" / f"{number}.txt").write_text("x")
        if number < 511:
            (root / "full" / f"{number}.txt").write_text("x")
    with open(root / "large/big.bin", "wb") as stream:
        stream.truncate(16 * 1024 * 1024)

    async def main() -> None:
        async with serving(tmp_path) as client:
            assert set(only_ours(await ask(client, "skills/list"), "many", "full", "large")) == {"full"}

    run(main())


def test_a_folder_lists_what_is_directly_in_it(tmp_path: Path) -> None:
    folder = skills(tmp_path, "pdf-forms") / "pdf-forms"
    (folder / "references/deep").mkdir(parents=True)
    (folder / "references/deep/a.md").write_text("a")
    (folder / "references/b.md").write_text("b")

    async def children(client: Any, uri: str) -> dict[str, str]:
        answer = await ask(client, "resources/directory/read", uri=uri)
        return {child["uri"]: child["mimeType"] for child in answer["resources"]}

    async def main() -> None:
        async with serving(tmp_path) as client:
            assert await children(client, "skill://pdf-forms") == {
                "skill://pdf-forms/SKILL.md": "text/markdown", "skill://pdf-forms/references": "inode/directory",
            }  # fmt: skip
            assert await children(client, "skill://pdf-forms/references/") == {
                "skill://pdf-forms/references/b.md": "text/markdown", "skill://pdf-forms/references/deep": "inode/directory",
            }  # fmt: skip
            for uri in ("skill://pdf-forms/SKILL.md", "skill://pdf-forms/nothing", "skill://missing", "skill://pdf-forms/../x"):
                with pytest.raises(MCPError) as caught:
                    await children(client, uri)
                assert caught.value.error.code == -32602

    run(main())


def test_a_long_listing_is_complete_over_its_pages(tmp_path: Path) -> None:
    names = [f"skill-{number:03}" for number in range(300)]
    skills(tmp_path, *names)

    async def main() -> None:
        async with serving(tmp_path) as client:
            found, cursor, pages = [], None, 0
            while pages == 0 or cursor:
                answer = await ask(client, "skills/list", **({"cursor": cursor} if cursor else {}))
                found += [entry["frontmatter"]["name"] for entry in answer["skills"]]
                cursor, pages = (answer.model_extra or {}).get("nextCursor"), pages + 1
            assert pages == 2
            assert len(found) == len(set(found))
            assert set(names) <= set(found)
            first = await client.list_resources()
            assert len(first.resources) == 250
            assert first.next_cursor
            with pytest.raises(MCPError, match="not a cursor"):
                await ask(client, "skills/list", cursor="nonsense")

    run(main())


def test_clients_of_the_earlier_shapes_find_a_manifest_and_an_index(tmp_path: Path) -> None:
    skills(tmp_path, "pdf-forms")

    async def main() -> None:
        async with serving(tmp_path) as client:
            (content,) = (await client.read_resource("skill://pdf-forms/_manifest")).contents
            assert isinstance(content, TextResourceContents)
            manifest = json.loads(content.text)
            assert manifest["skill"] == "pdf-forms"
            assert [file["path"] for file in manifest["files"]] == ["SKILL.md"]
            (content,) = (await client.read_resource("skill://index.json")).contents
            assert isinstance(content, TextResourceContents)
            row = next(row for row in json.loads(content.text)["skills"] if row["name"] == "pdf-forms")
            assert (row["type"], row["url"]) == ("skill-md", "skill://pdf-forms/SKILL.md")
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "skill://{name}/{+path}"

    run(main())


@ERAS
def test_the_tools_find_load_and_read_a_skill_and_say_what_is_wrong(tmp_path: Path, mode: str) -> None:
    folder = skills(tmp_path, "pdf-forms", description="Fills in PDF forms. Use when a form must be filled.") / "pdf-forms"
    (folder / "references").mkdir()
    (folder / "references/guide.md").write_text("the guide")

    async def main() -> None:
        async with serving(tmp_path, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["search_skills", "load_skill", "read_skill_resource"]
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())
            found = await client.call_tool("search_skills", {"query": "fill in a PDF form"})
            assert text_of(found).startswith("- pdf-forms: Fills in PDF forms.")
            for _ in range(2):
                # The second time too: the server cannot know what the model still remembers.
                assert text_of(await client.call_tool("load_skill", {"skill_name": "pdf-forms"})).startswith("<skill_content")
            read = {"skill_name": "pdf-forms", "resource_name": "references/guide.md"}
            assert "the guide" in text_of(await client.call_tool("read_skill_resource", read))
            wrong = await client.call_tool("read_skill_resource", {**read, "resource_name": "../../../etc/passwd"})
            assert wrong.is_error
            assert "leaves the skill" in text_of(wrong)
            assert (await client.call_tool("load_skill", {"skill_name": "pdf-form"})).is_error
            with pytest.raises(MCPError):
                await client.call_tool("run_skill_script", {"skill_name": "pdf-forms", "script_name": "scripts/x.py"})

    run(main())


def test_scripts_run_only_where_that_was_allowed_and_in_the_sandbox(tmp_path: Path) -> None:
    folder = skills(tmp_path, "greet") / "greet"
    (folder / "scripts").mkdir()
    (folder / "scripts/hello.sh").write_text("#!/bin/sh\necho hello $1; touch /escaped 2>/dev/null || echo confined\n")

    async def main() -> None:
        async with serving(tmp_path, scripts=True) as client:
            assert "run_skill_script" in {tool.name for tool in (await client.list_tools()).tools}
            asked = {"skill_name": "greet", "script_name": "scripts/hello.sh", "args": ["you"]}
            text = text_of(await client.call_tool("run_skill_script", asked))
            assert "hello you" in text
            assert "confined" in text

    run(main())
    assert not Path("/escaped").exists()


def test_a_policy_that_forbids_scripts_holds_here_too(tmp_path: Path) -> None:
    folder = skills(tmp_path, "greet") / "greet"
    (folder / "scripts").mkdir()
    (folder / "scripts/hello.sh").write_text("echo hello\n")
    (tmp_path / "home/.metier/config.toml").write_text('[policy]\nscripts = "deny"\n')

    async def main() -> None:
        async with serving(tmp_path, scripts=True) as client:
            result = await client.call_tool("run_skill_script", {"skill_name": "greet", "script_name": "hello.sh"})
            assert result.is_error
            assert "may not use" in text_of(result)

    run(main())


def test_without_a_skill_there_is_no_tool(tmp_path: Path) -> None:
    (tmp_path / "home/.metier").mkdir(parents=True)
    (tmp_path / "home/.metier/config.toml").write_text('[skills]\nenabled_bundled = ["none"]\n')

    async def main() -> None:
        async with serving(tmp_path) as client:
            assert (await client.list_tools()).tools == []
            assert (await ask(client, "skills/list"))["skills"] == []

    run(main())


def test_a_person_starts_a_skill_by_a_prompt_with_arguments(tmp_path: Path) -> None:
    head = "argument-hint: '[file]'\nparameters:\n  tone:\n    type: string\n    default: dry\n"
    skills(tmp_path, "release", head=head, body="Release $ARGUMENTS in a ${tone} tone.\n")
    skills(tmp_path, "inner", head="user-invocable: false\n")

    async def main() -> None:
        async with serving(tmp_path) as client:
            prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            assert "inner" not in prompts
            arguments = prompts["release"].arguments or []
            described = [(each.name, each.description, each.required) for each in arguments]
            assert described == [("arguments", "[file]", False), ("tone", None, False)]
            got = await client.get_prompt("release", {"arguments": "1.2", "tone": "warm"})
            (message,) = got.messages
            assert message.role == "user"
            assert isinstance(message.content, TextContent)
            assert "Release 1.2 in a warm tone." in message.content.text
            with pytest.raises(MCPError):
                await client.get_prompt("inner", {})

    run(main())


def test_an_edit_of_any_file_is_announced_and_the_entry_is_updated(tmp_path: Path) -> None:
    folder = skills(tmp_path, "pdf-forms") / "pdf-forms"
    (folder / "guide.md").write_text("one")

    async def main() -> None:
        async with serving(tmp_path) as client, client.listen(resources_list_changed=True, tools_list_changed=True) as stream:
            before = only_ours(await ask(client, "skills/list"), "pdf-forms")["pdf-forms"]
            (folder / "guide.md").write_text("two!")
            events = stream.__aiter__()
            assert isinstance(await anext(events), ResourcesListChanged)
            after = only_ours(await ask(client, "skills/list"), "pdf-forms")["pdf-forms"]
            assert [file["size"] for file in before["resources"]][1:] == [3]
            assert [file["size"] for file in after["resources"]][1:] == [4]
            skills(tmp_path, "another")
            assert {type(await anext(events)), type(await anext(events))} == {ResourcesListChanged, ToolsListChanged}
            assert only_ours(await ask(client, "skills/list"), "another")

    run(main())


def test_a_client_of_the_earlier_protocol_is_notified_on_its_connection(tmp_path: Path) -> None:
    skills(tmp_path, "pdf-forms")

    async def main() -> None:
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def note(message: Any) -> None:
            heard.put_nowait(message.method)

        async with serving(tmp_path, mode="legacy", message_handler=note) as client:
            await ask(client, "skills/list")
            skills(tmp_path, "another")
            names = {await heard.get(), await heard.get(), await heard.get()}
            assert names == {f"notifications/{kind}/list_changed" for kind in ("resources", "prompts", "tools")}

    run(main())


def test_a_read_after_an_edit_gives_the_new_bytes_and_get_their_digest(tmp_path: Path) -> None:
    folder = skills(tmp_path, "pdf-forms") / "pdf-forms"

    async def main() -> None:
        async with serving(tmp_path) as client:
            await ask(client, "skills/list")
            data = (folder / "SKILL.md").read_bytes() + b"More.\n"
            (folder / "SKILL.md").write_bytes(data)
            (content,) = (await client.read_resource("skill://pdf-forms/SKILL.md")).contents
            assert isinstance(content, TextResourceContents)
            assert content.text.encode() == data
            entry = (await ask(client, "skills/get", uri="skill://pdf-forms/SKILL.md"))["skill"]
            assert entry["resources"][0]["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"

    run(main())


def test_general_tools_are_served_only_if_wanted_and_change_the_folder_only_if_the_policy_allows(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")

    async def names_and_output(**variables: str) -> tuple[set[str], str]:
        app = app_in(tmp_path, variables=variables)
        write = variables.get("METIER_POLICY_WORKSPACE_WRITE") == "allow"
        watcher, open_session = app.sessions.skill_watcher(scripts=False)

        def open_folder(path: str | None) -> Session:
            return app.sessions.open_general(app.workspaces.open(str(path), write=write))

        general = GeneralTools(open_folder, workspace=str(folder))
        async with watcher, Client(SkillServer(watcher, open_session, general).server, mode="auto", cache=None) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            reply = await client.call_tool("run_command", {"command": "cat a.txt; echo beta > a.txt"})
        general.close()
        return names, text_of(reply)

    names, output = run(names_and_output())
    assert {"list_files", "read_file", "search_files", "run_command", "run_code", "read_output", "stop_command"} <= names
    assert "write_file" not in names
    assert "alpha" in output and (folder / "a.txt").read_text() == "alpha\n"
    names, output = run(names_and_output(METIER_POLICY_WORKSPACE_WRITE="allow"))
    assert {"write_file", "edit_file"} <= names
    assert (folder / "a.txt").read_text() == "beta\n"
    names, output = run(names_and_output(METIER_POLICY_DENY="Bash(cat:*)"))
    assert "policy.deny" in output
