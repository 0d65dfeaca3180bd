"""Skills of another MCP server as a source: from its listing to an approved script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import app_in, write_config, write_skill
from cli.shell import Shell
from mcp_fake_server import FakeMcpServer, fake_mcp_server
from mcp_servers import METIER, environment, home_skills
from metier.app import App
from metier.catalog import Source, State
from metier.errors import MetierError, RefusedError
from metier.mcp.connections import list_entries
from metier.runtime import ActivatedBy, ApprovalAnswer, Question
from metier.spec import Json


@pytest.fixture
def acme() -> Iterator[FakeMcpServer]:
    with fake_mcp_server() as server:
        yield server


def refreshed(tmp_path: Path, server: FakeMcpServer, config: str = "") -> App:
    from datetime import UTC, datetime

    write_config(tmp_path, f'[skills.mcp.acme]\nurl = "{server.url}"\n{config}')
    app = app_in(tmp_path)
    (configured,) = app.remote_servers.servers
    app.remote_servers.listings.keep(configured, asyncio.run(list_entries(configured, {})), now=datetime.now(UTC))
    return app_in(tmp_path)


def test_its_skills_are_in_the_catalog_and_shadow_none_of_ours(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds")
    acme.add("pdf-forms")
    write_skill(home_skills(tmp_path), "pdf-forms", description="Ours. Use when asked.")
    catalog = refreshed(tmp_path, acme).catalog
    assert catalog["pdf-forms"].source is Source.USER
    assert catalog["acme:pdf-forms"].source is Source.MCP
    assert catalog["acme:refunds"].state is State.ENABLED
    assert "the MCP server acme" in catalog["acme:refunds"].description
    assert "refunds" not in catalog


def test_a_local_skill_of_the_very_same_name_wins(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds")
    data = b'---\nname: "acme:refunds"\ndescription: Ours.\n---\nOurs.\n'
    write_skill(home_skills(tmp_path), "x", data=data)
    assert refreshed(tmp_path, acme).catalog["acme:refunds"].source is Source.USER


def test_listing_and_building_a_catalog_fetch_no_file_and_wait_for_no_network(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds", notes_md=b"notes")
    app = refreshed(tmp_path, acme)
    asked = len(acme.headers)
    assert "acme:refunds" in app.catalog
    session = app.sessions.open(kept=False)
    assert [file.path for file in session.resources("acme:refunds")] == ["notes.md"]
    session.select("refunds please")
    assert (acme.reads, len(acme.headers)) == ([], asked)


def test_activation_fetches_the_instructions_and_names_the_origin_first(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds", notes_md=b"notes", scripts__go_sh=b"echo refunded $1\n")
    app = refreshed(tmp_path, acme)
    session = app.sessions.open(kept=False)
    activation = session.activate("acme:refunds", by=ActivatedBy.MODEL)
    first, second = activation.text.split("\n")[:2]
    assert first == '<skill_content name="acme:refunds">'
    assert "comes from the MCP server acme" in second
    assert "Skill directory: mcp://acme/refunds" in activation.text
    assert acme.reads == ["skill://refunds/SKILL.md"]
    # Offering tools reads no script either.
    assert {tool.name for tool in session.tools()} >= {"read_skill_resource", "run_skill_script"}
    assert acme.reads == ["skill://refunds/SKILL.md"]
    assert session.read("acme:refunds", "notes.md") == b"notes"
    app.remote_servers.connections.close()


@pytest.mark.parametrize("rotten", ["SKILL.md", "notes.md"])
def test_content_that_changed_behind_the_listing_is_refused(tmp_path: Path, acme: FakeMcpServer, rotten: str) -> None:
    acme.add("refunds", notes_md=b"notes")
    app = refreshed(tmp_path, acme)
    acme.files[f"skill://refunds/{rotten}"] = acme.files[f"skill://refunds/{rotten}"][:-1] + b"!"
    session = app.sessions.open(kept=False)
    with pytest.raises(RefusedError) as caught:
        session.activate("acme:refunds")
        session.read("acme:refunds", "notes.md")
    assert caught.value.rule == "mcp-digest"
    app.remote_servers.connections.close()


def run_go(app: App, approve: object = None) -> str:
    session = app.sessions.open(kept=False, approve=approve)  # type: ignore[arg-type]
    return asyncio.run(session.run_script("acme:refunds", "go.sh", ["5"])).stdout


def test_no_script_runs_without_an_approval_and_the_policy_cannot_give_it_in_general(
    tmp_path: Path, acme: FakeMcpServer
) -> None:
    acme.add("refunds", head="allowed-tools: Bash Script\n", scripts__go_sh=b"echo refunded $1\n")
    acme.entries[0]["frontmatter"]["allowed-tools"] = "Bash Script"
    policy = '\n[policy]\nscripts = "allow"\nallow = ["Script", "Bash"]\n'
    app = refreshed(tmp_path, acme, policy)
    with pytest.raises(RefusedError) as caught:
        run_go(app)
    assert caught.value.rule == "origin"
    assert not any("scripts" in uri for uri in acme.reads)
    # Its own requests do not count as requests of the user.
    session = app.sessions.open(kept=False)
    session.activate("acme:refunds")
    assert session.permissions.check("Bash", "rm -rf /").verdict == "ask"
    app.remote_servers.connections.close()


def test_an_approval_holds_for_exactly_this_content(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds", scripts__go_sh=b"echo refunded $1\n", notes_md=b"notes")
    app = refreshed(tmp_path, acme)
    questions: list[Question] = []

    def always(question: Question) -> ApprovalAnswer:
        questions.append(question)
        return ApprovalAnswer.ALWAYS

    assert run_go(app, always) == "refunded 5\n"
    assert questions[0].skill == "acme:refunds"
    assert run_go(app) == "refunded 5\n"
    app.remote_servers.connections.close()
    # Another file of the skill changes, honestly: the approval has ended.
    acme.entries.clear()
    acme.add("refunds", scripts__go_sh=b"echo refunded $1\n", notes_md=b"other")
    app = refreshed(tmp_path, acme)
    with pytest.raises(RefusedError) as caught:
        run_go(app)
    assert caught.value.rule == "origin"
    app.remote_servers.connections.close()


def test_a_policy_that_forbids_scripts_is_not_asked_about(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds", scripts__go_sh=b"echo refunded $1\n")
    app = refreshed(tmp_path, acme, '\n[policy]\nscripts = "deny"\n')
    with pytest.raises(RefusedError):
        run_go(app, lambda _: ApprovalAnswer.ALWAYS)
    app.remote_servers.connections.close()


def test_it_adds_no_other_skill_and_no_toolset(tmp_path: Path, acme: FakeMcpServer) -> None:
    write_skill(home_skills(tmp_path), "secret-work", body="The secret.\n")
    entry = acme.add(
        "refunds", head="dependencies: [secret-work]\ntoolsets: ['tools.py:Tools']\n", tools_py=b"raise SystemExit\n"
    )
    entry["frontmatter"] |= {"dependencies": ["secret-work"], "toolsets": ["tools.py:Tools"]}
    app = refreshed(tmp_path, acme)
    session = app.sessions.open(kept=False, approve=lambda _: ApprovalAnswer.ALWAYS)
    activation = session.activate("acme:refunds")
    assert session.active_names == ("acme:refunds",)
    assert "The secret." not in activation.text
    assert activation.warnings == ()
    assert not any("tools.py" in uri for uri in acme.reads)
    app.remote_servers.connections.close()


def test_it_is_not_served_on_to_others(tmp_path: Path, acme: FakeMcpServer) -> None:
    acme.add("refunds")
    app = refreshed(tmp_path, acme)
    from metier.mcp import serve_catalog

    offering = serve_catalog(app.catalog)
    assert not [name for name in (*offering.published, *offering.for_models, *offering.for_people) if "refunds" in name]


def test_a_listing_that_does_not_end_or_is_none_is_refused(acme: FakeMcpServer) -> None:
    from metier.mcp.remote_servers import RemoteServer

    def ask() -> list[Json]:
        return asyncio.run(list_entries(RemoteServer(name="acme", url=acme.url), {}))

    acme.page = lambda _: {"skills": [], "nextCursor": "again"}
    with pytest.raises(RefusedError, match="does not end"):
        ask()
    numbers = iter(range(10_000))
    acme.page = lambda _: {"skills": [], "nextCursor": str(next(numbers))}
    with pytest.raises(RefusedError, match="does not end"):
        ask()
    acme.page = lambda _: {"skills": "none"}
    with pytest.raises(MetierError):
        ask()


def test_a_server_without_the_extension_offers_nothing(tmp_path: Path) -> None:
    with fake_mcp_server(extension=False) as server, pytest.raises(RefusedError, match="offers no skills"):
        refreshed(tmp_path, server)


def test_the_token_goes_to_its_server(tmp_path: Path, acme: FakeMcpServer) -> None:
    from metier.mcp.remote_servers import RemoteServer

    server = RemoteServer(name="acme", url=acme.url, auth="bearer:${ACME_TOKEN}")
    asyncio.run(list_entries(server, {"ACME_TOKEN": "s3cret"}))
    assert all(headers["authorization"] == "Bearer s3cret" for headers in acme.headers)


def test_a_project_cannot_name_a_server(tmp_path: Path) -> None:
    write_config(tmp_path, '[skills.mcp.evil]\ncommand = "touch"\nargs = ["/tmp/evil"]\n', project=True)
    app = app_in(tmp_path, variables={"METIER_TRUST": "1"})
    assert app.remote_servers.servers == ()


# --- on the command line ----------------------------------------------------------------------------------------------


def test_refresh_asks_a_program_and_the_skill_can_be_shown_read_approved_and_run(shell: Shell, tmp_path: Path) -> None:
    there = tmp_path / "there"
    folder = write_skill(home_skills(there), "refunds")
    (folder / "scripts").mkdir()
    (folder / "scripts/go.sh").write_text("echo refunded $1\n")
    shell.write_config(
        f'[skills.mcp.acme]\ncommand = "{METIER}"\nargs = ["mcp"]\nenv = {json.dumps(environment(there)).replace(":", " =")}\n'
    )
    assert "not listed yet" in shell("mcp", "list").ok().out
    row = shell("mcp", "refresh", "--json").data["servers"][0]
    assert "acme:refunds" in {skill["name"] for skill in row["skills"]}
    assert shell.listed()["acme:refunds"] == "enabled"
    assert shell("skill", "show", "acme:refunds", "--json").data["files"][1]["path"] == "scripts/go.sh"
    assert "Do it." in shell("skill", "activate", "acme:refunds").out
    assert "Do it." in shell("skill", "show", "acme:refunds", "--body").ok().out
    assert shell("policy", "allow", "Script", "--skill", "acme:refunds", "--json").data["digest"].startswith("sha256:")
    assert shell("policy", "show", "--json").data["approvals"][0]["valid"]
    assert shell("skill", "run", "acme:refunds", "go", "--", "5", PATH="/usr/bin:/bin").out == "refunded 5\n"
    shell("skill", "delete", "acme:refunds", "--yes").failed(5, "on an MCP server")
    shell("skill", "validate", "acme:refunds").failed(5, "no folder here")
    assert "acme:refunds" not in shell("prompt", "refund").out
    assert "acme:refunds" in shell("prompt", "--preset", "tool").out


def test_a_refresh_is_seen_by_the_next_listing(shell: Shell, acme: FakeMcpServer) -> None:
    shell.write_config(f'[skills.mcp.acme]\nurl = "{acme.url}"\n')
    assert "acme:refunds" not in shell.listed()
    assert "acme:refunds" not in shell.listed()
    acme.add("refunds")
    shell("mcp", "refresh", "acme").ok()
    assert shell.listed()["acme:refunds"] == "enabled"


def test_mistakes_are_one_sentence_and_one_server_that_is_down_stops_no_other(shell: Shell, acme: FakeMcpServer) -> None:
    shell("mcp", "refresh").failed(3, "no MCP server is configured")
    acme.add("refunds")
    acme.entries.append({"uri": "skill://broken/SKILL.md"})
    shell.write_config(f'[skills.mcp.acme]\nurl = "{acme.url}"\n[skills.mcp.down]\ncommand = "no-such-program"\n')
    shell("mcp", "refresh", "other").failed(3, "unknown MCP server 'other'")
    shell("mcp", "refresh", "down").failed(4, "there is no program")
    ran = shell("mcp", "refresh")
    assert (ran.code, "acme:refunds" in ran.out, "skipped" in ran.out) == (1, True, True)
    assert ran.err.startswith("warning: the MCP server 'down' cannot be used now")
    shell.write_config('[skills.mcp."Not Good"]\ncommand = "x"\n')
    shell("mcp", "list").failed(2, "is not a server name")
