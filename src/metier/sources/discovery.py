"""Discovery: search the source folders, read the frontmatter of new and changed skills, and merge all into a catalog.

Bodies are not read here, but when a skill is activated.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from metier.catalog import (
    Catalog,
    CatalogFilters,
    Environment,
    Offer,
    Source,
    SourceOffers,
    merge,
    offer_from_fields,
    offer_from_parse,
    offer_from_report,
    read_globs,
)
from metier.errors import NotFoundError
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
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CLOSING = re.compile(rb"(?<=[\r\n])---[ \t]*(?=[\r\n]|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryLimits:
    """Bounds of the search in each source folder."""

    depth: int = DEPTH
    directories: int = DIRECTORIES


def discover(
    *folders: str | os.PathLike[str],
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
    cache: str | os.PathLike[str] | None = None,
    limits: DiscoveryLimits | None = None,
) -> Catalog:
    """Returns the catalog of these folders; a later folder wins. A named folder is trusted. `cache` is a file for metadata.

    Raises NotFoundError if one of them is not a folder.
    """
    for folder in folders:
        if not os.fspath(folder) or not os.path.isdir(folder):
            raise NotFoundError(
                f"no such folder: {os.fspath(folder)!r}", hint="pass the folder that contains the skills' folders"
            )
    return build_catalog(
        [SourceFolder(Source.PROJECT, os.fspath(folder)) for folder in folders],
        filters=CatalogFilters(allow=read_globs(allow, "allow"), deny=read_globs(deny, "deny")),
        machine=LocalMachine(),
        cache=MetadataCache(os.fspath(cache)) if cache is not None else None,
        limits=limits,
    )


def build_catalog(
    folders: Sequence[SourceFolder],
    *,
    filters: CatalogFilters | None = None,
    machine: Environment,
    cache: MetadataCache | None = None,
    limits: DiscoveryLimits | None = None,
    below: Sequence[SourceOffers] = (),
    planned: Mapping[str, str] = MappingProxyType({}),
) -> Catalog:
    """Returns the catalog of these folders, from lowest to highest precedence. `below` are offers that hide nothing in them.

    `planned` are the folders of skills that are to be written, each with a folder that has its SKILL.md now.
    """
    limits = limits or DiscoveryLimits()
    warnings: list[str] = []
    offers: list[SourceOffers] = list(below)
    searches = []
    for folder in folders:
        if folder.leads_to:
            warnings.append(
                f"{folder.root} is a link out of the project, to {folder.leads_to}, and is not searched; "
                "if you trust that folder, name it to `metier trust`"
            )
            continue
        searches.append((folder, find_skill_folders(folder.root, depth=limits.depth, directories=limits.directories)))
    found = {skill for _, search in searches for skill, _, _ in search.found}
    for folder, search in searches:
        # Installers link one copy of a skill into the folders of several agents; such a skill is listed once.
        search.invalid = [one for one in search.invalid if one[1] != "SK017" or os.path.realpath(one[0]) not in found]
        warnings += search.warnings
        ahead = _planned_in(folder.root, planned) if planned else {}
        if search.found or search.invalid or ahead:
            read = _read_all(folder.root, search, cache)
            if ahead:
                read = [*(offer for offer in read if offer.folder not in ahead), *ahead.values()]
            offers.append(SourceOffers(folder.source, read, folder.trusted, folder.project))
    return merge(offers, filters=filters, machine=machine, warnings=warnings)


def _read_all(root: str, search: FolderSearch, cache: MetadataCache | None) -> list[Offer]:
    cached = cache.load(os.path.realpath(root)) if cache else []
    invalid = [_invalid(folder, code, message) for folder, code, message in search.invalid]
    if cached and [offer[:3] for offer in cached] == search.found:
        # Both are sorted by folder, so one comparison finds that nothing has changed, which is the usual case.
        return cached + invalid
    known = {offer.folder: offer for offer in cached}
    offers: list[Offer] = []
    changed: list[Offer] = []
    for folder, mtime, size in search.found:
        offer = known.pop(folder, None)
        if offer is None or offer.mtime_ns != mtime or offer.size != size:
            offer = _read_one(folder, mtime, size)
            changed.append(offer)
        offers.append(offer)
    if cache:
        cache.save(changed, removed=known)
    return offers + invalid


def _planned_in(root: str, planned: Mapping[str, str]) -> dict[str, Offer]:
    """Returns the offers of planned skills in a source folder, by the folder that they will have."""
    top = os.path.realpath(root)
    found = {}
    for target, folder in planned.items():
        if os.path.realpath(os.path.dirname(target)) == top:
            info = os.stat(os.path.join(folder, SKILL_FILE))
            found[os.path.join(top, os.path.basename(target))] = _read_one(folder, info.st_mtime_ns, info.st_size)
    return found


def _read_one(folder: str, mtime: int, size: int) -> Offer:
    if size > MAX_SKILL_FILE_BYTES:
        return _invalid(folder, "SK016", f"SKILL.md is larger than {MAX_SKILL_FILE_BYTES:,} bytes", mtime, size)
    try:
        descriptor = _open(folder)
    except OSError as error:
        return _unreadable(folder, error)
    try:
        data = os.read(descriptor, _FIRST_READ)
        name = folder[folder.rfind("/") + 1 :]
        end = data.find(b"\n---\n", 3)
        if end > 0 and data[:4] == b"---\n":
            # The fast parser refuses bytes that are not UTF-8, because surrogates are not printable.
            frontmatter = data[4 : end + 1].decode("utf-8", "surrogateescape")
            fast = fast_fields(frontmatter, name)
            if fast is not None:
                return offer_from_fields(folder, mtime, size, fast.fields, warned=frontmatter if fast.warned else "")
        parsed = parse(_read_frontmatter(descriptor, data), folder=name, verdict=Verdict.LENIENT)
    except OSError as error:
        return _unreadable(folder, error)
    finally:
        os.close(descriptor)
    return offer_from_parse(folder, mtime, size, parsed)


def _open(folder: str) -> int:
    """Opens SKILL.md; follows a link only inside the skill, even if the link was created after the search."""
    try:
        return os.open(f"{folder}/SKILL.md", _OPEN_FLAGS)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    return DiskFiles(folder).open(SKILL_FILE)


def _read_frontmatter(descriptor: int, data: bytes) -> bytes:
    """Reads the file up to the end of its frontmatter. Problems of the body are found when the body is read."""
    while True:
        closing = _CLOSING.search(data, 3)
        # At the end of the data, `---` may be the start of a longer line.
        if closing and closing.end() < len(data):
            return data[: closing.end()]
        if len(data) > MAX_FRONTMATTER_BYTES + _FIRST_READ:
            # Not closed, or too long. The cut is at a line end, because half a character would look like bad UTF-8.
            return data[: data.rfind(b"\n") + 1] or data[:1]
        more = os.read(descriptor, 1 << 16)
        if not more:
            return data
        data += more


def _unreadable(folder: str, error: OSError) -> Offer:
    # Without time and size, which a chmod does not change, the cache reads the file again next time.
    return _invalid(folder, "SK015", f"SKILL.md cannot be read: {(error.strerror or 'error').lower()}")


def _invalid(folder: str, code: str, message: str, mtime: int = 0, size: int = 0) -> Offer:
    judged = apply_verdict(problem(code, message), Verdict.LENIENT)
    return offer_from_report(folder, mtime, size, Report((judged,) if judged else ()))
