"""Certificates made on the spot, by the command `openssl`."""

from __future__ import annotations

import pathlib
import subprocess
from typing import NamedTuple


class Certificate(NamedTuple):
    """A certificate and its key: PEM files."""

    certificate: pathlib.Path
    key: pathlib.Path


def _openssl(*arguments: str | pathlib.Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """An authority of its own, with keys on P-256, in a folder."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self._folder, self._name = folder, name
        self.own = self._files(name)
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", self.own.key, "-out", self.own.certificate),
        )

    def _files(self, name: str) -> Certificate:
        return Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")

    def issue(self, name: str, alternative: str, days: int = 2) -> Certificate:
        """A certificate for `alternative`, such as "IP:127.0.0.1", which ends in `days`, or has ended."""
        made = self._files(f"{self._name}-{name}")
        request, extensions = made.key.with_suffix(".csr"), made.key.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={alternative}\n")
        _openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", made.key, "-out", request),
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.own.certificate, "-CAkey", self.own.key, "-CAcreateserial"),
            *("-extfile", extensions, "-days", str(days), "-out", made.certificate),
        )
        return made
