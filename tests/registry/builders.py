"""A registry in this process, and archives to publish to it."""

from __future__ import annotations

import atexit
import contextlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from builders import skill_text
from metier.archive import ArchiveFormat, pack
from metier.registry import ServerOptions, WorkLimits, create_app
from metier.registry.domain.admission import ReleaseScan
from metier.registry.domain.records import ScanStatus
from metier.registry.server.app import RegistryApp
from metier.registry.workers import WorkerPool, Workers
from metier.spec import Files, MemoryFiles, Problem, Severity

__all__ = ["WORKERS", "Clock", "ScriptedScanner", "Site", "archive", "site", "tar_of"]


class SharedPool(WorkerPool):
    """Worker processes that all registries of a test run share: starting one takes longer than most tests."""

    def close(self) -> None:
        """They end with the run."""


WORKERS = Workers(SharedPool(2), SharedPool(1))
for _pool in (WORKERS.checks, WORKERS.pages):
    atexit.register(WorkerPool.close, _pool)


class Clock:
    """Milliseconds that stand still until a test moves them."""

    def __init__(self, now: int = 1_767_225_600_000) -> None:  # 2026-01-01
        self.now = now

    def __call__(self) -> int:
        return self.now

    def move(self, *, days: float = 0, seconds: float = 0) -> None:
        self.now += int(days * 86_400_000 + seconds * 1000)


def archive(
    name: str,
    version: str | None = None,
    *,
    files: Mapping[str, str | bytes] | None = None,
    to: ArchiveFormat = ArchiveFormat.ZIP,
    **more: Any,
) -> bytes:
    """A packed skill; `more` is what `skill_text` takes."""
    head = more.pop("head", "")
    metadata = dict(more.pop("metadata", {}), **({"version": version} if version else {}))
    if metadata:
        head += "\nmetadata:\n" + "".join(f"  {key}: {value}\n" for key, value in metadata.items())
    contents = {"SKILL.md": skill_text(name, head=head, **more), **(files or {})}
    return pack(
        MemoryFiles({path: data if isinstance(data, bytes) else data.encode() for path, data in contents.items()}), to=to
    )


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """As another tool would pack it, with times and owners."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mtime, member.uname = len(data), 1_700_000_000, "ann"
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


@dataclass(frozen=True)
class ScriptedScanner:
    """A scanner whose verdict is the word in a file, so that it can change between two scans of another process."""

    file: str

    def __call__(self, files: Files, *, name: str) -> ReleaseScan:
        verdict = ScanStatus(Path(self.file).read_text())
        problem = Problem(code="SK999", severity=Severity.WARNING, message=f"odd {name}", file="SKILL.md", line=3)
        return ReleaseScan(verdict, () if verdict is ScanStatus.PASS else (problem,))


class Site:
    """A registry and the people who use it."""

    def __init__(self, client: TestClient, app: RegistryApp, clock: Clock, admin: str) -> None:
        self.client = client
        self.app = app
        self.clock = clock
        self.admin = admin

    def call(self, function: Any, *arguments: Any, **options: Any) -> Any:  # Any: a coroutine function of the registry
        """Await something of the registry, on its own loop."""
        assert self.client.portal is not None
        return self.client.portal.call(lambda: function(*arguments, **options))

    @property
    def registry(self) -> Any:
        return self.app.registry

    def token(self, holder: str, *scopes: str, **more: Any) -> str:
        answer = self.post("/tokens", token=self.admin, json={"holder": holder, "scopes": list(scopes), **more})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])

    def get(self, path: str, *, token: str = "", **more: Any) -> Any:
        return self.client.get(path, headers=_with(token, more), follow_redirects=False, **more)

    def post(self, path: str, *, token: str = "", **more: Any) -> Any:
        return self.client.post(path, headers=_with(token, more), **more)

    def send(self, method: str, path: str, *, token: str = "", **more: Any) -> Any:
        return self.client.request(method, path, headers=_with(token, more), **more)

    def publish(
        self, name: str, version: str | None = None, *, token: str = "", query: str = "visibility=public", **more: Any
    ) -> Any:
        return self.post(f"/skills?{query}", token=token or self.admin, content=archive(name, version, **more))


def _with(token: str, more: dict[str, Any]) -> dict[str, str]:
    headers = dict(more.pop("headers", {}))
    return {**headers, "authorization": f"Bearer {token}"} if token else headers


@contextlib.contextmanager
def site(
    folder: Path, *, clock: Clock | None = None, scanner: Any = None, db: str = "", blobs: str = "", **options: Any
) -> Iterator[Site]:
    clock = clock or Clock()
    # A busy machine renders a page later; no test depends on it.
    options.setdefault("work", WorkLimits(page_wait_seconds=120.0))
    options.setdefault("advisory_key", f"{folder}/advisories.key")
    chosen = ServerOptions(db=db or f"sqlite://{folder}/registry.sqlite", blobs=blobs or f"file://{folder}/blobs", **options)
    app = create_app(chosen, scanner=scanner, clock=clock, workers=WORKERS)
    with TestClient(app, base_url="http://registry.test") as client:
        assert client.portal is not None
        assert app.registry is not None
        registry = app.registry
        token = client.portal.call(lambda: registry.tokens.create_first(now=clock()))
        yield Site(client, app, clock, token or "")
