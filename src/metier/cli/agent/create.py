"""`metier agent`: agents that are kept, each change a version."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from metier.agents import Agent, AgentVersion
from metier.agents.agent import diff_versions, parse_version, rename_agent, render_version
from metier.app import App
from metier.catalog import State
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, truncate
from metier.cli.skill.create import edit_file
from metier.errors import ConflictError, MetierError, NotFoundError, UsageError
from metier.sources import replace_text
from metier.spec import is_name
from metier.values import replace

__all__ = [
    "add_skill", "agent_names", "create", "delete", "diff", "edit", "export", "history", "import_agent", "list_agents",
    "list_skills", "pairs", "remove_skill", "rollback", "show",
]  # fmt: skip

_LARGEST = 1 << 20
Edit = Callable[[Agent], Agent]


def agent_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    try:
        return [name for name in App().conversations.agents.names() if name.startswith(incomplete)]
    except (MetierError, OSError):
        return []


_name = click.argument("name", shell_complete=agent_names)


def _fields(function: Callable[..., Result]) -> Callable[..., Result]:
    """The options that say what an agent is."""
    for option in reversed((
        click.option("--model", help="Such as openai:gpt-5; without, the model of your settings."),
        click.option("--provider", help="Whose model, if --model does not say: openai, anthropic, ollama, …"),
        click.option("--base-url", help="An OpenAI-compatible server to ask."),
        click.option("--key-variable", metavar="NAME", help="The environment variable that holds the key."),
        click.option("--skills", metavar="REF,…", help="The only skills it has: names, or refs to install from."),
        click.option("--instructions", metavar="FILE", help="What it is told; `-` reads standard input."),
        click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A {{NAME}} of the instructions."),
    )):  # fmt: skip
        function = option(function)
    return function


@command("agent", "create")
@_name
@_fields
def create(app: App, *, name: str, **options: Any) -> Result:
    """Make an agent: a model, instructions, and the skills it may use.

    Without --skills it has every skill there is. A ref of a skill that is not on this machine yet is installed.
    """
    # Any: the options above, read in _edited.
    agent = _edited(app, options)(Agent(name=name))
    return _written(app.conversations.agents.create(agent), "created")


@command("agent", "list")
def list_agents(app: App) -> Result:
    """List the agents that there are."""
    found = [app.conversations.agents.get(name) for name in app.conversations.agents.names()]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not found:
            yield "no agent yet; make one with `metier agent create NAME --model MODEL`"
        widest = max((len(version.agent.name) for version in found), default=0)
        for version in found:
            agent = version.agent
            skills = ", ".join(agent.skills) or "every skill"
            text = f"v{version.number}  {agent.model or 'the model of the settings'}  {skills}"
            yield f"{terminal.paint(pad(agent.name, widest), 'bold')}  {truncate(one_line(text), terminal.width)}"

    return Result(data={"agents": [_row(version) for version in found]}, lines=lines)


@command("agent", "show")
@_name
@click.option("--version", "number", type=click.IntRange(min=1), help="As it was then.")
def show(app: App, *, name: str, number: int | None) -> Result:
    """Show an agent as it is written."""
    version = app.conversations.agents.get(name, number)
    notes = [*_unusable(app, version.agent), *_unused(version.agent)]
    return Result(data=_row(version), lines=lambda _: (), text=render_version(version), notes=tuple(notes))


@command("agent", "edit")
@_name
@_fields
def edit(app: App, *, name: str, **options: Any) -> Result:
    """Change an agent, by options or, without any, in your editor. Every change is a new version.

    --var NAME= takes a variable away again; --skills '' gives every skill back.
    """
    # Any: the options above, read in _edited.
    before = app.conversations.agents.get(name)
    if any(value not in (None, ()) for value in options.values()):
        names = ", ".join(key.replace("_", " ") for key, value in options.items() if value not in (None, ()))
        version = app.conversations.agents.change(name, _edited(app, options), change=f"changed {names}")
    else:
        version = _in_editor(app, before)
    return _written(version, "changed" if version.number != before.number else "left as it was:")


@command("agent", "delete")
@_name
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(app: App, *, name: str, yes: bool) -> Result:
    """Delete an agent and its whole history."""
    version = app.conversations.agents.get(name)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                f"{name} would be deleted with {version.number} versions", hint="say --yes to do it without asking"
            )
        click.confirm(f"delete {name} with its {version.number} versions?", abort=True, err=True)
    app.conversations.agents.delete(name)
    return Result(data={"deleted": name}, lines=lambda _: (f"deleted {name}",))


@command("agent", "history")
@_name
def history(app: App, *, name: str) -> Result:
    """List every version of an agent, the newest first."""
    versions = app.conversations.agents.history(name)
    rows = [{"version": each.number, "created": each.created.isoformat(), "change": each.change} for each in versions]

    def lines(terminal: Terminal) -> Iterator[str]:
        for each in versions:
            number = terminal.paint(f"v{each.number}", "bold")
            yield f"{number}  {each.created.astimezone():%Y-%m-%d %H:%M}  {one_line(each.change)}"

    return Result(data={"name": name, "versions": rows}, lines=lines, pages=True)


@command("agent", "diff")
@_name
@click.argument("first", type=click.IntRange(min=1), metavar="V1")
@click.argument("second", type=click.IntRange(min=1), metavar="[V2]", required=False)
def diff(app: App, *, name: str, first: int, second: int | None) -> Result:
    """Show what changed between two versions, or between one and now."""
    before, after = app.conversations.agents.get(name, first), app.conversations.agents.get(name, second)
    names, text = diff_versions(before, after)
    colours = {"+": "green", "-": "red", "@": "cyan"}

    def lines(terminal: Terminal) -> Iterator[str]:
        if not text:
            yield "no difference"
        for line in text:
            colour = colours.get(line[:1])
            yield terminal.paint(line, colour) if colour else line

    data = {"name": name, "from": before.number, "to": after.number, "changed": names, "diff": text}
    return Result(data=data, lines=lines, pages=True)


@command("agent", "rollback")
@_name
@click.argument("number", type=click.IntRange(min=1), metavar="VERSION")
def rollback(app: App, *, name: str, number: int) -> Result:
    """Go back to an earlier version, as a new one: nothing that was is lost."""
    return _written(app.conversations.agents.rollback(name, number), f"rolled back to v{number}:")


@command("agent", "export")
@_name
@click.option("-o", "--output", metavar="FILE", help="Write it there; without, to standard output.")
@click.option("--history", "whole", is_flag=True, help="With every version it ever had.")
def export(app: App, *, name: str, output: str | None, whole: bool) -> Result:
    """Write an agent down as one file, for another machine. Keys are never in it: an agent knows only a key's variable."""
    versions = app.conversations.agents.history(name)[::-1] if whole else (app.conversations.agents.get(name),)
    text = json.dumps({"metier-agent": 1, "versions": [render_version(each) for each in versions]}, indent=2) + "\n"
    if not whole:
        text = render_version(versions[0])
    if output:
        file = os.path.join(app.folder, output)
        if os.path.lexists(file):
            raise ConflictError(f"{output!r} exists already", hint="choose another name, or delete it first")
        replace_text(file, text)
        line = f"exported {name} to {one_line(output)}"
        return Result(data={"name": name, "file": file, "versions": len(versions)}, lines=lambda _: (line,))
    return Result(data={"name": name, "versions": len(versions), "text": text}, lines=lambda _: (), text=text)


