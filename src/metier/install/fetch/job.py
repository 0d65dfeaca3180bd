"""Shared by all fetchers: what a fetch may use, its progress, and how skills are read from a tree.

The cache is read before the network. Skills are recorded under what a ref resolved to (a commit, a digest), and a ref points
there, so `--offline` finds earlier fetches by ref, and a commit is never fetched twice. Several refs may lead to the same
bytes: the origin of a skill is always that of the ref that was asked for, never the one that filled the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Any

from metier.archive import SKILL_LIMITS, ArchiveLimits, Contents, digest
from metier.errors import NotFoundError, SkillNotFoundError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched, FetchedSkill
from metier.install.refs.ref_types import GitRef, HttpArchive, HttpSkillFile, OciRef, Ref, RegistryRef, WellKnown
from metier.install.refs.source_rules import SourceRules
from metier.values import dataclass, field, replace

from .missing_parts import submodule_warnings
from .repository import LEFT_OUT, FoundSkill, SkillSearch, find_skills, select_skills, wanted_by_default
from .tree import SkillTree

if TYPE_CHECKING:
    from metier.install.git.program import GitProgram

    from .cache import SkillCache
    from .cooldown import Cooldown
    from .credentials import Credentials, Headers, RegistrySource
    from .destinations import Destinations
    from .http import HttpClient
    from .signature_policy import SignaturePolicy

__all__ = ["Access", "Choose", "FetchJob", "FetchProgress", "FetchStage", "Progress", "choose_default", "ignore_progress"]

Choose = Callable[[tuple[FoundSkill, ...]], Iterable[FoundSkill]]
"""Picks from the offered skills; picking none only lists them."""


class FetchStage(StrEnum):
    ASKING = "asking"
    FETCHING = "fetching"
    READING = "reading"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchProgress:
    """The progress of one ref."""

    ref: str
    stage: FetchStage
    done: int = 0
    total: int | None = None
    """Bytes, where known."""


Progress = Callable[[FetchProgress], None]


def ignore_progress(progress: FetchProgress) -> None:
    """The default for callers that show no progress."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The permissions and facilities of a fetch. It knows nothing else about the machine."""

    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."
    """The base of relative paths."""
    places: tuple[str, ...] = ()
    """Folders to search for a bare name, in this order."""
    sources: tuple[RegistrySource, ...] = ()
    headers: Headers = ()
    """For `header_origin` only. If that is empty, the first ref or lock entries that are fetched decide it."""
    header_origin: str = ""
    rules: SourceRules = SourceRules()
    cooldown: Cooldown | None = None
    """Versions that are younger are not installed."""
    untrusted_lock: str = ""
    """The lock file that names the sources, if it is that of a project that the user does not trust."""
    cache: SkillCache | None = None
    offline: bool = False
    insecure: bool = False
    allow_file: bool = False
    old_index: bool = False
    """Also accept an index of version 0.1.0, which has no digests."""
    full_depth: bool = False
    """Search the whole source, also inside other skills."""
    limits: ArchiveLimits = SKILL_LIMITS
    timeout: float = 120.0
    workers: int = 8
    cancelled: Event = field(default_factory=Event)
    """Set on Ctrl-C; ends running git processes."""

    # Imported on first use: a local folder needs neither HTTP nor git.

    @cached_property
    def http(self) -> HttpClient:
        from .http import HttpClient

        return HttpClient(
            insecure=self.insecure, environment=self.environment, timeout=self.timeout, destinations=self.destinations
        )

    @cached_property
    def git(self) -> GitProgram:
        from metier.install.git.program import find_git

        return find_git(self.environment, timeout=self.timeout, cancelled=self.cancelled)

    @cached_property
    def credentials(self) -> Credentials:
        from .credentials import Credentials

        # A source that a project asks for in vain is an error only where it is named.
        granted = tuple(source for source in self.sources if not source.ungranted)
        return Credentials(headers=self.headers, origin=self.header_origin, sources=granted, environment=self.environment)

    @cached_property
    def destinations(self) -> Destinations:
        from .credentials import origin_of
        from .destinations import Destinations

        mine = [source for source in self.sources if not source.file]
        known = frozenset(origin_of(url) for source in mine for url in (source.url, *source.mirrors))
        return Destinations(rules=self.rules, untrusted_lock=self.untrusted_lock, known=known)

    def with_headers_for(self, urls: Iterable[str], *, is_typed: bool = False) -> Access:
        """Binds the headers to the one origin of these URLs. Raises UsageError if there is not exactly one."""
        if not self.headers or self.header_origin:
            return self
        from .destinations import header_origin
        from .oci_client import api_url

        urls = [api_url(url, insecure=self.insecure) if url.startswith("oci://") else url for url in urls]
        return replace(self, header_origin=header_origin(urls, untrusted_lock=self.untrusted_lock, is_typed=is_typed))

    def judge_age(self, skill: FetchedSkill) -> FetchedSkill:
        """Marks a skill that is younger than the cool-down."""
        end = self.cooldown.ends_for(skill, self.cache) if self.cooldown else None
        return replace(skill, too_new=self.cooldown.refuse(skill.name, skill, end)) if self.cooldown and end else skill

    def signature_policies(self, origin: Origin) -> tuple[SignaturePolicy, ...]:
        """Returns what the sources above this origin demand."""
        if not any(source.signature or source.keys for source in self.sources):
            return ()
        # Imported here: most sources demand no signature.
        from .skill_signatures import policies_for

        return policies_for(origin, self.sources)

    def check_signatures(self, skill: FetchedSkill) -> FetchedSkill:
        """Returns the skill with its signers, where its source demands some. Raises RefusedError."""
        policies = self.signature_policies(skill.origin)
        if not policies:
            return skill
        from .skill_signatures import check_signatures

        return check_signatures(skill, policies, self)

    def cache_local(self, skill: FetchedSkill) -> None:
        """Caches a skill from this disk. Its folder will change, and an update merges edits with the version before."""
        if self.cache and skill.origin.kind in ("path", "archive") and isinstance(skill.files, Contents):
            self.cache.put(skill.files, skill.digest)

    def url_of(self, ref: Ref) -> str:
        """Returns the URL that a ref is fetched from; empty for what is on this disk."""
        if isinstance(ref, RegistryRef):
            return next((f"{source.url}/{ref.name}" for source in self.sources if source.name == ref.alias), "")
        if isinstance(ref, OciRef):
            return ref.home
        return ref.url if isinstance(ref, GitRef | HttpArchive | HttpSkillFile | WellKnown) else ""


