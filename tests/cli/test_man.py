"""The manual pages are those of the commands, and `man` reads them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cli.shell import Shell
from metier.cli.core.command_pages import command_pages, group_pages
from metier.cli.man import manual_pages


def test_the_pages_are_written_where_man_searches(shell: Shell) -> None:
    ran = shell("man").ok()
    section = shell.home / ".local/share/man/man1"
    count = len(list(section.glob("metier*.1")))
    assert ran.out == f"Wrote {count} manual pages to ~/.local/share/man/man1; try `man metier-skill-install`\n"
    assert count == len([*command_pages(), *group_pages()])
    assert (section / "metier.1").stat().st_mode & 0o777 == 0o644
    again = shell("man", "--folder", "manuals", "--json").ok()
    assert again.data["folder"] == str(shell.project / "manuals/man1")
    assert (shell.project / "manuals/man1/metier-skill-install.1").read_bytes() == (
        section / "metier-skill-install.1"
    ).read_bytes()


def test_a_file_in_the_place_of_the_folder_is_an_error(shell: Shell) -> None:
    (shell.project / "manuals").write_text("")
    ran = shell("man", "--folder", "manuals")
    assert ran.code != 0
    assert "Traceback" not in ran.err


def test_a_page_has_usage_options_examples_and_other_names() -> None:
    text = dict(manual_pages())["metier-skill-install.1"].replace("\\-", "-")
    assert ".B metier skill install [OPTIONS] [REF]..." in text
    assert ".B --target TEXT\n" in text
    assert "metier skill install anthropics/skills --skill pdf\n" in text
    assert "Other names: metier install, metier add, metier skill add." in text


def test_every_reference_to_another_page_leads_to_one() -> None:
    pages = dict(manual_pages())
    for name, text in pages.items():
        for other in text.replace("\\-", "-").partition(".SH SEE ALSO")[2].split("\\fB")[1:]:
            assert f"{other.partition(chr(92))[0]}.1" in pages, name


def test_groff_finds_no_fault(tmp_path: Path) -> None:
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    files = []
    for name, text in manual_pages():
        (tmp_path / name).write_text(text, encoding="utf-8")
        files.append(str(tmp_path / name))
    command = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-Wbreak", "-z", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
