"""The declared purpose of a skill: its name and description. The rules compare its behaviour with them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from metier.scan.expressions import text_pattern
from metier.values import dataclass

__all__ = ["Purpose", "mentions_network"]

_SECURITY = text_pattern(
    r"(?:cyber|app(?:lication)?|cloud|network|code|web|api|supply[- ]chain|smart contract|skill|agent|ai|llm"
    r"|container)[- ]?security|security[- ](?:audit|review|scan|test|research|analy|assess|vulnerab|posture|check|guard"
    r"|engineer|gate|finding|issue|hardening|best)|vulnerabilit|pen-?test|penetration|malware|red[- ]team|exploit|injection"
    r"|threat|forensic|ctf\b|offensive|attack|owasp|phishing|secrets? (?:scan|detect|leak)|credential (?:scan|leak)"
    r"|audit(?:s|ing)? (?:skill|code|smart|depend|plugin|mcp)|prompt[- ]guard|(?:scan|vet)(?:s|ting|ning)? (?:skill|plugin"
    r"|depend)|incident response|siem\b|detection rule|yara|sigma rule|privilege escalation|reverse[- ]shells?|blue team"
    r"|intrusion|indicators? of compromise|(?:detects?|hunts?) (?:malicious|suspicious)"
)
_NETWORK = text_pattern(
    r"\b(?:api|http|https|web|url|network|internet|online|fetch|download|upload|request|server|endpoint|cloud|remote|webhook"
    r"|email|slack|github|scrape|browser|search|sync|publish|deploy|post|send|share|mail|telegram|discord|social|video"
    r"|image generation|transcri\w*|speech|translate|weather|market|trading|bot)\w*"
)


@dataclass(frozen=True)
class Purpose:
    name: str = ""
    """Lowercase, as are the other fields."""
    description: str = ""
    folder: str = ""
    """The folder's name. It is not the author's: a collection may keep the skill under `attacks`."""

    @cached_property
    def own(self) -> str:
        """Letters and digits of the name, to recognise the skill's own hosts."""
        return re.sub(r"[^a-z0-9]", "", self.name or self.folder)

    @cached_property
    def words(self) -> str:
        return f"{self.name} {self.description}"

    @cached_property
    def is_security(self) -> bool:
        """Returns True if the skill is about security, so that it describes attacks."""
        return bool(_SECURITY.search(self.words))

    @cached_property
    def is_network(self) -> bool:
        """Returns True if the skill says that it uses the network."""
        return mentions_network(self.words)

    def mentions(self, reasons: Iterable[str]) -> bool:
        return any(reason in self.words for reason in reasons)


def mentions_network(words: str) -> bool:
    """Returns True if these words explain network access."""
    return bool(_NETWORK.search(words))
