"""A certificate authority that lives as long as one run.

Its key stays in the memory of the process that runs the proxy. The run trusts it through a bundle that only the run sees.
"""

from __future__ import annotations

import os
import ssl
import threading
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING

from metier.errors import UnavailableError

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["RunAuthority", "require_cryptography", "system_certificates"]

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",
)  # fmt: skip
_DAYS = 2
"""The clock of the machine may be set while a run lasts; the key is gone long before."""


def require_cryptography() -> None:
    if find_spec("cryptography") is None:
        raise UnavailableError("masked secrets need packages that are not installed", hint="pip install 'metier[secrets]'",
                               retryable=False)  # fmt: skip


def system_certificates() -> bytes:
    """Returns the certificates that this process trusts by default: those of SSL_CERT_FILE, or the system's."""
    named = os.environ.get("SSL_CERT_FILE")
    for path in (named, ssl.get_default_verify_paths().cafile, *_BUNDLES):
        if path and os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
    return b""


class RunAuthority:
    """Makes certificates for hosts, all with one key."""

    def __init__(self) -> None:
        require_cryptography()
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
        from cryptography.x509.oid import NameOID

        self._key = generate_private_key(SECP256R1())
        self._leaf_key = generate_private_key(SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "metier, for one run of a script")])
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self.certificate = self._own_certificate()
        """PEM, for the bundle of the run."""

    def context(self, host: str) -> ssl.SSLContext:
        """Returns the settings of a TLS server that is this host."""
        with self._lock:
            if host not in self._contexts:
                self._contexts[host] = self._new_context(host)
            return self._contexts[host]

    def _builder(self, name: x509.Name, days: int) -> x509.CertificateBuilder:
        from cryptography import x509

        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name)
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=days))

    def _own_certificate(self) -> bytes:
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import Encoding

        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        builder = self._builder(self._name, _DAYS).public_key(self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(self._identifier, critical=False).add_extension(usage, critical=True)
        return builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    def _new_context(self, host: str) -> ssl.SSLContext:
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.x509.oid import ExtendedKeyUsageOID

        try:
            name: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            name = x509.DNSName(host)
        above = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier)
        builder = self._builder(x509.Name([]), _DAYS).public_key(self._leaf_key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        certificate = builder.add_extension(above, critical=False).sign(self._key, SHA256()).public_bytes(Encoding.PEM)
        key = self._leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        _load_chain(context, key + certificate)
        return context


def _load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    """`ssl` takes a key only from a file. This one is memory of ours."""
    descriptor = os.memfd_create("metier")
    try:
        os.write(descriptor, pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
