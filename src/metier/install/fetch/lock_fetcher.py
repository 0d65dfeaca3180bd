"""Fetches the skills of a lock from their sources: the locked version, the newest, or only its commit.

The cache has everything that was fetched once, so a restore rarely needs the network. Otherwise skills are grouped by source:
each repository is asked once, all in parallel.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from metier.archive import Contents, digest
from metier.errors import MetierError, NotFoundError, RefusedError, SkillNotFoundError, UnavailableError, suggested_name
from metier.install.lock.lock_file import REGISTRY_KINDS, LockEntry, Origin
from metier.install.protocols import Fetched, FetchedSkill, FetchResult, NewestVersion
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import ArchiveFile, GitRef, HttpArchive, LocalPath, Ref, RegistryRef, WellKnown, is_commit
from metier.spec import SKILL_FILE, Verdict, Version, is_name, is_version, parse
from metier.values import replace

from .dispatch import fetch_ref
from .job import Access, FetchJob, Progress, ignore_progress
from .parallel import run_parallel
from .repository import LEFT_OUT
from .tree import FolderTree, SkillTree

if TYPE_CHECKING:
    from metier.install.git.remote import GitRemote, RemoteRefs

__all__ = ["LockFetcher"]

T = TypeVar("T")


class LockFetcher:
    def __init__(self, access: Access, *, progress: Progress = ignore_progress) -> None:
        self.access, self.progress = access, progress

    def exact(self, entries: Sequence[LockEntry]) -> list[FetchResult]:
        self._bind_headers(entries)
        cache = self.access.cache
        known = {
            entry.name: contents
            for entry in entries
            if cache and self._is_usable(entry) and (contents := cache.get(entry.digest)) is not None
        }
        rest = [entry for entry in entries if entry.name not in known]
        brought = self._in_groups(
            rest,
            lambda entry: (entry.origin.kind, entry.origin.url, entry.origin.commit or entry.origin.version),
            self._exact,
            _same_error,
        )
        found = dict(zip((entry.name for entry in rest), brought, strict=True))
        return [
            self._judged(_skill(known[entry.name], entry.origin, entry.digest, self._age(entry)))
            if entry.name in known
            else self._judged(found[entry.name])
            for entry in entries
        ]

    def latest(self, entries: Sequence[LockEntry]) -> list[FetchResult]:
        self._bind_headers(entries)
        found = self._in_groups(
            entries, lambda entry: (entry.origin.kind, entry.origin.url, _ref(entry) or ""), self._latest, _same_error
        )
        for one in found:
            if not isinstance(one, MetierError):
                self.access.cache_local(one)
        return [self._judged(one) for one in found]

    def newest(self, entries: Sequence[LockEntry]) -> list[NewestVersion]:
        self._bind_headers(entries)
        return self._in_groups(
            entries,
            # A repository has one list of refs for all; a registry is asked for each version or range.
            lambda entry: (entry.origin.kind, entry.origin.url, "" if entry.origin.kind == "git" else _ref(entry) or ""),
            self._newest,
            lambda error: NewestVersion(problem=str(error)),
        )

    def beside(self, entry: LockEntry, names: Sequence[str]) -> Fetched:
        origin, wanted = entry.origin, frozenset(names)
        ref: Ref
        if origin.kind == "git":
            ref = _git(origin.url, ref=origin.commit)
        elif origin.kind in ("path", "archive"):
            # The siblings of a skill that was installed by its own folder are beside it.
            top = origin.url if origin.path or origin.kind == "archive" else os.path.dirname(origin.url)
            ref = LocalPath(top) if origin.kind == "path" else ArchiveFile(top)
        else:
            ref = self._web_ref(entry, exact=True)
        fetched = fetch_ref(
            ref, self.access, choose=lambda found: [one for one in found if one.name in wanted], progress=self.progress
        )
        # They follow the ref of the skill that needs them, not the commit that it is at.
        return replace(
            fetched, skills=tuple(replace(one, origin=replace(one.origin, ref=origin.ref)) for one in fetched.skills)
        )

    def _is_usable(self, entry: LockEntry) -> bool:
        """Returns True if the cached copy may be used without asking the source: it is allowed, and its age is known."""
        try:
            self.access.rules.check(_source_url(entry))
        except RefusedError:
            return False
        return self.access.cooldown is None or self._age(entry) is not None

    def _age(self, entry: LockEntry) -> float | None:
        return self._published(entry.digest) if self.access.cooldown else None

    def _judged(self, found: FetchResult) -> FetchResult:
        if isinstance(found, MetierError):
            return found
        try:
            return self.access.check_signatures(self.access.judge_age(found))
        except RefusedError as error:
            return error

    def _bind_headers(self, entries: Sequence[LockEntry]) -> None:
        self.access = self.access.with_headers_for([entry.origin.url for entry in entries])

    def _exact(self, entries: Sequence[LockEntry]) -> list[FetchResult]:
        if self.access.offline and entries[0].origin.kind not in ("path", "archive"):
            raise UnavailableError(f"{entries[0].name} is not in the cache, and --offline allows no network", retryable=False,
                              hint="run it once without --offline")  # fmt: skip
        return self._fetch(entries, entries[0].origin.commit, exact=True)

    def _latest(self, entries: Sequence[LockEntry]) -> list[FetchResult]:
        origin = entries[0].origin
        if origin.kind != "git":
            return self._fetch(entries, "")
        self._refuse_offline(origin)
        from .git import old_enough

        remote = self._remote(origin.url)
        resolved, held = old_enough(remote, remote.resolve([(_ref(entries[0]), "")]), self.access)
        found = self._fetch(entries, resolved.commit)
        # Without the list of refs, which a full commit needs not, no tag is known.
        refs = None if is_commit(_ref(entries[0])) else remote.refs()
        return [
            one if isinstance(one, MetierError) else replace(one, held=held, tags=_tags(refs, entry, resolved.commit))
            for entry, one in zip(entries, found, strict=True)
        ]

    def _newest(self, entries: Sequence[LockEntry]) -> list[NewestVersion]:
        origin = entries[0].origin
        if origin.kind in REGISTRY_KINDS and (known := self._released(entries)):
            return known
        if origin.kind != "git":
            return [_newest(entry, self._judged(one)) for entry, one in zip(entries, self._latest(entries), strict=True)]
        self._refuse_offline(origin)
        if all(is_commit(_ref(entry)) for entry in entries):
            return [NewestVersion(commit=_ref(entry) or "") for entry in entries]
        remote = self._remote(origin.url)
        found = [self._newest_commit(remote, entry) for entry in entries]
        return self._with_details(entries, found)

    def _newest_commit(self, remote: GitRemote, entry: LockEntry) -> NewestVersion:
        """Returns the newest commit of the ref, as far as the list of refs tells."""
        refs, ref, url = remote.refs(), _ref(entry), entry.origin.url
        if is_commit(ref):
            return NewestVersion(commit=ref or "")
        commit = refs.find(ref) if ref else refs.head
        if not commit:
            return NewestVersion(problem=f"{url} no longer has {ref!r}")
        newest = refs.newest_tag(refs.tags)
        if ref in refs.tags and ref != newest == refs.newest_tag([ref or "", newest]) and refs.newest_tag([ref or ""]):
            return NewestVersion(commit=refs.tags[newest], tags=(ref or "", newest), exact=ref or "")
        held = ""
        if self.access.cooldown and commit != entry.origin.commit:
            commit, held = self._old_commit(url, ref, entry)
        return NewestVersion(
            commit=commit, digest=self._known_digest(url, commit, entry), tags=_tags(refs, entry, commit), held=held
        )

    def _with_details(self, entries: Sequence[LockEntry], found: Sequence[NewestVersion]) -> list[NewestVersion]:
        """Returns the versions with what only the new files tell: whether the skill changed, its version and its date."""
        details: dict[str, NewestVersion] = {}
        news = [(entry, new) for entry, new in zip(entries, found, strict=True) if not new.problem and not new.exact]
        for commit in dict.fromkeys(new.commit for entry, new in news if new.commit != entry.origin.commit):
            group = [(entry, new) for entry, new in news if new.commit == commit]
            try:
                fetched = self._fetch([entry for entry, _ in group], commit)
            except MetierError:
                # The list of refs was read, so there is a newer commit, and no more is known.
                continue
            details |= {entry.name: _detailed(new, one) for (entry, new), one in zip(group, fetched, strict=True)}
        return [
            replace(one, published=(self._published(entry.digest), one.published[1]))
            for entry, new in zip(entries, found, strict=True)
            for one in [details.get(entry.name, new)]
        ]

    def _published(self, digest: str) -> float | None:
        record = self.access.cache.recall(f"age {digest}") if self.access.cache else None
        return (record or {}).get("published")

    def _old_commit(self, url: str, ref: str | None, entry: LockEntry) -> tuple[str, str]:
        """Returns the newest commit that the cool-down lets pass, and what it holds back."""
        from .cooldown import utc
        from .git import old_enough

        remote = self._remote(url)
        newest = remote.resolve([(ref, "")])
        resolved, held = old_enough(remote, newest, self.access)
        if not held and self.access.cooldown:
            with remote.history(resolved.commit) as history:
                end = self.access.cooldown.ends(history.time_of(resolved.commit))
            return (entry.origin.commit, f"{resolved.commit[:10]} until {utc(end)}") if end else (resolved.commit, "")
        return resolved.commit, held

    def _fetch(self, entries: Sequence[LockEntry], commit: str, *, exact: bool = False) -> list[FetchResult]:
        """Fetches the skills of one source in one request."""
        origin = entries[0].origin
        if origin.kind in ("git", "path"):
            with self._tree(origin, commit) as tree:
                folders = tuple(f"{entry.origin.path}/".lstrip("/") for entry in entries)
                tree.prefetch([path for path in tree.nodes if path.startswith(folders)])
                return [self._from_tree(tree, entry, commit) for entry in entries]
        ref: Ref = ArchiveFile(origin.url) if origin.kind == "archive" else self._web_ref(entries[0], exact=exact)
        paths = {entry.origin.path for entry in entries}
        fetched = fetch_ref(
            ref, self.access, choose=lambda found: [one for one in found if one.path in paths], progress=self.progress
        )
        by_path = {skill.origin.path: skill for skill in fetched.skills}
        return [by_path.get(entry.origin.path) or _gone(entry) for entry in entries]

    @contextmanager
    def _tree(self, origin: Origin, commit: str) -> Iterator[SkillTree]:
        if origin.kind == "path":
            if not os.path.isdir(origin.url):
                raise SkillNotFoundError(origin.url, hint="its source folder was deleted")
            yield FolderTree(origin.url)
            return
        with self._remote(origin.url).tree(commit) as tree:
            yield tree

    def _from_tree(self, tree: SkillTree, entry: LockEntry, commit: str) -> FetchResult:
        origin = entry.origin
        try:
            if f"{origin.path}/{SKILL_FILE}".lstrip("/") not in tree.nodes:
                return _gone(entry)
            contents = tree.contents(origin.path, leave_out=LEFT_OUT, limits=self.access.limits)
        except MetierError as error:
            return error
        key = digest(contents)
        where = Origin(kind=origin.kind, url=origin.url, path=origin.path, ref=origin.ref, commit=commit)
        if self.access.cache and origin.kind == "git":
            self.access.cache.put(contents, key)
            self.access.cache.remember(_at(origin.url, commit, origin.path), {"digest": key})
        return _skill(contents, where, key, self._commit_time(tree, commit, key))

    def _commit_time(self, tree: SkillTree, commit: str, key: str) -> float | None:
        cache = self.access.cache
        stated: float | None = getattr(tree, "time", None)
        if stated is None or cache is None:
            return stated
        # A later time that was found otherwise counts: a commit's own date is its author's.
        published = max(stated, float((cache.recall(f"age {commit}") or {}).get("published") or 0))
        cache.remember(f"age {key}", {"published": published})
        return published

    def _released(self, entries: Sequence[LockEntry]) -> list[NewestVersion]:
        """Returns the newest release of a registry, if it has a digest."""
        from .registry import find_release

        self._refuse_offline(entries[0].origin)
        ref = self._web_ref(entries[0], exact=False)
        release = find_release(ref, FetchJob(ref=ref.text, access=self.access)) if isinstance(ref, RegistryRef) else None
        if release is None or not (release.digest or release.fingerprint):
            return []
        exact = ""
        if isinstance(ref, RegistryRef) and ref.version == release.version:
            # An exact version never changes, so the question is whether there is another one.
            newest = find_release(replace(ref, version=None), FetchJob(ref=ref.text, access=self.access))
            if newest and (newest.digest or newest.fingerprint) and _is_higher(newest.version, release.version):
                release, exact = newest, ref.version
        return [
            NewestVersion(
                commit=release.fingerprint, digest=release.digest, version=release.version, held=release.held, exact=exact,
                published=(self._published(entry.digest), release.published),
            )
            for entry in entries
        ]  # fmt: skip

    def _known_digest(self, url: str, commit: str | None, entry: LockEntry) -> str:
        if commit == entry.origin.commit:
            return entry.digest
        record = self.access.cache.recall(_at(url, commit or "", entry.origin.path)) if self.access.cache else None
        return str((record or {}).get("digest", ""))

    def _remote(self, url: str) -> GitRemote:
        from .git import remote_of

        return remote_of(_git(url), FetchJob(ref=url, access=self.access, progress=self.progress))

    def _web_ref(self, entry: LockEntry, *, exact: bool) -> Ref:
        origin = entry.origin
        if origin.kind == "well-known":
            return WellKnown(url=origin.url.partition("/.well-known/")[0])
        if origin.kind in REGISTRY_KINDS:
            from .registry import locked_ref

            return locked_ref(origin, self.access.sources, (origin.version if exact else "") or origin.ref or None)
        if origin.kind == "oci":
            at = (origin.commit if exact else "") or origin.ref or "latest"
            return parse_ref(f"{origin.url}{'@' if at.startswith('sha256:') else ':'}{at}")
        return HttpArchive(origin.url)

    def _refuse_offline(self, origin: Origin) -> None:
        if self.access.offline:
            raise UnavailableError(
                f"{origin.url} was not asked because of --offline", hint="run it without --offline", retryable=False
            )

    def _in_groups(
        self,
        entries: Sequence[LockEntry],
        key: Callable[[LockEntry], tuple[str, ...]],
        bring: Callable[[Sequence[LockEntry]], Sequence[T]],
        failed: Callable[[MetierError], T],
    ) -> list[T]:
        """Returns the results in the order of the entries; a group's error is the result of each of its entries."""
        groups: dict[tuple[str, ...], list[LockEntry]] = {}
        for entry in entries:
            groups.setdefault(key(entry), []).append(entry)

        def one(group: list[LockEntry]) -> Sequence[T]:
            try:
                self.access.rules.check(_source_url(group[0]))
                return bring(group)
            except MetierError as error:
                return [failed(error)] * len(group)

        answers = run_parallel(one, list(groups.values()), workers=self.access.workers, cancelled=self.access.cancelled)
        by_name = {entry.name: answer for group, found in zip(groups.values(), answers, strict=True)
                   for entry, answer in zip(group, found, strict=True)}  # fmt: skip
        return [by_name[entry.name] for entry in entries]


