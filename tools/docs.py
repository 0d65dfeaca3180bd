"""Build the documentation site.

    python3 tools/docs.py [--version 0.2] [--no-python] [--serve]

Writes build/site/VERSION/, with a list of all versions that are there and a start page that leads to the newest. Nothing on
the site comes from another server, so it also works from disk. A link or an anchor that leads nowhere ends the build.
"""

from __future__ import annotations

import argparse
import http.server
import json
import re
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.environment import ROOT, child_environment, sync

BUILD = ROOT / "build"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", help="name of the folder; by default the version in pyproject.toml without its last part")
    parser.add_argument(
        "--no-python", action="store_true", help="leave out the pages of the Python packages, which take longest"
    )
    parser.add_argument("--serve", action="store_true", help="show the site on http://127.0.0.1:8000 afterwards")
    options = parser.parse_args()
    version = options.version or _project_version().rpartition(".")[0]
    binaries = sync("--all-extras", "--group", "docs", "--inexact")
    words = [str(ROOT), str(BUILD / "site" / version), *(["--no-python"] if options.no_python else [])]
    command = [str(binaries / "python"), "-m", "tools.documentation.build", *words]
    if status := subprocess.run(command, cwd=ROOT, env=child_environment(), check=False).returncode:
        return status
    list_versions(BUILD / "site")
    print(f"built {(BUILD / 'site' / version / 'index.html').relative_to(ROOT)}")
    if options.serve:
        handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(BUILD / "site"))
        print("open http://127.0.0.1:8000 (Ctrl-C ends it)", flush=True)
        http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler).serve_forever()
    return 0


def list_versions(site: Path) -> None:
    """Writes the start page and the list that the version menu reads, which is a script for pages that are opened from disk."""
    versions = sorted((each.parent.name for each in site.glob("*/index.html")), key=_sort_key, reverse=True)
    rows = [{"version": each, "title": each, "aliases": ["latest"] if each == versions[0] else []} for each in versions]
    text = json.dumps(rows, indent=2)
    (site / "versions.json").write_text(f"{text}\n", encoding="utf-8")
    (site / "versions.js").write_text(f"window.siteVersions = {text};\n", encoding="utf-8")
    refresh = f'<meta http-equiv="refresh" content="0; url={versions[0]}/index.html">'
    start = f'<!doctype html>\n<meta charset="utf-8">\n<title>metier</title>\n{refresh}\n'
    (site / "index.html").write_text(start, encoding="utf-8")


def _sort_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _project_version() -> str:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


if __name__ == "__main__":
    sys.exit(main())
