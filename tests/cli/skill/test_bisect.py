"""`metier skill bisect`, over a git repository and over a registry."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agent_programs import program_file
from builders import skill_text
from cli.registry.test_registry import publish, serving
from cli.shell import Shell
from install.servers import Repository
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says
from registry.builders import archive

GOOD = "Waters the ficus in the lobby. Use when the user says that a ficus is dry."
BAD = "Counts staplers. Use when asked."
REQUEST = "the ficus in the lobby is dry"
QUERIES = json.dumps([{"query": REQUEST, "should_trigger": True}, {"query": "plot it", "should_trigger": False}])


def repository(folder: Path, *, versions: int, broken_at: int) -> tuple[Repository, list[str]]:
    made = Repository(folder)
    commits = []
    for number in range(versions):
        text = skill_text("plants", description=BAD if number >= broken_at else GOOD, body=f"Version {number}.\n")
        files = {"skills/plants/SKILL.md": text, "skills/plants/evals/eval_queries.json": QUERIES}
        commits.append(made.commit(files))
        made.commit({**files, "README.md": str(number)})
        made.tag(f"v1.{number}.0")
    return made, commits


def files_of(folder: Path) -> dict[str, bytes]:
    skipped = ("cache", "index")
    return {
        str(file): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not any(part in skipped for part in file.relative_to(folder).parts)
    }


@pytest.fixture
def _git(shell: Shell) -> None:
    shell.environment["PATH"] = f"{shell.bin}:/usr/local/bin:/usr/bin:/bin"


@pytest.mark.usefixtures("_git")
def test_the_commit_that_broke_an_installed_skill_is_found_and_nothing_changes(shell: Shell, tmp_path: Path) -> None:
    made, commits = repository(tmp_path / "plants.git", versions=9, broken_at=6)
    ref = f"git+file://{made.folder}//skills/plants"
    assert shell("skill", "install", f"{ref}#v1.8.0", "--allow-file", "--yes").code == 0
    before = files_of(shell.home)
    done = shell("skill", "bisect", "plants", "--good", "1.0.0", "--bad", "v1.8.0", "--allow-file", "--json")
    assert done.code == 0, done
    assert done.data["first_bad"] == commits[6][:10]
    assert done.data["last_good"].startswith(commits[5][:10])
    assert done.data["broken"] == [REQUEST]
    assert len(done.data["steps"]) <= 2 + 4
    assert files_of(shell.home) == before
    text = shell("skill", "bisect", ref, "--good", commits[0], "--bad", commits[8], "--allow-file").out
    assert f"First bad version: {commits[6][:10]}" in text


@pytest.mark.usefixtures("_git")
def test_versions_in_the_wrong_order_or_unknown_are_one_sentence(shell: Shell, tmp_path: Path) -> None:
    made, _ = repository(tmp_path / "plants.git", versions=3, broken_at=1)
    words = ("skill", "bisect", f"git+file://{made.folder}//skills/plants", "--allow-file")
    shell(*words, "--good", "v9.9.9", "--bad", "v1.2.0").failed(3, "'v9.9.9' is no tag, branch or commit")
    assert shell(*words, "--good", "v1.2.0", "--bad", "v1.0.0").code != 0
    assert "nothing broke" in shell(*words, "--good", "v1.1.0", "--bad", "v1.2.0").err
    shell("skill", "bisect", "no-such", "--good", "1", "--bad", "2").failed(3, "no skill is named 'no-such'")


def working_tree(shell: Shell) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        environment = {**shell.environment, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *identity, *words], cwd=shell.project, check=True, env=environment)

    git("init", "-q", "-b", "main")
    folder = shell.project / "plants"
    (folder / "evals").mkdir(parents=True)
    (folder / "evals/eval_queries.json").write_text(QUERIES)
    for number, description in enumerate((GOOD, GOOD, BAD, BAD)):
        (folder / "SKILL.md").write_text(skill_text("plants", description=description, body=f"{number}\n"))
        git("add", ".")
        git("commit", "-qm", f"{number}")
        git("tag", f"t{number}")


@pytest.mark.usefixtures("_git")
def test_a_working_tree_is_bisected_by_its_path(shell: Shell) -> None:
    working_tree(shell)
    done = shell("skill", "bisect", "./plants", "--good", "t0", "--bad", "HEAD", "--json")
    assert "(t2)" in done.data["first_bad"]
    assert "(t1)" in done.data["last_good"]


@pytest.mark.usefixtures("_git")
def test_an_agent_program_can_be_the_judge(shell: Shell) -> None:
    working_tree(shell)

    def script(request: ModelRequest) -> ModelAnswer:
        said = json.dumps(request.body)
        fits = "Waters the ficus" in said and REQUEST in said and not request.results
        return calls("Skill", skill="plants") if fits else says("Done.")

    agent = ("--agent", "claude-code", "--program", str(program_file("claude-code")), "--runs", "1")
    with ModelServer(script) as model:
        words = ("--good", "t0", "--bad", "HEAD", "--model-url", model.root)
        done = shell("skill", "bisect", "./plants", *words, *agent, "--json")
    assert (done.data["judge"], "(t2)" in done.data["first_bad"]) == ("agent claude-code", True)


def test_the_release_of_a_registry_that_broke_a_skill_is_found(shell: Shell) -> None:
    with serving(shell) as (url, token, _):
        assert token
        for number in range(5):
            description = BAD if number >= 3 else GOOD
            files = {"evals/eval_queries.json": QUERIES}
            publish(url, token, archive("plants", f"1.{number}.0", description=description, files=files, body=f"{number}\n"))
        assert shell("config", "set", "skills.registry", url).code == 0
        done = shell("skill", "bisect", "r9s:plants", "--good", "1.0.0", "--bad", "1.4.0", "--json")
        assert (done.data["last_good"], done.data["first_bad"]) == ("1.2.0", "1.3.0")
        shell("skill", "bisect", "r9s:plants", "--good", "1.4.0", "--bad", "1.0.0").failed(2, "is not lower than")
        shell("skill", "bisect", "r9s:plants", "--good", "0.1.0", "--bad", "1.0.0").failed(3, "no version 0.1.0")
