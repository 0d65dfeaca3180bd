"""`metier skill eval`, `test` and `conflicts`, as an author types them."""

from __future__ import annotations

import json
import re
import signal
import threading
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cli.shell import Ran, Shell, plain
from guards import eventually
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says

PLANTS = "Waters the plants in the office. Use when the user says that plants are dry or asks who waters them."


@pytest.fixture
def _python(shell: Shell) -> None:
    """A command that two of the bundled skills need. It runs nothing, so tests that run something do without."""
    shell.install("python3")


def plants(shell: Shell, queries: object = None, files: dict[str, str] | None = None) -> Path:
    folder = shell.skill("plants", description=PLANTS)
    asked = [
        {"query": "the office plants are dry", "should_trigger": True},
        {"query": "plot sales.csv", "should_trigger": False},
    ]
    texts = {"evals/eval_queries.json": json.dumps(asked if queries is None else queries), **(files or {})}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_a_skill_that_triggers_when_it_should_passes(shell: Shell) -> None:
    plants(shell)
    done = shell("skill", "eval", "plants")
    assert done.code == 0
    assert done.out.startswith("✓ plants  2 of 2 requests")
    assert "warning: plants: only 1 query should trigger" in done.err


@pytest.mark.usefixtures("_python")
def test_a_failure_names_the_selected_skill_and_the_reason(shell: Shell) -> None:
    plants(shell, [{"query": "plot the sales in sales.csv as a chart", "should_trigger": True}])
    done = shell("skill", "eval", "plants")
    assert done.code == 1
    assert "✗ should trigger: plot the sales" in done.out
    assert re.search(r"selected data-analysis: \d+% sure: ", done.out)
    assert "its description lacks 'plot', 'sales', 'csv'" in done.out


@pytest.mark.usefixtures("_python")
def test_the_same_as_json(shell: Shell) -> None:
    plants(shell, [{"query": "plot the sales in sales.csv as a chart", "should_trigger": True}])
    done = shell("skill", "eval", "plants", "--json")
    (report,) = done.data["triggers"]
    assert (done.code, done.data["failed"], report["judge"]) == (1, 1, "local ranker")
    (row,) = report["results"]
    assert (row["winner"], row["trigger_rate"], row["pass"]) == ("data-analysis", 0.0, False)


def test_a_folder_that_is_not_installed_is_evaluated_among_those_that_are(shell: Shell) -> None:
    folder = plants(shell)
    target = shell.project / "drafts"
    target.mkdir()
    folder.rename(target / "plants")
    assert shell("skill", "eval", "./drafts/plants").out.startswith("✓ plants  2 of 2")


def test_a_skill_without_evals_among_others_is_noted(shell: Shell) -> None:
    plants(shell)
    shell.skill("bare")
    done = shell("skill", "eval", "plants", "bare")
    assert done.code == 0
    assert "warning: bare has no evals" in done.err


@pytest.mark.usefixtures("_python")
def test_bundled_skills_pass_by_name(shell: Shell) -> None:
    done = shell("skill", "eval", "data-analysis", "gh", "hello-world").ok()
    assert done.out.count("✓ ") == 3


@pytest.mark.parametrize(
    ("text", "sentence"), [("{", "line 1 is not JSON"), ("[7]", "entry 1 is a number"), ("{}", "is not a list")]
)
def test_bad_eval_files_are_one_sentence(shell: Shell, text: str, sentence: str) -> None:
    plants(shell, files={"evals/eval_queries.json": text})
    shell("skill", "eval", "plants").failed(2, "evals/eval_queries.json", sentence)


def test_a_large_eval_file_is_refused(shell: Shell) -> None:
    plants(shell, files={"evals/eval_queries.json": " " * (1 << 20) + "[]"})
    shell("skill", "eval", "plants").failed(5, "larger than 1,048,576 bytes")