def _source_url(entry: LockEntry) -> str:
    return "" if entry.origin.kind in ("path", "archive") else entry.origin.url


def _same_error(error: MetierError) -> FetchResult:
    return error


def _git(url: str, *, ref: str | None = None) -> GitRef:
    return GitRef(host="", url=url, ref=ref)


def _ref(entry: LockEntry) -> str | None:
    """Returns the ref to follow; None for the remote's HEAD."""
    if entry.origin.kind != "git":
        return entry.origin.ref
    try:
        asked = parse_ref(entry.asked) if entry.asked else None
    except MetierError:
        asked = None
    if isinstance(asked, GitRef) and not asked.tail and asked.ref is None:
        return None
    return entry.origin.ref or None


def _tags(refs: RemoteRefs | None, entry: LockEntry, commit: str) -> tuple[str, str]:
    return (refs.tag_of(entry.origin.commit), refs.tag_of(commit)) if refs else ("", "")


def _is_higher(one: str, other: str) -> bool:
    return is_version(one) and is_version(other) and Version.parse(one) > Version.parse(other)


def _detailed(newest: NewestVersion, found: FetchResult) -> NewestVersion:
    if isinstance(found, MetierError):
        return replace(newest, problem=str(found))
    return replace(newest, digest=found.digest, version=_version(found), published=(None, found.published))


