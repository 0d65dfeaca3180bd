"""Skills are run for real, in the sandbox: attacks are found with their proof, honest skills are not."""

from __future__ import annotations

import asyncio
import os

import pytest

from metier.errors import RefusedError
from metier.runtime import IsolationLevel, Runner
from metier.runtime.behaviour import BehaviourOutcome, BehaviourReport, observe_skill, with_behaviour
from metier.runtime.sandbox.plan import SandboxFeatures
from metier.scan import ScanVerdict, scan
from metier.spec import MemoryFiles
from runtime.behaviour.attacks import Attack, attacks, honest_skills

FULL = bool(os.environ.get("METIER_FULL"))
RUNNER = Runner(level=IsolationLevel.NAMESPACE)
needs_namespace = pytest.mark.skipif(RUNNER.best() is None, reason="this machine has no namespaces")

CHOSEN = (
    "key to a web server in python, staged",
    "history by name queries in javascript, keyed to the environment",
    "wallet over raw TCP in shell, by date",
    "remote shell in shell, delayed",
)
"""In every run; METIER_FULL=1 runs all of them."""


def observed(files: dict[str, str], name: str = "count-notes") -> BehaviourReport:
    return asyncio.run(observe_skill(MemoryFiles({path: text.encode() for path, text in files.items()}), name, runner=RUNNER))


def test_there_are_more_than_150_attacks_in_three_languages() -> None:
    found = list(attacks())
    assert len(found) > 150
    assert len({attack.name for attack in found}) == len(found)
    assert {attack.language for attack in found} == {"python", "shell", "javascript"}


@needs_namespace
@pytest.mark.parametrize("attack", [each for each in attacks() if FULL or each.name in CHOSEN], ids=lambda attack: attack.name)
def test_an_attack_is_found(attack: Attack) -> None:
    report = observed(attack.files)
    assert [finding.code for finding in report.findings if finding.verdict is ScanVerdict.BLOCK]


@needs_namespace
@pytest.mark.parametrize(("name", "files"), list(honest_skills()), ids=lambda value: value if isinstance(value, str) else "")
def test_an_honest_skill_is_not(name: str, files: dict[str, str]) -> None:
    report = observed(files, "honest")
    assert [finding for finding in report.findings if finding.verdict is not ScanVerdict.PASS] == []
    assert report.outcome in (BehaviourOutcome.CLEAN, BehaviourOutcome.UNDECIDED)


@needs_namespace
def test_the_proof_names_the_file_the_host_and_the_form() -> None:
    attack = next(each for each in attacks() if each.name == "key to a web server in python, delayed")
    report = observed(attack.files)
    assert [(each.what, each.host) for each in report.sent] == [("~/.ssh/id_rsa", "drop.quarvex.test")]
    assert report.slept == 86_400
    assert report.reads == ("~/.ssh/id_rsa",)
    finding = next(finding for finding in report.findings if finding.code == "SK921")
    assert finding.file == "scripts/count.py"
    assert finding.excerpt.startswith("POST https://drop.quarvex.test/v")
    # That the key was read needs no finding of its own.
    assert "SK926" not in {each.code for each in report.findings}


@needs_namespace
def test_made_up_answers_are_never_clean() -> None:
    files = dict(next(files for name, files in honest_skills() if name.startswith("sends its own key")))
    report = observed(files, "forecast")
    assert report.outcome is BehaviourOutcome.UNDECIDED
    assert report.undecided == ("the answers of api.weather.test were made up",)
    assert report.sent == ()


@needs_namespace
def test_a_step_cannot_end_the_observer_and_what_it_does_before_is_known() -> None:
    ways = (
        "os.kill(os.getppid(), 9)", "os.kill(-1, 9)", "os.killpg(os.getpgid(os.getppid()), 9)",
        "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)",
    )  # fmt: skip
    script = "import os, signal\nopen(os.path.expanduser('~/.ssh/id_rsa')).read()\n"
    script += "".join(f"try:\n    {way}\nexcept OSError:\n    pass\n" for way in ways)
    report = observed({"SKILL.md": "---\nname: a\ndescription: A.\n---\n", "scripts/a.py": script}, "a")
    assert {"SK926", "SK931"} <= {finding.code for finding in report.findings}
    assert not any("ended early" in reason for reason in report.undecided)


@needs_namespace
def test_nothing_leaves_the_sandbox_and_every_step_is_bounded() -> None:
    script = "import os, socket\nsocket.create_connection(('1.1.1.1', 9999), timeout=2).sendall(b'x' * 10)\nwhile True: pass\n"
    report = observed({"SKILL.md": "---\nname: a\ndescription: A.\n---\n", "scripts/a.py": script}, "a")
    assert "1.1.1.1" in report.hosts  # answered by the sinkhole: there is no other network in the namespace
    assert any(reason.startswith("out of time") for reason in report.undecided)


def test_below_namespace_it_is_refused_with_a_hint() -> None:
    runner = Runner(level=IsolationLevel.LANDLOCK, features=SandboxFeatures(abi=0))
    files = MemoryFiles({"SKILL.md": b"---\nname: a\ndescription: A.\n---\n", "scripts/a.py": b"print(1)\n"})
    with pytest.raises(RefusedError, match="needs isolation level namespace") as caught:
        asyncio.run(observe_skill(files, "a", runner=runner))
    assert "bubblewrap" in caught.value.hint


@needs_namespace
def test_behaviour_raises_what_reading_suspected_and_lowers_what_it_feared() -> None:
    files = {
        "SKILL.md": "---\nname: tidy\ndescription: Tidies notes. Use when asked.\n---\n\nRun scripts/tidy.py.\n",
        "scripts/tidy.py": "import base64\nexec(base64.b64decode('cHJpbnQoMSk='))\n",
    }
    files_read = MemoryFiles({path: text.encode() for path, text in files.items()})
    before = scan(files_read, folder="tidy")
    report = observed(files, "tidy")
    assert report.outcome is BehaviourOutcome.CLEAN
    after = with_behaviour(before, report)
    doubted = [finding for finding in before.findings if finding.rule.category == "obfuscation"]
    assert doubted
    lowered = {finding.code: finding.confidence.rank for finding in after.findings}
    assert all(lowered[finding.code] == max(0, finding.confidence.rank - 1) for finding in doubted)

    thief = next(each for each in attacks() if each.name == "key to a web server in shell, plain")
    before = scan(MemoryFiles({path: text.encode() for path, text in thief.files.items()}), folder="count-notes")
    after = with_behaviour(before, observed(thief.files))
    assert after.verdict is ScanVerdict.BLOCK
