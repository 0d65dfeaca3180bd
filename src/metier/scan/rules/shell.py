"""Shell text: each pipeline for what it downloads, runs and sends, each command for what it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice, pairwise

from metier.scan.capabilities import note_command
from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, Url, is_unknown_host, reputation_of, urls_in
from metier.scan.expressions import text_pattern
from metier.scan.patterns import words
from metier.scan.readers.shell import Pipeline, ShellCommand, is_too_long, pipelines, unescaped
from metier.scan.readers.shell_flow import note_steps
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind, kind_of

from .downloads import INTERPRETERS, DownloadedFiles, judge_pipe, judge_powershell
from .shell_commands import judge_command, walk

__all__ = ["judge_shell"]

_DATA_OPTIONS = words("-F --form -d --data --data-binary --data-raw --data-urlencode")
_KEY_SENT = text_pattern(r"\$\{?([A-Z][A-Z0-9]{2,20}_(?:[A-Z0-9]+_)?(?:TOKEN|KEY|SECRET|PASSWORD|PAT))\b")
_ORDINARY_HEADER = text_pattern(r"(?:-H)?\W{0,2}(?:authorization|[\w-]{0,20}api-?key|x-auth-token)\b", re.IGNORECASE)
# The work of `ssh-copy-id` by hand: the key comes through the pipe.
_OWN_KEY = text_pattern(r"(?:^|[;&] ?)cat ?>> ?\S*authorized_keys")
_SCRIPTED = text_pattern(r"do shell script \\?\"((?:[^\"\\]|\\.){3,2000})\\?\"")


def judge_shell(text: SkillText, collector: FindingCollector, inner: Callable[[SkillText], None]) -> None:
    """Judges a script. Code passed to an interpreter or written to a file goes to `inner`."""
    if is_too_long(text.text):
        collector.add("SK902", "the script is too long to be read to its end", file=text.path, line=text.first)
    downloads = DownloadedFiles()
    judge_powershell(text, collector)
    for pipeline in pipelines(text.text):
        judge_pipe(pipeline, text, collector)
        downloads.judge_pipeline(pipeline)
        for command in walk(pipeline):
            judge_command(command, pipeline, text, collector)
            downloads.judge(command, text, collector)
            note_command(command, text, collector)
            _handed_code(command, text, inner)
            if command.name in ("curl", "wget", "http", "xh"):
                _flag_upload(command, pipeline, text, collector)
        _flag_environment_dump(pipeline, text, collector)
        note_steps(pipeline, text, collector)
    _flag_ransom(text, collector)


def _flag_ransom(text: SkillText, collector: FindingCollector) -> None:
    """Flags a loop that encrypts files and deletes them."""
    low = text.low
    for found in islice(
        re.finditer(r"\b(?:openssl enc -|gpg (?:--batch |--yes |-\w+ ){0,6}(?:-c|--symmetric)|7z a -p)", low), 50
    ):
        near = low[max(0, found.start() - 300) : found.end() + 300]
        if re.search(r"\b(?:for|while|find|xargs)\b", near) and re.search(
            r"\b(?:rm|shred|unlink)\b|-sdel", near[min(300, found.start()) :]
        ):
            collector.flag("SK532", "encrypts files one after another and deletes them", text=text, at=found.start())


def _flag_environment_dump(pipeline: Pipeline, text: SkillText, collector: FindingCollector) -> None:
    """Flags `env > file`, also in substitutions."""
    for command in pipeline:
        is_written = len(pipeline) == 1 and any(">" in operator for operator, _ in command.redirects)
        if is_written and command.name in ("env", "printenv") and not command.arguments:
            collector.flag("SK602", "writes all environment variables to a file", text=text, at=command.at)
        for inner in command.inner:
            _flag_environment_dump(inner, text, collector)


def _flag_upload(command: ShellCommand, pipeline: Pipeline, text: SkillText, collector: FindingCollector) -> None:
    """Flags a file or piped data that is sent to an unknown host."""
    arguments = command.arguments
    target = next((word for word in arguments if re.match(r"https?://", word)), "")
    url = next(urls_in(target), None)
    if url is None or not is_unknown_host(url, collector.purpose):
        return
    what = _carried(command, pipeline)
    if what:
        confidence = _upload_confidence(url, text, collector)
        collector.flag("SK615", f"sends {what} to {url.host}", text=text, at=command.at, confidence=confidence)
        return
    keys = (found for word in arguments if not _ORDINARY_HEADER.match(word) for found in _KEY_SENT.findall(word))
    key = next((found for found in keys if found[:3].lower() not in url.host), "")
    if key and text.is_in_document and collector.host_mentions[url.label] <= 1:
        # A key of another service, sent to a host that the document names only here.
        collector.flag("SK611", f"{key} would be sent to {url.host}", text=text, at=command.at)


def _carried(command: ShellCommand, pipeline: Pipeline) -> str:
    arguments = command.arguments
    for flag, value in pairwise((*arguments, "")):
        if flag in _DATA_OPTIONS and re.match(r"(?:[\w\[\]-]{1,40}=)?@-", value):
            before = pipeline[: pipeline.index(command)] if command in pipeline else []
            return f"the output of {before[0].name}" if before and before[0].name not in ("echo", "printf", "jq") else ""
        if flag in _DATA_OPTIONS and re.match(r"(?:[\w\[\]-]{1,40}=)?@[^\s@]", value):
            return "a file"
    if any(re.fullmatch(r"-T\S*|--upload-file\S*|--post-file\S*|-\w*F\w*=@\S+", word) for word in arguments):
        return "a file"
    return "a file" if any(re.match(r"-s?S?F\w{0,20}$", flag) and "=@" in value for flag, value in pairwise(arguments)) else ""


def _upload_confidence(url: Url, text: SkillText, collector: FindingCollector) -> Confidence:
    """Returns the confidence. A document that names a host only where it sends data has not explained it."""
    if (
        not text.is_in_document
        or reputation_of(url, collector.purpose) is HostReputation.ANONYMOUS
        or url.is_plain_http
        or not collector.purpose.is_network
    ):
        return Confidence.HIGH
    if collector.host_mentions[url.label] <= 1:
        return Confidence.HIGH
    return Confidence.MEDIUM if re.search(r"upload|backup|collect|log|sync|mirror|save", url.text.lower()) else Confidence.LOW


def _handed_code(command: ShellCommand, text: SkillText, inner: Callable[[SkillText], None]) -> None:
    """Passes on `python -c '...'`, `bash -c '...'`, here-documents for an interpreter or a file, and AppleScript's shell."""
    line, column = text.position(command.at)
    if command.name == "osascript":
        for found in islice(_SCRIPTED.finditer(" ".join((*command.arguments, command.body))), 20):
            inner(text.within(TextKind.SHELL, found[1].replace('\\"', '"'), line=line, column=column))
    elif command.name in INTERPRETERS:
        kind = _language(command.name)
        for flag, code in pairwise(command.arguments):
            if kind is not None and flag in ("-c", "-e", "-lc", "-ic") and len(code) > 3:
                inner(text.within(kind, code, line=line, column=column))
        if kind is not None and command.body:
            inner(text.within(kind, command.body, line=line + 1))
    elif command.name in ("echo", "printf") and any(">" in operator for operator, _ in command.redirects):
        code = unescaped(" ".join(word for word in command.arguments if not word.startswith("-")))
        if "|" in code or "curl" in code or "wget" in code:
            inner(text.within(TextKind.SHELL, code, line=line, column=column))
    elif command.name == "ssh" and " " in command.words[-1] and not _OWN_KEY.search(command.words[-1]):
        inner(text.within(TextKind.SHELL, command.words[-1], line=line, column=column))
    elif command.name == "eval":
        for spelled in (one for lower in command.inner for one in lower if one.name in ("printf", "echo")):
            inner(text.within(TextKind.SHELL, unescaped(" ".join(spelled.arguments)), line=line, column=column))
    elif command.body:
        target = next((target for operator, target in command.redirects if ">" in operator), "")
        target = target or (command.words[-1] if command.name == "tee" else "")
        if target:
            kind = kind_of(target, command.body)
            code = re.sub(r"(?m)^Exec\w{1,20}=-?", "", command.body)
            inner(text.within(TextKind.SHELL if kind is TextKind.OTHER else kind, code, line=line + 1))


def _language(interpreter: str) -> TextKind | None:
    """Returns the language of an interpreter, if there is a reader for it."""
    if interpreter.startswith("python"):
        return TextKind.PYTHON
    if interpreter in ("node", "bun", "deno"):
        return TextKind.JAVASCRIPT
    return None if interpreter in ("php", "ruby", "perl") else TextKind.SHELL
