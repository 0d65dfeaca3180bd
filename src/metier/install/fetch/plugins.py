"""Bundles of skills: Claude Code's plugins and marketplaces, and the Agent Plugins standard.

Each is a JSON file that says which folders hold skills. What it says is a stranger's word, so a path must stay inside
the bundle, and a field that is wrong is a sentence in `problems`, never the end: the rest of the bundle still counts.
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
    """Plugins that a marketplace has in other repositories, as refs."""
    problems: tuple[str, ...] = ()


def is_plugin_name(name: str) -> bool:
    """As the Agent Plugins standard has it: words joined by single hyphens or dots."""
    return len(name) <= 64 and re.fullmatch(r"[a-z0-9]+(?:[.-][a-z0-9]+)*", name) is not None


def bundles(tree: SkillTree, root: str = "") -> tuple[PluginBundle, ...]:
    """Every bundle that is declared at `root`; none if there is no such file."""
    found: list[PluginBundle] = []
    here = _Shelves(tree)
    if (market := here.object(_join(root, _MARKETPLACE))) is not None:
        found += _marketplace(here, root, market)
    if (plugin := here.object(_join(root, _PLUGIN))) is not None:
        found.append(_claude(here, root, plugin, name=""))
    if (plugin := here.object(_join(root, _AGENT_PLUGIN))) is not None and plugin.get("$schema") == AGENT_PLUGINS_SCHEMA:
        found.append(_agent_plugin(here, root, plugin))
    return tuple(found)


class _Shelves:
    """A tree, gone through once: a marketplace asks a thousand times which skills are in a folder."""

    def __init__(self, tree: SkillTree) -> None:
        self.tree = tree
        self._skills: dict[str, list[str]] = {}
        for path in sorted(tree.nodes):
            skill, _, name = path.rpartition("/")
            if name == SKILL_FILE and skill:
                self._skills.setdefault(skill.rpartition("/")[0], []).append(skill)

    def skills_in(self, folder: str) -> tuple[str, ...]:
        """The skills right in a folder."""
        return tuple(self._skills.get(folder, ()))

    def object(self, path: str) -> dict[str, Any] | None:
        """The JSON object in a file; None without the file. What is wrong with it stands under an empty key."""
        if path not in self.tree.nodes:
            return None
        try:
            value = json.loads(self.tree.read(path, limit=_LONGEST_FILE))
        except (ValueError, RecursionError, MetierError) as error:
            return {"": f"{path} cannot be read: {error}"}
        return value if isinstance(value, dict) else {"": f"{path} holds no object"}


def _marketplace(here: _Shelves, root: str, market: dict[str, Any]) -> Iterator[PluginBundle]:
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
    # A plain name is below the marketplace's own folder for plugins; a path says where it is itself.
    return source if not isinstance(base, str) or not base or source.startswith("./") else f"{base.rstrip('/')}/{source}"


def _claude(here: _Shelves, root: str, plugin: dict[str, Any], *, name: str) -> PluginBundle:
    if "" in plugin:
        return PluginBundle(name=name, root=root, skills=(), problems=(str(plugin[""]),))
    folders: list[str] = []
    problems: list[str] = []
    named = plugin.get("skills", [])
    for text in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
        try:
            # A prefix shows that somebody meant a path, and rules out options, drives and home folders.
            if not isinstance(text, str) or not (text.startswith("./") or text == "."):
                raise ValueError("a path begins with ./")
            folders += _skills_at(here, _inside(root, text))
        except (MetierError, ValueError) as error:
            problems.append(f"skills: {str(text)[:80]!r}: {error}")
    folders += [folder for folder in here.skills_in(_join(root, "skills")) if folder not in folders]
    if not folders and _join(root, SKILL_FILE) in here.tree.nodes:
        folders = [root]
    return PluginBundle(
        name=name or _text(plugin.get("name")), root=root, skills=tuple(dict.fromkeys(folders)), problems=tuple(problems)
    )


def _agent_plugin(here: _Shelves, root: str, plugin: dict[str, Any]) -> PluginBundle:
    name = _text(plugin.get("name"))
    problems = [f"plugin.json: nobody knows the field {field[:40]!r}" for field in plugin if field not in _AGENT_PLUGIN_FIELDS]
    if not is_plugin_name(name):
        problems.insert(0, f"plugin.json: {name[:80]!r} is not a plugin's name")
        return PluginBundle(name="", root=root, skills=(), problems=tuple(problems))
    # Immediate children only: the standard does not search deeper.
    return PluginBundle(name=name, root=root, skills=here.skills_in(_join(root, "skills")), problems=tuple(problems))


def _skills_at(here: _Shelves, folder: str) -> tuple[str, ...]:
    """The folder if it is a skill, else the skills right in it."""
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
