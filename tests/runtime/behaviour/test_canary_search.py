from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import io
import json
import lzma
import tarfile
import zipfile
import zlib
from urllib.parse import quote

import pytest

from metier.runtime.behaviour.canaries import make_home
from metier.runtime.behaviour.canary_search import find_canaries

HOME = make_home(1)
KEY = HOME.files[".ssh/id_rsa"]


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", data)
    return buffer.getvalue()


def tarred(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


FORMS = {
    "plain": KEY,
    "base64": base64.b64encode(KEY),
    "base64, not at its start": b"data=xy" + base64.urlsafe_b64encode(b"q" + KEY),
    "base64 twice": base64.b64encode(base64.b64encode(KEY)),
    "base32": base64.b32encode(KEY),
    "hex": KEY.hex().encode(),
    "hex with separators": KEY.hex(":").encode(),
    "gzip": gzip.compress(KEY),
    "zlib in base64": base64.b64encode(zlib.compress(KEY)),
    "bzip2": bz2.compress(KEY),
    "xz": lzma.compress(KEY),
    "zip": b"--boundary\r\n\r\n" + zipped(KEY) + b"\r\n--boundary--",
    "tar.gz": tarred(KEY),
    "URL": quote(KEY.decode()).encode(),
    "JSON": json.dumps({"k": KEY.decode()}).encode(),
    "reversed": KEY[::-1],
    "rot13": codecs.encode(KEY.decode(), "rot13").encode(),
    "numbers": ",".join(map(str, KEY)).encode(),
    "XOR": bytes(byte ^ 0x5A for byte in KEY),
    "XOR in base64": base64.b64encode(bytes(byte ^ 0x5A for byte in KEY)),
    "shifted": bytes((byte + 3) & 0xFF for byte in KEY),
    "letter by letter": b"-".join(bytes([byte]) for byte in KEY),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_value_is_found_in_every_form(form: str) -> None:
    found = {hit.canary.where for hit in find_canaries(b"POST /v\nhost: a.test\n\n" + FORMS[form], HOME.canaries)}
    assert found == {".ssh/id_rsa"}


def test_another_home_has_other_values() -> None:
    assert find_canaries(KEY, make_home(2).canaries) == ()


def test_each_value_is_unique_and_has_one_place() -> None:
    values = [canary.value for canary in HOME.canaries]
    assert len(set(values)) == len(values)
    for canary in HOME.canaries:
        text = HOME.files.get(canary.where, HOME.variables.get(canary.where, "x").encode())
        assert canary.value.encode() in text
