"""Finds the skills of a repository, and selects from them.

Like other installers: a SKILL.md at the top is the only skill; else the folders at the top, in `skills/` (also one level
deeper, and at any depth below a prefix), those that plugin bundles name, and the folders of agents such as `.claude/skills`. If
none of these has a skill, the rest is searched, five levels deep.

Two skills of one name are two skills, and that name is ambiguous. Only a copy in an agent's folder is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metier.errors import AmbiguousError, MetierError, SkillNotFoundError, nearest, suggested_name
from metier.sources import SKIPPED_NAMES
from metier.spec import SKILL_FILE, ParseResult, Verdict, is_name, parse
from metier.values import dataclass, field

from .plugins import PluginBundle, bundles, is_manifest
from .tree import SkillTree

__all__ = ["LEFT_OUT", "FoundSkill", "SkillSearch", "find_skills", "select_skills", "wanted_by_default"]

LEFT_OUT = SKIPPED_NAMES
"""Not part of a skill: caches, dependencies, version control."""
_NEVER_SEARCHED = SKIPPED_NAMES | {"dist", "build"}
_SKILL_SUBFOLDERS = frozenset({".curated", ".experimental", ".system"})
_DEEPEST = 5
_MOST = 2_000
_LONGEST_SKILL_FILE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkill:
    """A skill that a source offers."""

    name: str
    """Always a valid name."""
    path: str
    """Its folder in the source; empty for the top."""
    description: str = ""
    declared: str = ""
    """The name in its frontmatter, if that is another."""
    internal: bool = False
    """Its author marked it with `metadata.internal`."""
    hidden: bool = False
    """It is in the folder of an agent, such as `.claude/skills`."""
    bundle: str = ""
    """The name of the plugin that it is part of."""
    bundle_title: str = ""
    bundle_version: str = ""
    problem: str = ""
    """Why no model could use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSearch:
    found: tuple[FoundSkill, ...]
    warnings: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Refs of skills that a marketplace keeps in other repositories."""
    parsed: Mapping[str, ParseResult] = field(default_factory=dict, repr=False)
    """The parse of each SKILL.md under the strict verdict, by the path of its folder."""


def find_skills(tree: SkillTree, *, path: str = "", fallback: str = "skill", full_depth: bool = False) -> SkillSearch:
    """Returns every skill at or below `path`. `fallback` names one that has neither a valid name nor a folder."""
    if path and path not in _folders(tree):
        near = nearest(path, _folders(tree))
        raise SkillNotFoundError(path, hint=f"the source has no such folder; did you mean {near!r}?" if near else
                            "the source has no such folder; see what it has with --list")  # fmt: skip
    # One round trip for a remote tree.
    tree.prefetch([one for one in tree.nodes if _lists_skills(one, path)][:_MOST])
    packed = bundles(tree, path)
    owners = {folder: bundle for bundle in reversed(packed) for folder in bundle.skills}
    folders = tuple(_order(tree, path, packed, full_depth))[:_MOST]
    tree.prefetch([_join(folder, SKILL_FILE) for folder in folders])
    parsed: dict[str, ParseResult] = {}
    found = [_found(tree, folder, owners.get(folder), fallback, parsed) for folder in folders]
    visible = {one.name for one in found if not one.hidden}
    return SkillSearch(
        found=tuple(one for one in found if not (one.hidden and one.name in visible)),
        warnings=tuple(dict.fromkeys(warning for bundle in packed for warning in (*bundle.problems, *_not_installed(bundle)))),
        elsewhere=tuple(ref for bundle in packed for ref in bundle.elsewhere),
        parsed=parsed,
    )


def _not_installed(bundle: PluginBundle) -> Iterator[str]:
    if bundle.parts:
        name = bundle.title or bundle.name or "without a name"
        yield f"the plugin {name} also has {', '.join(bundle.parts)}; only its skills are installed"


def select_skills(found: Iterable[FoundSkill], names: Iterable[str]) -> tuple[FoundSkill, ...]:
    """Returns the skills of these names or paths, in that order. Raises AmbiguousError if two have the name."""
    offered = tuple(found)
    chosen: dict[str, FoundSkill] = {}
    for name in names:
        fits = [one for one in offered if name in (one.name, one.declared) or (one.path and name.strip("/") == one.path)]
        if not fits:
            raise SkillNotFoundError(name, known=[one.name for one in offered], hint=_known(name, offered))
        if len(fits) > 1 and name not in {one.path for one in fits}:
            raise AmbiguousError(
                f"{len(fits)} skills are called {name!r}",
                hint=f"name one by its path: {', '.join(sorted(one.path for one in fits))}",
            )
        chosen[fits[0].path] = fits[0]
    return tuple(chosen.values())


def wanted_by_default(found: Iterable[FoundSkill]) -> tuple[FoundSkill, ...]:
    """Returns all skills that are not internal, as `--all` does."""
    return tuple(one for one in found if not one.internal)


def _known(name: str, offered: tuple[FoundSkill, ...]) -> str:
    if not offered:
        return "the source has no skills"
    near = nearest(name, [one.name for one in offered])
    return f"did you mean {near!r}?" if near else f"the source has {', '.join(sorted(one.name for one in offered)[:12])}"


def _order(tree: SkillTree, base: str, packed: tuple[PluginBundle, ...], full_depth: bool) -> Iterator[str]:
    """Returns the folders with a SKILL.md, conventional places first, none inside another."""
    every = {folder: _inner(folder, base) for folder in _skill_folders(tree, base)}
    if base in every and not full_depth:
        yield base
        return
    named = [folder for bundle in packed for folder in bundle.skills if folder in every]
    ranked = sorted(((rank, folder) for folder, inner in every.items() if (rank := _rank(inner)) is not None))
    listed = (
        [folder for rank, folder in ranked if rank < _HIDDEN] + named + [folder for rank, folder in ranked if rank == _HIDDEN]
    )
    if full_depth or not listed:
        depth = 2 * _DEEPEST if full_depth else _DEEPEST
        listed += sorted(folder for folder, inner in every.items() if inner.count("/") < depth and _is_searched(inner))
    taken: set[str] = set()
    for folder in dict.fromkeys(listed):
        # A SKILL.md inside a skill is part of it.
        if full_depth or not any(folder.startswith(f"{above}/") for above in taken):
            taken.add(folder)
            yield folder


_HIDDEN = 9


def _rank(inner: str) -> int | None:
    """Returns the rank of a conventional place; None for other places."""
    parts = inner.split("/") if inner else []
    if any(part in _NEVER_SEARCHED for part in parts[:-1]) or parts[-1:] == ["skills"]:
        # A SKILL.md directly in `skills/` must not hide the skills beside it.
        return None
    above = parts[:-1]
    hidden = next((place for place, part in enumerate(above) if part.startswith(".") and part not in _SKILL_SUBFOLDERS), None)
    if hidden is not None:
        return _HIDDEN if "skills" in above[hidden + 1 : hidden + 4] else None
    if len(parts) == 1:
        return 1 if not parts[0].startswith(".") else None
    if "skills" not in above:
        return None
    deeper = len(above) - 1 - max(place for place, part in enumerate(above) if part == "skills")
    if deeper > 1:
        return None
    return 2 + deeper if above[0] == "skills" else 4 + deeper


def _is_searched(inner: str) -> bool:
    return _NEVER_SEARCHED.isdisjoint(inner.split("/"))


def _found(
    tree: SkillTree, folder: str, bundle: PluginBundle | None, fallback: str, parses: dict[str, ParseResult]
) -> FoundSkill:
    last = folder.rpartition("/")[2]
    manifest = None
    try:
        data = tree.read(_join(folder, SKILL_FILE), limit=_LONGEST_SKILL_FILE)
        parsed = parses[folder] = parse(data, folder=last or None, verdict=Verdict.STRICT)
        manifest = parsed.manifest
        problem = "" if manifest else str(parsed.report.errors[0].message)
    except MetierError as error:
        problem = str(error)
    declared = manifest.name if manifest else ""
    names = (name for text in (declared, last, fallback, "skill") if (name := text if is_name(text) else suggested_name(text)))
    name = next(names)
    return FoundSkill(
        name=name,
        path=folder,
        description=manifest.description if manifest else "",
        declared=declared if declared != name else "",
        internal=bool(manifest) and str(manifest.metadata.get("internal", "")).lower() == "true" if manifest else False,
        hidden=any(part.startswith(".") and part not in _SKILL_SUBFOLDERS for part in folder.split("/")[:-1]),
        bundle=bundle.name if bundle else "",
        bundle_title=bundle.title if bundle else "",
        bundle_version=bundle.version if bundle else "",
        problem=problem,
    )


def _lists_skills(path: str, base: str) -> bool:
    folder, _, name = path.rpartition("/")
    if base and not path.startswith(f"{base}/"):
        return False
    return name == SKILL_FILE or (is_manifest(path) and (name != "plugin.json" or folder == base or "-plugin" in folder))


def _skill_folders(tree: SkillTree, base: str) -> Iterator[str]:
    end = f"/{SKILL_FILE}"
    prefix = f"{base}/" if base else ""
    for path in tree.nodes:
        if path == _join(base, SKILL_FILE):
            yield base
        elif path.endswith(end) and path.startswith(prefix):
            yield path.removesuffix(end)


def _folders(tree: SkillTree) -> frozenset[str]:
    found: set[str] = set()
    for path in tree.nodes:
        parent = path.rpartition("/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return frozenset(found)


def _inner(folder: str, base: str) -> str:
    return folder[len(base) :].lstrip("/") if base else folder


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
