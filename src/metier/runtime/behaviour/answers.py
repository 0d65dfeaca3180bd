"""Answers of the sinkhole: plausible bytes, of which those that are run say so.

A program that is downloaded and run opens a file that does not exist; its path names the download. So the record of opened
files proves that bytes from the network were run, whatever ran them.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping

from metier.values import dataclass

__all__ = ["STAGE", "Answer", "answer_request"]

STAGE = "/run/metier/stage/"
_SHELL = [".sh", ".bash", ".zsh", ".command"]
_ARCHIVES = [".tar.gz", ".tgz", ".zip", ".whl", ".tar"]
_TEXT = [".txt", ".md", ".csv", ".html", ".htm", ".xml", ".yaml", ".yml", ".toml", ".rss", ".svg", ".css"]
_API = ("/api", "/v1", "/v2", "/v3", "/graphql", "/rest", "/webhook", "/hooks", "/collect", "/upload", "/search")
_CODE_FIELDS = ("code", "script", "payload", "cmd", "command", "exec", "run", "source", "eval", "task")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    content_type: str
    body: bytes
    is_code: bool = False
    """It is a program, archive or page of unknown use: what the real one does is not known."""
    status: int = 200


def answer_request(number: int, method: str, host: str, path: str, headers: Mapping[str, str], *, prefer_code: bool) -> Answer:
    """Returns the answer to one request. `prefer_code` decides where code and data are both plausible."""
    plain = path.partition("?")[0].lower()
    name = plain.rsplit("/", 1)[-1]
    agent = headers.get("user-agent", "").lower()
    if name.endswith(tuple(_SHELL)):
        return Answer(content_type="text/x-shellscript", body=_both(number), is_code=True)
    if name.endswith(".py"):
        return Answer(content_type="text/x-python", body=_python(number), is_code=True)
    if name.endswith((".js", ".mjs", ".cjs")):
        return Answer(content_type="text/javascript", body=_javascript(number), is_code=True)
    if name.endswith(".ps1"):
        return Answer(content_type="text/plain", body=b"exit 0\n", is_code=True)
    if name.endswith(tuple(_ARCHIVES)):
        return Answer(content_type="application/octet-stream", body=_archive(number, name), is_code=True)
    if name.endswith((".b64", ".base64")):
        return Answer(content_type="text/plain", body=base64.b64encode(_code(number, agent)), is_code=True)
    if name.endswith(".gz"):
        return Answer(content_type="application/gzip", body=gzip.compress(_code(number, agent)), is_code=True)
    if name.endswith((".png", ".jpg", ".jpeg", ".gif", ".ico", ".webp")):
        return Answer(content_type="image/png", body=_PICTURE)
    if name.endswith((".json",)) or _is_api(method, host, plain, headers):
        return Answer(content_type="application/json", body=_json(number, agent, prefer_code=prefer_code))
    if name.endswith((".html", ".htm", ".xml", ".rss", ".css", ".svg")) or (not prefer_code and name.endswith(tuple(_TEXT))):
        return Answer(content_type="text/html", body=_page(host))
    if "mozilla" in agent or headers.get("accept", "").startswith("text/html"):
        return Answer(content_type="text/html", body=_page(host))
    if "python" in agent and not prefer_code:
        return Answer(content_type="application/json", body=_json(number, agent, prefer_code=False))
    return Answer(content_type="text/plain", body=_code(number, agent), is_code=True)


def _is_api(method: str, host: str, path: str, headers: Mapping[str, str]) -> bool:
    accepts = headers.get("accept", "")
    if method not in ("GET", "HEAD") or host.startswith(("api.", "hooks.")) or "application/json" in accepts:
        return True
    return any(part in path for part in _API) or "authorization" in headers


def _code(number: int, agent: str) -> bytes:
    return _javascript(number) if "node" in agent or "undici" in agent or "axios" in agent else _both(number)


def _both(number: int) -> bytes:
    """A program that sh and Python both take."""
    python = f"try:\n    open('{STAGE}{number}')\nexcept OSError:\n    pass\n"
    return f"#!/bin/sh\n''':'\n( : < {STAGE}{number} ) 2>/dev/null\necho installed\nexit 0\n'''\n{python}".encode()


def _python(number: int) -> bytes:
    text = f"try:\n    open('{STAGE}{number}')\nexcept OSError:\n    pass\n"
    return f"{text}def main(*args, **kwargs):\n    return 0\nrun = setup = start = init = execute = main\n".encode()


def _javascript(number: int) -> bytes:
    text = f"try {{ require('fs').readFileSync('{STAGE}{number}'); }} catch (error) {{}}\n"
    return f"{text}if (typeof module !== 'undefined') module.exports = function () {{ return 0; }};\n".encode()


def _json(number: int, agent: str, *, prefer_code: bool) -> bytes:
    text = _code(number, agent).decode()
    record = {"id": 42, "name": "example", "title": "Example", "value": 1, "url": "https://www.example.com/", "text": "Example"}
    answer: dict[str, object] = {
        "ok": True, "status": "success", "success": True, "message": "ok", "id": 42, "name": "example", "total": 1, "count": 1,
        "version": "1.0.0", "url": "https://www.example.com/", "data": [record], "results": [record], "items": [record],
        "access_token": "made-up", "choices": [{"message": {"role": "assistant", "content": "Example"}}],
        "content": [{"type": "text", "text": "Example"}], "enabled": True, "active": True,
    }  # fmt: skip
    for field in _CODE_FIELDS:
        shell = f"( : < {STAGE}{number} ) 2>/dev/null"
        answer[field] = shell if field in ("cmd", "command", "exec", "task", "run") else text
    if prefer_code:
        answer["data"] = base64.b64encode(text.encode()).decode()
        answer["content"] = text
    return json.dumps(answer).encode()


def _page(host: str) -> bytes:
    return f"<html><head><title>{host}</title></head><body><h1>{host}</h1><p>Welcome.</p></body></html>\n".encode()


def _archive(number: int, name: str) -> bytes:
    files = {"install.sh": _both(number), "run.py": _python(number), "index.js": _javascript(number), "README.md": b"Example\n"}
    buffer = io.BytesIO()
    if name.endswith((".zip", ".whl")):
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, data in files.items():
                archive.writestr(path, data)
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w:gz" if name.endswith("gz") else "w") as tar:
        for path, data in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


_PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
