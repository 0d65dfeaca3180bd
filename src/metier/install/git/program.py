"""Runs git with the user's credentials and nothing else of the user's configuration.

Every GIT_* variable is dropped and every configuration file is ignored; only the settings that private repositories need are
kept: credential helpers, proxies, certificates and the ssh command. Settings are passed in the environment, because other users
of the machine can read arguments. Nothing is ever checked out, so no hook, filter, attribute or submodule runs.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from tempfile import TemporaryFile

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.sources import find_command, safe_environment
from metier.values import dataclass, field

from .git_errors import explain

__all__ = ["GitProgram", "find_git"]

Setting = tuple[str, str]

_FIXED: tuple[Setting, ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("protocol.allow", "never"),
    # `remote.py` follows redirects; git would send our headers along.
    ("http.followRedirects", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("transfer.fsckObjects", "true"),
    # Many good repositories have such old commits.
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
_START_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class GitProgram:
    path: str
    environment: Mapping[str, str]
    timeout: float = 120.0
    most_bytes: int = 512 * 1024 * 1024
    """The largest size of a fetch on disk."""
    kept: tuple[Setting, ...] = ()
    """The user's settings that private repositories need."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    silence: int = 10
    """Seconds without any byte over http. A server that counts objects sends keep-alives every five."""

    def run(
        self, words: Iterable[str], *, settings: Iterable[Setting] = (), protocols: Iterable[str] = (), stdin: bytes = b"",
        watched: str | None = None, grown: Callable[[int], None] | None = None,
    ) -> bytes:  # fmt: skip
        """Returns git's output. `watched` is the folder it writes to; `grown` is called with its size."""
        status, out, err = self._finished(
            words, settings=settings, protocols=protocols, stdin=stdin, watched=watched, grown=grown
        )
        if status:
            raise explain(err, [*words])
        return out

    def merge_file(self, yours: str, base: str, theirs: str, *, options: Iterable[str] = ()) -> tuple[bytes, bool]:
        """Returns the merge of three files, and whether it has conflicts."""
        words = ["merge-file", "-p", "-q", "-L", "yours", "-L", "base", "-L", "theirs", *options, yours, base, theirs]
        status, out, err = self._finished(words)
        # The status is the number of conflicts, at most 127.
        if status not in range(128):
            raise explain(err, words)
        return out, status > 0

    def _finished(
        self, words: Iterable[str], *, settings: Iterable[Setting] = (), protocols: Iterable[str] = (), stdin: bytes = b"",
        watched: str | None = None, grown: Callable[[int], None] | None = None,
    ) -> tuple[int, bytes, str]:  # fmt: skip
        """Returns the exit status, the output and the messages of git."""
        # Files and not pipes: a server decides how much is printed, and the guard can see the size of a file.
        with TemporaryFile() as out, TemporaryFile() as err:
            process = subprocess.Popen(
                [self.path, *words], stdin=subprocess.PIPE, stdout=out, stderr=err,
                env=self.clean_environment(settings, protocols), cwd=watched or "/", start_new_session=True,
            )  # fmt: skip
            guard = _Guard(process, self.timeout, self.most_bytes, watched, grown, self.cancelled, (out.fileno(), err.fileno()))
            with guard:
                process.communicate(stdin)
            guard.check_size()
            if guard.reason:
                raise guard.reason
            out.seek(0)
            err.seek(0)
            return process.returncode, out.read(_MOST_OUTPUT), err.read(_MOST_OUTPUT).decode("utf-8", "replace")

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
            "GIT_HTTP_LOW_SPEED_LIMIT": "1",
            "GIT_HTTP_LOW_SPEED_TIME": str(self.silence),
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GCM_INTERACTIVE": "never",
            "SSH_ASKPASS_REQUIRE": "never",
            "LC_ALL": "C",
        }


def find_git(environment: Mapping[str, str], *, timeout: float = 120.0, cancelled: threading.Event | None = None) -> GitProgram:
    """Finds git on PATH and reads the user's settings. Raises UnavailableError."""
    # git looks up ssh and its own commands.
    environment = safe_environment(environment)
    path = find_command("git", environment.get("PATH", os.defpath))
    if path is None:
        raise UnavailableError("git is not installed", retryable=False,
                          hint="install git, or name an archive: https://host/skill.zip")  # fmt: skip
    # As the user's git does, but outside any repository, whose configuration is untrusted.
    mine = {**{name: value for name, value in environment.items() if not name.startswith("GIT_")}, "GIT_DIR": "/dev/null"}
    version = re.search(r"(\d+)\.(\d+)", _said(path, ["version"], mine))
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        # Older versions ignore settings in the environment.
        raise UnavailableError(f"{path} is too old", retryable=False, hint=f"install git {_OLDEST[0]}.{_OLDEST[1]} or later")
    fields = _said(path, ["config", "--list", "-z", "--show-scope", "--includes"], mine).split("\0")
    items = (item for scope, item in zip(fields[::2], fields[1::2], strict=False) if scope in ("system", "global"))
    # A key without `=` is true.
    pairs = (item.split("\n", 1) if "\n" in item else [item, "true"] for item in items)
    kept = tuple((name, value) for name, value in pairs if _KEPT.fullmatch(name))
    over = cancelled or threading.Event()
    return GitProgram(path=path, environment=environment, timeout=timeout, kept=kept, cancelled=over)


def _said(path: str, words: list[str], environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [path, *words], capture_output=True, check=False, cwd="/", stdin=subprocess.DEVNULL, timeout=_START_SECONDS,
            env=dict(environment),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        why = "it takes too long" if isinstance(error, subprocess.TimeoutExpired) else (error.strerror or "error").lower()
        raise UnavailableError(
            f"{path} cannot be run: {why}", hint="repair git, or name an archive: https://host/skill.zip"
        ) from None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _is_dropped(name: str) -> bool:
    return (name.startswith("GIT_") and name not in _KEPT_VARIABLES) or name in ("SSH_ASKPASS", "LC_ALL", "LANGUAGE")


def _ssh(environment: Mapping[str, str], kept: Iterable[Setting]) -> dict[str, str]:
    """Returns the user's ssh command in batch mode."""
    if "GIT_SSH" in environment and "GIT_SSH_COMMAND" not in environment:
        return {}
    mine = environment.get("GIT_SSH_COMMAND") or next((value for name, value in kept if name == "core.sshcommand"), "ssh")
    is_openssh = os.path.basename(mine.split()[0] if mine.split() else "ssh") == "ssh"
    return {"GIT_SSH_COMMAND": f"{mine} -oBatchMode=yes -oConnectTimeout=10" if is_openssh else mine}


@dataclass(slots=True)
class _Guard:
    """Kills a git process, with its children, that takes too long or fetches too much."""

    process: subprocess.Popen[bytes]
    timeout: float
    most_bytes: int
    watched: str | None
    grown: Callable[[int], None] | None
    cancelled: threading.Event
    outputs: tuple[int, ...]
    """The files that it prints to."""
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
        if sum(os.fstat(file).st_size for file in self.outputs) > _MOST_OUTPUT:
            self.reason = RefusedError(
                "the output of git is too long", rule="repository-size", hint="name a smaller repository"
            )

    def _watch(self) -> None:
        end = time.monotonic() + self.timeout
        while not self._over.wait(0.05):
            if time.monotonic() > end:
                self.reason = UnavailableError(f"git took longer than {self.timeout:g} seconds", hint="try again later")
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
                # Git renames its temporary files meanwhile.
                continue
    return total
