"""Conformance suite for script runners."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.runtime import (
    ConnectionDecision,
    IsolationLevel,
    Limits,
    MaskedSecret,
    Outcome,
    PackageMount,
    ScriptRun,
    ScriptRunner,
    Workspace,
)
from metier.spec import PackageEcosystem
from metier.values import replace

from .fakes import run_now, skill_folder

__all__ = ["RunnerConformance"]


class RunnerConformance:
    """Subclass it, say how your runner is made, and let pytest collect it."""

    executes = True
    """False for a runner that runs nothing: then only what it refuses is looked at."""
    gives: frozenset[str] = frozenset(("code", "workspace", "hosts", "packages"))
    """The fields of ScriptRun that only some runners implement. Runs with another one of them must be refused."""

    def new_runner(self) -> ScriptRunner:
        raise NotImplementedError

    def _run(self, folder: Path, source: str = "print('hello')\n", /, **options: Any) -> Outcome:  # Any: fields of Run
        skill = skill_folder(folder, "tried", files={"scripts/go.py": source})
        run = ScriptRun(folder=str(skill), script="scripts/go.py")
        return run_now(self.new_runner().run(replace(run, **options)))

    def _refused(self, folder: Path, kind: type[MetierError], /, **options: Any) -> None:  # Any: fields of Run
        try:
            self._run(folder, **options)
        except kind:
            return
        raise AssertionError(f"this should have been {kind.__name__}: {options}")

    def test_a_hundred_arguments_pass_and_one_more_is_refused(self, tmp_path: Path) -> None:
        assert self._run(tmp_path, arguments=("x",) * 100).ok
        self._refused(tmp_path, RefusedError, arguments=("x",) * 101)

    def test_4096_bytes_of_arguments_pass_and_one_more_is_refused(self, tmp_path: Path) -> None:
        assert self._run(tmp_path, arguments=("é" * 2048,)).ok
        self._refused(tmp_path, RefusedError, arguments=("é" * 2048, "x"))

    def test_a_nul_in_an_argument_is_refused(self, tmp_path: Path) -> None:
        self._refused(tmp_path, RefusedError, arguments=("a\0b",))

    def test_a_script_that_is_not_there_is_not_found(self, tmp_path: Path) -> None:
        self._refused(tmp_path, NotFoundError, script="scripts/other.py")

    def test_only_files_under_scripts_are_run(self, tmp_path: Path) -> None:
        for script in ("SKILL.md", "../tried/scripts/go.py", "/bin/true", "references/x.py"):
            self._refused(tmp_path, RefusedError, script=script)

    def test_an_outcome_says_how_the_run_was_isolated(self, tmp_path: Path) -> None:
        found = self._run(tmp_path).isolation
        assert found.level in IsolationLevel
        assert found.layers or found.missing

    def test_an_argument_that_is_not_text_is_refused(self, tmp_path: Path) -> None:
        self._refused(tmp_path, RefusedError, arguments=("\udcff",))

    def test_variables_that_start_programs_and_secrets_in_the_open_are_refused(self, tmp_path: Path) -> None:
        if self.executes:
            for name in ("LD_PRELOAD", "PYTHONSTARTUP", "BASH_ENV", "PATH", "API_TOKEN", "not a name"):
                self._refused(tmp_path, RefusedError, environment={name: "x"})

    def test_the_whole_file_system_and_other_processes_are_no_inputs(self, tmp_path: Path) -> None:
        if self.executes:
            for path in ("/", "/proc/1", "relative"):
                self._refused(tmp_path, RefusedError, inputs=(path,))
            self._refused(tmp_path, NotFoundError, inputs=(str(tmp_path / "missing"),))

    def test_output_and_exit_code_are_those_of_the_script(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import sys\nprint(sys.argv[1:], sys.stdin.read())\nprint('oh', file=sys.stderr)\nsys.exit(7)\n"
            found = self._run(tmp_path, source, arguments=("a b", "-c"), stdin=b"in")
            assert (found.exit_code, found.stdout, found.stderr) == (7, "['a b', '-c'] in\n", "oh\n")

    def test_a_script_that_a_signal_ends_has_128_and_its_number(self, tmp_path: Path) -> None:
        if self.executes:
            found = self._run(tmp_path, "import os\nos.kill(os.getpid(), 15)\n")
            assert (found.exit_code, found.stop_reason) == (143, "")

    def test_arguments_arrive_as_they_are(self, tmp_path: Path) -> None:
        if self.executes:
            words = (
                "",
                " ",
                "it's",
                '"',
                "$HOME",
                "`id`",
                "$(id)",
                "a\nb",
                "\\",
                "--",
                "-c",
                "*",
                "é\u2028",
                "\x1b[0m",
                "a;b|c&d",
            )
            found = self._run(tmp_path, "import json, sys\nprint(json.dumps(sys.argv[1:]))\n", arguments=words)
            assert tuple(json.loads(found.stdout)) == words

    def test_standard_input_is_empty_unless_given(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import sys\ndata = sys.stdin.buffer.read()\nprint(len(data), sum(data))\n"
            data = bytes(range(256)) * 4096
            for given in (None, b"", b"\n", data):
                found = self._run(tmp_path, source, stdin=given)
                assert found.stdout == f"{len(given or b'')} {sum(given or b'')}\n"

    def test_a_script_that_does_not_read_its_input_ends(self, tmp_path: Path) -> None:
        if self.executes:
            assert self._run(tmp_path, "print('done')\n", stdin=b"x" * (1 << 20)).stdout == "done\n"

    def test_binary_output_becomes_text_and_files_stay_bytes(self, tmp_path: Path) -> None:
        if self.executes:
            source = (
                "import os, sys\ndata = bytes(range(256))\nsys.stdout.buffer.write(data)\n"
                "os.makedirs(os.environ['HOME'] + '/sub')\nopen(os.environ['HOME'] + '/sub/out.bin', 'wb').write(data)\n"
            )
            found = self._run(tmp_path, source, outputs=("sub/out.bin", "never.txt"))
            assert found.stdout == bytes(range(256)).decode("utf-8", "replace")
            assert [(file.path, file.data) for file in found.files] == [("sub/out.bin", bytes(range(256)))]
            assert [path for path, _ in found.refused_files] == ["never.txt"]

    def test_outputs_are_not_read_through_links(self, tmp_path: Path) -> None:
        if self.executes:
            secret = tmp_path / "secret.txt"
            secret.write_text("secret")
            source = (
                "import os, sys\nos.chdir(os.environ['HOME'])\nos.symlink(sys.argv[1], 'link.txt')\n"
                "os.symlink(os.path.dirname(sys.argv[1]), 'folder')\nos.mkfifo('fifo')\nos.mkdir('real')\n"
                "open('first', 'w').write('x')\nos.link('first', 'hard')\n"
            )
            outputs = ("link.txt", "folder/secret.txt", "fifo", "real", "hard")
            found = self._run(tmp_path, source, arguments=(str(secret),), outputs=outputs)
            assert found.ok, found.stderr
            assert (found.files, {path for path, _ in found.refused_files}) == ((), set(outputs))
            self._refused(tmp_path, RefusedError, outputs=("../secret.txt",))

    def test_the_environment_is_clean(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import json, os\nprint(json.dumps(dict(os.environ)))\n"
            given = {"COLOUR": "a 'b'\nc"}
            seen = json.loads(self._run(tmp_path, source, environment=given, secrets={"API_KEY": "k"}).stdout)
            own = {"PATH", "LANG", "TZ", "HOME", "TMPDIR", "SKILL_DIR", "PYTHONPYCACHEPREFIX"}
            assert {name: seen[name] for name in ("COLOUR", "API_KEY")} == {**given, "API_KEY": "k"}
            # PWD and _ are set by shells, LC_CTYPE by Python.
            assert set(seen) <= {*own, "COLOUR", "API_KEY", "PWD", "_", "LC_CTYPE"}
            assert (seen["HOME"], seen["SKILL_DIR"]) == (seen["TMPDIR"], str((tmp_path / "tried").resolve()))

    def test_a_script_reads_its_skill_and_inputs_and_changes_neither(self, tmp_path: Path) -> None:
        if self.executes:
            given = tmp_path / "a, b:c.txt"
            given.write_text("given")
            source = (
                "import os, sys\nprint(open(sys.argv[1]).read(), os.path.basename(os.getcwd()))\n"
                "for path in (sys.argv[1], os.environ['SKILL_DIR'] + '/SKILL.md', __file__):\n"
                "    try:\n        open(path, 'a').write('x')\n        print('changed')\n"
                "    except OSError:\n        print('kept')\n"
            )
            found = self._run(tmp_path, source, arguments=(str(given),), inputs=(str(given),))
            assert found.stdout == "given tried\nkept\nkept\nkept\n", found.stderr
            assert given.read_text() == "given"

    def test_nothing_of_a_run_is_left_for_the_next(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import os\nprint(os.path.exists(os.environ['HOME'] + '/mark'))\nopen(os.environ['HOME'] + '/mark', 'w')\n"
            assert [self._run(tmp_path, source).stdout for _ in range(2)] == ["False\n", "False\n"]

    def test_a_script_that_takes_too_long_is_ended(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import time\nprint('started', flush=True)\ntime.sleep(600)\n"
            for seconds in (0.5, 5, 30):  # on a busy machine it may not have started before
                found = self._run(tmp_path, source, limits=Limits(seconds=seconds))
                assert (found.exit_code, found.timed_out, found.stop_reason) == (None, True, "time")
                if found.stdout:
                    break
            assert found.stdout == "started\n"

    def test_output_over_the_limit_is_dropped_and_flagged(self, tmp_path: Path) -> None:
        if self.executes:
            source = "import sys\nsys.stdout.write('a' * 600)\nsys.stdout.flush()\nsys.stderr.write('b' * 600)\n"
            found = self._run(tmp_path, source, limits=Limits(output_bytes=1000))
            assert (found.exit_code, len(found.stdout) + len(found.stderr)) == (0, 1000)
            assert found.stdout_truncated or found.stderr_truncated
            flood = self._run(tmp_path, "while True: print('x' * 1000)\n", limits=Limits(output_bytes=1000))
            assert (flood.exit_code, flood.stop_reason, len(flood.stdout)) == (None, "output", 1000)

    def test_files_descriptors_and_scratch_are_limited(self, tmp_path: Path) -> None:
        if self.executes:
            source = (
                "import os\nhome = os.environ['HOME']\ndef tried(what):\n    try:\n        what()\n        return 'ok'\n"
                "    except OSError as error:\n        return error.errno is not None\n"
                "print(tried(lambda: open(home + '/big', 'wb').write(bytes(2 << 20))))\n"
                "print(tried(lambda: [os.open(home, os.O_RDONLY) for _ in range(100)]))\n"
            )
            found = self._run(tmp_path, source, limits=Limits(file_bytes=1 << 20, open_files=64))
            assert found.stdout == "True\nTrue\n", found.stderr
            fill = (
                "import os, time\nfor n in range(16):\n    open(os.environ['HOME'] + f'/{n}', 'wb').write(bytes(1 << 20))\n"
                "time.sleep(60)\n"
            )
            full = self._run(tmp_path, fill, limits=Limits(scratch_bytes=4 << 20))
            assert full.stop_reason == "scratch" or "No space left" in full.stderr

    def test_memory_and_processes_are_limited(self, tmp_path: Path) -> None:
        if self.executes:
            limits = Limits(memory_bytes=128 << 20, processes=16, seconds=60)
            assert not self._run(tmp_path, "held = bytearray(b'x') * (512 << 20)\n", limits=limits).ok
            forks = (
                "import subprocess, sys, time\nheld = [subprocess.Popen(['sleep', '60']) for _ in range(64)]\ntime.sleep(60)\n"
            )
            assert not self._run(tmp_path, forks, limits=limits).ok

    def test_no_process_outlives_the_run(self, tmp_path: Path) -> None:
        if self.executes:
            source = (
                "import subprocess\nquiet = subprocess.DEVNULL\n"
                "subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=quiet, stderr=quiet)\n"
                "subprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('left')\n"
            )
            found = self._run(tmp_path, source)  # it would wait for the second one's output
            assert (found.exit_code, found.stdout) == (0, "left\n")

    def test_a_cancelled_run_ends(self, tmp_path: Path) -> None:
        if self.executes:
            run_now(self._cancel(tmp_path))

    async def _cancel(self, folder: Path) -> None:
        skill = skill_folder(folder, "tried", files={"scripts/go.py": "import time\ntime.sleep(600)\n"})
        runner = self.new_runner()
        run = ScriptRun(folder=str(skill), script="scripts/go.py", limits=Limits(seconds=600))
        for pause in (0.0, 0.05, 1.0):
            task = asyncio.ensure_future(runner.run(run))
            await asyncio.sleep(pause)
            task.cancel()
            done = (await asyncio.gather(task, return_exceptions=True))[0]
            assert isinstance(done, asyncio.CancelledError)

    def test_runs_at_the_same_time_do_not_mix(self, tmp_path: Path) -> None:
        if self.executes:
            run_now(self._at_once(tmp_path))

    async def _at_once(self, folder: Path) -> None:
        source = (
            "import os, sys, time\nhome = os.environ['HOME']\nprint(os.path.exists(home + '/mine'), sys.argv[1])\n"
            "open(home + '/mine', 'w').write(sys.argv[1])\ntime.sleep(0.2)\n"
        )
        skill = skill_folder(folder, "tried", files={"scripts/go.py": source})
        runner = self.new_runner()
        runs = [
            ScriptRun(folder=str(skill), script="scripts/go.py", arguments=(str(number),), outputs=("mine",))
            for number in range(6)
        ]
        for number, found in enumerate(await asyncio.gather(*map(runner.run, runs))):
            assert (found.stdout, found.files[0].data) == (f"False {number}\n", str(number).encode())

    def _gives(self, folder: Path, field: str, /, **options: Any) -> bool:  # Any: fields of Run
        """Returns True if the runner implements a field. If not, a run with it must be refused."""
        given = field in self.gives
        if self.executes and given and field == "hosts":
            given = self._run(folder).isolation.level is IsolationLevel.NAMESPACE
        if self.executes and not given:
            self._refused(folder, MetierError, **options)
        return self.executes and given

    def test_a_program_can_be_given_as_bytes(self, tmp_path: Path) -> None:
        options: dict[str, Any] = {
            "folder": "",
            "script": "code.py",
            "code": b"import sys\nprint(sys.argv[1:])\n",
            "arguments": ("a",),
        }
        if self._gives(tmp_path, "code", **options):
            assert self._run(tmp_path, **options).stdout == "['a']\n"

    def test_a_workspace_is_read_below_and_written_in_a_layer(self, tmp_path: Path) -> None:
        workspace = Workspace(_project(tmp_path))
        try:
            if self._gives(tmp_path, "workspace", workspace=workspace.mount()):
                self._check_workspace(tmp_path, workspace)
        finally:
            workspace.close()

    def _check_workspace(self, folder: Path, workspace: Workspace) -> None:
        source = (
            "import os\nprint(sorted(os.listdir()), os.path.basename(os.getcwd()) != 'tried')\n"
            "print(open('notes.txt').read())\n"
            "open('new.txt', 'w').write('new')\nopen('notes.txt', 'w').write('changed')\nos.remove('sub/old.txt')\n"
            "os.makedirs('made/below')\nopen('made/below/x', 'w').write('x')\n"
        )
        before = _state(Path(workspace.folder))
        found = self._run(folder, source, workspace=workspace.mount())
        assert found.stdout == "['notes.txt', 'sub'] True\nnotes\n", found.stderr
        assert _state(Path(workspace.folder)) == before
        kinds = {change.path: change.kind.value for change in workspace.changes() if not change.is_folder}
        made = {"made/below/x": "created", "new.txt": "created", "notes.txt": "changed", "sub/old.txt": "deleted"}
        assert kinds == made
        # A later run sees what an earlier one wrote.
        assert self._run(folder, "print(open('new.txt').read())\n", workspace=workspace.mount()).stdout == "new\n"
        assert workspace.apply().refused == ()
        after = _state(Path(workspace.folder))
        assert {path: data for path, data in after.items() if data} == {
            ".env": b"secret", "made/below/x": b"x", "new.txt": b"new", "notes.txt": b"changed",
        }  # fmt: skip

    def test_a_workspace_can_be_only_read(self, tmp_path: Path) -> None:
        workspace = Workspace(_project(tmp_path), write=False)
        try:
            if self._gives(tmp_path, "workspace", workspace=workspace.mount()):
                source = "print(open('notes.txt').read(), flush=True)\nopen('new.txt', 'w')\n"
                found = self._run(tmp_path, source, workspace=workspace.mount())
                assert (found.stdout, found.ok, workspace.changes()) == ("notes\n", False, ())
        finally:
            workspace.close()

    def test_runs_at_the_same_time_work_in_the_same_workspace(self, tmp_path: Path) -> None:
        workspace = Workspace(_project(tmp_path))
        try:
            if self._gives(tmp_path, "workspace", workspace=workspace.mount()):
                run_now(self._meet(tmp_path, workspace))
        finally:
            workspace.close()

    async def _meet(self, folder: Path, workspace: Workspace) -> None:
        source = (
            "import os, sys, time\nmine, theirs = sys.argv[1:]\nprint(os.path.exists(theirs + '.met'))\n"
            "open(mine, 'w').close()\n"
            "while not os.path.exists(theirs): time.sleep(0.01)\nopen(mine + '.met', 'w').close()\n"
            "while not os.path.exists(theirs + '.met'): time.sleep(0.01)\nprint('met')\n"
        )
        skill = skill_folder(folder, "tried", files={"scripts/go.py": source})
        run = ScriptRun(folder=str(skill), script="scripts/go.py", workspace=workspace.mount())
        runs = [replace(run, arguments=words) for words in (("a", "b"), ("b", "a"))]
        runner = self.new_runner()
        assert [found.stdout for found in await asyncio.gather(*map(runner.run, runs))] == ["False\nmet\n"] * 2

    def test_only_granted_hosts_are_reached_and_a_masked_secret_is_not_seen(self, tmp_path: Path) -> None:
        with _listening() as (granted, got), _listening() as (other, nothing):
            place = f"localhost:{granted}"
            secret = MaskedSecret(name="API_KEY", value="value-of-the-secret", hosts=(place,))
            options = {"hosts": (place,), "masked": (secret,), "arguments": (str(granted), str(other))}
            if not self._gives(tmp_path, "hosts", **options):
                return
            found = self._run(tmp_path, _ASKS, **options)
        assert found.ok, found.stderr
        assert "value-of-the-secret" not in found.stdout
        assert [line[:12] for line in found.stdout.splitlines()] == ["HTTP/1.1 200", "HTTP/1.1 403", "refused", "refused"]
        assert (b"value-of-the-secret" in b"".join(got), nothing) == (True, [])
        assert {(each.host, each.decision) for each in found.connections} >= {
            ("localhost", ConnectionDecision.ALLOWED), ("localhost", ConnectionDecision.REFUSED),
        }  # fmt: skip

    def test_prepared_packages_are_imported_and_not_changed(self, tmp_path: Path) -> None:
        packages = tmp_path / "packages"
        packages.mkdir()
        (packages / "shout.py").write_text("WORD = 'loud'\n")
        mount = PackageMount(kind=PackageEcosystem.PYTHON, folder=str(packages), python=sys.executable)
        if self._gives(tmp_path, "packages", packages=mount):
            source = "import shout\nprint(shout.WORD, flush=True)\nopen(shout.__file__, 'a').write('x')\n"
            found = self._run(tmp_path, source, packages=mount)
            assert (found.stdout, found.ok) == ("loud\n", False)
            assert (packages / "shout.py").read_text() == "WORD = 'loud'\n"

    def test_a_level_that_the_runner_does_not_reach_is_refused(self, tmp_path: Path) -> None:
        if self.executes:
            reached = self._run(tmp_path).isolation.level
            for level in IsolationLevel:
                if level.strength > reached.strength:
                    self._refused(tmp_path, RefusedError, limits=Limits(require=level))


# It asks the granted service through the proxy, then another one, then both without the proxy.
_ASKS = """
import os, socket, sys
granted, other = sys.argv[1:]
def ask(address, port, path):
    try:
        with socket.create_connection((address, int(port)), timeout=20) as link:
            lines = [f"GET {path} HTTP/1.1", f"Host: {path[7:] or 'x'}", f"X-Key: {os.environ['API_KEY']}", "Connection: close"]
            link.sendall("\\r\\n".join([*lines, "", ""]).encode())
            return link.recv(4096).decode().splitlines()[0]
    except (OSError, IndexError):
        return "refused"
host, port = os.environ["HTTP_PROXY"].removeprefix("http://").split(":")
print(ask(host, port, f"http://localhost:{granted}"))
print(ask(host, port, f"http://localhost:{other}"))
print(ask("127.0.0.1", other, "/"))
print(ask("169.254.169.254", 80, "/"))
"""


def _project(folder: Path) -> Path:
    project = folder / "project"
    (project / "sub").mkdir(parents=True)
    for name, text in (("notes.txt", "notes"), ("sub/old.txt", "old"), (".env", "secret")):
        (project / name).write_text(text)
    return project


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@contextmanager
def _listening() -> Iterator[tuple[int, list[bytes]]]:
    """Yields the port of a web server of this machine, and the requests that it got."""
    got: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.settimeout(20)
                got.append(client.recv(1 << 16))
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], got
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
