from __future__ import annotations

import pytest

from metier.app.release_scan import RUN_UPLOADS, scan_and_run_release
from metier.registry import ScanStatus, ServerOptions
from metier.registry.domain.admission import scan_release
from metier.registry.domain.rescans import named_scanner
from metier.runtime import IsolationLevel, Runner
from metier.spec import MemoryFiles
from runtime.behaviour.attacks import attacks, honest_skills

needs_namespace = pytest.mark.skipif(
    Runner(level=IsolationLevel.NAMESPACE).best() is None, reason="this machine has no namespaces"
)


def test_the_options_name_the_scanner_and_the_rules_alone_are_the_default() -> None:
    assert named_scanner(ServerOptions(db="sqlite:///x", blobs="file:///x").scanner) is scan_release
    assert named_scanner(RUN_UPLOADS) is scan_and_run_release


@needs_namespace
def test_an_upload_that_reading_passes_is_blocked_with_its_proof() -> None:
    attack = next(each for each in attacks() if each.name == "login key in shell, staged")
    files = MemoryFiles({path: text.encode() for path, text in attack.files.items()})
    assert scan_release(files, name="count-notes").verdict is not ScanStatus.BLOCK
    result = scan_and_run_release(files, name="count-notes")
    assert result.verdict is ScanStatus.BLOCK
    messages = {problem.code: problem.message for problem in result.problems}
    assert messages["SK924"].startswith("adds a key that may log in; proof: ssh-ed25519 ")
    assert messages["SK932"].startswith("run twice, 5 steps: found")


@needs_namespace
def test_an_honest_upload_passes_with_a_summary() -> None:
    name, files = next(iter(honest_skills()))
    result = scan_and_run_release(MemoryFiles({path: text.encode() for path, text in files.items()}), name=name)
    assert result.verdict is ScanStatus.PASS
    assert [problem.code for problem in result.problems] == ["SK932"]
