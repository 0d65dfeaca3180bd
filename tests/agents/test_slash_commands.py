"""Markdown files as slash commands."""

from __future__ import annotations

import os
from pathlib import Path

from metier.agents import read_slash_commands


def write(folder: Path, path: str, text: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_file_is_a_command_of_its_name(tmp_path: Path) -> None:
    write(tmp_path, "review.md", "---\ndescription: Review a pull request\n---\nReview $ARGUMENTS carefully.\n")
    write(tmp_path, "git/commit.md", "# Commit\n\nCommit $1 to $2.\n")
    write(tmp_path, "notes.txt", "no")
    found = read_slash_commands([str(tmp_path)])
    assert set(found) == {"review", "git:commit"}
    assert found["review"].description == "Review a pull request"
    assert found["git:commit"].description == "Commit"
    assert found["review"].fill("#12 and #13") == "Review #12 and #13 carefully."
    assert found["git:commit"].fill("'all files' main") == "# Commit\n\nCommit all files to main."
    assert found["git:commit"].fill("one") == "# Commit\n\nCommit one to ."


def test_arguments_without_a_place_are_not_lost(tmp_path: Path) -> None:
    write(tmp_path, "plain.md", "Do it.\n")
    command = read_slash_commands([str(tmp_path)])["plain"]
    assert (command.fill(""), command.fill("it's now")) == ("Do it.", "Do it.\n\nit's now")


def test_a_value_is_not_filled_again(tmp_path: Path) -> None:
    write(tmp_path, "echo.md", "$ARGUMENTS / $1")
    assert read_slash_commands([str(tmp_path)])["echo"].fill("$1 $ARGUMENTS") == "$1 $ARGUMENTS / $1"


def test_the_later_folder_counts(tmp_path: Path) -> None:
    write(tmp_path, "a/x.md", "first")
    write(tmp_path, "b/x.md", "second")
    assert read_slash_commands([str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "none")])["x"].text == "second"


def test_a_file_that_is_not_plain_text_is_not_a_command(tmp_path: Path) -> None:
    secret = write(tmp_path, "elsewhere/secret", "my key")
    folder = tmp_path / "commands"
    folder.mkdir()
    (folder / "link.md").symlink_to(secret)
    (folder / "folder").symlink_to(secret.parent)
    os.mkfifo(folder / "pipe.md")
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    (folder / "huge.md").write_bytes(b"x" * 300_000)
    write(folder, "bad name.md", "x")
    assert read_slash_commands([str(folder)]) == {}
