"""The merged catalog: every skill that was found, the winner of each name, and the state of each.

The source of higher precedence wins: plugin, project, claude, user, bundled. The loser stays in the catalog as *shadowed*, so
that `metier skill list` can explain why the SKILL.md on your screen is not the one in use. A winner that is disabled or
unavailable still hides the others: switching a skill off must not switch another one on. Skills in an untrusted
folder do not compete, or a cloned repository could hide your own skills.

One source may have several versions of a skill. The highest wins, and each can be asked for as `NAME@VERSION`.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import NamedTuple

from metier.errors import SkillNotFoundError, UsageError
from metier.spec import Version, is_version
from metier.values import dataclass, field

from .entry import Entry, Offer, OfferFlag, Source, State, version_of
from .needs import Environment, Needs, missing_needs

__all__ = ["Catalog", "CatalogFilters", "SourceOffers", "merge", "read_globs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFilters:
    """The user's settings for which skills may be used."""

    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()
    """Switches on what `default_enabled: false` leaves off."""
    disabled_bundled: frozenset[str] = frozenset()
    enabled_bundled: frozenset[str] = frozenset()
    """When not empty, the only bundled skills that are on."""
    allow: tuple[str, ...] = ()
    """Globs; when not empty, a skill must match one."""
    deny: tuple[str, ...] = ()


def read_globs(given: Iterable[str], name: str) -> tuple[str, ...]:
    """Returns the globs of an argument. Raises UsageError for a text: its letters would be globs, and `*` allows all."""
    if isinstance(given, str):
        raise UsageError(f"{name} is the text {given!r} instead of a list", hint=f"pass {name}=[{given!r}]")
    return tuple(given)


class SourceOffers(NamedTuple):
    """The offers of one folder or server."""

    source: Source
    offers: Sequence[Offer]
    trusted: bool = True
    project: str = ""
    """The folder above the current one that they belong to."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Immutable. Iterating gives the skills that can be used, in the order of their names."""

    entries: tuple[Entry, ...] = ()
    warnings: tuple[str, ...] = ()
    """Warnings from discovery, such as a folder that is too deep to search."""
    _by_name: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    _by_version: Mapping[str, Entry] = field(default_factory=dict, repr=False)
    """The versions that another entry of the name hides, by `NAME@VERSION`."""

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.state is State.ENABLED)

    def __len__(self) -> int:
        return sum(entry.state is State.ENABLED for entry in self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name or (isinstance(name, str) and self.get(name) is not None)

    def __getitem__(self, name: str) -> Entry:
        """Returns the winner of that name, or one version of it, in any state. Raises SkillNotFoundError."""
        entry = self.get(name)
        if entry is not None:
            return entry
        base, _, version = name.partition("@")
        here = ", ".join(self.versions(base)) if version else ""
        raise SkillNotFoundError(name, known=self._by_name, hint=f"versions of {base} here: {here}" if here else "")

    def get(self, name: str) -> Entry | None:
        """Returns the winner of that name; for `NAME@VERSION`, that version, which has the whole text as its name."""
        entry = self._by_name.get(name) or self._by_version.get(name)
        if entry is not None or "@" not in name:
            return entry
        base, _, version = name.partition("@")
        winner = self._by_name.get(base)
        return winner._replace(name=name) if winner and version and winner.version == version else None

    def versions(self, name: str) -> tuple[str, ...]:
        """Returns the versions of a skill that are here, the highest first."""
        found = {key.partition("@")[2] for key in self._by_version if key.startswith(f"{name}@")}
        winner = self._by_name.get(name)
        if winner and winner.version:
            found.add(winner.version)
        return tuple(sorted(found, key=_version_order, reverse=True))

    def only(self, names: Container[str]) -> Catalog:
        """Returns a catalog with only these names."""
        kept = {name: entry for name, entry in self._by_name.items() if name in names}
        versions = {key: entry for key, entry in self._by_version.items() if key in names or key.partition("@")[0] in names}
        return Catalog(tuple(entry for entry in self.entries if entry.name in names), self.warnings, kept, versions)

    def list(self, *, include_disabled: bool = False, include_unavailable: bool = False) -> tuple[Entry, ...]:
        wanted = {State.ENABLED}
        if include_disabled:
            wanted.add(State.DISABLED)
        if include_unavailable:
            wanted.add(State.UNAVAILABLE)
        return tuple(entry for entry in self.entries if entry.state in wanted)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self)

    @property
    def skipped(self) -> tuple[Entry, ...]:
        """The entries that are not usable skills, each with its reason."""
        return tuple(entry for entry in self.entries if entry.state is State.SKIPPED)


