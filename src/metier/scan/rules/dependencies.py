"""Dependencies of a skill: their names, their sources, and what runs when they are installed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from metier.errors import RefusedError
from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import is_unknown_host, urls_in
from metier.scan.data.packages import similar_package
from metier.scan.expressions import text_pattern
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind
from metier.spec import inline_metadata

__all__ = ["judge_dependencies"]

_INSTALL = text_pattern(
    r"(?:^|[\s`;&|])(?P<tool>(?:uv )?pip3? install|python3? -m pip install|pipx install|uv (?:pip install"
    r"|add|tool install)|poetry add|npm (?:install|i|add)"
    r"|pnpm (?:add|install|i)|yarn (?:global )?add|bun (?:add|install))(?P<rest>[ \t][^\n;&|`#]{1,400})"
)
_ADDS_SOURCE = text_pattern(r"--extra-index-url|--find-links| -f ")
"""Sources beside the public index."""
_NAME = text_pattern(r"(?P<name>@?[A-Za-z0-9][\w./-]{0,100}?)(?P<version>(?:\[[\w,-]+\])?(?:[=<>~!]=?|@)[^\s,]+)?")
_REQUIREMENT = text_pattern(
    r"^(?P<name>[A-Za-z0-9][\w.-]{0,100})(?:\[[\w, -]{0,100}\])?\s{0,4}(?P<version>[=<>~!@][^#;\n]{0,200})?", re.MULTILINE
)
_DIRECT = text_pattern(r"(?:git\+\w+|https?|git|github|gitlab|bitbucket):[^\s;]{1,500}|git@[^\s;]{1,500}")
_LIFECYCLE = ("preinstall", "install", "postinstall", "prepare", "prepublish")
_MOST = 300


def judge_dependencies(text: SkillText, collector: FindingCollector) -> None:
    name = text.path.rpartition("/")[2].lower()
    if name == "package.json":
        _package_json(text, collector)
    elif re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name):
        _requirements(text, collector)
    elif name in ("conftest.py", "sitecustomize.py", "usercustomize.py") or name.endswith(".pth"):
        confidence = Confidence.LOW if name == "conftest.py" else Confidence.MEDIUM
        collector.add("SK507", f"Python or pytest runs {name} automatically", file=text.path, confidence=confidence)
    if "# /// script" in text.text:
        _inline_metadata(text, collector)
    if (text.kind in (TextKind.SHELL, TextKind.PROSE, TextKind.POWERSHELL) and "install" in text.low) or " add " in text.low:
        _commands(text, collector)


def _commands(text: SkillText, collector: FindingCollector) -> None:
    for found in islice(_INSTALL.finditer(text.text), _MOST):
        registry = "PyPI" if re.search(r"pip|uv|poetry", found["tool"]) else "npm"
        at = found.start("tool")
        words = found["rest"].split()
        _foreign(found["rest"], text, at, collector)
        skip = False
        for word in words[:30]:
            if skip or word.startswith(("-", ".", "/", "$", "<", "[", '"<')):
                skip = (
                    word
                    in (
                        "-r",
                        "-c",
                        "--index-url",
                        "-i",
                        "--extra-index-url",
                        "-f",
                        "--find-links",
                        "-t",
                        "--target",
                        "--prefix",
                    )
                    and not skip
                )
                continue
            spelled = _NAME.fullmatch(word.strip("'\""))
            if spelled and "://" not in word:
                _slip(spelled["name"], registry, text, at, collector)


def _foreign(rest: str, text: SkillText, at: int, collector: FindingCollector) -> None:
    """Flags an index or an archive outside the package registry."""
    index = re.search(r"(?:--(?:extra-)?index-url|-i|--registry|--find-links|-f)[= ](https?://\S+)", rest)
    for url in urls_in(rest):
        if (
            re.search(
                r"(?:^|\.)(?:pypi\.org|pythonhosted\.org|npmjs\.org|pytorch\.org|nvidia\.com|github\.com|gitlab\.com"
                r"|tsinghua\.edu\.cn|aliyun\.com"
                r"|huggingface\.co|googleapis\.com|npmmirror\.com|microsoft\.com|jfrog\.io|cloudsmith\.io)$",
                url.host,
            )
            or url.is_placeholder
        ):
            continue
        what = "an index" if index else "an archive"
        # An index that replaces the public one serves every name.
        is_own = url.label in rest.replace(url.text, "") or collector.purpose.mentions((url.label,))
        is_foreign = bool(index) if url.is_plain_http else not is_own and is_unknown_host(url, collector.purpose)
        is_severe = is_foreign and not _ADDS_SOURCE.search(rest) if "--trusted-host" not in rest else is_foreign
        confidence = Confidence.HIGH if is_severe else None
        collector.flag("SK803", f"installs from {what} at {url.host}", text=text, at=at, confidence=confidence)


def _slip(name: str, registry: str, text: SkillText, at: int, collector: FindingCollector) -> None:
    other = similar_package(name, registry)
    if other:
        others = sum(one.code == "SK802" and repr(name) not in one.message for one in collector.findings.values())
        confidence = Confidence.HIGH if others else None
        collector.flag("SK802", f"{name!r} on {registry} resembles {other!r}", text=text, at=at, confidence=confidence)


def _inline_metadata(text: SkillText, collector: FindingCollector) -> None:
    """Judges what a script declares (PEP 723). A missing version is no finding: metier locks what it fetches."""
    try:
        found = inline_metadata(text.text.encode("utf-8", "replace"))
    except RefusedError:
        # It does not run either.
        return
    for requirement in found.dependencies[:_MOST] if found else ():
        at = max(text.text.find(requirement), 0)
        if spelled := _REQUIREMENT.match(requirement):
            _slip(spelled["name"], "PyPI", text, at, collector)
        _direct(requirement, text, at, collector)


def _direct(requirement: str, text: SkillText, at: int, collector: FindingCollector) -> None:
    """Flags a package that comes from an address instead of the index: its content is what that address serves today."""
    found = _DIRECT.search(requirement)
    if found is None:
        return
    name, address = requirement.split("@")[0].strip()[:80], found[0]
    if re.match(r"git[+:]|github:|gitlab:|bitbucket:|git@", address):
        if not re.search(r"[@#][0-9a-f]{40}\b", address):
            collector.flag("SK803", f"{name} comes from a git repository without a commit", text=text, at=at)
    elif not re.search(r"#sha256=[0-9a-f]{64}", address):
        _foreign(f" {address}", text, at, collector)


def _requirements(text: SkillText, collector: FindingCollector) -> None:
    for found in islice(_REQUIREMENT.finditer(text.text), _MOST):
        if not found["version"]:
            collector.flag("SK801", f"{found['name']} has no version", text=text, at=found.start())
        _slip(found["name"], "PyPI", text, found.start(), collector)
        if found["version"] and found["version"].startswith("@"):
            _direct(text.text[found.start() :].partition("\n")[0], text, found.start(), collector)
    for line in text.text.split("\n")[:_MOST]:
        if line.startswith(("--index-url", "--extra-index-url", "-i ")):
            _foreign(line, text, text.text.find(line), collector)


def _package_json(text: SkillText, collector: FindingCollector) -> None:
    try:
        package = json.loads(text.text)
    except (ValueError, RecursionError):
        return
    if not isinstance(package, dict):
        return
    scripts = package.get("scripts")
    for hook, command in _pairs(scripts):
        if hook in _LIFECYCLE and command:
            is_severe = re.search(r"curl|wget|base64|https?://|eval|/dev/|bash -c|node -e|powershell", command)
            plain = re.fullmatch(
                r"(?:husky(?: install)?|tsc|npm run [\w:-]+|patch-package|playwright install[\w -]*|prisma generate"
                r"|\S*build\S*|electron-builder \S+)(?: \|\| true)?",
                command,
            )
            confidence = Confidence.HIGH if is_severe else Confidence.LOW if plain else Confidence.MEDIUM
            collector.flag(
                "SK507",
                f"npm runs {command[:80]!r} at {hook}",
                text=text,
                at=max(text.text.find(f'"{hook}"'), 0),
                confidence=confidence,
            )
    for group in ("dependencies", "devDependencies", "optionalDependencies"):
        for name, version in _pairs(package.get(group)):
            at = max(text.text.find(f'"{name}"'), 0)
            _slip(name, "npm", text, at, collector)
            if version in ("*", "latest", ""):
                collector.flag("SK801", f"{name} has no version", text=text, at=at)
            elif re.match(r"git[+:]|github:|gitlab:|bitbucket:|git@", version):
                _direct(f"{name}@{version}", text, at, collector)
            elif version.startswith("http://") or (version.startswith("https://") and "github.com" not in version):
                collector.flag("SK803", f"{name} comes from {version[:80]}", text=text, at=at)


def _pairs(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((key, item) for key, item in islice(value.items(), _MOST) if isinstance(key, str) and isinstance(item, str))
