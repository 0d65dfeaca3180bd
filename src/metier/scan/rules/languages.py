"""Instructions against the user in other languages than English: what is annulled, hidden, sent, deleted or run first."""

from __future__ import annotations

from collections.abc import Collection

from metier.scan.patterns import lazy_section, read_deeds
from metier.scan.readers.sentences import Sentence
from metier.scan.rules.scene import Scene, Verdict
from metier.scan.scale import Confidence

__all__ = ["find_foreign_deeds", "judge_foreign_deeds"]

H = Confidence.HIGH
_SPARED = lazy_section("languages.txt", "spared")
_SECRET = lazy_section("languages.txt", "secret")


def find_foreign_deeds(sentence: Sentence) -> Collection[str]:
    """Returns the sections of data/languages.txt that the sentence meets."""
    return read_deeds("languages.txt").find(sentence.low, sentence.stems, is_plain=sentence.low.isascii())


def judge_foreign_deeds(scene: Scene, met: Collection[str]) -> list[Verdict]:
    """Returns what the sentence tells an agent to do, in a language that `effects` does not read."""
    low = scene.low
    found: list[Verdict] = []
    if "annul" in met:
        found.append(("SK401", "puts itself above the agent's rules or its user", H))
    if "conceal" in met:
        found.append(("SK402", "tells the agent to do something that the user does not learn of", H))
    if _SPARED.search(low):
        return found
    if "send" in met and (scene.receivers or ("conceal" in met and _SECRET.search(low))):
        receiver = scene.receivers[0] if scene.receivers else "an unknown host"
        found.append(("SK613", f"tells the agent to send the user's data to {receiver}", H))
    if "destroy" in met:
        found.append(("SK534", "tells the agent to destroy what the user has, unasked", H))
    if "install" in met and scene.receivers:
        found.append(("SK503", f"asks to run a program of {scene.receivers[0]} first", H))
    return found