def choose_default(found: tuple[FoundSkill, ...]) -> tuple[FoundSkill, ...]:
    return wanted_by_default(found)


@dataclass(frozen=True, kw_only=True)
class FetchJob:
    """One ref on its way."""

    ref: str
    access: Access
    choose: Choose = choose_default
    progress: Progress = ignore_progress

    def report(self, stage: FetchStage, done: int = 0, total: int | None = None) -> None:
        self.progress(FetchProgress(ref=self.ref, stage=stage, done=done, total=total))

    def received(self, done: int, total: int | None) -> None:
        self.report(FetchStage.FETCHING, done, total)

    def chosen(self, search: SkillSearch, skill: str | None) -> tuple[FoundSkill, ...]:
        """Returns the skill that the ref names, else the caller's choice."""
        if not search.found and not search.elsewhere:
            raise SkillNotFoundError(self.ref, hint="it has no SKILL.md; try a path or another branch")
        return select_skills(search.found, [skill]) if skill else tuple(self.choose(search.found))

    def from_tree(self, tree: SkillTree, origin: Origin, *, skill: str | None = None, key: str = "") -> Fetched:
        """Returns the chosen skills of a tree, from `origin.path` on; each gets an origin with its own path.

        They are recorded under `key`, unless it is empty.
        """
        self.report(FetchStage.READING)
        search = find_skills(
            tree, path=origin.path, fallback=replace(origin, path="").folder_name, full_depth=self.access.full_depth
        )
        chosen = self.chosen(search, skill)
        # One round trip for a remote tree.
        tree.prefetch(_files_of(tree, chosen))
        brought = [(found, tree.contents(found.path, leave_out=LEFT_OUT, limits=self.access.limits)) for found in chosen]
        search = replace(search, warnings=(*search.warnings, *submodule_warnings(tree, search.found, chosen)))
        placed = tuple((found, contents, replace(origin, path=found.path)) for found, contents in brought)
        return self.kept(search, placed, key)

    def kept(self, search: SkillSearch, brought: tuple[tuple[FoundSkill, Contents, Origin], ...], key: str) -> Fetched:
        """Returns the skills, and records them in the cache."""
        skills = tuple(
            FetchedSkill(
                name=found.name, files=contents, digest=digest(contents), origin=origin, parsed=search.parsed.get(found.path)
            )
            for found, contents, origin in brought
        )
        # Local skills have no key and need no second copy.
        if self.access.cache and key:
            record: dict[str, Any] = {
                "offered": [_fields(one) for one in search.found], "elsewhere": list(search.elsewhere),
                "warnings": list(search.warnings),
            }  # fmt: skip
            for skill, (found, contents, origin) in zip(skills, brought, strict=True):
                self.access.cache.put(contents, skill.digest)
                record[f"skill {found.path}"] = {"digest": skill.digest, "origin": _fields(origin)}
            self.access.cache.remember(key, record)
        return Fetched(skills=skills, warnings=search.warnings, offered=search.found, elsewhere=search.elsewhere)

    def remember_ref(self, key: str, origin: Origin) -> None:
        """Records what this ref has resolved to, so that --offline finds it."""
        if self.access.cache:
            self.access.cache.remember(self.ref, {"content": key, "origin": _fields(origin)})

    def dated(self, fetched: Fetched, published: float | None, key: str, *, held: str = "") -> Fetched:
        """Returns the skills with the time of their version, which is recorded under a key for when it is not known."""
        if cache := self.access.cache:
            # A later time that was found otherwise counts: a commit's own date is its author's.
            known = (cache.recall(f"age {key}") or {}).get("published")
            published = max((one for one in (known, published) if one is not None), default=None)
            if published is not None:
                for each in (key, *(one.digest for one in fetched.skills)):
                    cache.remember(f"age {each}", {"published": published})
        return replace(fetched, skills=tuple(replace(one, published=published, held=held) for one in fetched.skills))

    def recalled(self, key: str, *, origin: Origin | None = None, skill: str | None = None) -> Fetched | None:
        """Returns what is recorded under a key, if the cache still has every chosen skill.

        With `origin` the skills get that one; without it the key is a ref, and they get the origin that it had.
        """
        cache = self.access.cache
        record = cache.recall(key) if cache else None
        try:
            if cache and record and "content" in record:
                origin, record = Origin(**record["origin"]), cache.recall(str(record["content"]))
            if not cache or not record or "offered" not in record:
                return None
            search = SkillSearch(
                found=tuple(FoundSkill(**one) for one in record["offered"]), elsewhere=tuple(record.get("elsewhere", ())),
                warnings=tuple(record.get("warnings", ())),
            )  # fmt: skip
            skills = tuple(self._recalled_skill(cache, record, found, origin) for found in self.chosen(search, skill))
        except (TypeError, KeyError, NotFoundError):
            # Written by another version, or deleted meanwhile.
            return None
        return Fetched(skills=skills, warnings=search.warnings, offered=search.found, elsewhere=search.elsewhere)

    @staticmethod
    def _recalled_skill(cache: SkillCache, record: Mapping[str, Any], found: FoundSkill, origin: Origin | None) -> FetchedSkill:
        taken = record[f"skill {found.path}"]
        contents = cache.get(taken["digest"])
        if contents is None:
            raise KeyError(taken["digest"])
        own = replace(origin, path=found.path) if origin else Origin(**taken["origin"])
        return FetchedSkill(name=found.name, files=contents, digest=taken["digest"], origin=own)


def _files_of(tree: SkillTree, chosen: Iterable[FoundSkill]) -> list[str]:
    prefixes = tuple(f"{found.path}/" if found.path else "" for found in chosen)
    return (
        [path for path in tree.nodes if path.startswith(prefixes) and LEFT_OUT.isdisjoint(path.split("/"))] if prefixes else []
    )


def _fields(value: FoundSkill | Origin) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
