"""Runs the conformance suite on each adapter, and writes the table of supported features.

uv run python tools/frameworks.py                      runs every scenario and writes the table into docs/frameworks/README.md
uv run python tools/frameworks.py --transcript NAME    prints one whole activation with a script, as the model saw it
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from adapters.claude_suites import ClaudeFiles, ClaudeServer  # noqa: E402
from adapters.suites import SUITES  # noqa: E402
from metier.adapters import Skills  # noqa: E402
from metier.runtime import Permissions, Policy  # noqa: E402
from metier.testing.adapters import AdapterConformance, Mode, scenarios, support  # noqa: E402
from metier.testing.model import says  # noqa: E402

PAGE = ROOT / "docs" / "frameworks" / "README.md"
ALLOWING = Permissions(policy=Policy.of(allow=["Bash(python3:*)"]))
BEGIN, END = "<!-- from tools/frameworks.py -->", "<!-- end -->"
ALL: Mapping[str, type[AdapterConformance]] = {
    **SUITES,
    "Claude Agent SDK, tools": ClaudeServer,
    "Claude Agent SDK, files": ClaudeFiles,
}
SHORT = {
    "the_catalog_is_disclosed_beside_the_owners_instructions": "catalog disclosed",
    "without_skills_nothing_is_said_or_offered": "nothing when empty",
    "an_activation_returns_the_instructions_and_adds_tools": "activation",
    "a_repeated_activation_says_so_in_one_sentence": "repeat activation",
    "a_resource_is_read": "resource read",
    "no_path_leads_out_of_a_skill": "traversal refused",
    "a_script_runs_confined_and_within_limits": "script run with limits",
    "a_failure_is_reported_to_the_model_and_the_conversation_continues": "errors reported to the model",
    "a_disabled_skill_is_hidden": "disabled hidden",
    "skills_over_the_limit_are_unloaded_and_the_model_is_notified": "max active",
    "every_step_is_an_event": "events emitted",
    "the_owners_own_tools_work_beside_the_skills": "own tools beside",
    "two_conversations_do_not_share_active_skills": "conversations apart",
    "a_skill_that_the_user_activated_is_in_the_prompt": "activated by the user",
    "a_whole_activation_works_in_every_mode": "every mode",
}


def table(results: Mapping[str, Mapping[str, str]]) -> str:
    """Returns the table. `results` are by adapter and scenario: yes, or the reason."""
    names = list(results)
    lines = ["| |" + "|".join(f" {name} " for name in names) + "|", "|---|" + "---|" * len(names)]
    notes: list[str] = []
    for scenario in scenarios():
        cells = [_cell(results[name][scenario], notes) for name in names]
        lines.append(f"| {SHORT[scenario]} | " + " | ".join(cells) + " |")
    for mode in Mode:
        cells = [
            "✓" if mode in ALL[name].modes and results[name]["a_whole_activation_works_in_every_mode"] == "yes" else "–"
            for name in names
        ]
        lines.append(f"| {mode} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{number}. {note}." for number, note in enumerate(notes, start=1))]).rstrip()


def _cell(result: str, notes: list[str]) -> str:
    if result == "yes":
        return "✓"
    if result not in notes:
        notes.append(result)
    return f"[{notes.index(result) + 1}]"


def claimed() -> dict[str, dict[str, str]]:
    """Returns the results that the suites declare, without a run. A test compares the page with them."""
    return {name: {each: suite.left_to_host.get(each, "yes") for each in scenarios()} for name, suite in ALL.items()}


def transcript(name: str) -> str:
    """Returns one activation with a script, from the model's first request to its last answer."""
    suite = ALL[name]()
    run = suite.run("chart", "Oslo")
    if isinstance(suite, ClaudeFiles):
        run = suite.call("Bash", command=f"python3 {suite.path('chart/scripts/draw.py')} Oslo", description="Draw the chart")
    script = [suite.load("chart"), run, says("Oslo is drawn.")]
    with (
        tempfile.TemporaryDirectory() as folder,
        suite.agent(Path(folder), script, head="allowed-tools: Bash(python3:*)") as agent,
    ):
        # A file of Claude's is run by Claude, if skill and policy both allow it.
        agent.skills = Skills(agent.skills.catalog, services=replace(agent.services, permissions=ALLOWING))
        [answer] = agent.asks("Draw Oslo.")
        lines = [f"=== {name}"]
        known = 0
        for number, asked in enumerate(agent.model.requests, start=1):
            tools = ", ".join(tool for tool in asked.tools if "skill" in tool or "chart" in tool or tool == "weather")
            lines.append(f"--- request {number}: user {asked.user!r}; tools: {tools}")
            lines += [f"tool answered: {text}" for text in asked.results[known:]]
            known = len(asked.results)
        lines += [f"--- answer: {answer}", f"events: {', '.join(agent.events.kinds)}"]
        return "\n".join(lines).replace(folder, "…")


def main() -> None:
    if "--transcript" in sys.argv:
        wanted = sys.argv[sys.argv.index("--transcript") + 1 :] or list(ALL)
        print("\n\n".join(map(transcript, wanted)))
        return
    results = {}
    for name, suite in ALL.items():
        results[name] = dict(support(suite))
        print(f"{name}: {sum(result == 'yes' for result in results[name].values())} of {len(results[name])}", flush=True)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{table(results)}\n{END}", text, flags=re.DOTALL), encoding="utf-8"
    )
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
