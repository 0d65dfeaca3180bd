"""An image for tests, made of files of this machine: a shell, a few commands and the Python that runs the tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["local_image"]

_COMMANDS = ("sh", "env", "sleep", "readlink", "cat", "id")
_LEFT_OUT = re.compile(
    r"/(?:test|tests|site-packages|__pycache__|idlelib|tkinter|ensurepip|turtledemo|config-[^/]*)(?:/|$)|\.a$"
)


@contextmanager
def local_image(podman: list[str], folder: Path) -> Iterator[str]:
    """Yields the name of the image with its digest."""
    archive, name = folder / "root.tar", f"localhost/metier-test-{os.getpid()}"
    with tarfile.open(archive, "w") as root:
        _add_files(root)
    _run(*podman, "import", "--quiet", str(archive), f"{name}:latest")
    try:
        digest = _run(*podman, "image", "inspect", "--format", "{{.Digest}}", f"{name}:latest")
        yield f"{name}@{digest}"
    finally:
        _run(*podman, "rmi", "--force", f"{name}:latest")


def _add_files(root: tarfile.TarFile) -> None:
    executable, library = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
    programs = {f"/bin/{name}": str(Path(f"/bin/{name}").resolve()) for name in _COMMANDS}
    programs["/usr/local/bin/python3"] = str(executable)
    for target, source in {
        **programs,
        **{path: path for path in _libraries([*programs.values(), *_extensions(library)])},
    }.items():
        _add(root, source, target)
    root.add(library, f"usr/local/lib/{library.name}", filter=lambda each: None if _LEFT_OUT.search(f"/{each.name}") else each)
    for shared in Path(sys.base_prefix, "lib").glob("libpython*.so*"):
        _add(root, str(shared.resolve()), f"/usr/local/lib/{shared.name}")


def _add(root: tarfile.TarFile, source: str, target: str) -> None:
    info = root.gettarinfo(os.path.realpath(source), target.lstrip("/"))
    info.type = tarfile.REGTYPE  # never a link to another name of the same file
    info.size = os.stat(source).st_size
    with open(source, "rb") as file:
        root.addfile(info, file)


def _extensions(library: Path) -> list[str]:
    return [
        str(path)
        for path in (library / "lib-dynload").glob("*.so")
        if re.match(r"_(?:struct|json|random|socket|posix|ctypes)|math|select|fcntl|resource|mmap", path.name)
    ]


def _libraries(programs: list[str]) -> set[str]:
    found = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return {path for path in re.findall(r"(?:=> |^\s+)(/\S+)", found, re.MULTILINE) if os.path.exists(path)}


def _run(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
