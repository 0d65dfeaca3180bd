"""Every route that changes something, with every scope. A new route must be added to the table, or this fails."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metier.archive import pack, unpack
from metier.registry import AuditEvent, OidcOptions, RegistryUser, ServerOptions, create_app
from metier.registry.ed25519 import key_id, new_signing_key, release_statement, sign_statement
from metier.spec import MemoryFiles
from registry.builders import Site, archive, site
from registry.identity_providers import FakeProvider, fake_provider

OURS = {"origin": "http://registry.test"}
PROVIDER: list[FakeProvider] = []
"""The issuer of ID tokens of CI jobs."""
TEXT = unpack(archive("fresh")).read("SKILL.md", limit=9_999)
FILE = {"path": "SKILL.md", "size": len(TEXT), "sha256": hashlib.sha256(TEXT).hexdigest()}

MANAGE, UPLOAD, YANK, ADMIN, TOKENS, OPEN, REVIEW = "manage", "upload", "yank", "admin", "tokens", "open", "review"
CALLERS: dict[str, tuple[str, tuple[str, ...], frozenset[str]]] = {
    # name: holder, scopes, rights on the packages of acme
    "anonymous": ("", (), frozenset({OPEN})),
    "read": ("acme", ("read",), frozenset({OPEN})),
    "read:acme": ("acme", ("read:acme",), frozenset({OPEN})),
    "yank": ("acme", ("yank",), frozenset({OPEN, YANK})),
    "tokens": ("acme", ("tokens", "read"), frozenset({OPEN, TOKENS})),
    "publish": ("acme", ("publish",), frozenset({OPEN, MANAGE, UPLOAD})),
    "publish:acme": ("acme", ("publish:acme",), frozenset({OPEN, MANAGE, UPLOAD})),
    "publish:*": ("robot", ("publish:*",), frozenset({OPEN, MANAGE, UPLOAD})),
    "publish:other": ("other", ("publish:other", "yank", "tokens", "read"), frozenset({OPEN, TOKENS, UPLOAD})),
    "review:acme": ("judge", ("review:acme",), frozenset({OPEN, REVIEW})),
    "review:*": ("judge", ("review:*",), frozenset({OPEN, REVIEW})),
    "review:other": ("other", ("review:other",), frozenset({OPEN})),
    "admin": ("root", ("admin",), frozenset({OPEN, MANAGE, UPLOAD, YANK, TOKENS, ADMIN, REVIEW})),
}


class Stage:
    """A package of acme, and a caller whose request is about to come."""

    def __init__(self, here: Site, kind: str, caller: str, number: int) -> None:
        self.here, self.kind, self.number = here, kind, number
        self.holder, scopes, _ = CALLERS[caller]
        self.token = here.token(self.holder, *scopes) if scopes else ""
        self.name = f"{kind}-{number}"
        self.path = f"/{kind}s/{self.name}"
        self.private, self.public = new_signing_key()
        made = self.admin("POST", f"/{kind}s?namespace=acme&visibility=public&version=1.0.0", content=self.archive(self.name))
        assert made.status_code == 201, made.text

    def admin(self, method: str, path: str, **more: Any) -> Any:
        return self.here.send(method, path, token=self.here.admin, **more)

    def archive(self, name: str) -> bytes:
        if self.kind == "skill":
            return archive(name)
        return pack(MemoryFiles({"agent.toml": f'name = "{name}"\ndescription = "Answers."\nmodel = "x/y"\n'.encode()}))

    def state(self) -> list[Any]:
        """All rows that a request can change, except the audit log and reports, which are open to all."""
        tables = (
            "package",
            "owner",
            "release",
            "tag",
            "offer",
            "signature",
            "signing_key",
            "upload",
            "session",
            "registry_user",
            "device_login",
            "invitation",
            "trusted_publisher",
            "used_job_token",
            "namespace_setting",
            "advisory",
        )
        queries = [f"select * from {table} order by 1, 2" for table in tables]
        # Not the time of its last use, which every request changes.
        queries.append("select id, hashed, scopes, expires, revoked from token order by id")
        # Only jobs of this package: the registry does the jobs of earlier ones meanwhile.
        queries.append(f"select subject from job where subject = '{self.kind}:{self.name}@1.0.0'")
        return [self.here.call(self.here.registry.store.engine.rows, query) for query in queries]


Prepare = Callable[[Stage], dict[str, Any]]
"""Brings the registry into the state that the request needs, and returns its path parameters and its body."""


def sends(**body: Any) -> Prepare:
    return lambda _: body


def a_new_package(stage: Stage) -> dict[str, Any]:
    return {"content": stage.archive(f"new-{stage.name}"), "query": "?namespace=acme"}


def a_signature(stage: Stage) -> dict[str, Any]:
    stage.admin("POST", "/namespaces/acme/keys", json={"public": stage.public})
    digest = stage.admin("GET", f"{stage.path}/versions/1.0.0").json()["digest"]
    stated = release_statement(kind=stage.kind, name=stage.name, version="1.0.0", digest=digest)
    return {"json": {"keyid": key_id(stage.public), "signature": sign_statement(stage.private, stated)}}


def a_yanked_version(stage: Stage) -> dict[str, Any]:
    stage.admin("POST", f"{stage.path}/versions/1.0.0/yank")
    return {}


def a_yanked_version_on_a_page(stage: Stage) -> dict[str, Any]:
    return {**a_yanked_version(stage), "data": {"version": "1.0.0"}}


def a_deleted_package(stage: Stage) -> dict[str, Any]:
    stage.admin("DELETE", stage.path)
    return {}


def a_tag(stage: Stage) -> dict[str, Any]:
    stage.admin("PUT", f"{stage.path}/tags/beta", json={"version": "1.0.0"})
    return {}


def a_quarantine(stage: Stage) -> dict[str, Any]:
    stage.admin("PUT", f"{stage.path}/quarantine", json={"reason": "x"})
    return {}


def an_advisory(stage: Stage) -> dict[str, Any]:
    added = stage.admin("POST", "/advisories", json={"id": f"B-{stage.name}", "hosts": ["bad.example"]})
    assert added.status_code == 201, added.text
    return {"id": f"B-{stage.name}"}


def a_quarantined_version(stage: Stage) -> dict[str, Any]:
    assert stage.admin("PUT", f"{stage.path}/versions/1.0.0/quarantine", json={"reason": "x"}).status_code == 200
    return {}


def a_draft(stage: Stage) -> dict[str, Any]:
    made = stage.admin("POST", f"/{stage.kind}s?namespace=acme&version=2.0.0&draft=1", content=stage.archive(stage.name))
    assert made.status_code == 201, made.text
    return {"version": "2.0.0", "data": {"action": "submit"}}


def a_review(stage: Stage) -> dict[str, Any]:
    """Asks for reviews only meanwhile: other requests of this test publish in the same namespace."""
    stage.admin("PUT", "/namespaces/acme/settings", json={"review": True})
    stage.admin("POST", f"/{stage.kind}s?namespace=acme&version=2.0.0", content=stage.archive(stage.name))
    stage.admin("PUT", "/namespaces/acme/settings", json={"review": False})
    digest = stage.admin("GET", f"{stage.path}/versions/2.0.0/review").json()["review"]["digest"]
    body = {"digest": digest, "comment": "c"}
    return {"version": "2.0.0", "json": body}


def a_review_on_a_page(stage: Stage) -> dict[str, Any]:
    asked = a_review(stage)
    return {"version": "2.0.0", "data": {**asked["json"], "action": "return"}}


def a_second_owner(stage: Stage) -> dict[str, Any]:
    stage.admin("PUT", f"{stage.path}/owners/third")
    return {"namespace": "third"}


def an_offer_to_acme(stage: Stage) -> dict[str, Any]:
    stage.admin("PUT", f"{stage.path}/owners/seller")
    stage.admin("DELETE", f"{stage.path}/owners/acme")
    stage.admin("POST", f"{stage.path}/transfer", json={"to": "acme"})
    return {}


def another_token_of_the_holder(stage: Stage) -> dict[str, Any]:
    stage.here.token(stage.holder or "acme", "read", note=stage.name)
    rows = stage.admin("GET", "/tokens").json()["tokens"]
    number = next(str(row["id"]) for row in rows if row["note"] == stage.name)
    return {"id": number, "data": {"token": number}}


def a_key(stage: Stage) -> dict[str, Any]:
    stage.admin("POST", "/namespaces/acme/keys", json={"public": stage.public})
    return {"keyid": key_id(stage.public)}


def a_report(stage: Stage) -> dict[str, Any]:
    stage.admin("POST", f"{stage.path}/report", json={"reason": "other"})
    number = str(stage.admin("GET", "/reports").json()["reports"][0]["id"])
    return {"id": number, "data": {"report": number, "state": "rejected"}}


def a_user(stage: Stage) -> dict[str, Any]:
    user = RegistryUser(
        id=0, issuer="https://id.example", subject=stage.name, name=f"user-{stage.number}", email="", scopes=("read",),
        created=1, signed_in=1, disabled=None,
    )  # fmt: skip
    stage.here.call(stage.here.registry.store.add_user, user, event=AuditEvent(1, "test", "user-create", "user:x"))
    return {"data": {"name": user.name, "action": "disable"}}


def an_invitation(stage: Stage) -> dict[str, Any]:
    page = stage.admin("POST", "/admin/invite", data={"scopes": "read", "days": "7"}).text
    return {"code": page.partition("/invite/")[2][:43], "data": {"name": f"guest-{stage.number}"}}


def an_open_invitation(stage: Stage) -> dict[str, Any]:
    an_invitation(stage)
    number = stage.admin("GET", "/invitations").json()["invitations"][-1]["id"]
    return {"id": number, "data": {"invitation": number}}


def a_waiting_device(stage: Stage) -> dict[str, Any]:
    codes = stage.here.post("/device/code").json()
    return {"data": {"user_code": codes["user_code"], "action": "approve", "scope:read:acme": "1"}, "codes": codes}


def an_approved_device(stage: Stage) -> dict[str, Any]:
    waiting = a_waiting_device(stage)
    assert stage.admin("POST", "/device", data=waiting["data"]).status_code == 200
    grant = "urn:ietf:params:oauth:grant-type:device_code"
    return {"data": {"grant_type": grant, "device_code": waiting["codes"]["device_code"]}}


def a_rule(stage: Stage) -> dict[str, Any]:
    return {"json": {"issuer": PROVIDER[0].issuer, "repository": f"acme/{stage.name}", "workflow": "release.yml"}}


def a_trusted_publisher(stage: Stage) -> dict[str, Any]:
    made = stage.admin("POST", "/namespaces/acme/trusted-publishers", **a_rule(stage))
    return {"id": str(made.json()["id"])}


def a_job_token(stage: Stage) -> dict[str, Any]:
    a_trusted_publisher(stage)
    now, repository = stage.here.clock() // 1000, f"acme/{stage.name}"
    claims = {
        "iss": PROVIDER[0].issuer, "aud": OURS["origin"], "sub": "x", "iat": now, "exp": now + 300, "jti": stage.name,
        "repository": repository, "repository_id": "7", "workflow_ref": f"{repository}/.github/workflows/release.yml@main",
        "ref": "refs/heads/main", "event_name": "push", "sha": "c0ffee", "run_id": "1",
    }  # fmt: skip
    return {"json": {"token": PROVIDER[0].sign(claims)}}


def a_ticket(stage: Stage) -> dict[str, Any]:
    asked = stage.here.post("/api/v1/skills/-/upload-url", token=stage.token, json=FILE)
    return {"ticket": asked.json()["uploadTicket"] if asked.status_code == 200 else "x", "content": TEXT}


def an_uploaded_file(stage: Stage) -> dict[str, Any]:
    ticket = a_ticket(stage)["ticket"]
    stage.here.post(f"/api/v1/uploads/{ticket}", token=stage.token, content=TEXT)
    files = [{**FILE, "storageId": ticket}]
    return {"json": {"slug": "fresh", "version": f"1.0.{stage.number}", "ownerHandle": "acme", "files": files}}


def package_changes(kind: str) -> dict[tuple[str, str], tuple[str, Prepare]]:
    at = f"/{kind}s"
    name, version = f"{at}/{{name}}", f"{at}/{{name}}/versions/{{version}}"
    return {
        ("POST", at): (MANAGE, a_new_package),
        ("POST", f"{version}/yank"): (YANK, sends()),
        ("POST", f"{version}/unyank"): (YANK, a_yanked_version),
        ("PUT", f"{version}/signature"): (MANAGE, a_signature),
        ("POST", f"{version}/rescan"): (MANAGE, sends()),
        ("POST", f"{version}/review/submit"): (MANAGE, a_draft),
        ("POST", f"{version}/review/approve"): (REVIEW, a_review),
        ("POST", f"{version}/review/return"): (REVIEW, a_review),
        ("DELETE", f"{version}/review"): (MANAGE, a_draft),
        ("DELETE", name): (MANAGE, sends()),
        ("POST", f"{name}/undelete"): (MANAGE, a_deleted_package),
        ("PUT", f"{name}/visibility"): (MANAGE, sends(json={"visibility": "private"})),
        ("PUT", f"{name}/status"): (MANAGE, sends(json={"status": "archived"})),
        ("PUT", f"{name}/tags/{{tag}}"): (MANAGE, sends(json={"version": "1.0.0"})),
        ("DELETE", f"{name}/tags/{{tag}}"): (MANAGE, a_tag),
        ("PUT", f"{name}/owners/{{namespace}}"): (MANAGE, sends(namespace="third")),
        ("DELETE", f"{name}/owners/{{namespace}}"): (MANAGE, a_second_owner),
        ("POST", f"{name}/transfer"): (MANAGE, sends(json={"to": "other"})),
        ("POST", f"{name}/transfer/accept"): (MANAGE, an_offer_to_acme),
        ("POST", f"{name}/report"): (OPEN, sends(json={"reason": "spam"})),
        ("PUT", f"{name}/quarantine"): (ADMIN, sends(json={"reason": "x"})),
        ("DELETE", f"{name}/quarantine"): (ADMIN, a_quarantine),
        ("PUT", f"{version}/quarantine"): (ADMIN, sends(json={"reason": "x"})),
        ("DELETE", f"{version}/quarantine"): (ADMIN, a_quarantined_version),
        ("DELETE", version): (ADMIN, a_quarantined_version),
    }


ROUTES: dict[tuple[str, str], tuple[str, Prepare]] = {
    **package_changes("skill"),
    **package_changes("agent"),
    ("POST", "/tokens"): (TOKENS, lambda stage: {"json": {"holder": stage.holder or "acme", "scopes": ["read:acme"]}}),
    ("DELETE", "/tokens/{id}"): (TOKENS, another_token_of_the_holder),
    ("POST", "/namespaces/{namespace}/keys"): (MANAGE, lambda stage: {"json": {"public": stage.public}}),
    ("DELETE", "/namespaces/{namespace}/keys/{keyid}"): (MANAGE, a_key),
    ("PUT", "/namespaces/{namespace}/settings"): (REVIEW, sends(json={"review": False})),
    ("POST", "/owner/{namespace}"): (REVIEW, sends(data={"review": "off"})),
    ("POST", "/review/{name}/{version}"): (REVIEW, a_review_on_a_page),
    ("POST", "/namespaces/{namespace}/trusted-publishers"): (MANAGE, a_rule),
    ("DELETE", "/namespaces/{namespace}/trusted-publishers/{id}"): (MANAGE, a_trusted_publisher),
    ("POST", "/oidc/exchange"): (OPEN, a_job_token),
    ("POST", "/reports/{id}"): (ADMIN, lambda stage: {"id": a_report(stage)["id"], "json": {"state": "rejected"}}),
    ("POST", "/api/v1/skills"): (MANAGE, an_uploaded_file),
    ("POST", "/api/v1/skills/-/upload-url"): (UPLOAD, sends(json=FILE)),
    ("POST", "/api/v1/uploads/{ticket}"): (UPLOAD, a_ticket),
    ("DELETE", "/api/v1/skills/{slug}"): (MANAGE, sends()),
    ("POST", "/api/v1/skills/{slug}/undelete"): (MANAGE, a_deleted_package),
    ("POST", "/skill/{name}/yank"): (YANK, sends(data={"version": "1.0.0", "reason": "r"})),
    ("POST", "/skill/{name}/unyank"): (YANK, a_yanked_version_on_a_page),
    ("POST", "/skill/{name}/report"): (OPEN, sends(data={"reason": "spam"})),
    ("POST", "/playground"): (OPEN, sends(data={"skill": "# Hi"})),
    ("POST", "/login"): (OPEN, lambda stage: {"data": {"token": stage.here.admin}}),
    ("POST", "/logout"): (OPEN, sends()),
    ("POST", "/admin/invite"): (ADMIN, sends(data={"scopes": "read", "days": "7"})),
    ("POST", "/invite/{code}"): (OPEN, an_invitation),
    ("POST", "/admin/withdraw"): (ADMIN, an_open_invitation),
    ("DELETE", "/invitations/{id}"): (ADMIN, an_open_invitation),
    ("PUT", "/users/{name}"): (ADMIN, lambda stage: {"name": a_user(stage)["data"]["name"], "json": {"disabled": True}}),
    ("POST", "/advisories"): (ADMIN, lambda stage: {"json": {"id": f"A-{stage.name}", "hosts": ["bad.example"]}}),
    ("DELETE", "/advisories/{id}"): (ADMIN, an_advisory),
    ("POST", "/device"): (TOKENS, a_waiting_device),
    ("POST", "/device/code"): (OPEN, sends(data={"client_id": "metier"})),
    ("POST", "/device/token"): (OPEN, an_approved_device),
    ("POST", "/publish"): (MANAGE, sends(files={"file": ("x.zip", archive("fresh-page"))}, data={"namespace": "acme"})),
    ("POST", "/account/tokens"): (
        TOKENS, lambda stage: {"data": {"holder": stage.holder or "acme", "scopes": "read:acme"}},
    ),
    ("POST", "/account/revoke"): (TOKENS, another_token_of_the_holder),
    ("POST", "/admin/reports"): (ADMIN, a_report),
    ("POST", "/admin/users"): (ADMIN, a_user),
    ("POST", "/admin/quarantine"): (ADMIN, lambda stage: {"data": {"name": stage.name, "reason": "x"}}),
    ("POST", "/admin/release"): (ADMIN, lambda stage: {**a_quarantine(stage), "data": {"name": stage.name}}),
}  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    oidc = OidcOptions(issuer="https://id.example", client_id="registry", roles={"*": ("read",)})
    with fake_provider() as provider:
        PROVIDER[:] = [provider]
        folder, issuers = tmp_path_factory.mktemp("permissions"), (provider.issuer,)
        with site(folder, oidc=oidc, url=OURS["origin"], trusted_issuers=issuers) as found:
            yield found


def test_the_table_names_every_route_that_changes_something() -> None:
    app = create_app(ServerOptions(db="sqlite:///unused", blobs="file:///unused"))
    changing = {(route.method, route.path) for route in app.routes.all if route.method != "GET"}
    assert changing == set(ROUTES)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_changes_something_only_with_its_scope(here: Site, method: str, path: str) -> None:
    right, prepare = ROUTES[method, path]
    for place, (caller, (_, _, rights)) in enumerate(CALLERS.items()):
        here.clock.move(seconds=60)
        number = 100 * list(ROUTES).index((method, path)) + place
        stage = Stage(here, "agent" if path.startswith("/agents") else "skill", caller, number)
        values = {"name": stage.name, "slug": stage.name, "version": "1.0.0", "tag": "beta", "namespace": "acme",
                  "query": "", **prepare(stage)}  # fmt: skip
        body = {key: values[key] for key in ("content", "json", "data", "files") if key in values}
        if method == "DELETE":
            body.pop("data", None)
        before = stage.state()
        here.client.cookies.clear()
        answer = here.send(
            method, path.format(**values) + values["query"], token=stage.token, headers=OURS, follow_redirects=False, **body
        )
        if right in rights:
            assert answer.status_code in (200, 201, 202, 303), (caller, answer.text)
            continue
        # The form that revokes returns to the page, whether or not there was something to revoke.
        refused = (303,) if path == "/account/revoke" and caller != "anonymous" else (401, 403, 404)
        assert answer.status_code in refused, (caller, answer.text)
        assert stage.state() == before, caller
