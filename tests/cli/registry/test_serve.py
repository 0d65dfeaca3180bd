"""`metier registry serve`: TLS, what it says about the network, and its logs."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trustme

from cli.shell import Shell
from guards import eventually


@contextmanager
def running(shell: Shell, *words: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    process = shell.start("registry", "serve", "--port", "0", *words)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().decode(), process
    finally:
        stop(process)


def address(line: str) -> str:
    return line.removeprefix("Registry at ").partition(" ")[0]


def stop(process: subprocess.Popen[bytes]) -> str:
    """Ends the server and returns what it wrote to stderr."""
    if process.returncode is not None:
        return ""
    process.terminate()
    return process.communicate()[1].decode()


def test_an_open_address_without_tls_is_pointed_out(shell: Shell) -> None:
    with running(shell, "--host", "0.0.0.0") as (_, process):
        said = stop(process)
    assert "is open to the network without TLS: anyone on the way can read tokens" in said
    assert "hint: pass --tls-cert and --tls-key, or put a TLS proxy in front" in said


@pytest.mark.parametrize("words", [
    ("--host", "127.0.0.1"), ("--host", "0.0.0.0", "--trust-proxy", "10.0.0.5"),
    ("--host", "0.0.0.0", "--url", "https://skills.example"),
])  # fmt: skip
def test_loopback_and_a_proxy_need_no_warning(shell: Shell, words: tuple[str, ...]) -> None:
    with running(shell, *words) as (_, process):
        assert "without TLS" not in stop(process)


def test_https_with_ones_own_certificate(shell: Shell, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    chain, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
    key.write_bytes(certificate.private_key_pem.bytes())
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with running(shell, "--tls-cert", str(chain), "--tls-key", str(key)) as (line, _):
        url = address(line)
        assert url.startswith("https://127.0.0.1:")
        body, _ = get(f"{url}/.well-known/clawhub.json", context)
    assert f'"{url}"' in body


def get(url: str, context: ssl.SSLContext | None = None) -> tuple[str, str]:
    """The body and the id of a request, once the server is up."""
    answers: list[tuple[str, str]] = []

    def ask() -> list[tuple[str, str]]:
        with suppress(OSError), urllib.request.urlopen(url, timeout=10, context=context) as answer:
            answers.append((answer.read().decode(), answer.headers["x-request-id"]))
        return answers

    eventually(ask, f"{url} answers")
    return answers[0]


def test_a_certificate_needs_its_key_and_both_must_be_readable(shell: Shell, tmp_path: Path) -> None:
    alone = shell("registry", "serve", "--tls-cert", "cert.pem")
    assert (alone.code, alone.err.splitlines()[0]) == (2, "error: --tls-cert and --tls-key belong together")
    missing = shell("registry", "serve", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    assert missing.err.startswith("error: cannot use cert.pem and key.pem: no such file or directory")
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_text("not a certificate")
    wrong = shell("registry", "serve", "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    assert wrong.code == 2
    assert "hint: pass the PEM files of one certificate and its key" in wrong.err


def test_every_request_is_a_line_of_json_with_its_id(shell: Shell) -> None:
    with running(shell, "--log", "json") as (line, process):
        url = address(line)
        _, request = get(f"{url}/healthz")
        lines = [json.loads(each) for each in stop(process).splitlines()]
    [logged] = [each for each in lines if each.get("request_id") == request]
    assert (logged["method"], logged["path"], logged["status"], logged["client"]) == ("GET", "/healthz", 200, "127.0.0.1")


def test_wrong_settings_are_named(shell: Shell, tmp_path: Path) -> None:
    assert shell("config", "set", "registry.log", "xml").code == 0
    assert shell("registry", "serve").err.startswith("error: registry.log: unknown log 'xml'")
    assert shell("config", "set", "registry.log", "text").code == 0
    assert shell("config", "set", "registry.logo", str(tmp_path / "none.svg")).code == 0
    said = shell("registry", "serve").err
    assert "is not an SVG or PNG file of at most 256 KiB" in said
    assert "hint: metier config set registry.logo FILE" in said
