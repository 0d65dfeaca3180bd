"""Reads git objects through one `git cat-file` process, and parses trees."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import IO, Self

from metier.archive import SKILL_LIMITS, ArchiveLimits, Contents, Link, Member, archive_error
from metier.errors import NotFoundError, RefusedError, UnavailableError
from metier.install.fetch.tree import TreeNode
from metier.values import dataclass, field

from .program import GitProgram

__all__ = ["GitTree", "Objects"]

_MOST_ENTRIES = 200_000
_LARGEST_TREE = 16 * 1024 * 1024
_DEEPEST = 40
_KINDS = {"100644": "file", "100664": "file", "100755": "executable", "120000": "link", "160000": "submodule"}


class Objects:
    """Reads objects by id. The process runs as long as the block."""

    def __init__(self, program: GitProgram, folder: str) -> None:
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._stop()

    def read(self, oid: str, kind: str, *, limit: int) -> bytes | None:
        """Returns the bytes of one object; None if it is missing. Safe to call from several threads."""
        with self._lock:
            return self._read(oid, kind, limit)

    def _read(self, oid: str, kind: str, limit: int) -> bytes | None:
        into, out = self._pipes()
        try:
            into.write(f"{oid}\n".encode())
            into.flush()
        except BrokenPipeError:
            raise _ended() from None
        head = out.readline().decode("ascii", "replace").split()
        if not head:
            raise _ended()
        if len(head) == 2 and head[1] == "missing":
            return None
        if len(head) != 3 or head[1] != kind:
            raise UnavailableError(f"the git object {oid} is not a {kind}", hint="the repository is damaged", retryable=False)
        size = int(head[2])
        if size > limit:
            # Skipping its bytes means reading them, so the process is restarted.
            self._stop()
            self._start()
            raise RefusedError(f"an object of {size:,} bytes exceeds the limit of {limit:,}", rule="archive-size",
                          hint="the limit is meant for skills")  # fmt: skip
        data = out.read(size)
        if len(data) < size or not out.read(1):
            raise _ended()
        return data

    def absent(self, oids: Iterable[str]) -> list[str]:
        """Returns those that are missing, in one request."""
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        words = ["--git-dir", self._folder, "cat-file", "--batch-check=%(objecttype)"]
        answers = self._program.run(words, stdin=asked, watched=self._folder).decode("ascii", "replace")
        # Without a type, git answers `OID missing`.
        return [line.split()[0] for line in answers.splitlines() if line.endswith(" missing")]

    def restart(self) -> None:
        """Restarts the process, so that it sees new packs."""
        with self._lock:
            self._stop()
            self._start()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("objects are read inside the block")
        return self._process.stdin, self._process.stdout

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self._program.path, "--git-dir", self._folder, "cat-file", "--batch"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=self._program.clean_environment(), cwd=self._folder, start_new_session=True,
        )  # fmt: skip

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe:
                    try:
                        pipe.close()
                    except OSError:
                        # An unanswered request was still in the pipe.
                        pass
            self._process.wait()
            self._process = None


class GitTree:
    """The files of one commit as a SkillTree. Contents are fetched on first use, many at once."""

    def __init__(self, objects: Objects, commit: str, *, missing: Callable[[Iterable[str]], None], below: str = "") -> None:
        """`below` is the only folder to list if the repository is too large."""
        self._objects = objects
        self._missing = missing
        self._below = below
        self._asked: set[str] = set()
        self.commit = commit

    @cached_property
    def nodes(self) -> Mapping[str, TreeNode]:
        top = self._head[5 : 5 + len(self.commit)].decode("ascii")
        try:
            return _Walk(self._objects).all(top)
        except RefusedError as refusal:
            if refusal.rule != "repository-size" or not self._below:
                raise
            return _Walk(self._objects, only=self._below).all(top)

    @cached_property
    def _head(self) -> bytes:
        head = self._objects.read(self.commit, "commit", limit=1 << 20)
        if head is None or not head.startswith(b"tree "):
            raise NotFoundError(f"the remote did not send commit {self.commit}", hint="check the commit")
        return head

    @property
    def time(self) -> float | None:
        """The time of the commit, in seconds since 1970, as its author states it."""
        found = re.search(rb"^committer [^\n]* ([0-9]{1,11}) [+-][0-9]{4}$", self._head.partition(b"\n\n")[0], re.MULTILINE)
        return float(found[1]) if found else None

    @property
    def _time(self) -> int | None:
        """A shallow fetch has no better time for its files."""
        return None if self.time is None else int(self.time) * 1_000_000_000

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetches the contents of these files, in one round trip."""
        oids = sorted({self.nodes[path].key for path in paths if self.nodes[path].kind != "submodule"} - self._asked)
        if absent := self._objects.absent(oids) if oids else []:
            self._missing(absent)
            self._objects.restart()
        self._asked.update(oids)

    def read(self, path: str, *, limit: int) -> bytes:
        node = self.nodes.get(path)
        if node is None:
            raise NotFoundError(f"the repository has no file {path!r}", hint="check the path")
        data = self._objects.read(node.key, "blob", limit=limit)
        if data is None:
            self.prefetch([path])
            data = self._objects.read(node.key, "blob", limit=limit)
        if data is None:
            raise UnavailableError(f"the remote did not send {path!r}", hint="try again later")
        return data

    def contents(self, folder: str, *, leave_out: Iterable[str] = (), limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
        """Returns a whole folder. Raises RefusedError if it has a submodule."""
        prefix = f"{folder}/" if folder else ""
        unwanted = frozenset(leave_out)
        wanted = [
            path for path in self.nodes if path.startswith(prefix) and unwanted.isdisjoint(path[len(prefix) :].split("/"))
        ]
        limits.check_count(len(wanted))
        for path in wanted:
            if self.nodes[path].kind == "submodule":
                raise archive_error(
                    "submodule", f"{path!r} is a submodule", hint="install the skill from the repository it lives in"
                )
        self.prefetch(wanted)
        members: list[Member] = []
        links: list[Link] = []
        total = 0
        for path in wanted:
            kind, data = self.nodes[path].kind, self.read(path, limit=limits.file)
            total += len(data)
            limits.check_total(total)
            if kind == "link":
                links.append(Link(path[len(prefix) :], data.decode("utf-8", "replace")))
            else:
                members.append(Member(path[len(prefix) :], data, kind == "executable", self._time))
        return Contents(members, links, limits=limits)


@dataclass(slots=True)
class _Walk:
    """Walks a commit's trees. Every visit counts, because few trees that repeat each other can make many paths."""

    objects: Objects
    only: str = ""
    nodes: dict[str, TreeNode] = field(default_factory=dict)
    visits: int = 0
    read: dict[str, tuple[tuple[str, str, str], ...]] = field(default_factory=dict)

    def all(self, top: str) -> dict[str, TreeNode]:
        self._walk(top, "", 0)
        return self.nodes

    def _walk(self, oid: str, prefix: str, depth: int) -> None:
        self.visits += 1
        if depth > _DEEPEST:
            raise _too_large(f"the folder {prefix!r} is too deep")
        for mode, name, child in self._entries(oid, prefix):
            path = prefix + name
            if not name or "/" in name or name in (".", ".."):
                raise archive_error("path", f"a folder of the repository has the entry {name!r}")
            if mode == "040000":
                if self._is_wanted(path):
                    self._walk(child, f"{path}/", depth + 1)
            elif mode in _KINDS:
                self.nodes[path] = TreeNode(kind=_KINDS[mode], key=child)
            else:
                raise archive_error("special", f"{path!r} is of the unknown kind {mode}")
            if len(self.nodes) + self.visits > _MOST_ENTRIES:
                raise _too_large(f"the repository has more than {_MOST_ENTRIES:,} files")

    def _entries(self, oid: str, prefix: str) -> tuple[tuple[str, str, str], ...]:
        """Returns the entries of a tree, which is read once."""
        if oid not in self.read:
            data = self.objects.read(oid, "tree", limit=_LARGEST_TREE)
            if data is None:
                raise _too_large(f"the folder {prefix!r} is missing")
            self.read[oid] = tuple(_entries(data, len(oid) // 2))
        return self.read[oid]

    def _is_wanted(self, folder: str) -> bool:
        return f"{folder}/".startswith(f"{self.only}/") or f"{self.only}/".startswith(f"{folder}/") if self.only else True


def _ended() -> UnavailableError:
    return UnavailableError("git ended while it was read from", hint="check whether the system kills processes; try again")


def _too_large(message: str) -> RefusedError:
    return RefusedError(message, rule="repository-size", hint="name the skill's path in it, or an archive of the skill")


def _entries(data: bytes, size: int) -> Iterator[tuple[str, str, str]]:
    """Yields mode, name and id of each entry of a tree object."""
    position = 0
    while position < len(data):
        space, nul = data.find(b" ", position), data.find(b"\0", position)
        end = nul + 1 + size
        if not position < space < nul or end > len(data):
            raise archive_error("path", "a folder of the repository is damaged")
        mode = data[position:space].decode("ascii", "replace").zfill(6)
        yield mode, data[space + 1 : nul].decode("utf-8", "surrogateescape"), data[nul + 1 : end].hex()
        position = end
