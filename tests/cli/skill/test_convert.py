"""`metier skill convert`: a preview, a question, and a skill that is valid."""

from __future__ import annotations

from cli.shell import Shell

RULE = "---\ndescription: TypeScript style\nglobs: *.ts\n---\n\n# Style\n\nPrefer const.\n"


def test_without_a_terminal_it_shows_a_diff_and_writes_nothing(shell: Shell) -> None:
    (shell.project / "style.mdc").write_text(RULE)
    ran = shell("skill", "convert", "style.mdc").ok()
    assert "\n-globs: *.ts\n" in ran.out
    assert "\n+name: style\n" in ran.out
    assert ran.out.endswith("Nothing was written; add --yes to write\n")
    assert not (shell.skills / "style").exists()
    assert shell("skill", "convert", "style.mdc", "--yes").ok().out.startswith("Wrote ~/.metier/skills/style from style.mdc")
    assert shell("skill", "validate", "style").code == 0
    shell("skill", "convert", "style.mdc", "--yes").failed(6, "already exists")


def test_a_project_is_searched_in_the_usual_places(shell: Shell) -> None:
    for path in (".cursor/rules/a.mdc", ".claude/commands/b.md", ".github/prompts/c.prompt.md", "docs/d.md"):
        (shell.project / path).parent.mkdir(parents=True, exist_ok=True)
        (shell.project / path).write_text("Do it.\n")
    data = shell("skill", "convert", ".", "--dry-run", "--json").data
    assert [row["name"] for row in data["skills"]] == ["a", "b", "c"]
    assert data["written"] is False


def test_wrong_things_are_refused_in_a_sentence(shell: Shell) -> None:
    shell("skill", "convert", "gone.mdc").failed(3, "gone.mdc does not exist")
    (shell.project / "x.txt").write_text("x")
    shell("skill", "convert", "x.txt").failed(2, "no rule, command, prompt")
    for folder in ("one", "two"):
        (shell.project / folder).mkdir()
        (shell.project / folder / "a.md").write_text("Do it.\n")
    shell("skill", "convert", "one", "two", "--yes").failed(6, "would become the skill 'a'")


def test_on_a_terminal_it_asks_first(shell: Shell) -> None:
    (shell.project / "style.mdc").write_text(RULE)
    with shell.terminal("skill", "convert", "style.mdc") as keys:
        keys.expect("Write 1 skill")
        keys.send("n")
        keys.expect("Nothing was written")
    assert not (shell.skills / "style").exists()
