"""Advice: each rule with the text that earns it and the near miss that must not."""

from __future__ import annotations

import pytest

from builders import count_calls, skill_text
from metier.spec import SKILL_TEMPLATES, MemoryFiles, Problem, Report, SkillName, new_skill_files
from metier.spec.advice import advise, find_overlaps, lint

WHEN = "Fills PDF forms and lists their fields. Use when the user has a form to fill in."


def skill(
    body: str = "Open the form, then fill it in.\n", *, description: str = WHEN, more: str = "", **files: str
) -> MemoryFiles:
    """A sound skill but for what a test says. Files are given as `references__api_md="text"`."""
    contents = {"SKILL.md": f"---\nname: pdf\ndescription: {description}\n{more}---\n{body}"}
    contents |= {path.replace("__", "/").replace("_dot_", "."): text for path, text in files.items()}
    return MemoryFiles({path: text.encode() for path, text in contents.items()})


def found(files: MemoryFiles, code: str) -> list[Problem]:
    return [one for one in advise(files, folder="pdf") if one.code == code]


def codes(files: MemoryFiles) -> set[str]:
    return {one.code for one in advise(files, folder="pdf")}


def test_a_sound_skill_gets_no_advice() -> None:
    assert codes(skill()) == set()


def test_a_file_that_is_not_a_skill_gets_no_advice() -> None:
    assert not list(advise(MemoryFiles({"SKILL.md": b"# no frontmatter, /home/ann/x, npx prettier ."})))
    assert not list(advise(MemoryFiles({"README.md": b""})))
    assert not list(advise(MemoryFiles({"SKILL.md": b"---\nname: x\n---\n"})))


def test_every_problem_has_a_place_a_message_and_a_hint() -> None:
    body = (
        "- Be careful.\nSee references/gone.md.\n\n```bash\nnpx prettier .\npython scripts/gone.py\n"
        "cat /home/ann/notes.txt\n```\nYou can use pypdf, pdfplumber, or PyMuPDF.\n" + "x\n" * 500 + "word " * 5_000
    )
    report = advise(skill(body, description="I can do <b>. " + "x" * 900, assets__old_dot_txt=""), folder="pdf")
    assert {one.code for one in report} == {
        "SK201", "SK203", "SK204", "SK205", "SK206", "SK208", "SK209", "SK211", "SK212", "SK214", "SK216", "SK218", "SK219",
        "SK220",
    }  # fmt: skip
    for one in report:
        assert one.message and one.hint and one.file and one.line and one.column, one


# --- the description ---


@pytest.mark.parametrize(
    "description",
    [
        "Helps with PDFs and the forms that are in them.",
        "Expert skill for the filling of PDF forms of every kind.",
        "Automates Coassemble through its API. Always search tools first.",
    ],
)
def test_a_description_that_only_says_what_gets_advice_to_say_when(description: str) -> None:
    (problem,) = found(skill(description=description), "SK201")
    assert (problem.line, problem.column) == (3, 14)


@pytest.mark.parametrize(
    "description",
    [
        WHEN,
        "Fills PDF forms. Trigger on mentions of AcroForm or XFA files.",
        "Fills PDF forms. Invoked on request for any form.",
        "Fills PDF forms if the user asks for it, or has such a file.",
        "Must be used for every form that comes as a PDF file.",
        "填写 PDF 表单。当用户需要填写表单时使用。",
        "PDFフォームに記入します。フォームを埋めたいときに使う。",
        "PDF 양식을 작성합니다. 사용자가 양식을 채울 때 사용하세요.",
        "Rellena formularios PDF cuando el usuario tiene uno que completar.",
        "Remplit des formulaires PDF lorsque l'utilisateur en a un.",
        "Füllt PDF-Formulare aus, sobald jemand eines schickt.",
        "Заполняет формы PDF, когда пользователь просит об этом.",
        "Συμπληρώνει φόρμες PDF για τον χρήστη με λίγα λόγια.",
    ],
)
def test_many_wordings_and_languages_say_when(description: str) -> None:
    assert not found(skill(description=description), "SK201")


