"""Escape suite, E85 and E86: prepared packages stay as they were built, and only they are imported under their names."""

from __future__ import annotations

import py_compile
import sys
from pathlib import Path

import pytest

from metier.errors import RefusedError
from metier.install import BuiltPackage, EnvironmentCache, LockedPackages
from metier.runtime import PackageMount
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.spec import PackageEcosystem
from runtime.sandbox.escape.stage import Stage, at_every_level, note

DENIED = {"EPERM", "EACCES", "EROFS", "ENOENT", "ENOTDIR", "EXDEV", "EEXIST", "EBUSY"}
LOCKED = LockedPackages(path="scripts/a.py", kind=PackageEcosystem.PYTHON, declared="sha256:" + "0" * 64, python="3.11")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def build(tree: str, _: str) -> tuple[str, tuple[BuiltPackage, ...]]:
    module = Path(tree) / "shout.py"
    module.write_text("WORD = 'loud'\n")
    py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    return sys.executable, ()


def prepare(stage: Stage) -> tuple[EnvironmentCache, PackageMount, dict[str, object]]:
    """Returns a cache with one environment, which a run gets, and a second one."""
    cache = EnvironmentCache(str(stage.home / ".metier/cache/environments"))
    found = cache.build(LOCKED, build)
    other = Path(cache.folder) / "another/tree"
    other.mkdir(parents=True)
    (other / "a.py").write_text("A = 1\n")
    mount = PackageMount(kind=PackageEcosystem.PYTHON, folder=found.tree, python=found.python)
    [compiled] = Path(found.tree).rglob("*.pyc")
    return cache, mount, {"tree": found.tree, "cache": cache.folder, "key": found.key, "compiled": str(compiled)}


@at_every_level
def test_e85_the_environment_cache_cannot_be_poisoned(stage: Stage, level: IsolationLevel) -> None:
    cache, mount, facts = prepare(stage)
    before = Path(mount.folder).stat()
    if stage.claims("E85", level, Guard.READ_ONLY):
        results = stage.results("e85", level, facts=facts, packages=mount)
        # In its scratch folder a script may write what it likes, if nothing is linked to it. Calls that change modes and times
        # report success and do nothing.
        harmless = {"through hard", "chmod", "mode of a file", "time"}
        # These tests are below /tmp, which in a namespace is the scratch folder: what is written there is not the cache.
        harmless |= {"record", "stamp", "new environment"} if level is IsolationLevel.NAMESPACE else set()
        assert {name: found for name, found in results.items() if found not in DENIED and name not in harmless} == {}
        assert cache.verify(LOCKED) == ()
        assert Path(mount.folder).stat() == before
        assert cache.find(LOCKED) is not None
        assert sorted(path.name for path in Path(cache.folder).iterdir() if path.is_dir()) == sorted(
            [cache.key(LOCKED), "another"]
        )
        assert (Path(cache.folder) / "another/tree/a.py").read_text() == "A = 1\n"
        return
    # Where it cannot be prevented it is noticed, and the next run does not use what is left.
    with pytest.raises(RefusedError) as refused:
        stage.attempt("e85", level, facts=facts, packages=mount)
    assert refused.value.rule == "skill-changed"
    assert cache.find(LOCKED) is None


@at_every_level
def test_e86_a_file_of_the_skill_does_not_replace_a_package(stage: Stage, level: IsolationLevel) -> None:
    _, mount, facts = prepare(stage)
    (stage.skill / "scripts/shout.py").write_text("WORD = 'planted'\n")
    note("E86", level, "held")
    results = stage.results("e86", level, facts=facts, packages=mount)
    assert results == {"word": "loud", "from": f"{mount.folder}/shout.py", "bytecode": facts["compiled"]}
