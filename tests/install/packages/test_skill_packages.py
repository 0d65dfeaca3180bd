"""Packages of scripts from declaration to environment, with the real uv and npm and an index on loopback."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.install import (
    BuiltPackage,
    EnvironmentCache,
    InstallScope,
    LockCondition,
    PackagePrograms,
    ScopeLevel,
    SkillPackages,
    SkillStore,
    package_changes,
    verify,
)
from metier.install.lock.lock_file import Lock, parse_lock, render_lock
from metier.install.packages.environments import _stamp
from metier.install.packages.pythons import satisfies
from metier.install.packages.resolve import _read_requirements
from metier.spec import DeclaredPackages
from metier.values import replace
from package_index import PackageIndex

SCRIPT = '# /// script\n# dependencies = ["greeting>=1"]\n# ///\nimport greeting\nprint(greeting.hello())\n'
ZEROS = "0" * 64
OLD_LOCK = (
    f'version = 1\n[skills.a]\nsource = "path"\nurl = "/x"\ndigest = "sha256:{ZEROS}"\n'
    f'[skills.a.files]\n"SKILL.md" = "100644 {ZEROS}"\n'
)
HELLO = "import shout\ndef hello(): return shout.loud('hello')\n"


@pytest.fixture
def index() -> Iterator[PackageIndex]:
    with PackageIndex() as found:
        found.add_wheel("greeting", "1.0", {"greeting/__init__.py": HELLO}, requires=["shout"], license="Apache-2.0")
        found.add_wheel("shout", "2.1", {"shout.py": "def loud(text): return text.upper()\n"})
        scripts = {"postinstall": "touch /tmp/metier-npm-script-ran"}
        left = {"index.js": "module.exports = (x) => require('inner')(x);"}
        found.add_tarball("left", "1.0.0", left, dependencies={"inner": "^1"}, scripts=scripts)
        found.add_tarball("inner", "1.2.0", {"index.js": "module.exports = (x) => `<${x}>`;"}, license="ISC")
        yield found


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "skills/greet"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: Greets. Use when greeting.\n---\nRun it.\n")
    (folder / "scripts/greet.py").write_text(SCRIPT)
    return folder


def skill_packages(
    tmp_path: Path, index: PackageIndex, *, home: str = "home", offline: bool = False, path: str = ""
) -> SkillPackages:
    folder = tmp_path / home
    environment = {"HOME": str(folder), "PATH": path or f"{Path(sys.executable).parent}:/usr/bin:/bin", **index.variables}
    return SkillPackages(
        cache=EnvironmentCache(str(folder / "environments")),
        programs=PackagePrograms(folder=str(folder / "downloads"), environment=environment, offline=offline),
        locks=str(folder / "locks"),
    )


def only(found: tuple[DeclaredPackages, ...]) -> DeclaredPackages:
    assert len(found) == 1
    return found[0]


def prepared(packages: SkillPackages, skill: Path) -> str:
    declared = only(packages.declared(str(skill)))
    return packages.prepare(str(skill), declared, packages.resolve(str(skill), declared)).tree


def run_python(tree: str, code: str) -> str:
    words = [sys.executable, "-I", "-c", f"import sys; sys.path.append({tree!r}); {code}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_what_a_script_declares_is_locked_with_hashes_built_and_found_again(
    tmp_path: Path, index: PackageIndex, skill: Path
) -> None:
    packages = skill_packages(tmp_path, index)
    declared = only(packages.declared(str(skill)))
    assert packages.find(str(skill), declared) is None
    locked = packages.resolve(str(skill), declared)
    assert [str(one) for one in locked.packages] == ["greeting 1.0", "shout 2.1"]
    assert all(hashes.startswith("sha256:") for hashes in locked.rows.values())
    built = packages.prepare(str(skill), declared, locked)
    assert [(one.name, one.license) for one in built.packages] == [("greeting", "Apache-2.0"), ("shout", "MIT")]
    assert run_python(built.tree, "import greeting; print(greeting.hello())") == "HELLO"
    index.stop()
    assert skill_packages(tmp_path, index).find(str(skill), declared) == built


def test_a_second_machine_builds_the_same_bytes_from_the_lock(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    first, second = (skill_packages(tmp_path, index, home=home) for home in ("one", "two"))
    declared = only(first.declared(str(skill)))
    locked = first.resolve(str(skill), declared)
    first.prepare(str(skill), declared, locked)
    index.add_wheel("greeting", "1.1", {"greeting/__init__.py": "def hello(): return 'newer'\n"})
    second.prepare(str(skill), declared, locked)
    files = [
        (tmp_path / home / "environments" / one.cache.key(locked) / "files.json").read_text()
        for home, one in (("one", first), ("two", second))
    ]
    source_only = [{path: row for path, row in json.loads(text).items() if ".pyc" not in path} for text in files]
    assert source_only[0] == source_only[1]


def test_a_wheel_that_is_not_the_locked_one_is_refused(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    declared = only(packages.declared(str(skill)))
    locked = packages.resolve(str(skill), declared)
    shutil.rmtree(tmp_path / "home/downloads")
    index.add_wheel("greeting", "1.0", {"greeting/__init__.py": "import os\ndef hello(): return 'evil'\n"})
    with pytest.raises(UnavailableError, match=r"(?i)hash"):
        packages.prepare(str(skill), declared, locked)
    assert packages.cache.size().environments == 0
    assert not [name for name in os.listdir(tmp_path / "home/environments") if not name.endswith(".lock")]


def test_source_distributions_are_not_built(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    (skill / "scripts/greet.py").write_text(SCRIPT.replace("greeting>=1", "onlysource"))
    index.wheels["onlysource-1.0.tar.gz"] = b"not a wheel"
    with pytest.raises(UnavailableError) as refused:
        prepared(skill_packages(tmp_path, index), skill)
    assert "onlysource" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bytecode_of_a_package_is_replaced_by_ours(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    planted = {"shout.py": "def loud(text): return text\n", "__pycache__/shout.cpython-311.pyc": "evil", "hidden.pyc": "evil"}
    index.add_wheel("shout", "3.0", planted)
    tree = Path(prepared(skill_packages(tmp_path, index), skill))
    assert not (tree / "hidden.pyc").exists()
    compiled = [path for path in tree.rglob("*.pyc") if path.name.startswith("shout.")]
    assert len(compiled) == 1
    data = compiled[0].read_bytes()
    assert b"evil" not in data
    # The flag of PEP 552 for a hash that is not checked.
    assert data[4:8] == b"\x01\x00\x00\x00"


def test_an_environment_is_read_only_and_a_change_is_found(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    tree = Path(prepared(packages, skill))
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o222 for path in (tree, *tree.rglob("*"))}
    assert modes == {0}
    declared = only(packages.declared(str(skill)))
    locked = packages.locked(str(skill), declared)
    assert locked is not None
    module = tree / "shout.py"
    before = module.stat()
    module.chmod(0o644)
    module.write_text("def loud(text): return text.lower()\n")
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(RefusedError, match=r"changed: M shout\.py") as refused:
        packages.find(str(skill), declared)
    assert "skill prepare" in refused.value.hint
    assert packages.cache.verify(locked) == ("M shout.py",)
    assert "changed" in packages.status(str(skill))[0].problem
    rebuilt = packages.prepare(str(skill), declared, locked)
    assert run_python(rebuilt.tree, "import shout; print(shout.loud('x'))") == "X"
    assert packages.cache.verify(locked) == ()


@pytest.mark.parametrize("change", ["add", "delete", "link", "rename"])
def test_every_kind_of_change_is_found(tmp_path: Path, index: PackageIndex, skill: Path, change: str) -> None:
    packages = skill_packages(tmp_path, index)
    tree = Path(prepared(packages, skill))
    tree.chmod(0o755)
    if change == "add":
        (tree / "os.py").write_text("evil")
    elif change == "delete":
        (tree / "shout.py").unlink()
    elif change == "link":
        (tree / "other.py").symlink_to("/etc/passwd")
    else:
        (tree / "shout.py").rename(tree / "loud.py")
    with pytest.raises(RefusedError, match="were changed"):
        packages.find(str(skill), only(packages.declared(str(skill))))


def test_files_that_were_only_copied_are_still_good(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    tree = Path(prepared(packages, skill))
    folder = tree.parent
    shutil.copytree(folder, tmp_path / "backup", symlinks=True)
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder, symlinks=True)
    assert _stamp(str(tree)) != (folder / "stamp").read_text()
    declared = only(packages.declared(str(skill)))
    assert packages.find(str(skill), declared) is not None
    assert _stamp(str(tree)) == (folder / "stamp").read_text()


def test_four_that_build_at_once_build_once(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    locked = packages.resolve(str(skill), only(packages.declared(str(skill))))
    started = threading.Barrier(4)
    built: list[str] = []
    found: list[str] = []

    def build(tree: str, _: str) -> tuple[str, tuple[BuiltPackage, ...]]:
        built.append(tree)
        (Path(tree) / "a.py").write_text("")
        return sys.executable, ()

    def prepare() -> None:
        started.wait()
        found.append(packages.cache.build(locked, build).tree)

    threads = [threading.Thread(target=prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    locked = packages.resolve(str(skill), only(packages.declared(str(skill))))

    def build(tree: str, _: str) -> tuple[str, tuple[BuiltPackage, ...]]:
        (Path(tree) / "link").symlink_to("/etc/passwd")
        return "", ()

    with pytest.raises(RefusedError, match="not a file"):
        packages.cache.build(locked, build)
    assert [name for name in os.listdir(packages.cache.folder) if not name.endswith(".lock")] == []


def test_offline_works_with_a_filled_cache_and_says_so_without(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    prepared(packages, skill)
    index.stop()
    packages.cache.clean()
    offline = skill_packages(tmp_path, index, offline=True)
    assert Path(prepared(offline, skill)).is_dir()
    with pytest.raises(UnavailableError) as refused:
        prepared(skill_packages(tmp_path, index, home="other", offline=True), skill)
    assert "--offline" in refused.value.hint


def test_without_uv_one_sentence_says_what_to_install(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    programs = replace(packages.programs, which=lambda name: None if name == "uv" else shutil.which(name))
    with pytest.raises(UnavailableError, match="uv, which is not installed") as missing:
        prepared(replace(packages, programs=programs), skill)
    assert "metier[packages]" in missing.value.hint


def test_a_python_that_is_missing_is_named(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    (skill / "scripts/greet.py").write_text(SCRIPT.replace("# dep", '# requires-python = ">=3.99"\n# dep'))
    with pytest.raises(UnavailableError, match=r"needs Python >=3\.99; this machine has 3") as missing:
        prepared(skill_packages(tmp_path, index), skill)
    assert "PATH" in missing.value.hint
    packages = skill_packages(tmp_path, index)
    declared = replace(only(packages.declared(str(skill))), python="")
    locked = replace(packages.resolve(str(skill), declared), python="3.99")
    with pytest.raises(UnavailableError, match=r"locked for Python 3\.99, which is not installed") as other:
        packages.prepare(str(skill), declared, locked)
    assert "--upgrade" in other.value.hint


@pytest.mark.parametrize(
    ("range_", "fits"),
    [("", True), (">=3.11", True), (">=3.11,<3.12", True), ("==3.11.*", True), ("~=3.10", True), (">3.11.7", False),
     ("<3", False), ("!=3.11.*", False), ("==3.11.7", True), ("~=3.11.8", False), ("nonsense", False)],
)  # fmt: skip
def test_ranges_of_python(range_: str, fits: bool) -> None:
    assert satisfies((3, 11, 7), range_) is fits


@pytest.mark.parametrize(
    ("marker", "applies"),
    [
        ("", True), ("sys_platform == 'win32'", True), ("python_full_version < '3.12'", True),
        ("python_full_version >= '3.12'", False), ("python_full_version >= '3.12' and sys_platform == 'win32'", False),
        ("python_full_version >= '3.12' or sys_platform == 'win32'", True), ("python_full_version == '3.11.*'", True),
        ("python_full_version < '3.11.4'", True), ("python_version < '3.11'", False), ("(python_full_version >= '3.12')", True),
    ],
)  # fmt: skip
def test_only_the_rows_of_the_locked_python_are_kept(marker: str, applies: bool) -> None:
    line = f"a==1 ; {marker} \\\n    --hash=sha256:aa\n" if marker else "a==1 \\\n    --hash=sha256:aa\n"
    assert bool(_read_requirements(line, "3.11")) is applies


def test_what_the_user_configured_is_passed_and_the_rest_is_not(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\npwd >> {tmp_path}/seen\nexit 1\n")
    uv.chmod(0o755)
    more = {
        "AWS_SECRET_ACCESS_KEY": "secret",
        "UV_NO_BINARY": "1",
        "UV_EXTRA_INDEX_URL": "https://own.example",
        "VIRTUAL_ENV": "/x",
    }
    environment = {**packages.programs.environment, **more, "PATH": f"{uv.parent}:{packages.programs.environment['PATH']}"}
    with pytest.raises(UnavailableError):
        prepared(replace(packages, programs=replace(packages.programs, environment=environment)), skill)
    seen = (tmp_path / "seen").read_text()
    assert "UV_EXTRA_INDEX_URL=https://own.example" in seen
    assert "UV_DEFAULT_INDEX" in seen
    assert not any(name in seen for name in ("AWS", "UV_NO_BINARY", "VIRTUAL_ENV"))
    assert seen.splitlines()[-1].startswith(str(tmp_path / "home/downloads/work-"))


def test_npm_packages_are_locked_and_built_without_their_scripts(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    (skill / "scripts/greet.py").unlink()
    (skill / "package.json").write_text(json.dumps({"dependencies": {"left": "^1.0.0"}, "scripts": {"preinstall": "exit 3"}}))
    (skill / "scripts/greet.mjs").write_text("import left from 'left'; console.log(left('x'));")
    packages = skill_packages(tmp_path, index)
    declared = only(packages.declared(str(skill)))
    locked = packages.resolve(str(skill), declared)
    assert [str(one) for one in locked.packages] == ["inner 1.2.0", "left 1.0.0"]
    assert index.url not in str(locked.rows)
    built = packages.prepare(str(skill), declared, locked)
    assert [(one.name, one.license) for one in built.packages] == [("inner", "ISC"), ("left", "MIT")]
    assert not os.path.exists("/tmp/metier-npm-script-ran")
    assert sorted(os.listdir(f"{built.tree}/node_modules")) == ["inner", "left"]
    code = f"console.log(require({built.tree + '/node_modules/left'!r})('x'))"
    assert subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True).stdout == "<x>\n"


def test_an_archive_of_npm_that_is_not_the_locked_one_is_refused(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    (skill / "scripts/greet.py").unlink()
    (skill / "package.json").write_text(json.dumps({"dependencies": {"left": "^1.0.0"}}))
    (skill / "scripts/greet.js").write_text("")
    packages = skill_packages(tmp_path, index)
    declared = only(packages.declared(str(skill)))
    locked = packages.resolve(str(skill), declared)
    shutil.rmtree(tmp_path / "home/downloads")
    index.add_tarball("inner", "1.2.0", {"index.js": "evil"})
    with pytest.raises(UnavailableError, match=r"(?i)integrity"):
        packages.prepare(str(skill), declared, locked)


def installed(tmp_path: Path, skill: Path) -> SkillStore:
    """A store whose lock has the skill."""
    from metier.install import Access, InstallOptions, install

    home = tmp_path / "user"
    home.mkdir(exist_ok=True)
    scope = InstallScope(
        level=ScopeLevel.USER,
        root=str(home / ".metier"),
        home=str(home),
        plugins=str(home / ".metier/plugins"),
        environment={},
        metier_home=str(home / ".metier"),
    )
    store = SkillStore(scope)
    install([str(skill)], store=store, access=Access(environment={}, folder=str(tmp_path)), options=InstallOptions())
    return store


def test_the_lock_of_an_installed_skill_has_its_packages(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    store = installed(tmp_path, skill)
    packages = replace(skill_packages(tmp_path, index), stores=lambda: [store])
    folder = store.folder_of(store.lock()["greet"])
    tree = prepared(packages, Path(folder))
    text = Path(store.scope.lock_file).read_text()
    assert '[skills.greet.packages."scripts/greet.py".locked]' in text
    assert '"greeting==1.0" = "sha256:' in text
    lock = parse_lock(text, file="metier.lock")
    assert render_lock(lock) == text
    assert [one.condition for one in verify(store, packages=packages.differences)] == [LockCondition.OK]
    module = Path(tree) / "shout.py"
    module.chmod(0o644)
    module.write_text("evil")
    [verdict] = verify(store, packages=packages.differences)
    assert (verdict.condition, verdict.details) == (LockCondition.PACKAGES, ("scripts/greet.py: M shout.py",))
    # Installing again keeps them, and a changed declaration is locked anew.
    installed(tmp_path, skill)
    assert store.lock()["greet"].packages == lock["greet"].packages


def test_a_new_declaration_keeps_the_versions_that_still_fit(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    store = installed(tmp_path, skill)
    packages = replace(skill_packages(tmp_path, index), stores=lambda: [store])
    folder = Path(store.folder_of(store.lock()["greet"]))
    prepared(packages, folder)
    old = store.lock()["greet"].packages[0]
    index.add_wheel("greeting", "1.5", {"greeting/__init__.py": HELLO}, requires=["shout"])
    index.add_wheel("extra", "0.1", {"extra.py": ""})
    (folder / "scripts/greet.py").write_text(SCRIPT.replace('"greeting>=1"', '"greeting>=1", "extra"'))
    shutil.rmtree(tmp_path / "home/downloads")
    declared = only(packages.declared(str(folder)))
    assert packages.locked(str(folder), declared) is None
    new = packages.resolve(str(folder), declared)
    assert package_changes(old, new) == ("+ extra 0.1",)
    upgraded = packages.resolve(str(folder), declared, upgrade=True)
    assert package_changes(old, upgraded) == ("+ extra 0.1", "greeting 1.0 -> 1.5")


def test_unused_environments_are_cleaned(tmp_path: Path, index: PackageIndex, skill: Path) -> None:
    packages = skill_packages(tmp_path, index)
    tree = Path(prepared(packages, skill))
    assert packages.cache.clean(unused_for=3600).environments == 0
    os.utime(tree.parent / "used", (1, 1))
    assert packages.cache.clean(unused_for=3600).environments == 1
    assert not tree.exists()
    assert packages.cache.size().bytes == 0


ENTRY = '{"version":"1","integrity":"sha512-a"%s}'


@pytest.mark.parametrize(
    ("facts", "row"),
    [
        ('kind = "other"\npython = "3.11"', ("a==1", "sha256:{0}")),
        ('kind = "python"\npython = "../x"', ("a==1", "sha256:{0}")),
        ('kind = "python"\npython = "3.11"', ("a==1", "")),
        ('kind = "python"\npython = "3.11"', ("--index-url x", "sha256:{0}")),
        ('kind = "npm"', ("../x", ENTRY % "")),
        ('kind = "npm"', ("node_modules/../../x", ENTRY % "")),
        ('kind = "npm"', ("node_modules/x", '{"version":"1"}')),
        ('kind = "npm"', ("node_modules/x", ENTRY % ',"resolved":"https://evil.example"')),
    ],
)
def test_a_lock_with_other_packages_than_we_write_is_refused(facts: str, row: tuple[str, str]) -> None:
    table = f'[skills.a.packages."a.py"]\ndeclared = "sha256:{ZEROS}"\n{facts}\n[skills.a.packages."a.py".locked]\n'
    key, value = row[0], row[1].replace("{0}", ZEROS)
    with pytest.raises(MetierError, match=r"skills\.a\.packages"):
        parse_lock(f"{OLD_LOCK}{table}{json.dumps(key)} = {json.dumps(value)}\n", file="metier.lock")


def test_a_lock_without_packages_is_read_as_before() -> None:
    lock = parse_lock(OLD_LOCK, file="metier.lock")
    assert isinstance(lock, Lock)
    assert lock["a"].packages == ()
    assert "packages" not in render_lock(lock)


def test_a_package_without_a_wheel_is_built_only_if_the_user_allows_it(
    tmp_path: Path, index: PackageIndex, skill: Path
) -> None:
    marker = tmp_path / "built"
    index.add_source("onlysource", "1.0", {"onlysource.py": "answer = 42\n"}, marker=str(marker))
    (skill / "scripts/greet.py").write_text('# /// script\n# dependencies = ["onlysource"]\n# ///\nimport onlysource\n')
    packages = skill_packages(tmp_path, index)
    with pytest.raises(UnavailableError) as refused:
        prepared(packages, skill)
    assert "--allow-builds" in refused.value.hint
    assert not marker.exists()
    allowed = replace(packages, programs=replace(packages.programs, builds=True))
    assert run_python(prepared(allowed, skill), "import onlysource; print(onlysource.answer)") == "42"
    assert marker.exists()
