"""Verifies Sigstore bundles, and the OMS signature of a skill's files, with the libraries `sigstore` and `model-signing`.

A bundle holds an envelope (DSSE) with a statement, and names its signer by a key, by a chain of certificates, or by a
short-lived certificate with an entry of a public log. The policy names signers for each of these ways; without one, a bundle
of that way is not accepted.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metier.archive import Contents
from metier.errors import MetierError, RefusedError
from metier.extras import MissingExtraError

from .signature_policy import SignaturePolicy

__all__ = ["BUNDLE_TYPE", "LARGEST_BUNDLE", "SIGNATURE_FILE", "SignatureError", "sign_digest", "verify_digest", "verify_files"]

SIGNATURE_FILE = "skill.oms.sig"
LARGEST_BUNDLE = 1024 * 1024
BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
_STATEMENT = "application/vnd.in-toto+json"
_UNCOVERED = (SIGNATURE_FILE, ".gitignore", ".gitattributes")
"""Files that no OMS signature covers: its signers leave out git's own."""
_ISSUERS = ("1.3.6.1.4.1.57264.1.8", "1.3.6.1.4.1.57264.1.1")
_HASHES = ("sha256", "sha384", "sha512", "blake2b")

_OUTPUT = threading.Lock()

Json = Mapping[str, Any]  # Any: untrusted JSON


