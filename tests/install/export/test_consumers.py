"""Exports in the programs that they are for: Claude Code, Codex, npm's `skills`, and metier itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agent_programs import AgentHome, node_program, program_file
from builders import write_skill
from metier.install import ExportFormat, export_folders
from metier.testing import ModelServer, says

DESCRIPTION = "Fills in PDF forms with care. Use when the user has a PDF form."


@pytest.fixture
def skill(tmp_path: Path) -> str:
    folder = write_skill(tmp_path / "given", "pdf-forms", description=DESCRIPTION, body="Fill the form.\n")
    (folder / "scripts").mkdir()
    (folder / "scripts/fill.sh").write_text("#!/bin/sh\necho filled\n")
    (folder / "scripts/fill.sh").chmod(0o755)
    return str(folder)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda _: says("Done.")) as server:
        yield server


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A plain file server over the folder `site`."""
    (tmp_path / "site").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(tmp_path / "site")))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the standard library calls it
        pass


def export(tmp_path: Path, skill: str, to: ExportFormat, path: str) -> Path:
    export_folders((skill,), to, path=path, base=str(tmp_path))
    return tmp_path / path


def metier(tmp_path: Path, *words: str) -> Path:
    """Runs metier in an empty home, and returns the folder that it installs into."""
    home = tmp_path / "metier-home"
    home.mkdir(exist_ok=True)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    command = [str(Path(sys.executable).parent / "metier"), *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return home / ".metier/plugins"


def test_claude_code_loads_the_plugin_and_the_model_sees_the_skill(tmp_path: Path, skill: str, model: ModelServer) -> None:
    plugin = export(tmp_path, skill, ExportFormat.CLAUDE_PLUGIN, "plugin")
    home = AgentHome("claude-code", tmp_path / "home", model)
    home.ask("why is the sky blue?")
    assert DESCRIPTION not in home.requests()
    home.ask("why is the sky blue?", "--plugin-dir", str(plugin))
    assert "pdf-forms:pdf-forms" in home.requests()
    assert DESCRIPTION in home.requests()
    words = [str(program_file("claude-code")), "plugin", "validate", str(plugin)]
    checked = subprocess.run(words, env=home.environment, capture_output=True, text=True, check=False, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_codex_installs_the_agent_plugin_and_the_model_sees_the_skill(tmp_path: Path, skill: str, model: ModelServer) -> None:
    export(tmp_path, skill, ExportFormat.AGENT_PLUGIN, "market/plugins/pdf-forms")
    market = {"name": "team", "plugins": [{"name": "pdf-forms", "source": {"source": "local", "path": "./plugins/pdf-forms"}}]}
    (tmp_path / "market/.agents/plugins").mkdir(parents=True)
    (tmp_path / "market/.agents/plugins/marketplace.json").write_text(json.dumps(market))
    home = AgentHome("codex", tmp_path / "home", model)
    for words in (["marketplace", "add", str(tmp_path / "market")], ["add", "pdf-forms@team"]):
        command = [str(program_file("codex")), "plugin", *words]
        done = subprocess.run(command, env=home.environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    home.ask("why is the sky blue?")
    assert DESCRIPTION in home.requests()
    installed = metier(tmp_path, "skill", "install", "./market", "--yes", "--target", "none")
    assert (installed / "pdf-forms/SKILL.md").read_bytes() == (Path(skill) / "SKILL.md").read_bytes()


def test_npx_skills_takes_the_static_folder_from_a_plain_file_server(tmp_path: Path, skill: str, site: str) -> None:
    single = str(write_skill(tmp_path / "given", "solo", description="Sings alone. Use when asked."))
    export_folders((skill, single), ExportFormat.WELL_KNOWN, path="site", base=str(tmp_path))
    project = tmp_path / "project"
    project.mkdir()
    path = f"{Path(node_program('skills')).parent}:{os.environ['PATH']}"
    environment = {"HOME": str(tmp_path), "PATH": path, "LC_ALL": "C.UTF-8", "DISABLE_TELEMETRY": "1", "CI": "1"}
    words = [node_program("skills"), "add", site, "--all", "--agent", "universal", "--yes", "--copy"]
    done = subprocess.run(
        words, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = sorted(str(file.relative_to(project / ".agents/skills")) for file in (project / ".agents/skills").rglob("*.*"))
    assert found == ["pdf-forms/SKILL.md", "pdf-forms/scripts/fill.sh", "solo/SKILL.md"]
    assert (project / ".agents/skills/pdf-forms/SKILL.md").read_bytes() == (Path(skill) / "SKILL.md").read_bytes()


@pytest.mark.parametrize(
    ("to", "path"),
    [
        (ExportFormat.ZIP, "forms.zip"),
        (ExportFormat.CLAUDE_AI, "upload.zip"),
        (ExportFormat.AGENT_PLUGIN, "plugin"),
        (ExportFormat.CLAUDE_PLUGIN, "plugin"),
    ],
)
def test_metier_reads_its_own_exports(tmp_path: Path, skill: str, to: ExportFormat, path: str) -> None:
    export(tmp_path, skill, to, path)
    installed = metier(tmp_path, "skill", "install", f"./{path}", "--yes", "--target", "none")
    assert (installed / "pdf-forms/SKILL.md").read_bytes() == (Path(skill) / "SKILL.md").read_bytes()
    assert os.access(installed / "pdf-forms/scripts/fill.sh", os.X_OK)


def test_metier_installs_from_the_static_folder(tmp_path: Path, skill: str, site: str) -> None:
    export(tmp_path, skill, ExportFormat.WELL_KNOWN, "site")
    installed = metier(tmp_path, "skill", "install", site, "--insecure-http", "--yes", "--target", "none")
    assert (installed / "pdf-forms/SKILL.md").read_bytes() == (Path(skill) / "SKILL.md").read_bytes()
    assert os.access(installed / "pdf-forms/scripts/fill.sh", os.X_OK)