def test_a_link_out_of_the_skill_is_refused(shell: Shell, tmp_path: Path) -> None:
    folder = plants(shell)
    (tmp_path / "secret.json").write_text("[]")
    (folder / "evals/eval_queries.json").unlink()
    (folder / "evals/eval_queries.json").symlink_to(tmp_path / "secret.json")
    shell("skill", "eval", "plants").failed(5, "is a link out of the skill")


def test_a_skill_without_evals_or_tests_is_reported(shell: Shell) -> None:
    shell.skill("bare")
    shell("skill", "eval", "bare").failed(3, "bare has no trigger evals")
    shell("skill", "test", "bare").failed(3, "bare has no tests")
    shell("skill", "test", "no-such").failed(3, "no skill is named 'no-such'")
    for name, said in (("eval", "No evals"), ("test", "No tests")):
        ran = shell("skill", name, "bare", "--allow-none")
        assert (ran.code, ran.out) == (0, f"{said}\n")
        shell("skill", name, "no-such", "--allow-none").failed(3, "no skill is named 'no-such'")


def test_tests_are_run_and_counted(shell: Shell) -> None:
    page = "```console\n$ echo one\none\n$ echo two\nthree\n$ exit 80\n```\n"
    plants(shell, files={"tests/a.md": page})
    done = shell("skill", "test", "plants")
    assert done.code == 1
    assert "✗ plants/tests/a.md:4  echo two" in done.out
    assert "-three" in done.out
    assert done.out.endswith("1 passed, 1 failed, 1 skipped\n")
    rows = shell("skill", "test", "plants", "--json").data
    assert (rows["passed"], rows["failed"], rows["skipped"], rows["tests"][1]["line"]) == (1, 1, 1, 4)


def test_pytest_files_are_run_though_the_python_on_path_has_no_pytest(shell: Shell) -> None:
    plants(shell, files={"tests/test_it.py": "def test_it(): assert True\n"})
    assert shell("skill", "test", "plants", "-v").ok().out.endswith("test_it\n1 passed\n")


def test_junit_files_are_written(shell: Shell) -> None:
    plants(shell, files={"tests/a.md": "```console\n$ true\n```\n"})
    shell("skill", "test", "plants", "--junit", "tests.xml").ok()
    shell("skill", "eval", "plants", "--junit", "evals.xml")
    assert ET.parse(shell.project / "tests.xml").getroot()[0].get("tests") == "1"
    assert ET.parse(shell.project / "evals.xml").getroot()[0].get("tests") == "2"


def test_what_a_test_prints_cannot_move_the_cursor(shell: Shell) -> None:
    plants(shell, files={"tests/a.md": "```console\n$ printf '\\033[2J\\007'\nx\n```\n"})
    code, text = shell.on_terminal("skill", "test", "plants", NO_COLOR="1")
    assert code == 1
    assert "\x1b[2J" not in text.rpartition("✗")[2]


def test_a_policy_that_forbids_scripts_forbids_tests(shell: Shell) -> None:
    plants(shell, files={"tests/a.md": "```console\n$ true\n```\n"})
    shell("config", "set", "policy.scripts", "deny").ok()
    shell("skill", "test", "plants").failed(5, "the policy forbids scripts of skills")


def test_a_terminal_shows_a_bar(shell: Shell) -> None:
    plants(shell, files={"tests/a.md": "```console\n$ sleep 0.6\n```\n", "tests/b.md": "```console\n$ true\n```\n"})
    code, text = shell.on_terminal("skill", "test", "plants")
    assert code == 0
    assert "testing" in text
    assert re.search(r"[12]/2", plain(text))


def test_an_interrupt_ends_the_tests_and_their_processes(shell: Shell) -> None:
    mark = "sleep 314.159"
    plants(shell, files={"tests/a.md": f"```console\n$ {mark}\n```\n"})
    process = shell.start("skill", "test", "plants")
    eventually(lambda: _running(mark), "the test runs")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err.strip()) == (130, b"", b"interrupted")
    eventually(lambda: not _running(mark), "the test is killed")


