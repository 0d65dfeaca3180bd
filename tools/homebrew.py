"""Writes the Homebrew formula of a release: its source archive, and every package that uv.lock pins for it.

    python3 tools/homebrew.py dist/metier-0.2.0.tar.gz --url URL > metier.rb

The URL is where the archive was published. Put the file into the folder `Formula` of a tap, a repository called
homebrew-NAME; `brew install OWNER/NAME/metier` installs it.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.environment import ROOT, child_environment, find_uv

__all__ = ["formula", "main", "resources"]

PYTHON = "3.13"
_HEAD = """\
class Metier < Formula
  include Language::Python::Virtualenv

  desc "Right skill for any agent at the right moment, safely"
  homepage "https://agentskills.io"
  url "{url}"
  sha256 "{digest}"
  license "MIT"

  depends_on "rust" => :build # watchfiles and yaml-rs
  depends_on "python@{python}"
"""
_TAIL = """
  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"metier", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/metier --version")
    assert_match "data-analysis", shell_output("#{bin}/metier prompt --preset active 'plot the monthly sales in sales.csv'")
  end
end
"""


def formula(sdist: Path, url: str) -> str:
    parts = [_HEAD.format(url=url, digest=hashlib.sha256(sdist.read_bytes()).hexdigest(), python=PYTHON)]
    for name, address, digest in resources():
        parts.append(f'\n  resource "{name}" do\n    url "{address}"\n    sha256 "{digest}"\n  end\n')
    return "".join(parts) + _TAIL


def resources() -> Iterator[tuple[str, str, str]]:
    """Yields name, address and SHA-256 of the source archive of every package that metier needs without extras."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    packages = {(each["name"], each.get("version")): each for each in lock["package"]}
    words = ["export", "--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "--no-annotate", "--no-header"]
    listed = subprocess.run(
        [*find_uv(), *words], cwd=ROOT, env=child_environment(), capture_output=True, text=True, check=True
    ).stdout
    for line in listed.splitlines():
        found = re.match(r"([\w.-]+)==(\S+)\s*(?:;\s*(.*))?$", line)
        if found and _holds(found[3] or ""):
            sdist = packages[found[1], found[2]]["sdist"]
            yield found[1], sdist["url"], sdist["hash"].removeprefix("sha256:")


def _holds(marker: str) -> bool:
    """Returns True if a requirement is for macOS or Linux with this Python."""
    if re.search(r"(sys_platform == '(win32|emscripten)'|platform_system == 'Windows')", marker):
        return False
    found = re.search(r"python_full_version (<|>=) '(\d+)\.(\d+)", marker)
    if found is None:
        return True
    is_newer = tuple(map(int, PYTHON.split("."))) >= (int(found[2]), int(found[3]))
    return is_newer == (found[1] == ">=")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the Homebrew formula of a release.")
    parser.add_argument("sdist", type=Path, help="the source archive that tools/release.py built")
    parser.add_argument("--url", required=True, help="where it was published")
    given = parser.parse_args(arguments)
    sys.stdout.write(formula(given.sdist, given.url))
    return 0


if __name__ == "__main__":
    sys.exit(main())
