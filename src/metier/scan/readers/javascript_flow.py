"""Data flow in JavaScript: the names that each statement uses and defines, as steps for `rules.data_flow`."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

from metier.lazy import lazy_pattern
from metier.scan.collector import FindingCollector, FlowStep
from metier.scan.data.hosts import HostReputation, download_risk, is_unknown_host, reputation_of, urls_in
from metier.scan.data.secrets import SECRET_NAME, WHOLE_ENVIRONMENT, secret_place
from metier.scan.scale import Confidence

from .javascript import JavaScriptCall, JavaScriptSource, JavaScriptToken, statements

__all__ = ["READS", "RUNS", "note_steps", "sending_part"]

RUNS = frozenset(("exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "fork", "execa", "execaSync", "$"))
_SENDS = lazy_pattern(
    r"^(?:fetch|axios(?:\.(?:post|put|patch|request|get))?|got(?:\.(?:post|put))?|superagent\.\w+|https?\.(?:request|get)"
    r"|request(?:\.post)?|navigator\.sendBeacon|\w*(?:req|request|socket|ws|client|sock)\.(?:write|send|end)|dns\.(?:lookup"
    r"|resolve\w*)|needle\.\w+|ky\.\w+)$"
)
READS = frozenset(("readFileSync", "readFile", "createReadStream", "readdirSync", "copyFileSync", "copyFile", "cpSync"))
_FETCHES = lazy_pattern(r"^(?:fetch|axios(?:\.get)?|got(?:\.get)?|https?\.get|needle\.get|ky\.get|request(?:\.get)?)$")
_EXECUTES = frozenset(
    ("eval", "Function", "runInThisContext", "runInNewContext", "execSync", "exec", "spawn", "execFile", "Command")
)
_SPELLED = lazy_pattern(r"\$\{([^}]{1,200})\}")
_SPELLED_ENVIRONMENT = lazy_pattern(r"(?:curl|wget|nc) [^`]{0,400}\$\{[^}]{0,60}process\.env\b(?![.\[])")
_NAME = lazy_pattern(r"[A-Za-z_$][\w$]*")
_WRITERS = frozenset(("pipe", "createWriteStream", "writeFileSync", "writeFile", "writeTextFile", "copyFileSync", "renameSync"))
_PRIVATE = frozenset(("secretKey", "privateKey", "private_key", "mnemonic", "seedPhrase", "PRIVATE_KEY", "MNEMONIC"))
_PLACES = READS | RUNS | {"join", "homedir"}
_CARRIERS = frozenset(("body", "data", "method"))
_LONGEST = 400
_DECLARES = frozenset(("const", "let", "var", "export", "this", "async", "await", "function"))


def note_steps(script: JavaScriptSource, calls: list[JavaScriptCall], collector: FindingCollector) -> None:
    places = [call.opened for call in calls]
    for start, end in statements(script.tokens):
        within = calls[bisect_left(places, start) : bisect_left(places, end)]
        _note(start, end, [call for call in within if call.opened < start + _LONGEST], script, collector)


def _note(
    start: int, end: int, calls: list[JavaScriptCall], script: JavaScriptSource, collector: FindingCollector
) -> None:  # fmt: skip
    path, statement = script.text.path, script.tokens[start:end]
    names = {one.text for one in statement if one.kind == "name"}
    templates = [one.text for one in statement if one.kind == "string" and one.text[0] == "`"]
    names.update(name for template in templates for part in _SPELLED.findall(template) for name in _NAME.findall(part))
    equals = next((index for index, one in enumerate(statement) if one.text == "="), 0)
    defined = {one.text for one in statement[:equals] if one.kind == "name"} - _DECLARES
    if not names.isdisjoint(_WRITERS):
        defined |= _written(statement)
    sends = _sends(end, calls, templates, script, collector)
    secret, is_explained = _secret(statement, names, script, collector, is_sink=bool(sends))
    fetched, confidence = _fetched(end, calls, script, collector)
    runs = "" if names.isdisjoint(_EXECUTES) else _runs(statement, script)
    files = {f"file:{base}" for one in statement if (base := _file_named(one, script))}
    is_written = bool(fetched) or not names.isdisjoint(_WRITERS)
    if not (defined or sends or secret or fetched or runs or (files and is_written)):
        # Nothing enters, leaves or goes on here.
        return
    spelled = script.strings(statement[:_LONGEST]) if sends else ""
    collector.steps.append(
        FlowStep(
            script.text,
            statement[0].at,
            frozenset({f"{path}:{name}" for name in names} | files),
            frozenset({f"{path}:{name}" for name in defined} | (files if is_written else set())),
            secret=secret,
            is_explained=is_explained,
            sends=sends,
            to_unknown_host=any(is_unknown_host(url, collector.purpose) for url in urls_in(spelled)),
            fetched=fetched,
            runs=runs,
            confidence=confidence,
        )
    )


def _file_named(token: JavaScriptToken, script: JavaScriptSource) -> str:
    """Returns the last part of a path outside the skill, from a string or a constant."""
    spelled = token.text.strip("'\"`") if token.kind == "string" else script.constants.get(token.text, "")
    return spelled.rpartition("/")[2] if spelled.startswith(("/", "~", "./.")) and len(spelled) < 200 else ""


def _written(statement: list[JavaScriptToken]) -> set[str]:
    """Returns the names of files that a statement writes to: `pipe(fs.createWriteStream(name))`."""
    return {
        statement[index + 2].text
        for index, one in enumerate(statement[:-2])
        if one.text in _WRITERS and statement[index + 1].text == "(" and statement[index + 2].kind == "name"
    }


def _secret(
    statement: list[JavaScriptToken], names: set[str], script: JavaScriptSource, collector: FindingCollector, *, is_sink: bool
) -> tuple[str, bool]:
    found = _environment(statement, collector, is_sink=is_sink) if "env" in names else ""
    if found:
        return found, False
    if is_sink and not _PRIVATE.isdisjoint(names):
        return "a private key", False
    if not RUNS.isdisjoint(names) and _SPELLED_ENVIRONMENT.search(
        "".join(one.text for one in statement if one.kind == "string")
    ):
        return WHOLE_ENVIRONMENT, False
    if _PLACES.isdisjoint(names):
        return "", False
    return secret_place("/".join(script.strings(statement[:200]).split()), collector.purpose) or ("", False)


def _environment(statement: list[JavaScriptToken], collector: FindingCollector, *, is_sink: bool) -> str:
    """Returns the name of the whole environment, if a statement reads it, and notes the secrets that it reads."""
    flat = "".join(one.text for one in statement[:_LONGEST] if one.kind != "string")
    for name in re.findall(r"process\.env\.(\w{3,60})", flat):
        if SECRET_NAME.search(name):
            collector.add_capability("secrets", name)
    whole = re.search(
        r"(?:JSON\.stringify|Object\.(?:entries|values|assign|fromEntries))\([^()]{0,40}process\.env\b(?![.\[])"
        r"|\.\.\.process\.env\b(?![.\[])|=process\.env$",
        flat,
    ) and not re.search(r"(?:spawn|exec|env:|Sync)", flat)
    return WHOLE_ENVIRONMENT if whole or (is_sink and re.search(r"process\.env\b(?![.\[?])", flat)) else ""


def _sends(
    end: int, calls: list[JavaScriptCall], templates: list[str], script: JavaScriptSource, collector: FindingCollector
) -> str:  # fmt: skip
    spelled = next((template for template in templates if _SPELLED_ENVIRONMENT.search(template)), "")
    if spelled:
        return next((url.host for url in urls_in(spelled)), "the network")
    call = next((call for call in calls if sending_part(call.name)), None)
    if call is None:
        return ""
    name = sending_part(call.name)
    arguments = script.tokens[call.opened : end]
    spelled = script.strings(arguments)
    carries = (
        not _CARRIERS.isdisjoint(one.text for one in arguments if one.kind == "name")
        or "${" in spelled
        or "+" in {one.text for one in arguments}
        or not name.startswith(("fetch", "axios.get"))
    )
    url = next(urls_in(spelled), None)
    if not carries or (url is not None and reputation_of(url, collector.purpose) is HostReputation.LOCAL):
        return ""
    return url.host if url else f"the network by {name}"


def _fetched(
    end: int, calls: list[JavaScriptCall], script: JavaScriptSource, collector: FindingCollector
) -> tuple[str, Confidence]:
    call = next((call for call in calls if _fetching_part(call.name)), None)
    if call is None:
        return "", Confidence.HIGH
    url = next(urls_in(script.strings(script.tokens[call.opened : min(end, call.opened + 40)])), None)
    return (url.host, download_risk(url, collector.purpose)) if url else ("the network", Confidence.MEDIUM)


@lru_cache(maxsize=20_000)
def sending_part(name: str) -> str:
    """Returns the part of a dotted name that sends data: `axios.post` of `this.axios.post`."""
    return _part(name, _SENDS)


@lru_cache(maxsize=20_000)
def _fetching_part(name: str) -> str:
    return _part(name, _FETCHES)


def _part(name: str, wanted: re.Pattern[str]) -> str:
    parts = name.split(".")
    ends = (".".join(parts[start:]) for start in range(len(parts)))
    return next((end for end in ends if wanted.match(end)), "")


def _runs(statement: list[JavaScriptToken], script: JavaScriptSource) -> str:
    """Returns the call that executes something other than a literal."""
    for index, token in enumerate(statement[:400]):
        if token.kind != "name" or token.text not in _EXECUTES or (index and statement[index - 1].text == "function"):
            continue
        after = statement[index + 1 : index + 14]
        if len(after) < 2 or after[0].text != "(":
            continue
        if after[1].kind == "name" or any(_file_named(one, script) for one in after[1:] if one.kind == "string"):
            return token.text
    return ""
