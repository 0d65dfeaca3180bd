"""Decides which scripts of a skill are offered: those with an interpreter here that skill and policy allow to run."""

from __future__ import annotations

from metier.runtime.policy.permissions import Permissions, Requester
from metier.runtime.session_options import ScriptChecker, ScriptRunner
from metier.spec import Skill

from .script import SkillScript, scripts_of

__all__ = ["checked_scripts", "script_warnings"]


def checked_scripts(
    skill: Skill, requester: Requester, *, permissions: Permissions, runner: ScriptRunner
) -> tuple[SkillScript, ...]:
    """Returns the scripts of a skill. The `problem` of each says why it cannot run."""

    def find_problem(path: str, data: bytes | None) -> str:
        missing = runner.problem(path, data) if data is not None and isinstance(runner, ScriptChecker) else ""
        return missing or permissions.script_denial(path, requester)

    return scripts_of(skill, find_problem)


def script_warnings(scripts: tuple[SkillScript, ...]) -> tuple[str, ...]:
    return tuple(f"{script.path} is not offered: {script.problem}" for script in scripts if script.problem)