@command("agent", "import")
@click.argument("file")
@click.option("--name", help="Under another name.")
@click.option("--force", is_flag=True, help="On top of an agent of that name, as its next version.")
def import_agent(app: App, *, file: str, name: str | None, force: bool) -> Result:
    """Take in an agent that was exported; `-` reads standard input."""
    versions = _read_export(_text_of(app, file), file)
    if name:
        versions = [rename_agent(version, name) for version in versions]
    version = app.conversations.agents.take(versions, replacing=force)
    return _written(version, "imported", notes=_unusable(app, version.agent))


@command("agent skill", "add")
@_name
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
def add_skill(app: App, *, name: str, refs: tuple[str, ...]) -> Result:
    """Give an agent more skills. What is not on this machine yet is installed; what nobody knows is an error."""
    app.conversations.agents.get(name)
    wanted = _resolved(app, refs)
    version = app.conversations.agents.change(
        name,
        lambda agent: replace(agent, skills=tuple(dict.fromkeys((*agent.skills, *wanted)))),
        change=f"added {', '.join(refs)}",
    )
    return _written(version, f"added {', '.join(refs)} to")


@command("agent skill", "remove")
@_name
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
def remove_skill(app: App, *, name: str, refs: tuple[str, ...]) -> Result:
    """Take skills away from an agent. They stay installed."""

    def without(agent: Agent) -> Agent:
        unknown = [ref for ref in refs if ref not in agent.skills]
        if unknown:
            there = ", ".join(agent.skills) or "it has none of its own"
            raise NotFoundError(f"{name} does not have {unknown[0]!r}", hint=f"its skills: {there}")
        return replace(agent, skills=tuple(ref for ref in agent.skills if ref not in refs))

    version = app.conversations.agents.change(name, without, change=f"removed {', '.join(refs)}")
    notes = ("it has no skills of its own any more, so it may use every skill",) if not version.agent.skills else ()
    return _written(version, f"removed {', '.join(refs)} from", notes=notes)