def _version(skill: FetchedSkill) -> str:
    manifest = skill.parsed.manifest if skill.parsed else None
    return skill.origin.version or (manifest.extensions.version if manifest else "") or ""


def _at(url: str, commit: str, path: str) -> str:
    return f"tree {url}@{commit}:{path}"


def _newest(entry: LockEntry, found: FetchResult) -> NewestVersion:
    if isinstance(found, MetierError):
        return NewestVersion(problem=str(found))
    if found.too_new and found.digest != entry.digest:
        return NewestVersion(digest=entry.digest, held=str(found.too_new))
    return NewestVersion(digest=found.digest, version=_version(found), published=(None, found.published))


def _skill(contents: Contents, origin: Origin, key: str, published: float | None = None) -> FetchedSkill:
    data = contents.read(SKILL_FILE, limit=1 << 20)
    parsed = parse(data, folder=origin.folder_name, verdict=Verdict.STRICT)
    name = parsed.manifest.name if parsed.manifest else origin.folder_name
    if not is_name(name):
        name = suggested_name(name) or suggested_name(origin.folder_name)
    return FetchedSkill(name=name, files=contents, digest=key, origin=origin, parsed=parsed, published=published)


def _gone(entry: LockEntry) -> NotFoundError:
    return NotFoundError(f"{entry.origin.url} no longer has {entry.origin.path or entry.name!r}",
                    hint=f"keep this version with `metier skill pin {entry.name}`, or remove it")  # fmt: skip
