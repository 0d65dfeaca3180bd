"""`metier skill show`: show one skill, or the state of all skills by source."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import click

from metier.app import App
from metier.catalog import (
    Entry,
    References,
    Source,
    State,
    missing_references,
    missing_requirements,
    read_compatibility,
    read_references,
    read_requirements,
)
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.entry_rows import count_by_state, entry_row, glyph
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_in, entry_named, folders_named, is_path
from metier.cli.core.terminal import Terminal, one_line, pad, plural, truncate
from metier.errors import (
    AmbiguousError,
    InvalidSkillError,
    NotFoundError,
    RefusedError,
    SkillNotFoundError,
    UnavailableError,
    UsageError,
)
from metier.spec import (
    EXTENSION_KEYS,
    EXTENSION_SPELLINGS,
    SKILL_FILE,
    Capabilities,
    FileEntry,
    Files,
    Manifest,
    OwnFiles,
    estimate_tokens,
    load,
)

if TYPE_CHECKING:
    from metier.runtime import NeededVariable

__all__ = ["missing_for", "show", "skill_page"]

_TITLES = {
    Source.BUNDLED: "Bundled Skills",
    Source.USER: "User Skills",
    Source.CLAUDE: "Claude Skills",
    Source.PROJECT: "Project Skills",
    Source.PLUGIN: "Plugin Skills",
    Source.MCP: "MCP Skills",
}
_MOST_FILES = 40


@command("skill", "show")
@click.argument("name", required=False, metavar="[NAME|PATH|REF]", shell_complete=skill_names)
@click.option("--skill", help="With a REF: this skill of several.")
@click.option("--files", "with_files", is_flag=True, help="List every file of the skill.")
@click.option("--body", "with_body", is_flag=True, help="Print only the instructions.")
def show(app: App, *, name: str | None, skill: str | None, with_files: bool, with_body: bool) -> Result:
    """Show one skill, or the state of all skills by source.

    A PATH or REF shows a skill that is not installed; REF is what `metier skill install` takes, such as `owner/repo`.
    """
    if name is None:
        if with_files or with_body:
            raise UsageError("--files and --body need a name", hint="metier skill show NAME")
        return _status(app)
    try:
        entry = _path_entry(app, name, skill or "") if is_path(name) else entry_named(app, name)
    except NotFoundError as missing:
        return _remote(app, name, skill or "", missing, with_files=with_files, with_body=with_body)
    if entry.state is State.UNTRUSTED:
        raise RefusedError(f"{name} is in a folder that is not trusted", rule="trust", hint="run `metier trust` in that folder")
    if with_body:
        return _body_page(app, entry)
    is_known = any(other.folder == entry.folder for other in app.catalog.entries)
    return skill_page(app, entry, with_files=with_files, where="" if is_known else entry.folder)


def _path_entry(app: App, path: str, skill: str) -> Entry:
    found = folders_named(app, [path])
    if skill:
        found = [folder for folder in found if os.path.basename(folder) == skill]
        if not found:
            raise UsageError(f"{path} has no skill {skill!r}", hint=f"see `metier skill install {path} --list`")
    if len(found) > 1:
        names = ", ".join(os.path.basename(folder) for folder in found[:5])
        raise AmbiguousError(f"{path} has {len(found)} skills: {names}", hint="choose one with --skill NAME")
    installed = (entry for entry in app.catalog.entries if entry.folder == found[0])
    return next(installed, None) or entry_in(app, found[0])


def _remote(app: App, ref: str, skill: str, missing: NotFoundError, *, with_files: bool, with_body: bool) -> Result:
    """Fetches a skill that is not here and shows it. Raises `missing` if it is no ref either."""
    # Imported here: a local skill needs nothing that fetches.
    from metier.install import LocalName, LocalPath, parse_source_ref, try_skill

    from .install_common import access_of, fetch_progress

    access = access_of(app, offline=False)
    try:
        parsed = parse_source_ref(ref, access)
    except SkillNotFoundError:
        raise missing from None
    if isinstance(parsed, LocalName | LocalPath):
        raise missing
    with fetch_progress() as progress, try_skill(ref, access, skill=skill, progress=progress) as trial:
        entry = entry_in(app, trial.folder)
        return _body_page(app, entry) if with_body else skill_page(app, entry, where=ref, with_files=with_files)


def _body_page(app: App, entry: Entry) -> Result:
    body = load(app.skills.files_of(entry), folder=entry.folder.rpartition("/")[2]).instructions
    return Result(data={"name": entry.name, "body": body}, lines=lambda terminal: _body_lines(body, terminal), pages=True)


def _body_lines(body: str, terminal: Terminal) -> Iterator[str]:
    """Yields the body unchanged for programs, and as rendered Markdown without control characters on a terminal."""
    if not terminal.is_tty:
        yield body
        return
    from rich.console import Console
    from rich.markdown import Markdown

    safe = "".join(char if char.isprintable() or char == "\n" else " " for char in body)
    console = Console(width=min(terminal.width or 80, 100), force_terminal=terminal.colour, no_color=not terminal.colour)
    with console.capture() as captured:
        console.print(Markdown(safe, hyperlinks=False))
    yield from captured.get().splitlines()


def _status(app: App) -> Result:
    entries = app.catalog.entries

    def lines(terminal: Terminal) -> Iterator[str]:
        for source in reversed(Source):
            of_source = [entry for entry in entries if entry.source is source]
            if of_source:
                yield terminal.paint(f"[{_TITLES[source]}]", "bold")
            for entry in of_source:
                yield f"  {glyph(entry.state, terminal)} {one_line(entry.name)}"
                state = f"({entry.state})"
                space = terminal.width - 7 - len(state) if terminal.width else None
                yield f"      {truncate(one_line(entry.description), space)} {state}" if entry.description else f"      {state}"
                if entry.reason:
                    yield f"      {terminal.paint(one_line(entry.reason), 'dim')}"
        yield terminal.paint(count_by_state(entries) or "No skills yet. Create one with `metier skill create NAME`", "dim")

    return Result(data={"skills": [entry_row(entry) for entry in entries]}, lines=lines, notes=app.catalog.warnings, pages=True)


def _origin(app: App, entry: Entry) -> dict[str, Any] | None:
    """Returns its entry in the lock, if it was installed."""
    from .install_common import entry_row as installed_row

    for store in app.installation.stores():
        for locked in store.lock():
            if entry.folder in map(os.path.realpath, store.place(locked).paths):
                return installed_row(locked, store)
    return None


def skill_page(app: App, entry: Entry, *, with_files: bool, where: str = "") -> Result:
    """Returns the page of a skill. `where` is the folder or ref of one that is not installed; fetched files are temporary."""
    is_here = where in ("", entry.folder)
    origin = None if where else _origin(app, entry)
    held = app.skills.files_of(entry, offline=True)
    files = list(OwnFiles(held).list())
    body = _body(held, entry)
    packages = _packages(app, entry) if is_here else []
    manifest = entry.manifest
    needed = _needed(app, held, entry)
    missing = missing_for(app, manifest, read_references(manifest, body), {one.name for one in app.catalog.entries})
    capabilities = _capabilities(app, held, entry, origin)
    tokens = {"catalog": estimate_tokens(entry.name + entry.description), "instructions": estimate_tokens(body)}
    data: dict[str, Any] = {
        **entry_row(entry),
        "folder": entry.folder if is_here else None,
        "ref": None if is_here else where,
        "license": manifest.license,
        "compatibility": manifest.compatibility,
        "metadata": dict(manifest.metadata),
        "allowed_tools": list(manifest.allowed_tools),
        "extensions": _extensions(manifest),
        "variables": [{"name": each.name, "where": each.where, "stored": is_stored} for each, is_stored in needed],
        "other_keys": _other_keys(manifest),
        "missing": list(missing),
        "tokens": tokens,
        "installed_from": origin,
        "packages": packages,
        "capabilities": capabilities.row() if capabilities is not None else None,
        "files": [{"path": file.path, "size": file.size, "executable": file.executable} for file in files],
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        state = "not installed" if where else f"{entry.source}, {entry.state}"
        yield f"{glyph(entry.state, terminal)} {terminal.paint(one_line(entry.name), 'bold')} ({state})"
        if entry.reason:
            yield f"  {one_line(entry.reason)}"
        yield f"  {one_line(entry.description)}"
        yield ""
        place = ("folder", entry.folder) if is_here else ("from", where)
        advice = [("missing", reason) for reason in missing]
        facts = (
            *_facts(manifest, tokens),
            *_capability_facts(capabilities, is_held=bool(origin and origin["capabilities"] is not None)),
            *_variable_facts(entry.name, needed),
            *advice,
            *_origin_facts(origin),
            *_package_facts(entry.name, packages),
        )
        for label, value in (place, *facts):
            yield f"  {terminal.paint(pad(label, 14), 'dim')}{one_line(value)}"
        for problem in entry.report:
            yield f"  {problem.where}: {problem.severity} {problem.code}: {one_line(problem.message)}"
        yield from _file_lines(files, with_all=with_files, terminal=terminal)

    return Result(data=data, lines=lines)


def _capabilities(app: App, files: Files, entry: Entry, origin: dict[str, Any] | None) -> Capabilities | None:
    """Returns the list of its lock; without one, what its files do."""
    if origin and origin["capabilities"] is not None:
        return Capabilities.of(origin["capabilities"])
    if entry.state is State.SKIPPED or entry.source is Source.MCP:
        return None
    scanned = app.installation.scan(files, folder=entry.folder.rpartition("/")[2])
    return scanned.capabilities if scanned else None


def _capability_facts(capabilities: Capabilities | None, *, is_held: bool) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(capabilities.lines() if capabilities else ()):
        yield ("held to" if is_held else "can") if number == 0 else "", line


def _packages(app: App, entry: Entry) -> list[dict[str, Any]]:
    """Returns the packages that its scripts declare."""
    if entry.source is Source.MCP:
        return []
    from metier.errors import MetierError

    try:
        statuses = app.packages.skills.status(entry.folder)
    except MetierError as error:
        return [{"path": "", "problem": f"{error}; {error.hint}", "packages": [], "requires": []}]
    if not statuses:
        return []
    from .package_prompts import package_rows

    return package_rows(statuses)


def _package_facts(name: str, rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    if not rows:
        return
    from .package_prompts import package_facts

    yield from package_facts(name, rows)


def _body(files: Files, entry: Entry) -> str:
    """Returns the instructions; nothing if it is not a skill, or if its MCP server cannot be reached."""
    if entry.state is State.SKIPPED:
        return ""
    try:
        return load(files, folder=entry.folder.rpartition("/")[2]).instructions
    except (InvalidSkillError, UnavailableError):
        if entry.source is not Source.MCP:
            raise
        return ""


def _needed(app: App, files: Files, entry: Entry) -> list[tuple[NeededVariable, bool]]:
    """Returns the variables that its scripts need, and whether a secret for each is stored."""
    if entry.state is State.SKIPPED or entry.source is Source.MCP:
        return []
    # Imported here: a page without scripts does not pay for reading them.
    from metier.runtime import needed_variables

    skill = load(files, folder=entry.folder.rpartition("/")[2])
    secrets = app.sessions.secrets
    return [(each, secrets.find(entry.name, each.name) is not None) for each in needed_variables(skill)]


def _variable_facts(skill: str, needed: list[tuple[NeededVariable, bool]]) -> Iterator[tuple[str, str]]:
    for each, is_stored in needed:
        state = "stored" if is_stored else f"missing; run `metier secret set {each.name} --skill {skill}`"
        yield "secret", f"{each.name} ({each.where}): {state}"


def _facts(manifest: Manifest, tokens: dict[str, int]) -> Iterator[tuple[str, str]]:
    extensions = manifest.extensions
    facts = {
        "version": extensions.version,
        "author": extensions.author,
        "license": manifest.license,
        "compatibility": manifest.compatibility,
        "requires": ", ".join(extensions.requires),
        "network": ", ".join(extensions.network),
        "tags": ", ".join(extensions.tags),
        "allowed tools": " ".join(manifest.allowed_tools),
        "triggers": ", ".join((*extensions.triggers.keywords, *extensions.triggers.verbs, *extensions.triggers.patterns)),
        "depends on": ", ".join(extensions.dependencies),
        "toolsets": ", ".join(map(str, extensions.toolsets)),
    }
    yield from ((label, value) for label, value in facts.items() if value)
    yield from ((key, _text(value)) for key, value in _other_keys(manifest).items())
    yield "tokens", f"about {tokens['catalog']:,} in the catalog, {tokens['instructions']:,} when activated"


def missing_for(app: App, manifest: Manifest, named: References, skills: Collection[str]) -> tuple[str, ...]:
    """Returns what this machine lacks of what the skill asks for: programs, packages, MCP servers and other skills.

    `skills` are the names of those that are here.
    """
    machine = app.skills.machine
    missing = missing_requirements(read_requirements(manifest.compatibility or ""), machine, machine.version_of)
    # A program that its frontmatter asks for is named there, and once is enough.
    asked = {command for one in read_requirements(manifest.compatibility or "") for command in one.commands}
    asked.update((*read_compatibility(manifest.compatibility or "").commands, *manifest.extensions.requires))
    named = named._replace(commands=tuple(name for name in named.commands if name not in asked))
    servers = app.skills.configured_servers if named.servers else frozenset()
    more = missing_references(named, machine=machine, has_skill=skills.__contains__, has_server=servers.__contains__)
    return (*missing, *more)


def _other_keys(manifest: Manifest) -> dict[str, Any]:  # Any: what YAML holds
    """Returns the keys of the frontmatter that neither the standard nor metier knows."""
    own = {key: value for key, value in manifest.extra.items() if key not in EXTENSION_SPELLINGS}
    named = {f"metadata.{key}": value for key, value in manifest.metadata.items() if key not in EXTENSION_KEYS}
    return {**own, **named}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _origin_facts(origin: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if origin is None:
        return
    at = f" at {origin['ref']}" if origin["ref"] else ""
    commit = f" ({origin['commit'][:12]})" if origin["commit"] else ""
    yield "from", f"{origin['url']} {origin['path']}".rstrip() + at + commit
    yield "installed", f"{origin['installed']}{', pinned' if origin['pinned'] else ''}, {origin['scope']}"
    yield "digest", origin["digest"]
    if origin["targets"]:
        yield "agents", ", ".join(origin["targets"])


def _file_lines(files: list[FileEntry], *, with_all: bool, terminal: Terminal) -> Iterator[str]:
    others = files if with_all else [file for file in files if file.path != SKILL_FILE]
    seen = others if with_all else others[:_MOST_FILES]
    for file in seen:
        label = terminal.paint(pad("file" if file is seen[0] else "", 14), "dim")
        yield f"  {label}{one_line(file.path)}  {plural(file.size, 'byte')}"
    if len(seen) < len(others):
        yield f"  {'':14}{len(others) - len(seen):,} more; --files lists all"


def _extensions(manifest: Manifest) -> dict[str, Any]:
    extensions = manifest.extensions
    triggers = extensions.triggers
    return {
        "version": extensions.version,
        "author": extensions.author,
        "tags": list(extensions.tags),
        "requires": list(extensions.requires),
        "toolsets": [str(toolset) for toolset in extensions.toolsets],
        "scripts": list(extensions.scripts),
        "triggers": {
            "keywords": list(triggers.keywords),
            "verbs": list(triggers.verbs),
            "patterns": list(triggers.patterns),
        },
        "default_enabled": extensions.default_enabled,
        "brief_description": manifest.brief,
        "disable_model_invocation": extensions.disable_model_invocation,
        "user_invocable": extensions.user_invocable,
        "dependencies": list(extensions.dependencies),
        "network": list(extensions.network),
        "env": list(extensions.env),
        "capabilities": extensions.capabilities.row() if extensions.capabilities is not None else None,
        "parameters": [{slot: getattr(parameter, slot) for slot in parameter.__slots__} for parameter in extensions.parameters],
    }
