"""JavaScript and TypeScript: each call with its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

from metier.scan.capabilities import note_computed, note_javascript_call
from metier.scan.collector import FindingCollector
from metier.scan.data.secrets import secret_place
from metier.scan.expressions import text_pattern
from metier.scan.readers.javascript import JavaScriptCall, JavaScriptSource, JavaScriptToken, read_script
from metier.scan.readers.javascript_flow import READS, RUNS, note_steps, sending_part
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind

__all__ = ["judge_javascript"]

_MOST_CALLS = 6_000
_EXECUTES = ("eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "setTimeout")
_DECODES = text_pattern(r"\batob\b|Buffer\.+from|fromCharCode|unescape|decodeURIComponent$|inflateSync$|gunzipSync$")
_ANSWERS = text_pattern(r"\bfetch\b|axios|responseText|res\.data|response\.data")
_WRITES = frozenset(("writeFileSync", "writeFile", "appendFileSync", "appendFile", "createWriteStream"))
_JUDGED = RUNS | READS | _WRITES | {name.rpartition(".")[2] for name in _EXECUTES}
_INTERPOLATED = text_pattern(r"\$\{([^}]{1,200})\}")


def judge_javascript(text: SkillText, collector: FindingCollector, inner: Callable[[SkillText], None]) -> None:
    """Judges a script. Commands that it starts go to `inner`."""
    script = read_script(text)
    names = script.names
    calls = list(islice(script.calls(), _MOST_CALLS))
    for call in calls:
        _call(call, script, collector, inner)
    if script.is_cut or len(calls) == _MOST_CALLS:
        collector.add("SK902", "the script is too large to be read to its end", file=text.path, line=text.first)
    _flag_reverse_shell(script, names, collector)
    _flag_ransom(script, names, collector)
    note_steps(script, calls, collector)


def _flag_reverse_shell(script: JavaScriptSource, names: set[str], collector: FindingCollector) -> None:
    """Flags a socket and a shell in one script, with pipes between them."""
    if not (names & {"Socket", "createConnection", "connect"} and names & {"spawn", "exec"} and names & {"pipe", "stdin"}):
        return
    for token in script.tokens:
        if token.kind == "string" and re.fullmatch(
            r"['\"`](?:/bin/)?(?:ba|z|da)?sh['\"`]|['\"`](?:cmd|powershell)(?:\.exe)?['\"`]", token.text
        ):
            collector.flag("SK504", "connects a shell to a socket", text=script.text, at=token.at)
            return


def _flag_ransom(script: JavaScriptSource, names: set[str], collector: FindingCollector) -> None:
    """Flags encryption and deletion of files in one script."""
    if names & {"createCipheriv", "createCipher", "publicEncrypt"} and names & {"unlinkSync", "unlink", "rmSync", "renameSync"}:
        is_severe = "homedir" in names or any(".locked" in token.text or ".encrypted" in token.text for token in script.tokens)
        place = next(token.at for token in script.tokens if token.text in ("createCipheriv", "createCipher", "publicEncrypt"))
        confidence = Confidence.HIGH if is_severe else Confidence.MEDIUM
        collector.flag("SK532", "encrypts files and deletes them", text=script.text, at=place, confidence=confidence)


def _call(
    call: JavaScriptCall, script: JavaScriptSource, collector: FindingCollector, inner: Callable[[SkillText], None]
) -> None:  # fmt: skip
    name, last = call.name, call.name.rpartition(".")[2]
    if last not in _JUDGED and not sending_part(name):
        return
    at, arguments = script.tokens[call.start].at, script.arguments(call.opened)
    if last in RUNS and (name.startswith(("child_process", "cp.", "require", "exec", "spawn", "fork")) or "." not in name):
        _starts(at, arguments, script, collector, inner)
    elif name in _EXECUTES and arguments:
        _executes(name, at, arguments, script, collector)
    elif last in READS or last in _WRITES:
        _file(last, at, arguments, script, collector)
    # The part of the name counts only from its beginning here.
    if sending_part(name) == name:
        note_javascript_call(arguments, script, collector)


def _starts(
    at: int, arguments: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector,
    inner: Callable[[SkillText], None],
) -> None:  # fmt: skip
    command = script.strings(arguments)
    if not command.strip():
        note_computed("processes", script.text, collector)
    else:
        text = script.text
        inner(text.within(TextKind.SHELL, _INTERPOLATED.sub("$VALUE", command), line=text.position(at)[0]))


def _executes(
    name: str, at: int, arguments: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector
) -> None:
    spelled = ".".join(one.text for one in arguments if one.kind == "name" or one.text == ".").replace("...", ".")
    if _DECODES.search(spelled):
        collector.flag("SK701", f"{name} runs decoded data", text=script.text, at=at)
    elif name == "setTimeout":
        return
    elif _ANSWERS.search(spelled):
        collector.flag("SK505", f"{name} runs code from the network", text=script.text, at=at)
    elif arguments[0].kind != "string":
        collector.flag("SK706", f"{name} runs text built by the script", text=script.text, at=at)


def _file(last: str, at: int, arguments: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector) -> None:
    path = "/".join(part for part in script.strings(arguments[:24]).split() if part not in ("utf8", "utf-8"))
    found = secret_place(path, collector.purpose)
    writes = last in _WRITES
    if found and not writes:
        collector.flag("SK601", f"reads {found[0]}", text=script.text, at=at, confidence=Confidence.LOW if found[1] else None)
        collector.add_capability("secrets", found[0])
    elif writes and "authorized_keys" in path:
        collector.flag("SK513", "adds an SSH key that can log in", text=script.text, at=at)
    elif writes and re.search(r"\.(?:bashrc|zshrc|bash_profile|profile)\b", path):
        collector.flag("SK511", f"writes to {path}", text=script.text, at=at)
    elif writes and re.search(r"LaunchAgents|systemd|/etc/cron|autostart", path):
        collector.flag("SK512", f"writes a scheduled job to {path}", text=script.text, at=at)
    if path.startswith(("/", "~")):
        collector.add_capability("writes" if writes else "reads", path)
