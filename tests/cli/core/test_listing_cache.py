"""A cached listing is always the same as a new one.

Each test changes an input of the listing and compares the output with that of a metier without a cache.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from builders import aged, skill_text, write_skill
from cli.shell import ForkServer, Ran, Shell
from metier.cli.core import listing_cache

LIST = ("skill", "list", "--json")


def uncached(shell: Shell, *words: str, **options: Any) -> Ran:
    """Runs the command without its caches, which are moved away and restored."""
    cache, aside = shell.metier / "cache", shell.metier / "cache-aside"
    if cache.exists():
        cache.rename(aside)
    try:
        return shell(*words, **options)
    finally:
        shutil.rmtree(cache, ignore_errors=True)
        if aside.exists():
            aside.rename(cache)


def agree(shell: Shell, *words: str, **options: Any) -> None:
    words = words or LIST
    expected = uncached(shell, *words, **options)
    for _ in range(2):
        # The first may use the cache or fill it; the second uses what the first left.
        got = shell(*words, **options)
        assert (got.code, got.raw, got.raw_err) == (expected.code, expected.raw, expected.raw_err)


def cache_file(shell: Shell) -> Path:
    return shell.metier / "cache" / "listings.sqlite"


def kept(shell: Shell) -> int:
    """Returns the number of cached listings."""
    if not cache_file(shell).exists():
        return 0
    db = sqlite3.connect(cache_file(shell))
    try:
        return int(db.execute("select count(*) from listing").fetchone()[0])
    finally:
        db.close()


def settled(shell: Shell) -> None:
    """Make every file old enough to be cached."""
    for folder in (shell.home, shell.project):
        for file in folder.rglob("*"):
            if file.is_file() and not file.is_symlink():
                aged(file)
    time.sleep(0.06)


@pytest.fixture
def listed(shell: Shell) -> Shell:
    """A machine with a skill, a config, a trusted project, and a cached listing."""
    shell.skill("pdf", head="metadata:\n  requires: pdftool")
    shell.skill("local", root=shell.project / ".metier/skills")
    shell.write_config('[skills]\ndeny = ["old-*"]\n')
    shell("trust").ok()
    settled(shell)
    shell(*LIST).ok()
    assert kept(shell) == 1
    return shell


def test_a_listing_that_has_not_changed_is_answered_from_memory(listed: Shell) -> None:
    db = sqlite3.connect(cache_file(listed))
    output, inputs = b"from the cache\n", db.execute("select kind, name, value from input").fetchall()
    with db:
        db.execute("update listing set output = ?, sum = ?", (output, listing_cache._checksum(output, inputs)))
    db.close()
    assert listed(*LIST).raw == output


def test_each_form_of_the_question_is_remembered_for_itself(listed: Shell) -> None:
    listed("skill", "list", "p*").ok()
    assert b"\x1b[" in listed("skill", "list", "p*", FORCE_COLOR="1").raw
    assert b"\x1b[" not in listed("skill", "list", "p*").raw
    assert listed("skill", "list", "p*", "--json").data["found"] == 1
    assert kept(listed) == 4


def test_only_the_last_dozen_listings_are_kept(listed: Shell) -> None:
    for number in range(15):
        listed("skill", "list", f"p{number}*").ok()
    assert kept(listed) == 12
    db = sqlite3.connect(cache_file(listed))
    assert db.execute("select count(*) from input where listing not in (select id from listing)").fetchone() == (0,)
    db.close()


def test_nothing_is_remembered_where_remembering_is_switched_off(shell: Shell) -> None:
    shell.skill("pdf")
    shell("skill", "list", METIER_CACHE_ENABLED="0").ok()
    assert not (shell.metier / "cache").exists()


def test_a_listing_that_was_cut_is_not_cached(shell: Shell) -> None:
    for number in range(4):
        shell.skill("deep", root=shell.skills / f"a{number}")
    settled(shell)
    ran = shell(*LIST, METIER_SKILLS_MAX_DIRECTORIES="2")
    assert "stopped after 2 folders" in ran.envelope["warnings"][0]
    assert kept(shell) == 0


def test_a_listing_that_asked_for_python_packages_is_not_cached(shell: Shell) -> None:
    shell.skill("chart", head="compatibility: Requires Python packages surely_absent")
    settled(shell)
    assert shell.listed() == {"chart": "unavailable"}
    assert kept(shell) == 0


def test_a_listing_with_a_file_that_may_not_be_read_is_not_cached(shell: Shell) -> None:
    """Permission can come back without any time or size changing."""
    file = shell.skill("pdf") / "SKILL.md"
    settled(shell)
    file.chmod(0o000)
    assert "cannot be read" in shell.sh('"$METIER" skill list pdf', humble=True).out
    assert kept(shell) == 0


# The other way round is not seen: the cache keys by time and size, which a chmod leaves alone. Loading then says so.
@pytest.mark.parametrize("modes", [(0o000, 0o644)])
def test_a_file_that_becomes_readable_is_seen(shell: Shell, modes: tuple[int, int]) -> None:
    file = shell.skill("pdf") / "SKILL.md"
    settled(shell)
    seen = []
    for mode in modes:
        file.chmod(mode)
        time.sleep(0.06)
        for _ in range(2):
            ran = shell.sh('"$METIER" skill list --json pdf', humble=True)
        seen.append(ran.data["skills"][0]["state"])
    assert seen == ["enabled" if mode else "skipped" for mode in modes]


def test_something_that_just_changed_is_not_cached_yet(shell: Shell) -> None:
    file = shell.skill("pdf") / "SKILL.md"
    settled(shell)
    # A little ahead of the clock, so that a slow machine cannot outwait the tick it stands for.
    soon = time.time_ns() + 60 * 10**9
    os.utime(file, ns=(soon, soon))
    shell(*LIST).ok()
    assert kept(shell) == 0


Change = Callable[[Shell], object]


def _rewrite(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


def _same_size_at_once(shell: Shell) -> None:
    """Two edits in a row, neither of which changes the size, with a listing between them."""
    file = shell.skills / "pdf/SKILL.md"
    _rewrite(file, "Does it.", "Does xx.")
    shell(*LIST)
    _rewrite(file, "Does xx.", "Does yy.")


def _config_in_place_at_once(shell: Shell) -> None:
    with shell.config.open("r+") as stream:
        text = stream.read()
        stream.seek(0)
        stream.write(text.replace("old-", "pdf*"))
    shell(*LIST)
    with shell.config.open("r+") as stream:
        text = stream.read()
        stream.seek(0)
        stream.write(text.replace("pdf*", "xyz-"))


def _folder_for_link(shell: Shell) -> None:
    (shell.home / ".agents/skills").unlink()
    write_skill(shell.home / ".agents/skills", "new")


def _folder_for_cache(shell: Shell) -> None:
    cache_file(shell).unlink()
    cache_file(shell).mkdir()


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


def _repository_around(shell: Shell) -> None:
    write_skill(shell.project.parent / ".agents/skills", "new")
    (shell.project.parent / ".git").mkdir()


CHANGES: dict[str, Change] = {
    "a new skill": lambda shell: shell.skill("new"),
    "a new nested skill": lambda shell: shell.skill("new", root=shell.skills / "group/of"),
    "a removed skill": lambda shell: shutil.rmtree(shell.skills / "pdf"),
    "a renamed folder": lambda shell: (shell.skills / "pdf").rename(shell.skills / "pdf2"),
    "an edited skill": lambda shell: _rewrite(shell.skills / "pdf/SKILL.md", "Does it.", "Does more."),
    "two quick edits of the same size": _same_size_at_once,
    "a skill file in lower case": lambda shell: (shell.skills / "pdf/SKILL.md").rename(shell.skills / "pdf/skill.md"),
    "a folder instead of SKILL.md": lambda shell: (shell.skills / "odd/SKILL.md").mkdir(parents=True),
    "a link out of the skill": lambda shell: _link(shell.skills / "odd/SKILL.md", shell.home / "elsewhere"),
    "a link out of the place": lambda shell: _link(shell.skills / "odd", shell.project / ".metier/skills/local"),
    "a skill in another client's folder": lambda shell: write_skill(shell.home / ".claude/skills", "new"),
    "a skill in a folder of another agent": lambda shell: write_skill(shell.project / ".github/skills", "new"),
    "a skill in the user's folder of another agent": lambda shell: write_skill(shell.home / ".cursor/skills", "new"),
    "a repository around the project": _repository_around,
    "a package": lambda shell: (
        write_skill(shell.project / "node_modules/plots/skills", "new"),
        shell("config", "set", "skills.packages", "npm:plots").ok(),
    ),
    "a shadowing project skill": lambda shell: write_skill(shell.project / ".agents/skills", "pdf"),
    "a plugin": lambda shell: write_skill(shell.metier / "plugins", "pdf"),
    "a required command installed": lambda shell: shell.install("pdftool"),
    "trust taken back": lambda shell: shell("trust", "--remove").ok(),
    "a disabled skill": lambda shell: shell("skill", "disable", "pdf"),
    "a disabled bundled skill": lambda shell: shell("skill", "disable", "hello-world"),
    "a setting": lambda shell: shell("config", "set", "skills.allow", "p*").ok(),
    "a removed config": lambda shell: shell.config.unlink(),
    "two quick edits of the config in place": _config_in_place_at_once,
    "a project config": lambda shell: shell("config", "set", "--project", "skills.deny", "*").ok(),
    "a broken config": lambda shell: shell.write_config("[skills\n"),
    "a broken trust file": lambda shell: (shell.metier / "trust.json").write_text("{"),
    "other places": lambda shell: shell("config", "set", "skills.user_dir", str(shell.home / "mine")).ok(),
    "a tighter search": lambda shell: shell("config", "set", "skills.max_depth", "1").ok(),
    "caches gone": lambda shell: shutil.rmtree(shell.metier / "cache"),
    "a cache that is no database": lambda shell: cache_file(shell).write_bytes(b"not a database" * 100),
    "a cache cut in half": lambda shell: os.truncate(cache_file(shell), cache_file(shell).stat().st_size // 2),
    "an empty cache": lambda shell: os.truncate(cache_file(shell), 0),
    "a folder instead of the cache": _folder_for_cache,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_seen_at_once(listed: Shell, change: Change) -> None:
    change(listed)
    agree(listed)
    settled(listed)
    agree(listed)


VARIABLES: dict[str, dict[str, str | None]] = {
    "a filter": {"METIER_SKILLS_DENY": "pdf"},
    "another user folder": {"METIER_SKILLS_USER_DIR": "elsewhere"},
    "SKILLS_DIR": {"SKILLS_DIR": "elsewhere"},
    "trust": {"METIER_TRUST": "1"},
    "no PATH": {"PATH": None},
    "an empty PATH": {"PATH": ""},
    "another home": {"HOME": "/nonexistent"},
}


@pytest.mark.parametrize("variables", VARIABLES.values(), ids=VARIABLES.keys())
def test_another_environment_has_another_listing(listed: Shell, variables: dict[str, Any]) -> None:
    listed("trust", "--remove").ok()
    settled(listed)
    agree(listed)
    agree(listed, **variables)
    agree(listed)


def test_another_folder_has_another_listing(listed: Shell) -> None:
    other = listed.home / "other"
    write_skill(other / ".metier/skills", "elsewhere")
    agree(listed, folder=other)
    agree(listed)


def test_a_terminal_and_a_pipe_have_different_listings(listed: Shell) -> None:
    for _ in range(2):
        _, wide = listed.on_terminal("skill", "list", columns=200)
        _, narrow = listed.on_terminal("skill", "list", columns=60)
        _, dull = listed.on_terminal("skill", "list", columns=200, NO_COLOR="1")
        assert "\x1b[" in wide
        assert "\x1b[" not in dull
        assert max(map(len, narrow.splitlines())) < max(map(len, wide.splitlines()))
        assert b"\x1b[" not in listed("skill", "list").raw


def test_a_command_that_loses_its_execute_bit_is_gone(listed: Shell) -> None:
    listed.install("pdftool")
    assert listed.listed()["pdf"] == "enabled"
    (listed.bin / "pdftool").chmod(0o644)
    assert listed.listed()["pdf"] == "unavailable"


def test_a_folder_that_stops_being_a_link_is_searched_again(shell: Shell) -> None:
    shell.skill("pdf", root=shell.home / ".claude/skills")
    (shell.home / ".agents").mkdir()
    (shell.home / ".agents/skills").symlink_to(shell.home / ".claude/skills")
    settled(shell)
    agree(shell)
    assert kept(shell) == 1
    _folder_for_link(shell)
    agree(shell)
    assert "new" in shell.listed()


def test_every_place_is_among_the_folders_whose_links_are_watched(tmp_path: Path) -> None:
    from metier.app import App

    environment = {"HOME": str(tmp_path / "home"), "METIER_HOME": str(tmp_path / "metier")}
    (tmp_path / "dir").mkdir()
    for extra in ({}, {"SKILLS_DIR": str(tmp_path / "dir")}):
        app = App(environment={**environment, **extra}, folder=tmp_path / "project")
        bundled, *places = [place.root for place in app.skills.places]
        assert set(places) <= set(listing_cache._possible_roots(app)), bundled


def test_a_damaged_row_is_not_printed(listed: Shell) -> None:
    whole = cache_file(listed).read_bytes()
    expected = listed(*LIST).raw
    place = whole.index(b"hello-world")
    cache_file(listed).write_bytes(whole[:place] + b"HELLO" + whole[place + 5 :])
    assert listed(*LIST).raw == expected


def test_any_damage_to_the_answers_goes_unnoticed(listed: Shell) -> None:
    expected = uncached(listed, *LIST).raw
    whole = cache_file(listed).read_bytes()
    rng = random.Random(1)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 4, 64))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cache_file(listed).unlink(missing_ok=True)
        cache_file(listed).write_bytes(data)
        ran = listed(*LIST)
        assert (ran.code, ran.raw, ran.err) == (0, expected, ""), ran


def test_a_listing_asked_for_in_a_process_is_remembered_under_its_own_words(listed: Shell) -> None:
    """The arguments come from the caller of main, not necessarily from sys.argv."""
    code = "import sys; from metier.cli.main import main; sys.argv = ['x', 'skill', 'list']; main(sys.stdin.read().split())"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], input=b"skill list --json --limit 1", env=listed.environment, cwd=listed.project,
            capture_output=True, check=True,
        )  # fmt: skip
        assert done.stdout.startswith(b'{"version"')
    assert listed("skill", "list").out.startswith("✓ code-review")


@dataclass
class Life:
    """A machine to which things happen, one after the other, from a seed."""

    shell: Shell
    rng: random.Random
    variables: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    log: list[str] = field(default_factory=list)

    @property
    def roots(self) -> list[Path]:
        shell = self.shell
        return [
            shell.skills, shell.home / ".claude/skills", shell.home / ".agents/skills", shell.project / ".metier/skills",
            shell.project / ".claude/skills", shell.metier / "plugins", shell.home / "dir",
        ]  # fmt: skip

    def step(self) -> None:
        acts = [name for name in dir(self) if name.startswith("do_")]
        act = self.rng.choice(acts)
        self.log.append(act)
        try:
            getattr(self, act)()
        except (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            self.log.append(f"  nothing happened: {error}")

    def files(self, pattern: str = "SKILL.md") -> list[Path]:
        return sorted(file for root in self.roots for file in root.rglob(pattern) if file.is_file())

    def some_file(self) -> Path:
        files = self.files()
        if not files:
            raise FileNotFoundError("no skill yet")
        return self.rng.choice(files)

    def do_add(self) -> None:
        name = self.rng.choice(("a", "b", "c", "pdf", "hello-world"))
        head = self.rng.choice(("", "metadata:\n  requires: tool", "default_enabled: false", "compatibility: Requires jq"))
        root = self.rng.choice(self.roots) / self.rng.choice(("", "", "group", "group/deep"))
        write_skill(root, name, head=head)

    do_add_another = do_add_a_third = do_add

    def do_edit(self) -> None:
        file = self.some_file()
        file.write_text(skill_text(file.parent.name, description=f"Does {self.rng.random()}. Use when asked."))

    def do_edit_with_the_same_size(self) -> None:
        file = self.some_file()
        for _ in range(2):
            file.write_text(skill_text(file.parent.name, description=f"Does {self.rng.randrange(10**6, 10**7)}. Use when."))
            self.shell(*LIST, folder=self.folder, **self.variables)

    def do_break(self) -> None:
        self.some_file().write_bytes(self.rng.choice((b"", b"\xff\xfe", b"no head", b"---\nname: [\n---\n", b"\x00")))

    def do_remove(self) -> None:
        shutil.rmtree(self.some_file().parent)

    def do_rename(self) -> None:
        folder = self.some_file().parent
        folder.rename(folder.with_name(self.rng.choice(("x", "y", "z"))))

    def do_lower_case(self) -> None:
        file = self.some_file()
        file.rename(file.with_name("skill.md"))

    def do_upper_case(self) -> None:
        file = self.rng.choice(self.files("skill.md") or [Path("/nonexistent/skill.md")])
        file.rename(file.with_name("SKILL.md"))

    def do_link(self) -> None:
        root = self.rng.choice(self.roots)
        root.mkdir(parents=True, exist_ok=True)
        (root / self.rng.choice(("l", "m"))).symlink_to(self.some_file().parent)

    def do_link_a_root(self) -> None:
        root, target = self.rng.sample(self.roots, 2)
        if root.is_symlink():
            root.unlink()
        elif root.exists():
            shutil.rmtree(root)
        root.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_symlink():
            root.symlink_to(target)

    def do_chmod(self) -> None:
        self.some_file().chmod(self.rng.choice((0o600, 0o644)))

    def do_touch(self) -> None:
        os.utime(self.some_file())

    def do_install(self) -> None:
        self.shell.install(self.rng.choice(("tool", "jq", "gh")))

    def do_uninstall(self) -> None:
        self.rng.choice([*sorted(self.shell.bin.iterdir()), Path("/nonexistent/tool")]).unlink()

    def do_configure(self) -> None:
        words = self.rng.choice((
            ("set", "skills.deny", "a*"), ("set", "skills.deny", "b*"), ("unset", "skills.deny"), ("set", "skills.allow", "*"),
            ("set", "skills.enabled_bundled", "gh"), ("unset", "skills.enabled_bundled"), ("set", "skills.max_depth", "1"),
            ("unset", "skills.max_depth"),
            ("set", "skills.user_dir", str(self.shell.home / "dir")), ("unset", "skills.user_dir"),
            ("set", "--project", "skills.disabled", "c"), ("unset", "--project", "skills.disabled"),
            ("set", "cache.enabled", "false"), ("set", "cache.enabled", "true"),
        ))  # fmt: skip
        self.shell("config", *words)

    def do_edit_the_config_in_place(self) -> None:
        text = self.shell.config.read_text()
        with self.shell.config.open("r+") as stream:
            stream.write(text.replace("a*", "b*") if "a*" in text else text.replace("b*", "a*"))

    def do_trust(self) -> None:
        self.shell("trust").ok()

    def do_distrust(self) -> None:
        self.shell("trust", "--remove").ok()

    def do_switch(self) -> None:
        self.shell("skill", self.rng.choice(("enable", "disable")), self.rng.choice(("a", "b", "pdf", "hello-world", "gh")))

    def do_forget(self) -> None:
        shutil.rmtree(self.shell.metier / "cache")

    def do_corrupt(self) -> None:
        file = self.rng.choice(sorted((self.shell.metier / "cache").iterdir()))
        data = bytearray(file.read_bytes())
        for _ in range(20):
            data[self.rng.randrange(len(data))] ^= 0xFF
        # Only the listing proves its rows; a flipped bit in the metadata cache is tested elsewhere.
        file.write_bytes(data if file.name.startswith("listings") else b"garbage" * 200)

    def do_change_variables(self) -> None:
        choices: tuple[dict[str, Any], ...] = (
            {}, {}, {"METIER_SKILLS_DENY": "a*"}, {"METIER_TRUST": "1"}, {"SKILLS_DIR": str(self.shell.home / "dir")},
            {"PATH": None}, {"PATH": f"{self.shell.bin}:/nonexistent"}, {"METIER_CACHE_ENABLED": "0"}, {"FORCE_COLOR": "1"},
        )  # fmt: skip
        self.variables = self.rng.choice(choices)

    def do_move(self) -> None:
        self.folder = self.rng.choice((None, self.shell.home, self.shell.bin))

    def do_wait(self) -> None:
        settled(self.shell)

    do_wait_more = do_wait_again = do_wait


LIVES = int(os.environ.get("TEST_LIVES", "4"))


@pytest.mark.parametrize("seed", range(LIVES))
def test_cached_and_uncached_listings_agree_after_random_changes(tmp_path: Path, fork_server: ForkServer, seed: int) -> None:
    life = Life(Shell(tmp_path, fork_server), random.Random(seed))
    for _ in range(20):
        life.step()
        for words in (LIST, ("skill", "list", "--state", "enabled")):
            expected = uncached(life.shell, *words, folder=life.folder, **life.variables)
            for _ in range(2):
                got = life.shell(*words, folder=life.folder, **life.variables)
                assert (got.code, got.raw, got.err) == (expected.code, expected.raw, expected.err), life.log