class SignatureError(RefusedError):
    """A signature is broken, or not by a signer of the policy. The message is a part of a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why, rule="signature", hint="ask its author to sign it again")


def verify_files(files: Contents, policy: SignaturePolicy, environment: Mapping[str, str]) -> str:
    """Returns the signer of the OMS signature in a skill. Raises SignatureError."""
    text = files.read(SIGNATURE_FILE, limit=LARGEST_BUNDLE)
    bundle = _read(text)
    if files.links:
        raise SignatureError(f"{files.links[0].path} is a link, which no signature covers")
    material = bundle["verificationMaterial"]
    if "publicKey" in material or "x509CertificateChain" in material:
        payload, signer = _verify_with_files(files, bundle, policy, environment)
    else:
        payload, signer = _verify_keyless(text, policy, environment)
    _compare(files, payload)
    return signer


def verify_digest(text: bytes, data: bytes, policy: SignaturePolicy, environment: Mapping[str, str]) -> str:
    """Returns the signer of a bundle over these bytes, such as a manifest. Raises SignatureError."""
    bundle = _read(text)
    if "publicKey" in bundle["verificationMaterial"]:
        payload, signer = _verify_with_key(bundle, policy, environment)
    else:
        payload, signer = _verify_keyless(text, policy, environment)
    subjects = _statement(payload).get("subject")
    digests = [subject.get("digest") for subject in subjects if isinstance(subject, dict)] if isinstance(subjects, list) else []
    if not any(isinstance(one, dict) and one.get("sha256") == hashlib.sha256(data).hexdigest() for one in digests):
        raise SignatureError("its signature is for another artefact")
    return signer


def sign_digest(name: str, digest: str, private: str) -> bytes:
    """Returns a bundle over a `sha256:…` digest, signed with an Ed25519 key in base64."""
    from metier.registry import key_id, public_key, sign_statement

    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1", "predicate": {},
    }  # fmt: skip
    payload = json.dumps(statement, separators=(",", ":")).encode()
    envelope = {
        "payload": base64.b64encode(payload).decode(), "payloadType": _STATEMENT,
        "signatures": [{"sig": sign_statement(private, _encoded(payload)), "keyid": ""}],
    }  # fmt: skip
    material = {"publicKey": {"hint": key_id(public_key(private))}, "tlogEntries": []}
    bundle = {"mediaType": BUNDLE_TYPE, "verificationMaterial": material, "dsseEnvelope": envelope}
    return json.dumps(bundle, separators=(",", ":")).encode()


def _read(text: bytes) -> Json:
    try:
        bundle = json.loads(text)
        if isinstance(bundle["verificationMaterial"], dict) and isinstance(bundle.get("dsseEnvelope", {}), dict):
            return dict(bundle)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise SignatureError("its signature is not a Sigstore bundle")


def _verify_with_files(
    files: Contents, bundle: Json, policy: SignaturePolicy, environment: Mapping[str, str]
) -> tuple[bytes, str]:
    """Verifies a key or a chain of certificates. The library reads a folder, so the files are written to one."""
    has_key = "publicKey" in bundle["verificationMaterial"]
    anchors = policy.keys if has_key else policy.certificates
    if not anchors:
        raise SignatureError(f"it is signed with {'a key' if has_key else 'a certificate'}, and {policy.table} names none")
    _require_libraries(policy)
    from model_signing import verifying

    # Without the files, a mismatch would be reported as one of the signature.
    payload = _payload(bundle)
    _compare(files, payload)
    with tempfile.TemporaryDirectory(prefix="metier-signature-") as folder:
        for member in files.members:
            path = Path(folder, member.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(member.data)
        for anchor in anchors:
            file, made = _file(anchor, policy, environment), verifying.Config()  # type: ignore[no-untyped-call]

            def verify(file: Path = file, made: verifying.Config = made) -> None:
                if has_key:
                    made.use_elliptic_key_verifier(public_key=file)
                else:
                    made.use_certificate_verifier(certificate_chain=[file])
                made.verify(Path(folder), Path(folder, SIGNATURE_FILE))

            with _quiet():
                if _succeeds(verify):
                    return payload, f"the key {anchor}" if has_key else _subject(bundle)
    raise SignatureError(f"its signature is not by {'a key' if has_key else 'a certificate'} that {policy.table} names")


def _verify_with_key(bundle: Json, policy: SignaturePolicy, environment: Mapping[str, str]) -> tuple[bytes, str]:
    if find_spec("cryptography") is None:
        raise MissingExtraError(f"{policy.source} requires signatures, which need a package", extra="signatures")
    from metier.registry import key_id, verify_signature

    payload, signature = _payload(bundle), _signature(bundle)
    for public in policy.public:
        with contextlib.suppress(RefusedError):
            verify_signature(public, base64.b64encode(signature).decode(), _encoded(payload))
            return payload, f"the key {key_id(public)}"
    for anchor in policy.keys:
        if _is_by_key(_file(anchor, policy, environment).read_bytes(), signature, _encoded(payload)):
            return payload, f"the key {anchor}"
    raise SignatureError(f"its signature is not by a key that {policy.table} names")


def _is_by_key(pem: bytes, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    with contextlib.suppress(InvalidSignature, UnsupportedAlgorithm, ValueError):
        key = serialization.load_pem_public_key(pem)
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
            return True
        if isinstance(key, ec.EllipticCurvePublicKey):
            by_size = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
            key.verify(signature, message, ec.ECDSA(by_size[key.curve.key_size]))
            return True
    return False


def _verify_keyless(text: bytes, policy: SignaturePolicy, environment: Mapping[str, str]) -> tuple[bytes, str]:
    if not policy.identities:
        raise SignatureError(f"it is signed with a Sigstore identity, and {policy.table} names none")
    _require_libraries(policy)
    from sigstore.errors import VerificationError
    from sigstore.models import Bundle, ClientTrustConfig, TrustedRoot
    from sigstore.verify import Verifier

    signer: list[str] = []

    class Signer:
        """Compares the identity in a certificate with the patterns of the policy."""

        def verify(self, cert: Any) -> None:  # Any: a certificate of `cryptography`
            names, issuer = list(_names(cert)), _issuer(cert)
            signer.append(f"{', '.join(names) or 'no name'} ({issuer or 'no issuer'})")
            if issuer != policy.issuer or not any(map(policy.accepts, names)):
                raise VerificationError("another identity")

    with _quiet():
        try:
            if policy.trusted_root:
                root = TrustedRoot.from_file(str(_file(policy.trusted_root, policy, environment)))
            else:
                root = ClientTrustConfig.production(offline=True).trusted_root
        except MetierError:
            raise
        # Code of others, which raises many types for a file that is none.
        except Exception as error:
            raise SignatureError(f"{policy.trusted_root or 'the public root'} is not a trusted root") from error
        try:
            kind, payload = Verifier(trusted_root=root).verify_dsse(Bundle.from_json(text), Signer())
        except Exception as error:
            if signer and str(error) == "another identity":
                raise SignatureError(f"it is signed by {signer[0]}, whom {policy.table} does not name") from error
            raise SignatureError(f"its signature is not valid: {_first_line(error)}") from error
    if kind != _STATEMENT:
        raise SignatureError("its signature has no statement")
    return payload, signer[0]


def _names(cert: Any) -> Iterator[str]:  # Any: a certificate of `cryptography`
    from cryptography import x509

    for name in cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value:
        if isinstance(name, x509.RFC822Name | x509.UniformResourceIdentifier):
            yield name.value


def _issuer(cert: Any) -> str:  # Any: a certificate of `cryptography`
    found = {extension.oid.dotted_string: extension.value for extension in cert.extensions}
    for oid in _ISSUERS:
        if oid in found:
            raw = bytes(found[oid].value)
            # The newer extension is a DER text, the older one is plain.
            return raw[2:].decode("utf-8", "replace") if oid == _ISSUERS[0] else raw.decode("utf-8", "replace")
    return ""


def _subject(bundle: Json) -> str:
    from cryptography import x509

    chain = bundle["verificationMaterial"]["x509CertificateChain"]["certificates"]
    return f"the certificate {x509.load_der_x509_certificate(base64.b64decode(chain[0]['rawBytes'])).subject.rfc4514_string()}"


def _compare(files: Contents, payload: bytes) -> None:
    """Raises SignatureError unless the statement is about exactly these files."""
    predicate = _statement(payload).get("predicate")
    rows = predicate.get("resources") if isinstance(predicate, dict) else None
    try:
        signed = {str(row["name"]): (str(row["algorithm"]), str(row["digest"])) for row in rows or ()}
    except (TypeError, KeyError):
        signed = {}
    if not signed:
        raise SignatureError("its signature does not list files")
    actual = {member.path: member.data for member in files.members if member.path not in _UNCOVERED}
    for path, data in actual.items():
        if path not in signed:
            raise SignatureError(f"{path} is not covered by its signature")
        algorithm, expected = signed[path]
        if algorithm not in _HASHES or hashlib.new(algorithm, data).hexdigest() != expected:
            raise SignatureError(f"{path} was changed after it was signed")
    if missing := sorted(set(signed) - set(actual) - set(_UNCOVERED)):
        raise SignatureError(f"{missing[0]} was removed after it was signed")


def _statement(payload: bytes) -> Json:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def _payload(bundle: Json) -> bytes:
    try:
        envelope = bundle["dsseEnvelope"]
        if envelope["payloadType"] != _STATEMENT:
            raise ValueError(envelope["payloadType"])
        return base64.b64decode(envelope["payload"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureError("its signature has no statement") from error


def _signature(bundle: Json) -> bytes:
    try:
        (row,) = bundle["dsseEnvelope"]["signatures"]
        return base64.b64decode(row["sig"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureError("its signature is empty") from error


def _encoded(payload: bytes) -> bytes:
    """Returns the signed bytes of a DSSE envelope."""
    return b"DSSEv1 %d %s %d %s" % (len(_STATEMENT), _STATEMENT.encode(), len(payload), payload)


def _file(name: str, policy: SignaturePolicy, environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or os.path.expanduser("~")
    path = Path(home, name[2:]) if name.startswith("~/") else Path(name)
    if not path.is_file():
        raise RefusedError(
            f"{policy.table} names {name}, which is not a file", rule="signature", hint="put the file there, or change the path"
        )
    return path


def _require_libraries(policy: SignaturePolicy) -> None:
    if find_spec("sigstore") is None or find_spec("model_signing") is None:
        raise MissingExtraError(
            f"{policy.source} requires signatures, and the packages to check them are not installed", extra="signatures"
        )


def _succeeds(verify: Callable[[], None]) -> bool:
    try:
        verify()
    # Code of others, which raises many types for a signature that is not valid.
    except Exception:
        return False
    return True


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what the libraries print and log off the terminal."""
    logger = logging.getLogger("sigstore")
    # Fetches run in threads, and both are of the process.
    with _OUTPUT:
        before = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        finally:
            logger.setLevel(before)
