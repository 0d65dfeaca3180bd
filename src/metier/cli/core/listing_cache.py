"""A listing that has not changed is not made again.

`metier skill list` is asked far more often than skills change: by people, by shells, by agents at every start. So the full
command leaves its output behind, with every fact that it rested on: which files it looked at and their times, which folders
it searched and what stood there, which commands it looked for. The next run looks the same facts up, and when all of them are
as they were it prints the same bytes. Whoever changes what a listing depends on must record it here; a test changes each fact
in turn and compares with the full command.

A fact is always looked up before the listing reads what it stands for: what changes in between then looks changed next time.

Runs before anything is imported, so only `os`, `sqlite3` and `zlib` are used, and no value is parsed.
"""

from __future__ import annotations

import os
import sys

from metier.hosts import HOST_VARIABLES
from metier.sources import find_skill_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from metier.app import App

    Fact = tuple[str, str, str]

__all__ = ["answer", "note_commands", "remember", "remembering"]

_VERSION = "3"
_LARGEST = 16 * 1024 * 1024
_MOST_ANSWERS = 12
_FRESH_NS = 50_000_000
_asked: list[str] = []
_pending: list[tuple[str, str, list[Fact]]] = []


def answer(words: Sequence[str]) -> int | None:
    """Print the remembered output for this command line if nothing has changed since; None if the full command must run."""
    if "--watch" in words or "--help" in words:
        return None
    _asked[:] = words
    try:
        output = _recalled(words)
    except (OSError, ValueError, TypeError):
        # No current folder, an argument that is no UTF-8, a damaged row: the full command has better words for it.
        return None
    if output is None:
        return None
    sys.stdout.buffer.write(output)
    return 0


def _recalled(words: Sequence[str]) -> bytes | None:
    file = _file()
    if not os.path.exists(file):
        return None
    import sqlite3

    try:
        db = sqlite3.connect(file, timeout=0.2)
        try:
            row = db.execute("select id, output, sum from answer where key = ?", (_key(words),)).fetchone()
            if row is None:
                return None
            facts = db.execute("select kind, name, value from fact where answer = ?", (row[0],)).fetchall()
        finally:
            db.close()
    except sqlite3.Error:
        return None
    output: bytes = row[1]
    return output if _sum(output, facts) == row[2] and _unchanged(facts) else None


def remembering(app: App) -> None:
    """Note the facts that the listing of this app rests on. Called by the full command before it looks at any of them."""
    if not _asked:
        return
    now = _now()
    signatures = [(name, _signature(name)) for name in _files(app)]
    facts = [("file", name, text) for name, (text, _) in signatures]
    newest = max(time for _, (_, time) in signatures)
    if not app.settings.boolean("cache.enabled"):
        return
    # A folder that is a link to another one is searched once; it is a place of its own as soon as the link is gone.
    facts += [("link", root, os.path.realpath(root)) for root in _possible_roots(app)]
    # Which agents are on this machine, and what they link to.
    facts += [("marks", names, _marks(names)) for names in ("\n".join(app.installation.visibility.markers),)]
    facts += [("agents", folder, _links(folder)) for folder in app.installation.visibility.folders]
    bounds = f"{app.skills.limits.depth}:{app.skills.limits.directories}"
    for place in app.skills.places:
        value, time = _fingerprint(place.root, bounds)
        newest = max(newest, time)
        facts.append(("place", f"{bounds}:{place.root}", value))
    if newest > now - _FRESH_NS:
        # Something changed within the last tick of the clock: it may change again and look the same.
        return
    _pending.append((_file(), _key(_asked), facts))


def _files(app: App) -> Iterable[str]:
    """Single files that a listing depends on."""
    yield from map(
        str,
        (
            app.paths.config_file,
            app.paths.project_config_file,
            app.trust.file,
            app.paths.cache("mcp", "listings.json"),
        ),
    )


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
    except (sqlite3.OperationalError, UnicodeEncodeError, OSError):
        # Locked, read-only, full, or a name that is not UTF-8: this listing is made again next time.
        return
    except (sqlite3.Error, ValueError):
        # Damaged, sometimes so that not even SQLite's complaint can be decoded: the next listing starts a new one.
        _discard(file)


def _store(db: sqlite3.Connection, key: str, output: bytes, facts: Sequence[Fact]) -> None:
    db.execute("begin immediate")
    if db.execute("pragma user_version").fetchone()[0] != int(_VERSION):
        db.execute("drop table if exists answer")
        db.execute("drop table if exists fact")
        db.execute(f"pragma user_version = {_VERSION}")
    db.execute("create table if not exists answer (id integer primary key, key text unique, output blob, sum integer)")
    db.execute("create table if not exists fact (answer integer, kind text, name text, value text)")
    db.execute("delete from answer where key = ?", (key,))
    # Before the insert: SQLite may give the new answer the number of the old one, and it must not inherit its facts.
    db.execute("delete from fact where answer not in (select id from answer)")
    row = db.execute("insert into answer (key, output, sum) values (?, ?, ?)", (key, output, _sum(output, facts))).lastrowid
    db.execute("delete from answer where id <= ?", ((row or 0) - _MOST_ANSWERS,))
    db.execute("delete from fact where answer not in (select id from answer)")
    db.executemany("insert into fact values (?, ?, ?, ?)", [(row, *fact) for fact in facts])


