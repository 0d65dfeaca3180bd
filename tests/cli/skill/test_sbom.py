"""A bill of materials, checked by the validator of cyclonedx-python-lib."""

from __future__ import annotations

import base64
import json
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from builders import skill_text, write_skill
from cli.shell import Shell
from metier.install import SbomSkill, build_sbom
from metier.install.lock.lock_file import LockEntry, Origin
from metier.install.lock.locked_packages import LockedPackages
from metier.spec import PackageEcosystem, parse

PYTHON = LockedPackages(
    path="scripts/run.py", kind=PackageEcosystem.PYTHON, declared="sha256:" + "0" * 64, python="3.12",
    rows={
        "Typing_Extensions==4.12.0 ; python_version < '3.13'": f"sha256:{'a' * 64} sha256:{'b' * 64}",
        "wheel @ https://example.com/wheel-1.whl": f"sha256:{'c' * 64}",
    },
)  # fmt: skip
NPM = LockedPackages(
    path="package.json", kind=PackageEcosystem.NPM, declared="sha256:" + "0" * 64,
    rows={
        "node_modules/@scope/pkg": json.dumps(
            {"version": "1.0.0", "integrity": "sha512-" + base64.b64encode(b"x" * 64).decode()}
        )
    },
)  # fmt: skip

TERMS = "Complete terms in LICENSE.txt"


def assert_valid(document: object) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document)) is None


def skill(name: str, license: str = "MIT", **fields: Any) -> SbomSkill:  # noqa: A002
    text = skill_text(name).replace("---\n", f"---\nlicense: {license}\n", 1)
    origin = fields.pop("origin", Origin(kind="git", url="https://example.com/r.git", commit="c" * 40))
    entry = LockEntry(
        name=name,
        origin=origin,
        digest=f"sha256:{'d' * 64}",
        files={"SKILL.md": ("100644", "e" * 64)},
        version="1.0.0",
        **fields,
    )
    return SbomSkill(entry=entry, scope="user", manifest=parse(text.encode(), folder=name).manifest)


def test_a_bill_has_licences_hashes_packages_and_what_depends_on_what() -> None:
    needed = skill("forms", license=TERMS, packages=(PYTHON,), origin=Origin(kind="path", url="/srv/x y"))
    document = build_sbom([skill("pdf", packages=(PYTHON, NPM), dependencies=("forms", "gone")), needed], tool_version="1")
    assert_valid(document)
    by_ref = {row["bom-ref"]: row for row in document["components"]}
    assert by_ref["skill:user:pdf"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert by_ref["skill:user:forms"]["licenses"] == [{"license": {"name": TERMS}}]
    assert "externalReferences" not in by_ref["skill:user:forms"]
    python = by_ref["pkg:pypi/typing-extensions@4.12.0"]
    assert [row["content"] for row in python["hashes"]] == ["a" * 64, "b" * 64]
    npm = by_ref["pkg:npm/%40scope/pkg@1.0.0"]
    assert npm["hashes"] == [{"alg": "SHA-512", "content": "78" * 64}]
    wheel = "pkg:pypi/wheel?download_url=https%3A%2F%2Fexample.com%2Fwheel-1.whl"
    (needs,) = [row["dependsOn"] for row in document["dependencies"] if row["ref"] == "skill:user:pdf"]
    assert needs == sorted(["skill:user:forms", python["bom-ref"], npm["bom-ref"], wheel])


def test_the_command_prints_one_for_all_or_for_the_named(shell: Shell) -> None:
    shell("skill", "sbom").failed(3, "no skills are installed")
    for name in ("pdf", "forms"):
        write_skill(shell.project / "given/skills", name, head="license: Apache-2.0\n")
    assert shell("skill", "install", "./given", "--all", "--target", "none", "--user").code == 0
    document = json.loads(shell("skill", "sbom").ok().out)
    assert_valid(document)
    assert [row["name"] for row in document["components"]] == ["forms", "pdf"]
    named = json.loads(shell("skill", "sbom", "pdf").ok().out)
    assert [row["name"] for row in named["components"]] == ["pdf"]
    shell("skill", "sbom", "none").failed(3, "no skill is named 'none'")
