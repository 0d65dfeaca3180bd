"""Evals of a skill as tasks of Harbor, so that its engines can run thousands of them.

Each task is a folder: task.toml, instruction.md, environment/, tests/ and solution/. The skill is in the environment, without
its evals, and Harbor gives it to the agent. A trigger query becomes a task whose test reads the agent's log for the skill; a
task of evals.json becomes one whose test runs the assertions that have a command.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from metier.catalog import Entry
from metier.errors import ConflictError, NotFoundError, suggested_name
from metier.sources import DiskFiles, replace_bytes
from metier.spec import OwnFiles
from metier.values import dataclass

from .files import EvalCase, TriggerQuery, read_cases, read_queries

__all__ = ["HarborExport", "export_harbor"]

T = TypeVar("T")
_LARGEST = 1 << 26
_SKILLS = "/skills"
_DOCKERFILE = """FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends bash ca-certificates curl git && rm -rf /var/lib/apt/lists/*
COPY skills /skills
COPY inputs /app
WORKDIR /app
"""
_TRIGGER_TEST = """#!/bin/bash
# Was the skill loaded? The agent's log shows the call of its skill tool, or that it read SKILL.md.
mkdir -p /logs/verifier
python3 /tests/loaded.py {skill} /logs/agent
loaded=$?
if [ "$loaded" -gt 1 ]; then exit "$loaded"; fi
if [ "$loaded" -eq {wanted} ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""
_LOADED = Path(__file__).with_name("harbor_check.py")
_OUTPUT_TEST = """#!/bin/bash
# Each assertion is a command of the skill's author; the reward is the share of those that pass.
mkdir -p /logs/verifier
export OUTPUTS=/app INPUTS=/app
passed=0
check() {{ if "$@" < /dev/null; then passed=$((passed + 1)); fi; }}
cd /tests/skill || exit 2
{checks}
python3 -c "print($passed / {total})" > /logs/verifier/reward.txt
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborExport:
    folder: str
    tasks: tuple[str, ...]
    """The names of the tasks that were written."""
    left_out: tuple[str, ...]
    """The evals that Harbor cannot check, each with the reason."""


def export_harbor(entries: Sequence[Entry], folder: str) -> HarborExport:
    """Writes one task for each trigger query and each output eval. ConflictError if the folder is not empty."""
    place = os.path.abspath(folder)
    planned: dict[str, dict[str, bytes]] = {}
    left_out: list[str] = []
    for entry in entries:
        for query in _found(read_queries, entry):
            if query.file.endswith("eval_queries.json"):
                planned[_name(entry, query.text)] = _trigger_task(entry, query)
        for case in _found(read_cases, entry):
            if any(one.command for one in case.assertions):
                planned[f"{entry.name}-{case.name}"] = _output_task(entry, case)
            else:
                left_out.append(
                    f"{entry.name}/{case.name}: no assertion has a command, and Harbor has no grader for the others"
                )
    if not planned:
        raise NotFoundError(
            "there are no evals that Harbor can check", hint="write evals/eval_queries.json, or assertions with a command"
        )
    if os.path.isdir(place) and os.listdir(place):
        raise ConflictError(f"{folder} is not empty", hint="name another folder, or delete this one")
    for name, files in planned.items():
        for path, data in files.items():
            mode = 0o755 if path.endswith(".sh") else 0o644
            file = os.path.join(place, name, path)
            # Readable for all, because the agent in the container may be another user.
            os.makedirs(os.path.dirname(file), exist_ok=True)
            replace_bytes(file, data, mode=mode, inside=place)
    return HarborExport(folder=place, tasks=tuple(planned), left_out=tuple(left_out))


def _found(read: Callable[[DiskFiles], tuple[T, ...]], entry: Entry) -> tuple[T, ...]:
    try:
        return read(DiskFiles(entry.folder))
    except NotFoundError:
        return ()


def _name(entry: Entry, text: str) -> str:
    """Returns the name of a query's task; the hash tells apart queries that begin alike."""
    return f"{entry.name}-trigger-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _trigger_task(entry: Entry, query: TriggerQuery) -> dict[str, bytes]:
    test = _TRIGGER_TEST.format(skill=shlex.quote(entry.name), wanted=0 if query.should_trigger else 1)
    kind = {"kind": "trigger", "should_trigger": query.should_trigger}
    files = _common(entry, _name(entry, query.text), query.text, kind)
    files["environment/inputs/.keep"] = b""
    files["tests/test.sh"] = test.encode()
    files["tests/loaded.py"] = _LOADED.read_bytes()
    return {**files, "solution/solve.sh": _solution(entry, triggers=query.should_trigger)}


def _output_task(entry: Entry, case: EvalCase) -> dict[str, bytes]:
    commands = [one.command for one in case.assertions if one.command]
    checks = "\n".join(f"check {_runner(words)}" for words in commands)
    files = _common(entry, f"{entry.name}-{case.name}", case.prompt, {"kind": "output", "eval": case.name})
    own = DiskFiles(entry.folder)
    files["environment/inputs/.keep"] = b""
    for path in case.files:
        files[f"environment/inputs/{os.path.basename(path)}"] = own.read(path, limit=_LARGEST)
    files["tests/test.sh"] = _OUTPUT_TEST.format(checks=checks, total=len(commands)).encode()
    for file in OwnFiles(own).list():
        files[f"tests/skill/{file.path}"] = own.read(file.path, limit=_LARGEST)
    return files


def _runner(words: Sequence[str]) -> str:
    """Returns the shell words of an assertion's command. `{outputs}` is the folder of the results."""
    program = ["python3"] if words[0].endswith(".py") else ["bash"] if words[0].endswith(".sh") else []
    return shlex.join([*program, *(word.replace("{outputs}", "/app") for word in words)])


def _common(entry: Entry, name: str, instruction: str, about: Mapping[str, object]) -> dict[str, bytes]:
    rows = {"skill": entry.name, **about}
    metadata = "\n".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items())
    text = (
        f'schema_version = "1.1"\n\n[task]\nname = "metier/{suggested_name(name)}"\n\n[metadata]\n{metadata}\n\n'
        "[agent]\ntimeout_sec = 900.0\n\n[verifier]\ntimeout_sec = 300.0\n\n"
        f'[environment]\nbuild_timeout_sec = 600.0\nskills_dir = "{_SKILLS}"\n'
    )
    files = {
        "task.toml": text.encode(),
        "instruction.md": f"{instruction}\n".encode(),
        "environment/Dockerfile": _DOCKERFILE.encode(),
    }
    own = DiskFiles(entry.folder)
    for file in OwnFiles(own).list():
        if not file.path.startswith("evals/"):
            files[f"environment/skills/{entry.name}/{file.path}"] = own.read(file.path, limit=_LARGEST)
    return files


def _solution(entry: Entry, *, triggers: bool) -> bytes:
    """The log of an agent that does it right, so that Harbor's oracle tests the test."""
    call = {"name": "Skill", "input": {"skill": entry.name}} if triggers else {"name": "Bash", "input": {"command": "ls"}}
    line = shlex.quote(json.dumps(call))
    return f"#!/bin/bash\nmkdir -p /logs/agent\nprintf '%s\\n' {line} > /logs/agent/oracle.jsonl\n".encode()
