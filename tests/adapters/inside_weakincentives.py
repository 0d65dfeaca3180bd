"""The prompt section inside weakincentives itself: run by test_weakincentives.py, in a Python that has the package."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from weakincentives.filesystem import Filesystem
from weakincentives.prompt import HostMount, MarkdownSection, Prompt, PromptTemplate, SectionVisibility, WorkspaceSection
from weakincentives.runtime import Session
from weakincentives.runtime.events import ToolInvoked
from weakincentives.runtime.session import SetVisibilityOverride, VisibilityOverrides, register_visibility_reducers

from metier.adapters.weakincentives import AgentSkillsSection, AgentSkillsSectionParams
from metier.runtime import EventBus, SkillActivated
from metier.testing import skill_folder

# A class by call: a type checker that does not have the package sees no base to complain about.
Plain: Any = type("Plain", (MarkdownSection[AgentSkillsSectionParams],), {})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("pdf-forms", "code-review"):
        skill_folder(tmp_path / "skills", name)
    return tmp_path / "skills"


def section(root: Path, **options: Any) -> Any:
    return AgentSkillsSection(session=Session(), skills_dir=root, **options)


def prompt(*sections: Any) -> Any:
    task = Plain(title="Task", key="task", template="Fill the form.", default_params=AgentSkillsSectionParams())
    return Prompt(PromptTemplate(ns="demo", key="with-skills", sections=[task, *sections]))


def test_it_is_a_markdown_section(root: Path) -> None:
    assert isinstance(section(root), MarkdownSection)


def test_a_prompt_renders_it_under_its_heading(root: Path) -> None:
    made = section(root, allowed_skills=("pdf-forms",))
    text = prompt(made).render().text
    assert "Fill the form." in text
    assert "2. Agent Skills" in text
    assert made.render_body(None) in text


def test_a_prompt_takes_sections_for_the_organisation_and_the_project(root: Path, tmp_path: Path) -> None:
    skill_folder(tmp_path / "own", "house-style")
    text = prompt(section(root, mount_path="skills/org"), section(tmp_path / "own", mount_path="skills/project")).render().text
    assert "<location>skills/org/pdf-forms</location>" in text
    assert "<location>skills/project/house-style</location>" in text


def test_its_visibility_is_the_prompts_to_choose(root: Path) -> None:
    made = section(root)
    assert made.render_body(None, visibility=SectionVisibility.SUMMARY).startswith("Available skills: ")
    assert made.render_body(None, visibility=SectionVisibility.FULL).startswith("<available_skills>")
    assert made.effective_visibility(override=SectionVisibility.SUMMARY) is SectionVisibility.SUMMARY


def test_a_session_of_theirs_can_ask_for_the_summary(root: Path) -> None:
    session = Session()
    register_visibility_reducers(session)
    session.dispatch(SetVisibilityOverride(path=("skills",), visibility=SectionVisibility.SUMMARY))
    assert session[VisibilityOverrides].latest() is not None
    made = AgentSkillsSection(session=session, skills_dir=root)
    assert made.session is session
    text = prompt(made).render(session=session).text
    assert "Available skills: code-review" in text
    assert "<available_skills>" not in text


def test_a_dollar_in_a_description_is_not_a_placeholder(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path, "prices")
    (folder / "SKILL.md").write_text("---\nname: prices\ndescription: Costs $5, ${HOME} and $name.\n---\n\nDo it.\n")
    made = section(tmp_path)
    assert made.placeholder_names() == set()
    assert "Costs $5, ${HOME} and $name." in prompt(made).render().text


def test_it_copies_nothing_into_the_agents_home(root: Path) -> None:
    rendered = prompt(section(root)).render()
    assert rendered.skills == ()


def test_story_one_mounts_what_the_prompt_names(root: Path, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo/main.py").write_text("print(1)\n")
    session = Session()
    workspace = WorkspaceSection(
        session=session,
        mounts=(HostMount(host_path=str(tmp_path / "repo"), mount_path="repo"),),
        allowed_host_roots=(tmp_path,),
    )
    made = AgentSkillsSection(session=session, skills_dir=root)
    asked = prompt(workspace, made)
    text = asked.render().text
    with asked.resources:
        for name in ("pdf-forms", "code-review"):
            assert f"<location>skills/{name}</location>" in text
            assert (workspace.temp_dir / "skills" / name / "SKILL.md").is_file()
    assert not (workspace.temp_dir / "skills").exists()
    workspace.cleanup()


def called(tool: str, session: Session, **params: object) -> ToolInvoked:
    time = datetime(2026, 1, 2, tzinfo=UTC)
    return ToolInvoked(
        prompt_name="demo",
        adapter="claude",
        name=tool,
        params=params,
        result=None,
        session_id=session.session_id,
        created_at=time,
    )


def test_reading_a_skill_file_is_an_event(root: Path) -> None:
    session, bus = Session(), EventBus()
    heard: list[Any] = []
    bus.subscribe(heard.append, SkillActivated)
    session.dispatcher.subscribe(SkillActivated, heard.append)
    workspace = WorkspaceSection(session=session)
    asked = prompt(workspace, AgentSkillsSection(session=session, skills_dir=root, events=bus))
    with asked.resources:
        file = str(workspace.temp_dir / "skills/pdf-forms/SKILL.md")
        session.dispatcher.dispatch(called("Read", session, file_path=str(workspace.temp_dir / "notes.md")))
        session.dispatcher.dispatch(called("Write", session, file_path=file))
        assert heard == []
        session.dispatcher.dispatch(called("Read", session, file_path=file))
        session.dispatcher.dispatch(called("Bash", session, command="cat skills/code-review/SKILL.md"))
    session.dispatcher.dispatch(called("Read", session, file_path=file))
    assert [event.skill_name for event in heard] == ["pdf-forms"] * 2 + ["code-review"] * 2
    assert heard[0].skill_path == str(root / "pdf-forms/SKILL.md")
    assert heard[0].timestamp == datetime(2026, 1, 2, tzinfo=UTC)
    workspace.cleanup()


class MemoryFilesystem:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def write_bytes(self, path: str, content: bytes) -> None:
        self.files[path] = content


def test_a_workspace_in_memory_gets_the_files_too(root: Path) -> None:
    workspace: Any = MemoryFilesystem()
    with prompt(section(root)).bind(resources={Filesystem: workspace}).resources:
        assert workspace.files["skills/pdf-forms/SKILL.md"] == (root / "pdf-forms/SKILL.md").read_bytes()


def test_a_prompt_without_a_workspace_is_an_error_when_it_runs(root: Path) -> None:
    with pytest.raises(Exception, match="MountedSkills"), prompt(section(root)).resources:
        pass


def test_their_clone_of_a_prompt_clones_it(root: Path) -> None:
    other = Session()
    assert section(root).clone(session=other).session is other
