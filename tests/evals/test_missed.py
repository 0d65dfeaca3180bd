"""Requests for which a skill should have been loaded, and the reason why it was not."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import write_skill
from metier.catalog import CatalogFilters, Entry, Source
from metier.evals import SURE_FIT, AgentLibrary, MissedReport, MissReason, add_queries, find_missed, read_queries
from metier.hosts.transcripts import FailedLoad, LoadedBy, SkillLoad, Transcript, UserRequest
from metier.sources import DiskFiles, LocalMachine, SourceFolder, build_catalog

FORMS = "Fills in PDF forms. Use when the user has a PDF form with fields to fill."
REQUEST = "fill in the fields of this PDF form"
LATER = 4e9
"""A time after the test has written its skills."""


def entries(folder: Path, *, disabled: str = "") -> tuple[Entry, ...]:
    filters = CatalogFilters(disabled=frozenset({disabled} if disabled else ()))
    return build_catalog([SourceFolder(Source.USER, str(folder))], filters=filters, machine=LocalMachine("")).entries


def session(
    *requests: str, loads: tuple[str, ...] = (), shown: tuple[str, ...] | None = None, time: float = LATER
) -> Transcript:
    return Transcript(
        agent="codex", id="s1", requests=tuple(UserRequest(time, text) for text in requests), shown=shown,
        loads=tuple(SkillLoad(time, name, LoadedBy.MODEL, 10) for name in loads),
    )  # fmt: skip


def missed(library: AgentLibrary, *transcripts: Transcript, fit: float = SURE_FIT) -> MissedReport:
    return find_missed(transcripts, lambda _: library, fit=fit)


@pytest.fixture
def library(tmp_path: Path) -> AgentLibrary:
    write_skill(tmp_path, "pdf-forms", description=FORMS)
    write_skill(tmp_path, "plants", description="Waters the plants. Use when the plants in the office are dry.")
    return AgentLibrary.of(entries(tmp_path), ())


def test_a_request_without_its_skill_is_missed(library: AgentLibrary) -> None:
    report = missed(library, session(REQUEST, "why is the sky blue?", "/clear"))
    assert [(one.skill, one.text, one.reason) for one in report.missed] == [("pdf-forms", REQUEST, MissReason.NOT_LOADED)]
    assert (report.requests, report.served) == (2, 0)
    assert report.missed[0].fit >= 0.7


def test_a_request_whose_skill_was_loaded_is_served(library: AgentLibrary) -> None:
    report = missed(library, session(REQUEST, loads=("pdf-forms",)))
    assert (report.missed, report.served) == ((), 1)


def test_a_higher_fit_lists_fewer_requests(library: AgentLibrary) -> None:
    assert missed(library, session(REQUEST), fit=1.0).missed == ()


def test_a_skill_that_the_agent_did_not_show_was_cut(library: AgentLibrary) -> None:
    [one] = missed(library, session(REQUEST, shown=("plants",))).missed
    assert (one.reason, one.detail) == (MissReason.CUT, "codex did not show it to its model in this session")


def test_a_skill_that_is_newer_than_the_request_says_so(library: AgentLibrary) -> None:
    [one] = missed(library, session(REQUEST, shown=(), time=1.0)).missed
    assert one.reason is MissReason.NEWER


def test_a_disabled_skill_says_so(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf-forms", description=FORMS)
    library = AgentLibrary.of(entries(tmp_path, disabled="pdf-forms"), ())
    assert missed(library, session(REQUEST)).missed[0].reason is MissReason.DISABLED


def test_a_skill_only_for_users_says_so(tmp_path: Path) -> None:
    (tmp_path / "pdf-forms").mkdir()
    text = f"---\nname: pdf-forms\ndescription: {FORMS}\ndisable-model-invocation: true\n---\n# Forms\n"
    (tmp_path / "pdf-forms" / "SKILL.md").write_text(text)
    library = AgentLibrary.of(entries(tmp_path), ())
    assert missed(library, session(REQUEST)).missed[0].reason is MissReason.FOR_USERS


def test_a_skill_whose_name_another_one_has_says_so(tmp_path: Path) -> None:
    write_skill(tmp_path / "user", "report", description=FORMS)
    write_skill(tmp_path / "project", "report", description="Waters the plants. Use when the plants in the office are dry.")
    folders = [SourceFolder(source, str(tmp_path / source)) for source in (Source.USER, Source.PROJECT)]
    library = AgentLibrary.of(build_catalog(folders, machine=LocalMachine("")).entries, ())
    # The other skill was loaded, which does not help.
    (one,) = missed(library, session(REQUEST, loads=("report",))).missed
    assert (one.folder, one.reason) == (str(tmp_path / "user/report"), MissReason.NAME_TAKEN)
    assert one.detail == f"hidden by the project skill in {tmp_path / 'project/report'}"
    assert missed(library, session("water the plants in the office", loads=("report",))).served == 1


def test_a_hidden_copy_does_not_count_beside_the_skill_that_is_used(tmp_path: Path) -> None:
    for source, more in (("user", ""), ("project", " Also for other forms.")):
        write_skill(tmp_path / source, "pdf-forms", description=FORMS + more)
    folders = [SourceFolder(source, str(tmp_path / source)) for source in (Source.USER, Source.PROJECT)]
    library = AgentLibrary.of(build_catalog(folders, machine=LocalMachine("")).entries, ())
    assert missed(library, session(REQUEST)).missed[0].folder == str(tmp_path / "project/pdf-forms")
    assert missed(library, session(REQUEST, loads=("pdf-forms",))).served == 1


def test_a_skill_elsewhere_is_not_visible_to_the_agent(tmp_path: Path) -> None:
    write_skill(tmp_path, "pdf-forms", description=FORMS)
    library = AgentLibrary.of((), entries(tmp_path))
    assert missed(library, session(REQUEST)).missed[0].reason is MissReason.NOT_VISIBLE


def test_requests_are_added_to_the_evals_once(tmp_path: Path) -> None:
    folder = str(write_skill(tmp_path, "pdf-forms", description=FORMS))
    assert add_queries(folder, [REQUEST, f"  {REQUEST.upper()} ", "another\nform"]) == (REQUEST.upper(), "another form")
    assert add_queries(folder, [REQUEST, "another form"]) == ()
    assert add_queries(folder, ["a third form"]) == ("a third form",)
    queries = read_queries(DiskFiles(folder))
    assert [query.text for query in queries] == [REQUEST.upper(), "another form", "a third form"]
    assert all(query.should_trigger for query in queries)


def test_other_entries_of_an_eval_file_stay(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf-forms", description=FORMS)
    (folder / "evals").mkdir()
    file = folder / "evals" / "eval_queries.json"
    file.write_text('{"skill_name": "pdf-forms", "queries": [{"query": "a joke", "should_trigger": false, "why": "x"}]}')
    add_queries(str(folder), [REQUEST])
    text = file.read_text()
    assert '"skill_name": "pdf-forms"' in text
    assert '"why": "x"' in text
    assert len(read_queries(DiskFiles(str(folder)))) == 2


def test_a_load_that_failed_in_the_agent_is_told_apart(library: AgentLibrary) -> None:
    before = Transcript(
        agent="codex", id="s1", requests=(UserRequest(LATER, REQUEST),),
        failed=(FailedLoad(LATER + 1, "pdf-forms", "permission denied"), FailedLoad(LATER + 1, "plants", "gone")),
    )  # fmt: skip
    (one,) = missed(library, Transcript.from_data(before.data())).missed
    assert (one.reason, one.detail) == (
        MissReason.FAILED, "the model asked for it, and the load failed in codex: permission denied",
    )  # fmt: skip
