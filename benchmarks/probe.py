"""One measurement of in-process discovery, in a process of its own: `probe.py KIND FOLDER [CACHE]` prints JSON.

Runs under the interpreter of the measured program, so it does not import metier at the top, and each library only in its own
function. Imports are not timed, because a program pays for them once.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module

_HEAD = 8 * 1024


def main() -> None:
    kind, folder, *cache = sys.argv[1:]
    discover = _KINDS[kind](folder, cache[0] if cache else None)
    wall, cpu = time.perf_counter(), time.process_time()
    found = discover()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    # Kilobytes on Linux, bytes on macOS. Never less than what our parent held when it started us, which is little.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak, "found": found}))


def _metier(folder: str, cache: str | None) -> Callable[[], int]:
    from metier import discover
    from metier.sources import DiscoveryLimits

    # Imports every package that discovery needs.
    discover(os.devnull)
    return lambda: len(discover(folder, cache=cache, limits=DiscoveryLimits()))


def _deepagents(folder: str, cache: str | None) -> Callable[[], int]:  # noqa: ARG001
    # By name: the type checker of this project has never seen it.
    backends, skills = import_module("deepagents.backends.filesystem"), import_module("deepagents.middleware.skills")
    root, _, name = folder.rstrip("/").rpartition("/")
    middleware = skills.SkillsMiddleware(backend=backends.FilesystemBackend(root_dir=root), sources=[f"/{name}/"])
    # What an agent calls before its first turn; runtime and config are not looked at.
    return lambda: len(middleware.before_agent({}, None, {})["skills_metadata"])


def _heads(folder: str, cache: str | None) -> Callable[[], int]:  # noqa: ARG001
    import yaml_rs

    policy = yaml_rs.DuplicateKeyPolicy.Error

    def read() -> int:
        kept = []
        for child in os.scandir(folder):
            descriptor = os.open(f"{child.path}/SKILL.md", os.O_RDONLY)
            data = os.read(descriptor, _HEAD)
            os.close(descriptor)
            head = data[4 : data.find(b"\n---\n", 3) + 1].decode()
            kept.append(yaml_rs.loads(head, parse_datetime=False, duplicate_key_policy=policy))
        return len(kept)

    return read


def _walk(folder: str, cache: str | None) -> Callable[[], int]:  # noqa: ARG001
    def walk() -> int:
        kept = []
        for child in os.scandir(folder):
            if child.is_dir(follow_symlinks=False):
                status = os.stat(f"{child.path}/SKILL.md", follow_symlinks=False)
                kept.append((child.path, status.st_mtime_ns, status.st_size))
        return len(kept)

    return walk


_KINDS = {"metier": _metier, "deepagents": _deepagents, "heads": _heads, "walk": _walk}

if __name__ == "__main__":
    main()
