"""Builders for skills with evals, laid out as an author would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from builders import write_skill
from metier.catalog import Entry
from metier.selection import Selector
from metier.sources import discover
from metier.sources.selection_index import IndexedSkill
from metier.spec import MemoryFiles

__all__ = ["author_skill", "entry_of", "eval_files", "selector_of"]


def eval_files(**files: Any) -> MemoryFiles:  # Any: JSON, or bytes as they stand
    """A skill's files; `evals__evals` is evals/evals.json."""
    contents = {"SKILL.md": b"---\nname: a\ndescription: b\n---\n"}
    for name, value in files.items():
        path = name.replace("__", "/") + ".json"
        contents[path] = value if isinstance(value, bytes) else json.dumps(value).encode()
    return MemoryFiles(contents)


def author_skill(root: Path, name: str, description: str, *, files: dict[str, str] | None = None, **options: Any) -> Path:
    folder = write_skill(root, name, description=description, **options)
    for path, text in (files or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def entry_of(folder: Path) -> Entry:
    return discover(folder).entries[0]


def selector_of(*folders: Path) -> Selector:
    return Selector([IndexedSkill(entry_of(folder)) for folder in folders])