def _running(words: str) -> bool:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if file.read_bytes().replace(b"\0", b" ").strip() == words.encode():
                return True
        except OSError:
            continue
    return False


def test_evals_of_another_skill_are_noted(shell: Shell) -> None:
    plants(shell, files={"evals/evals.json": '{"skill_name": "cooking", "evals": [{"id": 1, "prompt": "water the plants"}]}'})
    done = shell("skill", "eval", "plants")
    assert "plants: evals/evals.json names another skill, 'cooking'" in done.err


def test_an_interrupt_leaves_no_half_of_an_iteration(shell: Shell) -> None:
    plants(shell, files={"evals/evals.json": '{"evals": [{"id": 1, "prompt": "water the plants"}]}'})
    asked = threading.Event()

    def slow(_: ModelRequest) -> ModelAnswer:
        asked.set()
        # Longer than the test: the answer must not arrive before the signal.
        return says("done", delay=600)

    with ModelServer(slow) as server:
        shell("config", "set", "model.name", "tiny").ok()
        shell("config", "set", "model.base_url", server.url).ok()
        process = shell.start("skill", "eval", "plants", "--outputs")
        assert asked.wait(20)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err.strip()) == (130, b"interrupted")
    assert not (shell.project / "plants-workspace").exists()


def test_conflicts_shows_the_pairs(shell: Shell) -> None:
    shell("skill", "conflicts").ok()
    assert "No conflicts among" in shell("skill", "conflicts").out
    shell.skill("plants", description=PLANTS)
    shell.skill("greenery", description="Waters plants in the office. Use when the user says that the plants are dry.")
    done = shell("skill", "conflicts").ok()
    assert re.match(r"(greenery and plants|plants and greenery)  \d+% similar: .*plants", done.out)
    assert "the ranker prefers" in done.out
    (pair,) = shell("skill", "conflicts", "--json").data["conflicts"]
    assert (sorted(pair["skills"]), pair["winner"] in pair["skills"]) == (["greenery", "plants"], True)
    assert shell("skill", "conflicts", "--fail").code == 1
    assert "No conflicts among" in shell("skill", "conflicts", "hello-world").ok().out
    shell("skill", "conflicts", "no-such").failed(3, "no skill is named")


# --- with a model ---------------------------------------------------------------------------------------------------


def asked(shell: Shell, server: ModelServer, *words: str) -> Ran:
    return shell(*words, METIER_MODEL_NAME="tiny", METIER_MODEL_BASE_URL=server.url)


def answers(request: ModelRequest) -> ModelAnswer:
    """Loads plants for whatever is dry, and grades everything as passed."""
    if "You check the result" in request.user:
        return says(json.dumps({"results": [{"passed": True, "evidence": "seen"}]}))
    if "load_skill" in request.tools:
        return calls("load_skill", skill_name="plants") if "dry" in request.user else says("no skill needed")
    return says("Watered.", tokens=(30, 10))


def test_a_configured_model_is_the_judge(shell: Shell) -> None:
    plants(shell)
    with ModelServer(answers) as server:
        done = asked(shell, server, "skill", "eval", "plants", "--triggers")
        assert (done.code, done.out.startswith("✓ plants  2 of 2 requests")) == (0, True)
        assert "by the model tiny" in done.out
        assert len(server.requests) == 4
        offline = asked(shell, server, "skill", "eval", "plants", "--triggers", "--offline")
        assert "by the local ranker" in offline.out
        assert len(server.requests) == 4


def test_a_project_cannot_send_requests_elsewhere(shell: Shell) -> None:
    plants(shell)
    (shell.project / ".metier").mkdir()
    with ModelServer(answers) as server:
        (shell.project / ".metier/config.toml").write_text(f'[model]\nname = "tiny"\nbase_url = "{server.url}"\n')
        assert "by the local ranker" in shell("skill", "eval", "plants", METIER_TRUST="1").out
        assert server.requests == ()


