"""The files of a container: the folders that are mounted, and a root made of this machine's own system folders."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from metier.runtime.sandbox.system import readable, system_links
from metier.values import dataclass

__all__ = ["Mount", "host_root", "mount_words", "read_only", "submounts"]

_OCTAL = re.compile(r"\\([0-7]{3})")
"""The kernel's way to write a space or a tab in a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A path of this machine inside the container."""

    source: str
    target: str
    writable: bool = False


def host_root() -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the system folders of this machine, and the links between them that a root needs too."""
    paths = readable()
    links = system_links(paths)
    return tuple(path for path in paths if path not in links), links


def read_only(paths: Iterable[str], *, table: str = "/proc/self/mountinfo") -> list[Mount]:
    """Returns the mounts of these paths at their own places, with everything that is mounted below them.

    An engine makes only the top of a tree read-only, so a file system that is mounted inside it gets a mount of its own.
    """
    wanted = list(paths)
    inside = [below for below in submounts(table) for path in wanted if below.startswith(f"{path}/")]
    return [Mount(source=path, target=path) for path in dict.fromkeys((*wanted, *sorted(inside)))]


def submounts(table: str = "/proc/self/mountinfo") -> Iterator[str]:
    """Yields the places of all mounts of this machine."""
    try:
        with open(table, encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                yield _OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split(" ", 5)[4])
    except FileNotFoundError:
        return  # not Linux


def mount_words(mounts: Sequence[Mount]) -> list[str]:
    """Returns the options. The list is comma-separated, with the quotes of CSV: a path may have a comma."""
    words = []
    for mount in mounts:
        text = io.StringIO()
        fields = ["type=bind", f"source={mount.source}", f"target={mount.target}", *([] if mount.writable else ["readonly"])]
        csv.writer(text, lineterminator="").writerow(fields)
        words += ["--mount", text.getvalue()]
    return words