@command("agent skill", "list")
@_name
def list_skills(app: App, *, name: str) -> Result:
    """List an agent's skills, and whether each can be used here."""
    rows = [_skill_row(app, ref) for ref in app.conversations.agents.get(name).agent.skills]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not rows:
            yield "every skill that there is"
        widest = max((cell_width(row["ref"]) for row in rows), default=0)
        for row in rows:
            sign = terminal.paint("✓", "green") if row["usable"] else terminal.paint("✗", "red")
            why = "" if row["usable"] else one_line(row["reason"])
            names = "" if row["names"] in ([row["ref"]], []) else f"-> {', '.join(row['names'])} "
            yield f"{sign} {pad(one_line(row['ref']), widest)}  {names}{why}".rstrip()

    return Result(data={"name": name, "skills": rows}, lines=lines)


def pairs(words: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, or NAME alone for one that has no value yet."""
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _edited(app: App, options: dict[str, Any]) -> Edit:
    """What these options make of an agent. Whatever can go wrong with them goes wrong here, before anything is written."""
    given: dict[str, Any] = {name: options[name] for name in ("base_url", "key_variable") if options[name] is not None}
    if options["model"] is not None:
        given["model"] = _model(options["model"], options["provider"])
    elif options["provider"]:
        raise UsageError("--provider says whose model, and --model which", hint=f"--model {options['provider']}:NAME says both")
    if options["skills"] is not None:
        given["skills"] = _resolved(app, options["skills"].replace(",", " ").split())
    if options["instructions"] is not None:
        given["instructions"] = _text_of(app, options["instructions"])
    more = pairs(options["variables"])

    def apply(agent: Agent) -> Agent:
        merged = {**agent.variables, **more}
        used = given.get("instructions", agent.instructions)
        dropped = {word.removesuffix("=") for word in options["variables"] if word.endswith("=")}
        variables = {name: value for name, value in merged.items() if name not in dropped or f"{{{{{name}}}}}" in used}
        return replace(agent, **given, variables=variables)

    return apply


def _model(model: str, provider: str | None) -> str:
    if not provider or not model:
        return model
    whose, colon, _ = model.partition(":")
    if colon and whose != provider:
        raise UsageError(f"--model says {whose} and --provider {provider}", hint="give one of them")
    return model if colon else f"{provider}:{model}"


def _resolved(app: App, refs: Sequence[str]) -> tuple[str, ...]:
    """The refs, once each stands for a skill on this machine. Those that can be installed are."""
    missing = []
    for ref in refs:
        try:
            app.conversations.resolve(ref)
        except MetierError:
            if is_name(ref):
                raise
            missing.append(ref)
    if missing:
        # Imported here: whoever names local skills must not pay for what fetches.
        from metier.cli.skill.install import bring

        bring(app, missing)
        fresh = App(environment=app.environment, folder=app.folder, flags=app.flags)
        for ref in missing:
            fresh.conversations.resolve(ref)
    return tuple(dict.fromkeys(refs))


def _text_of(app: App, file: str) -> str:
    if file == "-":
        return sys.stdin.read(_LARGEST)
    path = os.path.join(app.folder, file)
    try:
        with open(path, "rb") as stream:
            return stream.read(_LARGEST).decode()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {file!r}", hint="check its name; `-` reads standard input") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file!r} is not UTF-8 text", hint="save it as UTF-8") from None


def _read_export(text: str, file: str) -> list[AgentVersion]:
    if not text.lstrip().startswith("{"):
        return [parse_version(text, file=file)]
    try:
        document = json.loads(text)
        written = document["versions"]
        if document["metier-agent"] != 1 or not written:
            raise ValueError("another kind of file")
        return [parse_version(str(each), file=file) for each in written]
    except (ValueError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        if isinstance(error, MetierError):
            raise
        raise UsageError(f"{file!r} is not an exported agent", hint="make one with `metier agent export`") from error


def _in_editor(app: App, before: AgentVersion) -> AgentVersion:
    if not (sys.stdin.isatty() or app.environment.get("EDITOR") or app.environment.get("VISUAL")):
        raise UsageError("nothing to change is said", hint="give --model, --skills, --instructions or --var")
    draft = app.conversations.agents.folder / before.agent.name / ".draft.toml"
    replace_text(str(draft), render_version(before))
    edit_file(str(draft), app.environment)
    edited = parse_version(draft.read_text(encoding="utf-8"), file=str(draft)).agent
    _resolved(app, [ref for ref in edited.skills if ref not in before.agent.skills])
    # A draft that could not be saved stays, so that nobody's work is lost.
    version = app.conversations.agents.save(before, replace(edited, name=before.agent.name), change="edited")
    draft.unlink()
    return version


def _written(version: AgentVersion, what: str, *, notes: Sequence[str] = ()) -> Result:
    agent = version.agent
    line = (
        f"{what} {agent.name} (v{version.number})"
        if not what.endswith(":")
        else f"{what} {agent.name} is now v{version.number}"
    )
    return Result(data=_row(version), lines=lambda _: (one_line(line),), notes=(*notes, *_unused(agent)))


def _row(version: AgentVersion) -> dict[str, Any]:
    agent = asdict(version.agent)
    return {**agent, "skills": list(agent["skills"]), "version": version.number, "created": version.created.isoformat(),
            "change": version.change}  # fmt: skip


def _skill_row(app: App, ref: str) -> dict[str, Any]:
    try:
        names = app.conversations.resolve(ref)
    except MetierError as error:
        return {"ref": ref, "names": [], "usable": False, "reason": f"{error}; {error.hint}"}
    entries = [app.catalog[name] for name in names]
    off = next((entry for entry in entries if entry.state is not State.ENABLED), None)
    return {"ref": ref, "names": list(names), "usable": off is None, "reason": f"{off.state}: {off.reason}" if off else ""}


def _unusable(app: App, agent: Agent) -> list[str]:
    rows = (_skill_row(app, ref) for ref in agent.skills)
    return [f"its skill {row['ref']!r} cannot be used here: {row['reason']}" for row in rows if not row["usable"]]


def _unused(agent: Agent) -> list[str]:
    return [f"the instructions do not use the variable {name!r}" for name in agent.unused_variables]
