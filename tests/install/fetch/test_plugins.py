"""Bundles of skills: rows 76 and 77 of the conformance corpus, and Claude Code's plugins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import skill_text
from metier.archive import Contents, Member
from metier.install.fetch.plugins import AGENT_PLUGINS_SCHEMA, PluginBundle, bundles, is_plugin_name
from metier.install.fetch.tree import ContentsTree


def tree(*folders: str, **files: Any) -> ContentsTree:
    """Skills in these folders, and JSON files: market, plugin or agent, or any path."""
    names = {"market": ".claude-plugin/marketplace.json", "plugin": ".claude-plugin/plugin.json", "agent": "plugin.json"}
    members = [
        Member(f"{folder}/SKILL.md".lstrip("/"), skill_text(folder.rpartition("/")[2] or "top").encode()) for folder in folders
    ]
    members += [
        Member(names.get(name, name), value if isinstance(value, bytes) else json.dumps(value).encode())
        for name, value in files.items()
    ]
    return ContentsTree(Contents(members))


def only(*folders: str, **files: Any) -> PluginBundle:
    (found,) = bundles(tree(*folders, **files))
    return found


@pytest.mark.parametrize("name", ["my-plugin", "acme.tools", "lint3r", "a", "a" * 64])
def test_76_a_plugin_may_be_called_so(name: str) -> None:
    assert is_plugin_name(name)
    assert only("skills/x", agent={"$schema": AGENT_PLUGINS_SCHEMA, "name": name}).skills == ("skills/x",)


@pytest.mark.parametrize("name", ["My-Plugin", "-start", "has--double", "too.many..dots", "", "end-", "a" * 65, "a_b", "a/b"])
def test_77_an_invalid_plugin_name_is_a_problem(name: str) -> None:
    assert not is_plugin_name(name)
    found = only("skills/x", agent={"$schema": AGENT_PLUGINS_SCHEMA, "name": name})
    assert found.skills == ()
    assert "invalid plugin name" in found.problems[0]


def test_an_agent_plugin_has_only_the_immediate_children_of_skills_and_reports_unknown_fields() -> None:
    found = only("skills/x", "skills/deep/y", agent={"$schema": AGENT_PLUGINS_SCHEMA, "name": "p", "odd": 1})
    assert found.skills == ("skills/x",)
    assert "'odd'" in found.problems[0]


def test_another_programs_plugin_json_is_not_a_bundle() -> None:
    assert bundles(tree("skills/x", agent={"name": "an obsidian plugin"})) == ()


def test_a_claude_plugin_has_its_skills_folder_and_those_it_names() -> None:
    found = only("skills/x", "extra/y", "more/z", plugin={"name": "p", "skills": ["./extra", "./more/z"]})
    assert found == PluginBundle(name="p", root="", skills=("extra/y", "more/z", "skills/x"))
    assert only("only", plugin={"name": "p", "skills": "./only"}).skills == ("only",)


def test_a_marketplace_has_plugins_in_folders_and_elsewhere() -> None:
    market = {
        "name": "m",
        "plugins": [
            {"name": "one", "source": "./plugins/one"},
            {"name": "two", "source": "./", "skills": ["./skills/a"]},
            {"name": "away", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "away2", "source": {"source": "url", "url": "https://example.com/r.git"}},
            "nonsense",
        ],
    }
    found = bundles(tree("plugins/one/skills/x", "skills/a", market=market))
    assert [(one.name, one.root, one.skills) for one in found[:2]] == [
        ("one", "plugins/one", ("plugins/one/skills/x",)),
        ("two", "", ("skills/a",)),
    ]
    assert [one.elsewhere for one in found[2:]] == [("github:o/r#v1",), ("git+https://example.com/r.git",)]


def test_a_marketplaces_own_root_for_plugins_counts() -> None:
    market = {"metadata": {"pluginRoot": "./bundles"}, "plugins": [{"name": "one", "source": "one"}]}
    assert only("bundles/one/skills/x", market=market).skills == ("bundles/one/skills/x",)


@pytest.mark.parametrize("path", ["../a", "/abs", "./../../x", "C:\\x", "~/x", "a", "./a\\..\\b", 5, "--flag"])
def test_a_path_that_leaves_the_bundle_is_a_problem_and_the_rest_still_counts(path: object) -> None:
    found = only("skills/x", plugin={"name": "p", "skills": [path]})
    assert found.skills == ("skills/x",)
    assert len(found.problems) == 1


def test_a_plugin_whose_source_leaves_the_marketplace_is_a_problem() -> None:
    found = only("skills/x", market={"plugins": [{"name": "evil", "source": "./../../x"}]})
    assert found.skills == ()
    assert "evil" in found.problems[0]


@pytest.mark.parametrize("data", [b"", b"[", b"[]", b"5", b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_a_json_object_is_a_problem(data: bytes) -> None:
    for name in ("market", "plugin"):
        (found,) = bundles(tree("skills/x", **{name: data}))
        assert found.problems


@pytest.mark.parametrize(
    ("file", "skills"),
    [
        (".codex-plugin/plugin.json", "./extra/"),
        (".cursor-plugin/plugin.json", "extra"),
        (".cursor-plugin/plugin.json", ["./extra"]),
    ],
)
def test_plugins_of_codex_and_cursor_are_read(file: str, skills: object) -> None:
    manifest = {"name": "p", "version": "1.2.0", "skills": skills, "interface": {"displayName": "P Tools"}}
    found = only("extra/y", "skills/x", **{file: manifest})
    assert (found.name, found.version, found.title, found.skills) == ("p", "1.2.0", "P Tools", ("extra/y", "skills/x"))


@pytest.mark.parametrize("path", ["../a", "/abs", "./../../x", "C:\\x", "~/x", "a\\..\\b", 5, "--flag"])
@pytest.mark.parametrize("file", [".codex-plugin/plugin.json", ".cursor-plugin/plugin.json"])
def test_their_paths_cannot_leave_the_repository_either(file: str, path: object) -> None:
    found = only("skills/x", **{file: {"name": "p", "skills": [path]}})
    assert found.skills == ("skills/x",)
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (".agents/plugins/marketplace.json", {"source": "local", "path": "./plugins/a"}),
        (".agents/plugins/marketplace.json", "./plugins/a"),
        (".cursor-plugin/marketplace.json", "plugins/a"),
    ],
)
def test_marketplaces_of_codex_and_cursor_are_read(file: str, source: object) -> None:
    own = {"plugins/a/.codex-plugin/plugin.json": {"name": "a", "version": "3.0.0"}}
    (found,) = bundles(tree("plugins/a/skills/x", **{file: {"plugins": [{"name": "a", "source": source}]}}, **own))
    assert (found.name, found.version, found.skills) == ("a", "3.0.0", ("plugins/a/skills/x",))


@pytest.mark.parametrize("source", [{"source": "local", "path": "../up"}, "/etc", {"source": "local", "path": "./a/../../b"}])
def test_a_marketplace_source_outside_the_repository_is_a_problem(source: object) -> None:
    market = {"plugins": [{"name": "a", "source": source}]}
    (found,) = bundles(tree("skills/x", **{".agents/plugins/marketplace.json": market}))
    assert found.skills == ()
    assert found.problems


def test_the_draft_of_the_standard_has_a_title_and_an_icon() -> None:
    schema = AGENT_PLUGINS_SCHEMA.replace("1.0.0", "1.1.0")
    found = only("skills/x", agent={"$schema": schema, "name": "p", "displayName": "Tools", "icon": "../../out.png"})
    assert (found.title, found.skills, found.problems) == ("Tools", ("skills/x",), ())
    wrong = only("skills/x", agent={"$schema": schema, "name": "p", "version": 2})
    assert wrong.skills == ()
    assert "'version' has the wrong type" in wrong.problems[0]


def test_other_parts_are_named() -> None:
    found = only(
        "skills/x", plugin={"name": "p", "mcpServers": {"a": {}}},
        **{"commands/go.md": b"go", "hooks/hooks.json": b"{}", "rulesets/x.txt": b""},
    )  # fmt: skip
    assert found.parts == ("commands", "hooks", "MCP servers")
