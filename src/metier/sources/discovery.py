"""Disk to catalog: search each place, read what is new, remember it, merge.

Only the heads of files are read here; bodies wait until somebody activates a skill.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from metier.catalog import (
    Catalog,
    CatalogFilters,
    Environment,
    Offer,
    Source,
    SourceOffers,
    merge,
    offer_from_fast_fields,
    offer_from_parse,
    offer_from_report,
)
from metier.spec import (
    MAX_FRONTMATTER_BYTES,
    MAX_SKILL_FILE_BYTES,
    SKILL_FILE,
    Report,
    Verdict,
    apply_verdict,
    fast_fields,
    parse,
    problem,
)
from metier.values import dataclass

from .disk_files import DiskFiles
from .local_machine import LocalMachine
from .metadata_cache import MetadataCache
from .skill_folders import DEPTH, DIRECTORIES, FolderSearch, find_skill_folders
from .source_folders import SourceFolder

__all__ = ["DiscoveryLimits", "build_catalog", "discover"]

_FIRST_READ = 8 * 1024
_CLOSING = re.compile(rb"(?<=[\r\n])---[ \t]*(?=[\r\n]|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryLimits:
    """How far a search goes in each place."""

    depth: int = DEPTH
    directories: int = DIRECTORIES


def discover(
    *folders: str | os.PathLike[str],
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
    cache: str | os.PathLike[str] | None = None,
    limits: DiscoveryLimits | None = None,
) -> Catalog:
    """The skills in these folders, later ones winning. Naming a folder trusts it. `cache` is a file to remember heads in."""
    places = [SourceFolder(Source.PROJECT, os.fspath(folder)) for folder in folders]
    return build_catalog(
        places,
        filters=CatalogFilters(allow=tuple(allow), deny=tuple(deny)),
        machine=LocalMachine(),
        cache=MetadataCache(os.fspath(cache)) if cache is not None else None,
        limits=limits,
    )


def build_catalog(
    places: Sequence[SourceFolder],
    *,
    filters: CatalogFilters | None = None,
    machine: Environment,
    cache: MetadataCache | None = None,
    limits: DiscoveryLimits | None = None,
    below: Sequence[SourceOffers] = (),
) -> Catalog:
    """The catalog of these places. `below` is what is offered besides, by whoever must not hide anything in them."""
    limits = limits or DiscoveryLimits()
    warnings: list[str] = []
    offers: list[SourceOffers] = list(below)
    walks = [(place, find_skill_folders(place.root, depth=limits.depth, directories=limits.directories)) for place in places]
    real = {folder for _, found in walks for folder, _, _ in found.found}
    for place, found in walks:
        # A link to a skill of another place is how installers show one copy to several agents: that skill is listed once.
        found.odd = [odd for odd in found.odd if odd[1] != "SK017" or os.path.realpath(odd[0]) not in real]
        warnings += found.cut
        if found.found or found.odd:
            offers.append(SourceOffers(place.source, _read_all(place.root, found, cache), place.trusted))
    return merge(offers, filters=filters, machine=machine, warnings=warnings)


def _read_all(root: str, found: FolderSearch, cache: MetadataCache | None) -> list[Offer]:
    root = os.path.realpath(root)
    remembered = cache.under(root) if cache else []
    odd = [_bad(folder, code, message) for folder, code, message in found.odd]
    if remembered and [offer[:3] for offer in remembered] == found.found:
        # Both are in the order of folders: one comparison for all of them, which is how most starts go.
        return remembered + odd
    known = {offer.folder: offer for offer in remembered}
    offers: list[Offer] = []
    fresh: list[Offer] = []
    for folder, mtime, size in found.found:
        row = known.get(folder)
        if row is not None and row[1] == mtime and row[2] == size:
            offers.append(row)
        else:
            offer = _read_one(folder, mtime, size)
            offers.append(offer)
            fresh.append(offer)
    if cache:
        gone = known.keys() - {folder for folder, _, _ in found.found} if len(known) + len(fresh) > len(offers) else ()
        cache.keep(fresh, gone)
    return offers + odd


def _read_one(folder: str, mtime: int, size: int) -> Offer:
    if size > MAX_SKILL_FILE_BYTES:
        return _bad(folder, "SK016", f"SKILL.md is larger than {MAX_SKILL_FILE_BYTES:,} bytes", mtime, size)
    try:
        descriptor = _open(folder)
    except OSError as error:
        return _unreadable(folder, error)
    try:
        data = os.read(descriptor, _FIRST_READ)
        name = folder[folder.rfind("/") + 1 :]
        end = data.find(b"\n---\n", 3)
        if end > 0 and data[:4] == b"---\n":
            # Where it is not UTF-8 the mark of that is not printable, so the quick road refuses it.
            head = data[4 : end + 1].decode("utf-8", "surrogateescape")
            quick = fast_fields(head, name)
            if quick is not None:
                return offer_from_fast_fields(folder, mtime, size, quick, head)
        parsed = parse(_head_bytes(descriptor, data), folder=name, verdict=Verdict.LENIENT)
    except OSError as error:
        return _unreadable(folder, error)
    finally:
        os.close(descriptor)
    return offer_from_parse(folder, mtime, size, parsed)


def _open(folder: str) -> int:
    """SKILL.md as the walk saw it; a link is only followed where it stays inside the skill, also one planted meanwhile."""
    try:
        return os.open(f"{folder}/SKILL.md", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    return DiskFiles(folder).open(SKILL_FILE)


def _head_bytes(descriptor: int, data: bytes) -> bytes:
    """The file up to the end of its frontmatter, so that what is wrong with a body waits for whoever reads the body."""
    while True:
        closing = _CLOSING.search(data, 3)
        # At the very end of what was read, `---` may be the start of a longer line.
        if closing and closing.end() < len(data):
            return data[: closing.end()]
        if len(data) > MAX_FRONTMATTER_BYTES + _FIRST_READ:
            # Never closed, or far too long; a cut in the middle of a character would look like bad UTF-8.
            return data[: data.rfind(b"\n") + 1] or data[:1]
        more = os.read(descriptor, 1 << 16)
        if not more:
            return data
        data += more


def _unreadable(folder: str, error: OSError) -> Offer:
    # Without time and size the cache never takes this for the file's last word: permissions change neither.
    return _bad(folder, "SK015", f"SKILL.md cannot be read: {(error.strerror or 'error').lower()}")


def _bad(folder: str, code: str, message: str, mtime: int = 0, size: int = 0) -> Offer:
    judged = apply_verdict(problem(code, message), Verdict.LENIENT)
    return offer_from_report(folder, mtime, size, Report((judged,) if judged else ()))


def folders_of(places: Iterable[SourceFolder]) -> Iterator[str]:
    """The places that exist, for whoever wants to watch them."""
    return (place.root for place in places if os.path.isdir(place.root))
