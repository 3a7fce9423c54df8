"""TLS and tokens: how client and server prove to each other who they are."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping

import grpc

from corank import _errors as errors
from corank._address import is_this_host

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TOKEN = re.compile(r"[!-~]+")
_CERTIFICATE, _KEY = b"-----BEGIN CERTIFICATE-----", b"PRIVATE KEY-----"


def traceparent(text: str) -> str:
    """`text`, if it is a traceparent of W3C Trace Context.

    Raises:
        InvalidArgument: it is not.
    """
    if not _TRACEPARENT.fullmatch(text):
        raise errors.InvalidArgument(
            "traceparent: must be a W3C traceparent, such as 00-<32 hex digits>-<16 hex digits>-01", field="traceparent"
        )
    return text


def trace_id(parent: object) -> str:
    """The trace that a traceparent names; empty for what is none."""
    return str(parent)[3:35] if _TRACEPARENT.fullmatch(str(parent)) else ""


def _contents(option: str, path: str | os.PathLike[str], mark: bytes = b"") -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise errors.InvalidArgument(
            f"{option}: cannot read {os.fspath(path)}: {error.strerror}", field=option
        ) from error
    if mark not in data:
        raise errors.InvalidArgument(
            f"{option}: {os.fspath(path)} has no {mark.decode()!r}; it must be PEM", field=option
        )
    return data


class Credentials:
    """TLS and token of one client; files are read when it is made. Thread-safe.

    Args:
        address: of the server.
        tls: use TLS though no other argument asks for it.
        tls_ca: the file with the certificates of the authorities to trust; None: those of gRPC, with TLS.
        tls_certificate: the file with the client's own certificate.
        tls_key: the file with its key.
        tls_server_name: the name that the server's certificate must hold; None: the host of the address.
        token: the token that names the caller.
        token_file: the file that holds the token; the client reads it again when the server refuses the token.
        environment: where CORANK_SERVER_CA, CORANK_CLIENT_CERTIFICATE, CORANK_CLIENT_KEY and CORANK_TOKEN are, which
            stand for arguments that are None.

    Raises:
        InvalidArgument: a file cannot be used; a token would leave this host in the clear.
    """

    def __init__(
        self,
        address: str,
        *,
        tls: bool = False,
        tls_ca: str | os.PathLike[str] | None = None,
        tls_certificate: str | os.PathLike[str] | None = None,
        tls_key: str | os.PathLike[str] | None = None,
        tls_server_name: str | None = None,
        token: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        ca = tls_ca or environment.get("CORANK_SERVER_CA")
        certificate = tls_certificate or environment.get("CORANK_CLIENT_CERTIFICATE")
        key = tls_key or environment.get("CORANK_CLIENT_KEY")
        self.ca = None if ca is None else os.fspath(ca)
        """The file of the authorities; None: gRPC's own."""
        self.server_name = tls_server_name
        """The name to expect in the server's certificate."""
        self.channel: grpc.ChannelCredentials | None = None
        """The credentials of a secure channel; None: no TLS."""
        if tls or ca or certificate or key or tls_server_name:
            if bool(certificate) != bool(key):
                raise errors.InvalidArgument("tls_certificate, tls_key: give both, or none", field="tls_key")
            self.channel = grpc.ssl_channel_credentials(
                None if not ca else _contents("tls_ca", ca, _CERTIFICATE),
                None if not key else _contents("tls_key", key, _KEY),
                None if not certificate else _contents("tls_certificate", certificate, _CERTIFICATE),
            )
        if self.channel is not None and not self.server_name and "," in address:
            raise errors.InvalidArgument(
                f"tls_server_name: several addresses ({address}) with TLS need the name that their certificates hold",
                field="tls_server_name",
            )
        if token is not None and token_file is not None:
            raise errors.InvalidArgument("token, token_file: give one, not both", field="token")
        if token is None and token_file is None:
            token = environment.get("CORANK_TOKEN") or None
        self._lock = threading.Lock()
        self._token_file = token_file
        self._authorization = ""
        if token is None and token_file is None:
            return
        if self.channel is None and not is_this_host(address):
            raise errors.InvalidArgument(
                f"token: anyone on the way to {address} could read it, for there is no TLS; switch TLS on (tls_ca=, "
                "tls=True), or use an address of this host",
                field="token",
            )
        if token_file is not None:
            self._authorization = self._read(token_file)
        else:
            self._authorization = _bearer("token", token or "")

    @staticmethod
    def _read(path: str | os.PathLike[str]) -> str:
        return _bearer("token_file", _contents("token_file", path).decode("latin-1"))

    def forked(self) -> None:
        """In a child."""
        self._lock = threading.Lock()

    @property
    def authorization(self) -> str:
        """The header's value; empty: there is no token."""
        with self._lock:
            return self._authorization

    def reload(self, refused: str) -> bool:
        """Reads the token's file again; whether it holds another token than the `refused` one."""
        if self._token_file is None:
            return False
        try:
            authorization = self._read(self._token_file)
        except errors.InvalidArgument:
            return False
        with self._lock:
            self._authorization = authorization
        return authorization != refused


def _bearer(option: str, text: str) -> str:
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise errors.InvalidArgument(
            f"{option}: a token is one word of printable ASCII characters, and not empty", field=option
        )
    return f"Bearer {token}"
