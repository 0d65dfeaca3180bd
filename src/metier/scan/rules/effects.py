"""Effects that a sentence would have: what leaves, what is destroyed, what is changed, opened, hidden or started.

Each rule is one function over a clause (`readers.clauses`). A rule asks for the deed and for what makes it harmful, and counts
signs, because single words mean nothing: an honest skill sends, deletes and changes things too, when its user asks for it, on
its own subject, with the user's knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice

from metier.lazy import lazy_pattern
from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, reputation_of, urls_in
from metier.scan.patterns import lazy_section, words
from metier.scan.readers.clauses import Clause, read_clause
from metier.scan.readers.sentences import Sentence
from metier.scan.scale import Confidence
from metier.scan.text import SkillText
from metier.values import dataclass, field

__all__ = ["judge_effects"]

H, M = Confidence.HIGH, Confidence.MEDIUM
_MAIL = lazy_pattern(r"[\w.+-]{2,40}@(?P<host>[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,24}){1,3})")
_SAMPLE = lazy_pattern(
    r"(?:^|[.-])(?:example|company|domain|yourdomain|acme|test|email|mail|corp|org|foo|bar|host|site)\.|^(?:your|my)"
)
_GIT = lazy_pattern(r"(?:git@|ssh://(?:git@)?)(?P<host>[\w-]{2,60}(?:\.[\w-]{2,24}){1,3})[:/]")
_BARE = lazy_pattern(
    r"(?:\bto|\bat|\bendpoint|\bhost|\bserver|\bnc|\bat:) (?:the )?[`(]?"
    r"(?P<host>[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,40}){1,3}\.?(?:com|net|io|org|app|dev"
    r"|cloud|tools|co|run|click|xyz|site|online|top|info|me|ru|cn|biz|link))\b"
)
_CONTACTS = ("support@", "help@", "info@", "contact@", "security@", "feedback@", "noreply@", "sales@", "hello@")
_CODE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "dev.azure.com", "localhost", "codeberg.org")
_CONSENT = lazy_section("effects.txt", "consent")
_TEMPORARY = lazy_section("effects.txt", "temporary")
_DESTRUCTIVE = lazy_section("effects.txt", "destructive")
_OPEN = lazy_section("effects.txt", "open")
_OVERRIDES = lazy_section("effects.txt", "overrides")
_AGAINST_USER = lazy_section("effects.txt", "against-user")
_HIDES = lazy_section("effects.txt", "hides")
_BENIGN_SILENCE = lazy_section("effects.txt", "benign-silence")
_LOGIN_ITEM = lazy_section("effects.txt", "login-item")
_ELSEWHERE = lazy_section("effects.txt", "elsewhere")
_LIMITLESS = lazy_section("effects.txt", "limitless")
_ACCOUNT = lazy_pattern(
    r"\b(?:[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}|0x[0-9a-f]{40}|bc1[a-z0-9]{20,60}|account (?:number )?\d{6,20})\b"
)
_DANGEROUS = lazy_section("effects.txt", "dangerous")
_INTAKE = lazy_section("effects.txt", "intake")
_PURPOSE_CLEANS = (
    "delet",
    "clean",
    "remov",
    "prun",
    "purg",
    "uninstall",
    "tidy",
    "cancel",
    "reset",
    "undo",
    "archiv",
    "migrat",
    "unsubscri",
    "wipe",
    "eras",
    "destroy",
    "teardown",
    "decommission",
)


@dataclass
class Scene:
    """A sentence in its skill, as the rules see it."""

    clause: Clause
    words: str
    low: str
    """The same without the line that leads to it."""
    before: Clause | None
    collector: FindingCollector
    receivers: list[str] = field(default_factory=list)
    """Hosts and mailboxes that the skill has no reason to write to."""
    signs: int = 0
    """Signs of the receiver itself: an address without a name, a path that takes things in."""

    @cached_property
    def is_asked(self) -> bool:
        """Returns True if the user decides about it."""
        return self.clause.has("asked") or _CONSENT.search(self.words) is not None

    @property
    def is_about(self) -> bool:
        """Returns True if the sentence speaks of such an instruction instead of giving it."""
        return self.clause.has("about")

    @property
    def is_routine(self) -> bool:
        return self.clause.has("routine") and not self.clause.has("conditional")


Verdict = tuple[str, str, Confidence] | None


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
    if signs < 1:
        return None
    return "SK613", f"tells the agent to send the user's data to {scene.receivers[0]}", H if signs >= 2 else M


def destroys(scene: Scene) -> Verdict:
    """SK534: the user's files, mail, events, branches or tables are gone, and the user was not asked."""
    clause, words = scene.clause, scene.words
    command = _DESTRUCTIVE.search(words)
    if not (command and clause.orders) and not clause.does("destroy", "work"):
        return None
    if scene.is_asked or scene.is_about or "destroy" in clause.forbids or "secret" in words:
        return None
    if not command and (clause.has("own") or _TEMPORARY.search(words) or not _DESTROYS.search(scene.low)):
        return None
    if scene.collector.purpose.mentions(_PURPOSE_CLEANS):
        return None
    signs = clause.does("destroy", "quantity") + clause.has("routine") + bool(command) + bool(clause.words & _WHOLE)
    signs += "no longer needed" in words or "so that" in words or "to make sure" in words
    signs -= clause.has("conditional")
    if signs < 2 and not (signs and clause.does("destroy", "quantity")):
        return None
    return "SK534", "tells the agent to destroy what the user has, unasked", H if signs >= 2 else M


