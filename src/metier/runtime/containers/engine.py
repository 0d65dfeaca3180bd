"""The container engines that are supported: where their program is, and in which options they differ."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Mapping
from enum import StrEnum

from metier.errors import RefusedError
from metier.runtime.sandbox import bubblewrap
from metier.values import dataclass

__all__ = [
    "ContainerEngine",
    "ContainerOptions",
    "EngineKind",
    "check_image",
    "client_environment",
    "find_engine",
    "within_own_limit",
]

_FOLDERS = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a client needs to find its configuration, its storage and its server. The container gets none of it.
_CLIENT = (
    "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "DOCKER_CONTEXT",
    "DOCKER_CONFIG", "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "STORAGE_DRIVER",
)  # fmt: skip
_DIGEST = "@sha256:"
_DIGITS = 64


class EngineKind(StrEnum):
    PODMAN = "podman"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerOptions:
    """The container engine, the image, and options of the engine's program."""

    engine: EngineKind | None = None
    """None: podman, or docker if podman is not installed."""
    image: str = ""
    """Such as docker.io/library/python@sha256:…. Empty: the system folders of this machine, read-only, which needs podman."""
    allow_tags: bool = False
    """Accept an image without a digest."""
    options: tuple[str, ...] = ()
    """Options before the word `run`, such as --cgroup-manager=cgroupfs. Empty: combinations are tried until one works."""
    temporary: str = ""
    """The folder of the folders of runs; default: the system's folder for temporary files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEngine:
    """One program, with the options that work on this machine."""

    kind: EngineKind
    program: str
    options: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return (self.program, *self.options)

    @property
    def has_scratch_in_memory(self) -> bool:
        """Returns True if the scratch folder can be a file system in memory: we must be able to open it from outside."""
        return self.kind is EngineKind.PODMAN or os.geteuid() == 0

    @property
    def has_no_daemon(self) -> bool:
        """Returns True if containers come from its client: they can get its mounts, and we may enter their namespaces."""
        return self.kind is EngineKind.PODMAN

    @property
    def mounting_words(self) -> tuple[str, ...]:
        """The beginning of a command line that may mount: without root, in the user namespace of podman's containers."""
        return () if os.geteuid() == 0 else (*self.words, "unshare")

    @property
    def user(self) -> str:
        """The user id of the script: outside the container it is the caller's."""
        if self.kind is EngineKind.PODMAN:
            return "0:0"  # without root, podman maps the caller to this id
        return f"{os.geteuid()}:{os.getegid()}"


def find_engine(kind: EngineKind | None, folders: Iterable[str] = _FOLDERS) -> ContainerEngine | None:
    """Returns the engine of that kind, or the first one. PATH is not used, as for bubblewrap."""
    places = tuple(folders)
    for each in (kind,) if kind else EngineKind:
        if program := bubblewrap.find(f"{place}/{each}" for place in places):
            return ContainerEngine(kind=each, program=program)
    return None


def check_image(options: ContainerOptions) -> None:
    """Raises RefusedError if the image is named by a tag: a tag can be another image tomorrow."""
    image = options.image
    if not image or options.allow_tags:
        return
    name, found, digest = image.partition(_DIGEST)
    if not (name and found and len(digest) == _DIGITS and set(digest) <= set("0123456789abcdef")):
        raise RefusedError(
            f"the image {image!r} is not named by a digest",
            rule="image",
            hint="use NAME@sha256:..., or `metier config set sandbox.allow_tags true`",
        )


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": _PATH, **{name: environment[name] for name in _CLIENT if name in environment}}


def within_own_limit(number: int, wanted: int) -> int:
    """Returns the limit that a container can have: without root, at most our own."""
    own = resource.getrlimit(number)[1]
    return wanted if own == resource.RLIM_INFINITY else min(wanted, own)
