"""A listing that has not changed is not made again.

`metier skill list` is asked far more often than skills change: by people, by shells, by agents at every start. So the full
command leaves its output behind, with every fact that it rested on: which files it looked at and their times, which folders
it searched and what stood there, which commands it looked for. The next run looks the same facts up, and when all of them are
as they were it prints the same bytes. Whoever changes what a listing depends on must record it here; a test changes each fact
in turn and compares with the full command.

Runs before anything is imported, so only `os` and `sqlite3` are used, and no value is parsed.
"""

from __future__ import annotations

import os
import sys

from metier.sources.walk import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from metier.app import App

__all__ = ["answer", "note_commands", "remember", "remembering"]

_VERSION = "1"
_LARGEST = 16 * 1024 * 1024
_MOST_ANSWERS = 12
_FRESH_NS = 50_000_000
_pending: list[tuple[str, str, list[tuple[str, str, str]]]] = []


def answer(words: Sequence[str]) -> int | None:
    """Print the remembered output for this command line if nothing has changed since; None if the full command must run."""
    if "--watch" in words or "--help" in words:
        return None
    file = _file()
    if not os.path.exists(file):
        return None
    import sqlite3

    try:
        db = sqlite3.connect(file, timeout=0.2)
        try:
            row = db.execute("select id, output from answer where key = ?", (_key(words),)).fetchone()
            if row is None or not _unchanged(db.execute("select kind, name, value from fact where answer = ?", (row[0],))):
                return None
        finally:
            db.close()
    except sqlite3.Error:
        return None
    sys.stdout.buffer.write(row[1])
    return 0


def remembering(words: Sequence[str], app: App) -> None:
    """Note the facts that the listing of this app rests on. Called by the full command before it looks at any of them."""
    settings = app.settings
    facts = [("file", name, _signature(name)) for name in (*settings.files, app.trust.file, str(app.project_config_file))]
    bounds = f"{app.limits.depth}:{app.limits.directories}"
    now = _now()
    for place in app.places:
        value, newest = _fingerprint(place.root, bounds)
        if newest > now - _FRESH_NS:
            # Something changed within the last tick of the clock: it may change again and look the same.
            return
        facts.append(("place", f"{bounds}:{place.root}", value))
    _pending.append((_file(), _key(words), facts))


def remember(output: bytes) -> None:
    """Keep what the full command printed."""
    if not _pending or len(output) > _LARGEST:
        return
    file, key, facts = _pending.pop()
    import sqlite3

    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        db = sqlite3.connect(file, timeout=0.2)
        try:
            db.execute("pragma synchronous = off")
            with db:
                _store(db, key, output, facts)
        finally:
            db.close()
    except sqlite3.OperationalError:
        return
    except (sqlite3.Error, UnicodeEncodeError, OSError):
        _discard(file)


def _store(db: sqlite3.Connection, key: str, output: bytes, facts: Iterable[tuple[str, str, str]]) -> None:
    db.execute("create table if not exists answer (id integer primary key, key text unique, output blob)")
    db.execute("create table if not exists fact (answer integer, kind text, name text, value text)")
    db.execute("delete from answer where key = ?", (key,))
    row = db.execute("insert into answer (key, output) values (?, ?)", (key, output)).lastrowid
    db.execute("delete from answer where id <= ?", ((row or 0) - _MOST_ANSWERS,))
    db.execute("delete from fact where answer not in (select id from answer)")
    db.executemany("insert into fact values (?, ?, ?, ?)", [(row, *fact) for fact in facts])


def _unchanged(facts: Iterable[tuple[str, str, str]]) -> bool:
    for kind, name, value in facts:
        if kind == "file":
            now = _signature(name)
        elif kind == "command":
            now = _found(name)
        else:
            depth, directories, root = name.split(":", 2)
            now = _fingerprint(root, f"{depth}:{directories}")[0]
        if now != value:
            return False
    return True


def note_commands(found: Iterable[str]) -> None:
    """The commands that were looked for on the way; known only once the catalog is made."""
    if _pending:
        _pending[-1][2].extend(("command", name, _found(name)) for name in found)


def _fingerprint(root: str, bounds: str) -> tuple[str, int]:
    """What stands in a place: two equal texts mean an equal listing of it. Also the youngest time in it."""
    depth, directories = bounds.split(":")
    result = walk(root, depth=int(depth), directories=int(directories))
    # A check sum and not a digest: it guards against change, not against an attacker, who would have to own our cache
    # folder first; hashlib would cost every start the loading of OpenSSL.
    import zlib

    data = "\n".join([f"{folder}\0{mtime}\0{size}" for folder, mtime, size in result.found]).encode("utf-8", "surrogateescape")
    rest = f"{sorted(result.odd)}\0{sorted(result.cut)}"
    newest = max((mtime for _, mtime, _ in result.found), default=0)
    return f"{len(result.found)}:{zlib.crc32(data)}:{zlib.adler32(data)}:{len(data)}:{rest}", newest


def _signature(file: str) -> str:
    try:
        status = os.stat(file)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"


def _found(command: str) -> str:
    """The first executable of that name on PATH, as `shutil.which` finds it."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, command)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _file() -> str:
    home = os.environ.get("METIER_HOME") or os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".metier")
    return os.path.join(os.path.abspath(home), "cache", "answers.sqlite")


def _key(words: Sequence[str]) -> str:
    """Everything about the caller that changes what is printed."""
    variables = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(("METIER_", "SKILLS_"))]
    names = ("HOME", "PATH", "NO_COLOR", "FORCE_COLOR", "TERM")
    variables += [f"{name}={os.environ.get(name, '')}" for name in names]
    screen = str(tuple(os.get_terminal_size(1))) if os.isatty(1) else "pipe"
    from metier import __version__

    return "\0".join([_VERSION, __version__, sys.version, os.getcwd(), screen, *variables, *words])


def _now() -> int:
    import time

    return time.time_ns()


def _discard(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass
