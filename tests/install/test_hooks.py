from __future__ import annotations

import json
from pathlib import Path

import pytest

from metier.errors import ConfigError, ConflictError, RefusedError
from metier.hosts import PROMPT_HOOKS
from metier.install import HookPlace, HookState, HostFileChange, apply_change, plan_hook, plan_removal

COMMAND = ("/usr/bin/metier", "hook", "run", "claude-code")
WITH_A_NOTE = (
    '{\n\t// my own hook\n\t"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}]},\n'
    '\t"model": "x"\n}\n'
)


def place(tmp_path: Path, agent: str = "claude-code", *, project: str | None = None) -> HookPlace:
    return HookPlace.of(PROMPT_HOOKS[agent], home=str(tmp_path), environment={}, project=project)


def write(tmp_path: Path, change: HostFileChange) -> HostFileChange:
    apply_change(change, lock=str(tmp_path / "lock"))
    return change


@pytest.mark.parametrize("agent", [name for name, hook in PROMPT_HOOKS.items() if not hook.is_plugin])
@pytest.mark.parametrize("before", [None, "", "{}", '{"hooks": {}}', WITH_A_NOTE])
def test_installing_and_removing_restores_the_file_byte_for_byte(agent: str, before: str | None, tmp_path: Path) -> None:
    where = place(tmp_path, agent)
    if before is not None:
        Path(where.file).parent.mkdir(parents=True)
        Path(where.file).write_text(before)
    added = write(tmp_path, plan_hook(where, COMMAND))
    assert where.state(COMMAND) is HookState.INSTALLED
    assert not plan_hook(where, COMMAND).is_needed
    write(tmp_path, plan_removal(where, added))
    assert (Path(where.file).read_text() if Path(where.file).exists() else None) == before


def test_a_plugin_is_removed_with_its_file(tmp_path: Path) -> None:
    where = place(tmp_path, "opencode")
    added = write(tmp_path, plan_hook(where, COMMAND))
    assert where.state(COMMAND) is HookState.INSTALLED
    write(tmp_path, plan_removal(where, added))
    assert not Path(where.file).exists()


def test_only_our_entry_is_removed_from_a_file_that_has_changed_since(tmp_path: Path) -> None:
    where = place(tmp_path)
    Path(where.file).parent.mkdir()
    Path(where.file).write_text(WITH_A_NOTE)
    added = write(tmp_path, plan_hook(where, COMMAND))
    Path(where.file).write_text(Path(where.file).read_text().replace('"model": "x"', '"model": "y"'))
    write(tmp_path, plan_removal(where, added))
    assert Path(where.file).read_text() == WITH_A_NOTE.replace('"model": "x"', '"model": "y"')


def test_a_hook_of_another_installation_is_replaced(tmp_path: Path) -> None:
    where = place(tmp_path)
    write(tmp_path, plan_hook(where, ("/old/bin/metier", "hook", "run", "claude-code")))
    assert where.state(COMMAND) is HookState.OTHER_COMMAND
    write(tmp_path, plan_hook(where, COMMAND))
    entries = json.loads(Path(where.file).read_text())["hooks"]["UserPromptSubmit"]
    assert [entry["hooks"][0]["command"] for entry in entries] == ["/usr/bin/metier hook run claude-code"]


def test_a_hook_that_only_mentions_metier_is_not_ours(tmp_path: Path) -> None:
    where = place(tmp_path)
    Path(where.file).parent.mkdir()
    text = json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo metier hook run x"}]}]}})
    Path(where.file).write_text(text)
    assert where.state(COMMAND) is HookState.MISSING
    assert not plan_removal(where, None).is_needed


@pytest.mark.parametrize("text", ["[1]", "{", '{"hooks": {"UserPromptSubmit": 1}}'])
def test_a_file_that_cannot_be_understood_is_an_error_and_stays(text: str, tmp_path: Path) -> None:
    where = place(tmp_path)
    Path(where.file).parent.mkdir()
    Path(where.file).write_text(text)
    with pytest.raises(ConfigError):
        plan_hook(where, COMMAND)
    assert Path(where.file).read_text() == text


def test_a_plugin_of_the_user_is_not_overwritten(tmp_path: Path) -> None:
    where = place(tmp_path, "opencode")
    Path(where.file).parent.mkdir(parents=True)
    Path(where.file).write_text("export const Mine = 1\n")
    with pytest.raises(ConflictError):
        plan_hook(where, COMMAND)
    assert not plan_removal(where, None).is_needed


def test_a_projects_file_is_not_reached_through_a_link_out_of_it(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (project / ".claude").symlink_to(outside)
    with pytest.raises(RefusedError):
        plan_hook(place(tmp_path, project=str(project)), COMMAND)


def test_a_variable_moves_the_agents_folder(tmp_path: Path) -> None:
    environment = {"CODEX_HOME": str(tmp_path / "elsewhere")}
    where = HookPlace.of(PROMPT_HOOKS["codex"], home=str(tmp_path), environment=environment)
    assert where.file == str(tmp_path / "elsewhere" / "hooks.json")
