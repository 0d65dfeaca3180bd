"""Checks a log of an agent for the loading of a skill. The export for Harbor copies this file; it needs only Python.

python3 loaded.py SKILL FOLDER

Exits with 0 if a log in the folder shows that the skill was loaded, with 1 if none does, and with 2 if there is no log.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterator

LOADERS = {"skill", "activate_skill"}
TOOL_KEYS = ("function_name", "name", "tool", "toolName")
ARGUMENT_KEYS = ("arguments", "input", "args", "parameters", "state", "cmd", "command")


def main(skill: str, folder: str) -> int:
    files = [file for file in pathlib.Path(folder).rglob("*") if file.is_file()]
    if not files:
        return 2
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
    return 0 if any(loads(value, skill) for text in texts for document in documents(text) for value in values(document)) else 1


def documents(text: str) -> Iterator[object]:
    """Yields the JSON of a file: one document, or one in each line."""
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def values(document: object) -> Iterator[object]:
    yield document
    children = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for child in children:
        yield from values(child)


def loads(value: object, skill: str) -> bool:
    """Returns True for a call of the agent's skill tool with this skill, and for a call that reads its SKILL.md."""
    if not isinstance(value, dict):
        return False
    tool = next((value[key] for key in TOOL_KEYS if isinstance(value.get(key), str)), "")
    given = next((value[key] for key in ARGUMENT_KEYS if key in value), None)
    text = given if isinstance(given, str) else json.dumps(given)
    if tool.lower() in LOADERS:
        return re.search(rf'"/?(?:[\w-]+:)?{re.escape(skill)}"', text) is not None
    return f"/{skill}/SKILL.md" in text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
