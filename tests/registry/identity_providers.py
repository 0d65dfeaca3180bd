"""OpenID providers for the tests: a real one of another maker, and one that signs what a test wants."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import RSAKey

from registry.servers import free_port

__all__ = ["CALLBACK", "NODE", "SECRET", "FakeProvider", "RealProvider", "fake_provider", "new_key", "real_provider"]

FOLDER = Path(__file__).parent / "oidc"
CALLBACK = "http://registry.test/login/callback"
SECRET = "a secret with : and %"
NODE = shutil.which("node") if (FOLDER / "node_modules" / "oidc-provider").exists() else None


@dataclass(frozen=True)
class RealProvider:
    """npm's `oidc-provider`, which is certified by the OpenID Foundation."""

    issuer: str

    def sign_in(self, address: str, *, name: str, browser: httpx2.Client) -> str:
        """Follows the authorization address as a browser does. Returns the address that leads back to the registry."""
        with urllib.request.urlopen(urllib.request.Request(f"{self.issuer}/as/{name}", method="PUT"), timeout=10):
            pass
        for _ in range(10):
            answer = browser.get(address)
            assert answer.status_code in (302, 303), answer.text
            address = str(httpx2.URL(address).join(answer.headers["location"]))
            if not address.startswith(self.issuer):
                return address
        raise AssertionError("the provider does not lead back")


@contextlib.contextmanager
def real_provider(accounts: Mapping[str, Mapping[str, object]], *, callback: str = CALLBACK) -> Iterator[RealProvider]:
    assert NODE is not None
    port = free_port()
    words = [NODE, "provider.mjs", str(port), callback]
    environment = {**os.environ, "ACCOUNTS": json.dumps(accounts)}
    with subprocess.Popen(
        words, cwd=FOLDER, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield RealProvider(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


@dataclass
class FakeProvider:
    """A provider whose answers a test chooses."""

    issuer: str
    key: RSAKey
    published: list[RSAKey] = field(default_factory=list)
    id_token: str = ""
    metadata: dict[str, object] = field(default_factory=dict)
    job: dict[str, object] = field(default_factory=dict)
    """The claims of the CI job that asks for an ID token."""
    refusal: str = ""
    """The error with which it refuses to exchange a code."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def sign(self, claims: Mapping[str, object], *, key: RSAKey | None = None, **header: str) -> str:
        chosen = key or self.key
        return jwt.encode({"alg": "RS256", "kid": str(chosen.kid), **header}, dict(claims), chosen)

    def unsigned(self, claims: Mapping[str, object]) -> str:
        parts = ({"alg": "none", "kid": str(self.key.kid)}, claims)
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
        return ".".join([*encoded, ""])

    def answer(self, path: str, form: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        if path == "/.well-known/openid-configuration":
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri", "end_session_endpoint")
            return 200, {"issuer": self.issuer, **{name: f"{self.issuer}/{name}" for name in names}, **self.metadata}
        if path == "/jwks_uri":
            return 200, {"keys": [key.as_dict(private=False) for key in self.published]}
        if path == "/token_endpoint" and self.refusal:
            return 400, {"error": self.refusal}
        if path == "/token_endpoint":
            return 200, {"id_token": self.id_token, "token_type": "Bearer"}
        if path == "/id-token" and self.job:
            return 200, {"value": self.sign({**self.job, "aud": form["audience"], "jti": str(len(self.requests))})}
        return 404, {}


@contextlib.contextmanager
def fake_provider() -> Iterator[FakeProvider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond()

        def do_POST(self) -> None:
            self.respond()

        def respond(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            path, query = urlsplit(self.path).path, urlsplit(self.path).query
            sent = f"{query}&{self.rfile.read(length).decode()}"
            form = {name: values[0] for name, values in parse_qs(sent).items()}
            provider.requests.append((path, form))
            status, value = provider.answer(path, form)
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    key = new_key()
    provider = FakeProvider(f"http://127.0.0.1:{server.server_port}", key, [key])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def new_key() -> RSAKey:
    key = RSAKey.generate_key(2048, auto_kid=True)
    assert isinstance(key, RSAKey)
    return key
