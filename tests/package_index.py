"""An index of tiny wheels (PEP 503) and an npm registry on loopback, which count their requests and can be stopped."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

__all__ = ["PackageIndex", "make_source", "make_tarball", "make_wheel"]


def make_wheel(
    name: str, version: str, files: Mapping[str, str], *, requires: Sequence[str] = (), license: str = "MIT",  # noqa: A002
) -> bytes:  # fmt: skip
    """Returns a wheel with these files."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nLicense-Expression: {license}\n"]
    metadata += [f"Requires-Dist: {each}\n" for each in requires]
    contents = {
        **files,
        f"{info}/METADATA": "".join(metadata),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_urlsafe(text)},{len(text.encode())}" for path, text in contents.items()]
    contents[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return stream.getvalue()


def make_tarball(package: Mapping[str, Any], files: Mapping[str, str]) -> bytes:  # Any: JSON
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for path, text in {"package.json": json.dumps(package), **files}.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


def make_source(name: str, version: str, files: Mapping[str, str], *, marker: str) -> bytes:
    """Returns a source distribution whose build writes the file `marker`, and needs nothing else."""
    wheel = base64.b64encode(make_wheel(name, version, files)).decode()
    backend = (
        "import base64, os\n"
        f"NAME = {f'{name}-{version}-py3-none-any.whl'!r}\n"
        "def build_wheel(folder, *_, **__):\n"
        f"    open({marker!r}, 'w').close()\n"
        f"    open(os.path.join(folder, NAME), 'wb').write(base64.b64decode({wheel!r}))\n"
        "    return NAME\n"
    )
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    project += f'[project]\nname = "{name}"\nversion = "{version}"\n'
    metadata = f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n"
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for path, text in {"pyproject.toml": project, "backend.py": backend, "PKG-INFO": metadata}.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


class PackageIndex:
    """`with PackageIndex() as index:`. What is added while it runs is there at once."""

    def __init__(self) -> None:
        self.wheels: dict[str, bytes] = {}
        self.tarballs: dict[str, tuple[dict[str, Any], bytes]] = {}
        self.requests: list[str] = []
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                index.requests.append(self.path)
                if self.path == "/stop":
                    # Not in this thread, which the server waits for.
                    threading.Thread(target=index.stop).start()
                answer = index.answer(self.path)
                body, kind = answer if answer is not None else (b"not found", "text/plain")
                self.send_response(200 if answer is not None else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._is_running = False

    @property
    def variables(self) -> dict[str, str]:
        """The variables with which uv and npm use this index."""
        return {"UV_DEFAULT_INDEX": f"{self.url}/simple", "npm_config_registry": f"{self.url}/npm/"}

    def add_wheel(self, name: str, version: str, files: Mapping[str, str], **more: Any) -> None:  # Any: see make_wheel
        self.wheels[f"{name.replace('-', '_')}-{version}-py3-none-any.whl"] = make_wheel(name, version, files, **more)

    def add_source(self, name: str, version: str, files: Mapping[str, str], *, marker: str) -> None:
        self.wheels[f"{name.replace('-', '_')}-{version}.tar.gz"] = make_source(name, version, files, marker=marker)

    def add_tarball(self, name: str, version: str, files: Mapping[str, str], **more: Any) -> None:  # Any: package.json
        package = {"name": name, "version": version, "license": "MIT", "main": "index.js", **more}
        self.tarballs[f"{name}-{version}.tgz"] = (package, make_tarball(package, files))

    def answer(self, path: str) -> tuple[bytes, str] | None:
        parts = path.split("?")[0].strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2:
            names = [file for file in self.wheels if file.split("-")[0].replace("_", "-").lower() == parts[1]]
            links = [f'<a href="/files/{file}#sha256={_hex(self.wheels[file])}">{file}</a>' for file in names]
            return (f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), "text/html") if names else None
        if parts[0] == "files" and parts[-1] in self.wheels:
            return self.wheels[parts[-1]], "application/octet-stream"
        if parts[0] == "npm" and parts[-1] in self.tarballs:
            return self.tarballs[parts[-1]][1], "application/octet-stream"
        if parts[0] == "npm":
            return self._npm_document("/".join(parts[1:]))
        return (b"", "text/plain") if parts == ["stop"] else None

    def _npm_document(self, name: str) -> tuple[bytes, str] | None:
        versions = {}
        for file, (package, data) in self.tarballs.items():
            if package["name"] == name:
                integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
                dist = {"tarball": f"{self.url}/npm/{name}/-/{file}", "integrity": integrity}
                versions[package["version"]] = {**package, "dist": {**dist, "shasum": hashlib.sha1(data).hexdigest()}}
        document = {"name": name, "dist-tags": {"latest": max(versions, default="")}, "versions": versions}
        return (json.dumps(document).encode(), "application/json") if versions else None

    def stop(self) -> None:
        if self._is_running:
            self._is_running = False
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def __enter__(self) -> Self:
        self._is_running = True
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if not self._thread.is_alive():
            self._server.server_close()


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _urlsafe(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
