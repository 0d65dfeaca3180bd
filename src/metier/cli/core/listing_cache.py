"""The cached output of `metier skill list`.

`metier skill list` runs far more often than skills change: users, shells and agents run it at every start. So the full command
stores its output together with every input that it depends on: files with their times, folders with their contents, the
commands that it looked for. The next run compares these inputs and prints the same bytes if all are equal. A change of what
a listing depends on must be recorded here; a test changes each input in turn and compares with the full command.

An input is always recorded before the listing reads it, so that a change in between makes the cached output invalid.

This runs before anything else is imported, so it uses only `os`, `sqlite3` and `zlib`, and parses nothing.
"""

from __future__ import annotations

import os
import sys

from metier.hosts import HOST_VARIABLES
from metier.sources import delete_cache, find_skill_folders, open_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from metier.app import App

    ListingInput = tuple[str, str, str]  # kind, name, value

__all__ = ["print_cached_listing", "record_commands", "record_inputs", "save_listing"]

_VERSION = "5"
_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_MAX_LISTINGS = 12
_FRESH_NS = 50_000_000
_arguments: list[str] = []
_pending: list[tuple[str, str, list[ListingInput]]] = []


def print_cached_listing(words: Sequence[str]) -> int | None:
    """Prints the cached output of this command line if it is still valid; returns None if the full command must run."""
    if "--watch" in words or "--help" in words:
        return None
    _arguments[:] = words
    try:
        output = _load(words)
    except (OSError, ValueError, TypeError):
        # No current folder, an argument that is not UTF-8, a damaged row: the full command reports it.
        return None
    if output is None:
        return None
    sys.stdout.buffer.write(output)
    return 0


def _load(words: Sequence[str]) -> bytes | None:
    file = _file()
    if not os.path.exists(file):
        return None
    import sqlite3

    try:
        db = open_cache(file, timeout=0.2)
        try:
            row = db.execute("select id, output, sum from listing where key = ?", (_key(words),)).fetchone()
            if row is None:
                return None
            inputs = db.execute("select kind, name, value from input where listing = ?", (row[0],)).fetchall()
        finally:
            db.close()
    except sqlite3.Error:
        return None
    output: bytes = row[1]
    return output if _checksum(output, inputs) == row[2] and _are_unchanged(inputs) else None


def record_inputs(app: App) -> None:
    """Records the inputs of the listing. The full command calls it before it reads any of them."""
    if not _arguments:
        return
    now = _now()
    signatures = [(name, _signature(name)) for name in _files(app)]
    inputs = [("file", name, text) for name, (text, _) in signatures]
    newest = max(time for _, (_, time) in signatures)
    if not app.settings.boolean("cache.enabled"):
        return
    # A root that links to another one is searched once, and separately as soon as the link is removed.
    inputs += [("link", root, os.path.realpath(root)) for root in _possible_roots(app)]
    inputs.append(("chain", f"{app.paths.user_home}\n{app.folder}", "\n".join(app.paths.projects)))
    inputs += [("markers", names, _existing(names)) for names in ("\n".join(_agents_folders(app)),)]
    # The agents on this machine, and the links in their folders.
    inputs += [("markers", names, _existing(names)) for names in ("\n".join(app.installation.visibility.markers),)]
    inputs += [("agents", folder, _links(folder)) for folder in app.installation.visibility.folders]
    bounds = f"{app.skills.limits.depth}:{app.skills.limits.directories}"
    for folder in app.skills.places:
        if folder.leads_to:
            continue
        value, time = _fingerprint(folder.root, bounds)
        newest = max(newest, time)
        inputs.append(("root", f"{bounds}:{folder.root}", value))
    if newest > now - _FRESH_NS:
        # A change within the last clock tick: another change might not show in the time.
        return
    _pending.append((_file(), _key(_arguments), inputs))


def _files(app: App) -> Iterable[str]:
    """Yields the single files that a listing depends on."""
    yield from map(
        str,
        (
            app.paths.system_config_file,
            app.paths.config_file,
            *app.paths.project_config_files,
            app.trust.file,
            app.paths.cache("mcp", "listings.json"),
        ),
    )


def save_listing(output: bytes) -> None:
    """Stores what the full command printed."""
    if not _pending or len(output) > _MAX_OUTPUT_BYTES:
        return
    file, key, inputs = _pending.pop()
    import sqlite3

    try:
        db = open_cache(file, timeout=0.2)
        try:
            with db:
                _store(db, key, output, inputs)
        finally:
            db.close()
    except (sqlite3.OperationalError, UnicodeEncodeError, OSError):
        # Locked, read-only, a full disk, or a name that is not UTF-8: the listing is not cached.
        return
    except (sqlite3.Error, ValueError):
        # Damaged; sometimes even the message of SQLite cannot be decoded. The next listing starts a new file.
        delete_cache(file)


