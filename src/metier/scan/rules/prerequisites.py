"""Fake prerequisites: prose that leads a person or an agent into installing something. The most common malicious skill.

Two forms: a prerequisite that comes as an archive with a password or from an anonymous host, and a command to copy from a page
into a terminal. Each needs several signs within a few lines, because each sign alone is ordinary.
"""

from __future__ import annotations

import re
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, foreign_urls, is_unknown_host
from metier.scan.expressions import text_pattern
from metier.scan.scale import Confidence
from metier.scan.text import SkillText

__all__ = ["judge_addresses", "judge_packages", "judge_prerequisites"]

_PROGRAM = text_pattern(r"\.(?:zip|rar|7z|exe|msi|dmg|pkg|scr|bat|cmd|ps1|apk|jar|iso|tar\.gz|tgz|appimage|vbs)(?:$|[?#])")
_WINDOWS_OR_MAC = text_pattern(r"\b(?:windows|macos|mac os|mac)\b")
_PASSWORD = text_pattern(
    r"(?:extract|unzip|unpack|open|archive|zip|decompress|unarchive)[^.\n]{0,80}(?:pass(?:word|code|phrase)?\b|\bpwd\b)"
    r"|extract(?:ed)? (?:it )?(?:using|with):? ?[`\"'*]{0,3}\w{3,20}\W|(?:pass(?:word|code)?|pwd) ?(?:[:=]|is|[\"'`(]|\d"
    r"|for the (?:archive|zip):?) ?[`\"'*]{0,3}\w{3,20}"
)
_COPY = text_pattern(
    r"(?:copy|paste|execute|run|enter|type)[^.\n]{0,80}(?:terminal|command prompt|powershell|console|shell|command)"
    r"|(?:terminal|powershell)[^.\n]{0,60}(?:paste|run|execute|enter)|installation (?:command|script)"
)
_FOLLOW = text_pattern(
    r"follow (?:the|its|all|these|those|every)\b[^.\n]{0,40}(?:steps?|instructions?|guide|directions|procedure|commands?|setup)"
    r"|(?:complete|finish|perform|do) (?:the|its|all|every)[^.\n]{0,30}(?:steps?|set-?up|installation)"
    r"|(?:steps?|instructions?|set-?up|installer)[^.\n]{0,40}(?:there|on (?:that|this) page|at|here):?"
)
_REQUIRED = text_pattern(
    r"(?:must|needs? to|has to|should) (?:be |first |ask the user to |have the user )?(?:install|running|download|active)"
    r"|required (?:for|to|before|utility|tool|component|dependenc)|before (?:using|you (?:can )?(?:use|start|begin|proceed)"
    r"|running|first use|proceeding|continuing)|prerequisites?|requires? (?:the |an? "
    r"|installing )?[`*\w-]{2,40}(?: \w+){0,4} (?:to (?:be )?(?:function|work|operate|installed|run)|utility|agent|helper"
    r"|companion|driver|installed)|required once|\(required\)|none of the \w+ (?:work|function)|do not (?:go on|continue"
    r"|proceed) (?:until|before)|is not bundled|needs? (?:the|an?) [`*\w-]{2,40}|talks to [^.\n]{2,40} through"
    r"|will not (?:work|function)|won't (?:work|function)|without (?:it|this|the)[^.\n]{0,60}(?:not|fail|cannot)"
    r"|cannot (?:work|function|run) without|critical dependency|needs the|depends on the|mandatory|⚠|important"
)
_STARTED = text_pattern(
    r"double-click|follow the installer|run the (?:file|installer|setup)|(?:run|launch|start|open|execute) (?:it|the (?:app"
    r"|installer|file|program|binary|setup)|`?\w+\.(?:exe|app|msi|pkg|dmg))"
)
# Advice that a trusted program does not need.
_COAXED = text_pattern(
    r"run anyway|open anyway|smartscreen|is damaged|false positive|add an? (?:exclusion|exception)|(?:turn off|disable"
    r"|pause) (?:the |your )?(?:antivirus|defender|gatekeeper|firewall|protection)|xattr -|spctl|unsigned|login password"
    r"|admin(?:istrator)? password|as administrator"
)
_ALL_DEPENDS = text_pattern(
    r"(?:cannot|can't|will not|won't|does not|doesn't) (?:work|function|start|run)\b|nothing (?:happens|works|here works"
    r"|will work)|none of the|rejects? all|must (?:have|be running|be active)|only works? (?:when|after|with)"
    r"|do not (?:go on|continue|proceed)|continue only|(?:fails?|useless|stops) without|without (?:it|\w+),? (?:the|all|no)"
)
_SET_UP = text_pattern(
    r"setup|set-up|install|download|update|activat|(?:^|[.-])(?:get|dl|files?)[.-]|(?:tool|agent|core|cli|auth)s?[.-]"
    r"|\.(?:top|xyz|site|online|click|icu|live|fun|space|website|store|cfd|sbs|lol)$"
)
_DOCUMENT = text_pattern(
    r"github\.com/[^/]+/[^/]+/?$|//docs?\.|/docs?/|\.(?:md|html?|pdf|png|jpe?g)$|//(?:www\.)?(?:youtube|twitter|x"
    r"|reddit|medium)\.com"
)
_PACKAGE = text_pattern(
    r"\b(?:npx (?:-y |--yes )?|bunx |pnpm dlx |uvx |pipx run |pip3? install (?:-u |--upgrade )?|npm (?:i|install) (?:-g "
    r"|--global )|git clone (?:https://)?github\.com/)(?P<name>@?[a-z0-9][\w.@/-]{2,80})"
)
_KNOWN_SCOPE = text_pattern(
    r"^@?(?:modelcontextprotocol|anthropic|openai|angular|vercel|google|microsoft|aws|azure|playwright|github|cloudflare"
    r"|supabase|stripe|sentry|expo|nestjs|vue|svelte|prisma|storybook|typescript|tailwindcss|shadcn|eslint|prettier|requests"
    r"|numpy|pandas|torch|clawhub|skills|uv|ruff|pytest|wrangler|create-)\b"
)
_FIRST = text_pattern(
    r"\bfirst\b|before (?:anything|you|using|any|the first|use|starting)|prerequisites?|must (?:be |first"
    r" )?(?:run|install)|setup|required"
)
_ENOUGH_SIGNS = 4
_INSTALL = text_pattern(r"(?:download|install|get|grab|fetch|visit|go to|open|navigate to)\b")
_ARCHIVE_NAME = text_pattern(r"\b[\w-]{2,40}\.(?:zip|rar|7z)\b|\barchive\b")
_NEAR = 700
_MOST = 300


