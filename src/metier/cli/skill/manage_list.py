"""`metier skill manage list`: installed plugins, and configured ones that are not installed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from metier.app import App
from metier.catalog import Source, State
from metier.cli.core.dispatch import command
from metier.cli.core.entry_rows import entry_row, glyph
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line

from .install_common import entry_row as lock_row

__all__ = ["list_plugins"]


@command("skill manage", "list")
def list_plugins(app: App) -> Result:
    """List installed plugins with their source, version, state and date."""
    locked = {
        os.path.realpath(store.folder_of(entry)): (store, entry)
        for store in app.installation.stores()
        for entry in store.lock()
    }
    entries = [entry for entry in app.catalog.entries if entry.source is Source.PLUGIN or entry.folder in locked]
    missing = [plugin for plugin in app.installation.plugins if not any(plugin.provides(one) for _, one in locked.values())]
    rows = []
    for entry in entries:
        row = {**entry_row(entry), "enabled": entry.state is State.ENABLED}
        if entry.folder in locked:
            row["installed_from"] = lock_row(locked[entry.folder][1], locked[entry.folder][0])
        rows.append(row)

    names = {folder: one.name for folder, (_, one) in locked.items()}

    def lines(terminal: Terminal) -> Iterator[str]:
        for entry in entries:
            name = terminal.paint(one_line(names.get(entry.folder, entry.name)), "bold")
            yield f"{glyph(entry.state, terminal)} {name} ({entry.source}, {entry.state})"
            if entry.folder in locked:
                one = locked[entry.folder][1]
                at = one.origin.ref or one.origin.commit[:10]
                source = f"{one.origin.url} {one.origin.path}".rstrip()
                facts = (f"{source} at {at}" if at else source, one.installed, *(("pinned",) if one.pinned else ()))
                yield f"    {', '.join(map(one_line, facts))}"
        for plugin in missing:
            yield f"{terminal.paint('-', 'dim')} {one_line(plugin.name or plugin.url)} (configured, not installed)"
        if missing:
            yield terminal.paint("`metier skill install` installs configured plugins", "dim")
        if not entries and not missing:
            yield "No plugins are installed; see `metier skill install --help`"

    listed = [{"url": plugin.url, "ref": plugin.ref, "name": plugin.name, "enabled": plugin.enabled} for plugin in missing]
    data = {"skills": rows, "shown": len(rows), "found": len(rows), "not_installed": listed}
    return Result(data=data, lines=lines, notes=app.catalog.warnings)
