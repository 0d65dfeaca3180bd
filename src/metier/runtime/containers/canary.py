"""The canary of containers: a script that tries to get out, and the comparison with what it found.

It is a shell script, because a shell is all that an image must have.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping

from metier.runtime.script_run import Limits, ScriptRun

__all__ = ["CANARY", "leaks", "run_canary"]

CANARY = r"""
can() { if "$@" 2>/dev/null; then echo yes; else echo no; fi; }
put() { echo x > "$1"; }
get() { read -r line < "$1"; }
echo "nonce $1"
echo "read $(can get "$2")"
echo "write $(can put "$2.new")"
echo "skill $(can put "$SKILL_DIR/canary")"
echo "root $(can put /canary)"
echo "devices $(can put /dev/canary)"
echo "scratch $(can put "$HOME/canary")"
echo "settings $(can put /proc/sys/kernel/core_pattern)"
while read -r name value; do
    case "$name" in CapEff:|CapBnd:|NoNewPrivs:|Seccomp:) echo "$name $value";; esac
done < /proc/self/status
for each in pid net mnt ipc uts; do echo "$each $(readlink /proc/self/ns/$each)"; done
while read -r name rest; do case "$name" in *:) echo "interface $name";; esac; done < /proc/net/dev
"""
_NAMESPACES = ("pid", "net", "mnt", "ipc", "uts")
_NO = ("read", "write", "skill", "root", "devices", "settings")
_STATUS = {"NoNewPrivs:": "1", "Seccomp:": "2"}


def run_canary(execute: Callable[[ScriptRun, bytes], Mapping[str, object]]) -> tuple[dict[str, str], Mapping[str, object]]:
    """Runs the canary and returns its findings and the report. Raises ValueError if it did not run."""
    nonce = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="metier-canary-") as outside:
        outside = os.path.realpath(outside)
        secret, folder = f"{outside}/secret", f"{outside}/skill"
        os.makedirs(f"{folder}/scripts")
        for path, text in ((secret, nonce), (f"{folder}/scripts/canary.sh", CANARY)):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        run = ScriptRun(folder=folder, script="scripts/canary.sh", arguments=(nonce, secret), limits=Limits(seconds=20))
        report = execute(run, CANARY.encode())
        if "cannot_start" in report:
            raise ValueError(report["cannot_start"])
        seen = _findings(report)
        if seen.get("nonce") != nonce:
            raise ValueError("another program ran instead of the canary")
        # It may have written to a private folder with the same path. Only writes to ours count.
        written = {"write": f"{secret}.new", "skill": f"{folder}/canary"}
        return {**seen, **{name: "yes" if os.path.exists(path) else "no" for name, path in written.items()}}, report


def _findings(report: Mapping[str, object]) -> dict[str, str]:
    out, err = report["stdout"], report["stderr"]
    assert isinstance(out, bytes)  # noqa: S101
    assert isinstance(err, bytes)  # noqa: S101
    lines = [line.partition(" ") for line in out.decode(errors="replace").splitlines()]
    if not lines:
        last = err.decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
        raise ValueError(f"the canary did not run: {last[0]}")
    found = {name: value for name, _, value in lines if name != "interface"}
    return {**found, "interfaces": " ".join(value for name, _, value in lines if name == "interface")}


def leaks(seen: Mapping[str, str]) -> Iterator[str]:
    """Yields a word for everything that the canary could do and a script must not."""
    yield from (name for name in _NO if seen.get(name) != "no")
    yield from (name.strip(":") for name, value in _STATUS.items() if seen.get(name) != value)
    yield from (name.strip(":") for name in ("CapEff:", "CapBnd:") if set(seen.get(name, "?")) != {"0"})
    for name in _NAMESPACES:
        if seen.get(name) in (None, "", os.readlink(f"/proc/self/ns/{name}")):
            yield f"the {name} namespace of this machine"
    if seen.get("interfaces") not in ("", "lo:"):
        yield "network interfaces"