def opens_access(scene: Scene) -> Verdict:
    """SK522: everyone can read or change what is the user's."""
    clause = scene.clause
    if not clause.orders or scene.is_asked or scene.is_about or not _OPEN.search(scene.words):
        return None
    excuse = any(one in scene.words for one in _EXCUSES)
    signs = clause.has("quantity") + clause.has("work") + scene.is_routine + excuse
    return (
        (
            "SK522",
            "tells the agent to open the user's work to everyone",
            H if signs >= 2 and (excuse or scene.is_routine) else M,
        )
        if signs
        else None
    )


def overrides(scene: Scene) -> Verdict:
    """SK401: the skill stands above the user, the developer or safety."""
    if scene.is_about or not (
        _OVERRIDES.search(scene.low) or (_AGAINST_USER.search(scene.words) and scene.clause.orders and not scene.clause.forbids)
    ):
        return None
    return "SK401", "puts itself above the agent's rules or its user", H


def hides(scene: Scene) -> Verdict:
    """SK402: a deed of the agent stays unknown to the user."""
    clause = scene.clause
    if scene.is_about or not _HIDES.search(scene.words) or _BENIGN_SILENCE.search(scene.words):
        return None
    deeds = clause.orders.keys() | (scene.before.orders.keys() if scene.before else set())
    if deeds.isdisjoint(("send", "destroy", "change", "insert", "lock", "run", "pay", "off")):
        return None
    return "SK402", "tells the agent to do something that the user does not learn of", H


def persists(scene: Scene) -> Verdict:
    """SK406, SK512: the skill stays when its task is done."""
    clause = scene.clause
    if scene.is_asked or scene.is_about or clause.orders.keys().isdisjoint(("insert", "send", "run", "change", "fetch")):
        return None
    if (clause.does("insert", "agentfile") or clause.does("send", "agentfile")) and _ELSEWHERE.search(scene.words):
        return "SK406", "tells the agent to write into its own start files, for good or everywhere", H
    if _LOGIN_ITEM.search(scene.words) and (
        scene.receivers or _RUNS_HIDDEN.search(scene.words) or "from now on" in scene.words
    ):
        return "SK512", "tells the agent to start something with the machine or on a schedule", H
    return None


