from __future__ import annotations

from pathlib import Path

import pytest

from install.builders import scope_in
from metier.errors import UsageError
from metier.install.targets.scope import InstallScope, ScopeLevel, read_targets


def test_names_are_read_as_people_type_them(tmp_path: Path) -> None:
    (tmp_path / "home/.cursor").mkdir(parents=True)
    scope = scope_in(tmp_path)
    assert read_targets(["codex, claude", "metier"], scope) == ("claude-code", "codex")
    assert read_targets(["all-detected"], scope) == ("cursor",)
    assert read_targets([""], scope) == ()


@pytest.mark.parametrize(("word", "hint"), [("claude-cod", "claude-code"), ("zzz", "one of: ")])
def test_an_unknown_agent_is_refused_with_a_suggestion(word: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_targets([word], scope_in(tmp_path))
    assert hint in caught.value.hint


def test_an_agent_without_a_user_folder_is_for_projects(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="eve has no folder"):
        read_targets(["eve"], scope_in(tmp_path))
    assert read_targets(["eve"], scope_in(tmp_path, ScopeLevel.PROJECT)) == ("eve",)


def test_a_project_never_reaches_into_the_home(tmp_path: Path) -> None:
    scope: InstallScope = scope_in(tmp_path, ScopeLevel.PROJECT)
    assert all(folder.startswith(f"{tmp_path}/project/") for folder in scope.parents)
