"""The interpreter of a script: chosen by its first line and its suffix, from a fixed list of programs.

The first line of a skill's script could name any program. It selects only among the interpreters below, by the last part of
its path, and its options are ignored. If an interpreter is outside the system folders (a virtual environment, pyenv, nvm), the
run may also read the folders of that interpreter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache

from metier.errors import RefusedError, UnavailableError
from metier.sources import find_command, safe_environment
from metier.values import dataclass

from .packages import PackageMount

__all__ = ["ImageInterpreters", "Interpreters", "ScriptCommand", "kind_of"]

_SUFFIXES = {
    ".py": "python", ".sh": "sh", ".bash": "bash", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "typescript",
    ".mts": "typescript", ".cts": "typescript", ".rb": "ruby",
}  # fmt: skip
FOREIGN_SUFFIXES = {
    ".pl": "perl", ".php": "php", ".lua": "lua", ".r": "R", ".jl": "julia", ".ps1": "PowerShell", ".bat": "cmd", ".cmd": "cmd",
    ".tcl": "tclsh", ".awk": "awk", ".zsh": "zsh", ".fish": "fish",
}  # fmt: skip
"""Scripts of interpreters that are not in the list: they are named, and never run."""
_PROGRAMS = {"python": "python", "sh": "sh", "dash": "sh", "bash": "bash", "node": "node", "nodejs": "node", "bun": "bun",
             "deno": "deno", "ruby": "ruby", "ts-node": "typescript", "tsx": "typescript", "uv": "python"}  # fmt: skip
_HINTS = {
    "python": "install Python 3", "sh": "install a POSIX shell", "bash": "install bash", "node": "install Node.js",
    "typescript": "install bun, deno, or Node.js 22.18 or later", "ruby": "install Ruby", "bun": "install bun",
    "deno": "install deno",
}  # fmt: skip
_SHEBANG = re.compile(rb"#!\s*([^\r\n]*)")
# Bytecode is read only from the folders that Python itself has at the start, and from prepared packages, whose bytecode metier
# has compiled itself. Elsewhere it could differ from the source that was scanned, and bytecode can say that Python must not
# compare the two (PEP 552). `-X pycache_prefix` does the same, but compiles the standard library in every run, which takes
# 160 ms. Prepared packages replace those that are installed for the interpreter.
# The script's folder is last in sys.path: a script can import files beside it, but they cannot replace the standard library.
_PYTHON = """\
def start():
    import sys
    from _frozen_importlib_external import SourceFileLoader, SourcelessFileLoader
    packages = sys.argv.pop(1)
    if packages:
        sys.path[:] = [path for path in sys.path if not path.endswith(("/site-packages", "/dist-packages"))] + [packages]
    own = tuple(f"{path}/" for path in sys.path)
    cached, sourceless = SourceFileLoader.get_code, SourcelessFileLoader.get_code
    def compiled(self, name):
        path = self.get_filename(name)
        if path.startswith(own):
            return cached(self, name)
        return self.source_to_code(self.get_data(path), path)
    def refused(self, name):
        path = self.get_filename(name)
        if path.startswith(own):
            return sourceless(self, name)
        raise ImportError(f"{path} is compiled code, and a skill's scripts import only source files", name=name, path=path)
    SourceFileLoader.get_code, SourcelessFileLoader.get_code = compiled, refused
    sys.argv.pop(0)
    sys.path.append(sys.argv[0].rpartition("/")[0])
    return sys.argv[0]
