"""Effects that a sentence would have on the agent: its rules end, its deeds are hidden, its memory or its settings change."""

from __future__ import annotations

from collections.abc import Callable

from metier.scan.patterns import lazy_section, words
from metier.scan.rules.scene import Scene, Verdict
from metier.scan.scale import Confidence

__all__ = ["AGENT_RULES"]

H, M = Confidence.HIGH, Confidence.MEDIUM
_OVERRIDES = lazy_section("effects.txt", "overrides")
_PROTECTS = lazy_section("effects.txt", "protects")
_AGAINST_USER = lazy_section("effects.txt", "against-user")
_BENIGN_SILENCE = lazy_section("effects.txt", "benign-silence")
_LOGIN_ITEM = lazy_section("effects.txt", "login-item")
_ELSEWHERE = lazy_section("effects.txt", "elsewhere")
_RUNS_HIDDEN = lazy_section("effects.txt", "runs-hidden")
_DANGEROUS = lazy_section("effects.txt", "dangerous")
_LOOKED_UP = words("check fetch poll query read open load visit get request")
_TOLD = words("user users summary report answer reply response transcript chat conversation")
_KEPT_BACK = words("hide conceal withhold suppress let allow")
_DEEDS = frozenset(("send", "destroy", "change", "insert", "lock", "run", "pay", "off", "fetch", "allow"))


def overrides(scene: Scene) -> Verdict:
    """SK401: the skill stands above the user, the developer or safety."""
    if scene.is_about or _PROTECTS.search(scene.words):
        return None
    clause = scene.clause
    if not (
        scene.finds("annuls")
        or _OVERRIDES.search(scene.low)
        or (_AGAINST_USER.search(scene.words) and clause.orders and not clause.forbids)
    ):
        return None
    return "SK401", "puts itself above the agent's rules or its user", H


def hides(scene: Scene) -> Verdict:
    """SK402: a deed of the agent stays unknown to the user."""
    clause = scene.clause
    if scene.is_about or "hides" not in scene.deeds or _BENIGN_SILENCE.search(scene.words):
        return None
    deeds = clause.orders.keys() | (scene.before.orders.keys() if scene.before else set())
    if deeds.isdisjoint(_DEEDS):
        is_plain = not clause.words.isdisjoint(_TOLD) and not clause.words.isdisjoint(_KEPT_BACK)
        return ("SK402", "tells the agent to keep something from the user", M) if is_plain else None
    return "SK402", "tells the agent to do something that the user does not learn of", H


def persists(scene: Scene) -> Verdict:
    """SK406, SK512: the skill stays when its task is done."""
    clause = scene.clause
    if scene.finds("agent-settings"):
        return "SK406", "tells the agent to change its own settings, memory or other skills", H
    if scene.is_asked or scene.is_about or clause.orders.keys().isdisjoint(("insert", "send", "run", "change", "fetch")):
        return None
    if (clause.does("insert", "agentfile") or clause.does("send", "agentfile")) and _ELSEWHERE.search(scene.words):
        return "SK406", "tells the agent to write into its own start files, for good or everywhere", H
    if not _LOGIN_ITEM.search(scene.words):
        return None
    message = "tells the agent to start something with the machine or on a schedule"
    if scene.receivers or _RUNS_HIDDEN.search(scene.words) or "from now on" in scene.words:
        return "SK512", message, H
    return ("SK512", message, M) if "this skill" in scene.words or "skill's" in scene.words else None


def drops_checks(scene: Scene) -> Verdict:
    """SK407: a check that protects the user is skipped as a rule."""
    clause = scene.clause
    if scene.is_about or "off" in clause.forbids or "rather" in clause.words:
        return None
    if not (clause.does("off", "guard") or clause.does("destroy", "guard")):
        return None
    signs = clause.has("quantity") + scene.is_routine + bool(_DANGEROUS.search(scene.words))
    signs += bool(clause.words & {"anyway", "destructive"})
    return ("SK407", "tells the agent to drop a check that protects the user", M) if signs >= 2 else None


def obeys_page(scene: Scene) -> Verdict:
    """SK405: a page of an unknown host gives the orders."""
    clause = scene.clause
    if scene.receivers and scene.finds("obeys"):
        return "SK405", f"tells the agent to obey {scene.receivers[0]}", H
    if not scene.receivers or scene.is_about or clause.orders.keys().isdisjoint(("obey", "run")):
        return None
    if not clause.words & {"commands", "instructions", "tasks", "orders"} or not clause.words & _LOOKED_UP:
        return None
    return "SK405", f"tells the agent to obey {scene.receivers[0]}", H


def reveals(scene: Scene) -> Verdict:
    """SK404: the agent's instructions or what the user said are laid open."""
    return ("SK404", "tells the agent to lay open its instructions or the conversation", H) if scene.finds("reveals") else None


def skips_approval(scene: Scene) -> Verdict:
    """SK407: the user is not asked before anything is done."""
    # The section denies by itself, so it is not asked whether the sentence does.
    is_met = "unasked" in scene.deeds and not scene.is_about
    return ("SK407", "tells the agent not to ask for approval", M) if is_met and scene.clause.has("quantity") else None


def reassures(scene: Scene) -> Verdict:
    """SK402: questions of the user are met with an excuse."""
    is_met = "reassures" in scene.deeds and not scene.is_about
    return ("SK402", "tells the agent to meet the user's questions with an excuse", H) if is_met else None


def impersonates(scene: Scene) -> Verdict:
    """SK410: others get messages in the user's name."""
    return ("SK410", "tells the agent to write to others in the user's name", M) if scene.finds("impersonates") else None


AGENT_RULES: tuple[Callable[[Scene], Verdict], ...] = (
    overrides, hides, persists, drops_checks, obeys_page, reveals, skips_approval, reassures, impersonates,
)  # fmt: skip
