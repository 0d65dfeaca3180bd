"""The packages of scripts in other commands: preparing them after an installation or update, and the lines about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metier.app import App, PreparedPackages
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.cli.policy import ask_on_terminal
from metier.errors import MetierError, RefusedError
from metier.install import InstallResult, SkillPackageStatus, SkillStore
from metier.runtime import ApprovalAnswer, Question

__all__ = ["approve_packages", "package_facts", "package_rows", "prepare_installed", "prepared_lines"]

_MOST_NAMED = 5


def approve_packages(question: Question) -> ApprovalAnswer:
    """Asks about the packages of a script that a command runs: the command itself is not their approval."""
    ask = ask_on_terminal()
    if ask is None:
        raise RefusedError(
            "there is no terminal to ask on", rule="policy.packages", hint=f"run `metier skill prepare {question.skill}` first"
        )
    answer = ask(question)
    return answer if isinstance(answer, ApprovalAnswer) else ApprovalAnswer.NO


def prepare_installed(
    app: App, store: SkillStore, result: InstallResult, *, offline: bool, can_ask: bool
) -> tuple[list[tuple[str, PreparedPackages]], list[str]]:
    """Prepares the packages of installed skills as far as the user allows it. Returns them, and notes about the rest."""
    prepared: list[tuple[str, PreparedPackages]] = []
    notes: list[str] = []
    permissions = app.sessions.permissions(ask_on_terminal() if can_ask else None)
    for name in result.names or result.changed:
        entry = result.lock.get(name)
        if entry is None:
            continue
        try:
            found = app.packages.prepare_skill(name, store.folder_of(entry), permissions, offline=offline)
            prepared += [(name, one) for one in found if one.is_new]
        except RefusedError as error:
            notes.append(_note(app, name, store.folder_of(entry), error))
        except MetierError as error:
            notes.append(f"{name}: {error}; {error.hint}")
    return prepared, notes


def _note(app: App, name: str, folder: str, error: RefusedError) -> str:
    if error.rule != "policy.packages":
        return f"{name}: {error}; {error.hint}"
    wanted = [each for one in app.packages.skills.declared(folder) for each in one.requirements]
    more = f" and {len(wanted) - _MOST_NAMED} more" if len(wanted) > _MOST_NAMED else ""
    return f"{name}: its scripts need packages ({', '.join(wanted[:_MOST_NAMED])}{more}); run `metier skill prepare {name}`"


def prepared_lines(name: str, one: PreparedPackages, terminal: Terminal) -> Iterator[str]:
    count = plural(len(one.environment.packages), "package")
    verb = "Prepared" if one.is_new else "Ready:"
    python = f" for Python {one.locked.python}" if one.locked.python else ""
    yield one_line(f"{verb} {count}{python}: {name} {one.declared.path}")
    for change in one.changes:
        yield f"  {terminal.paint(one_line(change), 'dim')}"


def package_rows(statuses: Sequence[SkillPackageStatus]) -> list[dict[str, Any]]:
    """Returns the JSON of a skill's packages."""
    rows = []
    for one in statuses:
        built = {each.name: each.license for each in one.environment.packages} if one.environment else {}
        packages = [(each.name, each.version) for each in (one.locked.packages if one.locked else ())]
        rows.append({
            "path": one.declared.path, "kind": one.declared.kind, "requires": list(one.declared.requirements),
            "python": one.locked.python if one.locked else "", "digest": one.locked.digest if one.locked else "",
            "prepared": one.environment is not None, "problem": one.problem,
            "packages": [{"name": name, "version": version, "license": built.get(name, "")} for name, version in packages],
        })  # fmt: skip
    return rows


def package_facts(name: str, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yields label and text: each package with its licence, or what to type to prepare them."""
    for row in rows:
        python = f", Python {row['python']}" if row["python"] else ""
        if not row["path"]:
            yield "packages", row["problem"]
            continue
        if not row["packages"]:
            yield "packages", f"{row['path']}: {', '.join(row['requires'])} (not locked; run `metier skill prepare {name}`)"
            continue
        state = row["problem"] or ("prepared" if row["prepared"] else f"not prepared here; run `metier skill prepare {name}`")
        yield "packages", f"{row['path']}{python}: {state}"
        for package in row["packages"]:
            yield "", f"  {package['name']} {package['version']}" + (f"  {package['license']}" if package["license"] else "")
