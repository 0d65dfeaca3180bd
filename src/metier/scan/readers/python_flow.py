"""Data flow in Python: assignments, arguments, returns, secrets, downloads and sinks, as steps for `rules.data_flow`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from metier.lazy import lazy_pattern
from metier.scan.collector import FlowStep
from metier.scan.data.hosts import HostReputation, Url, download_risk, is_unknown_host, reputation_of, urls_in
from metier.scan.data.secrets import SECRET_COMMANDS, SECRET_NAME, WHOLE_ENVIRONMENT, secret_place
from metier.scan.patterns import words
from metier.scan.scale import Confidence

from .python import PythonModule

__all__ = ["SHELLS", "address_of", "note_step", "roles_of", "sends_to"]

SHELLS = words(
    "os.system os.popen subprocess.run subprocess.call subprocess.Popen subprocess.check_output subprocess.check_call "
    "subprocess.getoutput subprocess.getstatusoutput commands.getoutput pty.spawn asyncio.create_subprocess_shell "
    "asyncio.create_subprocess_exec os.execv os.execvp os.execl os.spawnl os.posix_spawn pexpect.spawn os.startfile"
)
_FETCHES = lazy_pattern(
    r"(?:requests|httpx|urllib3?|aiohttp|session|client)\b.*\.(?:get|request|urlopen|urlretrieve|Request)$"
    r"|(?:.*\.)?(?:urlopen|urlretrieve)$|wget\.download$"
)
_RECEIVES = lazy_pattern(r"(?:.*\.)?(?:recv|recvfrom|recv_into)$")
_SENDS = lazy_pattern(
    r"(?:requests|httpx|session|client|aiohttp|http|s|sess)\b.*\.(?:post|put|patch|request|send)$"
    r"|urllib\.request\.(?:urlopen|Request)$|urlopen$|.*\.(?:sendall|sendto|sendmail|send_message|storbinary|storlines"
    r"|put_object|upload_file|upload_fileobj|send_text|websocket_send|request)$|websocket\.\w+$|socket\.(?:send"
    r"|gethostbyname|getaddrinfo)$|requests\.get$|httpx\.get$|dns\.resolver\.\w+$"
)
_CLOUD_IDENTITY = lazy_pattern(r"169\.254\.(?:169\.254|170\.2)|metadata\.google\.internal")
_LISTENS = lazy_pattern(r"(?:on|handle)_(?:message|msg|data|recv|receive|command)")
_SECRET_CALLS = {
    "keyring.get_password": "the keyring",
    "keyring.get_credential": "the keyring",
    "browser_cookie3.chrome": "browser logins",
    "browser_cookie3.load": "browser logins",
    "win32crypt.CryptUnprotectData": "browser logins",
}
_DECODES = lazy_pattern(
    r"(?:.*\.)?(?:b64decode|b32decode|b85decode|a85decode|b16decode|unhexlify|fromhex|decodebytes|decompress"
    r"|urlsafe_b64decode)$"
)
_RUNS_TEXT = words(
    "exec eval builtins.exec builtins.eval __builtins__.exec __builtins__.eval os.system os.popen subprocess.getoutput "
    "pickle.loads pickle.load dill.loads dill.load cloudpickle.loads cloudpickle.load marshal.loads joblib.load "
    "types.FunctionType code.interact runpy.run_path importlib.import_module"
)
"""Calls that run their argument; loading a pickle does."""
_INTERPRETER = lazy_pattern(
    r"(?:/usr)?(?:/bin/)?(?:(?:ba|z|da)?sh|python3?|node|perl|ruby|powershell|pwsh|osascript)(?:\.exe)?"
)
_HOLDERS = words("ZipFile TarFile PyZipFile BytesIO")
_FILLS = words("append update extend add write insert setdefault writestr writelines")
_COPIES = words("copy copy2 copyfile copytree move make_archive urlretrieve rename replace")
_READS = words(
    "open read_text read_bytes copy copy2 copyfile copytree connect write add expanduser glob iglob rglob walk listdir"
)


class CallRoles(NamedTuple):
    """What a call does, by its dotted name."""

    last: str
    """The last part of the name."""
    sends: bool
    fetches: bool
    receives: bool
    decodes: bool


@lru_cache(maxsize=20_000)
def roles_of(name: str) -> CallRoles:
    """Returns the roles of a dotted name. A large skill calls the same few hundred names thousands of times."""
    return CallRoles(
        name.rpartition(".")[2],
        _SENDS.match(name) is not None,
        _FETCHES.match(name) is not None,
        _RECEIVES.match(name) is not None,
        _DECODES.match(name) is not None,
    )


class _Value(NamedTuple):
    """What an expression names, and what enters with it."""

    names: frozenset[str]
    fetched: str = ""
    confidence: Confidence = Confidence.HIGH
    secret: str = ""
    is_explained: bool = False
    decoded: bool = False


def note_step(node: ast.AST, scope: str, module: PythonModule) -> None:
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            _add(module, node, node.value, scope, _all_names(targets, scope, module))
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        _add(module, node, node.iter, scope, _names(node.target, scope, module))
    elif isinstance(node, ast.comprehension):
        _add(module, node.iter, node.iter, scope, _names(node.target, scope, module))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        _add(module, node.context_expr, node.context_expr, scope, _names(node.optional_vars, scope, module))
        _written(node.context_expr, node.optional_vars, scope, module)
    elif isinstance(node, ast.Return) and node.value is not None and scope:
        _add(module, node, node.value, scope, {f"{scope})"})
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
        names = frozenset(f"{module.text.path}:{node.name}:{one.arg}" for one in arguments if one.arg not in ("self", "cls"))
        # The arguments of a listener come from the network.
        fetched = "another machine" if _LISTENS.fullmatch(node.name) else ""
        module.collector.steps.append(
            FlowStep(module.text, module.at(node), frozenset({f"{node.name}("}), names, fetched=fetched)
        )
    elif isinstance(node, ast.Call):
        _call(node, scope, module)


def _call(node: ast.Call, scope: str, module: PythonModule) -> None:
    called = module.name_of(node)
    last = roles_of(called).last
    given = [_read(one, scope, module) for one in (*node.args, *(key.value for key in node.keywords))]
    sends = sends_to(node, called, module)
    defines = {f"{last}("} if last else set()
    if last in _HOLDERS:
        # What is added to an archive is in its file or buffer.
        defines |= _all_names(node.args[:1], scope, module)
    if isinstance(node.func, ast.Attribute) and last in _FILLS:
        # What is added to a container is in it.
        defines |= _names(node.func.value, scope, module)
    if last in _COPIES and len(node.args) > 1:
        defines |= _names(node.args[1], scope, module)
    fetched, confidence = _fetched(node, module)
    if not fetched and last in _FILLS:
        fetched, confidence = next(((one.fetched, one.confidence) for one in given if one.fetched), (fetched, confidence))
    read = next((one for one in given if one.secret), None) if sends or last in _COPIES else None
    url = address_of(node, module) if sends else None
    step = FlowStep(
        module.text,
        module.at(node),
        frozenset().union(*(one.names for one in given)),
        frozenset(defines),
        secret=read.secret if read else "",
        is_explained=read is not None and read.is_explained,
        sends=sends,
        to_unknown_host=url is not None and is_unknown_host(url, module.collector.purpose),
        fetched=fetched,
        confidence=confidence,
    )
    module.collector.steps.append(step)
    _runs(node, called, scope, module)


def _runs(node: ast.Call, called: str, scope: str, module: PythonModule) -> None:
    """Adds a step for a call that runs a variable: `exec(code)`, `os.system(job["cmd"])`, `Popen([path])`."""
    is_code = called in _RUNS_TEXT or called.endswith((".exec_module", ".runcode", ".runsource"))
    if not node.args or not (is_code or called in SHELLS):
        return
    command = node.args[0]
    if isinstance(command, (ast.List, ast.Tuple)) and command.elts:
        # The argument of the interpreter runs, not the interpreter.
        is_handed = len(command.elts) > 1 and _INTERPRETER.fullmatch(module.string(command.elts[0]))
        command = command.elts[1 if is_handed else 0]
    elif not is_code and not _is_through_shell(node):
        return
    is_path = (
        isinstance(command, ast.Constant) and isinstance(command.value, str) and command.value.startswith(("/", "~", "./"))
    )
    if is_path or isinstance(command, (ast.Name, ast.Subscript, ast.Attribute, ast.Call)):
        used = frozenset(_names(command, scope, module))
        module.collector.steps.append(FlowStep(module.text, module.at(node), used, runs=called))


def _is_through_shell(node: ast.Call) -> bool:
    return any(one.arg == "shell" and isinstance(one.value, ast.Constant) and one.value.value is True for one in node.keywords)


def _written(opened: ast.AST, handle: ast.AST, scope: str, module: PythonModule) -> None:
    """Adds a step from the handle of `open(path, "w")` to the file of that path."""
    if isinstance(opened, ast.Call) and opened.args and roles_of(module.name_of(opened)).last == "open":
        used = frozenset(_names(handle, scope, module))
        module.collector.steps.append(
            FlowStep(module.text, module.at(opened), used, frozenset(_names(opened.args[0], scope, module)))
        )


def _add(module: PythonModule, node: ast.AST, value: ast.AST, scope: str, defines: Iterable[str]) -> None:
    read = _read(value, scope, module)
    step = FlowStep(
        module.text, module.at(node), read.names, frozenset(defines), secret=read.secret, is_explained=read.is_explained,
        fetched=read.fetched, confidence=read.confidence, decoded=read.decoded,
    )  # fmt: skip
    module.collector.steps.append(step)


def _all_names(nodes: Iterable[ast.AST], scope: str, module: PythonModule) -> set[str]:
    return {name for node in nodes for name in _names(node, scope, module)}


def _names(node: ast.AST, scope: str, module: PythonModule) -> frozenset[str]:
    return _read(node, scope, module).names


def _read(node: ast.AST, scope: str, module: PythonModule) -> _Value:
    """Reads an expression in one walk: its variables, function results and files, and the data that enters with it."""
    used: set[str] = set()
    path, local = module.text.path, module.locals.get(scope, frozenset())
    fetched, secret, decoded = ("", Confidence.HIGH), ("", False), False
    for inner in module.within(node):
        if type(inner) is ast.Name:
            used.add(f"{path}:{scope if inner.id in local else ''}:{inner.id}")
            continue
        if type(inner) is ast.Attribute:
            if isinstance(inner.value, ast.Name) and inner.value.id in ("self", "cls"):
                used.add(f"{path}:.{inner.attr}")
            continue
        if type(inner) is ast.Call:
            roles = roles_of(module.name_of(inner))
            if roles.last:
                used.add(f"{roles.last})")
            decoded = decoded or roles.decodes
            if not fetched[0] and (roles.fetches or roles.receives):
                fetched = _fetched(inner, module)
        elif type(inner) is ast.Constant and isinstance(inner.value, str) and inner.value.startswith(("/", "~/", "./.")):
            used.add(f"file:{inner.value.rpartition('/')[2]}")
        secret = secret if secret[0] else _secret(inner, module)
    used.discard(f"{path}:{scope}:self")
    return _Value(frozenset(used), *fetched, *secret, decoded)


def _secret(node: ast.AST, module: PythonModule) -> tuple[str, bool]:
    """Returns the name of the secret that a node reads, and whether the skill's purpose explains reading it."""
    if isinstance(node, (ast.Constant, ast.BinOp)):
        spelled = module.string(node)
        if _CLOUD_IDENTITY.search(spelled):
            return "the cloud machine's credentials", False
        # A sentence that names a place is not a path.
        is_path = spelled.startswith(("~", "/", ".", "{}/", "$HOME")) or spelled.count(" ") <= spelled.count("/") + 1
        if not is_path or "://" in spelled or len(spelled) > 200:
            return "", False
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        keys = sum(bool(SECRET_NAME.search(module.string(one))) for one in node.elts[:64])
        return ("keys from the environment", False) if keys >= 3 else ("", False)
    elif isinstance(node, ast.Call):
        name = module.name_of(node)
        if name in ("os.environ.items", "os.environ.copy", "os.environ.values") or (
            name in ("dict", "json.dumps", "str", "repr", "list", "sorted")
            and node.args
            and module.dotted(node.args[0]) == "os.environ"
        ):
            return WHOLE_ENVIRONMENT, False
        if name in _SECRET_CALLS:
            return _SECRET_CALLS[name], False
        if name in SHELLS and node.args and (printed := _printed(module.string(node.args[0]))):
            # Tools print their tokens for their own services; `data_flow` checks for unknown hosts.
            return printed, True
        if roles_of(name).last not in _READS:
            return "", False
        spelled = module.string(node.args[0]) if node.args else module.string(getattr(node.func, "value", None))
    else:
        return "", False
    return (secret_place(spelled, module.collector.purpose) if spelled else None) or ("", False)