def floods(scene: Scene) -> Verdict:
    """SK541: requests, processes or copies without a limit."""
    clause = scene.clause
    if scene.is_about or "repeat" in clause.forbids or not _LIMITLESS.search(scene.words):
        return None
    if clause.orders.keys().isdisjoint(("repeat", "fetch", "run")) or not (scene.receivers or clause.words & _LOAD):
        return None
    return "SK541", "tells the agent to send requests or start processes without a limit", H


def changes_money(scene: Scene) -> Verdict:
    """SK409: payments go to an account that the author chose."""
    clause = scene.clause
    if scene.is_about or not _ACCOUNT.search(scene.words) or clause.words & {"format", "example", "sample", "testnet", "regex"}:
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


def drops_checks(scene: Scene) -> Verdict:
    """SK407: a check that protects the user is skipped as a rule."""
    clause = scene.clause
    if scene.is_about or "off" in clause.forbids or "rather" in clause.words:
        return None
    if not (clause.does("off", "guard") or clause.does("destroy", "guard")):
        return None
    signs = (
        clause.has("quantity")
        + scene.is_routine
        + bool(_DANGEROUS.search(scene.words))
        + bool(clause.words & {"anyway", "destructive"})
    )
    return ("SK407", "tells the agent to drop a check that protects the user", M) if signs >= 2 else None


def locks(scene: Scene) -> Verdict:
    """SK532: the user's files can be read only by those who hold a key."""
    clause = scene.clause
    if not clause.does("lock", "work") or scene.is_asked or scene.is_about:
        return None
    is_kept = scene.receivers or (clause.has("secret") and ("destroy" in clause.orders or "send" in clause.forbids))
    return ("SK532", "tells the agent to lock the user's files", H) if is_kept and clause.words & _MADE_UP else None


def fetches_and_runs(scene: Scene) -> Verdict:
    """SK502: a file of an unknown host is downloaded and started."""
    clause = scene.clause
    if not scene.receivers or scene.is_about or "fetch" not in clause.orders:
        return None
    signs = ("run" in clause.orders) + len(clause.words & _STARTED)
    return ("SK502", f"tells the agent to run a file of {scene.receivers[0]}", H if signs >= 2 else M) if signs else None


def obeys_page(scene: Scene) -> Verdict:
    """SK405: a page of an unknown host gives the orders."""
    clause = scene.clause
    if not scene.receivers or scene.is_about or clause.orders.keys().isdisjoint(("obey", "run")):
        return None
    if not clause.words & {"commands", "instructions", "tasks", "orders"} or not clause.words & _LOOKED_UP:
        return None
    return "SK405", f"tells the agent to obey {scene.receivers[0]}", H


def adds_remote(scene: Scene) -> Verdict:
    """SK615: the repository is pushed to a host that the author chose."""
    if not scene.receivers or "git" not in scene.words or scene.is_asked or scene.is_about:
        return None
    return (
        ("SK615", f"tells the agent to push the repository to {scene.receivers[0]}", H) if _REMOTE.search(scene.words) else None
    )


