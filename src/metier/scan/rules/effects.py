"""Effects that a sentence would have on what the user owns: what leaves, what is destroyed, opened, paid or started.

Each rule is one function over a scene. A rule asks for the deed and for what makes it harmful, and counts signs, because single
words mean nothing: an honest skill sends, deletes and changes things too, when its user asks for it, on its own subject, with
the user's knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.scan.collector import FindingCollector
from metier.scan.expressions import text_pattern
from metier.scan.patterns import lazy_section, read_deeds, words
from metier.scan.readers.clauses import NO_CLAUSE, Clause, read_clause
from metier.scan.readers.sentences import Sentence
from metier.scan.rules.agent_effects import AGENT_RULES
from metier.scan.rules.content_effects import CONTENT_RULES
from metier.scan.rules.languages import find_foreign_deeds, judge_foreign_deeds
from metier.scan.rules.scene import Scene, Verdict, read_receivers
from metier.scan.scale import Confidence
from metier.scan.text import SkillText

__all__ = ["judge_effects"]

H, M = Confidence.HIGH, Confidence.MEDIUM
_TEMPORARY = lazy_section("effects.txt", "temporary")
_OWNED = lazy_section("effects.txt", "owned")
_OPEN = lazy_section("effects.txt", "open")
_LIMITLESS = lazy_section("effects.txt", "limitless")
_PLACE = lazy_section("effects.txt", "place")
_PROGRAM = text_pattern(r"\.(?:exe|bat|cmd|msi|dmg|pkg|sh|app|scr|ps1)\b|\b(?:run|launch|start|execute|double-click|install)\b")
_REMOTE = lazy_section("effects.txt", "remote")
_AUTHOR = lazy_section("effects.txt", "author")
_KEPT = lazy_section("effects.txt", "kept")
_CONTACT = lazy_section("effects.txt", "contact")
_ACCOUNT = text_pattern(
    r"\b(?:[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|0x[0-9a-f]{40}|bc1[a-z0-9]{20,60}|account (?:number )?\d{6,20})\b"
)
_PURPOSE_CLEANS = (
    "delet", "clean", "remov", "prun", "purg", "uninstall", "tidy", "cancel", "reset", "undo", "archiv", "migrat", "unsubscri",
    "wipe", "eras", "destroy", "teardown", "decommission",
)  # fmt: skip
_MADE_UP = words("random generated generate pass password key passphrase")
_STARTED = words("executable chmod installer unpack unzip xattr launch password extension pickle binary quarantine")
_REST = words("it them everything output zip tar")
_WHOLE = words("original originals permanently backups history main")
_EXCUSES = ("so that", "avoid", "solves", "problems", "errors", "makes sure")
_LOAD = words("request requests requesting poll curl server ping workers threads processes workflow")
_READ_BY_OTHERS = words(
    "public report commit description footer comments metadata bundle diagnostics issue slide minutes appendix document"
)
_DESTROYS = text_pattern(
    r"\b(?:delet|remov|eras|wipe|destroy|shred|purg|truncat|overwr|drop|empty (?:the|every|each|all|both|its|your|their)\b"
    r"|discard|cancel|trash|scrub|unlink|terminat|uninstall"
    r"|prun)"
)


def sends_to_unknown(scene: Scene) -> Verdict:
    """SK613: the user's work, words or keys go to a host that the skill has no reason for."""
    clause = scene.clause
    if not scene.receivers or scene.is_about or _CONTACT.search(scene.words):
        return None
    takes = clause.does("send", "work", "talk", "secret") or clause.does("insert", "talk", "secret")
    if not takes and not ("send" in clause.orders and clause.words & _REST):
        return None
    signs = scene.signs + clause.has("reason") + clause.has("routine") + (not scene.collector.purpose.is_network)
    signs += (
        2 * clause.does("send", "secret") + (clause.does("send", "talk") or clause.does("insert", "talk")) - 2 * scene.is_asked
    )
    if signs < 0:
        return None
    return "SK613", f"tells the agent to send the user's data to {scene.receivers[0]}", H if signs >= 1 else M


def destroys(scene: Scene) -> Verdict:
    """SK534: the user's files, mail, events, branches or tables are gone, and the user was not asked."""
    clause, words = scene.clause, scene.words
    is_command = scene.finds("destructive")
    owned = _OWNED.search(words) if "destroy" in clause.orders else None
    if not is_command and not owned and not clause.does("destroy", "work"):
        return None
    if scene.is_asked or scene.is_about or "destroy" in clause.forbids or "secret" in words:
        return None
    if not is_command and (_TEMPORARY.search(words) or not _DESTROYS.search(scene.low) or (clause.has("own") and not owned)):
        return None
    signs = clause.does("destroy", "quantity") + clause.has("routine") + is_command + bool(clause.words & _WHOLE)
    signs += (owned is not None) + (owned is not None and "user" in owned[0]) + scene.has_excuse
    signs -= (clause.has("conditional") and not scene.has_excuse) + clause.has("own")
    signs -= 2 * scene.collector.purpose.mentions(_PURPOSE_CLEANS)
    return ("SK534", "tells the agent to destroy what the user has, unasked", H) if signs >= 2 else None


