"""Debian's nginx with `deploy/nginx.conf` in front of a registry: addresses, limits, uploads and redirects are right."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from guards import eventually
from registry.builders import archive
from registry.server_process import ServerProcess, serve
from registry.servers import free_port

CONFIGURATION = Path(__file__).parents[2] / "deploy/nginx.conf"
NAME = "skills.example.com"
MAIN = """
daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {server}
}}
"""


@dataclass(frozen=True)
class Proxy:
    plain: int
    secure: int
    trusted: ssl.SSLContext
    registry: ServerProcess

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.secure, context=self.trusted, timeout=60)
        connection.request(method, path, body, {"Host": NAME, **(headers or {})})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response, data

    @property
    def token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.registry.token}"}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1", NAME)
    made.private_key_and_cert_chain_pem.write_to_path(str(folder / "cert.pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    # A worker process must reach the temporary folders, also when the tests run as root.
    folder.chmod(0o755)
    with serve(folder, "--url", f"https://{NAME}", "--trust-proxy", "127.0.0.1") as registry:
        plain, secure = free_port(), free_port()
        text = CONFIGURATION.read_text()
        for old, new in {
            "127.0.0.1:8437": registry.url.removeprefix("http://"), "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
            f"/etc/letsencrypt/live/{NAME}/fullchain.pem": str(folder / "cert.pem"),
            f"/etc/letsencrypt/live/{NAME}/privkey.pem": str(folder / "cert.pem"),
        }.items():  # fmt: skip
            assert old in text
            text = text.replace(old, new)
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(user + MAIN.format(folder=folder, server=text))
        with _nginx(folder):
            found = Proxy(plain, secure, context, registry)
            eventually(lambda: _answers(found), "nginx answers")
            yield found


@contextmanager
def _nginx(folder: Path) -> Iterator[None]:
    with open(folder / "nginx.log", "wb") as log:
        process = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _answers(proxy: Proxy) -> bool:
    try:
        return proxy.ask("GET", "/readyz")[0].status == 200
    except OSError:
        return False


def test_plain_http_leads_to_https(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.plain, timeout=30)
    connection.request("GET", "/search?q=pdf", headers={"Host": NAME})
    response = connection.getresponse()
    response.read()
    connection.close()
    assert (response.status, response.headers["location"]) == (308, f"https://{NAME}/search?q=pdf")


def test_addresses_in_answers_are_the_public_ones(proxy: Proxy) -> None:
    _, body = proxy.ask("GET", "/.well-known/clawhub.json")
    assert f'"https://{NAME}"' in body.decode()


def test_redirects_and_cookies_are_those_of_https(proxy: Proxy) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"https://{NAME}"}
    response, _ = proxy.ask("POST", "/login", f"token={proxy.registry.token}".encode(), form)
    assert response.status == 303
    assert response.headers["location"].startswith("/")
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("__Host-metier_session=")
    assert "Secure" in cookie


def test_the_audit_log_has_the_address_of_the_client_and_not_its_claim(proxy: Proxy) -> None:
    claimed = {**proxy.token, "X-Forwarded-For": "203.0.113.7", "Content-Type": "application/zip"}
    response, body = proxy.ask("POST", "/skills?visibility=public", archive("proxied", "1.0.0"), claimed)
    assert response.status == 201, body
    _, audit = proxy.ask("GET", "/audit", headers=proxy.token)
    [event] = [event for event in json.loads(audit)["events"] if event["action"] == "publish"]
    assert event["address"] == "127.0.0.1"


def test_an_upload_over_the_limit_gets_the_sentence_of_the_registry(proxy: Proxy) -> None:
    headers = {**proxy.token, "Content-Type": "application/zip"}
    response, body = proxy.ask("POST", "/skills", b"\0" * (21 * 1024 * 1024), headers)
    assert response.status == 413
    assert "the limit is 20,971,520" in json.loads(body)["detail"]


def test_the_id_of_nginx_is_the_id_of_the_request(proxy: Proxy) -> None:
    response, _ = proxy.ask("GET", "/healthz", headers={"X-Request-Id": "mine"})
    assert len(response.headers["x-request-id"]) == 32


def test_metrics_stay_inside(proxy: Proxy) -> None:
    assert proxy.ask("GET", "/metrics", headers=proxy.token)[0].status == 404
