"""Python: calls, the code they run, and the files they touch, from the syntax tree.

Nothing is run. Names are followed through imports (`import os as o`), and constants are joined (`"cu" + "rl"`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from metier.scan.capabilities import note_computed, note_python_call
from metier.scan.collector import FindingCollector
from metier.scan.data.hosts import HostReputation, reputation_of
from metier.scan.data.secrets import SECRET_NAME, WHOLE_ENVIRONMENT, secret_place
from metier.scan.expressions import text_pattern
from metier.scan.patterns import words
from metier.scan.readers.python import PythonModule, read_module
from metier.scan.readers.python_flow import SHELLS, address_of, note_step, roles_of, sends_to
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind

__all__ = ["judge_python"]

_EXECUTES = frozenset(
    (
        "exec",
        "eval",
        "builtins.exec",
        "builtins.eval",
        "__builtins__.exec",
        "__builtins__.eval",
        "compile",
        "runpy.run_path",
        "importlib.import_module",
        "types.FunctionType",
    )
)
_DECODES = text_pattern(
    r"b64decode|b32decode|b85decode|a85decode|unhexlify|fromhex|decompress|marshal\.loads|codecs\.decode|decodebytes|rot13"
    r"|pickle\.loads|dill\.loads"
)
_WRITES = text_pattern(r"w|a|x|\+")
_HIDDEN_NAMES = words(
    "os subprocess socket base64 urllib urllib.request requests ctypes marshal zlib exec eval system popen urlopen b64decode "
    "check_output Popen __import__ compile"
)
_CONNECTS = text_pattern(r"\.(?:connect|connect_ex|create_connection|open_connection|HTTPS?Connection|SMTP|SMTP_SSL|FTP)$")
_LISTS = words("walk rglob glob iglob iterdir listdir scandir")
_WALLET = text_pattern(r"0x[0-9a-fA-F]{40}|bc1[a-z0-9]{20,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|T[1-9A-HJ-NP-Za-km-z]{33}")
_SPIES = text_pattern(
    r"pynput\.keyboard\.Listener|keyboard\.(?:on_press|hook|record)|pyperclip\.paste|ImageGrab\.grab|mss\.mss"
    r"|sounddevice\.rec|cv2\.VideoCapture"
)


def judge_python(text: SkillText, collector: FindingCollector, inner: Callable[[SkillText], None]) -> None:
    """Judges a script; does nothing if it is not valid Python."""
    read = read_module(text, collector, inner=inner)
    if read is None:
        return
    module, nodes = read
    _flag_ransom(module)
    _flag_wipe(module)
    for node, scope in nodes:
        if isinstance(node, ast.Call):
            _call(node, module)
        elif isinstance(node, ast.While):
            _loop(node, module)
        note_step(node, scope, module)
    if module.work_left < 0:
        collector.add("SK902", "the script nests too deeply to be read to its end", file=text.path)


def _call(node: ast.Call, module: PythonModule) -> None:
    name = module.name_of(node)
    if name in SHELLS or name.endswith((".create_subprocess_shell", ".exec_command")):
        _starts(node, module)
    elif name in _EXECUTES:
        _executes(node, name, module)
    elif (
        name in ("__import__", "getattr")
        and node.args
        and not module.string(node.args[-1])
        and _DECODES.search(ast.dump(node)[:4_000])
    ):
        module.flag("SK703", "imports a module by an encoded name", node)
    elif name in ("open", "io.open", "codecs.open") or name.endswith(
        (".read_text", ".read_bytes", ".write_text", ".write_bytes", ".open")
    ):
        _opens(node, name, module)
    elif name in ("shutil.rmtree", "os.remove", "os.unlink"):
        _deletes(node, module)
    elif _SPIES.search(name):
        module.flag(
            "SK604",
            "records keys, clipboard, screen or camera",
            node,
            _recording_confidence(name, module),
        )
    elif name in ("__import__", "importlib.import_module", "getattr") and _is_pieced(node, module):
        module.flag("SK703", "builds the name of what it calls from pieces", node, Confidence.HIGH)
    elif (
        name in ("os.setuid", "os.setgid") and node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
    ):
        module.flag("SK522", "becomes root", node, Confidence.MEDIUM)
    elif (
        name in ("json.dumps", "str", "repr", "pprint.pprint", "pickle.dumps", "yaml.dump")
        and node.args
        and _is_environment(node.args[0], module)
    ):
        module.flag("SK602", "collects all environment variables", node)
        module.collector.add_capability("secrets", WHOLE_ENVIRONMENT)
    elif name in ("pip.main", "pip._internal.main") and node.args:
        line = module.text.first + node.lineno - 1
        module.inner(module.text.within(TextKind.SHELL, f"pip {module.string(node.args[0])}", line=line))
    elif name == "pyperclip.copy" and node.args and _WALLET.fullmatch(module.string(node.args[0])):
        module.flag("SK604", "puts a wallet address into the clipboard", node, Confidence.HIGH)
    elif name == "marshal.loads":
        module.flag("SK703", "loads compiled code from data", node)
    _flag_upload(node, name, module)
    _capability(node, name, module)


def _is_pieced(node: ast.Call, module: PythonModule) -> bool:
    """Returns True if a name of the standard library is built from pieces: `__import__("o" + "s")`."""
    spelled = node.args[-1] if node.args else None
    if module.name_of(node) == "getattr":
        spelled = node.args[1] if len(node.args) > 1 else None
    return isinstance(spelled, (ast.BinOp, ast.Call)) and module.string(spelled) in _HIDDEN_NAMES


def _recording_confidence(name: str, module: PythonModule) -> Confidence:
    sends = any(roles_of(name).sends for name in module.called.values())
    if "Listener" not in name and "keyboard" not in name:
        # A single recording is ordinary; an endless one that is sent away is spying.
        return Confidence.HIGH if sends and _has_endless_loop(module) else Confidence.LOW
    return Confidence.HIGH if sends else Confidence.MEDIUM


def _has_endless_loop(module: PythonModule) -> bool:
    return any(
        isinstance(loop.test, ast.Constant) and bool(loop.test.value) for loop in module.loops if isinstance(loop, ast.While)
    )


def _is_environment(node: ast.AST, module: PythonModule) -> bool:
    if isinstance(node, ast.Call) and module.name_of(node) == "dict" and node.args:
        node = node.args[0]
    return module.dotted(node) == "os.environ"


def _starts(node: ast.Call, module: PythonModule) -> None:
    command = module.string(
        node.args[0] if node.args else next((one.value for one in node.keywords if one.arg in ("args", "cmd")), None)
    )
    if not command:
        if node.args and any(roles_of(name).fetches for name in _calls_in(node.args[0], module)):
            module.flag("SK505", "runs code from the network", node)
        note_computed("processes", module.text, module.collector)
        return
    line = module.text.first + getattr(node, "lineno", 1) - 1
    kind = TextKind.SHELL
    # `["bash", "-c", "..."]`: the last word is a script.
    words = node.args[0].elts if node.args and isinstance(node.args[0], ast.List) else []
    if len(words) >= 3 and module.string(words[1]) in ("-c", "-lc", "/c", "-Command"):
        command = module.string(words[2])
        is_python = "python" in module.string(words[0]) or module.dotted(words[0]) == "sys.executable"
        kind = TextKind.PYTHON if is_python else TextKind.SHELL
    module.inner(module.text.within(kind, command.replace("{}", "$VALUE"), line=line))


def _executes(node: ast.Call, name: str, module: PythonModule) -> None:
    if not node.args or name in ("importlib.import_module", "runpy.run_path"):
        return
    argument = node.args[0]
    spelled = module.string(argument)
    calls = _calls_in(argument, module)
    origin = _origins(argument, module)
    if any(roles_of(one).fetches for one in (*calls, *origin)):
        module.flag("SK505", f"{name} runs what the network answers", node)
    elif "chr" in calls or any(_DECODES.search(one) for one in (*calls, *origin)):
        module.flag("SK701", f"{name} runs decoded data", node)
    elif isinstance(argument, ast.Constant):
        if name != "compile" and spelled and len(spelled) > 3:
            line = module.text.first + node.lineno - 1
            module.inner(module.text.within(TextKind.PYTHON, spelled, line=line))
    elif name != "compile":
        module.flag("SK706", f"{name} runs text built by the script", node)


def _calls_in(node: ast.AST, module: PythonModule) -> list[str]:
    """Returns the names of the calls in a node."""
    return [module.name_of(inner) for inner in module.within(node) if isinstance(inner, ast.Call)]


def _origins(node: ast.AST, module: PythonModule) -> list[str]:
    """Returns the calls whose results the names of a node were assigned."""
    names = {one.id for one in module.within(node) if isinstance(one, ast.Name)}
    return [call for name in sorted(names) for call in module.origins(name)]


def _opens(node: ast.Call, name: str, module: PythonModule) -> None:
    target = node.args[0] if name in ("open", "io.open", "codecs.open") and node.args else getattr(node.func, "value", None)
    path = module.string(target)
    mode = (
        module.string(node.args[1])
        if len(node.args) > 1
        else next((module.string(one.value) for one in node.keywords if one.arg == "mode"), "")
    )
    writes = name.endswith(("write_text", "write_bytes")) or bool(name.endswith("open") and mode and _WRITES.search(mode))
    if not path:
        return
    place = secret_place(path, module.collector.purpose)
    if place and not writes:
        module.flag("SK601", f"reads {place[0]}", node, Confidence.LOW if place[1] else None)
        module.collector.add_capability("secrets", place[0])
    low = path.lower()
    if writes and "authorized_keys" in low:
        module.flag("SK513", "adds an SSH key that can log in", node)
    elif writes and re.search(r"\.(?:bashrc|zshrc|bash_profile|profile|zshenv)$", low):
        module.flag("SK511", f"writes to {path}", node)
    elif writes and re.search(r"(?:sitecustomize|usercustomize)\.py$|site-packages/[^/]{1,60}\.pth$", low):
        module.flag("SK511", f"writes to {path}, which every Python process runs", node, Confidence.HIGH)
    elif writes and re.search(r"launchagents|launchdaemons|/etc/cron|systemd/|autostart|/etc/rc\.local", low):
        module.flag("SK512", f"writes a scheduled job to {path}", node)
    elif writes and re.search(r"(?:soul|memory|claude|agents)\.md$|\.claude/settings", low):
        module.flag("SK406", f"writes to {path}", node, Confidence.MEDIUM if low.startswith("~") else Confidence.LOW)
    if low.startswith(("~", "/")):
        module.collector.add_capability("writes" if writes else "reads", path)


def _deletes(node: ast.Call, module: PythonModule) -> None:
    path = module.string(node.args[0]) if node.args else ""
    if path in ("/", "~", "~/", "/home", "/Users", "/etc", "~/Documents", "~/Desktop"):
        module.flag("SK531", f"deletes {path}", node)
    elif path.endswith("_history"):
        module.flag("SK533", "deletes the shell history", node)


_PAUSES = text_pattern(r"sleep|wait|recv|accept|input|poll|select|serve|exit|join")
_LOADS = text_pattern(
    r"urlopen|(?:requests|httpx|session)\.\w+$|Popen|os\.fork|\bProcess$|Thread$|os\.system|\.connect$|\.sendall?$"
)


def _loop(node: ast.While, module: PythonModule) -> None:
    """Flags a loop that sends requests or starts processes without a pause and without an end."""
    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    if not endless or any(
        isinstance(one, (ast.Break, ast.Return, ast.Raise, ast.Await, ast.Yield)) for one in module.within(node)
    ):
        return
    calls = _calls_in(node, module)
    if any(map(_PAUSES.search, calls)) or not any(map(_LOADS.search, calls)):
        return
    starts = any(one.endswith(("Popen", "fork", "Process", "Thread")) for one in module.called.values())
    confidence = Confidence.HIGH if starts else Confidence.MEDIUM
    module.flag("SK541", "sends requests or starts processes in an endless loop without a pause", node, confidence)


def _flag_upload(node: ast.Call, name: str, module: PythonModule) -> None:
    """Flags a file or data that is sent to an unknown host."""
    sends, url = sends_to(node, name, module), address_of(node, module)
    body = [one.value for one in node.keywords if one.arg in ("data", "json", "files", "content", "params")]
    if not sends or url is None or not body:
        return
    purpose = module.collector.purpose
    kind = reputation_of(url, purpose)
    if kind not in (HostReputation.UNKNOWN, HostReputation.ANONYMOUS, HostReputation.SHARED) or purpose.mentions((url.label,)):
        return
    is_file = any(one.arg == "files" for one in node.keywords) or any(
        isinstance(inner, ast.Call) and module.name_of(inner).endswith(("open", ".read", ".read_bytes", ".read_text"))
        for one in body
        for inner in module.within(one)
    )
    if kind is HostReputation.ANONYMOUS:
        module.flag("SK615", f"sends data to {sends}", node)
    elif is_file:
        confidence = Confidence.HIGH if url.is_plain_http or not purpose.is_network else Confidence.MEDIUM
        module.flag("SK615", f"sends a file to {sends}", node, confidence)


def _capability(node: ast.Call, name: str, module: PythonModule) -> None:
    if name in ("os.getenv", "os.environ.get") and node.args:
        variable = module.string(node.args[0])
        if SECRET_NAME.search(variable):
            module.collector.add_capability("secrets", variable)
    roles = roles_of(name)
    if roles.fetches or roles.sends or _CONNECTS.search(name):
        note_python_call(node, module)


def _flag_wipe(module: PythonModule) -> None:
    """Flags a loop over the home folder that deletes or overwrites files."""
    for loop in module.loops:
        if isinstance(loop, (ast.For, ast.AsyncFor)) and _is_home(loop.iter, module):
            for node in module.within(loop):
                if isinstance(node, ast.Call) and _destroys(node, module):
                    module.flag("SK531", "deletes or overwrites files of the whole home folder", node)
                    return


def _is_home(node: ast.AST, module: PythonModule) -> bool:
    for inner in module.within(node):
        if isinstance(inner, ast.Call) and module.name_of(inner).rpartition(".")[2] in _LISTS:
            places = (inner.args[0] if inner.args else None, getattr(inner.func, "value", None))
            if any(module.string(place).removesuffix("/*").removesuffix("/**") in ("~", "/") for place in places):
                return True
    return False


def _destroys(node: ast.Call, module: PythonModule) -> bool:
    name = module.name_of(node)
    if name in ("shutil.rmtree", "os.remove", "os.unlink") or name.endswith(".unlink"):
        return True
    return name == "open" and len(node.args) > 1 and module.string(node.args[1]) in ("wb", "w")


def _flag_ransom(module: PythonModule) -> None:
    """Flags encryption, a walk over folders and deletion in one script. Together they are ransomware."""
    text = module.text.text
    walks = re.search(r"os\.walk\(|\.rglob\(|glob\(", text)
    locks = re.search(r"Fernet\(|AES\.new\(|ChaCha20|\.encrypt\(", text)
    removes = re.search(
        r"os\.(?:remove|unlink|rename)\(|\.unlink\(|\.(?:locked|encrypted|enc)['\"]|open\([^)]{1,60}['\"]wb['\"]", text
    )
    if walks and locks and removes:
        is_severe = re.search(r"ransom|bitcoin|\.locked|~|Path\.home|expanduser|your files", text, re.IGNORECASE)
        module.collector.flag(
            "SK532",
            "encrypts files folder by folder",
            text=module.text,
            at=locks.start(),
            confidence=Confidence.HIGH if is_severe else Confidence.MEDIUM,
        )