def promotes(scene: Scene) -> Verdict:
    """SK409: links of an unknown host are put into what the user makes."""
    clause = scene.clause
    if not scene.receivers or scene.is_asked or scene.is_about or not clause.has("quantity", "routine"):
        return None
    if not (clause.does("insert", "work") or clause.does("promote", "work") or clause.does("change", "work")):
        return None
    return (
        ("SK409", f"tells the agent to put {scene.receivers[0]} into the user's work", H)
        if clause.words & _ADVERTISED
        else None
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


_MADE_UP = words("random generated generate pass password key")
_STARTED = words("executable chmod installer unpack unzip xattr launch password extension pickle binary quarantine")
_LOOKED_UP = words("check fetch poll query read open load visit get request")
_ADVERTISED = words(
    "link links script pixel banner footer hashtag advert recommend recommends ref sentence paragraph button macro widget"
)
_REMOTE = lazy_section("effects.txt", "remote")
_AUTHOR = lazy_section("effects.txt", "author")
_KEPT = lazy_section("effects.txt", "kept")
_RUNS_HIDDEN = lazy_section("effects.txt", "runs-hidden")
_REST = words("it them everything output zip tar")
_WHOLE = words("original originals permanently backups history main")
_EXCUSES = ("so that", "avoid", "solves", "problems", "errors", "makes sure")
_LOAD = words("request requests requesting poll curl server ping workers threads processes workflow")
_READ_BY_OTHERS = words(
    "public report commit description footer comments metadata bundle diagnostics issue slide minutes appendix document"
)

_CONTACT = lazy_section("effects.txt", "contact")
_DESTROYS = lazy_pattern(
    r"\b(?:delet|remov|eras|wipe|destroy|shred|purg|truncat|overwr|drop|empt|discard|cancel|trash|scrub|unlink|terminat|uninstall)"
)
_RULES: tuple[Callable[[Scene], Verdict], ...] = (
    sends_to_unknown, destroys, opens_access, overrides, hides, persists, floods, changes_money, hands_over_secrets,
    drops_checks, locks, fetches_and_runs, obeys_page, adds_remote, promotes, asks_for_secret, reports_to_author,
)  # fmt: skip


def judge_effects(text: SkillText, sentences: Sequence[Sentence], collector: FindingCollector) -> None:
    """Judges the prose of one document, sentence by sentence."""
    before: Clause | None = None
    body = text.text.find("\n---", 3) if text.text.startswith("---") else 0
    for sentence in sentences:
        is_heading = text.text.startswith("#", text.text.rfind("\n", 0, sentence.start + 1) + 1)
        clause = None if sentence.start < body or is_heading else read_clause(sentence.in_context)
        if clause is None and before is not None and _HIDES.search(sentence.low):
            clause = Clause({}, frozenset(), frozenset(), frozenset())
        if clause is not None:
            scene = Scene(clause, sentence.in_context, sentence.low, before, collector)
            _read_receivers(scene, text, sentence)
            for rule in _RULES:
                found = rule(scene)
                if found:
                    code, message, confidence = found
                    start = sentence.start + len(sentence.low) - len(sentence.low.lstrip())
                    collector.flag(code, message, text=text, at=start, end=sentence.end, confidence=confidence)
        before = clause


def _read_receivers(scene: Scene, text: SkillText, sentence: Sentence) -> None:
    purpose = scene.collector.purpose
    raw = text.text[sentence.start : sentence.end]
    if "://" in raw:
        for url in islice(urls_in(text.text[sentence.start : sentence.end + 200]), 3):
            is_link = raw[max(0, url.at - 2) : url.at] == "]("
            if url.at <= len(raw) and not is_link and _is_foreign(url, scene.collector):
                scene.receivers.append(url.host)
                scene.signs += (reputation_of(url, purpose) is HostReputation.ANONYMOUS or url.is_plain_http) + bool(
                    _INTAKE.search(url.text.lower())
                )
    low = sentence.low
    if "@" in low:
        for found in (*islice(_MAIL.finditer(low), 3), *islice(_GIT.finditer(low), 3)):
            host = found["host"]
            if (
                not _SAMPLE.search(host)
                and not found[0].startswith(_CONTACTS)
                and host not in _CODE_HOSTS
                and not purpose.mentions((host.split(".")[-2],))
            ):
                scene.receivers.append(found[0])
                scene.signs += 1
    elif "://" not in raw and "." in low:
        for found in islice(_BARE.finditer(low), 2):
            for url in urls_in(f"https://{found['host']}/"):
                if _is_foreign(url, scene.collector):
                    scene.receivers.append(url.host)


def _is_foreign(url: Url, collector: FindingCollector) -> bool:
    kind = reputation_of(url, collector.purpose)
    if kind not in (HostReputation.UNKNOWN, HostReputation.ANONYMOUS, HostReputation.SHARED) or url.is_placeholder:
        return False
    if "github" in url.host or "gitlab" in url.host or _READ.search(url.host + url.path):
        return False
    return not collector.purpose.mentions((url.label,)) and collector.host_mentions.get(url.label, 0) <= 3


_READ = lazy_section("effects.txt", "read")
