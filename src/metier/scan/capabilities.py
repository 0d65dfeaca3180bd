"""The capabilities that a scan finds: what commands and scripts name, and where they compute a name instead.

The rules add what they meet while they read (`FindingCollector.add_capability`). This module adds what no rule needs:
variables, packages, and the marker `COMPUTED` where a host or a program is put together while the skill runs. A list without
a marker must mean that everything was read, so each doubt is a marker: code in a language without a reader, a compiled program,
a network library whose calls were not found, code that is made from text.
"""

from __future__ import annotations

import ast
import re

from metier.errors import MetierError
from metier.scan.expressions import text_pattern
from metier.spec import (
    ANY,
    COMPUTED,
    EVERYDAY_COMMANDS,
    Capabilities,
    Manifest,
    MemoryFiles,
    Problem,
    declared_packages,
    package_name,
    problem,
    read_variables,
    script_files,
)

from .collector import FindingCollector
from .data.hosts import Url, urls_in
from .patterns import words
from .readers.binaries import program_kind
from .readers.javascript import JavaScriptSource, JavaScriptToken
from .readers.python import PythonModule
from .readers.shell import ShellCommand
from .subject import ScanSubject
from .text import GAP, SkillText, TextKind

__all__ = [
    "capability_problems",
    "list_capabilities",
    "note_command",
    "note_computed",
    "note_javascript_call",
    "note_python_call",
    "note_script",
]

