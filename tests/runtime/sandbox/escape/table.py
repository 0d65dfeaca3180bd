"""Run the escape suite (as root: as an ordinary user too) and print what held. Exits 1 if anything did not.

python tests/runtime/sandbox/escape/table.py
"""
# ruff: noqa: E501, T201

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
ROWS = {
    "E01": "read secrets in the home folder", "E02": "read through /proc and /dev/fd", "E03": "look at the caller's environment",
    "E04": "inherit a secret variable", "E05": "change the skill's files", "E06": "change modes, owners, times, attributes",
    "E07": "plant links for the host to follow", "E08": "plant files for later", "E09": "TCP to the host, metadata address",
    "E10": "UDP, DNS", "E11": "MPTCP, SCTP, raw, netlink, vsock ...", "E12": "UNIX sockets, by path, abstract, through a pair",
    "E13": "listen", "E14": "inherited descriptors", "E15": "descriptors over stdin", "E16": "signals, limits, priority of others",
    "E17": "ptrace and memory of others", "E18": "daemons", "E19": "a daemon that keeps forking", "E20": "outlive a killed caller",
    "E21": "sleep, spin, stop", "E22": "block signals, set clocks", "E23": "fork and thread bombs", "E24": "memory of one and of many",
    "E25": "fill the scratch folder, other memory", "E26": "flood, broken text, terminal escapes", "E27": "too many or broken arguments",
    "E28": "a script path that leads out", "E29": "swap the script after the check", "E30": "odd first lines, setuid",
    "E31": "preload, startup files, shadowed modules", "E32": "type into the terminal", "E33": "namespaces, mounts, chroot",
    "E34": "io_uring, bpf, keyrings ...", "E35": "32-bit and x32 calls", "E36": "code made at run time", "E37": "another run's files",
    "E38": "shell in an argument", "E39": "imitate our result", "E40": "a fake sandbox program", "E41": "fifty runs at once",
    "E42": "leave files or shared memory behind", "E43": "shared memory and memfds past the limit",
    "E44": "shared memory that no process shows", "E45": "output that keeps the watch busy",
    "E46": "System V and POSIX queues, semaphores, segments", "E47": "names by inotify, extended attributes",
    "E48": "outlive a killed supervisor", "E49": "kill the supervisor, at each Landlock ABI",
    "E50": "a planted interpreter", "E51": "scratch: unlinked files, many and deep folders", "E52": "ioctls of file systems",
    "E53": "find other processes by their id", "E54": "tables of the kernel in /proc",
    "E55": "leave the workspace through links, to read", "E56": "leave it through links, to write", "E57": "read its hidden files",
    "E58": "write its hidden files", "E59": "poison its git repository", "E60": "devices, setuid, pipes, sockets in its layer",
    "E61": "swap folders while changes are applied", "E62": "change it although the run was killed", "E63": "fill its layer",
    "E70": "with granted hosts: the host's loopback through the proxy", "E71": "another host by CONNECT, SNI, Host, smuggling",
    "E72": "odd spellings of an address", "E73": "a granted name that leads to this machine", "E74": "DNS as a channel",
    "E75": "UDP, raw and other sockets", "E76": "the value of a masked secret", "E77": "the key of the run's authority",
    "E78": "another skill's secret", "E79": "more connections than allowed",
    "E85": "poison the environment cache", "E86": "replace a prepared package by a file of the skill",
}  # fmt: skip


def main() -> int:
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as table:
        os.chmod(table.name, 0o666)
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rf",
            *map(str, sorted((ROOT / "tests/runtime").glob("*/test_escape_*.py"))),
        ]
        done = subprocess.run(
            words,
            cwd=ROOT,
            env={**os.environ, "METIER_ESCAPE_TABLE": table.name},
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        rows = [json.loads(line) for line in Path(table.name).read_text().splitlines()]
    print(done.stdout.splitlines()[-1], file=sys.stderr)
    # A row is noted when its test begins; what failed afterwards did not hold.
    failed = set(re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE))
    for row in rows:
        in_container = row["level"] == "container" and any("in_containers" in name for name in failed)
        if row["test"] in failed or in_container or (row["who"] == "user" and any("as_user" in name for name in failed)):
            row["held"] = "FAILED"
    columns = list(dict.fromkeys((row["level"], row["who"]) for row in rows))
    columns.sort(
        key=lambda column: (["namespace", "container", "landlock", "seatbelt", "limits", "off"].index(column[0]), column[1])
    )
    print(f"| # | attempt | {' | '.join(f'{level} ({who})' for level, who in columns)} |")
    print(f"|---|---|{'---|' * len(columns)}")
    for row, what in ROWS.items():
        cells = []
        for level, who in columns:
            found = {one["held"] for one in rows if (one["row"], one["level"], one["who"]) == (row, level, who)}
            cells.append("FAILED" if "FAILED" in found else "in part" if len(found) > 1 else found.pop() if found else "–")
        print(f"| {row} | {what} | {' | '.join(cells)} |")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
