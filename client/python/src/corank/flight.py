"""`corank-flight`, or `python -m corank.flight`: a gateway that serves corank's operators on tables by Arrow Flight."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

import corank
from corank._address import is_this_host
from corank._channels import DEFAULT_ADDRESS
from corank._errors import of_command

DEFAULT_LISTEN = "127.0.0.1:50061"
_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_STUCK_SECONDS = 5.0
_EPILOG = """\
Callers stream tables by any client of Arrow Flight and get them back sorted,
merged, joined or grouped. The gateway passes a caller's bearer token on to
corankd, whose permissions count. BYTES may end in KiB, MiB or GiB.

exit codes: 0 after SIGTERM or Ctrl-C when all calls had ended; 1 when it could
not start, or ended calls after --drain seconds.
"""


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]+) ?(|KiB|MiB|GiB)", text)
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; give bytes, such as 1000000 or 4GiB")
    return int(found[1]) * _UNITS[found[2]]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e8:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; give seconds, more than 0")
    return seconds


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of calls; give 1 or more")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="corank-flight",
        description="Serves corank's operators on tables by Arrow Flight.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"corank-flight {corank.__version__}")
    add = parser.add_argument
    add("--listen", default=DEFAULT_LISTEN, metavar="HOST:PORT", help=f"port 0: any; default: {DEFAULT_LISTEN}")
    add("--server", metavar="HOST:PORT", help=f"the corankd; default: CORANK_SERVER, else {DEFAULT_ADDRESS}")
    add("--tls-certificate", metavar="FILE", help="serve with TLS: the certificate, PEM")
    add("--tls-key", metavar="FILE", help="its key, PEM")
    add("--tls-client-ca", metavar="FILE", help="take only callers with a certificate of this authority, PEM")
    add("--insecure", action="store_true", help="serve other hosts without TLS")
    add("--memory", type=_size, default=4 << 30, metavar="BYTES", help="for all tables; default: 4GiB")
    add("--quota", type=_size, default=1 << 30, metavar="BYTES", help="for the kept tables of a caller; default: 1GiB")
    add("--expire", type=_seconds, default=3600.0, metavar="SECONDS", help="drop tables unused so long; default: 3600")
    add("--idle", type=_seconds, default=60.0, metavar="SECONDS", help="end calls whose caller stalls; default: 60")
    add("--calls", type=_count, default=64, metavar="N", help="calls that run at the same time; default: 64")
    add("--drain", type=_seconds, default=30.0, metavar="SECONDS", help="wait for calls at the end; default: 30")
    return parser


def _file(option: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise corank.InvalidArgument(f"--{option}: cannot read {path}: {error.strerror}") from None


def _tls(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of the service for TLS."""
    if (given.tls_certificate is None) != (given.tls_key is None):
        raise corank.InvalidArgument("--tls-certificate, --tls-key: give both, or none")
    if given.tls_certificate is None:
        if given.tls_client_ca is not None:
            raise corank.InvalidArgument("--tls-client-ca: needs --tls-certificate and --tls-key")
        if not is_this_host(given.listen) and not given.insecure:
            raise corank.InvalidArgument(
                f"--listen: other hosts reach {given.listen}; give --tls-certificate and --tls-key, or --insecure"
            )
        return {}
    pair = _file("tls-certificate", given.tls_certificate), _file("tls-key", given.tls_key)
    tls: dict[str, Any] = {"tls_certificates": [pair]}
    if given.tls_client_ca is not None:
        tls.update(verify_client=True, root_certificates=_file("tls-client-ca", given.tls_client_ca))
    return tls


def _serve(given: argparse.Namespace) -> int:
    """Serves until a signal ends it."""
    try:
        import pyarrow as pa

        from corank._flight_server import Gateway, Limits
    except ImportError:
        raise corank.InvalidArgument("needs pyarrow 20 or newer with Flight: pip install 'corank[flight]'") from None
    tls = _tls(given)
    # A caller without a token must not get the rights of the token, or of the certificate, that the gateway has.
    os.environ.pop("CORANK_TOKEN", None)
    needs_token = bool(os.environ.get("CORANK_CLIENT_CERTIFICATE"))
    sys.tracebacklimit = 0  # pyarrow adds tracebacks to what callers read

    def connect(token: str | None) -> corank.Client:
        return corank.connect(given.server, token=token, progress=False)

    with connect(None) as first:
        server = first.address
    limits = Limits(given.memory, min(given.quota, given.memory), given.expire, given.idle, given.calls)
    try:
        gateway = Gateway(f"grpc{'+tls' if tls else ''}://{given.listen}", connect, limits, needs_token, **tls)
    except pa.ArrowException as error:
        raise corank.InvalidArgument(f"--listen: cannot serve at {given.listen}: {error}") from None
    ended = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: ended.set())
    host = given.listen.rpartition(":")[0]
    print(f"corank-flight: serves {host}:{gateway.port} by corankd at {server}", file=sys.stderr, flush=True)
    ended.wait()
    all_ended = gateway.stop(given.drain)
    ending = threading.Thread(target=gateway.shutdown, name="corank-flight-shutdown", daemon=True)
    ending.start()
    ending.join(_STUCK_SECONDS)
    if ending.is_alive():  # pyarrow waits for callers that neither send nor take
        sys.stderr.flush()
        os._exit(1)
    return 0 if all_ended else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the gateway until SIGTERM or Ctrl-C; 1 with one line on stderr that says what to change."""
    given = _parser().parse_args(arguments)
    try:
        return _serve(given)
    except corank.CorankError as error:
        print(f"corank-flight: {of_command(error)}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
