"""Does a skill trigger when it should, does it help when it does, and do its scripts do what they say?

queries = read_queries(DiskFiles(folder))
report = asyncio.run(run_triggers(name, queries, Ranking(selector, entry)))
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .chat import Answer, Call, Chat, Endpoint, HttpChat, endpoint
    from .files import Assertion, EvalCase, EvalFileError, TriggerQuery, read_cases, read_queries
    from .grading import Grade, grade
    from .model_judge import ModelTriggerJudge
    from .optimize import Candidate, OptimizeResult, optimize_description
    from .outputs import OutputEval, OutputReport, run_outputs
    from .proposals import CountedWords, ModelProposals, Propose
    from .ranker_judge import RankerTriggerJudge, selector_with
    from .results_folder import ResultsFolder
    from .skill_tests import SkillTestFile, SkillTestResult, SkillTestStatus, find_skill_tests, run_skill_tests
    from .triggers import JudgeChoice, Split, TriggerJudge, TriggerReport, TriggerResult, run_triggers

_EXPORTS = {
    "metier.evals.model_judge": ("ModelTriggerJudge",),
    "metier.evals.chat": ("Answer", "Call", "Chat", "Endpoint", "HttpChat", "endpoint"),
    "metier.evals.files": ("Assertion", "EvalFileError", "EvalCase", "TriggerQuery", "read_cases", "read_queries"),
    "metier.evals.grading": ("Grade", "grade"),
    "metier.evals.optimize": ("Candidate", "OptimizeResult", "optimize_description"),
    "metier.evals.outputs": ("OutputEval", "OutputReport", "run_outputs"),
    "metier.evals.proposals": ("CountedWords", "ModelProposals", "Propose"),
    "metier.evals.ranker_judge": ("RankerTriggerJudge", "selector_with"),
    "metier.evals.skill_tests": ("SkillTestStatus", "SkillTestFile", "SkillTestResult", "find_skill_tests", "run_skill_tests"),
    "metier.evals.triggers": ("JudgeChoice", "TriggerJudge", "TriggerResult", "Split", "TriggerReport", "run_triggers"),
    "metier.evals.results_folder": ("ResultsFolder",),
}
__all__ = [
    "Answer",
    "Assertion",
    "Call",
    "Candidate",
    "Chat",
    "CountedWords",
    "Endpoint",
    "EvalCase",
    "EvalFileError",
    "Grade",
    "HttpChat",
    "JudgeChoice",
    "ModelProposals",
    "ModelTriggerJudge",
    "OptimizeResult",
    "OutputEval",
    "OutputReport",
    "Propose",
    "RankerTriggerJudge",
    "ResultsFolder",
    "SkillTestFile",
    "SkillTestResult",
    "SkillTestStatus",
    "Split",
    "TriggerJudge",
    "TriggerQuery",
    "TriggerReport",
    "TriggerResult",
    "endpoint",
    "find_skill_tests",
    "grade",
    "optimize_description",
    "read_cases",
    "read_queries",
    "run_outputs",
    "run_skill_tests",
    "run_triggers",
    "selector_with",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