def _store(db: sqlite3.Connection, key: str, output: bytes, inputs: Sequence[ListingInput]) -> None:
    db.execute("begin immediate")
    if db.execute("pragma user_version").fetchone()[0] != int(_VERSION):
        db.execute("drop table if exists listing")
        db.execute("drop table if exists input")
        db.execute(f"pragma user_version = {_VERSION}")
    db.execute("create table if not exists listing (id integer primary key, key text unique, output blob, sum integer)")
    db.execute("create table if not exists input (listing integer, kind text, name text, value text)")
    db.execute("delete from listing where key = ?", (key,))
    # Before the insert, because SQLite may use an id again, and the new listing must not get the inputs of the old one.
    db.execute("delete from input where listing not in (select id from listing)")
    values = (key, output, _checksum(output, inputs))
    row = db.execute("insert into listing (key, output, sum) values (?, ?, ?)", values).lastrowid
    db.execute("delete from listing where id <= ?", ((row or 0) - _MAX_LISTINGS,))
    db.execute("delete from input where listing not in (select id from listing)")
    db.executemany("insert into input values (?, ?, ?, ?)", [(row, *one) for one in inputs])


def _checksum(output: bytes, inputs: Iterable[ListingInput]) -> int:
    """Protects against a damaged row, which SQLite does not detect, and which `synchronous = off` makes more likely."""
    import zlib

    return zlib.crc32("\0".join(part for one in inputs for part in one).encode(), zlib.crc32(output))


def _are_unchanged(inputs: Iterable[ListingInput]) -> bool:
    for kind, name, value in inputs:
        if kind == "file":
            now = _signature(name)[0]
        elif kind == "link":
            now = os.path.realpath(name)
        elif kind == "command":
            from metier.sources import find_command

            now = find_command(name) or ""
        elif kind == "markers":
            now = _existing(name)
        elif kind == "chain":
            from metier.sources import project_chain

            home, folder = name.split("\n", 1)
            now = "\n".join(project_chain(folder, home=home))
        elif kind == "agents":
            now = _links(name)
        else:
            depth, directories, root = name.split(":", 2)
            now = _fingerprint(root, f"{depth}:{directories}")[0]
        if now != value:
            return False
    return True


def record_commands(found: Mapping[str, str | None]) -> None:
    """Records where each command was found. They are known only after the catalog is built."""
    if _pending:
        _pending[-1][2].extend(("command", name, path or "") for name, path in found.items())


def _possible_roots(app: App) -> Iterable[str]:
    """Yields every root that `standard_folders` leaves out if it is the same folder as another one."""
    for folder in (app.paths.user_home, *app.paths.projects):
        yield from (os.path.join(folder, name, "skills") for name in (".claude", ".agents", ".agent", ".metier"))
    yield from (os.path.join(folder, "skills") for folder in app.paths.projects)
    yield from (folder for folder in _agents_folders(app) if os.path.isdir(folder))
    yield from filter(None, (app.installation.user_dir, app.installation.plugins_dir, app.settings.path("skills.dir")))


def _agents_folders(app: App) -> Iterable[str]:
    """Yields the folders of other agents, which are searched if they exist."""
    from metier.hosts import project_skill_folders, user_skill_folders

    yield from user_skill_folders(app.paths.user_home, app.environment)
    yield from (os.path.join(folder, name) for folder in app.paths.projects for name in project_skill_folders())


def _fingerprint(root: str, bounds: str) -> tuple[str, int]:
    """Returns a text that changes with the skills below a root, and the newest time in it."""
    depth, directories = bounds.split(":")
    result = find_skill_folders(root, depth=int(depth), directories=int(directories))
    # A checksum is enough: an attacker would need write access to the cache. Importing hashlib would load OpenSSL.
    import zlib

    data = "\n".join([f"{folder}\0{mtime}\0{size}" for folder, mtime, size in result.found]).encode("utf-8", "surrogateescape")
    rest = f"{sorted(result.invalid)}\0{sorted(result.warnings)}"
    newest = max((mtime for _, mtime, _ in result.found), default=0)
    return f"{len(result.found)}:{zlib.crc32(data)}:{zlib.adler32(data)}:{len(data)}:{rest}", newest


def _existing(names: str) -> str:
    return "".join("1" if os.path.isdir(name) else "0" for name in names.split("\n"))


def _links(folder: str) -> str:
    """Returns the real path of a folder and the target of each link in it."""
    try:
        with os.scandir(folder) as children:
            links = [f"{child.name}>{os.path.realpath(child.path)}" for child in children if child.is_symlink()]
    except OSError:
        return ""
    return "|".join([os.path.realpath(folder), *sorted(links)])


def _signature(file: str) -> tuple[str, int]:
    """Returns a text that changes with the file, and its newest time. The change time detects a chmod."""
    try:
        status = os.stat(file)
    except OSError:
        return "", 0
    text = f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"
    return text, max(status.st_mtime_ns, status.st_ctime_ns)


def _file() -> str:
    home = os.environ.get("METIER_HOME") or os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".metier")
    return os.path.join(os.path.abspath(home), "cache", "listings.sqlite")


def _key(words: Sequence[str]) -> str:
    """Returns everything about the caller that changes the output."""
    variables = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(("METIER_", "SKILLS_"))]
    names = ("HOME", "PATH", "NO_COLOR", "FORCE_COLOR", "TERM", *HOST_VARIABLES)
    # Unset and empty differ: without PATH the default is searched, with an empty one nothing.
    variables += [f"{name}={os.environ[name]}" if name in os.environ else name for name in names]
    screen = str(tuple(os.get_terminal_size(1))) if os.isatty(1) else "pipe"
    from metier import __version__

    # Another installation has other bundled skills, and another user may read other files.
    program = [_VERSION, __version__, sys.version, __file__, str(os.geteuid())]
    return "\0".join([*program, os.getcwd(), screen, *variables, *words])


def _now() -> int:
    import time

    return time.time_ns()
