"""Evals of skills: trigger evals, output evals, a skill's own tests, conflicts, and better descriptions.

queries = read_queries(DiskFiles(folder))
report = asyncio.run(run_triggers(name, queries, RankerTriggerJudge(selector, entry)))
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .agent.judge import AgentTriggerJudge
    from .agent.proxy import ModelAccess
    from .agent.recorded_answers import NotRecordedError, Recording, open_recording, start_recording
    from .agent.runs import AgentAnswer, AgentRunner, find_program, isolation_note
    from .agent.tasks import AgentTasks
    from .bisect import BisectReport, BisectStep, bisect_versions
    from .conflicts import ConflictReport, SkillConflict, find_conflicts
    from .files import Assertion, EvalCase, EvalFileError, TriggerQuery, balance, meant_for_others, read_cases, read_queries
    from .fit import FitPlan, ShorterDescription, propose_fit, shorter_description
    from .grades import Grade, grade
    from .harbor import HarborExport, export_harbor
    from .html_report import render_html
    from .interpreters import interpreters_with
    from .intervals import wilson_interval
    from .judges import judge_factory
    from .junit import junit_tests, junit_triggers
    from .library_bench import BenchRequest, LibraryBench, bench_library
    from .library_page import render_library_page
    from .missed import SURE_FIT, AgentLibrary, MissedReport, MissedRequest, MissReason, find_missed, is_ranked_request
    from .model_judge import ModelTriggerJudge, NamedDescription
    from .optimize import Candidate, OptimizeResult, SkillOptimization, optimize_description, optimize_skill
    from .outputs import OutputEval, OutputReport, run_outputs
    from .parallel import run_parallel
    from .plan import EvalOptions, EvalPlan, EvalResults, EvalServices, plan_evals, run_evals
    from .proposals import CountedWords, ModelProposals, Propose
    from .query_file import add_queries
    from .ranker_judge import RankerTriggerJudge, RedescribedSkill, selector_with
    from .rankers import MakeRanker, listing_ranker, rankers_here
    from .results_folder import ResultsFolder
    from .skill_tests import SkillTestFile, SkillTestResult, SkillTestStatus, find_skill_tests, run_skill_tests
    from .starters import starter_evals, starter_tests
    from .takeover import RequestInterval, Takeover, TakeoverReport, find_takeovers
    from .triggers import JudgeChoice, Split, TriggerJudge, TriggerReport, TriggerResult, run_triggers

_EXPORTS = {
    "metier.evals.intervals": ("wilson_interval",),
    "metier.evals.harbor": ("HarborExport", "export_harbor"),
    "metier.evals.bisect": ("BisectReport", "BisectStep", "bisect_versions"),
    "metier.evals.agent.tasks": ("AgentTasks",),
    "metier.evals.agent.judge": ("AgentTriggerJudge",),
    "metier.evals.agent.recorded_answers": ("NotRecordedError", "Recording", "open_recording", "start_recording"),
    "metier.evals.agent.proxy": ("ModelAccess",),
    "metier.evals.agent.runs": ("AgentAnswer", "AgentRunner", "find_program", "isolation_note"),
    "metier.evals.conflicts": (
        "ConflictReport",
        "SkillConflict",
        "find_conflicts",
    ),
    "metier.evals.files": (
        "Assertion",
        "EvalCase",
        "EvalFileError",
        "TriggerQuery",
        "balance",
        "meant_for_others",
        "read_cases",
        "read_queries",
    ),
    "metier.evals.fit": (
        "FitPlan",
        "ShorterDescription",
        "propose_fit",
        "shorter_description",
    ),
    "metier.evals.grades": (
        "Grade",
        "grade",
    ),
    "metier.evals.html_report": ("render_html",),
    "metier.evals.interpreters": ("interpreters_with",),
    "metier.evals.judges": ("judge_factory",),
    "metier.evals.library_bench": ("BenchRequest", "LibraryBench", "bench_library"),
    "metier.evals.library_page": ("render_library_page",),
    "metier.evals.rankers": ("MakeRanker", "listing_ranker", "rankers_here"),
    "metier.evals.junit": (
        "junit_tests",
        "junit_triggers",
    ),
    "metier.evals.missed": (
        "SURE_FIT",
        "AgentLibrary",
        "MissReason",
        "MissedReport",
        "MissedRequest",
        "find_missed",
        "is_ranked_request",
    ),
    "metier.evals.model_judge": (
        "ModelTriggerJudge",
        "NamedDescription",
    ),
    "metier.evals.optimize": (
        "Candidate",
        "OptimizeResult",
        "SkillOptimization",
        "optimize_description",
        "optimize_skill",
    ),
    "metier.evals.outputs": (
        "OutputEval",
        "OutputReport",
        "run_outputs",
    ),
    "metier.evals.parallel": ("run_parallel",),
    "metier.evals.plan": (
        "EvalOptions",
        "EvalPlan",
        "EvalResults",
        "EvalServices",
        "plan_evals",
        "run_evals",
    ),
    "metier.evals.proposals": (
        "CountedWords",
        "ModelProposals",
        "Propose",
    ),
    "metier.evals.query_file": ("add_queries",),
    "metier.evals.ranker_judge": (
        "RankerTriggerJudge",
        "RedescribedSkill",
        "selector_with",
    ),
    "metier.evals.results_folder": ("ResultsFolder",),
    "metier.evals.skill_tests": (
        "SkillTestFile",
        "SkillTestResult",
        "SkillTestStatus",
        "find_skill_tests",
        "run_skill_tests",
    ),
    "metier.evals.starters": ("starter_evals", "starter_tests"),
    "metier.evals.takeover": (
        "RequestInterval",
        "Takeover",
        "TakeoverReport",
        "find_takeovers",
    ),
    "metier.evals.triggers": (
        "JudgeChoice",
        "Split",
        "TriggerJudge",
        "TriggerReport",
        "TriggerResult",
        "run_triggers",
    ),
}
__all__ = [
    "SURE_FIT",
    "AgentAnswer",
    "AgentLibrary",
    "AgentRunner",
    "AgentTasks",
    "AgentTriggerJudge",
    "Assertion",
    "BenchRequest",
    "BisectReport",
    "BisectStep",
    "Candidate",
    "ConflictReport",
    "CountedWords",
    "EvalCase",
    "EvalFileError",
    "EvalOptions",
    "EvalPlan",
    "EvalResults",
    "EvalServices",
    "FitPlan",
    "Grade",
    "HarborExport",
    "JudgeChoice",
    "LibraryBench",
    "MakeRanker",
    "MissReason",
    "MissedReport",
    "MissedRequest",
    "ModelAccess",
    "ModelProposals",
    "ModelTriggerJudge",
    "NamedDescription",
    "NotRecordedError",
    "OptimizeResult",
    "OutputEval",
    "OutputReport",
    "Propose",
    "RankerTriggerJudge",
    "Recording",
    "RedescribedSkill",
    "RequestInterval",
    "ResultsFolder",
    "ShorterDescription",
    "SkillConflict",
    "SkillOptimization",
    "SkillTestFile",
    "SkillTestResult",
    "SkillTestStatus",
    "Split",
    "Takeover",
    "TakeoverReport",
    "TriggerJudge",
    "TriggerQuery",
    "TriggerReport",
    "TriggerResult",
    "add_queries",
    "balance",
    "bench_library",
    "bisect_versions",
    "export_harbor",
    "find_conflicts",
    "find_missed",
    "find_program",
    "find_skill_tests",
    "find_takeovers",
    "grade",
    "interpreters_with",
    "is_ranked_request",
    "isolation_note",
    "judge_factory",
    "junit_tests",
    "junit_triggers",
    "listing_ranker",
    "meant_for_others",
    "open_recording",
    "optimize_description",
    "optimize_skill",
    "plan_evals",
    "propose_fit",
    "rankers_here",
    "read_cases",
    "read_queries",
    "render_html",
    "render_library_page",
    "run_evals",
    "run_outputs",
    "run_parallel",
    "run_skill_tests",
    "run_triggers",
    "selector_with",
    "shorter_description",
    "start_recording",
    "starter_evals",
    "starter_tests",
    "wilson_interval",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
