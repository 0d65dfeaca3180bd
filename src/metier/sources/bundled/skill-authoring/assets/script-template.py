# /// script
# requires-python = ">=3.9"
# dependencies = []
# ///
"""Count the lines of text files: replace this with what your script does, and why it is a script."""

from __future__ import annotations

import argparse
import json
import sys

OK, USAGE, UNREADABLE = 0, 2, 3
MAX_BYTES = 50_000_000
EPILOG = """\
exit codes: 0 ok; 2 bad option; 3 a file cannot be read

examples:
  python3 %(prog)s notes.txt
  python3 %(prog)s notes.txt todo.txt
"""


def count_lines(path: str) -> int:
    """Lines in a file, which may be large but not endless."""
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    return len(data.splitlines())


def main() -> int:
    """Parse, act, print one JSON document."""
    parser = argparse.ArgumentParser(
        description="Count the lines of text files.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    counts: dict[str, int] = {}
    for path in options.files:
        try:
            counts[path] = count_lines(path)
        except (OSError, ValueError) as error:
            print(f"count.py: cannot read {path!r}: {error}", file=sys.stderr)
            return UNREADABLE
    print(json.dumps({"lines": counts}, indent=1))
    return OK


if __name__ == "__main__":
    sys.exit(main())
