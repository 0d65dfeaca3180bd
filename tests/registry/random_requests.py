"""Random requests over all routes of a registry, for `two_users`."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from metier.registry.ed25519 import key_id, release_statement, sign_statement
from metier.registry.server.routing import Route
from registry.two_users import HOST, USERS, User, World

__all__ = ["RandomRequest", "RandomRequests"]

_REASONS = ("malicious", "spam", "other", "nonsense")
_VERSIONS = ("1.0.0", "1.0.1", "1.1.0", "^1.0", "latest", "beta", "9.9.9")
_BOUNDARY = "two-users"


@dataclass(frozen=True)
class RandomRequest:
    route: Route
    caller: str
    """The name of the user, or empty."""
    target: str
    headers: dict[str, str]
    body: bytes
    packed: str
    """The text of an archive in the body."""

    @property
    def text(self) -> str:
        """All that the caller has sent, to find out what a response only repeats."""
        return f"{self.target} {self.headers} {self.body.decode('utf-8', 'replace')} {self.packed}"


class RandomRequests:
    def __init__(self, world: World) -> None:
        self.world = world
        self._packed = ""
        self._recent: deque[str] = deque(maxlen=3)
        self.routes = [route for route in world.app.routes.all if not route.path.startswith("/static")]
        self.searches = [route for route in self.routes if any(parameter.name == "q" for parameter in route.query)]
        self.searches += [route for route in self.routes if route.path == "/search"]
        self.uploads = [route for route in self.routes if "upload" in route.path]
        self.uploads += [route for route in self.routes if (route.method, route.path) == ("POST", "/api/v1/skills")]

    async def next(self) -> RandomRequest:
        choose = self.world.random.choice
        # Searches and uploads lead somewhere only in sequences, so they come more often.
        kind = self.world.random.random()
        route = choose(self.searches if kind < 0.08 else self.uploads if kind < 0.2 else self.routes)
        caller = choose((*USERS, *USERS, ""))
        mine = self.world.users.get(caller)
        values = await self._values(mine)
        path = route.path
        for name in ("name", "slug", "namespace", "version", "tag", "id", "keyid", "ticket", "token"):
            path = path.replace(f"{{{name}}}", quote(str(values[name]), safe=""))
        path = path.replace("{archive}", f"{choose(_VERSIONS)}.zip").replace("{file}", quote(f"{values['name']}.json"))
        path = path.replace("{path...}", choose(("SKILL.md", "assets/note.txt", "agent.toml", "../x", "assets")))
        query = self._query(route, values)
        headers, body = self._body(route, values, mine)
        headers |= self._credentials(route, mine)
        return RandomRequest(route, caller, f"{path}?{urlencode(query)}" if query else path, headers, body, self._packed)

    async def _values(self, mine: User | None) -> dict[str, Any]:
        """Values for parameters and fields, of the caller and of the other user."""
        world, choose = self.world, self.world.random.choice
        numbers = [row[0] for row in await world.rows("select id from token")]
        reports = [row[0] for row in await world.rows("select id from report")] or [0]
        everyone = list(world.users.values())
        secrets = sorted(secret for package in world.packages.values() for secret in package)
        names = [name.rpartition(":")[2] for name in world.packages] if world.random.random() < 0.85 else world.names
        # Often one of the last names or a deleted one, so that requests follow each other on one package.
        deleted = [row[0] for row in await world.rows("select name from package where status = 'deleted'")]
        kind = world.random.random()
        name = choose(tuple(self._recent) if self._recent and kind < 0.4 else deleted if deleted and kind < 0.55 else names)
        self._recent.append(name)
        own_ticket = choose(mine.tickets) if mine and mine.tickets else "x"
        any_ticket = choose([ticket for user in everyone for ticket in user.tickets] or ["x"])
        return {
            "name": name, "slug": name, "namespace": choose((*USERS, *USERS, "third", "x y")),
            "version": choose(_VERSIONS), "tag": choose(("beta", "latest", "!")), "id": choose([*numbers, *reports, 0]),
            "report": choose(reports), "keyid": choose([key_id(public) for user in everyone for _, public in user.keys]),
            "ticket": choose((own_ticket, any_ticket)), "token": choose(mine.tokens) if mine else "x",
            "secret": choose(secrets), "any_ticket": any_ticket, "own_ticket": own_ticket,
        }  # fmt: skip

    def _credentials(self, route: Route, mine: User | None) -> dict[str, str]:
        """Only credentials of the caller, or such as prove nothing: hashes and prefixes of the other user's."""
        world = self.world
        if mine is None:
            other = world.users[world.random.choice(USERS)]
            guess = world.random.choice((other.tokens[0][:10], hashlib.sha256(other.tokens[0].encode()).hexdigest()))
            kind = world.random.randrange(8)
            return (
                {"authorization": f"Bearer {guess}"}
                if kind == 0
                else {"cookie": f"metier_session={guess}"}
                if kind == 1
                else {}
            )
        if mine.sessions and world.random.random() < (0.6 if route.kind == "page" else 0.1):
            origin = HOST if world.random.random() < 0.9 else "http://other.test"
            foreign = (
                f"metier_session={hashlib.sha256(mine.name.encode()).hexdigest()[:43]}; " if world.random.random() < 0.3 else ""
            )
            return {"cookie": f"{foreign}metier_session={world.random.choice(mine.sessions)}", "origin": origin}
        # A ticket belongs to the token that asked for it, so one token makes all uploads.
        token = mine.tokens[0] if route.path.startswith("/api/v1") else world.random.choice(mine.tokens)
        return {"authorization": f"Bearer {token}", "origin": HOST}

    def _query(self, route: Route, values: dict[str, Any]) -> dict[str, str]:
        world, choose = self.world, self.world.random.choice
        if route.method != "GET":
            return choose(
                ({}, {"namespace": values["namespace"]}, {"dry_run": "1"}, {"visibility": choose(("private", "public"))})
            )
        secret, word = values["secret"], choose(sorted(choose(list(world.packages.values())) or {"nothing"}))
        typo = word[:-1] if world.random.random() < 0.5 else word[:5] + word[6:]
        asked = {
            "q": choose((typo, typo, f"{typo} title", secret, word[:6], "use")), "owner": values["namespace"],
            "tag": choose((word, typo)), "version": values["version"], "from": values["version"], "to": "1.0.0",
            "sort": choose(("name", "updated", "downloads", "relevance")), "limit": choose(("1", "50", "x")),
            "slug": values["slug"], "hash": secret, "path": "SKILL.md", "subject": f"skill:{values['name']}",
            "cursor": choose(("WzAsICJhIl0", "MjA", "?")), "before": choose(("5", "99")), "state": choose(("open", "accepted")),
            "show": "downloads", "days": "7", "verdict": "pass", "license": secret,
        }  # fmt: skip
        known = [parameter.name for parameter in route.query] or (list(asked) if route.kind == "page" else [])
        return {name: asked[name] for name in known if name in asked and world.random.random() < (0.8 if name == "q" else 0.25)}

    def _body(self, route: Route, values: dict[str, Any], mine: User | None) -> tuple[dict[str, str], bytes]:
        self._packed = ""
        if route.method == "GET":
            return {}, b""
        fields = self._fields(route, values, mine)
        if route.path in ("/skills", "/agents", "/publish"):
            data = self._archive("agent" if route.path == "/agents" else "skill", values["name"], mine)
            if route.path != "/publish":
                return {}, data
            kind = {"content-type": f"multipart/form-data; boundary={_BOUNDARY}"}
            parts = [
                f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="namespace"\r\n\r\n{values["namespace"]}\r\n'.encode(),
                f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="x.zip"\r\n\r\n'.encode() + data,
            ]
            return kind, b"".join(parts) + f"\r\n--{_BOUNDARY}--\r\n".encode()
        if route.path.startswith("/api/v1/uploads/"):
            return {}, self.upload_text(mine)
        if route.kind == "page":
            plain = {key: str(value) for key, value in fields.items() if not isinstance(value, list)}
            return {"content-type": "application/x-www-form-urlencoded"}, urlencode(plain).encode()
        return {"content-type": "application/json"}, json.dumps(fields).encode()

    def _fields(self, route: Route, values: dict[str, Any], mine: User | None) -> dict[str, Any]:
        choose = self.world.random.choice
        holder = mine.name if mine and self.world.random.random() < 0.7 else values["namespace"]
        scopes = choose(
            (["read"], [f"read:{holder}"], [f"publish:{holder}"], ["admin"], ["tokens", f"read:{holder}"], ["yank"])
        )
        private, public = choose(choose(list(self.world.users.values())).keys)
        digest = f"sha256:{values['secret']}"
        stated = release_statement(kind="skill", name=values["name"], version="1.0.0", digest=digest)
        fields: dict[str, Any] = {
            "reason": choose(_REASONS), "details": "text", "note": "text", "visibility": choose(("private", "public", "x")),
            "status": choose(("active", "archived", "deprecated", "quarantined")), "to": values["namespace"], "public": public,
            "keyid": key_id(public), "signature": sign_statement(private, stated), "state": choose(("accepted", "rejected")),
            "holder": holder, "scopes": scopes, "days": choose((0, 1, 30)), "name": values["name"], "report": values["report"],
            "version": choose(("1.0.0", "1.0.1", "1.2.0")),
        }  # fmt: skip
        if route.path == "/account/tokens":
            fields["scopes"] = " ".join(scopes)
        if route.path == "/account/revoke":
            fields["token"] = values["id"]
        if route.path == "/login":
            fields["token"] = choose(mine.tokens) if mine else values["secret"]
        if route.path == "/api/v1/skills":
            storage = choose((values["own_ticket"], values["any_ticket"], values["secret"]))
            slug = choose((values["name"], *(f"{user}-uploaded" for user in USERS)))
            fields |= {"slug": slug, "ownerHandle": choose(("", holder)),
                       "files": [{"path": "SKILL.md", "size": 1, "storageId": storage, "sha256": "x"}]}  # fmt: skip
        if route.path == "/api/v1/skills/-/upload-url":
            fields |= {"path": "SKILL.md", "size": 1, "sha256": hashlib.sha256(self.upload_text(mine)).hexdigest()}
        return fields

    def upload_text(self, mine: User | None) -> bytes:
        name = f"{mine.name if mine else 'none'}-uploaded"
        return f"---\nname: {name}\ndescription: Use when needed.\n---\n\n# Title\n".encode()

    def _archive(self, kind: str, name: str, mine: User | None) -> bytes:
        """A package with words of the caller, so that whatever it publishes is its own."""
        world = self.world
        if mine is None or len(name) > 64:
            return b"not an archive"
        data, secrets = world.contents(mine.name, kind, name)
        self._packed = " ".join([name, *secrets])
        world.packages.setdefault(f"{kind}:{name}", set())
        world.drafts[hashlib.sha256(data).hexdigest()] = (f"{kind}:{name}", mine.name, secrets)
        return data
