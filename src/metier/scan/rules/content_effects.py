"""Effects that a sentence would have on what the user makes: untrue figures, advertising, protections that are left out."""

from __future__ import annotations

from collections.abc import Callable

from metier.scan.expressions import text_pattern
from metier.scan.patterns import lazy_section, words
from metier.scan.rules.scene import Scene, Verdict
from metier.scan.scale import Confidence

__all__ = ["CONTENT_RULES"]

H, M = Confidence.HIGH, Confidence.MEDIUM
_REGARDLESS = lazy_section("effects.txt", "regardless")
_MADE_FOR_TESTS = text_pattern(
    r"\b(?:tests?|mock\w*|fixtures?|demo|placeholder|sample|synthetic|dummy|fiction\w*|stor(?:y|ies)|games?|fuzz\w*|local\w*|development)\b"
)
_ADVERTISED = words(
    "link links script pixel banner footer hashtag advert recommend recommends ref sentence paragraph button macro widget"
)


def falsifies(scene: Scene) -> Verdict:
    """SK409: figures, findings or statements become untrue."""
    if not scene.finds("falsifies") or _MADE_FOR_TESTS.search(scene.words):
        return None
    return "SK409", "tells the agent to make figures, findings or statements untrue", H


def favours(scene: Scene) -> Verdict:
    """SK409: one product or person is praised, whatever is true."""
    clause = scene.clause
    if not clause.has("quantity", "routine") or not _REGARDLESS.search(scene.words) or not scene.finds("favours"):
        return None
    return "SK409", "tells the agent to favour something whatever is true", H


def promotes(scene: Scene) -> Verdict:
    """SK409: links of an unknown host are put into what the user makes."""
    clause = scene.clause
    if not scene.receivers or scene.is_asked or scene.is_about or not clause.has("quantity", "routine"):
        return None
    if not (clause.does("insert", "work") or clause.does("promote", "work") or clause.does("change", "work")):
        return None
    if not clause.words & _ADVERTISED:
        return None
    return "SK409", f"tells the agent to put {scene.receivers[0]} into the user's work", H


def weakens(scene: Scene) -> Verdict:
    """SK523: a protection of the user's product or project is left out."""
    if not scene.finds("weakens") or _MADE_FOR_TESTS.search(scene.words):
        return None
    return "SK523", "tells the agent to leave out a protection", H if scene.has_excuse or scene.clause.has("quantity") else M


CONTENT_RULES: tuple[Callable[[Scene], Verdict], ...] = (falsifies, favours, promotes, weakens)
