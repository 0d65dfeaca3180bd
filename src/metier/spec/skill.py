"""A skill: the manifest in its SKILL.md, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from metier.errors import InvalidSkillError, NotFoundError, RefusedError
from metier.values import dataclass, replace

from .codes import Verdict, problem
from .document import Document, split_document
from .extensions import Extensions, is_file_of, toolset_problem
from .files import SKILL_FILE, FileEntry, Files, OwnFiles, resource_path
from .manifest import Manifest
from .parse import ParseResult, parse
from .report import Problem, Report, Severity

__all__ = ["MAX_RESOURCE_BYTES", "MAX_SKILL_FILE_BYTES", "Skill", "check", "load"]

MAX_SKILL_FILE_BYTES = 1024 * 1024
MAX_RESOURCE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that could be loaded. Its files are read when they are asked for, so an edit is seen at the next activation."""

    manifest: Manifest
    files: Files
    folder: str = ""
    """Absolute path of its folder; empty if it is not on disk."""
    source: str = ""
    """Where it came from: `local`, a source of the catalog such as `user`, or a kind of origin such as `git`."""
    source_ref: str = ""
    """The reference within the source: a path, a URL, or what the user typed."""

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def description(self) -> str:
        return self.manifest.description

    @property
    def license(self) -> str | None:
        return self.manifest.license

    @property
    def compatibility(self) -> str | None:
        return self.manifest.compatibility

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.manifest.metadata

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        return self.manifest.allowed_tools

    @property
    def instructions(self) -> str:
        """Tier two: the Markdown below the frontmatter, trimmed as the client guide has it."""
        return split_document(self.files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).body.strip()

    @property
    def scripts(self) -> tuple[str, ...]:
        """Paths of the files in `scripts/`."""
        return tuple(entry.path for entry in self.resources("scripts"))

    @property
    def references(self) -> tuple[str, ...]:
        """Paths of the files in `references/`."""
        return tuple(entry.path for entry in self.resources("references"))

    @property
    def assets(self) -> tuple[str, ...]:
        """Paths of the files in `assets/`."""
        return tuple(entry.path for entry in self.resources("assets"))

    def resource(self, path: str, *, limit: int = MAX_RESOURCE_BYTES) -> bytes:
        """Tier three: one file of the skill. Raises RefusedError if the path or a link would leave the folder."""
        return self.files.read(resource_path(path), limit=limit)

    def resources(self, folder: str = "") -> tuple[FileEntry, ...]:
        """Returns the author's other files, or those of one folder such as `scripts`."""
        prefix = folder.rstrip("/") + "/" if folder else ""
        found = OwnFiles(self.files).list()
        return tuple(entry for entry in found if entry.path != SKILL_FILE and entry.path.startswith(prefix))


def load(files: Files, *, folder: str | None = None, parsed: ParseResult | None = None) -> Skill:
    """Returns the skill in `files`. Raises InvalidSkillError only if no model could use it.

    `folder` is the name of its folder. `parsed` is the parse of its SKILL.md, if there is one already.
    """
    parsed = parsed or _parse(files, folder, Verdict.LENIENT)
    if parsed.manifest is None:
        first = parsed.report.errors[0]
        raise InvalidSkillError(
            f"{folder or SKILL_FILE} is not a skill: {first.message}", report=parsed.report, hint=first.hint
        )
    return Skill(parsed.manifest, files)


def check(files: Files, *, folder: str | None = None, verdict: Verdict = Verdict.STRICT) -> Report:
    """Returns all problems of one skill folder under a verdict. `folder` is the name of the folder."""
    if verdict is Verdict.COMPAT:
        return _check_compat(files, folder or "")
    parsed = _parse(files, folder, verdict)
    return parsed.report + Report.of(_missing_files(parsed, files))


def _missing_files(parsed: ParseResult, files: Files) -> Iterator[Problem]:
    """Yields the scripts and toolsets that the frontmatter declares and the skill does not have."""
    extensions = parsed.manifest.extensions if parsed.manifest is not None else Extensions()
    if not (extensions.scripts or extensions.toolsets):
        return
    paths = [entry.path for entry in files.list()]
    for script in extensions.scripts:
        if not any(is_file_of(script, path) for path in paths):
            yield problem("SK308", f"scripts: {script!r} is not in the skill", line=parsed.document.line_of("scripts"),
                          hint="add the file, or correct the path")  # fmt: skip
    for toolset in extensions.toolsets:
        other = toolset_problem(toolset, paths)
        if other:
            yield problem("SK309", f"toolsets: {other}", line=parsed.document.line_of("toolsets"),
                          hint=f"write {toolset.module}.py with {toolset.name} in it")  # fmt: skip


def _check_compat(files: Files, folder: str) -> Report:
    # Imported here: it imports PyYAML, and is used only on request.
    from .compat import check_compat

    for name in (SKILL_FILE, SKILL_FILE.lower()):
        try:
            return check_compat(files.read(name, limit=MAX_SKILL_FILE_BYTES * 16), folder=folder)
        except NotFoundError:
            continue
        except OSError as error:
            return Report((problem("SK002", str(error)),))
    return Report((problem("SK001", "SKILL.md is missing"),))


def _parse(files: Files, folder: str | None, verdict: Verdict) -> ParseResult:
    # The standard sets no limit, so the strict verdict reads larger files than the loader does.
    limit = MAX_SKILL_FILE_BYTES if verdict is Verdict.LENIENT else MAX_SKILL_FILE_BYTES * 16
    try:
        data = files.read(SKILL_FILE, limit=limit)
    except (NotFoundError, OSError) as error:
        return _unreadable(files.list(), error)
    parsed = parse(data, folder=folder, verdict=verdict)
    if len(data) <= MAX_SKILL_FILE_BYTES:
        return parsed
    large = problem("SK016", f"{SKILL_FILE} is larger than {MAX_SKILL_FILE_BYTES:,} bytes")
    return replace(parsed, report=parsed.report + Report((large,)))


_REFUSALS = {"resource-size": "SK016", "link-leaves-skill": "SK017", "not-a-file": "SK002"}


def _unreadable(entries: Iterable[FileEntry], error: Exception) -> ParseResult:
    other = next((entry.path for entry in entries if entry.path.lower() in ("skill.md", "skills.md")), None)
    if isinstance(error, RefusedError):
        found = problem(_REFUSALS.get(error.rule, "SK015"), str(error), hint=error.hint)
    elif not isinstance(error, NotFoundError):
        found = problem("SK015", f"{SKILL_FILE} cannot be read: {getattr(error, 'strerror', None) or error}")
    elif other and other != SKILL_FILE:
        found = problem("SK013", f"the file is named {other}, not {SKILL_FILE}", file=other, hint=f"rename it to {SKILL_FILE}")
    else:
        found = problem("SK001", f"{SKILL_FILE} is missing", hint="every skill folder needs one; see `metier skill create`")
    # A file that cannot be read is an error under every verdict.
    found = replace(found, severity=Severity.ERROR)
    return ParseResult(manifest=None, report=Report((found,)), document=Document(has_frontmatter=False))