__file__ = start()
del start
exec(compile(open(__file__, "rb").read(), __file__, "exec"))
"""
_MIN_LINES = 4
_LAYOUT = "import sys,sysconfig as s;print(sys.executable,sys.prefix,sys.base_prefix,*set(s.get_paths().values()),sep='\\n')"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCommand:
    """The command that runs a script: these words, then the script and its arguments."""

    kind: str
    words: tuple[str, ...]
    readable: tuple[str, ...] = ()
    """Folders and files of the interpreter outside the system folders."""


def kind_of(path: str, data: bytes) -> str:
    """Returns the kind of interpreter, or `program` for machine code. Raises RefusedError if it is unknown."""
    suffix = os.path.splitext(path)[1].lower()
    if data.startswith(b"\x7fELF"):
        return "program"
    line = _SHEBANG.match(data[:512])
    if not line:
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        if suffix in FOREIGN_SUFFIXES:
            raise _not_supported(path, FOREIGN_SUFFIXES[suffix])
        raise RefusedError(f"{path!r} has no known interpreter", rule="interpreter",
                      hint="give it a suffix such as .py or .sh, or a first line such as #!/usr/bin/env python3")  # fmt: skip
    kind = _named(line[1].decode("utf-8", "replace").split())
    if kind is None:
        raise _not_supported(path, line[1].decode("utf-8", "replace").strip()[:80])
    # `#!/usr/bin/env node` above TypeScript means a runner that understands it.
    return "typescript" if kind == "node" and _SUFFIXES.get(suffix) == "typescript" else kind


class Interpreters:
    """The interpreters of this machine. `which` finds a command on the user's PATH; `home` is never made readable."""

    def __init__(self, *, which: Callable[[str], str | None] = find_command, home: str | None = None) -> None:
        self._which = which
        self._home = os.path.realpath(home or os.path.expanduser("~"))
        self._known: set[str] = set()

    def command(self, path: str, data: bytes, *, packages: PackageMount | None = None) -> ScriptCommand:
        """Returns the command for a script. Raises UnavailableError if the interpreter is missing."""
        kind = kind_of(path, data)
        if kind == "program":
            return ScriptCommand(kind=kind, words=())
        if kind == "python":
            return self._python(packages)
        if kind == "typescript":
            return self._typescript()
        return self._plain(kind, _OPTIONS.get(kind, ()))

    def problem(self, path: str, data: bytes) -> str:
        """Returns why this machine cannot run a script; empty if it can. Starts nothing but `node --version`, once."""
        try:
            kind = kind_of(path, data)
            if kind not in self._known:
                self._require(kind)
        except (RefusedError, UnavailableError) as error:
            return f"{error}; {error.hint}"
        # A missing program is looked up again: it may be installed in the meantime.
        self._known.add(kind)
        return ""

    def _require(self, kind: str) -> None:
        if kind == "typescript":
            self._typescript()
        elif kind == "python":
            if not (self._which("python3") or sys.executable):
                raise _missing(kind)
        elif kind != "program" and self._find(kind) is None:
            raise _missing(kind)

    def _plain(self, kind: str, options: Sequence[str] = ()) -> ScriptCommand:
        found = self._find(kind)
        if found is None:
            raise _missing(kind)
        return ScriptCommand(kind=kind, words=(found, *options), readable=self._program_folders(found))

    def _python(self, packages: PackageMount | None) -> ScriptCommand:
        found = packages.python if packages and packages.python else self._which("python3") or sys.executable
        if not found:
            raise _missing("python")
        executable, *folders = _layout(found)
        return ScriptCommand(
            kind="python",
            words=(executable, "-I", "-B", "-c", _PYTHON, packages.folder if packages else ""),
            readable=self._python_folders(executable, folders),
        )

    def _typescript(self) -> ScriptCommand:
        for kind in ("bun", "deno"):
            if self._find(kind):
                return self._plain(kind, _OPTIONS[kind])
        node = self._find("node")
        options = _typescript_options(_version(node)) if node else None
        if node is None or options is None:
            raise _missing("typescript")
        return ScriptCommand(kind="node", words=(node, *options), readable=self._program_folders(node))

    def _find(self, kind: str) -> str | None:
        """Returns the path of the program. Shims (pyenv, asdf) are skipped: they would need their whole manager."""
        for name in {"node": ("node", "nodejs")}.get(kind, (kind,)):
            found = self._which(name)
            if found and _is_program(found):
                return os.path.abspath(found)
        return None

    def _program_folders(self, program: str) -> tuple[str, ...]:
        """Returns the program and its libraries."""
        real = os.path.realpath(program)
        prefix = os.path.dirname(os.path.dirname(real))
        libraries = (
            [f"{prefix}/lib/node_modules", f"{prefix}/lib/ruby"] if os.path.basename(os.path.dirname(real)) == "bin" else []
        )
        return tuple(path for path in (program, real, *libraries) if not _is_system_path(path) and os.path.exists(path))

    def _python_folders(self, executable: str, folders: Sequence[str]) -> tuple[str, ...]:
        """Returns the folders of a Python. A prefix that holds more than Python, such as ~/.local, is not included."""
        prefixes, precise = folders[:2], folders[2:]
        dedicated = {prefix for prefix in prefixes if not self._contains_home(prefix)}
        wanted = [
            *dedicated,
            executable,
            os.path.realpath(executable),
            *precise,
            *(f"{prefix}/pyvenv.cfg" for prefix in prefixes),
        ]
        return tuple(path for path in dict.fromkeys(wanted) if not _is_system_path(path) and os.path.exists(path))

    def _contains_home(self, folder: str) -> bool:
        real = os.path.realpath(folder)
        return real == "/" or f"{self._home}/".startswith(f"{real}/") or real == f"{self._home}/.local"


