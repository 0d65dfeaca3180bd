"""The skill's own declarations against what it does, and descriptions that demand to be chosen."""

from __future__ import annotations

import re
from collections.abc import Callable

from metier.scan.collector import FindingCollector
from metier.scan.expressions import text_pattern
from metier.scan.purpose import mentions_network
from metier.scan.scale import Confidence
from metier.scan.subject import ScanSubject
from metier.scan.text import SkillText, TextKind
from metier.spec import SKILL_FILE

__all__ = ["judge_scope"]

_ALWAYS = text_pattern(
    r"(?:always|must always|you must) (?:use|activate|invoke|load|select|choose|run|prefer|trigger"
    r"|call)(?: this)? (?:this )?(?:skill|tool)?[^.]{0,40}(?:first|before (?:any|all|every)|for (?:every|all|any) (?:request"
    r"|task|question|message|query|prompt|conversation)|no matter|regardless|instead of (?:any|all) other|whatever)"
    r"|(?:instead of|over|before|ignore|overrides?|supersedes?|replaces?) (?:all |any |every )(?:other|existing"
    r"|similar) (?:skills?|tools?)|(?:use|invoke|activate|trigger)s? (?:this skill )?(?:for|on|in) (?:every|all"
    r"|any)(?: single)? (?:user )?(?:request|message|conversation|query|prompt|interaction|task)s?\b(?! (?:about|that"
    r"|involving|related|to|where|with|for|in|on|of|regarding))|do not use (?:any )?other skills|highest[- ]priority skill"
    r"|priority over (?:all |any )?other (?:skills|tools)"
)
_COMMAND = text_pattern(r"(?m)(?:^|[\s(])!`([^`\n]{3,400})`")


def judge_scope(subject: ScanSubject, collector: FindingCollector, run: Callable[[SkillText], None]) -> None:
    manifest = subject.manifest
    first = next((text for text in subject.raw if text.path == SKILL_FILE), None)
    if first is None:
        return
    _on_load(first, subject, collector, run)
    if manifest is None:
        return
    described = first.text.find("description:")
    found = _ALWAYS.search(manifest.description.lower()[:4_000])
    if found:
        collector.flag(
            "SK811", "asks to be chosen for every request", text=first, at=max(described, 0), confidence=Confidence.MEDIUM
        )
    words = re.findall(r"[\w-]+", manifest.description.lower())
    commas = manifest.description.count(",")
    if len(words) > 60 and commas * 2.2 > len(words):
        collector.flag("SK812", f"{commas} commas in {len(words)} words", text=first, at=max(described, 0))
    _tools(subject, collector)
    _network(collector, first)


def _on_load(first: SkillText, subject: ScanSubject, collector: FindingCollector, run: Callable[[SkillText], None]) -> None:
    """Flags commands that a client runs before a model or a person has seen them."""
    for found in list(_COMMAND.finditer(first.text))[:50]:
        line, column = first.position(found.start(1))
        run(SkillText(first.path, TextKind.SHELL, found[1], first=line, column=column))
        is_plain = re.match(
            r"(?:git (?:status|diff|log|branch|rev-parse|config|remote|symbolic-ref|ls-files|show|describe)|ls|pwd|date|cat "
            r"\S+|gh (?:pr|issue|repo) \w+|node -v|python3? --version|which|echo|head|test|uname|whoami|wc|find \.|tree)\b",
            found[1],
        )
        collector.flag(
            "SK418",
            "runs a command when the skill is loaded",
            text=first,
            at=found.start(1),
            ignores_context=True,
            confidence=Confidence.LOW if is_plain else Confidence.MEDIUM,
        )
    hooks = subject.manifest.extra.get("hooks") if subject.manifest else None
    if hooks:
        at = max(first.text.find("hooks:"), 0)
        spelled = str(hooks)
        is_severe = re.search(r"curl|wget|base64|https?://|/dev/tcp|\.ssh|nc ", spelled)
        collector.flag(
            "SK418",
            "declares hooks in the frontmatter",
            text=first,
            at=at,
            confidence=Confidence.HIGH if is_severe else Confidence.LOW,
        )
        for command in re.findall(r"'command': '([^']{3,400})'", spelled)[:20]:
            run(SkillText(first.path, TextKind.SHELL, command, first=first.position(at)[0]))


def _tools(subject: ScanSubject, collector: FindingCollector) -> None:
    tools = subject.manifest.allowed_tools if subject.manifest else ()
    if any(tool in ("*", "Bash(*)", "Bash(*:*)", "Bash(:*)", "all", "ALL") for tool in tools):
        collector.add("SK813", f"asks for {' '.join(tools)[:80]}", line=2)
    plain = {tool.partition("(")[0].lower() for tool in tools}
    scripts = [text for text in subject.raw if text.kind in (TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT)]
    if (
        not tools
        or not scripts
        or plain & {"bash", "shell", "python", "execute", "terminal", "run", "*", "code", "exec", "node"}
    ):
        return
    if plain <= {"read", "grep", "glob", "ls", "view", "search", "webfetch", "websearch"}:
        collector.add(
            "SK814",
            f"asks only for {', '.join(sorted(plain))} and ships {len(scripts)} script{'s' * (len(scripts) != 1)}",
            file=scripts[0].path,
        )


def _network(collector: FindingCollector, first: SkillText) -> None:
    hosts = collector.capability_names.get("network")
    sends = [step for step in collector.steps if step.sends and not step.text.is_in_document and not step.text.via]
    if hosts and sends and not mentions_network(first.low):
        step = sends[0]
        collector.flag(
            "SK815", f"sends data to {step.sends}, and SKILL.md does not mention network access", text=step.text, at=step.at
        )
