"""A skill as one source offers it, and the state it is in here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from metier.spec import (
    EXTENSION_KEYS,
    EXTENSION_SPELLINGS,
    SKILL_FILE,
    Document,
    Json,
    Manifest,
    ParseResult,
    Problem,
    Report,
    Severity,
    manifest_from,
    parse,
)

from .needs import encoded_needs

__all__ = [
    "Entry",
    "Offer",
    "OfferFlag",
    "Source",
    "State",
    "offer_from_fields",
    "offer_from_parse",
    "offer_from_report",
    "version_of",
]


class Source(StrEnum):
    """The origin of a skill, in order of precedence: a later source hides an earlier one."""

    MCP = "mcp"
    """Another server offers it. It has the lowest precedence, so that a remote skill never hides a local one."""
    BUNDLED = "bundled"
    USER = "user"
    CLAUDE = "claude"
    PROJECT = "project"
    PLUGIN = "plugin"


class State(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"
    """Switched off by the configuration, a filter, or its own `default_enabled: false`."""
    UNAVAILABLE = "unavailable"
    """It needs something that this machine does not have."""
    SHADOWED = "shadowed"
    """A source of higher precedence offers the same name."""
    UNTRUSTED = "untrusted"
    """It is in a project folder that is not trusted, so nothing of it is loaded."""
    SKIPPED = "skipped"
    """Not a usable skill; the reason says why."""


class OfferFlag:
    """Facts about an offer that decide its state; zero for nearly all. Plain bits: testing an IntFlag takes 3 µs."""

    BAD: Final = 1
    OFF_BY_DEFAULT: Final = 2
    WARNED: Final = 4
    HIDDEN_FROM_MODEL: Final = 8


class Offer(NamedTuple):
    """One SKILL.md as it was read; also exactly one row of the metadata cache.

    A tuple and not a dataclass, because discovery makes ten thousand of them straight from SQLite's rows.
    """

    folder: str
    """Absolute path of the skill's folder."""
    mtime_ns: int
    size: int
    name: str
    description: str
    flags: int = 0
    needs: str = ""
    """`Needs.encoded()`: equal texts have equal answers, so each is checked once."""
    fields: str = ""
    """The frontmatter without name and description, as JSON; empty if that is all."""
    problems: str = ""
    """As JSON; empty when there are none. If the fast parser only knows that there are warnings: the frontmatter itself."""


class Entry(NamedTuple):
    """One skill in the catalog. A tuple for the same reason as Offer."""

    name: str
    description: str
    source: Source
    folder: str
    state: State
    reason: str
    """Why it is not enabled, as a sentence without a full stop; empty when it is."""
    offer: Offer

    @property
    def id(self) -> str:
        """The folder: two skills may have the same name, but not the same folder."""
        return self.folder

    @property
    def location(self) -> str:
        return f"{self.folder}/{SKILL_FILE}"

    @property
    def version(self) -> str:
        """The version in its folder's name, such as `pdf@1.2.0`, else the one in its frontmatter; empty if it has none."""
        return version_of(self.offer)

    @property
    def manifest(self) -> Manifest:
        fields = json.loads(self.offer.fields) if self.offer.fields else _EMPTY
        return manifest_from(fields, name=self.name, description=self.description)[0]

    @property
    def brief(self) -> str:
        """The author's `brief_description`; empty if there is none."""
        # Most skills have none, and building a manifest takes a while.
        has_one = "brief_description" in self.offer.fields or "brief-description" in self.offer.fields
        return (self.manifest.extensions.brief_description or "") if has_one else ""

    @property
    def report(self) -> Report:
        """The problems of the file under the lenient verdict."""
        problems = self.offer.problems
        if problems and not problems.startswith("["):
            # A frontmatter; one that starts with a bracket has no fields, so it is never kept.
            return parse(f"---\n{problems}---\n".encode(), folder=self.name).report
        rows = json.loads(problems) if problems else ()
        return Report(tuple(Problem(**{**row, "severity": Severity(row["severity"])}) for row in rows))

    @property
    def is_for_models(self) -> bool:
        """Returns True if it belongs in a model's catalog. A user can start any skill by name."""
        return self.state is State.ENABLED and not self.offer.flags & OfferFlag.HIDDEN_FROM_MODEL


def version_of(offer: Offer) -> str:
    folder = offer.folder.rpartition("/")[2]
    if folder.startswith(f"{offer.name}@"):
        return folder[len(offer.name) + 1 :]
    if '"version"' not in offer.fields:
        return ""
    return manifest_from(json.loads(offer.fields), name=offer.name, description="")[0].extensions.version or ""


def offer_from_fields(folder: str, mtime_ns: int, size: int, fields: Mapping[str, Json], *, warned: str = "") -> Offer:
    """Returns the offer of fields that `fast_fields` returned. `warned` is the frontmatter if there are warnings."""
    name, description = str(fields["name"]), str(fields["description"]).strip()
    metadata, flags = fields.get("metadata", _EMPTY), OfferFlag.WARNED if warned else 0
    if EXTENSION_SPELLINGS.isdisjoint(fields) and isinstance(metadata, dict) and _DECIDING_KEYS.isdisjoint(metadata):
        needs = encoded_needs(str(fields.get("compatibility", "")), "")
        return Offer(folder, mtime_ns, size, name, description, flags, needs, _encode_fields(fields), warned)
    manifest, _ = manifest_from(fields, name=name, description=description)
    offer = offer_from_parse(
        folder, mtime_ns, size, ParseResult(manifest=manifest, report=Report(), document=Document(), fields=fields)
    )
    return offer._replace(flags=offer.flags | flags, problems=warned) if warned else offer


def offer_from_parse(folder: str, mtime_ns: int, size: int, parsed: ParseResult) -> Offer:
    """Returns the offer of a parsed file, whether it is usable or not."""
    manifest, report = parsed.manifest, parsed.report
    if manifest is None:
        return offer_from_report(folder, mtime_ns, size, report)
    extensions = manifest.extensions
    flags = (
        (0 if extensions.default_enabled else OfferFlag.OFF_BY_DEFAULT)
        | (OfferFlag.WARNED if report.problems else 0)
        | (OfferFlag.HIDDEN_FROM_MODEL if extensions.disable_model_invocation else 0)
    )
    needs = encoded_needs(manifest.compatibility or "", " ".join(extensions.requires))
    fields, problems = _encode_fields(parsed.fields), _encode_report(report)
    return Offer(folder, mtime_ns, size, manifest.name, manifest.description, flags, needs, fields, problems)


def offer_from_report(folder: str, mtime_ns: int, size: int, report: Report) -> Offer:
    """Returns the offer of a folder that is not a usable skill: it is listed as skipped, with its reason."""
    name = folder.rpartition("/")[2]
    return Offer(folder, mtime_ns, size, name, "", OfferFlag.BAD, problems=_encode_report(report))


_EMPTY: dict[str, Json] = {}
# The extensions that can change flags or needs.
_DECIDING_KEYS = EXTENSION_KEYS - {"author", "version", "tags", "keywords"}
# ASCII, so that SQLite stores any text, even one with a lone surrogate. Nothing in a frontmatter contains itself.
_encode_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


def _encode_report(report: Report) -> str:
    if not report.problems:
        return ""
    return json.dumps([{slot: getattr(problem, slot) for slot in Problem.__slots__} for problem in report], ensure_ascii=False)


def _encode_fields(fields: Mapping[str, Json]) -> str:
    others = dict(fields)
    others.pop("name", None)
    others.pop("description", None)
    return _encode_json(others) if others else ""
