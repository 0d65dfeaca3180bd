"""Bundles of skills: plugins and marketplaces of Claude Code, Codex and Cursor, and the Agent Plugins standard 1.0 and 1.1.

Each is a JSON file that names folders with skills. It is untrusted: a path must stay inside the bundle, and a wrong field is
reported in `problems` and does not invalidate the rest. Only skills are installed; `parts` names the rest, such as hooks.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from metier.errors import MetierError
from metier.spec import SKILL_FILE, resource_path
from metier.values import dataclass

from .tree import SkillTree

__all__ = ["AGENT_PLUGINS_SCHEMA", "PluginBundle", "bundles", "is_manifest", "is_plugin_name"]

AGENT_PLUGINS_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
_AGENT_PLUGINS_SCHEMAS = (AGENT_PLUGINS_SCHEMA, "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json")
_MARKETPLACES = (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json")
_PLUGINS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json")
_AGENT_PLUGIN = "plugin.json"
_AGENT_PLUGIN_FIELDS: dict[str, type] = {
    "$schema": str, "name": str, "version": str, "description": str, "author": dict, "license": str, "homepage": str,
    "repository": str, "keywords": list, "displayName": str, "icon": str, "extensions": object,
}  # fmt: skip
# The parts of a plugin that are no skills: their fields, and their usual files or folders.
_PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "commands": ("commands", ("commands/",)), "agents": ("agents", ("agents/",)), "rules": ("rules", ("rules/",)),
    "hooks": ("hooks", ("hooks/hooks.json", "hooks.json")), "MCP servers": ("mcpServers", (".mcp.json", "mcp.json")),
    "LSP servers": ("lspServers", (".lsp.json",)), "apps": ("apps", (".app.json",)),
    "output styles": ("outputStyles", ("output-styles/",)),
}  # fmt: skip
_LONGEST_FILE = 1024 * 1024
_MOST_PLUGINS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginBundle:
    name: str
    root: str
    """Its folder in the tree, empty for the top."""
    skills: tuple[str, ...]
    """Folders with a SKILL.md, in the order in which the bundle names them."""
    elsewhere: tuple[str, ...] = ()
    """Refs of plugins that a marketplace has in other repositories."""
    problems: tuple[str, ...] = ()
    title: str = ""
    """The name for people, if it has one."""
    version: str = ""
    parts: tuple[str, ...] = ()
    """Its parts besides skills, such as `hooks`. None of it is installed."""


def is_manifest(path: str) -> bool:
    """Returns True for the path of a file that may declare a bundle, below any folder."""
    return path.endswith((*_MARKETPLACES, *_PLUGINS)) or path.rpartition("/")[2] == _AGENT_PLUGIN


def is_plugin_name(name: str) -> bool:
    """Returns True for words joined by single hyphens or dots, as in the Agent Plugins standard."""
    return len(name) <= 64 and re.fullmatch(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", name) is not None


def bundles(tree: SkillTree, root: str = "") -> tuple[PluginBundle, ...]:
    """Returns every bundle that is declared at `root`."""
    found: list[PluginBundle] = []
    here = _SkillFolders(tree)
    for file in _MARKETPLACES:
        if (market := here.object(_join(root, file))) is not None:
            found += _marketplace(here, root, market)
    for file in _PLUGINS:
        if (plugin := _manifest(here, root, file)) is not None:
            found.append(_plugin(here, root, plugin, name=""))
    if (plugin := here.object(_join(root, _AGENT_PLUGIN))) is not None and plugin.get("$schema") in _AGENT_PLUGINS_SCHEMAS:
        found.append(_agent_plugin(here, root, plugin))
    return tuple(found)


class _SkillFolders:
    """The skills of each folder of a tree, found in one pass: a marketplace asks for a thousand folders."""

    def __init__(self, tree: SkillTree) -> None:
        self.tree = tree
        self._skills: dict[str, list[str]] = {}
        self._paths = sorted(tree.nodes)
        for path in self._paths:
            skill, _, name = path.rpartition("/")
            if name == SKILL_FILE and skill:
                self._skills.setdefault(skill.rpartition("/")[0], []).append(skill)

    def skills_in(self, folder: str) -> tuple[str, ...]:
        """Returns the skills directly in a folder."""
        return tuple(self._skills.get(folder, ()))

    def has(self, path: str) -> bool:
        """Returns whether there is this file, or a file in this folder, whose path ends with a slash."""
        if not path.endswith("/"):
            return path in self.tree.nodes
        place = bisect_left(self._paths, path)
        return place < len(self._paths) and self._paths[place].startswith(path)

    def object(self, path: str) -> dict[str, Any] | None:
        """Returns the JSON object of a file; None without the file. An error is the value of an empty key."""
        if path not in self.tree.nodes:
            return None
        try:
            value = json.loads(self.tree.read(path, limit=_LONGEST_FILE))
        except (ValueError, RecursionError, MetierError) as error:
            return {"": f"cannot read {path}: {error}"}
        return value if isinstance(value, dict) else {"": f"{path} is not a JSON object"}


def _manifest(here: _SkillFolders, root: str, file: str) -> dict[str, Any] | None:
    """Returns the manifest of a plugin. Cursor also takes plain relative paths, which the others write with `./`."""
    plugin = here.object(_join(root, file))
    named = plugin.get("skills") if plugin else None
    if plugin and file.startswith(".cursor") and named:
        paths = [named] if isinstance(named, str) else named if isinstance(named, list) else []
        plain = re.compile(r"[A-Za-z0-9_][^:\\]*")
        return {**plugin, "skills": [f"./{one}" if isinstance(one, str) and plain.fullmatch(one) else one for one in paths]}
    return plugin


def _marketplace(here: _SkillFolders, root: str, market: dict[str, Any]) -> Iterator[PluginBundle]:
    if "" in market:
        yield PluginBundle(name="", root=root, skills=(), problems=(str(market[""]),))
        return
    metadata = market.get("metadata")
    base = metadata.get("pluginRoot", "") if isinstance(metadata, dict) else ""
    plugins = market.get("plugins")
    for plugin in (plugins if isinstance(plugins, list) else [])[:_MOST_PLUGINS]:
        if not isinstance(plugin, dict):
            continue
        name, source = _text(plugin.get("name")), _local(plugin.get("source", "./"))
        if not isinstance(source, str):
            yield PluginBundle(name=name, root=root, skills=(), elsewhere=tuple(_elsewhere(source)))
            continue
        try:
            inside = _inside(root, _below(base, source))
        except MetierError as error:
            yield PluginBundle(name=name, root=root, skills=(), problems=(f"plugin {name!r}: {error}",))
            continue
        own = next((one for file in _PLUGINS if (one := _manifest(here, inside, file))), {})
        yield _plugin(here, inside, {**own, **plugin}, name=name)


def _local(source: object) -> object:
    """Returns the path of a source that Codex writes as an object; any other source as it is."""
    if isinstance(source, dict) and source.get("source") == "local" and isinstance(source.get("path"), str):
        return source["path"]
    return source


def _below(base: object, source: str) -> str:
    # A plain name is relative to the marketplace's pluginRoot; a path is relative to the marketplace.
    return source if not isinstance(base, str) or not base or source.startswith("./") else f"{base.rstrip('/')}/{source}"


def _plugin(here: _SkillFolders, root: str, plugin: dict[str, Any], *, name: str) -> PluginBundle:
    if "" in plugin:
        return PluginBundle(name=name, root=root, skills=(), problems=(str(plugin[""]),))
    folders: list[str] = []
    problems: list[str] = []
    named = plugin.get("skills", [])
    for text in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
        try:
            # The prefix rules out options, drives and home folders.
            if not isinstance(text, str) or not (text.startswith("./") or text == "."):
                raise ValueError("a path must begin with ./")
            folders += _skills_at(here, _inside(root, text))
        except (MetierError, ValueError) as error:
            problems.append(f"skills: {str(text)[:80]!r}: {error}")
    folders += [folder for folder in here.skills_in(_join(root, "skills")) if folder not in folders]
    if not folders and _join(root, SKILL_FILE) in here.tree.nodes:
        folders = [root]
    return PluginBundle(
        name=name or _text(plugin.get("name")), root=root, skills=tuple(dict.fromkeys(folders)), problems=tuple(problems),
        title=_title(plugin), version=_text(plugin.get("version")), parts=_parts(here, root, plugin),
    )  # fmt: skip


def _title(plugin: dict[str, Any]) -> str:
    interface = plugin.get("interface")
    return _text(plugin.get("displayName")) or _text(interface.get("displayName") if isinstance(interface, dict) else "")


def _parts(here: _SkillFolders, root: str, plugin: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        part
        for part, (field, places) in _PARTS.items()
        if plugin.get(field) or any(here.has(_join(root, place)) for place in places)
    )


def _agent_plugin(here: _SkillFolders, root: str, plugin: dict[str, Any]) -> PluginBundle:
    name = _text(plugin.get("name"))
    problems = [f"plugin.json: unknown field {field[:40]!r}" for field in plugin if field not in _AGENT_PLUGIN_FIELDS]
    wrong = [field for field, kind in _AGENT_PLUGIN_FIELDS.items() if field in plugin and not isinstance(plugin[field], kind)]
    fatal = [f"plugin.json: {field!r} has the wrong type" for field in wrong if field != "name"]
    if not is_plugin_name(name):
        fatal.insert(0, f"plugin.json: invalid plugin name {name[:80]!r}")
    if fatal:
        return PluginBundle(name="", root=root, skills=(), problems=(*fatal, *problems))
    # Direct children only, as in the standard.
    return PluginBundle(
        name=name, root=root, skills=here.skills_in(_join(root, "skills")), problems=tuple(problems),
        title=_text(plugin.get("displayName")), version=_text(plugin.get("version")), parts=_parts(here, root, {}),
    )  # fmt: skip


def _skills_at(here: _SkillFolders, folder: str) -> tuple[str, ...]:
    """Returns the folder if it is a skill, else the skills directly in it."""
    return (folder,) if _join(folder, SKILL_FILE) in here.tree.nodes else here.skills_in(folder)


def _elsewhere(source: object) -> Iterator[str]:
    fields = source if isinstance(source, dict) else {}
    kind, ref = fields.get("source"), fields.get("ref")
    end = f"#{ref}" if isinstance(ref, str) else ""
    if kind == "github" and isinstance(repository := fields.get("repo"), str):
        yield f"github:{repository}{end}"
    elif kind in ("url", "git") and isinstance(url := fields.get("url"), str):
        yield f"git+{url}{end}" if url.startswith("https://") else f"{url}{end}"


def _inside(root: str, text: str) -> str:
    path = text.removeprefix("./").rstrip("/")
    return _join(root, resource_path(path)) if path not in ("", ".") else root


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _join(root: str, path: str) -> str:
    return f"{root}/{path}" if root else path
