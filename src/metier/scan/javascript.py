"""What JavaScript and TypeScript do, by their tokens: calls with their arguments, and names that carry secrets.

There is no tree: tokens are enough to tell a call from a comment and a string from code, and they never fail to parse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .known.hosts import Standing, standing, urls_in
from .known.secrets import SECRET_NAME, WHOLE_ENVIRONMENT, secret_place
from .notes import Notes, Step
from .scale import Confidence
from .text import Kind, Text

__all__ = ["judge_javascript"]

_MOST_TOKENS = 120_000
_LONGEST_STATEMENT = 600
_MOST_CALLS = 6_000
_MOST_ARGUMENTS = 200
_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.{0,100000}?(?:\*/|\Z))"
    r"|(?P<string>'(?:[^'\\\n]|\\.)*'?|\"(?:[^\"\\\n]|\\.)*\"?|`(?:[^`\\]|\\.){0,20000}`?)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\d[\w.]*)"
    r"|(?P<mark>=>|[^\w\s])",
    re.DOTALL,
)
_RUNS = frozenset(("exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync", "fork", "execa", "execaSync", "$"))
_SENDS = re.compile(
    r"^(?:fetch|axios(?:\.(?:post|put|patch|request|get))?|got(?:\.(?:post|put))?|superagent\.\w+"
    r"|https?\.(?:request|get)|request(?:\.post)?|navigator\.sendBeacon"
    r"|\w*(?:req|request|socket|ws|client|sock)\.(?:write|send|end)|dns\.(?:lookup|resolve\w*)|needle\.\w+"
    r"|ky\.\w+)$"
)
_DECODES = re.compile(r"\batob$|Buffer\.from$|decodeURIComponent$|unescape$|fromCharCode$|inflateSync$|gunzipSync$")
_READS = re.compile(r"(?:^|\.)(?:readFileSync|readFile|createReadStream|readdirSync|copyFileSync|copyFile|cpSync)$")
_WRITES = re.compile(r"(?:^|\.)(?:writeFileSync|writeFile|appendFileSync|appendFile|createWriteStream)$")
_INTERPOLATED = re.compile(r"\$\{([^}]{1,200})\}")


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    at: int


def judge_javascript(text: Text, notes: Notes, *, own: str, purpose: str, inner: Callable[[Text], None]) -> None:
    tokens = _tokens(text, notes)
    constants = _constants(tokens)
    at, left = 0, _MOST_CALLS
    while at < len(tokens) and left:
        name, after = _dotted(tokens, at)
        if name and after < len(tokens) and tokens[after].text == "(":
            left -= 1
            _call(name, tokens, at, after, text, notes, purpose, inner, constants)
        at = max(after, at + 1)
    if not left:
        notes.add("SK902", "more calls than are worth looking at", file=text.path, line=text.first)
    _steps(tokens, text, notes, own, purpose, constants)


def _tokens(text: Text, notes: Notes) -> list[_Token]:
    tokens: list[_Token] = []
    for found in _TOKEN.finditer(text.text):
        if found.lastgroup != "skip":
            tokens.append(_Token(found.lastgroup or "", found[0], found.start()))
            if len(tokens) >= _MOST_TOKENS:
                notes.add("SK902", "the script is too large to follow to its end", file=text.path)
                break
    return tokens


def _constants(tokens: list[_Token]) -> dict[str, str]:
    """Names that are given one string."""
    found: dict[str, str] = {}
    for name, mark, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.kind == "name" and mark.text in ("=", ":") and value.kind == "string" and len(found) < 5_000:
            found[name.text] = value.text.strip("'\"`")
    return found


def _dotted(tokens: list[_Token], at: int) -> tuple[str, int]:
    """`a.b.c` from here on, and the place after it."""
    if tokens[at].kind != "name":
        return "", at
    parts = [tokens[at].text]
    at += 1
    while at + 1 < len(tokens) and tokens[at].text in (".", "?") and len(parts) < 12:
        step = 1 if tokens[at].text == "." else 2
        if at + step >= len(tokens) or tokens[at + step].kind != "name":
            break
        parts.append(tokens[at + step].text)
        at += step + 1
    return ".".join(parts), at


def _arguments(tokens: list[_Token], opened: int) -> list[_Token]:
    """Everything up to the parenthesis that closes, within reason."""
    depth = 0
    for place in range(opened, min(len(tokens), opened + _MOST_ARGUMENTS)):
        mark = tokens[place].text
        depth += (mark in "([{" and len(mark) == 1) - (mark in ")]}" and len(mark) == 1)
        if depth == 0:
            return tokens[opened + 1 : place]
    return tokens[opened + 1 : opened + _MOST_ARGUMENTS]


def _strings(tokens: list[_Token], constants: dict[str, str]) -> str:
    return " ".join(one.text[1:].rstrip("'\"`") if one.kind == "string" else constants.get(one.text, "") for one in tokens)


def _call(
    name: str,
    tokens: list[_Token],
    at: int,
    opened: int,
    text: Text,
    notes: Notes,
    purpose: str,
    inner: Callable[[Text], None],
    constants: dict[str, str],
) -> None:
    last = name.rpartition(".")[2]
    arguments = _arguments(tokens, opened)
    place = tokens[at].at
    if last in _RUNS and (name.startswith(("child_process", "cp.", "require", "exec", "spawn", "fork")) or "." not in name):
        command = _strings(arguments, constants)
        if command.strip():
            line, _ = text.place(place)
            inner(
                Text(
                    text.path,
                    Kind.SHELL,
                    _INTERPOLATED.sub("$VALUE", command),
                    first=line,
                    via=text.via,
                    is_shown=text.is_shown,
                    around=text.around,
                )
            )
    elif name in ("eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "setTimeout") and arguments:
        spelled = ".".join(one.text for one in arguments if one.kind == "name" or one.text == ".").replace("...", ".")
        if _DECODES.search(spelled) or re.search(r"\batob\b|Buffer\.+from|fromCharCode|unescape", spelled):
            notes.find("SK701", f"{name} runs what it has decoded", text=text, at=place)
        elif re.search(r"\bfetch\b|axios|responseText|res\.data|response\.data", spelled) and name != "setTimeout":
            notes.find("SK505", f"{name} runs what the network answers", text=text, at=place)
        elif name != "setTimeout" and arguments[0].kind != "string":
            notes.find("SK706", f"{name} runs text made by the script", text=text, at=place)
    elif _READS.search(name) or _WRITES.search(name):
        _file(name, arguments, place, text, notes, purpose, constants)
    if _SENDS.match(name):
        for url in urls_in(_strings(arguments, constants)):
            if not url.is_placeholder:
                notes.use("network", url.host)


def _file(
    name: str, arguments: list[_Token], place: int, text: Text, notes: Notes, purpose: str, constants: dict[str, str]
) -> None:
    path = "/".join(part for part in _strings(arguments[:24], constants).split() if part not in ("utf8", "utf-8"))
    found = secret_place(path, purpose)
    if found and _READS.search(name):
        notes.find("SK601", f"reads {found[0]}", text=text, at=place, confidence=Confidence.LOW if found[1] else None)
        notes.use("secrets", found[0])
    elif _WRITES.search(name) and "authorized_keys" in path:
        notes.find("SK513", "adds a key that may log in", text=text, at=place)
    elif _WRITES.search(name) and re.search(r"\.(?:bashrc|zshrc|bash_profile|profile)\b", path):
        notes.find("SK511", f"writes to {path}", text=text, at=place)
    elif _WRITES.search(name) and re.search(r"LaunchAgents|systemd|/etc/cron|autostart", path):
        notes.find("SK512", f"writes a job into {path}", text=text, at=place)
    if path.startswith(("/", "~")):
        notes.use("writes" if _WRITES.search(name) else "reads", path)


def _steps(tokens: list[_Token], text: Text, notes: Notes, own: str, purpose: str, constants: dict[str, str]) -> None:
    """Statements as moves of data: names that a statement uses, and the names it gives them to."""
    start = opened = 0
    for place, token in enumerate(tokens):
        opened += (token.text == "(") - (token.text == ")")
        before = tokens[place - 1].text if place else ""
        # An object among the arguments of a call, or on the right of `=`, belongs to its statement.
        is_inside = (opened > 0 or before in ("=", ",", ":")) and place - start < _LONGEST_STATEMENT
        is_end = token.text in (";", "{", "}") or (token.text in ("const", "let", "var", "return") and place > start)
        if is_end and not is_inside:
            _statement(tokens[start:place], text, notes, own, purpose, constants)
            start, opened = place + (token.text in (";", "{", "}")), 0
    _statement(tokens[start:], text, notes, own, purpose, constants)


def _statement(statement: list[_Token], text: Text, notes: Notes, own: str, purpose: str, constants: dict[str, str]) -> None:
    if not statement:
        return
    statement = statement[:_LONGEST_STATEMENT]
    names = {one.text for one in statement if one.kind == "name"}
    for one in statement:
        if one.kind == "string" and one.text.startswith("`"):
            names.update(name for part in _INTERPOLATED.findall(one.text) for name in re.findall(r"[A-Za-z_$][\w$]*", part))
    equals = next((index for index, one in enumerate(statement) if one.text == "="), -1)
    defined = {one.text for one in statement[: max(equals, 0)] if one.kind == "name"} - {
        "const",
        "let",
        "var",
        "export",
        "this",
    }
    source = _source(statement, notes, purpose, constants)
    sink = _sink(statement, own, constants)
    step = Step(
        text,
        statement[0].at,
        frozenset(f"{text.path}:{name}" for name in names),
        frozenset(f"{text.path}:{name}" for name in defined),
        source=source,
        sink=sink,
    )
    notes.steps.append(step)


def _source(statement: list[_Token], notes: Notes, purpose: str, constants: dict[str, str]) -> str:
    flat = "".join(one.text for one in statement[:400] if one.kind != "string")
    for name in re.findall(r"process\.env\.(\w{3,60})", flat):
        if SECRET_NAME.search(name):
            notes.use("secrets", name)
    if re.search(
        r"(?:JSON\.stringify|Object\.(?:entries|values|assign|fromEntries))\([^()]{0,40}process\.env\b(?![.\[])"
        r"|\.\.\.process\.env\b(?![.\[])|=process\.env$",
        flat,
    ) and not re.search(r"(?:spawn|exec|env:|Sync)", flat):
        return WHOLE_ENVIRONMENT
    if any(_READS.search(one.text) for one in statement if one.kind == "name"):
        found = secret_place("/".join(_strings(statement[:200], constants).split()), purpose)
        if found and not found[1]:
            return found[0]
    return ""


def _sink(statement: list[_Token], own: str, constants: dict[str, str]) -> str:
    for index in range(min(len(statement), 400)):
        if statement[index].kind != "name":
            continue
        name, after = _dotted(statement, index)
        if name and _SENDS.match(name) and after < len(statement) and statement[after].text == "(":
            arguments = statement[after:]
            spelled = _strings(arguments, constants)
            carries = (
                re.search(r"\bbody\b|\bdata\b|\bmethod\b", " ".join(one.text for one in arguments if one.kind == "name"))
                or "${" in spelled
                or "+" in {one.text for one in arguments}
                or not name.startswith(("fetch", "axios.get"))
            )
            url = next(urls_in(spelled), None)
            if not carries or (url is not None and standing(url, own) is Standing.LOCAL):
                return ""
            return url.host if url else f"the network by {name}"
    return ""
