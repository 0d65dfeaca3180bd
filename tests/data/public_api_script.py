"""A script that uses only the public API. It is type-checked against the wheel, as a user's own would be."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import metier
from metier import App, MetierError, ScanVerdict, Selector, Session


def describe(folder: Path) -> list[str]:
    catalog: metier.Catalog = metier.discover(folder)
    lines = [f"{entry.name}: {entry.description} ({entry.state})" for entry in catalog]
    skill: metier.Skill = metier.load_folder(folder / "pdf")
    manifest: metier.Manifest = skill.manifest
    report: metier.Report = metier.check(skill.files)
    lines += [f"{problem.where}: {problem.code} {problem.message}" for problem in report]
    parsed = metier.parse((folder / "pdf" / "SKILL.md").read_bytes())
    return [*lines, manifest.description, str(len(parsed.report.errors))]


def choose(folder: Path, request: str) -> str:
    catalog = metier.discover(folder)
    selector: Selector = metier.open_selector(catalog)
    selection: metier.Selection = selector.select(request, 3)
    disclosure: metier.Disclosure = metier.render_prompt(catalog, request)
    names: list[str] = [match.name for match in selection.selected]
    return f"{', '.join(names)}\n{disclosure.text}"


async def talk(folder: Path) -> str:
    session = Session(metier.discover(folder))
    activation: metier.Activation = session.activate("pdf")
    tools: tuple[metier.Tool, ...] = session.tools()
    reply = await tools[0].call({"query": "fill in a form"})
    return activation.text + reply.text


def manage(refs: list[str]) -> None:
    installed = metier.install_skills(*refs, take_all=True, dry_run=True)
    print(installed.changed, [result.notes for result in metier.update_skills()])
    metier.remove_skills("pdf", project=True)
    if metier.scan_skill("pdf").verdict is ScanVerdict.PASS:
        print(metier.publish_skill("pdf", public=True, dry_run=True).receipt.version)
    for found in metier.search_skills("forms", limit=5).skills:
        print(found.name)
    print([match.name for match in metier.select("fill in a form", App().catalog).selected])
    app = App(folder=Path.cwd(), environment={"HOME": "/home/me"})
    print(app.catalog.names, app.settings["skills.max_active"].value)


def main() -> int:
    try:
        print(describe(Path("skills")), choose(Path("skills"), "charts"), asyncio.run(talk(Path("skills"))))
        manage(sys.argv[1:])
    except metier.SkillNotFoundError as error:
        print(error, error.hint)
        return 1
    except MetierError as error:
        print(error.code, error)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