def _printed(command: str) -> str:
    """Returns the secret that a command prints."""
    return next((what for spelled, what in SECRET_COMMANDS.items() if command.startswith(" ".join(spelled))), "")


def address_of(node: ast.Call, module: PythonModule) -> Url | None:
    values = (*node.args[:2], *(key.value for key in node.keywords if key.arg == "url"))
    return next(urls_in(" ".join(module.string(one) for one in values)), None)


def _fetched(node: ast.Call, module: PythonModule) -> tuple[str, Confidence]:
    """Returns where a call fetches data from, and the confidence that running it is harmful."""
    roles = roles_of(module.name_of(node))
    if roles.receives:
        return "another machine", Confidence.HIGH
    if not roles.fetches:
        return "", Confidence.HIGH
    url = address_of(node, module)
    if url is None:
        return "the network", Confidence.MEDIUM
    return url.host, download_risk(url, module.collector.purpose)


def sends_to(node: ast.Call, name: str, module: PythonModule) -> str:
    """Returns where a call sends data to; empty if it sends none."""
    if not roles_of(name).sends:
        return ""
    # A URL that is built from data carries it as a body does.
    is_made = bool(node.args) and isinstance(node.args[0], (ast.JoinedStr, ast.BinOp))
    if (
        not is_made
        and name.endswith((".get", "Request", "urlopen"))
        and not any(one.arg in ("data", "params", "json") for one in node.keywords)
        and len(node.args) < 2
    ):
        return ""
    url = address_of(node, module)
    if url is not None and reputation_of(url, module.collector.purpose) is HostReputation.LOCAL:
        return ""
    return url.host if url else f"the network by {name.rpartition('.')[2]}"