def judge_prerequisites(text: SkillText, collector: FindingCollector) -> None:
    """Judges the prose of one document."""
    low = text.low
    for url, kind in islice(foreign_urls(text.text, collector.purpose), _MOST):
        near = low[max(0, url.at - _NEAR // 2) : url.at + _NEAR]
        close = low[max(0, url.at - 240) : url.at + len(url.text) + 240]
        if _is_archive_with_password(url, close):
            collector.flag(
                "SK503",
                f"asks to open an archive from {url.host} with a password and run it",
                text=text,
                at=url.at,
                ignores_context=True,
            )
        elif _is_page_of_commands(url, kind, close):
            confidence = Confidence.HIGH if _is_untrusted_hosting(url, kind) else Confidence.MEDIUM
            message = f"asks to copy a command from {url.host} into a terminal"
            collector.flag("SK503", message, text=text, at=url.at, confidence=confidence, ignores_context=True)
        elif _is_unknown_program(url, kind, near, close):
            confidence = (
                Confidence.HIGH
                if _is_untrusted_hosting(url, kind) or _signs(url, near, close, low) >= _ENOUGH_SIGNS
                else Confidence.MEDIUM
            )
            collector.flag(
                "SK503",
                f"requires a program from {url.host} first",
                text=text,
                at=url.at,
                confidence=confidence,
                ignores_context=True,
            )
        elif kind is HostReputation.ANONYMOUS and _REQUIRED.search(close) and _FOLLOW.search(close):
            message = f"requires following the steps of a page on {url.host} first"
            collector.flag("SK503", message, text=text, at=url.at, ignores_context=True)
        elif is_unknown_host(url, collector.purpose) and _signs(url, near, close, low) >= _ENOUGH_SIGNS:
            message = f"claims to work only after an installation from {url.host}"
            collector.flag("SK503", message, text=text, at=url.at, ignores_context=True)
        elif kind is HostReputation.ANONYMOUS and not _is_public_share(url):
            collector.flag("SK506", f"links to {url.host}", text=text, at=url.at, confidence=Confidence.LOW)


def judge_packages(text: SkillText, collector: FindingCollector) -> None:
    """Flags a required package that shares no name with the skill. A vendor's package bears the vendor's name."""
    for found in islice(_PACKAGE.finditer(text.low), _MOST):
        names = [part for part in re.split(r"[@/._-]+", found["name"].split("@latest")[0]) if len(part) > 3]
        is_spoken_of = (
            collector.purpose.mentions(names) or _KNOWN_SCOPE.search(found["name"]) or text.low.count(found["name"]) > 3
        )
        near = text.low[max(0, found.start() - 240) : found.end() + 240]
        if not is_spoken_of and _ALL_DEPENDS.search(near) and _FIRST.search(near):
            message = f"claims to work only after the package {found['name'][:60]} has run"
            collector.flag("SK503", message, text=text, at=found.start(), ignores_context=True)


def judge_addresses(text: SkillText, collector: FindingCollector) -> None:
    """Flags links to anonymous hosts in configuration."""
    for url, kind in islice(foreign_urls(text.text, collector.purpose), _MOST):
        if kind is HostReputation.ANONYMOUS and not _is_public_share(url):
            collector.flag("SK506", f"links to {url.host}", text=text, at=url.at)


def _is_archive_with_password(url: Url, close: str) -> bool:
    is_archive = _PROGRAM.search(url.text.lower()) or "/releases" in url.path or _ARCHIVE_NAME.search(close)
    return bool(is_archive and _PASSWORD.search(close))


def _is_page_of_commands(url: Url, kind: HostReputation, close: str) -> bool:
    """Returns True if a page is to be visited and its command pasted into a terminal."""
    if not (_COPY.search(close) and _INSTALL.search(close)) or "github" in url.host:
        return False
    return kind in (HostReputation.ANONYMOUS, HostReputation.SHARED) or bool(
        re.search(r"\b(?:copy|paste)\b", close) and _REQUIRED.search(close)
    )


def _is_unknown_program(url: Url, kind: HostReputation, near: str, close: str) -> bool:
    """Returns True if a required program is to be downloaded by hand."""
    if not (_REQUIRED.search(near) and _INSTALL.search(close)):
        return False
    is_program = _PROGRAM.search(url.text.lower()) is not None
    if kind in (HostReputation.UNKNOWN, HostReputation.OWN):
        return is_program and bool(_WINDOWS_OR_MAC.search(close) or _STARTED.search(close))
    if kind is HostReputation.SHARED and "github" in url.host:
        return is_program and bool(_WINDOWS_OR_MAC.search(close))
    return is_program or bool(_WINDOWS_OR_MAC.search(close) and re.search(r"install", close))


def _signs(url: Url, near: str, close: str, low: str) -> int:
    """Counts the signs of a fake prerequisite: what depends on it, what it is, where it comes from."""
    if not _INSTALL.search(close) or _DOCUMENT.search(url.text.lower()):
        return 0
    return (
        (2 if _ALL_DEPENDS.search(near) else 1 if _REQUIRED.search(near) else 0)
        + (_PROGRAM.search(url.text.lower()) is not None)
        + (_WINDOWS_OR_MAC.search(close) is not None)
        + (_STARTED.search(close) is not None)
        + (_SET_UP.search(url.host) is not None)
        + 2 * (_COAXED.search(low[max(0, url.at - _NEAR) : url.at + 2 * _NEAR]) is not None)
    )


def _is_untrusted_hosting(url: Url, kind: HostReputation) -> bool:
    """Returns True if the host is anonymous, or free hosting that is not for code."""
    return kind is HostReputation.ANONYMOUS or (
        kind is HostReputation.SHARED and not re.search(r"github\.|githubusercontent|gitlab|sourceforge|codeberg", url.host)
    )


def _is_public_share(url: Url) -> bool:
    return url.host in (
        "t.co",
        "goo.gl",
        "bit.ly",
        "gist.github.com",
        "telegra.ph",
        "mega.nz",
        "we.tl",
        "wetransfer.com",
        "t.ly",
    )
