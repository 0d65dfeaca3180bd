"""Signatures that a source demands: keys, certificates and Sigstore identities, made here; nothing is asked on the network."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_signing import hashing, signing

from builders import write_skill
from install.builders import installed, store_in
from install.clawhub_site import ClawHubSite
from install.servers import Answer, Site, site
from install.sigstore_instance import Authority, SigstoreInstance, key_files
from metier.archive import pack, read_contents
from metier.errors import ConfigError, RefusedError
from metier.install import LockCondition, verify
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.credentials import RegistrySource, SourceKind, read_sources
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.fetch.signature_policy import SignaturePolicy
from metier.install.fetch.tree import read_folder
from metier.install.lock.lock_file import Origin
from metier.install.prepare import prepare
from metier.install.protocols import Fetched
from metier.install.refs.parsing import parse_ref
from metier.install.refs.source_rules import is_below
from metier.sources import DiskFiles
from metier.values import replace

WORKFLOW = "https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v1"
ISSUER = "https://token.example"


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write_skill(tmp_path, "notes")
    (made / "scripts").mkdir()
    (made / "scripts/run.py").write_text("print(1)\n")
    return made


@pytest.fixture(scope="module")
def sigstore() -> SigstoreInstance:
    return SigstoreInstance()


def sign(folder: Path, configure: Callable[[signing.Config], Any]) -> None:
    """Signs as `model_signing sign` does."""
    made = signing.Config()  # type: ignore[no-untyped-call]
    configure(made)
    left_out = hashing.Config().set_ignored_paths(paths=[folder / "skill.oms.sig"], ignore_git_paths=True)  # type: ignore[no-untyped-call]
    made.set_hashing_config(left_out).sign(folder, folder / "skill.oms.sig")


def sign_with_key(folder: Path, private: Path) -> None:
    sign(folder, lambda made: made.use_elliptic_key_signer(private_key=private))


def sign_keyless(folder: Path, instance: SigstoreInstance, *, identity: str = WORKFLOW, issuer: str = ISSUER) -> None:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    rows = [{"name": path, "algorithm": "sha256", "digest": hashlib.sha256(data).hexdigest()}
            for path, data in files.items() if path != "skill.oms.sig"]  # fmt: skip
    statement = {"predicateType": "https://model_signing/signature/v1.0", "subject": [], "predicate": {"resources": rows}}
    bundle = instance.sign(json.dumps(statement).encode(), identity=identity, issuer=issuer)
    (folder / "skill.oms.sig").write_bytes(bundle)


def reaching(server: Site, tmp_path: Path, **policy: Any) -> Access:
    demanded = SignaturePolicy(source="acme", **policy) if policy else None
    return Access(
        environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, folder=str(tmp_path),
        cache=SkillCache(str(tmp_path / "cache")),
        sources=(RegistrySource(name="acme", url=f"{server.url}/skills", signature=demanded),),
    )  # fmt: skip


def brought(server: Site, folder: Path, access: Access) -> Fetched:
    server.routes["/skills/notes.zip"] = Answer(pack(read_contents(DiskFiles(folder))))
    return fetch_ref(parse_ref(f"{server.url}/skills/notes.zip"), access)


def refused(server: Site, folder: Path, access: Access) -> str:
    with pytest.raises(RefusedError) as error:
        brought(server, folder, access)
    assert error.value.rule == "signature"
    assert error.value.hint
    return str(error.value)


def test_a_skill_signed_with_a_demanded_key_says_which(server: Site, folder: Path, tmp_path: Path) -> None:
    private, _ = key_files(tmp_path, "acme")
    sign_with_key(folder, private)
    (folder / ".gitignore").write_text("x\n")
    found = brought(server, folder, reaching(server, tmp_path, keys=("~/acme.pem",)))
    assert found.skills[0].signed_by == ("the key ~/acme.pem",)
    # Another source's policy has no say, and without one nothing is said.
    assert brought(server, folder, reaching(server, tmp_path)).skills[0].signed_by == ()


def test_a_missing_foreign_or_broken_signature_is_refused_in_a_sentence(server: Site, folder: Path, tmp_path: Path) -> None:
    private, public = key_files(tmp_path, "acme")
    other, _ = key_files(tmp_path, "mallory")
    access = reaching(server, tmp_path, keys=(str(public),))
    assert refused(server, folder, access) == (
        "notes is refused: it has no signature, and [skills.sources.acme.signature] demands one"
    )
    sign_with_key(folder, other)
    assert refused(server, folder, access).endswith("its signature is not by a key that [skills.sources.acme.signature] names")
    sign_with_key(folder, private)
    good = (folder / "skill.oms.sig").read_text()
    for broken in ("", "{}", "[" * 50_000, '{"verificationMaterial": {"publicKey": {}}}', '{"verificationMaterial": 5}'):
        (folder / "skill.oms.sig").write_text(broken)
        assert "its signature" in refused(server, folder, access)
    bundle = json.loads(good)
    bundle["dsseEnvelope"]["signatures"][0]["sig"] = "AAAA"
    (folder / "skill.oms.sig").write_text(json.dumps(bundle))
    assert "its signature is not by a key" in refused(server, folder, access)
    (folder / "skill.oms.sig").write_text(good)
    assert "names ~/gone.pem, which is not a file" in refused(server, folder, reaching(server, tmp_path, keys=("~/gone.pem",)))
    by_name = reaching(server, tmp_path, identities=("*",), issuer=ISSUER)
    assert "it is signed with a key, and [skills.sources.acme.signature] names none" in refused(server, folder, by_name)


def test_files_that_were_changed_added_or_removed_after_signing_are_named(server: Site, folder: Path, tmp_path: Path) -> None:
    private, public = key_files(tmp_path, "acme")
    sign_with_key(folder, private)
    access = reaching(server, tmp_path, keys=(str(public),))
    (folder / "scripts/more.py").write_text("print(2)\n")
    assert "scripts/more.py is not covered by its signature" in refused(server, folder, access)
    (folder / "scripts/more.py").unlink()
    (folder / "scripts/run.py").write_text("print(2)\n")
    assert "scripts/run.py was changed after it was signed" in refused(server, folder, access)
    (folder / "scripts/run.py").unlink()
    assert "scripts/run.py was removed after it was signed" in refused(server, folder, access)


def test_a_certificate_of_a_demanded_authority_is_enough(server: Site, folder: Path, tmp_path: Path) -> None:
    key, leaf, root = Authority().files(tmp_path, "Acme Skills")
    sign(
        folder,
        lambda made: made.use_certificate_signer(private_key=key, signing_certificate=leaf, certificate_chain=[root]),
    )
    found = brought(server, folder, reaching(server, tmp_path, certificates=(str(root),)))
    assert found.skills[0].signed_by == ("the certificate CN=Acme Skills",)
    (tmp_path / "b").mkdir()
    _, _, foreign = Authority("Other Root").files(tmp_path / "b", "Acme Skills")
    said = refused(server, folder, reaching(server, tmp_path, certificates=(str(foreign),)))
    assert "its signature is not by a certificate that [skills.sources.acme.signature] names" in said


def test_a_sigstore_identity_is_compared_with_patterns(
    server: Site, folder: Path, tmp_path: Path, sigstore: SigstoreInstance
) -> None:
    root = str(sigstore.write_root(tmp_path / "root.json"))
    sign_keyless(folder, sigstore)
    pattern = ("https://github.com/acme/*@refs/tags/*",)
    found = brought(server, folder, reaching(server, tmp_path, identities=pattern, issuer=ISSUER, trusted_root=root))
    assert found.skills[0].signed_by == (f"{WORKFLOW} ({ISSUER})",)
    for identities, issuer in (((WORKFLOW[:-1],), ISSUER), (pattern, "https://other.example")):
        access = reaching(server, tmp_path, identities=identities, issuer=issuer, trusted_root=root)
        said = refused(server, folder, access)
        assert said == (
            f"notes is refused: it is signed by {WORKFLOW} ({ISSUER}), whom [skills.sources.acme.signature] does not name"
        )
    sign_keyless(folder, sigstore, identity="ada@acme.example")
    people = reaching(server, tmp_path, identities=("*@acme.example",), issuer=ISSUER, trusted_root=root)
    assert brought(server, folder, people).skills[0].signed_by == (f"ada@acme.example ({ISSUER})",)
    (folder / "scripts/run.py").write_text("print(2)\n")
    assert "was changed after it was signed" in refused(server, folder, people)


def test_a_sigstore_signature_of_another_instance_or_with_another_log_is_refused(
    server: Site, folder: Path, tmp_path: Path, sigstore: SigstoreInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The library keeps the public root there.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "library"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "library"))
    foreign = str(SigstoreInstance().write_root(tmp_path / "foreign.json"))
    root = str(sigstore.write_root(tmp_path / "root.json"))
    sign_keyless(folder, sigstore)
    policy = {"identities": ("*",), "issuer": ISSUER}
    assert "its signature is not valid" in refused(server, folder, reaching(server, tmp_path, **policy, trusted_root=foreign))
    (tmp_path / "no.json").write_text("{}")
    no_root = reaching(server, tmp_path, **policy, trusted_root=str(tmp_path / "no.json"))
    assert "is not a trusted root" in refused(server, folder, no_root)
    bundle = json.loads((folder / "skill.oms.sig").read_text())
    proof = bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]
    proof["rootHash"] = proof["rootHash"][::-1]
    (folder / "skill.oms.sig").write_text(json.dumps(bundle))
    assert "its signature is not valid" in refused(server, folder, reaching(server, tmp_path, **policy, trusted_root=root))
    # The public instance has not issued it, which its root in the library tells without a network.
    sign_keyless(folder, sigstore)
    assert "its signature is not valid" in refused(server, folder, reaching(server, tmp_path, **policy))


def test_an_update_a_restore_and_verify_demand_it_too(server: Site, folder: Path, tmp_path: Path) -> None:
    private, public = key_files(tmp_path, "acme")
    sign_with_key(folder, private)
    access = reaching(server, tmp_path, keys=(str(public),))
    store = store_in(tmp_path / "home")
    (found,) = brought(server, folder, access).skills
    installed(store, prepare(found, asked="x"))
    (verdict,) = verify(store, access=access)
    assert (verdict.condition, verdict.signed_by) == (LockCondition.OK, (f"the key {public}",))
    entry = store.lock()["notes"]
    (restored,) = LockFetcher(access).exact([entry])
    assert not isinstance(restored, RefusedError)
    _, other = key_files(tmp_path, "mallory")
    foreign = reaching(server, tmp_path, keys=(str(other),))
    for bring in (LockFetcher(foreign).exact, LockFetcher(foreign).latest):
        (error,) = bring([entry])
        assert isinstance(error, RefusedError)
    (verdict,) = verify(store, access=foreign)
    assert verdict.condition is LockCondition.UNSIGNED
    assert "not by a key" in verdict.details[0]
    assert verify(store)[0].condition is LockCondition.OK


@pytest.mark.parametrize(
    ("url", "base", "is_inside"),
    [
        ("https://github.com/acme/skills.git", "https://github.com/acme", True),
        ("https://github.com/Acme/Skills.git", "https://github.com/acme/skills", True),
        ("git@github.com:acme/skills.git", "https://github.com/acme/skills", True),
        ("ssh://git@github.com:22/acme/skills.git", "https://github.com/acme/skills", True),
        ("https://github.com/acme-evil/skills", "https://github.com/acme", False),
        ("https://github.com/acme/../evil/skills", "https://github.com/acme", False),
        ("https://notgithub.com/acme/skills", "https://github.com/acme", False),
        ("oci://ghcr.io/acme/notes", "https://ghcr.io/v2/acme", True),
        ("oci://ghcr.io/acme/notes", "https://ghcr.io/acme", True),
        ("oci://ghcr.io:5000/acme/notes", "https://ghcr.io/acme", False),
        ("https://clawhub.ai/@acme/notes", "https://clawhub.ai:443/@acme", True),
        ("/home/ada/skills", "https://github.com/acme", False),
    ],
)
def test_the_policy_of_a_source_covers_what_is_below_it_in_any_form(url: str, base: str, is_inside: bool) -> None:
    assert is_below(url, base) is is_inside
    policy = SignaturePolicy(source="acme", keys=("/k.pem",))
    access = Access(sources=(RegistrySource(name="acme", url=base, signature=policy),))
    assert bool(access.signature_policies(Origin(kind="oci" if url.startswith("oci:") else "git", url=url))) is is_inside


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "needs keys, certificates or identities"),
        ({"keys": "a.pem"}, "must be lists of texts"),
        ({"keys": ["a.pem"]}, "is not an absolute path"),
        ({"key": ["/a.pem"]}, "unknown key 'key'"),
        ({"identities": ["*"]}, "identities need an issuer"),
        ({"issuer": "https://x"}, "needs keys, certificates or identities"),
        (True, "unknown key ''"),
    ],
)
def test_a_policy_that_names_no_signer_is_an_error(table: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_sources({"acme": {"url": "https://acme.example", "signature": table}})


def test_the_policy_is_read_from_the_settings() -> None:
    table = {"identities": ["https://github.com/acme/*"], "issuer": ISSUER, "trusted_root": "~/root.json"}
    (source,) = read_sources({"acme": {"url": "https://acme.example", "signature": table}})
    assert source.signature == SignaturePolicy(
        source="acme", identities=("https://github.com/acme/*",), issuer=ISSUER, trusted_root="~/root.json"
    )
    assert source.signature.accepts("https://github.com/acme/x")
    assert not source.signature.accepts("https://github.com/acmex")
    assert not replace(source.signature, identities=("a.b",)).accepts("aXb")


def test_a_link_in_a_skill_is_not_covered(server: Site, folder: Path, tmp_path: Path) -> None:
    private, public = key_files(tmp_path, "acme")
    sign_with_key(folder, private)
    (folder / "again.md").symlink_to("SKILL.md")
    server.routes["/skills/notes.zip"] = Answer(pack(read_folder(str(folder))))
    access = reaching(server, tmp_path, keys=(str(public),))
    with pytest.raises(RefusedError, match=r"again.md is a link, which no signature covers"):
        fetch_ref(parse_ref(f"{server.url}/skills/notes.zip"), access)


def test_a_skill_of_a_clawhub_registry_must_be_signed_too(server: Site, folder: Path, tmp_path: Path) -> None:
    private, public = key_files(tmp_path, "acme")
    hub = ClawHubSite(server)
    hub.add("notes", "1.0.0", listed=False)
    source = RegistrySource(
        name="hub", url=server.url, kind=SourceKind.CLAWHUB, signature=SignaturePolicy(source="hub", keys=(str(public),))
    )
    access = Access(environment={"HOME": str(tmp_path)}, folder=str(tmp_path), sources=(source,))
    ref = parse_ref("hub:notes", aliases=("hub",))
    with pytest.raises(RefusedError, match="it has no signature"):
        fetch_ref(ref, access)
    sign_with_key(folder, private)
    hub.downloads["notes"]["1.0.0"] = pack(read_contents(DiskFiles(folder)))
    assert fetch_ref(ref, access).skills[0].signed_by == (f"the key {public}",)
