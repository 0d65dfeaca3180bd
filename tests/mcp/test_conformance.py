"""The official conformance suite of MCP: what the specification asks of servers and clients, as its authors read it.

It is an npm package and needs Node 22; `python3 tools/test.py` brings both, as does `npm ci --prefix tests/mcp/suite`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import write_skill
from mcp_servers import environment, home_skills, launched

MODULES = Path(__file__).parent / "suite" / "node_modules"
NODE, SUITE = MODULES / "node" / "bin" / "node", MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the suite is not installed: npm ci --prefix tests/mcp/suite")

# Lists, loads what is listed, then reads another file of it: exactly as far as our own checks let it.
CLIENT = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from metier.app import App

app = App()
config = Path(app.paths.config_file)
config.parent.mkdir(parents=True, exist_ok=True)
config.write_text(f'[skills.mcp.suite]\\nurl = "{sys.argv[-1]}"\\n')
app.remote_servers.refresh(now=datetime.now(UTC))
if sys.argv[1] == "load":
    session = app.sessions.open(kept=False)
    session.activate("suite:pdf-processing")
    session.read("suite:pdf-processing", "references/FORMS.md")
"""


def passed(*words: str, folder: Path) -> tuple[int, str]:
    """Returns the number of passed checks; none may fail, warn or be skipped."""
    done = subprocess.run(
        [NODE, SUITE, *words], capture_output=True, text=True, cwd=folder, timeout=120, check=False,
        env={**environment(folder), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    text = re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr)
    found = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", text)
    assert found, text
    assert found[1] == found[2], text
    assert "SKIPPED" not in text, text
    return int(found[1]), text


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("suite")
    skill = write_skill(
        home_skills(folder), "a-first", head="license: MIT\nmetadata:\n  author: me\nversion: 1.5\ntags: [a, b]\n"
    )
    (skill / "references").mkdir()
    (skill / "references/guide.md").write_text("guide")
    with launched(folder) as address:
        yield address, folder


@pytest.mark.parametrize(
    ("scenario", "checks"),
    [
        ("sep-2640-skills-enumeration", 30), ("sep-2640-skills-manifest", 5), ("sep-2640-skills-directory", 6),
        ("sep-2164-resource-not-found", 3), ("dns-rebinding-protection", 2), ("caching", 7), ("http-header-validation", 14),
        ("tools-list", 2),
    ],
)  # fmt: skip
def test_the_server_passes(served: tuple[str, Path], scenario: str, checks: int) -> None:
    address, folder = served
    assert passed("server", "--url", address, "--scenario", scenario, folder=folder)[0] >= checks


@pytest.mark.parametrize(
    ("scenario", "work"),
    [
        ("sep-2640-client-no-prefetch", "list"), ("sep-2640-client-verify-digest", "load"),
        ("sep-2640-client-verify-size", "load"), ("sep-2640-client-verify-frontmatter", "load"),
    ],
)  # fmt: skip
def test_the_client_passes(tmp_path: Path, scenario: str, work: str) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    command = f"{sys.executable} {tmp_path / 'client.py'} {work}"
    assert passed("client", "--command", command, "--scenario", scenario, folder=tmp_path)[0] >= 1
