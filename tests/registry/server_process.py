"""Starts `metier registry serve` in a process of its own, as a user does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

__all__ = ["ServerProcess", "serve"]


@dataclass(frozen=True)
class ServerProcess:
    url: str
    token: str
    process: subprocess.Popen[bytes]

    def publish(self, data: bytes, *, query: str = "visibility=public") -> None:
        self.ask("POST", f"/skills?{query}", data, kind="application/zip")

    def create_token(self, holder: str, *scopes: str) -> str:
        body = json.dumps({"holder": holder, "scopes": scopes}).encode()
        return str(self.ask("POST", "/tokens", body, kind="application/json")["token"])

    def ask_page(self, path: str, form: Mapping[str, str]) -> str:
        """Sends a form as the registry's own page does."""
        head = {"authorization": f"Bearer {self.token}", "origin": self.url}
        request = urllib.request.Request(f"{self.url}{path}", data=urlencode(form).encode(), headers=head)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return str(answer.read().decode())

    def ask(self, method: str, path: str, data: bytes | None = None, *, kind: str = "") -> dict[str, Any]:
        head = {"authorization": f"Bearer {self.token}", "content-type": kind}
        request = urllib.request.Request(f"{self.url}{path}", data=data, headers=head, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            value: dict[str, Any] = json.load(answer)
        return value


@contextlib.contextmanager
def serve(home: Path, *options: str, **environment: str) -> Iterator[ServerProcess]:
    variables = {**os.environ, "METIER_HOME": str(home), "HOME": str(home), **environment}
    words = [sys.executable, "-m", "metier", "registry", "serve", "--port", "0", "--json", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=variables, cwd=home) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            _wait_until_ready(said["url"])
            yield ServerProcess(said["url"], said["admin_token"] or "", process)
        finally:
            process.terminate()


def _wait_until_ready(url: str) -> None:
    for _ in range(400):
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the registry did not start")
