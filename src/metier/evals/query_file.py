"""Adds requests to a skill's `evals/eval_queries.json`, each once, and keeps what is there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from metier.errors import NotFoundError
from metier.sources import DiskFiles, replace_text

from .files import QUERY_FILES, EvalFileError, read_queries

__all__ = ["add_queries"]

_LARGEST = 1 << 20


def add_queries(folder: str, texts: Iterable[str], *, inside: str | None = None) -> tuple[str, ...]:
    """Writes requests that should select the skill, and returns those that were new.

    Raises EvalFileError, and writes nothing, if the file that is there is not valid. `inside` is the project, which a link
    must not leave.
    """
    files = DiskFiles(folder)
    try:
        known = {_key(query.text) for query in read_queries(files)}
    except NotFoundError:
        known = set()
    new = [text for text in {_key(text): " ".join(text.split()) for text in texts}.values() if _key(text) not in known]
    if not new:
        return ()
    name, document = _document(files)
    rows = document if isinstance(document, list) else document.setdefault(_rows_key(document), [])
    rows += [{"query": text, "should_trigger": True} for text in new]
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    replace_text(os.path.join(folder, *name.split("/")), text, inside=inside)
    return tuple(new)


def _document(files: DiskFiles) -> tuple[str, Any]:  # Any: a list, or an object with one
    for name in QUERY_FILES:
        try:
            return name, json.loads(files.read(name, limit=_LARGEST).decode("utf-8-sig"))
        except NotFoundError:
            continue
        except ValueError as error:
            raise EvalFileError(name, f"is not JSON: {error}") from None
    return QUERY_FILES[0], []


def _rows_key(document: Any) -> str:  # Any: an object that `read_queries` has accepted
    return "evals" if "evals" in document and "queries" not in document else "queries"


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()
