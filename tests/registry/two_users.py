"""Two users of one registry who send random requests, with names, numbers, digests and words of the other mixed in.

After each request: the response contains no secret of the other user, and no row of the other user has changed. A secret is
a word, name, digest or credential that the caller may not read at that moment and did not send itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from metier.archive import pack
from metier.registry import RequestRates, ServerOptions, create_app
from metier.registry.ed25519 import new_signing_key
from metier.registry.server.app import RegistryApp
from metier.spec import MemoryFiles
from registry.builders import Clock

__all__ = ["HOST", "USERS", "Reply", "User", "World", "world"]

HOST = "http://registry.test"
USERS = ("ann", "bob")
SCOPES = (("publish:{0}", "yank", "tokens"), ("read:{0}",), ("yank",), ("publish", "tokens"))


@dataclass(frozen=True)
class Reply:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def whole(self) -> str:
        return (b"\n".join(value for _, value in self.headers) + b"\n" + self.body).decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class User:
    """What one user has, and what the other may not see of it."""

    name: str
    tokens: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    tickets: list[str] = field(default_factory=list)
    keys: list[tuple[str, str]] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)


@dataclass
class World:
    app: RegistryApp
    clock: Clock
    random: random.Random
    admin: str
    users: dict[str, User] = field(default_factory=dict)
    packages: dict[str, set[str]] = field(default_factory=dict)
    """The secrets of each package by `kind:name`."""
    drafts: dict[str, tuple[str, str, set[str]]] = field(default_factory=dict)
    """Archives that were sent, by digest: package, publisher and words."""
    names: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    number: int = 0

    # Sending.

    async def send(self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Reply:
        path, _, query = target.partition("?")
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": unquote(path),
            "raw_path": path.encode(), "query_string": query.encode(), "scheme": "http", "server": ("registry.test", 80),
            "client": ("10.0.0.1", 1), "root_path": "",
            "headers": [(b"host", b"registry.test"), (b"content-length", b"%d" % len(body)),
                        *((name.encode(), value.encode("utf-8")) for name, value in (headers or {}).items())],
        }  # fmt: skip
        sent: list[dict[str, Any]] = []
        received = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            return next(received, {"type": "http.disconnect"})

        async def reply(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, reply)
        data = b"".join(message.get("body", b"") for message in sent[1:])
        return Reply(sent[0]["status"], tuple(sent[0]["headers"]), data)

    async def as_admin(self, method: str, target: str, value: object = None) -> Reply:
        body = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        reply = await self.send(method, target, headers={"authorization": f"Bearer {self.admin}"}, body=body)
        assert reply.status < 300, reply.whole
        return reply

    # The two users and their packages.

    def word(self, user: str) -> str:
        """A new word that occurs nowhere else."""
        self.number += 1
        letters = (
            hashlib.sha256(f"{user} {self.number}".encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
        )
        return f"{user}{letters[:12]}"

    def contents(self, user: str, kind: str, name: str) -> tuple[bytes, set[str]]:
        """A new version of a package, and its secrets."""
        about, tag, text = (self.word(user) for _ in range(3))
        if kind == "skill":
            head = f"---\nname: {name}\ndescription: Use when {about} is due.\nmetadata:\n  tags: {tag}\n---\n"
            files = {"SKILL.md": f"{head}\n# Title\n\nFirst {text}.\n".encode(), "assets/note.txt": text.encode()}
        else:
            files = {"agent.toml": f'name = "{name}"\ndescription = "Does {about}."\nmodel = "{text}/y"\n'.encode()}
            tag = about
        return pack(MemoryFiles(files)), {about, tag, text}

    async def prepare(self) -> None:
        for name in USERS:
            user = self.users[name] = User(name)
            private, public = new_signing_key()
            note = self.word(name)
            await self.as_admin("POST", f"/namespaces/{name}/keys", {"public": public, "note": note})
            user.keys.append((private, public))
            user.secrets.add(note)
        self.names += ["free-one", "free-two", "x" * 70]

    async def renew(self) -> None:
        """Gives each user new tokens, sessions and packages, because random requests revoke and delete them."""
        for user in self.users.values():
            user.tokens, user.sessions, user.tickets = [], [], []
            for scopes in SCOPES:
                await self._token(user, [scope.format(user.name) for scope in scopes])
            for token in user.tokens[:2]:
                user.sessions.append(await self._log_in(token))
            for kind, visibility in (("skill", "private"), ("skill", "public"), ("agent", "private")):
                await self._publish(user, kind, self.word(user.name), visibility)

    async def _token(self, user: User, scopes: list[str]) -> None:
        note = self.word(user.name)
        made = await self.as_admin("POST", "/tokens", {"holder": user.name, "scopes": scopes, "note": note, "days": 9})
        text = made.json()["token"]
        user.tokens.append(text)
        user.secrets |= {note, text, text[:10], hashlib.sha256(text.encode()).hexdigest()}

    async def _publish(self, user: User, kind: str, name: str, visibility: str) -> None:
        data, secrets = self.contents(user.name, kind, name)
        query = f"namespace={user.name}&visibility={visibility}&version=1.0.0"
        made = (await self.as_admin("POST", f"/{kind}s?{query}", data)).json()
        reason = self.word(user.name)
        hashes = {made[key].removeprefix("sha256:") for key in ("digest", "archive_digest")}
        self.packages[f"{kind}:{name}"] = {name, reason, *secrets, *hashes}
        self.names.append(name)

    async def _log_in(self, token: str) -> str:
        headers = {"origin": HOST, "content-type": "application/x-www-form-urlencoded"}
        reply = await self.send("POST", "/login", headers=headers, body=urlencode({"token": token}).encode())
        return re.search(rb"metier_session=([^;]+)", dict(reply.headers)[b"set-cookie"])[1].decode()  # type: ignore[index]

    # Checks.

    async def rows(self, query: str, *arguments: object) -> list[Any]:
        assert self.app.registry is not None
        return [tuple(row) for row in await self.app.registry.store.engine.rows(query, arguments)]  # type: ignore[attr-defined]

    async def owned(self) -> dict[str, tuple[str, str, frozenset[str], str]]:
        """Visibility, status, owners and receiver of every package."""
        found: dict[str, tuple[str, str, frozenset[str], str]] = {}
        offers = dict(await self.rows("select package, namespace from offer"))
        owners: dict[int, set[str]] = {}
        for package, namespace in await self.rows("select package, namespace from owner"):
            owners.setdefault(package, set()).add(namespace)
        for number, kind, name, visibility, status in await self.rows("select id, kind, name, visibility, status from package"):
            found[f"{kind}:{name}"] = (visibility, status, frozenset(owners[number]), offers.get(number, ""))
        return found

    async def state(self, other: str, packages: Iterable[str]) -> dict[str, list[Any]]:
        """The rows of the other user, and those of packages that the caller does not own."""
        kept = set(packages)
        mine = {
            number for number, kind, name in await self.rows("select id, kind, name from package") if f"{kind}:{name}" in kept
        }
        columns = (
            "id, kind, name, namespace, visibility, status, reason, updated, removed, version, description, digest, signed"
        )
        found = {"package": [row for row in await self.rows(f"select {columns} from package order by id") if row[0] in mine]}
        for table, key in (("owner", 0), ("release", 1), ("tag", 0), ("offer", 0), ("keyword", 0), ("package_word", 0)):
            rows = await self.rows(f"select * from {table} order by 1, 2")
            found[table] = [row for row in rows if row[key] in mine]
        # Not the time of the last use, which the server writes when it has time.
        token = "id, hashed, holder, scopes, note, created, expires, revoked, parent, user_id, publisher_id"
        tokens = await self.rows(f"select {token} from token where holder = ? order by id", other)
        numbers = {row[0] for row in tokens}
        found["token"] = tokens
        found["key"] = await self.rows("select * from signing_key where namespace = ? order by id", other)
        found["publisher"] = await self.rows("select * from trusted_publisher where namespace = ? order by id", other)
        for table in ("session", "upload"):
            # Expired ones are deleted by any login or upload.
            rows = await self.rows(f"select * from {table} where expires > ? order by 1", self.clock())
            found[table] = [row for row in rows if row[1] in numbers]
        found["job"] = [
            row for row in await self.rows("select subject from job where kind = 'scan'") if _package(row[0]) in kept
        ]
        return found


def _package(subject: str) -> str:
    return subject.rpartition("@")[0]


@contextlib.asynccontextmanager
async def world(folder: Path, seed: int, *, db: str = "") -> AsyncIterator[World]:
    options = ServerOptions(
        db=db or f"sqlite://{folder}/registry.sqlite", blobs=f"file://{folder}/blobs", old_index=True,
        rates=RequestRates(read=(0, 0), download=(0, 0), write=(0, 0)),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    app = create_app(options, clock=clock)
    async with app.running() as registry:
        admin = await registry.tokens.create_first(now=clock())
        assert admin is not None
        made = World(app, clock, random.Random(seed), admin)
        await made.prepare()
        yield made
