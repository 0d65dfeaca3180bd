"""Reads the skills to export from their folders, and writes an export in one step: no reader sees half of it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from metier.archive import Contents, read_contents
from metier.errors import ConflictError, InvalidSkillError
from metier.install.fetch.tree import read_folder
from metier.install.transaction.stage import write_skills
from metier.sources import inner_folder, replace_bytes
from metier.spec import Report, load
from metier.values import dataclass

from .export_formats import Export, ExportFormat, SkillToExport, export_skills

__all__ = ["ExportResult", "export_folders", "read_skill_to_export"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    format: ExportFormat
    path: str
    """The file or folder that was written; empty if it was only built."""
    text: str = ""
    """The section of AGENTS.md, if no path was named for it."""
    skills: tuple[str, ...]
    files: int
    size: int
    left_out: tuple[str, ...] = ()
    """Files that git ignores or `.metierignore` lists."""
    notes: tuple[str, ...] = ()


def export_folders(
    folders: tuple[str, ...], to: ExportFormat, *, name: str = "", path: str = "", base: str = ".", inside: str | None = None
) -> ExportResult:
    """Exports the skills in these folders. Raises ConflictError if the path exists.

    `path` is relative to `base`. `inside` is the project that no link on the way may leave.
    """
    read = [read_skill_to_export(folder) for folder in folders]
    export = export_skills([skill for skill, _ in read], to, name=name)
    target = _target(export, to, path, base)
    if target:
        _write(export, target, inside)
    members = export.files.members if export.files else ()
    return ExportResult(
        format=to, path=target, text=(export.data or b"").decode() if to is ExportFormat.AGENTS_MD and not target else "",
        skills=tuple(skill.name for skill, _ in read), files=len(members) or 1,
        size=export.files.size if export.files else len(export.data or b""), notes=export.notes,
        left_out=tuple(f"{skill.name}/{one}" for skill, left in read for one in left),
    )  # fmt: skip


def read_skill_to_export(folder: str) -> tuple[SkillToExport, tuple[str, ...]]:
    """Returns a skill with the files that `publish` would take, and the paths that are left out. Refuses secrets."""
    # Imported here: the ignore rules need a library.
    from metier.registry.client import find_secrets, select_files

    name = os.path.basename(folder.rstrip("/"))
    selected = select_files(folder)
    if leaked := list(find_secrets(selected)):
        raise InvalidSkillError(
            f"{name} contains secrets; nothing was exported", report=Report.of(leaked),
            hint="remove them, or list the files in .metierignore",
        )  # fmt: skip
    skill = load(selected, folder=name)
    return SkillToExport(name=skill.name, manifest=skill.manifest, body=skill.instructions,
                         files=_with_links(folder, read_contents(selected), selected.links)), selected.left_out  # fmt: skip


def _with_links(folder: str, files: Contents, links: tuple[str, ...]) -> Contents:
    if not links:
        return files
    kept = [link for link in read_folder(folder).links if link.path in links]
    return Contents(files.members, kept)


def _target(export: Export, to: ExportFormat, path: str, base: str) -> str:
    if to is ExportFormat.WELL_KNOWN:
        # The path is the top of the site.
        return os.path.normpath(os.path.join(base, path, export.default_path))
    chosen = path or export.default_path
    return os.path.normpath(os.path.join(base, chosen)) if chosen else ""


def _write(export: Export, path: str, inside: str | None) -> None:
    if os.path.lexists(path):
        raise ConflictError(f"{path} already exists", hint="name another path with -o, or delete it first")
    if export.files is None:
        replace_bytes(path, export.data or b"", mode=0o644, inside=inside)
        return
    above, name = os.path.split(path)
    with inner_folder(above, inside=inside, create=True) as parent:
        scratch = f".metier-new-{os.urandom(8).hex()}"
        os.mkdir(scratch, 0o700, dir_fd=parent)
        try:
            own = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            try:
                write_skills([(own, "export", export.files, {})])
                os.rename("export", name, src_dir_fd=own, dst_dir_fd=parent)
            finally:
                os.close(own)
        except BaseException as error:
            if isinstance(error, OSError) and os.path.lexists(path):
                raise ConflictError(f"{path} already exists", hint="name another path with -o, or delete it first") from error
            raise
        finally:
            with suppress(OSError):
                shutil.rmtree(scratch, dir_fd=parent)
