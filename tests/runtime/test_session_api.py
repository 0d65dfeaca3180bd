"""The calls of the table 'The Session API' in docs/runtime.md."""

from __future__ import annotations

from pathlib import Path

import pytest

import metier
from metier.disclosure import render_provider
from metier.errors import NotFoundError
from metier.runtime import Session, SessionServices, SqlSessionStore
from metier.testing import FakeRunner, run_now, skill_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    skills = tmp_path / "skills"
    files = {
        "scripts/render_page.py": '"""Render a page.\n\nUsage: render_page.py <url>\n"""\n',
        "references/a.md": "A",
        "assets/t.json": "{}",
    }
    skill_folder(skills, "web", body="# Web\n\n## Capabilities\n\n- Static pages\n", files=files)
    skill_folder(skills, "plain", body="Plain.")
    return skills


@pytest.fixture
def session(root: Path) -> Session:
    return Session(metier.discover(root), services=SessionServices(runner=FakeRunner("<html>\n")))


class TestProgressiveDisclosure:
    def test_the_catalog_is_rendered_for_a_model(self, session: Session) -> None:
        text = render_provider(session.catalog).text
        assert text.startswith("<available_skills>\n<skill>\n<name>plain</name>\n")

    def test_activating_a_skill_returns_its_instructions(self, session: Session) -> None:
        assert "# Web" in session.activate("web").text
        with pytest.raises(NotFoundError):
            session.activate("unknown")

    def test_the_files_of_a_skill_are_listed_by_folder(self, session: Session) -> None:
        kinds = {
            folder: [file.path for file in session.resources("web", folder)] for folder in ("scripts", "references", "assets")
        }
        assert kinds == {"scripts": ["scripts/render_page.py"], "references": ["references/a.md"], "assets": ["assets/t.json"]}

    def test_a_file_of_a_skill_is_read(self, session: Session) -> None:
        assert session.read("web", "references/a.md") == b"A"

    def test_skills_are_found_by_name(self, session: Session) -> None:
        assert session.catalog.get("web") is not None
        assert session.catalog.get("unknown") is None
        assert session.catalog.names == ("plain", "web")


class TestActiveSkills:
    def test_discovery_reads_all_metadata(self, session: Session) -> None:
        assert [(entry.name, entry.manifest.description) for entry in session.catalog] == [
            ("plain", "Does plain. Use when asked for plain."), ("web", "Does web. Use when asked for web."),
        ]  # fmt: skip

    def test_active_skills_have_their_content(self, session: Session) -> None:
        for name in ("web", "plain"):
            session.activate(name)
        assert [row.name for row in session.active] == ["web", "plain"]

    def test_tools_of_active_skills_name_their_skill(self, session: Session) -> None:
        session.activate("web")
        [tool] = [tool for tool in session.tools() if tool.skill == "web"]
        assert (tool.name, tool.description) == ("web_render_page", "Render a page.")
        assert tool.schema["required"] == ["url"]
        assert "<html>" in run_now(tool.call({"url": "https://x"})).text

    def test_active_skills_are_rendered_in_the_prompt(self, session: Session) -> None:
        session.activate("web")
        text = session.prompt().text
        assert text.startswith("## Active Skills\n")
        assert "Key capabilities:\n- Static pages" in text
        assert "Available tools:\n- web_render_page: Render a page." in text

    def test_the_active_skills_of_a_session_are_stored(self, root: Path, tmp_path: Path) -> None:
        store = SqlSessionStore(tmp_path / "s.sqlite")
        Session(metier.discover(root), id="chat-1", services=SessionServices(store=store)).activate("web")
        [kept] = store.sessions()
        assert (kept.id, [(row.name, row.since.tzinfo is not None) for row in kept.active]) == ("chat-1", [("web", True)])


class TestLoader:
    def test_load_metadata_load_full_and_load_resource(self, session: Session) -> None:
        loader = metier.SkillLoader(session.catalog)
        assert loader.load_metadata("web").name == "web"
        assert loader.load_full("web").instructions.startswith("# Web")
        assert loader.load_resource("web", "references/a.md") == b"A"


class TestEvents:
    def test_the_event_has_name_path_and_timestamp(self, root: Path) -> None:
        from metier.runtime import EventBus, events
        from metier.testing import EventRecorder

        bus, recorder = EventBus(), EventRecorder()
        bus.subscribe(recorder, events.SkillActivated)
        Session(metier.discover(root), services=SessionServices(bus=bus)).activate("plain")
        [event] = recorder.of(events.SkillActivated)
        assert (event.name, event.path) == ("plain", f"{root}/plain/SKILL.md")
        assert event.timestamp.tzinfo is not None
