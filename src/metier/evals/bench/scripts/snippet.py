"""Runs inside the sandbox: Python that a model wrote, where the task's files lie and new ones may be written.

Reads {"code", "folders"} as JSON from standard input. What lies in the folders is copied into the scratch folder first.
"""

import json
import os
import shutil
import sys

plan = json.load(sys.stdin)
os.chdir(os.environ["HOME"])
for folder in plan["folders"]:
    shutil.copytree(folder, ".", dirs_exist_ok=True, copy_function=shutil.copyfile)
sys.argv = ["snippet"]
exec(compile(plan["code"], "snippet", "exec"), {"__name__": "__main__"})  # noqa: S102  (this is what the sandbox is for)