class ImageInterpreters:
    """The interpreters of a container image, by their names. The container says if one is not installed."""

    def command(self, path: str, data: bytes, *, packages: PackageMount | None = None) -> ScriptCommand:
        kind = kind_of(path, data)
        if kind == "program":
            return ScriptCommand(kind=kind, words=())
        if packages is not None:
            raise UnavailableError(
                "packages are prepared for the interpreters of this machine, not for those of an image",
                hint="install them in the image, and drop them from the script",
                retryable=False,
            )
        if kind == "python":
            return ScriptCommand(kind=kind, words=("python3", "-I", "-B", "-c", _PYTHON, ""))
        if kind == "typescript":
            return ScriptCommand(kind="node", words=("node",))  # 22.18 or later runs it
        return ScriptCommand(kind=kind, words=(kind, *_OPTIONS.get(kind, ())))

    def problem(self, path: str, data: bytes) -> str:
        """Returns why the script cannot run; empty if the image may be able to."""
        try:
            self.command(path, data)
        except (RefusedError, UnavailableError) as error:
            return f"{error}; {error.hint}"
        return ""


_OPTIONS = {
    "sh": (),
    "bash": ("--noprofile", "--norc"),
    "ruby": (),
    "node": (),
    "bun": ("run",),
    "deno": ("run", "--allow-all"),
}


def _named(words: Sequence[str]) -> str | None:
    """Returns the interpreter in a first line, also after `env` and its options."""
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    return _PROGRAMS.get(re.sub(r"[\d.]+$", "", os.path.basename(words[0])))


def _missing(kind: str) -> UnavailableError:
    return UnavailableError(
        f"the script needs {kind}, which is not installed", hint=_HINTS.get(kind, f"install {kind}"), retryable=False
    )


def _not_supported(path: str, interpreter: str) -> RefusedError:
    return RefusedError(f"{path!r} needs the interpreter {interpreter!r}, which is not supported", rule="interpreter",
                        hint="use python3, sh, bash, node, bun, deno or ruby")  # fmt: skip


def _is_system_path(path: str) -> bool:
    return path == "/usr" or path.startswith(("/usr/", "/bin/", "/lib/", "/lib64/", "/sbin/"))


def _is_program(path: str) -> bool:
    """Returns True for machine code, False for a script that starts another program."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
    except OSError:
        return False
    return head == b"\x7fELF" or head in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


@cache
def _layout(python: str) -> tuple[str, ...]:
    """Returns executable, prefix, base prefix and library folders, as that Python reports them, also through a shim."""
    try:
        done = _output([python, "-I", "-c", _LAYOUT])
    except (OSError, subprocess.SubprocessError):
        raise _missing("python") from None
    lines = tuple(done.split("\n")[:-1])
    if len(lines) < _MIN_LINES or not all(map(os.path.isabs, lines)):
        raise UnavailableError(f"the script needs Python, but {python} does not work",
                          hint="repair it, or put a working python3 before it on PATH", retryable=False)  # fmt: skip
    return lines


@cache
def _version(program: str) -> tuple[int, ...]:
    try:
        done = _output([program, "--version"])
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(map(int, re.findall(r"\d+", done)[:3]))


def _output(words: Sequence[str]) -> str:
    # A shim is a shell script, which looks up programs itself.
    return subprocess.run(
        words, capture_output=True, text=True, check=True, timeout=20, env=safe_environment(), stdin=subprocess.DEVNULL
    ).stdout


def _typescript_options(version: tuple[int, ...]) -> tuple[str, ...] | None:
    """Returns Node's options to run TypeScript, or None if this version cannot."""
    if version >= (23, 6) or (22, 18) <= version < (23,):
        return ()
    return ("--experimental-strip-types", "--no-warnings") if version >= (22, 6) else None
