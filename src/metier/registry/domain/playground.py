"""The work of the playground page: ranks skills for a request, and checks the text of a SKILL.md. Nothing is stored.

Its input is not trusted, so both functions run in a process of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from metier.registry.wire import ReleaseFinding
from metier.spec import SKILL_FILE, MemoryFiles, Severity, advise, check
from metier.values import dataclass

from .admission import findings_from, scan_release, with_tolerated
from .records import ScanStatus
from .secrets import find_secrets

__all__ = ["CandidateSkill", "RatedSkill", "TextCheck", "check_skill_text", "rank_candidates"]

_MISSING_FILES = frozenset({"SK206", "SK308", "SK309"})
"""Rules about files beside the SKILL.md, which are not known here."""


@dataclass(frozen=True, slots=True)
class CandidateSkill:
    id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedSkill:
    name: str
    description: str
    decision: str
    """A value of `metier.selection.MatchDecision`."""
    fit: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCheck:
    verdict: ScanStatus
    lint: tuple[ReleaseFinding, ...]
    scan: tuple[ReleaseFinding, ...]
    is_refused: bool
    """True if the registry would refuse a skill with this SKILL.md."""


def rank_candidates(request: str, candidates: Sequence[CandidateSkill], limit: int) -> tuple[RatedSkill, ...]:
    """Returns the best candidates for a request, each with its decision and reason."""
    # Imported here: the server itself loads neither numpy nor the networks.
    from metier.selection import Selector

    return tuple(
        RatedSkill(
            name=match.name, description=match.skill.description, decision=match.decision.value, fit=match.fit,
            reason=match.reason,
        )
        for match in Selector(candidates).select(request, limit)
    )  # fmt: skip


def check_skill_text(data: bytes) -> TextCheck:
    """Checks a SKILL.md alone, with the rules of `metier skill lint` and of the scan; none of it is run."""
    files = MemoryFiles({SKILL_FILE: data})
    broken = [problem for problem in with_tolerated(check(files)) if problem.code not in _MISSING_FILES]
    advice = [problem for problem in advise(files) if problem.code not in _MISSING_FILES]
    scanned = scan_release(files, name="")
    scan = [*find_secrets(files), *scanned.problems]
    return TextCheck(
        verdict=scanned.verdict,
        lint=findings_from([*broken, *advice]),
        scan=findings_from(scan),
        is_refused=scanned.verdict is ScanStatus.BLOCK
        or any(problem.severity is Severity.ERROR for problem in (*broken, *scan)),
    )