def test_triggers_or_a_when_to_use_key_say_when_as_well() -> None:
    what = "Fills PDF forms and lists all of their fields."
    assert found(skill(description=what), "SK201")
    assert not found(skill(description=what, more="when_to_use: on forms\n"), "SK201")
    assert not found(skill(description=what, more="triggers: [fill form]\n"), "SK201")
    assert not found(skill(description=what, more="disable-model-invocation: true\n"), "SK201")


def test_a_few_words_are_too_short_a_description_but_not_in_chinese() -> None:
    assert found(skill(description="Use for PDFs."), "SK202")
    assert not found(skill(description="填写表单，用户需要填写表单时使用"), "SK202")


def test_a_description_must_not_speak_as_a_person() -> None:
    assert found(skill(description="I can fill PDF forms for you when you have one."), "SK203")
    assert found(skill(description="Fills forms when asked. You can use this with any PDF file."), "SK203")


def test_what_a_user_may_say_is_not_the_descriptions_voice() -> None:
    assert not found(
        skill(description='\'Fills PDF forms. Use when asked "I will send a form" or "You can fill it".\''), "SK203"
    )
    assert not found(skill(description="Fills PDF forms. Use when you need a form filled in."), "SK203")


def test_angle_brackets_in_a_description_look_like_tags() -> None:
    assert found(skill(description=WHEN + " Writes <form> tags."), "SK216")
    assert not found(skill(description=WHEN, body="Write <form> tags."), "SK216")


def test_a_catalog_entry_has_a_price() -> None:
    (problem,) = found(skill(description=WHEN + " and more" * 100), "SK219")
    assert "tokens" in problem.message
    assert not found(skill(description=WHEN + " and more" * 70), "SK219")


# --- the body ---


def test_five_hundred_lines_pass_and_one_more_does_not() -> None:
    assert not found(skill("x\n" * 496), "SK204")
    (problem,) = found(skill("x\n" * 497), "SK204")
    assert problem.line == 501


def test_five_thousand_tokens_pass_and_one_more_does_not() -> None:
    assert not found(skill("abcd" * 5_000), "SK205")
    assert found(skill("abcd" * 5_000 + "e"), "SK205")


def test_headings_alone_are_an_empty_body() -> None:
    assert found(skill(""), "SK215")
    assert found(skill("\n# PDF\n\n## Usage\n<!-- later -->\n"), "SK215")
    assert not found(skill("# PDF\n\n```bash\nqpdf --check x.pdf\n```\n"), "SK215")


@pytest.mark.parametrize(
    "text",
    [
        "cat /home/ann/notes.txt",
        "open /Users/ann/skills/pdf/scripts/fill.py",
        r"type D:\work\forms\a.pdf",
        r"type C:\Users\ann\a.pdf",
        "python ~/.claude/skills/pdf/scripts/fill.py",
        "python ~/tools/fill.py",
    ],
)
def test_a_path_into_one_machine_is_found(text: str) -> None:
    (problem,) = found(skill(f"First do this: {text}\n"), "SK209")
    assert (problem.line, problem.column) == (5, 15 + text.index(" ") + 2)


@pytest.mark.parametrize(
    "text",
    [
        "/tmp/form.pdf", "/etc/hosts", "/usr/bin/python3", "2>/dev/null", "https://a.org/home/ann/x", "GET /v1/users/7/forms",
        "/home/user/form.pdf", "/Users/<name>/form.pdf", "/home/$USER/x", "~/.ssh/config", "~/.claude/skills/other/x.md",
        r"C:\Program Files\qpdf", r"C:\Users\username\x", "e.g. /Users/ann/form.pdf", "src/home/ann/x.ts", "~/Documents",
    ],
)  # fmt: skip
def test_paths_that_are_the_same_everywhere_pass(text: str) -> None:
    assert not found(skill(f"First do this: {text}\n"), "SK209")


@pytest.mark.parametrize(
    "text", ["- Be careful.", "Always follow best practices.", "* Write clean, maintainable code", "Do your best!"]
)
def test_a_platitude_is_found(text: str) -> None:
    assert found(skill(f"Fill it in.\n{text}\n"), "SK214")


