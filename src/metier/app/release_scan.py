"""The scan of an upload that also runs it, for registries that ask for it."""

from __future__ import annotations

import asyncio

from metier.registry import ReleaseScan, ScanStatus, WorkLimits
from metier.runtime.behaviour import BehaviourReport, observe_skill, with_behaviour
from metier.scan import Confidence, Finding, ScanReach, scan
from metier.spec import Files
from metier.values import replace

__all__ = ["RUN_LIMITS", "RUN_UPLOADS", "scan_and_run_release"]

RUN_UPLOADS = f"{__name__}:scan_and_run_release"
"""For `ServerOptions.scanner`."""
RUN_LIMITS = WorkLimits(check_seconds=120.0, memory_bytes=4 * 1024**3)
"""For `ServerOptions.work`: the run is bounded by itself, and programs such as Node.js reserve more memory than a check."""


def scan_and_run_release(files: Files, *, name: str) -> ReleaseScan:
    """Scans an upload, runs it in the sandbox, and reports both. The summary of the run is a finding of its own."""
    seen = asyncio.run(observe_skill(files, name))
    report = with_behaviour(scan(files, folder=name), seen)
    report = replace(report, findings=(*(_with_proof(finding) for finding in report.findings), _summary(seen)))
    return ReleaseScan(ScanStatus(report.verdict.value), tuple(report.report))


def _with_proof(finding: Finding) -> Finding:
    is_observed = finding.rule.category == "observed" and finding.excerpt
    return replace(finding, message=f"{finding.message}; proof: {finding.excerpt}") if is_observed else finding


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number} steps"


def _summary(seen: BehaviourReport) -> Finding:
    parts = [f"run twice, {_steps(seen.steps)}: {seen.outcome}" if seen.steps else seen.outcome.value]
    parts += [f"connected to {', '.join(seen.hosts[:6])}"] if seen.hosts else []
    parts += [f"not decided because {reason}" for reason in seen.undecided]
    return Finding(code="SK932", message="; ".join(parts), confidence=Confidence.LOW, reach=ScanReach.SKILL)
