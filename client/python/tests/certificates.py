"""The certificates of all Python tests, made on the spot."""

from __future__ import annotations

import datetime
import ipaddress
import pathlib
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Files:
    """A certificate and its key in files."""

    certificate: pathlib.Path
    key: pathlib.Path


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def save(self, folder: pathlib.Path, name: str = "own") -> Files:
        """Writes both into files of a folder."""
        files = Files(folder / f"{name}.pem", folder / f"{name}.key")
        files.certificate.write_bytes(self.certificate)
        files.key.write_bytes(self.key)
        return files


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """A certificate authority with P-256 keys.

    Attributes:
        certificate: its own, as PEM.
    """

    def __init__(self, name: str = "authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name, self._file = _name(name), f"{name}.pem"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._builder(self._name, self._key.public_key()).add_extension(basic, critical=True)
        signed = certificate.sign(self._key, hashes.SHA256())
        self.certificate = signed.public_bytes(serialization.Encoding.PEM)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, days: int = 1) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        end = now + datetime.timedelta(days=days)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, end) - datetime.timedelta(hours=1))
            .not_valid_after(end)
        )

    def save(self, folder: pathlib.Path) -> pathlib.Path:
        """Writes the certificate into a file of a folder."""
        file = folder / self._file
        file.write_bytes(self.certificate)
        return file

    def issue(self, common_name: str, *hosts: str, days: int = 1) -> Pair:
        """A certificate for hosts, by name or address, which ends in `days`, or has ended."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(common_name), key.public_key(), days)
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        encoding, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
        return Pair(
            signed.public_bytes(encoding),
            key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, no_password),
        )

    def issue_server(self, common_name: str = "the server") -> Pair:
        """A certificate for 127.0.0.1 and localhost."""
        return self.issue(common_name, "localhost", "127.0.0.1")
