"""What must hold after commands and servers have used one registry at once, and some of them were killed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from metier.registry import RegistryLocation, restore
from registry.builders import archive

__all__ = ["Acknowledged", "Publishers", "command", "deleted_files", "problems_of_backup", "problems_of_registry"]

Acknowledged = dict[tuple[str, str], str]
"""Name and version of every acknowledged publish, with the digest of its archive."""


@dataclass
class Publishers:
    """Threads that publish without a pause to a server that may be killed, and note every acknowledged publish."""

    url: str
    token: str
    count: int = 2
    acknowledged: Acknowledged = field(default_factory=dict)
    attempts: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._threads = [threading.Thread(target=self._publish, args=(number,)) for number in range(self.count)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(60)

    def _publish(self, number: int) -> None:
        turn = 0
        while not self._stopped.wait(0.01):
            name, version = f"skill-{number}-{turn // 3}", f"1.0.{turn % 3}"
            data = archive(name, version, body=f"Text {os.urandom(40).hex()}.\n")
            request = urllib.request.Request(
                f"{self.url}/skills?visibility=public", data, {"authorization": f"Bearer {self.token}"}
            )
            self.attempts += 1
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    row = json.load(answer)
            except (OSError, ValueError):
                self._stopped.wait(0.05)
            else:
                self.acknowledged[name, row["version"]] = row["archive_digest"]
            turn += 1


def command(home: Path, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    variables = {**os.environ, "METIER_HOME": str(home), "HOME": str(home), **(environment or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "metier", "registry", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, cwd=home,
    )  # fmt: skip


def deleted_files(process: int) -> list[str]:
    """The files that a process has open although they are deleted."""
    folder = Path(f"/proc/{process}/fd")
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(folder / name))
        except OSError:
            continue
    return [link for link in links if ".sqlite" in link and link.endswith("(deleted)")]


def problems_of_registry(location: RegistryLocation, acknowledged: Acknowledged) -> list[str]:
    """Everything that is wrong with a registry that acknowledged these publishes."""
    if location.db.startswith("sqlite://"):
        db = sqlite3.connect(location.db.removeprefix("sqlite://"))
        check = db.execute("pragma integrity_check").fetchall()
        db.close()
        if check != [("ok",)]:
            return [f"integrity_check: {check[:3]}"]
    return asyncio.run(_problems(location, acknowledged))


async def _problems(location: RegistryLocation, acknowledged: Acknowledged) -> list[str]:
    wrong: list[str] = []
    async with location.open() as (store, blobs):
        rows = await store.engine.rows("select p.name, r.version, r.archive from release r join package p on p.id = r.package")
        found: dict[tuple[str, str], list[str]] = {}
        for name, version, stored in rows:
            found.setdefault((name, version), []).append(stored)
            if hashlib.sha256(await blobs.get(stored)).hexdigest() != stored:
                wrong.append(f"{name} {version}: its archive is damaged")
        for (name, version), digest in acknowledged.items():
            if found.get((name, version)) != [digest.removeprefix("sha256:")]:
                wrong.append(f"{name} {version}: found {found.get((name, version))} instead of {digest}")
    return wrong


def problems_of_backup(folder: Path, target: Path) -> list[str]:
    """Everything that is wrong with a registry restored from a backup."""
    location = RegistryLocation.in_folder(str(target))
    asyncio.run(restore(str(folder), location))
    return problems_of_registry(location, {})
