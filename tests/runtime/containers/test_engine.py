from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from metier.errors import RefusedError
from metier.runtime import ContainerOptions, EngineKind, Limits
from metier.runtime.containers.command_line import RunFiles, remove_words, run_words, start_line
from metier.runtime.containers.engine import ContainerEngine, check_image, client_environment, find_engine

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize("image", [f"docker.io/library/python@{DIGEST}", f"localhost/x:tag@{DIGEST}", ""])
def test_an_image_with_a_digest_is_accepted(image: str) -> None:
    check_image(ContainerOptions(image=image))


@pytest.mark.parametrize(
    "image", ["python", "python:3.12", f"@{DIGEST}", "python@sha256:abc", f"python@{DIGEST}0", f"python@{DIGEST.upper()}"]
)
def test_an_image_with_a_tag_is_refused_unless_tags_are_allowed(image: str) -> None:
    with pytest.raises(RefusedError, match="not named by a digest"):
        check_image(ContainerOptions(image=image))
    check_image(ContainerOptions(image=image, allow_tags=True))


def test_a_program_that_another_user_can_change_is_not_an_engine(tmp_path: Path) -> None:
    (tmp_path / "podman").write_text("#!/bin/sh\n")
    (tmp_path / "podman").chmod(0o755)
    assert find_engine(None, [str(tmp_path)]) is None


def test_a_client_gets_what_it_needs_to_find_its_server_and_no_secrets() -> None:
    given = {"HOME": "/h", "DOCKER_HOST": "unix:///s", "AWS_SECRET_ACCESS_KEY": "x", "PATH": "/planted", "LD_PRELOAD": "/x.so"}
    assert set(client_environment(given)) == {"PATH", "HOME", "DOCKER_HOST"}
    assert "/planted" not in client_environment(given)["PATH"]


@pytest.mark.parametrize("kind", EngineKind)
def test_every_container_is_confined(kind: EngineKind) -> None:
    engine = ContainerEngine(kind=kind, program=f"/usr/bin/{kind}", options=("--host=x",))
    words = run_words(
        engine,
        RunFiles(base="/t/metier-0011223344556677"),
        image="i@sha256:x",
        mounts=(),
        limits=Limits(),
        interpreter="python3",
    )
    assert words[:2] == [f"/usr/bin/{kind}", "--host=x"]
    text = " ".join(words)
    confined = ("--rm", "--network none", "--read-only", "--cap-drop ALL", "no-new-privileges", "seccomp=/t/metier-")
    limited = ("--pull never", "--pids-limit 65", "--memory 1073741824", "--label metier.runs=/t")
    for option in (*confined, *limited, "--name metier-0011223344556677"):
        assert option in text, option
    assert not {"--privileged", "--pid", "--env"} & set(words)
    assert remove_words(engine, "a", "b")[-2:] == ["a", "b"]


def test_the_line_that_starts_a_script_is_one_line_and_keeps_every_character() -> None:
    words = ("printf", "%s|", "it's", "a\nb\n", "$HOME", "", "\\", "é")
    line = start_line(words, folder="/", environment={"A": "x\n'y'\n"}, has_input=False)
    assert line.count(b"\n") == 1
    shown = start_line(("sh", "-c", 'printf "%s" "$A"'), folder="/", environment={"A": "x\n'y'\n"}, has_input=False)
    assert _in_shell(line) == "it's|a\nb\n|$HOME||\\|é|"
    assert _in_shell(shown) == "x\n'y'\n"


def _in_shell(line: bytes) -> str:
    code = "n='\n'; IFS= read -r line; eval \"$line\""
    return subprocess.run(["sh", "-c", code], input=line, capture_output=True, check=True).stdout.decode()