@pytest.mark.parametrize(
    "text",
    [
        "- Be careful with XFA forms: pypdf drops their fields.",
        "Be thorough. Do not take a form for empty because its first page is.",
        "## Follow best practices",
        "1. **Handle errors gracefully**",
        "Follow the best practices in references/style.md",
    ],
)
def test_advice_with_something_in_it_passes(text: str) -> None:
    assert not found(skill(f"Fill it in.\n{text}\n"), "SK214")


@pytest.mark.parametrize(
    "text",
    ["You can use pypdf, pdfplumber, or PyMuPDF.", "Pick one of the following:\n- pypdf\n- pdfplumber\n- PyMuPDF"],
)
def test_a_menu_without_a_default_is_found(text: str) -> None:
    assert found(skill(text + "\n"), "SK220")


@pytest.mark.parametrize(
    "text",
    [
        "You can use pypdf, pdfplumber, or PyMuPDF; pypdf is the default.",
        "You can use pypdf or pdfplumber.",
        "You can use pypdf, pdfplumber, or PyMuPDF.\nPrefer pypdf.",
        "Pick one of the following:\n- pypdf for forms\n- pdfplumber for tables\n- PyMuPDF for pictures",
        "Ask the user to pick one of the following:\n- red\n- green\n- blue",
    ],
)
def test_a_menu_with_a_default_or_conditions_passes(text: str) -> None:
    assert not found(skill(text + "\n"), "SK220")


# --- files ---


@pytest.mark.parametrize(
    "text",
    [
        "Read `references/api.md` when a call fails.",
        "Read references/api.md when a call fails.",
        "When a call fails, see [the list](docs/api.md#errors).",
        "When a call fails, read ${CLAUDE_SKILL_DIR}/assets/api.md first.",
        "[api]: docs/api.md",
    ],
)
def test_a_reference_to_a_file_that_is_not_there_is_broken(text: str) -> None:
    (problem,) = found(skill(text + "\n"), "SK206")
    assert "api.md" in problem.message
    assert problem.line == 5


@pytest.mark.parametrize(
    "text",
    [
        "See [site](https://a.org/x.md), [below](#x), [mail](mailto:a@b.org) and [text](url).",
        "Read `references/<topic>.md`, `references/{topic}.md`, `references/*.md` or `references/xxx.md`.",
        "Look at `src/references/api.md` and `other-skill/references/api.md`.",
        "Keep detail apart, e.g. in `references/api.md`.",
        "Create `references/api.md` with what you found.",
        "Write links as `[text](docs/api.md)`.",
        "See [the sibling](../other/SKILL.md).",
        "Run `scripts/deploy.sh` of the project.",
        "```markdown\nSee [api](docs/api.md) and references/api.md.\n```",
        "Read references/there.md when a call fails.",
    ],
)
def test_what_only_looks_like_a_reference_passes(text: str) -> None:
    assert not found(skill(text + "\n", references__there_dot_md="x"), "SK206")


def test_a_skill_about_skills_may_show_made_up_files() -> None:
    files = skill(
        "A reference such as that goes to `references/finance.md`.\n", description="Writes new skills. Use when asked."
    )
    assert not found(files, "SK206")


def test_a_reference_counts_from_the_skills_folder_or_from_its_own_file() -> None:
    files = skill(
        "Read references/a.md when lost, references/b.md when found.\n",
        references__a_dot_md="See [b](b.md) and [c](references/b.md), but not [d](d.md).",
        references__b_dot_md="x",
    )
    (problem,) = found(files, "SK206")
    assert (problem.file, "'d.md'" in problem.message) == ("references/a.md", True)


def test_a_document_behind_a_document_is_too_deep() -> None:
    files = skill(
        "Read references/a.md when lost.\n", references__a_dot_md="First see [b](b.md).", references__b_dot_md="Deep."
    )
    (problem,) = found(files, "SK207")
    assert (problem.file, problem.line) == ("references/a.md", 1)


