"""Security scan of a skill: rules over its files give findings, capabilities and a verdict (pass, review or block).

    report = scan(MemoryFiles({"SKILL.md": data}))
    print(report.verdict, *report.capabilities.lines(), sep="\\n")

Pure: nothing is run, fetched or looked up, and the same bytes always give the same report.
"""

from typing import TYPE_CHECKING

from metier.lazy import lazy_exports

if TYPE_CHECKING:
    from metier.spec import Capabilities

    from .advisories import (
        Advisory,
        KnownBad,
        SkillIdentity,
        SkillTraits,
        advisories_of,
        apply_advisories,
        known_bad,
        read_advisories,
        skill_traits,
    )
    from .capabilities import capability_problems
    from .data.hosts import HostReputation, host_reputation
    from .model_opinion import PROMPT_VERSION, JudgeQuestion, NoOpinionError, add_opinion, judge_question
    from .purpose import Purpose
    from .report import Finding, ModelOpinion, ScanReport
    from .rules.table import RULES, Rule
    from .scale import Confidence, ScanReach, ScanVerdict
    from .scanner import scan
    from .subject import ScanLimits
    from .waivers import Waiver, apply_waivers, read_waivers

__all__ = [
    "PROMPT_VERSION",
    "RULES",
    "Advisory",
    "Capabilities",
    "Confidence",
    "Finding",
    "HostReputation",
    "JudgeQuestion",
    "KnownBad",
    "ModelOpinion",
    "NoOpinionError",
    "Purpose",
    "Rule",
    "ScanLimits",
    "ScanReach",
    "ScanReport",
    "ScanVerdict",
    "SkillIdentity",
    "SkillTraits",
    "Waiver",
    "add_opinion",
    "advisories_of",
    "apply_advisories",
    "apply_waivers",
    "capability_problems",
    "host_reputation",
    "judge_question",
    "known_bad",
    "read_advisories",
    "read_waivers",
    "scan",
    "skill_traits",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.scan.advisories": (
                "Advisory",
                "KnownBad",
                "SkillIdentity",
                "SkillTraits",
                "advisories_of",
                "apply_advisories",
                "known_bad",
                "read_advisories",
                "skill_traits",
            ),
            "metier.spec": ("Capabilities",),
            "metier.scan.capabilities": ("capability_problems",),
            "metier.scan.data.hosts": ("HostReputation", "host_reputation"),
            "metier.scan.purpose": ("Purpose",),
            "metier.scan.model_opinion": ("PROMPT_VERSION", "NoOpinionError", "JudgeQuestion", "judge_question", "add_opinion"),
            "metier.scan.report": ("Finding", "ModelOpinion", "ScanReport"),
            "metier.scan.rules.table": ("RULES", "Rule"),
            "metier.scan.scale": ("Confidence", "ScanReach", "ScanVerdict"),
            "metier.scan.scanner": ("scan",),
            "metier.scan.subject": ("ScanLimits",),
            "metier.scan.waivers": ("Waiver", "apply_waivers", "read_waivers"),
        },
    )