def merge(
    places: Sequence[SourceOffers],
    *,
    filters: CatalogFilters | None = None,
    machine: Environment,
    warnings: Iterable[str] = (),
) -> Catalog:
    """Returns the catalog of these places, given from lowest to highest precedence."""
    decider = _Decider(filters or CatalogFilters(), machine)
    winners: dict[str, Entry] = {}
    entries: list[Entry] = []
    hidden: list[Entry] = []
    beaten: list[Entry] = []
    above: dict[str, str] = {}
    for source, offers, trusted, project in reversed(places):
        for offer in offers:
            if not trusted or offer.flags & OfferFlag.BAD:
                entries.append(_left_out(source, offer, trusted=trusted, project=project))
                continue
            name = offer.name
            winner = winners.get(name)
            if winner is None:
                winners[name] = entry = decider.decide(source, offer)
                entries.append(entry)
                if project:
                    above[name] = project
                continue
            # One without a version can never be used, so nothing is looked up for it.
            is_named = bool(version_of(offer))
            entry = decider.decide(source, offer) if is_named else _shadowed(source, offer)
            hidden.append(entry)
            # A nearer folder of the project wins whatever its version.
            if winner.source is source and above.get(name, "") == project and _is_higher(entry, winner):
                winners[name] = entry
                beaten.append(winner)
    if hidden:
        entries = _with_hidden(entries, hidden, winners)
    # Stable, so that the winner stays first among equal names.
    entries.sort(key=attrgetter("name"))
    versions: dict[str, Entry] = {}
    for entry in (*beaten, *hidden):
        if entry is not winners[entry.name] and (version := entry.version):
            versions.setdefault(f"{entry.name}@{version}", entry._replace(name=f"{entry.name}@{version}"))
    return Catalog(tuple(entries), tuple(warnings), winners, versions)


def _shadowed(source: Source, offer: Offer) -> Entry:
    return Entry(offer.name, offer.description, source, offer.folder, State.SHADOWED, "", offer)


def _with_hidden(entries: Iterable[Entry], hidden: Iterable[Entry], winners: Mapping[str, Entry]) -> list[Entry]:
    """Returns all entries, the winner of a name before those that it hides, which are marked as shadowed."""
    rest: list[Entry] = []
    first: list[Entry] = []
    for entry in (*entries, *hidden):
        winner = winners.get(entry.name)
        if winner is None or entry is winner or entry.state in (State.UNTRUSTED, State.SKIPPED):
            first.append(entry)
            continue
        is_version = winner.source is entry.source and _is_higher(winner, entry)
        by = f"version {winner.version}" if is_version else f"the {winner.source} skill"
        rest.append(entry._replace(state=State.SHADOWED, reason=f"hidden by {by} in {winner.folder}"))
    return [*first, *rest]


def _is_higher(one: Entry, other: Entry) -> bool:
    """Returns True if both have versions, and the first one's is higher. Otherwise the order of the places decides.

    A folder `NAME@VERSION` is an extra version of a skill: it never wins against the skill's own folder without a version.
    """
    mine, yours = one.version, other.version
    if not mine and other.folder.endswith(f"/{other.name}@{yours}"):
        return True
    return is_version(mine) and is_version(yours) and Version.parse(mine) > Version.parse(yours)


def _version_order(text: str) -> tuple[bool, Version | str]:
    return (True, Version.parse(text)) if is_version(text) else (False, text)


class _Decider:
    """Decides whether an offer that has won its name is enabled."""

    def __init__(self, filters: CatalogFilters, machine: Environment) -> None:
        self.filters = filters
        self.machine = machine
        self.has_filters = filters != CatalogFilters()
        self.answers: dict[str, str] = {}

    def decide(self, source: Source, offer: Offer) -> Entry:
        state, reason = State.ENABLED, ""
        if self.has_filters or offer.flags & OfferFlag.OFF_BY_DEFAULT:
            reason = self._disabled(source, offer)
            state = State.DISABLED if reason else State.ENABLED
        if offer.needs and not reason:
            reason = self._missing(offer.needs)
            state = State.UNAVAILABLE if reason else State.ENABLED
        return Entry(offer.name, offer.description, source, offer.folder, state, reason, offer)

    def _disabled(self, source: Source, offer: Offer) -> str:
        filters, name = self.filters, offer.name
        if name in filters.disabled or (source is Source.BUNDLED and name in filters.disabled_bundled):
            return "disabled in the configuration"
        if source is Source.BUNDLED and filters.enabled_bundled and name not in filters.enabled_bundled:
            return "not among enabled_bundled"
        if any(fnmatchcase(name, glob) for glob in filters.deny):
            return "denied by a filter"
        if filters.allow and not any(fnmatchcase(name, glob) for glob in filters.allow):
            return "not allowed by a filter"
        if offer.flags & OfferFlag.OFF_BY_DEFAULT and name not in filters.enabled | filters.enabled_bundled:
            return f"off by default; switch it on with `metier skill enable {name}`"
        return ""

    def _missing(self, needs: str) -> str:
        if needs not in self.answers:
            self.answers[needs] = missing_needs(Needs.decoded(needs), self.machine)
        return self.answers[needs]


def _left_out(source: Source, offer: Offer, *, trusted: bool, project: str = "") -> Entry:
    if not trusted:
        reason = "the folder is not trusted; run `metier trust` in it to use its skills"
        if project:
            reason = f"{project} is not trusted; run `metier trust {shlex.quote(project)}` to use its skills"
        return Entry(offer.name, offer.description, source, offer.folder, State.UNTRUSTED, reason, offer)
    entry = Entry(offer.name, "", source, offer.folder, State.SKIPPED, "not a skill", offer)
    first = next(iter(entry.report.errors), None)
    return entry._replace(reason=first.message) if first else entry
