"""A Sigstore instance of our own: a certificate authority, a certificate log and a transparency log, all in this process."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "SigstoreInstance", "key_files", "pem_of"]

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
START, END = NOW - datetime.timedelta(days=30), NOW + datetime.timedelta(days=3650)
SHA256 = ec.ECDSA(hashes.SHA256())
STATEMENT = "application/vnd.in-toto+json"


def pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def der_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def key_files(folder: Path, name: str) -> tuple[Path, Path]:
    """A private and a public key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    private, public = folder / f"{name}.key", folder / f"{name}.pem"
    private.write_bytes(_private(key))
    public.write_bytes(pem_of(key))
    return private, public


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Authority:
    """A certificate authority, and the certificates that it issues."""

    def __init__(self, name: str = "Acme Root") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(
            digital_signature=False, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        public = self.key.public_key()
        self.certificate = (
            x509.CertificateBuilder().subject_name(self.name).issuer_name(self.name).public_key(public)
            .serial_number(1).not_valid_before(START).not_valid_after(END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
            .sign(self.key, hashes.SHA256())
        )  # fmt: skip

    def builder(self, key: ec.EllipticCurvePrivateKey, subject: str) -> x509.CertificateBuilder:
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=False, crl_sign=False, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)] if subject else [])
        return (
            x509.CertificateBuilder().subject_name(name).issuer_name(self.name).public_key(key.public_key())
            .serial_number(77).not_valid_before(NOW).not_valid_after(NOW + datetime.timedelta(minutes=10))
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )  # fmt: skip

    def files(self, folder: Path, subject: str) -> tuple[Path, Path, Path]:
        """A private key and its certificate, and the authority's certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self.builder(key, subject).sign(self.key, hashes.SHA256())
        (folder / "leaf.key").write_bytes(_private(key))
        (folder / "leaf.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
        (folder / "root.pem").write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return folder / "leaf.key", folder / "leaf.pem", folder / "root.pem"


class SigstoreInstance:
    def __init__(self) -> None:
        self.authority = Authority("sigstore.test")
        self.certificate_log = ec.generate_private_key(ec.SECP256R1())
        self.entry_log = ec.generate_private_key(ec.SECP256R1())

    def write_root(self, file: Path) -> Path:
        period = {"start": START.isoformat().replace("+00:00", "Z")}

        def log(key: ec.EllipticCurvePrivateKey, host: str) -> dict[str, Any]:
            public = {"rawBytes": _text(der_of(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": period}
            return {"baseUrl": f"https://{host}", "hashAlgorithm": "SHA2_256", "publicKey": public,
                    "logId": {"keyId": _text(hashlib.sha256(der_of(key)).digest())}}  # fmt: skip

        root = _text(self.authority.certificate.public_bytes(serialization.Encoding.DER))
        authority = {"subject": {"organization": "test", "commonName": "sigstore.test"}, "uri": "https://fulcio.test",
                     "certChain": {"certificates": [{"rawBytes": root}]}, "validFor": period}  # fmt: skip
        value = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.entry_log, "rekor.test")], "certificateAuthorities": [authority],
            "ctlogs": [log(self.certificate_log, "ct.test")], "timestampAuthorities": [],
        }  # fmt: skip
        file.write_text(json.dumps(value))
        return file

    def sign(self, statement: bytes, *, identity: str, issuer: str) -> bytes:
        """Returns a bundle over a statement, signed by this identity."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key, identity, issuer)
        encoded = b"DSSEv1 %d %s %d %s" % (len(STATEMENT), STATEMENT.encode(), len(statement), statement)
        signature = key.sign(encoded, SHA256)
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        body = {
            "apiVersion": "0.0.1", "kind": "dsse",
            "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
                "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(statement).hexdigest()},
                "signatures": [{"signature": _text(signature), "verifier": _text(pem)}],
            },
        }  # fmt: skip
        der = certificate.public_bytes(serialization.Encoding.DER)
        material = {"certificate": {"rawBytes": _text(der)}, "tlogEntries": [self._entry(json.dumps(body).encode())]}
        envelope = {
            "payload": _text(statement),
            "payloadType": STATEMENT,
            "signatures": [{"sig": _text(signature), "keyid": ""}],
        }
        bundle = {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": material,
                  "dsseEnvelope": envelope}  # fmt: skip
        return json.dumps(bundle).encode()

    def _certificate(self, key: ec.EllipticCurvePrivateKey, identity: str, issuer: str) -> x509.Certificate:
        is_mail = "@" in identity and "://" not in identity
        name = x509.RFC822Name(identity) if is_mail else x509.UniformResourceIdentifier(identity)
        oid = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
        text = issuer.encode()
        builder = (
            self.authority.builder(key, "")
            .add_extension(x509.SubjectAlternativeName([name]), critical=True)
            .add_extension(x509.UnrecognizedExtension(oid, bytes([12, len(text)]) + text), critical=False)
        )
        stamps = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")

        def stamped(value: bytes) -> x509.Certificate:
            return builder.add_extension(x509.UnrecognizedExtension(stamps, value), critical=False).sign(
                self.authority.key, hashes.SHA256()
            )

        # The stamp is over the certificate without the stamp.
        bare = stamped(self._stamp(b"")).tbs_precertificate_bytes
        return stamped(self._stamp(bare))

    def _stamp(self, certificate: bytes) -> bytes:
        millis = int(NOW.timestamp() * 1000)
        issuer = hashlib.sha256(der_of(self.authority.key)).digest()
        length = struct.pack("!I", len(certificate))[1:]
        signed = struct.pack("!BBQH", 0, 0, millis, 1) + issuer + length + certificate + b"\0\0"
        signature = self.certificate_log.sign(signed, SHA256)
        log = hashlib.sha256(der_of(self.certificate_log)).digest()
        stamp = b"\0" + log + struct.pack("!Q", millis) + b"\0\0" + b"\4\3" + struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!H", len(stamp)) + stamp
        return _octets(struct.pack("!H", len(listed)) + listed)

    def _entry(self, body: bytes) -> dict[str, Any]:
        """An entry of a log with one leaf."""
        key_id, moment = hashlib.sha256(der_of(self.entry_log)).digest(), int(NOW.timestamp()) + 60
        promised = json.dumps(
            {"body": _text(body), "integratedTime": moment, "logID": key_id.hex(), "logIndex": 0}, separators=(",", ":")
        )
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"rekor.test\n1\n{_text(root)}\n"
        signed = _text(key_id[:4] + self.entry_log.sign(note.encode(), SHA256))
        return {
            "logIndex": "0", "logId": {"keyId": _text(key_id)}, "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(moment), "canonicalizedBody": _text(body),
            "inclusionPromise": {"signedEntryTimestamp": _text(self.entry_log.sign(promised.encode(), SHA256))},
            "inclusionProof": {
                "logIndex": "0", "rootHash": _text(root), "treeSize": "1", "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\N{EM DASH} rekor.test {signed}\n"},
            },
        }  # fmt: skip


def _octets(value: bytes) -> bytes:
    """Returns a DER octet string."""
    size = len(value)
    return b"\4" + (bytes([size]) if size < 128 else b"\x81" + bytes([size])) + value