def _sum(output: bytes, facts: Iterable[Fact]) -> int:
    """SQLite does not notice a flipped bit in a row, and we do not wait for the disk when we write one."""
    import zlib

    return zlib.crc32("\0".join(part for fact in facts for part in fact).encode(), zlib.crc32(output))


def _unchanged(facts: Iterable[Fact]) -> bool:
    for kind, name, value in facts:
        if kind == "file":
            now = _signature(name)[0]
        elif kind == "link":
            now = os.path.realpath(name)
        elif kind == "command":
            now = _found(name)
        elif kind == "marks":
            now = _marks(name)
        elif kind == "agents":
            now = _links(name)
        else:
            depth, directories, root = name.split(":", 2)
            now = _fingerprint(root, f"{depth}:{directories}")[0]
        if now != value:
            return False
    return True


def note_commands(found: Mapping[str, str | None]) -> None:
    """Where the commands were that were looked for on the way; known only once the catalog is made."""
    if _pending:
        _pending[-1][2].extend(("command", name, path or "") for name, path in found.items())


def _possible_roots(app: App) -> Iterable[str]:
    """Every folder that `standard_places` may leave out because it is another one under a second name."""
    for folder in (app.paths.user_home, app.folder):
        yield from (os.path.join(folder, name, "skills") for name in (".claude", ".agents", ".agent", ".metier"))
    yield from filter(None, (app.installation.user_dir, app.installation.plugins_dir, app.settings.path("skills.dir")))


def _fingerprint(root: str, bounds: str) -> tuple[str, int]:
    """What stands in a place: two equal texts mean an equal listing of it. Also the youngest time in it."""
    depth, directories = bounds.split(":")
    result = find_skill_folders(root, depth=int(depth), directories=int(directories))
    # A check sum and not a digest: it guards against change, not against an attacker, who would have to own our cache
    # folder first; hashlib would cost every start the loading of OpenSSL.
    import zlib

    data = "\n".join([f"{folder}\0{mtime}\0{size}" for folder, mtime, size in result.found]).encode("utf-8", "surrogateescape")
    rest = f"{sorted(result.invalid)}\0{sorted(result.warnings)}"
    newest = max((mtime for _, mtime, _ in result.found), default=0)
    return f"{len(result.found)}:{zlib.crc32(data)}:{zlib.adler32(data)}:{len(data)}:{rest}", newest


def _marks(names: str) -> str:
    return "".join("1" if os.path.isdir(name) else "0" for name in names.split("\n"))


def _links(folder: str) -> str:
    """Where a folder is, and where each link in it leads."""
    try:
        with os.scandir(folder) as children:
            links = [f"{child.name}>{os.path.realpath(child.path)}" for child in children if child.is_symlink()]
    except OSError:
        return ""
    return "|".join([os.path.realpath(folder), *sorted(links)])


def _signature(file: str) -> tuple[str, int]:
    """What tells a changed file from an unchanged one, and when it last changed. The change time also sees a chmod."""
    try:
        status = os.stat(file)
    except OSError:
        return "", 0
    text = f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"
    return text, max(status.st_mtime_ns, status.st_ctime_ns)


def _found(command: str) -> str:
    """The first executable of that name on PATH, as `shutil.which` finds it."""
    path = os.environ.get("PATH", os.defpath)
    if os.path.dirname(command):
        return command if _is_executable(command) else ""
    for folder in path.split(os.pathsep) if path else ():
        file = os.path.join(folder, command)
        if _is_executable(file):
            return file
    return ""


def _is_executable(file: str) -> bool:
    return os.path.exists(file) and os.access(file, os.F_OK | os.X_OK) and not os.path.isdir(file)


def _file() -> str:
    home = os.environ.get("METIER_HOME") or os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".metier")
    return os.path.join(os.path.abspath(home), "cache", "answers.sqlite")


def _key(words: Sequence[str]) -> str:
    """Everything about the caller that changes what is printed."""
    variables = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(("METIER_", "SKILLS_"))]
    names = ("HOME", "PATH", "NO_COLOR", "FORCE_COLOR", "TERM", *HOST_VARIABLES)
    # Unset is not empty: without a PATH the system's own is searched, with an empty one nothing is.
    variables += [f"{name}={os.environ[name]}" if name in os.environ else name for name in names]
    screen = str(tuple(os.get_terminal_size(1))) if os.isatty(1) else "pipe"
    from metier import __version__

    # Another installation has its bundled skills elsewhere, another user may read other files.
    program = [_VERSION, __version__, sys.version, __file__, str(os.geteuid())]
    return "\0".join([*program, os.getcwd(), screen, *variables, *words])


def _now() -> int:
    import time

    return time.time_ns()


def _discard(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass
