"""Reads skills from a git remote without a checkout.

The remote is asked once for its refs, and the ref is resolved to a commit id: that commit is fetched, verified and locked, even
if the branch moves meanwhile. Then the commit's trees are fetched into an empty bare repository, without file contents if the
server supports that, and then the contents of the wanted files. Everything is read from objects, which git addresses by hash.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from metier.errors import NotFoundError, RefusedError, UnavailableError
from metier.install.fetch.credentials import Credentials, Headers, origin_of
from metier.install.fetch.http import HttpClient
from metier.install.fetch.network import is_loopback
from metier.install.refs.forges import read_address
from metier.install.refs.ref_types import is_commit, is_git_ref
from metier.spec import Version, is_version
from metier.values import dataclass, field, replace

from .git_errors import RepositoryMovedError
from .objects import GitTree, Objects
from .program import GitProgram, Setting

__all__ = ["GitRemote", "RemoteRefs", "Resolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRefs:
    """The refs of a remote, each as a commit id (tags are dereferenced)."""

    head: str | None
    default_branch: str | None
    branches: dict[str, str]
    tags: dict[str, str]

    def tag_of(self, commit: str | None) -> str:
        """Returns the tag of a commit, the highest version if it has several; empty if it has none."""
        tags = [tag for tag, tagged in self.tags.items() if tagged == commit]
        return self.newest_tag(tags) or max(tags, default="")

    @staticmethod
    def newest_tag(tags: Iterable[str]) -> str:
        """Returns the highest of the tags that are versions, such as `v1.2.0`; empty if none is."""
        versions = {Version.parse(tag.removeprefix("v")): tag for tag in tags if is_version(tag.removeprefix("v"))}
        return versions[max(versions)] if versions else ""

    def find(self, ref: str) -> str | None:
        """Returns the commit of a branch, tag or full ref name; a branch wins over a tag of the same name, as in git."""
        if ref.startswith("refs/"):
            return self.branches.get(ref.removeprefix("refs/heads/")) if ref.startswith("refs/heads/") else self.tags.get(
                ref.removeprefix("refs/tags/"))  # fmt: skip
        return self.branches.get(ref) or self.tags.get(ref)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    commit: str
    ref: str | None
    """The branch, tag or commit; the default branch if none was named."""
    path: str
    is_branch: bool = False
    """It may be at another commit tomorrow, and was at others before."""


@dataclass(frozen=True, slots=True)
class History:
    """The commits before one, without their files."""

    program: GitProgram
    folder: str

    def time_of(self, commit: str) -> float:
        return float(self._run("log", "-1", "--format=%ct", commit) or 0)

    def before(self, commit: str, moment: float) -> str:
        """Returns the newest commit on the branch that was made before; empty if it is not among those that were fetched."""
        try:
            return self._run("rev-list", "-1", "--first-parent", f"--before={int(moment)}", commit)
        except UnavailableError:
            # The branch was rewritten, and no longer has the commit.
            return ""

    def commit_of(self, name: str) -> str:
        """Returns the full id of a commit, which may be given by its first digits; empty if it is not among these."""
        try:
            return self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except UnavailableError:
            return ""

    def between(self, good: str, bad: str, path: str) -> tuple[str, ...]:
        """Returns the commits after `good` up to `bad` that change the path, the oldest first."""
        below = ["--", path] if path else []
        return tuple(self._run("rev-list", "--reverse", "--first-parent", f"{good}..{bad}", *below).split())

    def is_ancestor(self, good: str, bad: str) -> bool:
        return self._run("rev-list", "-1", good, f"^{bad}") == ""

    def _run(self, *words: str) -> str:
        return self.program.run(["--git-dir", self.folder, *words]).decode("ascii", "replace").strip()


@dataclass(kw_only=True)
class GitRemote:
    """A remote repository."""

    url: str
    program: GitProgram
    http: HttpClient
    credentials: Credentials = field(default_factory=Credentials)
    allow_file: bool = False
    """Allow file:// URLs; a local repository of another user may be malicious."""
    insecure: bool = False
    grown: Callable[[int], None] | None = None

    def __post_init__(self) -> None:
        self._headers: Headers = self.credentials.given(self.url)
        self._protocol = _protocol(self.url, insecure=self.insecure, allow_file=self.allow_file)
        self._refs: RemoteRefs | None = None

    def refs(self) -> RemoteRefs:
        """Returns the refs; the remote is asked once."""
        if self._refs is None:
            self._refs = self._ask_refs()
        return self._refs

    def _ask_refs(self) -> RemoteRefs:
        out = self._run_remote(
            ["ls-remote", "--symref", "--quiet", "--end-of-options", "origin", "HEAD", "refs/heads/*", "refs/tags/*"]
        )
        return _read_refs(out.decode("utf-8", "surrogateescape"))

    def resolve(self, candidates: Iterable[tuple[str | None, str]]) -> Resolved:
        """Returns the commit of the first reading that the remote has. A full commit id is returned without asking."""
        readings = tuple(candidates)
        for ref, path in readings:
            if is_commit(ref):
                return Resolved(commit=str(ref), ref=ref, path=path)
        offered = self.refs()
        for ref, path in readings:
            if ref is None and offered.head:
                return Resolved(commit=offered.head, ref=offered.default_branch, path=path, is_branch=True)
            commit = offered.find(ref) if ref else None
            if commit:
                return Resolved(commit=commit, ref=ref, path=path, is_branch=commit == offered.branches.get(str(ref)))
        wanted = readings[-1][0]
        if wanted is None:
            raise NotFoundError(f"the repository {self.url} is empty", hint="check the address")
        some = ", ".join(sorted([*offered.branches, *offered.tags])[:8])
        raise NotFoundError(f"the repository has no branch or tag {wanted!r}",
                       hint=f"it has {some}; a commit needs all 40 digits")  # fmt: skip

    @contextmanager
    def tree(self, commit: str, *, below: str = "") -> Iterator[GitTree]:
        """Opens the files of one commit in a temporary repository; of a huge one, only those `below` a path."""
        if not is_commit(commit):
            raise NotFoundError(f"{commit!r} is not a full commit id", hint="give all 40 digits")
        with tempfile.TemporaryDirectory(prefix="metier-git-", ignore_cleanup_errors=True) as folder:
            kind = "sha256" if len(commit) == 64 else "sha1"
            self.program.run(["init", "--quiet", "--bare", "--template=", f"--object-format={kind}", folder])
            self._fetch(folder, ["--depth=1"], commit)
            with Objects(self.program, folder) as objects:
                yield GitTree(objects, commit, missing=lambda oids: self._fetch_blobs(folder, oids), below=below)

    @contextmanager
    def history(self, commit: str, *, with_trees: bool = False) -> Iterator[History]:
        """Opens the latest commits before one in a temporary repository. Paths can be asked for only with their trees."""
        with tempfile.TemporaryDirectory(prefix="metier-git-", ignore_cleanup_errors=True) as folder:
            kind = "sha256" if len(commit) == 64 else "sha1"
            self.program.run(["init", "--quiet", "--bare", "--template=", f"--object-format={kind}", folder])
            self._fetch(folder, [f"--depth={_LONGEST_HISTORY}", *([] if with_trees else ["--filter=tree:0"])], commit)
            yield History(self.program, folder)

    def _fetch(self, folder: str, options: list[str], commit: str) -> None:
        words = [*_FETCH, *options, "--end-of-options", "origin", commit]
        self._run_remote(words, folder=folder)

    def _fetch_blobs(self, folder: str, oids: Iterable[str]) -> None:
        self._run_remote(
            [*_FETCH, "--stdin", "--end-of-options", "origin"], folder=folder, stdin="".join(f"{oid}\n" for oid in oids)
        )

    def _run_remote(self, words: list[str], *, folder: str | None = None, stdin: str = "") -> bytes:
        """Runs git against the remote; again at its new URL if it moved, and with the forge's token if it denies access."""
        words = [*(["--git-dir", folder] if folder else []), *words]
        for _ in range(2):
            try:
                return self._run(words, folder, stdin)
            except RepositoryMovedError:
                self._move()
            except RefusedError as refusal:
                token = self.credentials.git_token_header(self.url)
                if refusal.rule != "git-credentials" or not token or any(name == "Authorization" for name, _ in self._headers):
                    raise
                self._headers += token
        return self._run(words, folder, stdin)

    def _run(self, words: list[str], folder: str | None, stdin: str) -> bytes:
        settings: list[Setting] = [("remote.origin.url", self.url), ("fetch.negotiationAlgorithm", "noop")]
        if folder:
            settings += [("remote.origin.promisor", "true"), ("remote.origin.partialCloneFilter", "blob:none")]
        # For this origin only: git would send a general header to any host it is redirected to.
        settings += [(f"http.{origin_of(self.url)}/.extraHeader", f"{name}: {value}") for name, value in self._headers]
        settings += self._route()
        if file := self.http.environment.get("SSL_CERT_FILE"):
            settings.append(("http.sslCAInfo", file))
        return self.program.run(
            words, settings=settings, protocols=(self._protocol,), stdin=stdin.encode(), watched=folder, grown=self.grown
        )

    def _route(self) -> list[Setting]:
        """Returns how git reaches the host. Raises RefusedError if it must not be asked."""
        found = re.match(r"(?:ssh://)?(?:[^@/]+@)?([^:/]+):?", self.url) if self._protocol == "ssh" else None
        self.http.destinations.rules.check(self.url)
        if self._protocol == "file":
            return []
        address = read_address(f"ssh://{found[1]}" if found else self.url)
        route = self.http.reach_first(address)
        if address.scheme not in ("http", "https"):
            return []
        # To this machine git would send our headers to a proxy, unencrypted.
        settings = [("http.proxy", "")] if route.zone == "loopback" else []
        if route.addresses and not is_loopback(address.host):
            # Git connects to the addresses that were checked, and does not resolve the name again.
            port = address.port or (443 if address.scheme == "https" else 80)
            settings.append(("http.curloptResolve", f"{address.host}:{port}:{','.join(route.addresses)}"))
        return settings

    def _move(self) -> None:
        """Follows the server's redirect, without headers if it leads to another origin."""
        probe = "/info/refs?service=git-upload-pack"
        landed = self.http.landing(self.url + probe, headers=self._headers)
        if not landed.endswith(probe):
            raise RefusedError(
                "the repository redirects to something that is not a repository", rule="redirect", hint="check the address"
            )
        moved = landed.removesuffix(probe)
        if origin_of(moved) != origin_of(self.url):
            self._headers = ()
        self._protocol = _protocol(moved, insecure=self.insecure, allow_file=False)
        self.url = moved


_LONGEST_HISTORY = 1000
_FETCH = (
    "fetch",
    "--quiet",
    "--filter=blob:none",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-auto-gc",
)


def _protocol(url: str, *, insecure: bool, allow_file: bool) -> str:
    """Returns the protocol that git may use for this URL. Raises RefusedError for all but https and ssh, unless allowed."""
    if url.startswith("file://"):
        if allow_file:
            return "file"
        raise RefusedError(f"{url} is a local repository", rule="git-local",
                      hint="name its folder instead, or use --allow-file if you trust it")  # fmt: skip
    if "://" not in url:
        return "ssh"
    address = read_address(url)
    if address.scheme in ("https", "ssh"):
        return address.scheme
    if insecure or address.host in ("localhost", "127.0.0.1", "[::1]"):
        return address.scheme
    raise RefusedError(f"{url} is not encrypted", rule="https-only",
                  hint="use https or ssh, or --insecure-http to allow it")  # fmt: skip


def _read_refs(text: str) -> RemoteRefs:
    refs = RemoteRefs(head=None, default_branch=None, branches={}, tags={})
    for line in text.splitlines():
        left, _, name = line.partition("\t")
        if left.startswith("ref: ") and name == "HEAD":
            refs = replace(refs, default_branch=left[5:].removeprefix("refs/heads/"))
        elif not is_commit(left):
            continue
        elif name == "HEAD":
            refs = replace(refs, head=left)
        elif name.startswith("refs/heads/") and is_git_ref(name):
            refs.branches[name.removeprefix("refs/heads/")] = left
        elif name.startswith("refs/tags/") and is_git_ref(name.removesuffix("^{}")):
            # The line with ^{} follows the tag's own line, and has the commit.
            refs.tags[name.removeprefix("refs/tags/").removesuffix("^{}")] = left
    return refs