def test_a_document_that_both_name_is_not_too_deep_and_a_script_never_is() -> None:
    files = skill(
        "Read references/a.md when lost, and references/b.md after it.\n",
        references__a_dot_md="First see [b](b.md), then run scripts/x.py.",
        references__b_dot_md="Here.",
        scripts__x_dot_py="",
    )
    assert not found(files, "SK207")


def test_a_file_that_nothing_names_is_unused() -> None:
    (problem,) = found(skill(assets__old_dot_png="", references__a_dot_md="I am a.md."), "SK208")[:1]
    assert (problem.file, problem.line, problem.column) == ("assets/old.png", 1, 1)
    assert [one.file for one in found(skill(references__a_dot_md="I am a.md."), "SK208")] == ["references/a.md"]


def test_a_file_that_is_named_somehow_is_used() -> None:
    files = skill(
        "Run `python scripts/fill.py`. The fonts are in `assets/fonts/`.\n",
        scripts__fill_dot_py="from helpers import x\nopen('table.json')",
        scripts__helpers_dot_py="",
        scripts__table_dot_json="",
        assets__fonts__a_dot_ttf="",
        LICENSE="",
        README_dot_md="",
        tests__test_fill_dot_py="",
    )
    assert not found(files, "SK208")


def test_a_bare_pointer_says_no_when() -> None:
    (problem,) = found(skill("# Notes\n\nSee references/api.md.\n", references__api_dot_md="x"), "SK210")
    assert "references/api.md" in problem.message
    assert found(skill("- [API](references/api.md)\n", references__api_dot_md="x"), "SK210")


@pytest.mark.parametrize(
    "text",
    [
        "Read references/api.md when a call fails.",
        "- references/api.md: every error code and its cause",
        "## When a call fails\n\nSee references/api.md.",
        "Before the first call:\n\n- [API](references/api.md)",
        "3. See references/api.md.",
        "| Errors | references/api.md |",
    ],
)
def test_a_condition_a_summary_or_a_place_says_when(text: str) -> None:
    assert not found(skill(text + "\n", references__api_dot_md="x"), "SK210")


# --- commands ---


@pytest.mark.parametrize(
    "command",
    [
        "npx prettier .", "npx -y @acme/tool@latest run", "npx --package=cowsay cow", "bunx cowsay hi", "pnpm dlx cowsay",
        "yarn dlx cowsay", "uvx pycowsay hi", "uvx --from pycowsay cow", "uvx --python 3.12 pycowsay", "uv tool run pycowsay",
        "pipx run pycowsay", "pipx run --spec pycowsay cow", "uvx --from git+https://github.com/a/b cow", "FORCE=1 npx cowsay",
        "deno run -A npm:cowsay hi", "deno run jsr:@std/http/file-server", "go run example.com/cmd/x@latest",
        "cd a && npx cowsay",
    ],
)  # fmt: skip
def test_a_one_off_command_without_a_version_is_found(command: str) -> None:
    (problem,) = found(skill(f"```bash\n{command}\n```\n"), "SK211")
    assert problem.line == 6
    assert found(skill(f"Run `{command}` now.\n"), "SK211")


@pytest.mark.parametrize(
    "command",
    [
        "npx prettier@3.6.2 .", "npx -y @acme/tool@1 run", "npx --package=cowsay@1.6.0 cow", "bunx cowsay@1.6.0",
        "npx tsc --noEmit", "npx --no-install prettier .", "npx <package>", "npx $TOOL", "pnpm dlx cowsay@1.6.0",
        "uvx pycowsay@0.0.0.2", "npx",
        "uvx --from 'pycowsay==0.0.0.2' cow", "uvx --from . cow", "pipx run pycowsay==0.0.0.2", "pipx run ./script.py",
        "uvx --from git+https://github.com/a/b@v1 cow", "deno run npm:cowsay@1.6.0", "deno run main.ts", "go run ./cmd/x",
        "go run example.com/cmd/x@v1.2.0", "npm install prettier", "# npx prettier .", "npx ./local",
    ],
)  # fmt: skip
def test_a_pinned_or_local_command_passes(command: str) -> None:
    assert not found(skill(f"```bash\n{command}\n```\nRun `{command}` now.\n"), "SK211")


