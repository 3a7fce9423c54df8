"""Makes certificates for tests, as PEM."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: bytes
    key: bytes


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Authority:
    """A certificate authority with P-256 keys."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        basic = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._builder(self._name, self._key.public_key()).add_extension(basic, critical=True)
        signed = certificate.sign(self._key, hashes.SHA256())
        self.certificate = signed.public_bytes(serialization.Encoding.PEM)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=24))
        )

    def issue(self, common_name: str, *names: x509.GeneralName) -> Pair:
        """A certificate that is valid now."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(common_name), key.public_key())
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(names)), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        encoding, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
        return Pair(
            signed.public_bytes(encoding),
            key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, no_password),
        )

    def issue_server(self, common_name: str = "the server") -> Pair:
        """A server certificate for 127.0.0.1 and localhost."""
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return self.issue(common_name, x509.DNSName("localhost"), here)
