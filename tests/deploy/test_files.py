"""The files in `deploy/` are valid and name only what exists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from metier.cli.registry.serve import serve
from metier.config.keys import KEYS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
OPTIONS = {word for option in serve.params for word in option.opts}
VARIABLES = {name for key in KEYS.values() for name in (*key.variables, key.variable)}


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def test_the_units_are_valid(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    program = tmp_path / "metier"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for path in (DEPLOY / "systemd").iterdir():
        (tmp_path / path.name).write_text(path.read_text().replace("/opt/metier/bin/metier", str(program)))
    units = [str(path) for path in tmp_path.iterdir() if path.suffix in (".service", ".timer")]
    assert len(units) == 3
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_service_is_hardened() -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    words = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(DEPLOY / "systemd/metier-registry.service")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-400:]


def test_the_administrators_command_has_the_settings_of_the_service(tmp_path: Path) -> None:
    settings = tmp_path / "registry.env"
    settings.write_text(
        '# of the service\n; too\nMETIER_REGISTRY_NAME="Skills of Example"\n\nMETIER_DB=postgresql://metier:a$b@db/metier\n'
    )
    program = tmp_path / "metier"
    program.write_text('#!/bin/sh\necho "$METIER_REGISTRY_NAME|$METIER_DB|$METIER_HOME|$*"\npwd\n')
    program.chmod(0o755)
    home, closed = tmp_path / "home", tmp_path / "closed"
    home.mkdir()
    closed.mkdir()
    script = (DEPLOY / "systemd/metier-admin").read_text()
    # `env` stands for `runuser`; the user of the service may not enter the folder `closed`.
    (tmp_path / "enter").write_text(f'#!/bin/sh\n[ "$1" != test ] || [ "$PWD" != {closed} ] || exit 1\nexec env "$@"\n')
    (tmp_path / "enter").chmod(0o755)
    for old, new in {
        "/etc/metier/registry.env": str(settings), "/opt/metier/bin/metier": str(program),
        "runuser -u metier --": str(tmp_path / "enter"), "/var/lib/metier": str(home),
    }.items():  # fmt: skip
        assert old in script
        script = script.replace(old, new)
    for here, folder in ((tmp_path, tmp_path), (closed, home)):
        words = ["sh", "-c", script, "metier-admin", "registry", "stats"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=here)
        assert done.stdout == f"Skills of Example|postgresql://metier:a$b@db/metier|{home}|registry stats\n{folder}\n"


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_the_manifests_fit_the_schemas_of_kubernetes(path: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for manifest in documents(path):
        validate.validate(manifest, "1.34", strict=True)


def test_kustomize_names_every_manifest() -> None:
    [found] = documents(DEPLOY / "kubernetes/kustomization.yaml")
    assert sorted(found["resources"]) == [path.name for path in MANIFESTS]


def test_pods_run_without_privileges_on_a_read_only_root() -> None:
    specs = [
        (manifest.get("spec", {}).get("jobTemplate") or manifest)["spec"]["template"]["spec"]
        for path in MANIFESTS
        for manifest in documents(path)
        if manifest["kind"] in ("Deployment", "CronJob")
    ]
    assert len(specs) == 2
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"]
        for container in spec["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_compose_is_valid() -> None:
    program = shutil.which("podman-compose", path=str(ROOT / ".venv/bin")) or shutil.which("podman-compose")
    if not program:
        pytest.skip("podman-compose is not installed")
    words = [program, "--env-file", str(DEPLOY / "compose.env.example"), "-f", str(DEPLOY / "compose.yaml"), "config"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "https://skills.example.com" in done.stdout


def test_every_option_of_the_server_exists() -> None:
    [compose] = documents(DEPLOY / "compose.yaml")
    [deployment, _] = documents(DEPLOY / "kubernetes/deployment.yaml")
    used = {
        *compose["services"]["registry"]["command"],
        *deployment["spec"]["template"]["spec"]["containers"][0]["args"],
        *re.findall(r"--[a-z-]+", _line("Containerfile", "ENTRYPOINT")),
        *re.findall(r"--[a-z-]+", _line("systemd/metier-registry.service", "ExecStart")),
    }
    assert {word for word in used if word.startswith("--")} <= OPTIONS


def test_every_variable_of_ours_exists() -> None:
    text = "".join(path.read_text() for path in DEPLOY.rglob("*") if path.is_file())
    named = set(re.findall(r"\bMETIER_[A-Z_]+", text)) - {"METIER_HOME"}
    assert named
    assert named <= VARIABLES


def test_the_dashboard_uses_metrics_that_exist() -> None:
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    source = (ROOT / "src/metier/registry/server/metrics.py").read_text()
    assert set(re.findall(r"metier_[a-z_]+", asked)) <= set(re.findall(r"metier_[a-z_]+", source))


def test_the_configuration_of_caddy_is_valid() -> None:
    if not shutil.which("caddy"):
        pytest.skip("caddy is not installed")
    words = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "Valid configuration" in done.stdout + done.stderr, done.stderr


def _line(file: str, start: str) -> str:
    return next(line for line in (DEPLOY / file).read_text().splitlines() if line.startswith(start))
