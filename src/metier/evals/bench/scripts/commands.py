"""Runs inside the sandbox: the commands of one transcript, each in a shell of its own, in the skill's folder.

Reads {"folder", "commands", "paths"} as JSON from standard input and prints [{"code", "output", "seconds"}], output as a
terminal would show it: standard output and errors in the order in which they came.
"""

import json
import os
import subprocess
import sys
import time

SKIP = 80
LONGEST = 100_000


def main() -> None:
    plan = json.load(sys.stdin)
    home = os.environ["HOME"]
    tools = os.path.join(home, ".tools")
    os.mkdir(tools)
    for name in ("python3", "python"):
        # The interpreter that skills' scripts are run by, under the names by which people call it.
        os.symlink(sys.executable, os.path.join(tools, name))
    path = tools + os.pathsep + os.environ["PATH"]
    # Unbuffered, or Python would print its errors before its output, as on no terminal.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PATH": path, "SKILL_DIR": plan["folder"]}
    environment.update({name: os.pathsep.join(folders) for name, folders in plan["paths"].items()})
    done = []
    for command in plan["commands"]:
        started = time.monotonic()
        ran = subprocess.run(
            ["/bin/sh", "-c", command], cwd=plan["folder"], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        output = ran.stdout.decode("utf-8", "replace")[:LONGEST]
        done.append({"code": ran.returncode, "output": output, "seconds": time.monotonic() - started})
        if ran.returncode == SKIP:
            break
    json.dump(done, sys.stdout)


main()
