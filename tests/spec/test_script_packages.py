"""What the scripts of a skill declare, and what is refused before a program reads it."""

from __future__ import annotations

import json

import pytest

from metier.errors import RefusedError
from metier.spec import DeclaredPackages, MemoryFiles, PackageEcosystem, declared_packages, inline_metadata, packages_of_script

BLOCK = b"""#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "rich",
#   "httpx<1",
# ]
# ///
import rich
"""


def declared(script: str = "scripts/a.py", **files: str) -> DeclaredPackages | None:
    contents = {path.replace("__", "/").replace("_txt", ".txt").replace("_json", ".json"): text for path, text in files.items()}
    return packages_of_script(script, b"", MemoryFiles({path: text.encode() for path, text in contents.items()}))


def test_inline_metadata_is_read() -> None:
    for data in (BLOCK, BLOCK.replace(b"\n", b"\r\n")):
        found = packages_of_script("scripts/a.py", data, MemoryFiles({}))
        assert found is not None
        assert (found.requirements, found.python, found.kind) == (("rich", "httpx<1"), ">=3.11", PackageEcosystem.PYTHON)
    assert inline_metadata(b"print(1)") is None


@pytest.mark.parametrize(
    "block",
    [b"dependencies = [", b"dependencies = 'rich'", b"dependencies = [1]", b"requires-python = 3", b"requires-python = 'x'"],
)
def test_invalid_metadata_is_refused_in_one_sentence(block: bytes) -> None:
    with pytest.raises(RefusedError, match="invalid inline metadata"):
        inline_metadata(b"# /// script\n# " + block + b"\n# ///\n")


def test_a_script_with_a_block_of_its_own_takes_no_requirements_from_elsewhere() -> None:
    files = MemoryFiles({"requirements.txt": b"pandas"})
    assert packages_of_script("scripts/a.py", b"# /// script\n# dependencies = []\n# ///\n", files) is None


def test_the_nearest_file_counts() -> None:
    found = declared(
        requirements_txt="a\n", scripts__requirements_txt="# why\nb>=1,<2  # note\n\nc[x]==1.0 ; python_version < '4'\n"
    )
    assert found is not None
    assert (found.path, found.requirements) == ("scripts/requirements.txt", ("b>=1,<2", "c[x]==1.0 ; python_version < '4'"))
    assert declared(scripts__requirements_txt="# nothing\n") is None


def test_hashes_of_the_author_are_left_out() -> None:
    found = declared(requirements_txt="a==1 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n")
    assert found is not None
    assert found.requirements == ("a==1",)


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://evil.example", "-r ../../secrets.txt", "-e .", "-f https://evil.example", "--no-binary :all:",
        "./local.whl", "/etc/passwd", "file:///etc/passwd", "a @ git+https://github.com/x/y", "a @ file:///x.whl",
        "a @ https://x.example/a.tar.gz", "a @ http://x.example/a.whl", "a @ https://user:pw@x.example/a.whl", "a b", "a; x; y",
        "$(touch x)", "a\u202eb",
    ],
)  # fmt: skip
def test_anything_but_a_package_with_versions_is_refused(line: str) -> None:
    with pytest.raises(RefusedError) as refused:
        declared(requirements_txt=f"{line}\n")
    assert refused.value.rule == "packages"
    assert refused.value.hint


def test_a_wheel_by_https_is_a_package() -> None:
    found = declared(requirements_txt="a @ https://x.example/a-1-py3-none-any.whl\n")
    assert found is not None


def test_package_json_is_read_for_node() -> None:
    package = json.dumps({"dependencies": {"left-pad": "^1.3.0", "@a/b": "npm:c@1"}, "devDependencies": {"x": "git+ssh://x"}})
    found = declared("scripts/a.mjs", package_json=package)
    assert found is not None
    assert (found.kind, found.requirements) == (PackageEcosystem.NPM, ("@a/b@npm:c@1", "left-pad@^1.3.0"))
    assert declared("scripts/a.py", package_json=package) is None
    assert declared("scripts/a.js", package_json="{}") is None


@pytest.mark.parametrize(
    "version",
    ["git+https://x/y", "github:x/y", "x/y", "file:../x", "https://x.example/a.tgz", "link:x", "workspace:*", 1, None],
)
def test_a_package_that_is_not_from_the_registry_is_refused(version: object) -> None:
    with pytest.raises(RefusedError, match="not from the registry"):
        declared("scripts/a.js", package_json=json.dumps({"dependencies": {"x": version}}))


@pytest.mark.parametrize("text", ["[", '{"dependencies": []}', "[]", '{"dependencies": {"../x": "1"}}'])
def test_a_broken_package_json_is_refused(text: str) -> None:
    with pytest.raises(RefusedError):
        declared("scripts/a.js", package_json=text)


def test_addresses_in_the_lock_of_the_author_are_left_out() -> None:
    lock = {
        "packages": {"node_modules/x": {"version": "1.0.0", "resolved": "https://evil.example/x.tgz", "integrity": "sha512-a"}}
    }
    files = {"package.json": b'{"dependencies": {"x": "1"}}', "package-lock.json": json.dumps(lock).encode()}
    found = packages_of_script("a.js", b"", MemoryFiles(files))
    assert found is not None
    assert "evil" not in found.author_lock
    assert "1.0.0" in found.author_lock


def test_equal_declarations_have_one_digest_and_each_file_is_listed_once() -> None:
    files = MemoryFiles({"scripts/a.py": BLOCK, "scripts/b.py": BLOCK, "scripts/c.py": b"", "requirements.txt": b"x\n"})
    found = declared_packages(files, ["scripts/a.py", "scripts/b.py", "scripts/c.py", "scripts/none.py"])
    assert [one.path for one in found] == ["requirements.txt", "scripts/a.py", "scripts/b.py"]
    assert found[1].digest == found[2].digest != found[0].digest
