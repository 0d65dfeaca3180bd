"""An installation as the README describes it, and an empty home for each journey."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme

from agent_programs import PROGRAM_FOLDER
from journeys.browser import CHROMIUM
from journeys.internet import internet
from journeys.transcript import ShellTerminal
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says
from package_index import PackageIndex
from registry.identity_providers import NODE, SECRET, real_provider
from registry.servers import free_port
from tools.environment import ROOT, child_environment, find_uv

_PROGRAMS = ROOT / "tests" / "hosts" / "programs" / "node_modules" / ".bin"
OTHER_INSTALLER, CLAWHUB = _PROGRAMS / "skills", _PROGRAMS / "clawhub"
EXTRAS = ("agents", "mcp", "packages", "postgresql", "registry", "secrets")


@pytest.fixture(scope="session")
def installed_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds metier, its extras and nothing else. All workers of a run share it."""
    shared = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else tmp_path_factory.getbasetemp()
    folder = shared / "installed"
    with open(shared / "installed.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            extras = [word for extra in EXTRAS for word in ("--extra", extra)]
            # uv would otherwise take the wheel that it built of an earlier state of this folder.
            words = ["sync", "--quiet", "--frozen", "--no-default-groups", "--no-editable", "--reinstall-package", "metier"]
            environment = {**child_environment(), "UV_PROJECT_ENVIRONMENT": str(folder)}
            subprocess.run([*find_uv(), *words, "--python", sys.executable, *extras], cwd=ROOT, env=environment, check=True)
            (folder / "done").touch()
    return folder / "bin"


TOOL_CALLS: dict[str, tuple[str, dict[str, Any]]] = {  # Any: arguments as a model sends them
    "count": ("word-count_count", {"args": ["one two three"]}),
    "salutation": ("greet", {"name": "Bob"}),
    "render": ("render-page_render", {"url": "https://example.com"}),
}
_TRY = "python3 -c 'from price import total\nprint(total([10, 5]))' | tee result.txt"
_FINDING = "**major** `price.py:2`: `items[1:]` leaves out the first item; `total([10, 5])` is 5.\n"
_STEPS = {
    "review my change": (
        calls("run_command", command="git status --short && git diff HEAD"), calls("read_file", path="price.py"),
        calls("run_command", command=_TRY), calls("write_file", path="review.md", content=_FINDING),
        says("One major finding: the first item is free. See review.md."),
    ),
    "write the minutes": (
        calls("read_file", path="notes.txt"),
        calls("write_file", path="minutes.md", content="# Minutes\nAda and Bob. Ship on Friday: Ada. Tests: Bob.\n"),
        says("The minutes are in minutes.md."),
    ),
    "plot the monthly sales": (
        calls("data-analysis_analyze", command="summary", file="sales.csv"),
        calls("data-analysis_analyze", command="chart", file="sales.csv", kind="line", x="month", y=["sales"],
              output="sales.svg"),
        says("Sales fell in March. The chart is sales.svg."),
    ),
}  # fmt: skip


def _answer(request: ModelRequest) -> ModelAnswer:
    """Follows the steps of a request, or calls the tool that it is about; tells an endless story; else repeats the message."""
    if "tax return" in request.user and "Skill" in request.tools:
        return says("Done.") if request.results else calls("Skill", skill="tax-forms")
    for words, steps in _STEPS.items():
        if words in request.user:
            return steps[len(request.results)]
    for word, (tool, arguments) in TOOL_CALLS.items():
        if word in request.user and tool in request.tools and request.body["messages"][-1]["role"] == "user":
            return calls(tool, **arguments)
    if "story" in request.user:
        return says("Once upon a time. " + "And so on. " * 400, pause=0.02)
    return says(f"You said: *{request.user}*")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A scripted model; journeys have its address in MODEL_URL."""
    with ModelServer(_answer) as server:
        yield server


class _Forecast(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_known = self.headers.get("Authorization") == "Bearer journey-key-5309"
        self.send_response(200 if is_known else 401)
        self.end_headers()
        self.wfile.write(b"Sunny, 24 degrees" if is_known else b"who are you?")

    def log_message(self, *_: object) -> None:
        """Keeps the output of the tests clean."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Two services over TLS that want a key; journeys have their addresses in API_HOST and OTHER_HOST."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _Forecast) for _ in range(2)]
    for server in servers:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    names = {name: f"localhost:{server.server_port}" for name, server in zip(("API_HOST", "OTHER_HOST"), servers, strict=True)}
    yield {**names, "API_CERTIFICATES": str(tmp_path / "authority.pem")}
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables that lead to the journeys' own internet."""
    with internet(tmp_path_factory.mktemp("internet")) as variables:
        yield variables


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    """An index and a registry of packages; journeys have its address in INDEX_URL, and stop it with $INDEX_URL/stop."""
    with PackageIndex() as found:
        hello = "import shout\ndef hello(name): return shout.loud(f'hello {name}')\n"
        found.add_wheel("greeting", "1.0", {"greeting.py": hello}, requires=["shout"], license="Apache-2.0")
        found.add_wheel("shout", "2.1", {"shout.py": "def loud(text): return text.upper() + '!'\n"})
        found.add_wheel("whisper", "0.3", {"whisper.py": "def soft(text): return text.lower()\n"})
        found.add_tarball("brackets", "1.0.0", {"index.js": "module.exports = (x) => `<${x}>`;"}, license="ISC")
        yield found


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty PostgreSQL database, for the journeys that use DATABASE_URL; empty for the others."""
    page = getattr(request.node, "callspec", None) and request.node.callspec.params.get("page")
    if not page or "$DATABASE_URL" not in page.read_text(encoding="utf-8"):
        yield ""
        return
    with request.getfixturevalue("postgres").database() as url:
        yield url


ACCOUNTS: dict[str, dict[str, object]] = {
    name: {"preferred_username": name, "email": f"{name}@example.com", "email_verified": True, "groups": groups}
    for name, groups in {"ada": ["skills-admins"], "ann": ["team-tides"], "gus": []}.items()
}


@pytest.fixture
def identity(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """An identity provider, for the journeys that use ISSUER. Their registry listens on REGISTRY_PORT."""
    page = getattr(request.node, "callspec", None) and request.node.callspec.params.get("page")
    if not page or "$ISSUER" not in page.read_text(encoding="utf-8"):
        yield {}
        return
    if NODE is None or CHROMIUM is None:
        pytest.skip("the identity provider or Chromium is not installed")
    port = free_port()
    with real_provider(ACCOUNTS, callback=f"http://127.0.0.1:{port}/login/callback") as provider:
        yield {"ISSUER": provider.issuer, "REGISTRY_PORT": str(port), "PROVIDER_SECRET": SECRET}


@pytest.fixture
def terminal(
    installed_program: Path, model: ModelServer, web: dict[str, str], api: dict[str, str], index: PackageIndex, database: str,
    identity: dict[str, str],
) -> Iterator[ShellTerminal]:  # fmt: skip
    # The journeys' internet is a proxy; the index is on loopback.
    packages = {"INDEX_URL": index.url, **index.variables, "no_proxy": "127.0.0.1"}
    variables = {"MODEL_URL": model.url, "PROGRAMS": str(PROGRAM_FOLDER), "NO_COLOR": "1", "DATABASE_URL": database}
    variables |= {**web, **api, **packages, **identity}
    with open_terminal(installed_program, variables) as shell:
        yield shell


@contextlib.contextmanager
def open_terminal(program: Path, variables: Mapping[str, str], *, columns: int = 160) -> Iterator[ShellTerminal]:
    """A shell in an empty home. `program` is the `bin` folder that has metier."""
    # A short path, so that messages that name it fit on a line of the terminal.
    folder = Path(tempfile.mkdtemp(prefix="journey-"))
    home = folder / "home"
    home.mkdir()
    tools = folder / "bin"
    tools.mkdir()
    # Only metier itself: the journey must not depend on other programs of that environment.
    (tools / "metier").symlink_to(program / "metier")
    (tools / "browser").write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("browser.py")} "$@"\n')
    (tools / "browser").chmod(0o755)
    for program in (OTHER_INSTALLER, CLAWHUB):
        if program.exists():
            (tools / program.name).symlink_to(program)
    environment = {
        "HOME": str(home),
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "EDITOR": "true",
        # The keyring of the machine is not the journey's.
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        # The terminal of a test does not answer where its cursor is.
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_CONFIG_NOSYSTEM": "1",
        **variables,
    }
    shell = ShellTerminal(home, environment, columns)
    try:
        yield shell
    finally:
        shell.close()
        shutil.rmtree(folder, ignore_errors=True)
