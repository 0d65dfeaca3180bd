"""The folder with the results of output evals, in the layout of the standard's pages and skill-creator.

<skill>-workspace/
├── skill-snapshot/                     the old skill, with --baseline
└── iteration-N/
    ├── benchmark.json, feedback.json, report.html
    └── <eval-name>/
        ├── inputs/
        └── with_skill | without_skill | old_skill/      with several runs, run-1/ … below
            └── outputs/, timing.json, grading.json, transcript.json
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from metier.errors import ConflictError
from metier.sources import DiskFiles, inner_folder, replace_bytes
from metier.spec import OwnFiles

from .files import EvalCase
from .summary import GradedRun

__all__ = ["ResultsFolder"]

_MOST_ITERATIONS = 10_000
_LAST_OF_A_RUN = "transcript.json"


class ResultsFolder:
    """One iteration of one skill's evals. Earlier iterations are never changed.

    If it is left early, by Ctrl-C or a failure of the model, it keeps the finished runs, which may have cost money, and removes
    the others.
    """

    def __init__(self, folder: str, *, runs: int, inside: str | None = None) -> None:
        """`inside` is the project that no link may leave."""
        self.folder = os.path.abspath(folder)
        with inner_folder(self.folder, inside=inside, create=True):
            pass
        self._runs = runs
        self._started: list[str] = []
        self.iteration = self._next()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            return
        ended = [place for place in self._started if os.path.exists(os.path.join(place, _LAST_OF_A_RUN))]
        cases = [os.path.join(self.iteration, case) for case in os.listdir(self.iteration)] if ended else [self.iteration]
        for folder in (*cases, *self._started):
            if not any(os.path.commonpath((place, folder)) == folder for place in ended):
                shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # it holds earlier iterations
            os.rmdir(self.folder)

    def snapshot(self, skill: str) -> str:
        """Copies the old skill, so that it can be inspected later."""
        target = os.path.join(self.folder, "skill-snapshot")
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target)
        _copy(skill, target, [entry.path for entry in OwnFiles(DiskFiles(skill)).list()])
        return target

    def inputs(self, case: EvalCase, skill: str) -> str:
        """Copies the files of a case, so that a run cannot change the originals."""
        target = os.path.join(self.iteration, case.name, "inputs")
        os.makedirs(target, exist_ok=True)
        for path in case.files:
            self._write(os.path.join(target, os.path.basename(path)), DiskFiles(skill).read(path, limit=1 << 26))
        return target

    def outputs(self, case: EvalCase, variant: str, run: int) -> str:
        self._started.append(place := self._place(case.name, variant, run))
        os.makedirs(target := os.path.join(place, "outputs"))
        return target

    def record(self, done: GradedRun) -> None:
        """Writes the timing, grading and transcript of one run."""
        place = self._place(done.case, done.variant, done.run)
        grades = [grade.data() for grade in done.grades]
        passed = sum(grade.passed for grade in done.grades)
        counts = {"passed": passed, "failed": len(grades) - passed, "total": len(grades), "pass_rate": round(done.pass_rate, 3)}
        timing = {"total_tokens": done.result.tokens, "duration_ms": round(done.result.seconds * 1000)}
        self._json(place, "timing.json", timing)
        self._json(place, "grading.json", {"assertion_results": grades, "summary": counts})
        self._json(place, _LAST_OF_A_RUN, list(done.result.transcript))

    def finish(self, benchmark: dict[str, Any], cases: Sequence[EvalCase], page: str) -> None:
        self._json(self.iteration, "benchmark.json", benchmark)
        self._json(self.iteration, "feedback.json", {case.name: "" for case in cases})
        self._write(os.path.join(self.iteration, "report.html"), page.encode())

    def _place(self, case: str, variant: str, run: int) -> str:
        below = (f"run-{run}",) if self._runs > 1 else ()
        return os.path.join(self.iteration, case, variant, *below)

    def _next(self) -> str:
        """Creates the folder of the next iteration; concurrent evaluations get different ones."""
        for number in range(1, _MOST_ITERATIONS):
            try:
                os.makedirs(place := os.path.join(self.folder, f"iteration-{number}"))
            except FileExistsError:
                continue
            return place
        raise ConflictError(f"{self.folder} holds {_MOST_ITERATIONS:,} iterations", hint="delete some of them")

    def _json(self, folder: str, name: str, document: object) -> None:
        self._write(
            os.path.join(folder, name), (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        )

    def _write(self, file: str, data: bytes) -> None:
        replace_bytes(file, data, mode=0o644, inside=self.folder)


def _copy(source: str, target: str, paths: Sequence[str]) -> None:
    for path in paths:
        replace_bytes(os.path.join(target, path), DiskFiles(source).read(path, limit=1 << 26), mode=0o644, inside=target)
