"""`deploy/Containerfile`, built on a fresh Debian root and run as it is deployed: not as root, on a read-only root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from guards import eventually
from registry.servers import free_port

ROOT = Path(__file__).parents[2]
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_PATIENCE = 120.0


@pytest.fixture
def run_root() -> Iterator[str]:
    # podman takes a path of at most 50 characters here, and those of `tmp_path` are longer.
    with tempfile.TemporaryDirectory(prefix="podman-") as folder:
        yield folder


@pytest.mark.skipif(not os.environ.get("METIER_FULL"), reason="long runs take METIER_FULL=1")
def test_the_image_is_built_and_serves_without_privileges(tmp_path: Path, run_root: str) -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, ("debootstrap", "podman", "runc"))):
        pytest.skip("an image takes root, debootstrap, podman and runc")
    podman = [
        "podman", "--storage-driver", "vfs", "--root", f"{tmp_path}/root", "--runroot", run_root,
        "--cgroup-manager", "cgroupfs", "--runtime", "runc",
    ]  # fmt: skip
    _import_debian(podman, tmp_path / "debian")
    # A machine may reach its package index only with certificates and settings of its own.
    (tmp_path / "uv.toml").write_text("native-tls = true\n")
    mounts = {_CERTIFICATES: _CERTIFICATES, "/etc/pip.conf": "/etc/pip.conf", f"{tmp_path}/uv.toml": "/etc/uv/uv.toml"}
    volumes = [word for here, there in mounts.items() if os.path.exists(here) for word in ("-v", f"{here}:{there}:ro")]
    build = ["build", "--isolation", "chroot", "--network", "host", "--build-arg", "BASE=localhost/base", *volumes]
    _run(*podman, *build, "-t", "metier-registry", "-f", "deploy/Containerfile", ".")
    data, port = tmp_path / "data", free_port()
    data.mkdir()
    os.chown(data, 10001, 10001)
    limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"]
    confined = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", *limits, "--network", "host", "-v", f"{data}:/data"]
    words = [*podman, "run", "--rm", "--name", "registry", *confined, "localhost/metier-registry", "--port", str(port)]
    with open(tmp_path / "log", "wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            eventually(lambda: _is_ready(port), "the container serves", patience=_PATIENCE)
            assert _run(*podman, "exec", "registry", "id", "-u").strip() == "10001"
            assert subprocess.run([*podman, "exec", "registry", "touch", "/x"], check=False).returncode != 0
            assert (data / "registry/registry.sqlite").stat().st_uid == 10001
        finally:
            _run(*podman, "stop", "-t", "10", "registry")
            process.wait()


def _import_debian(podman: list[str], folder: Path) -> None:
    packages = "--include=python3,python3-venv,ca-certificates"
    subprocess.run(["debootstrap", "--variant=minbase", packages, "stable", folder], check=True, stdout=subprocess.DEVNULL)
    with subprocess.Popen(["tar", "-C", str(folder), "-c", "."], stdout=subprocess.PIPE) as tar:
        _run(*podman, "import", "-", "localhost/base", given=tar.stdout)


def _run(*words: str, given: IO[bytes] | None = None) -> str:
    done = subprocess.run(words, cwd=ROOT, stdin=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _is_ready(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
        return bool(answer.status == 200)
    return False
