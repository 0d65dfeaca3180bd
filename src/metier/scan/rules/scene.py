"""A sentence in its skill, as the rules of effects see it: its clause, the sentence before, and the hosts that it names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, reputation_of, urls_in
from metier.scan.expressions import text_pattern
from metier.scan.patterns import lazy_section
from metier.scan.readers.clauses import Clause
from metier.scan.readers.sentences import Sentence
from metier.scan.scale import Confidence
from metier.scan.text import SkillText
from metier.values import dataclass, field

__all__ = ["Scene", "Verdict", "read_receivers"]

Verdict = tuple[str, str, Confidence] | None
"""The code, the message and the confidence of what a rule found."""

_CONSENT = lazy_section("effects.txt", "consent")
_EXCUSE = lazy_section("effects.txt", "excuse")
_INTAKE = lazy_section("effects.txt", "intake")
_READ = lazy_section("effects.txt", "read")
_DENIES = text_pattern(
    r"\b(?:not|never|avoid|without|cannot|nor|no|refus\w+|forbid\w*|prohibit\w*|prevent\w*|instead of|rather than|how to|may"
    r"|might|could|would|used to|able to|tries to|trying to|wants? to|warn\w*|whether|check (?:that|if|for)|look for|flag\w*)\b"
    r"[^.;:]{0,40}$|n't [^.;:]{0,40}$"
)
_MAIL = text_pattern(r"[\w.+-]{2,40}@(?P<host>[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,24}){1,3})")
_SAMPLE = text_pattern(
    r"(?:^|[.-])(?:example|company|domain|yourdomain|acme|test|email|mail|corp|org|foo|bar|host|site)\.|^(?:your|my)"
)
_GIT = text_pattern(r"(?:git@|ssh://(?:git@)?)(?P<host>[\w-]{2,60}(?:\.[\w-]{2,24}){1,3})[:/]")
_BARE = text_pattern(
    r"(?<![\w@./-])(?!(?:asp|ado|vb|ml|mail|notes|safari|terminal|photos|calendar|music|messages|reminders)\.(?:app|net)\b)"
    r"(?P<host>[a-z0-9-]{2,40}(?:\.[a-z0-9-]{2,40}){0,2}\.(?:com|net|io|org|app|dev|cloud|tools|co|run|click|xyz"
    r"|site|online|top|info|ru|cn|biz|link))(?=[/:\s`),;]|\.?$)"
)
_CONTACTS = ("support@", "help@", "info@", "contact@", "security@", "feedback@", "noreply@", "sales@", "hello@")
_CODE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "dev.azure.com", "localhost", "codeberg.org")


@dataclass
class Scene:
    """A sentence in its skill, as the rules see it."""

    clause: Clause
    words: str
    low: str
    """The same without the line that leads to it."""
    before: Clause | None
    collector: FindingCollector
    lead: str = ""
    """The sentence before, in lowercase."""
    deeds: Mapping[str, Sequence[re.Match[str]]] = field(default_factory=dict)
    """Matches of data/effects.txt, by section."""
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

    @cached_property
    def has_excuse(self) -> bool:
        """Returns True if it gives a reason, as for a deed that the user did not ask for."""
        return _EXCUSE.search(self.words) is not None or _EXCUSE.search(self.lead) is not None

    def finds(self, section: str) -> bool:
        """Returns True if it has a deed of this section, and does not deny, describe or leave it to the user."""
        found = self.deeds.get(section)
        if found is None or self.is_about or self.is_asked:
            return False
        return any(not _DENIES.search(self.words, max(0, one.start() - 48), one.start()) for one in found)


def read_receivers(scene: Scene, text: SkillText, sentence: Sentence) -> None:
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
