"""Signatures: only by a registered key, only over exactly this release."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.errors import RefusedError, UsageError
from metier.registry.ed25519 import key_id, new_signing_key, public_key, release_statement, sign_statement, verify_signature
from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def signed(here: Site, private: str, name: str = "pdf", version: str = "1.0.0", **other: str) -> dict[str, str]:
    digest = here.get(f"/skills/{name}/versions/{version}").json()["digest"]
    stated = release_statement(**{"kind": "skill", "name": name, "version": version, "digest": digest, **other})
    return {"keyid": key_id(public_key(private)), "signature": sign_statement(private, stated)}


def test_a_signature_verifies_only_what_was_signed() -> None:
    private, public = new_signing_key()
    stated = release_statement(kind="skill", name="pdf", version="1.0.0", digest="sha256:0")
    good = sign_statement(private, stated)
    verify_signature(public, good, stated)
    for change in ({"name": "pdg"}, {"version": "1.0.1"}, {"digest": "sha256:1"}, {"kind": "agent"}):
        other = release_statement(**{"kind": "skill", "name": "pdf", "version": "1.0.0", "digest": "sha256:0", **change})
        with pytest.raises(RefusedError, match="does not match"):
            verify_signature(public, good, other)
    with pytest.raises(RefusedError):
        verify_signature(new_signing_key()[1], good, stated)
    with pytest.raises(UsageError):
        verify_signature(public, "not base64!", stated)


def test_the_bytes_that_are_signed_never_change() -> None:
    assert release_statement(kind="skill", name="pdf", version="1.0.0", digest="sha256:ab") == (
        b'DSSEv1 35 application/vnd.metier.release+json 68 {"digest":"sha256:ab","kind":"skill","name":"pdf","version":"1.0.0"}'
    )


def test_a_signed_release_says_by_whom(here: Site) -> None:
    private, public = new_signing_key()
    own = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=own)
    assert here.get("/skills/pdf").json()["signed_by"] == ""
    added = here.post("/namespaces/acme/keys", token=own, json={"public": public, "note": "release key"})
    assert (added.status_code, added.json()["keyid"]) == (201, key_id(public))
    made = here.send("PUT", "/skills/pdf/versions/1.0.0/signature", token=own, json=signed(here, private))
    assert made.status_code == 200, made.text
    assert here.get("/skills/pdf").json()["signed_by"] == "acme"
    (kept,) = here.get("/skills/pdf/versions/1.0.0").json()["signatures"]
    assert (kept["kind"], kept["signer"]) == ("ed25519", "acme")
    (key,) = here.get("/namespaces/acme/keys").json()["keys"]
    about = here.get("/skills/pdf").json()
    verify_signature(
        key["public"], kept["payload"], release_statement(kind="skill", name="pdf", version="1.0.0", digest=about["digest"])
    )
    assert '"signed":"acme"' in here.get("/index/pdf.json").text


def test_a_signature_that_fits_another_release_is_refused(here: Site) -> None:
    private, public = new_signing_key()
    for name in ("pdf", "other"):
        here.publish(name, "1.0.0", query="namespace=acme&visibility=public")
    here.post("/namespaces/acme/keys", token=here.admin, json={"public": public})
    wrong = (signed(here, private, "other"), signed(here, private, version="1.0.0", name="pdf", digest="sha256:0"),
             {**signed(here, private), "signature": signed(here, new_signing_key()[0])["signature"]})  # fmt: skip
    for each in wrong:
        refused = here.send("PUT", "/skills/pdf/versions/1.0.0/signature", token=here.admin, json=each)
        assert (refused.status_code, refused.json()["code"]) == (403, "signature")
    assert here.get("/skills/pdf").json()["signed_by"] == ""


def test_only_keys_of_owners_that_are_not_revoked_count(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("other", "publish:other")
    private, public = new_signing_key()
    here.publish("pdf", "1.0.0", token=own)
    assert here.post("/namespaces/acme/keys", token=other, json={"public": public}).status_code == 403
    assert here.post("/namespaces/other/keys", token=other, json={"public": public}).status_code == 201
    path = "/skills/pdf/versions/1.0.0/signature"
    assert here.send("PUT", path, token=own, json=signed(here, private)).status_code == 404
    here.post("/namespaces/acme/keys", token=own, json={"public": public})
    assert here.send("PUT", path, token=other, json=signed(here, private)).status_code == 403
    assert here.send("DELETE", f"/namespaces/acme/keys/{key_id(public)}", token=own).status_code == 200
    assert here.send("PUT", path, token=own, json=signed(here, private)).status_code == 404
    assert here.get("/namespaces/acme/keys").json()["keys"][0]["revoked"]


def test_an_invalid_key_is_not_registered(here: Site) -> None:
    for text in ("", "AAAA", "!" * 44):
        assert here.post("/namespaces/acme/keys", token=here.admin, json={"public": text}).status_code == 400


def test_a_bundle_is_not_taken_where_it_cannot_be_verified(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    answer = here.send("PUT", "/skills/pdf/versions/1.0.0/signature", token=here.admin, json={"bundle": "{}"})
    assert answer.status_code in (400, 503)
    assert here.get("/skills/pdf").json()["signed_by"] == ""


SMALL_ORDER = (
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
)
OTHER_ENCODINGS = (
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
)


@pytest.mark.parametrize("point", SMALL_ORDER + OTHER_ENCODINGS)
def test_a_key_with_which_one_signature_fits_many_releases_is_refused(here: Site, point: str) -> None:
    public = base64.b64encode(bytes.fromhex(point)).decode()
    assert here.post("/namespaces/acme/keys", token=here.admin, json={"public": public}).status_code == 400
    # R is the neutral element and S is 0: with a key of small order this fits one message in eight, or all.
    forged = base64.b64encode(b"\1" + bytes(63)).decode()
    for number in range(16):
        with pytest.raises((RefusedError, UsageError)):
            verify_signature(public, forged, b"%d" % number)


def test_a_revoked_key_takes_its_badge_with_it(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=own)
    keys = [new_signing_key() for _ in range(2)]
    for private, public in keys:
        here.post("/namespaces/acme/keys", token=own, json={"public": public})
        sent = here.send("PUT", "/skills/pdf/versions/1.0.0/signature", token=own, json=signed(here, private))
        assert sent.status_code == 200
    for (_, public), badge in zip(keys, ("acme", ""), strict=True):
        assert here.send("DELETE", f"/namespaces/acme/keys/{key_id(public)}", token=own).status_code == 200
        assert here.get("/skills/pdf").json()["signed_by"] == badge
        assert here.get("/skills/pdf/versions/1.0.0").json()["signed_by"] == badge
    assert '"signed":""' in here.get("/index/pdf.json").text


def test_the_note_of_a_key_is_for_its_namespace(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    here.post("/namespaces/acme/keys", token=own, json={"public": new_signing_key()[1], "note": "for project heron"})
    notes = {token: here.get("/namespaces/acme/keys", token=token).json()["keys"][0]["note"] for token in (own, "")}
    assert notes == {own: "for project heron", "": ""}
    here.publish("pdf", "1.0.0", token=own)
    shown = {token: "project heron" in here.get("/owner/acme", token=token).text for token in (own, "")}
    assert shown == {own: True, "": False}
