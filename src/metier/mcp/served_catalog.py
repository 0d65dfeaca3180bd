"""The skills that the server offers: a catalog, and the entries of the Skills extension.

A served catalog never changes. A change on disk makes another one, in which only the skills that changed were read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from metier.catalog import Catalog, Entry, Source
from metier.errors import NotFoundError
from metier.spec import Json, Manifest
from metier.values import dataclass, field

from .published_skill import DIRECTORY, PublishedSkill, WithheldSkill, media_type, path_in, publish_entry

__all__ = ["ServedCatalog", "serve_catalog"]

_ABOUT_PEOPLE = ("user-invocable", "argument-hint", "parameters", "user_invocable", "argument_hint")


@dataclass(frozen=True)  # no slots: what is asked for at every request is worked out once
class ServedCatalog:
    catalog: Catalog
    published: Mapping[str, PublishedSkill] = field(default_factory=dict)
    """By name, including those hidden from models: a user may still request one by its URI."""
    withheld: tuple[WithheldSkill, ...] = ()

    @cached_property
    def listed(self) -> tuple[PublishedSkill, ...]:
        """The skills of `skills/list`, sorted by name."""
        return tuple(each for _, each in sorted(self.published.items()) if each.source.is_for_models)

    @cached_property
    def for_models(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in served(self.catalog) if entry.is_for_models)

    @cached_property
    def for_people(self) -> Mapping[str, Manifest]:
        """The skills that a user can invoke by name."""
        found = {entry.name: _about(entry) for entry in served(self.catalog)}
        return {name: manifest for name, manifest in found.items() if manifest.extensions.user_invocable}

    def skill(self, uri: str) -> PublishedSkill:
        """Returns the skill whose SKILL.md has this URI, read again from disk."""
        name, path = path_in(uri)
        known = self.published.get(name)
        if known is None or known.uri != uri or not path:
            raise NotFoundError(f"no skill has the URI {uri!r}", hint="see skills/list")
        fresh = publish_entry(known.source)
        if isinstance(fresh, WithheldSkill):
            raise NotFoundError(f"the skill {name!r} can no longer be served: {fresh.reason}", hint="see skills/list")
        return fresh

    def file(self, uri: str) -> tuple[PublishedSkill, str]:
        """Returns the skill and path of a file's URI."""
        name, path = path_in(uri)
        known = self.published.get(name)
        if known is None or not path:
            raise NotFoundError(f"{uri!r} not found", hint="see skills/list")
        return known, path

    def directory(self, uri: str) -> list[dict[str, Json]]:
        """Returns the children of a folder of a skill, as resources."""
        name, path = path_in(uri.rstrip("/"))
        known = self.published.get(name)
        prefix = f"{path}/" if path else ""
        below = [each for each in (known.files if known else ()) if each.startswith(prefix)]
        if known is None or not below or path in known.files:
            raise NotFoundError(f"{uri!r} is not a folder of a skill", hint="see skills/list")
        children = dict.fromkeys(each[len(prefix) :].partition("/")[::2] for each in below)
        # A folder stands once for each of its files; only that there is something below it matters.
        names = {child: bool(rest) for child, rest in children}
        return [_child(known, f"{prefix}{child}", is_folder=folder) for child, folder in sorted(names.items())]


def serve_catalog(catalog: Catalog, *, before: ServedCatalog | None = None, touched: Iterable[str] = ()) -> ServedCatalog:
    """Builds the served catalog. Unchanged skills are taken from `before`; `touched` are folders with changes."""
    changed = frozenset(touched)
    known: dict[Entry, PublishedSkill | WithheldSkill] = {}
    if before is not None:
        known |= {each.source: each for each in before.published.values()}
        known |= {each.source: each for each in before.withheld}
    found = [
        known[entry] if entry in known and entry.folder not in changed else publish_entry(entry) for entry in served(catalog)
    ]
    return ServedCatalog(
        catalog,
        {each.name: each for each in found if isinstance(each, PublishedSkill)},
        tuple(each for each in found if isinstance(each, WithheldSkill)),
    )


def served(catalog: Catalog) -> Iterable[Entry]:
    """Yields the local skills; those of other MCP servers are not served again."""
    return (entry for entry in catalog if entry.source is not Source.MCP)


def _about(entry: Entry) -> Manifest:
    if any(key in entry.offer.fields for key in _ABOUT_PEOPLE):
        return entry.manifest
    # Few skills have any of these, and reading a thousand manifests takes longer than the answer.
    return Manifest(name=entry.name, description=entry.description)


def _child(skill: PublishedSkill, path: str, *, is_folder: bool) -> dict[str, Json]:
    name = path.rpartition("/")[2]
    if is_folder:
        return {"uri": skill.uri_of(path), "name": name, "mimeType": DIRECTORY}
    return {"uri": skill.uri_of(path), "name": name, "mimeType": media_type(path), "size": skill.files[path].size}
