"""`metier skill install`: installs skills from refs, or restores the lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from click import argument, option

from metier.app import App
from metier.cli.completion import target_names
from metier.cli.core.dispatch import command
from metier.cli.core.questions import can_ask
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, plural, truncate
from metier.errors import UsageError
from metier.install import Access, Fetched, InstallMode, InstallOptions, InstallResult, ScopeLevel, SkillStore, list_source
from metier.spec import is_name
from metier.values import replace

from .install_common import (
    access_of,
    access_options,
    capability_lines,
    chosen_edits,
    chosen_scope,
    entry_row,
    fetch_progress,
    prepare_after,
    project_phrase,
    result_row,
    saved_lines,
    scope_options,
    step_lines,
    takeover_notes,
    with_packages,
)
from .install_prompts import InstallQuestions, wider_prompt, with_prompts

__all__ = ["ACCESS_OPTIONS", "install", "install_refs", "install_result"]

ACCESS_OPTIONS = ("offline", "headers", "insecure_http", "allow_file", "allow_old_index", "full_depth", "no_cooldown")


@command("skill", "install")
@argument("refs", nargs=-1, metavar="[REF]...")
@option("--list", "listed", is_flag=True, help="Only list the skills of the source.")
@option("--skill", "skills", multiple=True, help="Install this skill of several; repeatable, or separated by spaces.")
@option("--all", "take_all", is_flag=True, help="Install every skill of the source.")
@option("--full-depth", is_flag=True, help="Search the whole source for skills, also inside other skills.")
@option("--name", help="Install the skill under this name.")
@option("--side-by-side", is_flag=True, help="Keep the installed version too; ask for one as NAME@VERSION.")
@option("--ref", "git_ref", help="Branch, tag or commit, if REF has none.")
@option(
    "--target",
    "targets",
    multiple=True,
    shell_complete=target_names,
    help="Agents that should see it: claude-code,codex,…, all-detected, or none for metier alone.",
)
@option("--copy", is_flag=True, help="Give each agent a copy instead of a link.")
@option("--force", is_flag=True, help="Replace other skills of the name, and edited ones.")
@option("--keep", is_flag=True, help="Replace edited skills, and keep the edited version as NAME.orig.")
@option("--unsafe", is_flag=True, help="Install without a scan.")
@option("--no-deps", is_flag=True, help="Do not install dependencies.")
@option("--frozen", is_flag=True, help="Fail if anything differs from the lock.")
@option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@option("-y", "--yes", is_flag=True, help="Ask no questions; of several skills install all.")
@scope_options
@access_options
def install(app: App, *, refs: tuple[str, ...], project: bool, user: bool, listed: bool, **options: Any) -> Result:
    """Install skills, pinned and verified, from anywhere.

    REF is a name, a folder, an archive, `owner/repo`, a URL or `r9s:NAME`; `--list` shows what a source has. `NAME@VERSION` is
    another version of an installed skill; `--side-by-side` keeps both. Without REF, the lock is restored (the project's if
    there is one, else your own), and the plugins of your configuration (`skills.plugins`) are installed.

    \b
    name, name@version, ./folder, file.zip, file.tar.gz, file.skill
    r9s:name[@version or range], clawhub:[@owner/]name[@version or range]
    owner/repo[@skill], owner/repo/path[#ref]
    github:owner/repo[/path][@ref], gitlab:group/repo[//path][@ref]
    https://github.com/owner/repo/tree/branch/path
    git+https://host/repo.git[#ref], git@host:owner/repo.git
    https://host/skill.zip, https://host/SKILL.md
    oci://host/repository[:tag or @sha256:digest]
    https://host (with /.well-known/agent-skills)

    On a terminal it asks which skills and agents, and shows its plan before it starts. Elsewhere, and with --yes, a new skill
    is for the agents of the setting `install.targets`, or else for those on this machine.
    """
    # Any: the options above.
    scope = chosen_scope(project=project, user=user)
    skills = tuple(word for text in options["skills"] for word in text.replace(",", " ").split())
    if skills and refs:
        # After --skill, a bare name is one more skill.
        skills += tuple(ref for ref in refs if is_name(ref))
        refs = tuple(ref for ref in refs if not is_name(ref))
        if not refs:
            raise UsageError("--skill needs a source", hint="write: metier skill install owner/repo --skill NAME")
    access = access_of(app, **{key: options[key] for key in ACCESS_OPTIONS})
    if listed and refs:
        with fetch_progress() as progress:
            return _listing(list_source(refs, access, progress=progress))
    with_questions = bool(refs) and not options["yes"] and not options["dry_run"] and can_ask()
    return install_refs(
        app, refs, _install_options(skills, options), access=access, scope=scope, with_questions=with_questions,
        can_ask_packages=not options["yes"],
    )  # fmt: skip


def install_refs(
    app: App, refs: tuple[str, ...], options: InstallOptions, *, access: Access, scope: bool | None, with_questions: bool,
    can_ask_packages: bool = True,
) -> Result:  # fmt: skip
    """Installs skills, or restores the lock. `scope` is True for the project, False for the user, None for the default."""
    questions = InstallQuestions(app=app) if with_questions else None
    if questions:
        scope = questions.ask_scope() if scope is None else scope
        options = questions.add_to(options, ScopeLevel.PROJECT if scope else ScopeLevel.USER)
    with fetch_progress() as progress:
        result = app.install(*refs, project=scope, options=options, access=access, progress=progress)
    if questions and questions.chosen_targets is not None and result.done:
        app.installation.remember_targets(questions.chosen_targets)
    prepared, notes = prepare_after(app, result, offline=access.offline, can_ask=can_ask_packages)
    shown = install_result(
        app, replace(result, notes=(*result.notes, *notes)), with_steps=not (questions and questions.is_plan_shown)
    )
    return with_packages(shown, prepared)


def _install_options(skills: tuple[str, ...], options: dict[str, Any]) -> InstallOptions:  # Any: what click parsed
    chosen = InstallOptions(
        skills=skills, take_all=options["take_all"] or options["yes"], name=options["name"], git_ref=options["git_ref"],
        targets=options["targets"], mode=InstallMode.COPY if options["copy"] else InstallMode.LINK,
        edits=chosen_edits(force=options["force"], keep=options["keep"]), force=options["force"], unsafe=options["unsafe"],
        side_by_side=options["side_by_side"],
        dependencies=not options["no_deps"], frozen=options["frozen"], dry_run=options["dry_run"],
    )  # fmt: skip
    chosen = replace(chosen, accept_wider=wider_prompt(yes=options["yes"]))
    return chosen if options["yes"] else with_prompts(chosen)


def _listing(sources: Sequence[tuple[str, Fetched]]) -> Result:
    fields = ("name", "path", "description", "bundle", "bundle_title", "bundle_version", "problem")
    rows = [
        {"ref": ref, **{field: getattr(one, field) for field in fields}} for ref, source in sources for one in source.offered
    ]
    elsewhere = [ref for _, source in sources for ref in source.elsewhere]

    def lines(terminal: Terminal) -> Iterator[str]:
        width = max((len(str(row["name"])) for row in rows), default=0)
        for row in rows:
            about = f"! {row['problem']}" if row["problem"] else str(row["description"])
            space = terminal.width - width - 2 if terminal.width else None
            yield f"{terminal.paint(pad(one_line(str(row['name'])), width), 'bold')}  {truncate(one_line(about), space)}"
        for plugin in dict.fromkeys(_plugin_title(row) for row in rows if row["bundle"]):
            yield f"From the plugin {one_line(plugin)}"
        for ref in elsewhere:
            yield f"In another repository: {one_line(ref)}"
        yield terminal.paint(f"{plural(len(rows), 'skill')}; install with --skill NAME or --all", "dim")

    notes = tuple(dict.fromkeys(one_line(warning) for _, source in sources for warning in source.warnings))
    return Result(data={"skills": rows, "elsewhere": elsewhere}, lines=lines, notes=notes, pages=True)


def _plugin_title(row: dict[str, Any]) -> str:  # Any: a row of the listing
    return " ".join(filter(None, (row["bundle_title"] or row["bundle"], row["bundle_version"])))


def install_result(app: App, result: InstallResult, *, with_steps: bool) -> Result:
    store, where = SkillStore(result.scope), project_phrase(app, result.scope)
    rows = [entry_row(result.lock[name], store) for name in result.names]
    data = {
        "scope": result.scope.level,
        "lock": result.scope.lock_file,
        "done": result.done,
        "skills": rows,
        **result_row(result),
        "hides": [{"name": one.name, "source": one.source, "folder": one.folder} for one in result.hides],
        "signed_by": {name: list(signers) for name, signers in result.signed_by.items()},
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        if with_steps:
            yield from step_lines(result, terminal, app.paths.user_home)
            yield from capability_lines(result, terminal)
        yield from saved_lines(result, app.paths.user_home)
        if result.declined:
            yield terminal.paint(f"Nothing was installed{where}", "dim")
            return
        if not result.done:
            yield terminal.paint(f"Dry run: nothing was changed{where}", "dim")
            return
        changed = len(result.changed)
        for name, signers in result.signed_by.items():
            yield f"{one_line(name)} is signed by {one_line(', '.join(signers))}"
        agents = sorted({target for name in result.changed for target in result.lock[name].targets})
        seen = f" for {', '.join(agents)}" if agents else ""
        yield terminal.paint(
            f"Installed {plural(changed, 'skill')}{where}{seen}; {len(rows) - changed} already up to date", "dim"
        )

    # A plan that the user confirmed has said it already.
    notes = (*map(one_line, result.notes), *(takeover_notes(app, result) if with_steps else ()))
    return Result(data=data, lines=lines, notes=notes, status=6 if result.has_conflicts else 0)
