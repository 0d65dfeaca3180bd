"""Starting git so that only the user's own choices count, and no word of a stranger becomes an option, a program or a
prompt.

Every GIT_* variable is dropped and every configuration file is ignored; then what private repositories need is put
back: the user's credential helpers, proxies, certificates and ssh command. Settings travel in the environment, not in
arguments, because anybody on the machine can read arguments. Nothing is ever checked out, so no hook, filter, attribute
or submodule has a turn.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.values import dataclass, field

from .git_errors import explain

__all__ = ["GitProgram", "find_git"]

Setting = tuple[str, str]

_FIXED: tuple[Setting, ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("protocol.allow", "never"),
    # A redirect is ours to judge (`git.py`): git would carry our headers along.
    ("http.followRedirects", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("transfer.fsckObjects", "true"),
    # Old commits that many healthy repositories have.
    ("fetch.fsck.zeroPaddedFilemode", "ignore"),
    ("fetch.fsck.missingSpaceBeforeDate", "ignore"),
    ("fetch.fsck.badTimezone", "ignore"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
_KEPT = re.compile(
    r"credential\..+|core\.sshcommand|http\.(?:.+\.)?(?:proxy|proxyauthmethod|sslcainfo|sslcapath|sslcert|sslkey|sslbackend)"
)
_KEPT_VARIABLES = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
_OLDEST = (2, 31)
_MOST_OUTPUT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GitProgram:
    path: str
    environment: Mapping[str, str]
    timeout: float = 120.0
    most_bytes: int = 512 * 1024 * 1024
    """How large the objects of one fetch may grow on disk before it is stopped."""
    kept: tuple[Setting, ...] = ()
    """The user's own settings that private repositories need."""
    cancelled: threading.Event = field(default_factory=threading.Event)

    def run(
        self, words: Iterable[str], *, settings: Iterable[Setting] = (), protocols: Iterable[str] = (), stdin: bytes = b"",
        watched: str | None = None, grown: Callable[[int], None] | None = None,
    ) -> bytes:  # fmt: skip
        """What git prints. `watched` is the folder it writes to; `grown` is told its size from time to time."""
        process = subprocess.Popen(
            [self.path, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.clean_environment(settings, protocols),
            cwd=watched or "/",
            start_new_session=True,
        )
        guard = _Guard(process, self.timeout, self.most_bytes, watched, grown, self.cancelled)
        with guard:
            out, err = process.communicate(stdin)
        guard.check_size()
        if guard.reason:
            raise guard.reason
        if process.returncode:
            raise explain(err.decode("utf-8", "replace"), [*words])
        if len(out) > _MOST_OUTPUT:
            raise RefusedError(
                "git's answer is too long to be about skills", rule="repository-size", hint="name a smaller repository"
            )
        return out

    def clean_environment(self, settings: Iterable[Setting] = (), protocols: Iterable[str] = ()) -> dict[str, str]:
        kept = {name: value for name, value in self.environment.items() if not _is_dropped(name)}
        every = (*_FIXED, *self.kept, *settings)
        keys = {f"GIT_CONFIG_KEY_{place}": key for place, (key, _) in enumerate(every)}
        values = {f"GIT_CONFIG_VALUE_{place}": value for place, (_, value) in enumerate(every)}
        return {
            **kept,
            **_ssh(self.environment, self.kept),
            **keys,
            **values,
            "GIT_CONFIG_COUNT": str(len(every)),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": ":".join(protocols) or "none",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GCM_INTERACTIVE": "never",
            "SSH_ASKPASS_REQUIRE": "never",
            "LC_ALL": "C",
        }


def find_git(environment: Mapping[str, str], *, timeout: float = 120.0, cancelled: threading.Event | None = None) -> GitProgram:
    """The git on PATH, with the user's settings that we keep; Unavailable if there is none."""
    # A relative entry of PATH would let the folder we stand in choose the program.
    places = [place for place in environment.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(place)]
    path = shutil.which("git", path=os.pathsep.join(places) or "/nonexistent")
    if path is None:
        raise UnavailableError("git is not installed, and this skill is in a git repository", retryable=False,
                          hint="install git, or name an archive: https://host/skill.zip")  # fmt: skip
    # As the user's own git would, but in no repository, whose configuration could be anybody's.
    mine = {**{name: value for name, value in environment.items() if not name.startswith("GIT_")}, "GIT_DIR": "/dev/null"}
    version = re.search(r"(\d+)\.(\d+)", _said(path, ["version"], mine))
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        # Before that, git ignores settings in the environment, and all of ours are there.
        raise UnavailableError(f"{path} is too old", retryable=False, hint=f"install git {_OLDEST[0]}.{_OLDEST[1]} or later")
    fields = _said(path, ["config", "--list", "-z", "--show-scope", "--includes"], mine).split("\0")
    items = (item for scope, item in zip(fields[::2], fields[1::2], strict=False) if scope in ("system", "global"))
    # A key without `=` is true.
    pairs = (item.split("\n", 1) if "\n" in item else [item, "true"] for item in items)
    kept = tuple((name, value) for name, value in pairs if _KEPT.fullmatch(name))
    over = cancelled or threading.Event()
    return GitProgram(path=path, environment=environment, timeout=timeout, kept=kept, cancelled=over)


def _said(path: str, words: list[str], environment: Mapping[str, str]) -> str:
    asked = subprocess.run(
        [path, *words], capture_output=True, check=False, cwd="/", stdin=subprocess.DEVNULL, timeout=30, env=dict(environment)
    )
    return asked.stdout.decode("utf-8", "replace") if asked.returncode == 0 else ""


def _is_dropped(name: str) -> bool:
    return (name.startswith("GIT_") and name not in _KEPT_VARIABLES) or name in ("SSH_ASKPASS", "LC_ALL", "LANGUAGE")


def _ssh(environment: Mapping[str, str], kept: Iterable[Setting]) -> dict[str, str]:
    """The user's ssh, told not to ask."""
    if "GIT_SSH" in environment and "GIT_SSH_COMMAND" not in environment:
        return {}
    mine = environment.get("GIT_SSH_COMMAND") or next((value for name, value in kept if name == "core.sshcommand"), "ssh")
    is_openssh = os.path.basename(mine.split()[0] if mine.split() else "ssh") == "ssh"
    return {"GIT_SSH_COMMAND": f"{mine} -oBatchMode=yes" if is_openssh else mine}


@dataclass(slots=True)
class _Guard:
    """Ends a git that takes too long or brings too much, with all its children."""

    process: subprocess.Popen[bytes]
    timeout: float
    most_bytes: int
    watched: str | None
    grown: Callable[[int], None] | None
    cancelled: threading.Event
    reason: MetierError | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(self, kind: object, *_rest: object) -> None:
        self._over.set()
        if kind is not None:
            self._kill()
        if self._thread:
            self._thread.join()

    def check_size(self) -> None:
        size = _size(self.watched) if self.watched else 0
        if self.watched and self.grown:
            self.grown(size)
        if size > self.most_bytes:
            self.reason = RefusedError(f"the repository has more than {self.most_bytes:,} bytes", rule="repository-size",
                                  hint="name a smaller repository, or an archive of the skill")  # fmt: skip

    def _watch(self) -> None:
        end = time.monotonic() + self.timeout
        while not self._over.wait(0.05):
            if time.monotonic() > end:
                self.reason = UnavailableError(
                    f"git took longer than {self.timeout:g} seconds", hint="try again, or raise the timeout"
                )
            elif self.cancelled.is_set():
                self.reason = UnavailableError("interrupted", hint="start it again", retryable=False)
            else:
                self.check_size()
            if self.reason:
                self._kill()
                return

    def _kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def _size(folder: str) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                # Git renames its temporary files while we look.
                continue
    return total
