"""Holds the parsers and the repairs to their promises over a large collection of public skills.

    python benchmarks/corpus_check.py skills.jsonl.gz [--every 4]

The collection is a gzipped file with one JSON object for each SKILL.md: `repo` (owner/name), `path` (of the file in it) and
`bytes` (its content, decoded as Latin-1). Without an argument, it is real-skills.jsonl.gz in the folder METIER_DATA. For
each: the compat verdict is that of skills-ref, the fast parser gives the answer of the slow one or none, and repairs keep
their promises.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from spec.repairs.test_fix import promises_hold
from spec.test_differential import compat_is_ok, parsers_agree, reference_is_ok


def skills_in(collection: Path, every: int) -> Iterator[tuple[str, bytes]]:
    """Yields the folder name and the bytes of each SKILL.md."""
    with gzip.open(collection, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % every == 0:
                row = json.loads(line)
                folder = PurePosixPath(row["path"]).parent.name or row["repo"].split("/")[1]
                yield folder, row["bytes"].encode("latin-1")


def failures(data: bytes, folder: str, scratch: Path) -> Iterator[str]:
    if compat_is_ok(data, folder) != reference_is_ok(data, scratch, folder):
        yield "compat differs from skills-ref"
    if parsers_agree(data, folder) is False:
        yield "the fast parser differs from the slow one"
    try:
        promises_hold(data, folder)
    except AssertionError as error:
        yield f"a repair breaks its promise: {error}"


def _default() -> Path | None:
    folder = os.environ.get("METIER_DATA")
    return Path(folder) / "real-skills.jsonl.gz" if folder else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", nargs="?", type=Path, default=_default())
    parser.add_argument("--every", type=int, default=1, help="check only every n-th skill")
    chosen = parser.parse_args()
    if chosen.collection is None or not Path(chosen.collection).is_file():
        parser.error("name a collection of skills, or the folder of real-skills.jsonl.gz in METIER_DATA")
    checked = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder, data in skills_in(Path(chosen.collection), chosen.every):
            checked += 1
            for failure in failures(data, folder, Path(scratch)):
                failed += 1
                print(f"{folder}: {failure}")
    print(f"{checked} skills checked, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
