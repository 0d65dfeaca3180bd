"""A skill as one source offers it, and the state it is in here."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Final, NamedTuple

from metier.spec import Document, Manifest, ParseResult, Problem, Report, Severity, parse
from metier.spec.extensions import EXTENSION_KEYS, WRITTEN_KEYS
from metier.spec.fast_yaml import FastFields
from metier.spec.manifest import manifest_from

from .needs import encoded_needs

__all__ = ["Entry", "Offer", "OfferFlag", "Source", "State", "offer_from_fast_fields", "offer_from_parse", "offer_from_report"]


class Source(StrEnum):
    """Where skills come from, in order of precedence: a later source hides an earlier one."""

    MCP = "mcp"
    """Another server offers it. Below all others, and under a name of its own: a stranger never hides what is here."""
    BUNDLED = "bundled"
    USER = "user"
    CLAUDE = "claude"
    PROJECT = "project"
    PLUGIN = "plugin"


class State(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"
    """Someone switched it off: configuration, a filter, or its own `default_enabled: false`."""
    UNAVAILABLE = "unavailable"
    """It needs something that this machine does not have."""
    SHADOWED = "shadowed"
    """A source of higher precedence offers the same name."""
    UNTRUSTED = "untrusted"
    """It lies in a project folder that nobody has trusted yet, so nothing of it is loaded."""
    SKIPPED = "skipped"
    """Not a usable skill; the reason says why."""


class OfferFlag:
    """What deciding a state needs to know of an offer; zero for nearly all. Plain bits: IntFlag costs 3 µs a question."""

    BAD: Final = 1
    OFF_BY_DEFAULT: Final = 2
    WARNED: Final = 4
    HIDDEN_FROM_MODEL: Final = 8


class Offer(NamedTuple):
    """One SKILL.md as it was read: also exactly one row of the metadata cache.

    A tuple and not a dataclass, because a start makes ten thousand of them straight from SQLite's rows.
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
    head: str = ""
    """The frontmatter as it was written; parsed again when somebody asks for more than the name."""
    problems: str = ""
    """As JSON; empty when there are none."""


class Entry(NamedTuple):
    """One line of the catalog. A tuple for the same reason as Offer."""

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
        """Names are labels and may collide; the folder is what tells two skills apart."""
        return self.folder

    @property
    def location(self) -> str:
        return f"{self.folder}/SKILL.md"

    @property
    def manifest(self) -> Manifest:
        return self._parsed.manifest or Manifest(name=self.name, description=self.description)

    @property
    def _parsed(self) -> ParseResult:
        data = f"---\n{self.offer.head}---\n".encode("utf-8", "surrogatepass")
        return parse(data, folder=self.folder.rpartition("/")[2])

    @property
    def report(self) -> Report:
        """What was odd about the file, under the lenient verdict."""
        if self.offer.flags & OfferFlag.WARNED and not self.offer.problems:
            # The quick road only saw that something is odd; where it stands is worth a parse now that somebody asks.
            return self._parsed.report
        rows = json.loads(self.offer.problems) if self.offer.problems else ()
        return Report(tuple(Problem(**{**row, "severity": Severity(row["severity"])}) for row in rows))

    @property
    def is_for_models(self) -> bool:
        """May it stand in a model's catalog? A person can still start it by name when not."""
        return self.state is State.ENABLED and not self.offer.flags & OfferFlag.HIDDEN_FROM_MODEL


def offer_from_fast_fields(folder: str, mtime_ns: int, size: int, quick: FastFields, head: str) -> Offer:
    """The offer of a head that took the quick road."""
    fields, warned = quick
    name, description = fields["name"], fields["description"].strip()
    metadata, flags = fields.get("metadata", _EMPTY), OfferFlag.WARNED if warned else 0
    if WRITTEN_KEYS.isdisjoint(fields) and _READ.isdisjoint(metadata):
        needs = encoded_needs(fields.get("compatibility", ""), "")
        return Offer(folder, mtime_ns, size, name, description, flags, needs, head)
    manifest, _ = manifest_from(fields, name=name, description=description)
    offer = offer_from_parse(
        folder, mtime_ns, size, ParseResult(manifest=manifest, report=Report(), document=Document(head=head))
    )
    return offer._replace(flags=offer.flags | flags) if flags else offer


def offer_from_parse(folder: str, mtime_ns: int, size: int, parsed: ParseResult) -> Offer:
    """The offer of a head that took a closer look, whether it came to anything or not."""
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
    head = parsed.document.head
    return Offer(folder, mtime_ns, size, manifest.name, manifest.description, flags, needs, head, _encoded(report))


def offer_from_report(folder: str, mtime_ns: int, size: int, report: Report) -> Offer:
    """A folder that is no usable skill still has a line: one bad skill never hides another, nor itself."""
    name = folder.rpartition("/")[2]
    return Offer(folder, mtime_ns, size, name, "", OfferFlag.BAD, problems=_encoded(report))


_EMPTY: dict[str, str] = {}
_READ = EXTENSION_KEYS - {"author", "version", "tags", "keywords"}


def _encoded(report: Report) -> str:
    if not report.problems:
        return ""
    return json.dumps([{slot: getattr(problem, slot) for slot in Problem.__slots__} for problem in report], ensure_ascii=False)