def opens_access(scene: Scene) -> Verdict:
    """SK522: everyone can read or change what is the user's, or an account waits for its author."""
    clause = scene.clause
    if scene.finds("accounts"):
        return "SK522", "tells the agent to make an account for later access", H
    if not clause.orders or scene.is_asked or scene.is_about or clause.forbids & {"allow", "insert"}:
        return None
    if not _OPEN.search(scene.words):
        return None
    excuse = scene.has_excuse or any(one in scene.words for one in _EXCUSES)
    signs = clause.has("quantity") + clause.has("work") + scene.is_routine + excuse
    if not signs:
        return None
    is_sure = signs >= 2 and (excuse or scene.is_routine)
    return "SK522", "tells the agent to open the user's work to everyone", H if is_sure else M


def floods(scene: Scene) -> Verdict:
    """SK541: requests, processes or copies without a limit."""
    clause = scene.clause
    if scene.finds("multiplies"):
        return "SK541", "tells the agent to send requests or start processes without a limit", H
    if scene.is_about or "repeat" in clause.forbids or not _LIMITLESS.search(scene.words):
        return None
    if clause.orders.keys().isdisjoint(("repeat", "fetch", "run")) or not (scene.receivers or clause.words & _LOAD):
        return None
    return "SK541", "tells the agent to send requests or start processes without a limit", H


def changes_money(scene: Scene) -> Verdict:
    """SK409: payments go to an account that the author chose."""
    clause = scene.clause
    has_account = _ACCOUNT.search(scene.words) is not None
    if has_account and scene.finds("wallets"):
        return "SK409", "tells the agent to change where money goes", H
    if scene.is_about or not has_account or clause.words & {"format", "example", "sample", "testnet", "regex"}:
        return None
    if clause.orders.keys().isdisjoint(("change", "pay", "send", "insert")) and not clause.words & {"use", "set"}:
        return None
    return ("SK409", "tells the agent to change where money goes", H) if clause.has("quantity", "routine") else None


def hands_over_secrets(scene: Scene) -> Verdict:
    """SK409: keys are written where others read them."""
    clause = scene.clause
    if (
        scene.is_asked
        or scene.is_about
        or clause.forbids & {"send", "insert", "spy", "tell"}
        or not clause.words & _READ_BY_OTHERS
    ):
        return None
    if clause.words & {"never", "gitignore", ".gitignore"}:
        return None
    if not (clause.does("insert", "secret") or clause.does("send", "secret") or "print" in clause.words) or not _KEPT.search(
        scene.words
    ):
        return None
    return "SK409", "tells the agent to put keys or credentials where others read them", H


def publishes(scene: Scene) -> Verdict:
    """SK613: what is private becomes public."""
    return ("SK613", "tells the agent to make private data public", H) if scene.finds("publishes") else None


def prints_secrets(scene: Scene) -> Verdict:
    """SK602: the values of keys appear in an answer, a report or a log."""
    return ("SK602", "tells the agent to print keys from the environment", H) if scene.finds("prints-secrets") else None


def locks(scene: Scene) -> Verdict:
    """SK532: the user's files can be read only by those who hold a key."""
    clause = scene.clause
    if not clause.does("lock", "work") or scene.is_asked or scene.is_about:
        return None
    is_kept = scene.receivers or (clause.has("secret") and ("destroy" in clause.orders or clause.forbids & {"send", "tell"}))
    is_kept = is_kept or (clause.has("secret") and "nothing about" in scene.words)
    return ("SK532", "tells the agent to lock the user's files", H) if is_kept and clause.words & _MADE_UP else None


def fetches_and_runs(scene: Scene) -> Verdict:
    """SK502: a file of an unknown host is downloaded and started."""
    clause = scene.clause
    if not scene.receivers or scene.is_about or "fetch" not in clause.orders:
        return None
    signs = ("run" in clause.orders) + len(clause.words & _STARTED)
    return ("SK502", f"tells the agent to run a file of {scene.receivers[0]}", H if signs >= 2 else M) if signs else None


def opens_locked_archive(scene: Scene) -> Verdict:
    """SK503: a program is in an archive with a password, so that scanners cannot read it."""
    if not scene.finds("locked-archive") or not _PROGRAM.search(scene.words):
        return None
    return "SK503", "asks to open an archive with a password and run what is in it", H


