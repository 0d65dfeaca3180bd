from __future__ import annotations

from pathlib import Path

from metier.install.targets.agent_visibility import AgentVisibility


def test_agents_see_what_is_in_their_folder_and_what_it_links_to(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (".claude/skills", ".codex", ".agents/skills/pdf"):
        (home / folder).mkdir(parents=True)
    (project / ".agents/skills/own").mkdir(parents=True)
    (home / ".claude/skills/pdf").symlink_to("../../.agents/skills/pdf")
    visibility = AgentVisibility(str(home), [str(project)], {})
    assert visibility.hosts_of(str(home / ".agents/skills/pdf")) == ("claude-code",)
    assert visibility.hosts_of(str(project / ".agents/skills/own")) == ("codex",)
    assert visibility.hosts_of(str(home / "nowhere")) == ()