def test_tasks_are_done_with_and_without_the_skill(shell: Shell) -> None:
    task = {"evals": [{"id": 1, "prompt": "water them", "assertions": ["they are watered"]}]}
    plants(shell, files={"evals/evals.json": json.dumps(task)})
    with ModelServer(answers) as server:
        done = asked(shell, server, "skill", "eval", "plants", "--outputs", "--runs", "2", "--html", "report.html")
    assert done.code == 0, done
    assert re.search(r"with skill +without skill +difference", done.out)
    assert re.search(r"passed +100% ± 0% +100% ± 0% +\+0%", done.out)
    assert "passes in both: it shows nothing, remove it" in done.out
    assert (shell.project / "plants-workspace/iteration-1/eval-1/with_skill/run-2/grading.json").exists()
    assert "they are watered" in (shell.project / "report.html").read_text()


def test_output_evals_without_a_model_say_how_to_have_one(shell: Shell) -> None:
    plants(shell)
    shell("skill", "eval", "plants", "--outputs").failed(2, "--outputs needs a model", "model.name")


def test_a_model_without_a_key_or_a_server_is_one_sentence(shell: Shell) -> None:
    plants(shell)
    shell("config", "set", "model.name", "openai:gpt-x").ok()
    shell("skill", "eval", "plants").failed(2, "needs an API key", "OPENAI_API_KEY")
    with ModelServer() as server:
        pass
    asked(shell, server, "skill", "eval", "plants").failed(4, "cannot reach")


def test_optimize_shows_a_diff_and_writes_only_on_request(shell: Shell) -> None:
    wanted = ["my ficus drops its leaves", "the ficus leaves are brown", "brown leaves on the ficus", "ficus leaves everywhere",
              "the ficus in the kitchen lost leaves", "ficus: brown leaves"]  # fmt: skip
    queries = [{"query": text, "should_trigger": True} for text in wanted]
    folder = plants(shell, [*queries, {"query": "review my diff", "should_trigger": False}])
    before = (folder / "SKILL.md").read_bytes()
    shown = shell("skill", "optimize", "plants").ok()
    assert "+description: " in shown.out
    assert "Use --write" in shown.out
    assert (folder / "SKILL.md").read_bytes() == before
    done = shell("skill", "optimize", "plants", "--write", "--json").ok().data
    assert done["written"]
    assert done["best"]["validation"] > done["before"]["validation"]
    assert done["best"]["description"] in " ".join((folder / "SKILL.md").read_text().split())
    shell("skill", "validate", "plants").ok()
    assert shell("skill", "eval", "plants", "--json").data["failed"] < 6


def test_optimize_says_when_a_model_proposes_nothing_that_can_be_used(shell: Shell) -> None:
    queries = [{"query": f"palm {word}", "should_trigger": True} for word in ("one", "two", "three", "four", "five", "six")]
    plants(shell, queries)
    with ModelServer(lambda request: says("no idea")) as server:
        done = asked(shell, server, "skill", "optimize", "plants", "--rounds", "2").ok()
    assert "0 descriptions tried, by the model tiny" in done.out
    assert "No usable proposal; keeping the current description" in done.out


def test_optimize_skips_passing_and_bundled_skills(shell: Shell) -> None:
    plants(shell)
    assert "Every request passes; keeping the current description" in shell("skill", "optimize", "plants").ok().out
    shell("skill", "optimize", "hello-world", "--write").failed(5, "hello-world is bundled with metier")
    shell("skill", "optimize", "no-such").failed(3, "no skill is named")


def test_the_page_of_all_bundled_skills_is_written(shell: Shell) -> None:
    done = shell("skill", "eval", "hello-world", "gh", "--tests", "--html", "out.html")
    assert done.code == 0
    text = (shell.project / "out.html").read_text()
    assert text.count("<svg") == 2
    assert "Evals of 2 skills" in text
