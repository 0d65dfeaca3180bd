"""Bundles of skills: Claude Code's plugins and marketplaces, and the Agent Plugins standard.

Each is a JSON file that names folders with skills. It is untrusted: a path must stay inside the bundle, and a wrong field is
reported in `problems` and does not invalidate the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from metier.errors import MetierError
from metier.spec import SKILL_FILE, resource_path
from metier.values import dataclass

from .tree import SkillTree

__all__ = ["AGENT_PLUGINS_SCHEMA", "PluginBundle", "bundles", "is_plugin_name"]

AGENT_PLUGINS_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
_MARKETPLACE, _PLUGIN, _AGENT_PLUGIN = ".claude-plugin/marketplace.json", ".claude-plugin/plugin.json", "plugin.json"
_AGENT_PLUGIN_FIELDS = frozenset({
    "$schema", "name", "version", "description", "author", "license", "homepage", "repository", "keywords", "displayName",
    "display_name", "icon", "extensions",
})  # fmt: skip
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


def is_plugin_name(name: str) -> bool:
    """Returns True for words joined by single hyphens or dots, as in the Agent Plugins standard."""
    return len(name) <= 64 and re.fullmatch(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", name) is not None


def bundles(tree: SkillTree, root: str = "") -> tuple[PluginBundle, ...]:
    """Returns every bundle that is declared at `root`."""
    found: list[PluginBundle] = []
    here = _SkillFolders(tree)
    if (market := here.object(_join(root, _MARKETPLACE))) is not None:
        found += _marketplace(here, root, market)
    if (plugin := here.object(_join(root, _PLUGIN))) is not None:
        found.append(_claude(here, root, plugin, name=""))
    if (plugin := here.object(_join(root, _AGENT_PLUGIN))) is not None and plugin.get("$schema") == AGENT_PLUGINS_SCHEMA:
        found.append(_agent_plugin(here, root, plugin))
    return tuple(found)


class _SkillFolders:
    """The skills of each folder of a tree, found in one pass: a marketplace asks for a thousand folders."""

    def __init__(self, tree: SkillTree) -> None:
        self.tree = tree
        self._skills: dict[str, list[str]] = {}
        for path in sorted(tree.nodes):
            skill, _, name = path.rpartition("/")
            if name == SKILL_FILE and skill:
                self._skills.setdefault(skill.rpartition("/")[0], []).append(skill)

    def skills_in(self, folder: str) -> tuple[str, ...]:
        """Returns the skills directly in a folder."""
        return tuple(self._skills.get(folder, ()))

    def object(self, path: str) -> dict[str, Any] | None:
        """Returns the JSON object of a file; None without the file. An error is the value of an empty key."""
        if path not in self.tree.nodes:
            return None
        try:
            value = json.loads(self.tree.read(path, limit=_LONGEST_FILE))
        except (ValueError, RecursionError, MetierError) as error:
            return {"": f"cannot read {path}: {error}"}
        return value if isinstance(value, dict) else {"": f"{path} is not a JSON object"}


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
        name, source = _text(plugin.get("name")), plugin.get("source", "./")
        if not isinstance(source, str):
            yield PluginBundle(name=name, root=root, skills=(), elsewhere=tuple(_elsewhere(source)))
            continue
        try:
            inside = _inside(root, _below(base, source))
        except MetierError as error:
            yield PluginBundle(name=name, root=root, skills=(), problems=(f"plugin {name!r}: {error}",))
            continue
        own = here.object(_join(inside, _PLUGIN)) or {}
        yield _claude(here, inside, {**own, **plugin}, name=name)


def _below(base: object, source: str) -> str:
    # A plain name is relative to the marketplace's pluginRoot; a path is relative to the marketplace.
    return source if not isinstance(base, str) or not base or source.startswith("./") else f"{base.rstrip('/')}/{source}"


def _claude(here: _SkillFolders, root: str, plugin: dict[str, Any], *, name: str) -> PluginBundle:
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
        name=name or _text(plugin.get("name")), root=root, skills=tuple(dict.fromkeys(folders)), problems=tuple(problems)
    )


def _agent_plugin(here: _SkillFolders, root: str, plugin: dict[str, Any]) -> PluginBundle:
    name = _text(plugin.get("name"))
    problems = [f"plugin.json: unknown field {field[:40]!r}" for field in plugin if field not in _AGENT_PLUGIN_FIELDS]
    if not is_plugin_name(name):
        problems.insert(0, f"plugin.json: invalid plugin name {name[:80]!r}")
        return PluginBundle(name="", root=root, skills=(), problems=tuple(problems))
    # Direct children only, as in the standard.
    return PluginBundle(name=name, root=root, skills=here.skills_in(_join(root, "skills")), problems=tuple(problems))


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
    path = text.removeprefix("./").strip("/")
    return _join(root, resource_path(path)) if path not in ("", ".") else root


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _join(root: str, path: str) -> str:
    return f"{root}/{path}" if root else path