_UNKNOWN = "\x00"
_PROGRAM = text_pattern(r"[a-z][a-z0-9_.+-]{1,30}")
_CLIENTS = frozenset({
    "curl", "wget", "http", "https", "xh", "nc", "ncat", "netcat", "telnet", "ssh", "scp", "sftp", "rsync", "ftp", "socat",
    "Invoke-WebRequest", "iwr",
})  # fmt: skip
_INSTALLERS = {
    "pip": ("install",), "pip3": ("install",), "pipx": ("install", "run"), "uv": ("add", "pip"), "uvx": ("",),
    "npm": ("install", "i", "add", "exec"), "npx": ("",), "pnpm": ("add", "install", "dlx"), "yarn": ("add", "dlx"),
    "bun": ("add", "x"), "bunx": ("",),
}  # fmt: skip
_SHELL_BLOCK = text_pattern(r"(?:```|~~~) ?(?:bash|sh|shell|zsh)\b[^`~]{0,80}$")
_FILE_NAMES = (".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".css", ".py", ".js", ".ts", ".sh")
_KNOWN_PROGRAMS = words(
    "git npm npx pnpm yarn bun node deno pip pip3 uv uvx python python3 docker docker-compose podman kubectl helm terraform"
    " aws gcloud az gh curl wget ssh scp rsync make cmake cargo go rustc java mvn gradle ffmpeg pandoc convert magick jq yq"
    " sed awk find tar zip unzip openssl gpg brew apt apt-get yum dnf apk systemctl crontab psql mysql sqlite3"
    " redis-cli mongosh playwright pytest ruff claude codex gemini ollama vercel netlify wrangler flyctl heroku supabase"
    " stripe osascript open powershell pwsh nmap nc"
)
_PACKAGE = text_pattern(r"(?:@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,.-]*\])?(?:(?:@|[<>=!~]=?).*)?")
_NETWORK_LIBRARY = {
    TextKind.PYTHON: text_pattern(
        r"(?m)^[ \t]{0,80}(?:import|from)[ \t]{1,8}(?:[\w., ]{1,200},[ \t]{0,8})?(?:socket|ssl|requests|httpx|aiohttp"
        r"|urllib(?!\.(?:parse|error)\b)3?|http\.client|ftplib|smtplib|telnetlib|websockets?|paramiko|pycurl|boto3|dns|asyncssh|xmlrpc)\b"
    ),
    TextKind.JAVASCRIPT: text_pattern(
        r"(?:require ?\( ?|from ?|import ?\(? ?)['\"](?:node:)?(?:https?2?|net|tls|dgram|dns|axios|got|undici|node-fetch|ws"
        r"|request|superagent|needle|ky)['\"/]|\b(?:XMLHttpRequest|WebSocket|fetch ?\()"
    ),
}
# Code or names that exist only while the script runs. What such code does is not in the files.
_SPELLED_OUT = r"""['"`][^'"`$+\n]{0,200}['"`] ?[,)]"""
_MADE_CODE = {
    TextKind.PYTHON: text_pattern(
        rf"(?<![\w.])(?:exec|eval|__import__) ?\( ?(?!{_SPELLED_OUT})|import_module ?\( ?(?!{_SPELLED_OUT})"
        r"|\b(?:pickle|marshal|dill) ?\. ?loads? ?\(|ctypes ?\. ?(?:CDLL|cdll|PyDLL)|\b(?:globals|vars) ?\( ?\) ?\["
        r"|__builtins__"
        rf"|getattr ?\( ?[\w.]{{1,60}} ?, ?(?!{_SPELLED_OUT})[^)\n]{{1,200}}\) ?\("
    ),
    TextKind.JAVASCRIPT: text_pattern(
        rf"(?<![\w.])eval ?\(|\bnew Function ?\(|\bvm ?\. ?run\w{{1,30}} ?\(|\b(?:require|import) ?\( ?(?!{_SPELLED_OUT})"
    ),
    TextKind.SHELL: text_pattern(
        r"(?m)(?:^|[;&|(]) ?(?:eval\b|(?:\.|source) \S{0,200}[$<])|\| ?(?:ba|z|da)?sh\b|\bxxd -r|\bbase64 -(?:d|D)"
    ),
}
_SCRIPTS = (TextKind.PYTHON, TextKind.JAVASCRIPT)
_SCRIPT_LANGUAGE = text_pattern(r"\.(?:rb|pl|pm|php|lua|tcl|r|jl|go|rs|c|cc|cpp|swift|kt|java|scala|cs|vbs|applescript|exs?)$")
_SHEBANG = text_pattern(r"#![^\n]{0,200}\b(?:ruby|perl|php|lua|tclsh|Rscript|julia|osascript|awk)\b")


def note_command(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    """Adds what one shell command runs, reaches and installs."""
    kind = "commands" if text.is_in_document else "processes"
    name = command.name.rpartition("/")[2]
    if name.startswith("$") and not text.is_in_document:
        collector.add_capability(kind, COMPUTED)
    elif name not in EVERYDAY_COMMANDS and _is_program(command.words[0] if command.words else "", name, text):
        collector.add_capability(kind, name)
    everything = command.everything()
    hosts = list(urls_in(everything)) if "://" in everything else []
    if name not in ("echo", "printf"):
        for url in hosts:
            if _is_named(url, text):
                collector.add_capability("network", url.host)
    if name in _CLIENTS and command.arguments and (not hosts or re.search(r"://[^/\s]*[$`{]", everything)):
        _note_client(command, text, collector)
    for package in _installed(name, command.arguments):
        collector.add_capability("packages", package)


def note_python_call(node: ast.Call, module: PythonModule) -> None:
    """Adds the host of a call that reaches the network; the marker if the call puts the host together."""
    collector = module.collector
    collector.network_calls += 1
    given = (*node.args[:3], *(one.value for one in node.keywords if one.arg in ("url", "host", "base_url", "uri")))
    named = False
    for argument in given:
        spelled = _spelled(argument, module)
        unknown = _UNKNOWN in spelled.partition("://")[2].partition("/")[0] if "://" in spelled else False
        for url in urls_in(spelled.replace(_UNKNOWN, "{}")):
            if _is_named(url, module.text) and not unknown:
                collector.add_capability("network", url.host)
                named = True
        if isinstance(argument, ast.Tuple) and argument.elts and (host := module.string(argument.elts[0])):
            # `socket.create_connection(("host", 443))`
            collector.add_capability("network", host)
            named = True
    if not named:
        note_computed("network", module.text, collector)


def note_computed(kind: str, text: SkillText, collector: FindingCollector) -> None:
    """Adds the marker for a script. Code in a document is an example, in which a name is often left open."""
    if not text.is_in_document:
        collector.add_capability(kind, COMPUTED)


def _spelled(node: ast.AST, module: PythonModule, depth: int = 0) -> str:
    """Like `PythonModule.string`, with a mark for each part that is not known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and depth < 8:
        return _spelled(node.left, module, depth + 1) + _spelled(node.right, module, depth + 1)
    if isinstance(node, ast.JoinedStr) and depth < 8:
        return "".join(_spelled(part, module, depth + 1) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _spelled(node.value, module, depth + 1)
    return module.string(node) or _UNKNOWN


def note_javascript_call(arguments: list[JavaScriptToken], script: JavaScriptSource, collector: FindingCollector) -> None:
    """Adds the host of a call that reaches the network; the marker if the call puts the host together."""
    collector.network_calls += 1
    # With constants resolved, and a mark for each name that is not one: `"https://" + name + ".net"`.
    first = arguments[: next((place for place, one in enumerate(arguments) if one.text == ","), len(arguments))]
    known = {one.text: script.constants.get(one.text, "") for one in first if one.kind == "name"}
    spelled = "".join(
        one.text[1:].rstrip("'\"`")
        if one.kind == "string"
        else known.get(one.text, "") or (_UNKNOWN if one.text in known else "")
        for one in first
    )
    spelled = re.sub(r"\$\{\s*([\w$]+)\s*\}", lambda found: script.constants.get(found[1], _UNKNOWN), spelled)
    spelled = re.sub(r"\$\{[^}]*\}", _UNKNOWN, spelled)
    unknown = _UNKNOWN in spelled.partition("://")[2].partition("/")[0] if "://" in spelled else True
    urls = () if unknown else [url for url in urls_in(spelled) if _is_named(url, script.text)]
    for url in urls or (one for one in urls_in(script.strings(arguments)) if not one.is_placeholder):
        collector.add_capability("network", url.host)
    if not urls:
        note_computed("network", script.text, collector)


def _is_named(url: Url, text: SkillText) -> bool:
    """In a script a host of an example is the host that is reached; in a document it stands for another one."""
    return not url.is_placeholder or (
        not text.is_in_document and re.fullmatch(r"[\w.-]+|\[[0-9a-f:.]+\]", url.host) is not None
    )


def _is_program(written: str, name: str, text: SkillText) -> bool:
    if written.startswith(("./", "scripts/")) or "/scripts/" in written:
        return False
    if text.is_in_document and not _SHELL_BLOCK.search(text.around.removesuffix(GAP)):
        # Most inline code, and many blocks without a language, are no commands but names, layouts and output.
        return name in _KNOWN_PROGRAMS
    return _PROGRAM.fullmatch(name) is not None and not (text.is_in_document and name.endswith(_FILE_NAMES))


def _note_client(command: ShellCommand, text: SkillText, collector: FindingCollector) -> None:
    """A client without a host that can be read reaches one all the same; `ssh user@host` has it without `://`."""
    for word in command.arguments:
        found = re.fullmatch(r"(?:[\w.-]+@)?((?:[a-z0-9-]+\.)+[a-z]{2,})(?::.*)?", word)
        if found and not word.startswith("-") and not word.endswith((".sh", ".py", ".js", ".json", ".txt", ".md")):
            collector.add_capability("network", found[1])
            return
    if not {"--version", "--help", "-h", "-V"} & set(command.arguments):
        note_computed("network", text, collector)


def _installed(name: str, arguments: tuple[str, ...] | list[str]) -> list[str]:
    verbs = _INSTALLERS.get(name)
    words = list(arguments)
    if verbs is None or not words:
        return []
    if verbs != ("",):
        if words[0] not in verbs:
            return []
        words = words[2:] if words[0] == "pip" else words[1:]
    skipped = {"-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-i", "--index-url", "--extra-index-url"}
    named = [
        word for before, word in zip(["", *words], words, strict=False)
        if before not in skipped and _PACKAGE.fullmatch(word) and not word.endswith((".txt", ".whl", ".gz", ".zip"))
    ]  # fmt: skip
    return [package_name(word) for word in (named[:1] if verbs == ("",) else named)]


def note_script(text: SkillText, collector: FindingCollector, *, calls_before: int) -> None:
    """Adds what a whole script reads and computes, after its rules ran. `calls_before` counts the network calls before it."""
    if text.is_in_document or text.via:
        return
    variables = read_variables(text.text, is_shell=text.kind is TextKind.SHELL)
    for name in variables:
        if text.kind is TextKind.SHELL and name.upper() != name:
            # In lower case a name is usually set by the script itself, in a way that is not seen here.
            continue
        collector.add_capability("variables", name)
    if (
        all(COMPUTED in collector.capability_names[kind] for kind in ("network", "processes"))
        and text.kind is not TextKind.OTHER
    ):
        # There is nothing left to add.
        return
    library, made = _NETWORK_LIBRARY.get(text.kind), _MADE_CODE.get(text.kind)
    if made is not None and made.search(text.text):
        collector.add_capability("network", COMPUTED)
        collector.add_capability("processes", COMPUTED)
    elif library is not None and library.search(text.text) and collector.network_calls == calls_before:
        collector.add_capability("network", COMPUTED)
    elif text.kind is TextKind.OTHER and (_SCRIPT_LANGUAGE.search(text.path) or _SHEBANG.match(text.text)):
        collector.add_capability("network", COMPUTED)
        collector.add_capability("processes", COMPUTED)
        for url in urls_in(text.text):
            if _is_named(url, text):
                collector.add_capability("network", url.host)


def list_capabilities(subject: ScanSubject, collector: FindingCollector) -> tuple[Capabilities, Capabilities]:
    """Returns what was found in the files, and the whole list: that with what the manifest asks for."""
    for path, data in subject.binaries.items():
        if program_kind(data):
            collector.add_capability("processes", path)
            collector.add_capability("network", COMPUTED)
    if any(_is_unread_script(one.path) for one in subject.unread):
        collector.add_capability("network", COMPUTED)
        collector.add_capability("processes", COMPUTED)
    _note_declared_packages(subject, collector)
    found = _found(collector)
    return found, found | _requested(subject.manifest) if subject.manifest else found


def _note_declared_packages(subject: ScanSubject, collector: FindingCollector) -> None:
    """Adds the packages that scripts declare, from the texts that were read."""
    texts = [text for text in subject.raw if text.path.endswith(("requirements.txt", "package.json")) or text.kind in _SCRIPTS]
    if not any(text.kind not in _SCRIPTS or "# /// script" in text.text for text in texts):
        return
    files = MemoryFiles({text.path: text.text.encode("utf-8", "replace") for text in texts})
    try:
        for declared in declared_packages(files, script_files(files)):
            for requirement in declared.requirements:
                collector.add_capability("packages", package_name(requirement))
    except MetierError:
        # A declaration that cannot be read is refused when packages are prepared; the rules report it.
        collector.add_capability("packages", COMPUTED)


def capability_problems(found: Capabilities, manifest: Manifest) -> tuple[Problem, ...]:
    """Compares the author's list with what was found: the problems SK223 and SK224. Without a list there are none."""
    declared = manifest.extensions.capabilities
    if declared is None:
        return ()
    done = found.beyond(declared)
    unused = declared.beyond(found)
    return (
        *(
            problem("SK223", f"{word}: it is used, and not in the author's list", hint="add it to metadata.capabilities")
            for word in done.words()
        ),
        *(
            problem("SK224", f"{word}: it is declared, and nothing in the files uses it", hint="remove it from the list")
            for word in unused.words()
        ),
    )


def _found(collector: FindingCollector) -> Capabilities:
    names = collector.capability_names
    secrets = names.get("secrets", set())
    variables = {name for name in secrets if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)}
    return Capabilities.of({
        "hosts": names.get("network", ()), "commands": names.get("commands", ()), "processes": names.get("processes", ()),
        "variables": variables | names.get("variables", set()), "reads": names.get("reads", set()) | (secrets - variables),
        "writes": names.get("writes", ()), "packages": names.get("packages", ()),
    })  # fmt: skip


def _requested(manifest: Manifest) -> Capabilities:
    """The manifest's requests belong to the list too: the user sees them before the skill is installed."""
    extensions = manifest.extensions
    asked = Capabilities.of({
        "hosts": extensions.network, "variables": extensions.env, "commands": (*extensions.requires, *_shell_tools(manifest)),
    })  # fmt: skip
    return asked | (extensions.capabilities or Capabilities())


def _shell_tools(manifest: Manifest) -> list[str]:
    """Returns the programs that `allowed-tools` request for a shell."""
    found = []
    for tool in manifest.allowed_tools:
        name, _, argument = tool.partition("(")
        if name.lower() not in ("bash", "shell", "run_command", "run_shell_command", "execute", "terminal"):
            continue
        word = re.split(r"[\s:*]", argument.rstrip(")").strip(), maxsplit=1)[0]
        found.append(word or ANY)
    return [word for word in found if word not in EVERYDAY_COMMANDS]


def _is_unread_script(path: str) -> bool:
    return path.startswith("scripts/") or path.endswith((".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".bash"))
