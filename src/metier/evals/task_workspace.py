"""The workspace of one task of an eval: files to read, files to write, and tools for both.

Both variants of an eval get the same workspace, so that only the skill differs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from metier.disclosure import escape_output, one_line
from metier.errors import RefusedError, plural
from metier.runtime import (
    Limits,
    Outcome,
    OutputFile,
    PackageProvider,
    Schema,
    ScriptRun,
    ScriptRunner,
    Tool,
    ToolFunction,
    ToolReply,
    object_schema,
)
from metier.sources import DiskFiles
from metier.spec import Json, resource_path
from metier.values import dataclass, replace

__all__ = ["TaskWorkspace"]

_BENCH = os.path.join(os.path.dirname(__file__), "bench")
_LARGEST = 1 << 20
_MOST_FILES = 50
_MOST_READ = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWorkspace:
    inputs: str
    """The folder of the task's files, which are never changed."""
    outputs: str
    runner: ScriptRunner
    limits: Limits
    packages: PackageProvider | None = None
    """Prepares the packages that the skill's scripts declare."""

    def tools(self) -> tuple[Tool, ...]:
        path, text, code = _text("A plain relative path."), _text("The whole content."), _text("Python 3, standard library.")
        names: Schema = {"type": "array", "items": {"type": "string"}, "description": "Files that it writes and that are kept."}
        write = {"path": path, "content": text}
        return (
            _tool("list_files", "List the files of the task, and those you have written.", {}, (), self._list),
            _tool("read_file", "Read one of them.", {"path": path}, ("path",), self._read),
            _tool("write_file", "Write a file as part of the result.", write, ("path", "content"), self._write),
            _tool(
                "run_python", "Run Python in a sandbox, beside the files.", {"code": code, "keep": names}, ("code",), self._run
            ),
        )

    def written(self) -> Iterator[tuple[str, str]]:
        """Every file of the result with its text, shortened; `(binary)` for other files."""
        files = DiskFiles(self.outputs)
        for entry in list(files.list())[:_MOST_FILES]:
            data = files.read(entry.path, limit=1 << 26)
            try:
                yield entry.path, data.decode("utf-8")[:_MOST_READ]
            except UnicodeDecodeError:
                yield entry.path, f"(binary, {plural(len(data), 'byte')})"

    def around(self, runner: ScriptRunner) -> ScriptRunner:
        """A runner for the skill's own scripts: they can read the workspace's files and add to them."""
        return _WorkspaceRunner(self, runner)

    def keep(self, produced: OutputFile) -> None:
        self._put(produced.path, produced.data)

    async def _list(self, _: dict[str, Json]) -> ToolReply:
        rows = [
            f"{one_line(entry.path)}  {plural(entry.size, 'byte')}"
            for folder in (self.inputs, self.outputs)
            for entry in DiskFiles(folder).list()
        ]
        return ToolReply(text=escape_output("\n".join(rows)) or "There are no files.")

    async def _read(self, arguments: dict[str, Json]) -> ToolReply:
        path = resource_path(str(arguments["path"]))
        folder = self.outputs if os.path.lexists(os.path.join(self.outputs, path)) else self.inputs
        return ToolReply(
            text=escape_output(DiskFiles(folder).read(path, limit=_LARGEST).decode("utf-8", "replace")[:_MOST_READ])
        )

    async def _write(self, arguments: dict[str, Json]) -> ToolReply:
        self._put(str(arguments["path"]), str(arguments["content"]).encode("utf-8", "replace"))
        return ToolReply(text="written")

    async def _run(self, arguments: dict[str, Json]) -> ToolReply:
        keep = arguments.get("keep")
        names = tuple(map(str, keep)) if isinstance(keep, list) else ()
        plan = {"code": arguments["code"], "folders": [self.inputs, self.outputs]}
        run = ScriptRun(
            folder=_BENCH, script="scripts/snippet.py", stdin=json.dumps(plan).encode(), inputs=(self.inputs, self.outputs),
            outputs=names, limits=self.limits,
        )  # fmt: skip
        outcome = await self.runner.run(run)
        for file in outcome.files:
            self.keep(file)
        return ToolReply(text=_describe(outcome), ok=outcome.ok, outcome=outcome)

    def _put(self, name: str, data: bytes) -> None:
        path = resource_path(name)
        if len(data) > _LARGEST:
            raise RefusedError(f"{path!r} would be larger than {_LARGEST:,} bytes", rule="output-size", hint="write less")
        if sum(1 for _ in DiskFiles(self.outputs).list()) >= _MOST_FILES:
            raise RefusedError(f"there are {_MOST_FILES} files already", rule="output-count", hint="put more into one file")
        file = os.path.join(self.outputs, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as stream:
            stream.write(data)


class _WorkspaceRunner:
    def __init__(self, workspace: TaskWorkspace, runner: ScriptRunner) -> None:
        self._workspace = workspace
        self._runner = runner

    async def run(self, run: ScriptRun) -> Outcome:
        # A script gets its output paths as arguments, and only files named in advance can be collected.
        named = {os.path.basename(word.rpartition("=")[2]) for word in run.arguments if "." in os.path.basename(word)}
        outputs = tuple(sorted({*run.outputs, *(name for name in named if not name.startswith("."))}))[:20]
        outcome = await self._runner.run(
            replace(run, inputs=(*run.inputs, self._workspace.inputs, self._workspace.outputs), outputs=outputs)
        )
        for file in outcome.files:
            self._workspace.keep(file)
        return outcome


def _describe(outcome: Outcome) -> str:
    parts = [escape_output(outcome.stdout[:_MOST_READ]), escape_output(outcome.stderr[-2_000:])]
    ended = "timed out" if outcome.timed_out else f"exit code {outcome.exit_code}"
    parts += [f"{path} was not kept: {why}" for path, why in outcome.refused_files]
    return "\n".join([*(part for part in parts if part.strip()), f"[{ended}]"])


def _tool(name: str, about: str, properties: dict[str, Schema], required: tuple[str, ...], work: ToolFunction) -> Tool:
    return Tool(name=name, description=about, schema=object_schema(properties, required), function=work)


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}
