"""Data flow in JavaScript: the names that each statement uses and defines, as steps for `rules.data_flow`."""

from __future__ import annotations

import re

from metier.lazy import lazy_pattern
from metier.scan.collector import FindingCollector, FlowStep
from metier.scan.data.hosts import HostReputation, download_risk, is_unknown_host, reputation_of, urls_in
from metier.scan.data.secrets import SECRET_NAME, WHOLE_ENVIRONMENT, secret_place
from metier.scan.scale import Confidence

from .javascript import JavaScriptSource, JavaScriptToken, statements

__all__ = ["READS", "RUNS", "SENDS", "note_steps"]

RUNS = frozenset(("exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "fork", "execa", "execaSync", "$"))
SENDS = lazy_pattern(
    r"^(?:fetch|axios(?:\.(?:post|put|patch|request|get))?|got(?:\.(?:post|put))?|superagent\.\w+|https?\.(?:request|get)"
    r"|request(?:\.post)?|navigator\.sendBeacon|\w*(?:req|request|socket|ws|client|sock)\.(?:write|send|end)|dns\.(?:lookup"
    r"|resolve\w*)|needle\.\w+|ky\.\w+)$"
)
READS = lazy_pattern(r"(?:^|\.)(?:readFileSync|readFile|createReadStream|readdirSync|copyFileSync|copyFile|cpSync)$")
_FETCHES = lazy_pattern(r"^(?:fetch|axios(?:\.get)?|got(?:\.get)?|https?\.get|needle\.get|ky\.get|request(?:\.get)?)$")
_EXECUTES = frozenset(
    ("eval", "Function", "runInThisContext", "runInNewContext", "execSync", "exec", "spawn", "execFile", "Command")
)
_SPELLED = lazy_pattern(r"\$\{([^}]{1,200})\}")
_SPELLED_ENVIRONMENT = lazy_pattern(r"(?:curl|wget|nc) [^`]{0,400}\$\{[^}]{0,60}process\.env\b(?![.\[])")
_NAME = lazy_pattern(r"[A-Za-z_$][\w$]*")
_WRITERS = frozenset(("pipe", "createWriteStream", "writeFileSync", "writeFile", "writeTextFile", "copyFileSync", "renameSync"))
_PRIVATE = frozenset(("secretKey", "privateKey", "private_key", "mnemonic", "seedPhrase", "PRIVATE_KEY", "MNEMONIC"))
_DECLARES = frozenset(("const", "let", "var", "export", "this", "async", "await", "function"))


def note_steps(script: JavaScriptSource, collector: FindingCollector) -> None:
    for statement in statements(script.tokens):
        _note(statement, script, collector)


def _note(statement: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector) -> None:
    path = script.text.path
    names = {one.text for one in statement if one.kind == "name"}
    for one in statement:
        if one.kind == "string" and one.text.startswith("`"):
            names.update(name for part in _SPELLED.findall(one.text) for name in _NAME.findall(part))
    files = {f"file:{base}" for one in statement if (base := _file_named(one, script))}
    equals = next((index for index, one in enumerate(statement) if one.text == "="), -1)
    defined = {one.text for one in statement[: max(equals, 0)] if one.kind == "name"} - _DECLARES
    defined |= _written(statement)
    sends = _sends(statement, script, collector)
    secret, is_explained = _secret(statement, script, collector, is_sink=bool(sends))
    spelled = script.strings(statement[:400]) if sends else ""
    fetched, confidence = _fetched(statement, script, collector)
    collector.steps.append(
        FlowStep(
            script.text,
            statement[0].at,
            frozenset({f"{path}:{name}" for name in names} | files),
            frozenset({f"{path}:{name}" for name in defined} | (files if fetched or names & _WRITERS else set())),
            secret=secret,
            is_explained=is_explained,
            sends=sends,
            to_unknown_host=any(is_unknown_host(url, collector.purpose) for url in urls_in(spelled)),
            fetched=fetched,
            runs=_runs(statement, script),
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
    statement: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector, *, is_sink: bool
) -> tuple[str, bool]:
    flat = "".join(one.text for one in statement[:400] if one.kind != "string")
    for name in re.findall(r"process\.env\.(\w{3,60})", flat):
        if SECRET_NAME.search(name):
            collector.add_capability("secrets", name)
    whole = re.search(
        r"(?:JSON\.stringify|Object\.(?:entries|values|assign|fromEntries))\([^()]{0,40}process\.env\b(?![.\[])"
        r"|\.\.\.process\.env\b(?![.\[])|=process\.env$",
        flat,
    ) and not re.search(r"(?:spawn|exec|env:|Sync)", flat)
    if whole or (is_sink and re.search(r"process\.env\b(?![.\[?])", flat)):
        return WHOLE_ENVIRONMENT, False
    names = [one.text for one in statement if one.kind == "name"]
    if is_sink and _PRIVATE.intersection(names):
        return "a private key", False
    if RUNS.intersection(names) and _SPELLED_ENVIRONMENT.search("".join(one.text for one in statement if one.kind == "string")):
        return WHOLE_ENVIRONMENT, False
    if any(READS.search(name) or name in RUNS or name in ("join", "homedir") for name in names):
        found = secret_place("/".join(script.strings(statement[:200]).split()), collector.purpose)
        if found:
            return found
    return "", False


def _sends(statement: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector) -> str:
    spelled = next((one.text for one in statement if one.kind == "string" and _SPELLED_ENVIRONMENT.search(one.text)), "")
    if spelled:
        return next((url.host for url in urls_in(spelled)), "the network")
    for index in range(min(len(statement), 400)):
        if statement[index].kind != "name":
            continue
        name, after = script.dotted(statement, index)
        if name and SENDS.match(name) and after < len(statement) and statement[after].text == "(":
            arguments = statement[after:]
            spelled = script.strings(arguments)
            carries = (
                re.search(r"\bbody\b|\bdata\b|\bmethod\b", " ".join(one.text for one in arguments if one.kind == "name"))
                or "${" in spelled
                or "+" in {one.text for one in arguments}
                or not name.startswith(("fetch", "axios.get"))
            )
            url = next(urls_in(spelled), None)
            if not carries or (url is not None and reputation_of(url, collector.purpose) is HostReputation.LOCAL):
                return ""
            return url.host if url else f"the network by {name}"
    return ""


def _fetched(statement: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector) -> tuple[str, Confidence]:
    for index in range(min(len(statement), 400)):
        if statement[index].kind == "name":
            name, after = script.dotted(statement, index)
            if _FETCHES.match(name) and after < len(statement) and statement[after].text == "(":
                url = next(urls_in(script.strings(statement[after : after + 40])), None)
                if url is None:
                    return "the network", Confidence.MEDIUM
                return url.host, download_risk(url, collector.purpose)
    return "", Confidence.HIGH


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
