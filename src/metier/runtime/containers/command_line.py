"""The command line of a container engine, and what its container does first.

Everything about the script goes through the container's standard input, never through the command line: the engine writes that
to its own files, and other users of the machine can read it. The container starts a shell that prints a word and waits for one
line. The supervisor answers with the line that sets the environment and starts the script. Until then the limits do not count.
"""

from __future__ import annotations

import math
import os
import resource
import shlex
from collections.abc import Mapping, Sequence

from metier.runtime.sandbox.bubblewrap import SCRATCH
from metier.runtime.sandbox.system import PATH, masked
from metier.runtime.script_run import Limits
from metier.values import dataclass

from .engine import ContainerEngine, EngineKind, within_own_limit
from .mounts import Mount, mount_words

__all__ = ["LABEL", "READY", "RunFiles", "pid_words", "remove_words", "run_words", "start_line"]

LABEL = "metier.runs"
"""Its value is the folder that has the folders of runs. A container has the name of its folder there."""
READY = b"metier-ready\n"
_WAIT = f"""\
command -v "$0" >/dev/null 2>&1 || {{ echo "$0 is not installed in the container" >&2; exit 127; }}
n='
'
echo {READY.decode().strip()}
IFS= read -r line || exit 125
eval "$line"
"""
_KILLED = 137
_LAST_RESORT = 60
"""Seconds after which podman itself ends a run whose supervisor was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The private folder of a run on this machine, and what is in it."""

    base: str

    @property
    def name(self) -> str:
        return os.path.basename(self.base)

    @property
    def root(self) -> str:
        return f"{self.base}/root"

    @property
    def script(self) -> str:
        return f"{self.base}/script"

    @property
    def scratch(self) -> str:
        return f"{self.base}/scratch"

    def root_file(self, number: int) -> str:
        """A file of the run's network, such as its list of host names."""
        return f"{self.base}/file{number}"

    @property
    def profile(self) -> str:
        return f"{self.base}/seccomp.json"

    @property
    def pid(self) -> str:
        return f"{self.base}/pid"


def run_words(
    engine: ContainerEngine, files: RunFiles, *, image: str, mounts: Sequence[Mount], limits: Limits, interpreter: str
) -> list[str]:
    """Returns the whole command line. Without an image the root is the folder `files.root`."""
    words = [*engine.words, "--log-level", "error", "run", "--rm", "--interactive", "--name", files.name]
    words += ["--label", f"{LABEL}={os.path.dirname(files.base)}", "--log-driver", "none", "--pull", "never"]
    words += ["--network", "none", "--ipc", "private", "--hostname", "skill", "--workdir", "/", "--user", engine.user]
    words += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
    words += ["--security-opt", f"seccomp={files.profile}", *_limit_words(limits), *_memory_words(engine, files, limits)]
    if engine.kind is EngineKind.PODMAN:
        words += [
            "--cgroupns",
            "private",
            "--pidfile",
            files.pid,
            "--no-hosts",
            "--http-proxy=false",
            "--image-volume",
            "ignore",
        ]
        words += ["--read-only-tmpfs=false", "--timeout", str(math.ceil(limits.seconds) + _LAST_RESORT)]
        words += ["--security-opt", f"mask={':'.join(masked())}"] if masked() else []
    words += mount_words(mounts)
    words += ["--entrypoint", "", *([image] if image else ["--rootfs", files.root])]
    return [*words, "env", "-i", f"PATH={PATH}", "sh", "-c", _WAIT, interpreter]


def remove_words(engine: ContainerEngine, *names: str) -> list[str]:
    return [*engine.words, "rm", "--force", *(["--time", "0", "--ignore"] if engine.kind is EngineKind.PODMAN else []), *names]


def pid_words(engine: ContainerEngine, files: RunFiles) -> list[str]:
    """Returns the command that prints the id of the container's first process; none if the engine writes it to a file."""
    return [] if engine.kind is EngineKind.PODMAN else [*engine.words, "inspect", "--format", "{{.State.Pid}}", files.name]


def start_line(command: Sequence[str], *, folder: str, environment: Mapping[str, str], has_input: bool) -> bytes:
    """Returns the line that starts the script. A missing interpreter ends the container with a message instead."""
    words = " ".join(map(_quoted, command))
    variables = " ".join(f"{name}={_quoted(value)}" for name, value in environment.items())
    steps = [
        f"export {variables}",
        "umask 077",
        f"cd {_quoted(folder)} || exit 125",
        "unset OLDPWD SHLVL",
        f"{words}{'' if has_input else ' </dev/null'}",
        # After a kill by the kernel the cgroup stays a moment, so that the supervisor can see that memory was the reason.
        f"c=$?; [ $c -ne {_KILLED} ] || sleep 1; exit $c",
    ]
    return "; ".join(steps).encode("utf-8", "surrogateescape") + b"\n"


def _quoted(word: str) -> str:
    return shlex.quote(word).replace("\n", "'\"$n\"'")


def _limit_words(limits: Limits) -> list[str]:
    seconds = max(1, math.ceil(limits.seconds))
    rlimits = {
        "core": (0, 0),
        "cpu": (seconds, seconds + 1),
        **{
            name: (within_own_limit(number, most),) * 2
            for name, number, most in (
                ("data", resource.RLIMIT_DATA, limits.memory_bytes),
                ("fsize", resource.RLIMIT_FSIZE, limits.file_bytes),
                ("nofile", resource.RLIMIT_NOFILE, limits.open_files),
            )
        },
        # Not the limit of the run: the kernel would count the other processes of the user. `--pids-limit` is that. Without a
        # number podman asks for more than a process without CAP_SYS_RESOURCE may have.
        "nproc": (within_own_limit(resource.RLIMIT_NPROC, 1 << 14),) * 2,
    }
    words = [word for name, (soft, hard) in rlimits.items() for word in ("--ulimit", f"{name}={soft}:{hard}")]
    # One more for the shell that waits.
    words += ["--pids-limit", str(limits.processes + 1), "--memory", str(limits.memory_bytes)]
    return [*words, "--memory-swap", str(limits.memory_bytes)]


def _memory_words(engine: ContainerEngine, files: RunFiles, limits: Limits) -> list[str]:
    """Returns the file systems in memory: scratch, /dev/shm, and a /dev that cannot be written to."""
    size = limits.scratch_bytes
    words = ["--shm-size", str(size)]
    if engine.kind is EngineKind.PODMAN:
        words += ["--mount", "type=tmpfs,target=/dev,ro=true,tmpfs-mode=0755,tmpfs-size=65536"]
        return [*words, "--mount", f"type=tmpfs,target={SCRATCH},tmpfs-mode=0700,tmpfs-size={size},notmpcopyup"]
    if engine.has_scratch_in_memory:
        return [*words, "--tmpfs", f"{SCRATCH}:rw,exec,nosuid,nodev,mode=0700,size={size}"]
    return [*words, *mount_words([Mount(source=files.scratch, target=SCRATCH, writable=True)])]