def test_a_command_in_another_language_is_not_a_command() -> None:
    assert not found(skill('```json\n{"command": "npx prettier"}\n```\n'), "SK211")


@pytest.mark.parametrize(
    "command",
    [
        "python scripts/fill.py a.pdf",
        "bash ${CLAUDE_SKILL_DIR}/scripts/x.sh",
        "uv run --quiet scripts/fill.py",
        "{baseDir}/scripts/x",
    ],
)
def test_a_script_that_is_run_but_not_there_is_found_once(command: str) -> None:
    command = command if "." in command.rpartition("/")[2] else command + ".sh"
    problems = advise(skill(f"Run `{command}` and then:\n```bash\n{command}\n```\n"), folder="pdf")
    assert [one.code for one in problems if one.code != "SK218"] == ["SK212"]


@pytest.mark.parametrize(
    "text",
    [
        "```bash\npython scripts/there.py\n```",
        "```bash\npython tools/fill.py\npython other/scripts/fill.py\npython scripts/$NAME.py\n```",
        "```python\nopen('scripts/gone.py')\n```",
    ],
)
def test_a_script_that_is_there_or_not_ours_passes(text: str) -> None:
    assert not found(skill(text + "\n", scripts__there_dot_py=""), "SK212")


def test_the_scripts_of_a_project_are_not_the_skills() -> None:
    assert not found(skill("In the repository root:\n```bash\nbash scripts/release.sh\n```\n"), "SK212")
    assert not found(skill("```bash\n./scripts/release.sh\n```\n"), "SK212")


def test_a_command_that_not_every_machine_has_must_be_announced() -> None:
    body = "```bash\ngh pr list | jq .\nFOO=1 ffmpeg -i a.mp4\nls\n```\n"
    (problem,) = found(skill(body), "SK218")
    assert "gh, jq, ffmpeg" in problem.message
    assert found(skill(body, more="compatibility: Needs gh and jq.\n"), "SK218")


@pytest.mark.parametrize(
    ("more", "body"),
    [
        ("compatibility: Requires the GitHub CLI and jq\n", "```bash\ngh pr list | jq .\n```\n"),
        ("metadata:\n  requires: gh jq\n", "```bash\ngh pr list | jq .\n```\n"),
        ("compatibility: Node.js 20 or later\n", "```bash\nnpx cowsay@1.6.0\n```\n"),
        ("", "```bash\ngit log | grep x\n```\n"),
        ("", "```yaml\ndocker: true\n```\nThe word docker and `docker` in a sentence.\n"),
    ],
)
def test_an_announced_or_common_command_passes(more: str, body: str) -> None:
    assert not found(skill(body, more=more), "SK218")


# --- sets ---


def test_two_descriptions_of_one_thing_overlap() -> None:
    skills = [
        ("pdf-fill", "Fills PDF forms from a table of values. Use when the user has a form to complete."),
        ("pdf-forms", "Fills PDF forms from a table of given values. Use when a user has a form to complete."),
        ("pdf-split", "Splits scanned PDF files into pages and renames each after its heading."),
    ]
    ((first, second, score),) = find_overlaps(skills)
    assert (first, second) == ("pdf-fill", "pdf-forms")
    assert 0.6 <= score <= 1
    files = [(f"/s/{name}", MemoryFiles({"SKILL.md": skill_text(name, description=about).encode()})) for name, about in skills]
    assert [[one.code for one in report] for report in lint(files)] == [["SK217"], ["SK217"], []]


def test_skills_from_one_template_for_different_products_do_not_overlap() -> None:
    products = ("Asana", "Box", "Canva", "Drift", "Egnyte", "Figma", "Gusto", "Heap", "Intercom", "Jira", "Klaviyo", "Linear")
    assert not find_overlaps(
        (name, f"Automates {name} tasks over the hub; always search its tools for schemas") for name in products
    )