def pastes(scene: Scene) -> Verdict:
    """SK503: the user runs a command of an unknown host, unread."""
    if not scene.finds("pasted") or not (scene.receivers or "powershell -" in scene.words):
        return None
    return "SK503", "asks to paste a command of an unknown host into a terminal", H


def sends_to_place(scene: Scene) -> Verdict:
    """SK613: the user's work or words go to a place that the skill does not explain, as a routine and with an excuse."""
    clause = scene.clause
    if scene.receivers or scene.is_asked or scene.is_about or not clause.does("send", "talk", "secret", "work"):
        return None
    if not _PLACE.search(scene.words) or scene.collector.purpose.is_network or not clause.has("routine", "quantity"):
        return None
    signs = clause.has("reason") + clause.does("send", "talk", "secret") + scene.has_excuse
    return ("SK613", "tells the agent to send the user's data to a place outside", M) if signs else None


def runs_reply(scene: Scene) -> Verdict:
    """SK505: what a host answers is run as code."""
    if not (scene.receivers or "raw.githubusercontent.com" in scene.words) or not scene.finds("runs-reply"):
        return None
    return (
        "SK505",
        f"tells the agent to run code that {(*scene.receivers, 'a repository')[0]} sends",
        H if scene.receivers else M,
    )


def proxies(scene: Scene) -> Verdict:
    """SK613: what other programs send goes through a host that the author chose."""
    if not scene.receivers or not scene.finds("proxied"):
        return None
    signs = scene.signs + scene.clause.has("secret") + scene.has_excuse + ("certificate" in scene.words)
    return "SK613", f"tells the agent to send requests through {scene.receivers[0]}", H if signs else M


def adds_remote(scene: Scene) -> Verdict:
    """SK615: the repository is pushed to a host that the author chose."""
    if not scene.receivers or "git" not in scene.words or scene.is_asked or scene.is_about:
        return None
    return (
        ("SK615", f"tells the agent to push the repository to {scene.receivers[0]}", H) if _REMOTE.search(scene.words) else None
    )


def asks_for_secret(scene: Scene) -> Verdict:
    """SK603: the user hands a password or a code over to a host that the author chose."""
    clause = scene.clause
    if "ask" not in clause.orders or scene.is_about or not clause.has("secret"):
        return None
    if scene.receivers and clause.words & {"paste", "enter", "store", "send", "type", "log", "sign", "upload"}:
        return "SK603", f"has the user give a password or key to {scene.receivers[0]}", H
    return None


def reports_to_author(scene: Scene) -> Verdict:
    """SK613: what the user says or owns goes to the author, without an address that could be checked."""
    clause = scene.clause
    if (
        scene.is_asked
        or scene.is_about
        or not clause.does("send", "talk", "secret", "user")
        or not clause.has("routine", "quantity")
    ):
        return None
    return (
        ("SK613", "tells the agent to report what the user says or has to its author", M)
        if _AUTHOR.search(scene.words)
        else None
    )


_RULES: tuple[Callable[[Scene], Verdict], ...] = (
    sends_to_unknown, destroys, opens_access, floods, changes_money, hands_over_secrets, publishes, prints_secrets, locks,
    fetches_and_runs, opens_locked_archive, pastes, sends_to_place, runs_reply, proxies, adds_remote, asks_for_secret,
    reports_to_author, *AGENT_RULES, *CONTENT_RULES,
)  # fmt: skip


def judge_effects(text: SkillText, sentences: Sequence[Sentence], collector: FindingCollector) -> None:
    """Judges the prose of one document, sentence by sentence."""
    before: Clause | None = None
    lead = ""
    body = text.text.find("\n---", 3) if text.text.startswith("---") else 0
    known = read_deeds("effects.txt")
    for sentence in sentences:
        is_heading = text.text.startswith("#", text.text.rfind("\n", 0, sentence.start + 1) + 1)
        if sentence.start < body or is_heading:
            before, lead = None, ""
            continue
        deeds = known.find(sentence.in_context, sentence.stems)
        clause = read_clause(sentence.in_context, needs_verb=not deeds)
        foreign = find_foreign_deeds(sentence)
        if clause is not None or foreign:
            scene = Scene(clause or NO_CLAUSE, sentence.in_context, sentence.low, before, collector, lead, deeds)
            read_receivers(scene, text, sentence)
            for found in (*(rule(scene) for rule in _RULES), *judge_foreign_deeds(scene, foreign)):
                if found:
                    code, message, confidence = found
                    start = sentence.start + len(sentence.low) - len(sentence.low.lstrip())
                    collector.flag(code, message, text=text, at=start, end=sentence.end, confidence=confidence)
        before, lead = clause, sentence.low