def test_two_entries_of_one_name_are_not_an_overlap() -> None:
    assert not find_overlaps([("pdf", WHEN), ("pdf", WHEN)])


def test_scripts_without_spaces_overlap_too() -> None:
    assert find_overlaps([("a", "填写表单并列出其中的所有字段内容"), ("b", "填写表单并列出其中的所有字段")])


@pytest.mark.parametrize(
    "description", ["word{0} does thing{0} with tool{0} for case{0}", "one text for all of them", "text number {0} " * 9]
)
def test_two_thousand_descriptions_are_not_compared_each_with_each(description: str) -> None:
    skills = [(f"s{at}", description.format(at)) for at in range(2_000)]
    assert count_calls(lambda: find_overlaps(skills)) < 2_000 * 2_000


# --- bounds ---


@pytest.mark.parametrize(
    "unit",
    ["a", "`", "[", "](", "[a](b", "[a](b.md)\n", "*", "- ", "\n", "/", "~/a/", "C:\\a\\", " ", "npx a\n", "'", '"', "x\n", "|",
     "```\n", "scripts/a.py ", "python scripts/a.py\n", "you can use a, ", "choose one of ", "é", "中", "\r\n",
     "a/b/", "see references/x.md\n"],
)  # fmt: skip
def test_a_mebibyte_of_anything_takes_few_calls_for_each_byte(unit: str) -> None:
    head = f"---\nname: pdf\ndescription: {WHEN}\n---\n".encode()
    body = (unit * (2**20 // len(unit.encode()))).encode()[: 2**20 - len(head)].decode(errors="ignore").encode()
    files = MemoryFiles({"SKILL.md": head + body, "references/a.md": body[: 100 * 1024]})
    reports: list[Report] = []
    assert count_calls(lambda: reports.append(advise(files, folder="pdf"))) < 2 * 2**20
    assert len(reports[0]) < 2_000


def test_thousands_of_files_are_not_looked_through_for_every_mention() -> None:
    contents = {f"references/{at % 50}/{at}.md": b"see [x](gone.md) and references/1/1.md" for at in range(3_000)}
    body = "".join(f"`references/gone{at}.md`\n" for at in range(20_000))
    files = MemoryFiles({"SKILL.md": f"---\nname: pdf\ndescription: {WHEN}\n---\n{body}".encode(), **contents})
    assert count_calls(lambda: advise(files, folder="pdf")) < 50 * (3_000 + 20_000)


# --- unfinished text ---


@pytest.mark.parametrize("template", SKILL_TEMPLATES)
def test_an_untouched_template_is_not_finished(template: str) -> None:
    files = MemoryFiles(new_skill_files(SkillName("pdf"), WHEN, template=template))
    assert found(files, "SK221")


def test_a_placeholder_that_was_replaced_is_not_reported() -> None:
    assert not found(skill("Find out WHAT the user wants, and DO it.\n"), "SK221")


@pytest.mark.parametrize(
    "body", ["TODO: describe the errors.\n", "- TBD\n", "## FIXME (later)\n", "Use [TODO the right tool].\n"]
)
def test_a_note_to_yourself_gets_advice(body: str) -> None:
    assert found(skill(body), "SK222")


@pytest.mark.parametrize(
    "body",
    [
        "List every TODO comment of the code.\n",
        "- `TODO:` starts a note.\n",
        "```\nTODO: x\n```\n",
        "No placeholders (TBD, TODO).\n",
    ],
)
def test_a_skill_about_notes_gets_no_such_advice(body: str) -> None:
    assert not found(skill(body), "SK222")


def test_a_script_that_the_text_says_to_run_must_exist() -> None:
    (problem,) = found(skill("Run `scripts/lint.sh` first.\n"), "SK206")
    assert problem.message == "'scripts/lint.sh' is not in the skill"
    assert not found(skill("The project keeps its own in `scripts/lint.sh`.\n"), "SK206")


def test_a_home_folder_in_prose_is_one_machine_only() -> None:
    assert found(skill("Open /home/bob/notes.txt first.\n"), "SK209")
