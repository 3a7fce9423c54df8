"""Calls of the Flight gateway that fail, stall, are cancelled or lose someone; tokens and TLS; the program."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from certificates import Authority
from fake_server import FakeServer

import corank
from corank.testing import LocalServer

pa = pytest.importorskip("pyarrow")
flight = pytest.importorskip("pyarrow.flight")

from flight_cases import all_free, command, connected, exchange, put, served, status, wait_for  # noqa: E402

from corank import flight as program  # noqa: E402
from corank._flight_server import Gateway, Limits  # noqa: E402

TABLE = pa.table({"k": np.arange(2000)[::-1].copy(), "s": [f"row {at}" for at in range(2000)]})
SORT = command("sort_by", keys=["s", "k"])
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def gateway(fake: FakeServer) -> Iterator[Gateway]:
    """A gateway before the double."""
    with served(fake.address) as made:
        yield made


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Any]:
    """A Flight client of it."""
    with connected(gateway) as made:
        yield made


def bearer(token: str, **options: Any) -> Any:
    """The options of calls with a token."""
    return flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {token}".encode())], **options)


def test_errors_of_the_server_become_errors_of_flight(fake: FakeServer, gateway: Gateway, client: Any) -> None:
    for code, kind in (
        (grpc.StatusCode.INVALID_ARGUMENT, pa.ArrowInvalid),
        (grpc.StatusCode.NOT_FOUND, pa.ArrowKeyError),
        (grpc.StatusCode.UNAUTHENTICATED, flight.FlightUnauthenticatedError),
        (grpc.StatusCode.PERMISSION_DENIED, flight.FlightUnauthorizedError),
        (grpc.StatusCode.DEADLINE_EXCEEDED, flight.FlightTimedOutError),
        (grpc.StatusCode.UNAVAILABLE, flight.FlightUnavailableError),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, flight.FlightUnavailableError),
        (grpc.StatusCode.UNIMPLEMENTED, pa.ArrowNotImplementedError),
        (grpc.StatusCode.INTERNAL, flight.FlightInternalError),
    ):
        fake.fail_next(code, "what corankd says", times=2)
        text = "not done within its deadline" if code is grpc.StatusCode.DEADLINE_EXCEEDED else "what corankd says"
        with pytest.raises(kind, match=text):
            exchange(client, SORT, [TABLE])
        fake._failures.clear()
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", reason="QUEUE_FULL", retry_after=0.25, times=2)
    with pytest.raises(flight.FlightUnavailableError) as failed:
        exchange(client, SORT, [TABLE])
    told = json.loads(failed.value.extra_info)
    assert told == {
        "code": "RESOURCE_EXHAUSTED",
        "reason": "QUEUE_FULL",
        "request_id": "made-by-server",
        "retry_after": 0.25,
    }
    all_free(gateway)


@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_a_cancelled_call_ends_on_the_server_too(fake: FakeServer, gateway: Gateway, client: Any, how: str) -> None:
    fake.hold = threading.Event()
    put(client, "table", TABLE, rows=1000)
    kept = gateway.budget.used
    options = flight.FlightCallOptions(timeout=0.5 if how == "timeout" else 60.0)
    writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(SORT), options)
    writer.begin(TABLE.schema)
    writer.write_table(TABLE)
    writer.done_writing()
    wait_for(lambda: len(fake.requests) == 1, "no request")
    assert gateway.budget.used > kept
    if how == "cancel":
        reader.cancel()
    with pytest.raises(flight.FlightCancelledError if how == "cancel" else flight.FlightTimedOutError):
        reader.read_chunk()  # read_all of pyarrow takes a cancelled call for Ctrl-C
    wait_for(lambda: bool(fake.ended), "the call goes on at the server")
    all_free(gateway, kept)
    fake.hold.set()


def test_a_deadline_of_a_command_limits_the_call_of_the_server(fake: FakeServer, client: Any) -> None:
    fake.hold = threading.Event()
    with pytest.raises(flight.FlightTimedOutError, match="deadline"):
        exchange(client, command("sort_by", keys="k", deadline=0.3), [TABLE])
    fake.hold.set()


CALLERS = {
    "put": """
writer, _ = client.do_put(flight.FlightDescriptor.for_path("x"), table.schema)
for _ in range(20): writer.write_table(table)
""",
    "exchange": """
writer, _ = client.do_exchange(flight.FlightDescriptor.for_command(b'{"operator": "sort_by", "keys": "k"}'))
writer.begin(table.schema)
for _ in range(20): writer.write_table(table)
""",
    "get": """
reader = client.do_get(flight.Ticket(b"large"))
reader.read_chunk()
""",
}


@pytest.mark.parametrize("what", list(CALLERS))
def test_a_caller_that_dies_leaves_nothing(gateway: Gateway, client: Any, what: str) -> None:
    large = pa.table({"k": np.arange(3_000_000)})
    put(client, "large", large, rows=1_000_000)
    kept = gateway.budget.used
    code = f"""
import os, sys
import pyarrow as pa
from pyarrow import flight
client = flight.connect("grpc://127.0.0.1:{gateway.port}")
table = pa.table({{"k": list(range(50000))}})
{CALLERS[what]}
print("there", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"there\n"
        wait_for(lambda: bool(gateway._calls.now()), "no call")
        if what != "get":
            wait_for(lambda: gateway.budget.used > kept, "nothing was received")
        caller.kill()
    all_free(gateway, kept)
    assert [each.descriptor.path[0] for each in client.list_flights()] == [b"large"], "half a table is none"


def test_a_reader_that_closes_early_ends_the_call(gateway: Gateway, client: Any) -> None:
    put(client, "large", pa.table({"k": np.arange(3_000_000)}), rows=1_000_000)
    kept = gateway.budget.used
    reader = client.do_get(flight.Ticket(command("top_k", table="large", keys="k", k=2_000_000)))
    assert reader.read_chunk().data["k"][0].as_py() == 2_999_999
    assert gateway.budget.used > kept
    reader.cancel()
    all_free(gateway, kept)


def test_a_caller_that_stalls_loses_the_memory(fake: FakeServer) -> None:
    with served(fake.address, Limits(idle_seconds=0.3)) as gateway, connected(gateway) as client:
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(SORT))
        writer.begin(TABLE.schema)
        writer.write_table(TABLE)
        wait_for(lambda: gateway.budget.used > 0, "nothing was received")
        wait_for(lambda: gateway.budget.used == 0, "the memory stays")
        writer.write_table(TABLE)
        writer.done_writing()
        with pytest.raises(flight.FlightTimedOutError, match=r"^the caller neither sent nor took anything for 0.3 s"):
            reader.read_all()
        large = pa.table({"k": np.arange(3_000_000)})
        put(client, "large", large, rows=1_000_000)
        reader = client.do_get(flight.Ticket(b"large"))
        reader.read_chunk()
        assert list(client.do_action(flight.Action("drop", b"large")))
        wait_for(lambda: gateway.budget.used == 0, "the memory stays")
        with pytest.raises(flight.FlightTimedOutError):
            reader.read_all()


def test_a_dropped_table_streams_to_its_end(gateway: Gateway, client: Any) -> None:
    large = pa.table({"k": np.arange(2_000_000)})
    put(client, "large", large, rows=1_000_000)
    kept = gateway.budget.used
    reader = client.do_get(flight.Ticket(b"large"))
    first = reader.read_chunk().data
    assert list(client.do_action(flight.Action("drop", b"large")))
    assert gateway.budget.used == kept, "a stream still holds it"
    assert first.num_rows + sum(chunk.data.num_rows for chunk in reader) == 2_000_000
    all_free(gateway)


def test_a_server_that_dies_in_the_middle_is_unavailable() -> None:
    binary = os.environ.get("CORANKD")
    if not binary:
        pytest.skip("CORANKD is not set")
    with LocalServer(binary) as server, served(server.address) as gateway, connected(gateway) as client:
        assert exchange(client, SORT, [TABLE], rows=1000)["k"].to_pylist()[0] == 1999
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(SORT))
        writer.begin(TABLE.schema)
        writer.write_table(TABLE)
        wait_for(lambda: gateway.budget.used > 0, "nothing was received")
        server.kill()
        writer.done_writing()
        with pytest.raises(flight.FlightUnavailableError, match=rf"{server.address}"):
            reader.read_all()
        all_free(gateway)


def test_too_many_calls_and_calls_of_a_gateway_that_stops_are_refused(fake: FakeServer) -> None:
    fake.hold = threading.Event()
    with served(fake.address, Limits(calls=1)) as gateway, connected(gateway) as client:
        found: list[Any] = []
        stopped: list[bool] = []
        thread = threading.Thread(target=lambda: found.append(exchange(client, SORT, [TABLE], rows=1000)))
        thread.start()
        wait_for(lambda: len(fake.requests) == 1, "no request")
        with pytest.raises(flight.FlightUnavailableError, match=r"^1 calls run, and no more may; try again later"):
            status(client)
        stopping = threading.Thread(target=lambda: stopped.append(gateway.stop(20.0)))
        stopping.start()
        wait_for(lambda: gateway._calls._drains, "does not stop")
        with pytest.raises(flight.FlightUnavailableError, match=r"^the gateway stops; call another one"):
            status(client)
        fake.hold.set()
        thread.join()
        stopping.join()
        assert found[0]["k"].to_pylist()[0] == 1999, "a call that ran has ended"
        assert stopped == [True]


def test_tables_belong_to_the_token_that_put_them(tmp_path: pathlib.Path) -> None:
    binary = os.environ.get("CORANKD")
    if not binary:
        pytest.skip("CORANKD is not set")
    import hashlib

    lines = [("a", "secret-a", "all"), ("b", "secret-b", "all"), ("c", "secret-c", "merge")]
    tokens = "".join(f"{name} {hashlib.sha256(t.encode()).hexdigest()} {rights}\n" for name, t, rights in lines)
    (tmp_path / "tokens").write_text(tokens)
    (tmp_path / "tokens").chmod(0o600)
    with (
        LocalServer(binary, [f"--tokens-file={tmp_path / 'tokens'}"]) as server,
        served(server.address) as gateway,
        connected(gateway) as client,
    ):
        put(client, "mine", TABLE, bearer("secret-a"), rows=1000)
        kept = gateway.budget.used
        assert len(list(client.list_flights(b"", bearer("secret-a")))) == 1
        assert list(client.list_flights(b"", bearer("secret-b"))) == []
        with pytest.raises(pa.ArrowKeyError, match=r"^mine: no table of this name"):
            client.do_get(flight.Ticket(b"mine"), bearer("secret-b"))
        assert exchange(client, SORT, [TABLE], bearer("secret-b"), 1000)["k"].to_pylist()[0] == 1999
        for options in (None, bearer("secret"), bearer("two words")):
            for call in (
                lambda options=options: exchange(client, SORT, [TABLE], options, 1000),
                lambda options=options: put(client, "x", TABLE, options, 1000),
                lambda options=options: list(client.list_flights(b"", options)),
            ):
                with pytest.raises((flight.FlightUnauthenticatedError, pa.ArrowInvalid)):
                    call()
        with pytest.raises(flight.FlightUnauthorizedError, match="sort"):
            exchange(client, SORT, [TABLE], bearer("secret-c"), 1000)
        basic = flight.FlightCallOptions(headers=[(b"authorization", b"Basic abc")])
        with pytest.raises(flight.FlightUnauthenticatedError, match=r"^authorization: must be 'Bearer TOKEN'"):
            status(client, basic)
        assert len(gateway._callers._known) == 3, "clients of tokens that corankd refused are closed"
        gateway._callers.expire(0.0)
        assert not gateway._callers._known
        all_free(gateway, kept)


def test_traces_reach_the_server(fake: FakeServer, client: Any) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    options = flight.FlightCallOptions(headers=[(b"traceparent", parent.encode())])
    exchange(client, SORT, [TABLE], options, 1000)
    assert [headers["traceparent"] for name, headers in fake.headers if name.endswith("Sort")] == [parent]


class Program:
    """A running `corank-flight`."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        command_line = [sys.executable, "-m", "corank.flight", "--listen=127.0.0.1:0", *arguments]
        self.process = subprocess.Popen(
            command_line, stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, **environment}
        )
        assert self.process.stderr is not None
        said = re.match(r"corank-flight: serves 127.0.0.1:(\d+) by corankd at ", self.process.stderr.readline())
        assert said
        self.port = said[1]

    def stop(self) -> int:
        """Its exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def test_the_program_serves_until_a_signal_ends_it(any_client: corank.Client) -> None:
    # A token of the gateway's own environment is not for its callers.
    running = Program(f"--server={any_client.address}", "--drain=0.5", "--memory=64MiB", CORANK_TOKEN="secret")
    with flight.connect(f"grpc://127.0.0.1:{running.port}") as client:
        assert exchange(client, SORT, [TABLE], rows=1000)["k"].to_pylist()[0] == 1999
        assert status(client)["memory"] == 64 << 20
        with pytest.raises(pa.ArrowInvalid) as failed:
            exchange(client, b"x", [TABLE], rows=1000)
        assert "Traceback" not in str(failed.value)
    assert running.stop() == 0
    running = Program(f"--server={any_client.address}", "--drain=0.5")
    with flight.connect(f"grpc://127.0.0.1:{running.port}") as client:
        writer, _ = client.do_put(flight.FlightDescriptor.for_path("x"), TABLE.schema)
        writer.write_table(TABLE)
        while status(client)["used"] == 0:
            time.sleep(0.01)
        assert running.stop() == 1, "a caller stood still"
        with pytest.raises((flight.FlightError, pa.ArrowException)):
            writer.close()


def test_the_program_serves_tls(any_client: corank.Client, tmp_path: pathlib.Path) -> None:
    authority = Authority("authority")
    files = authority.issue_server().save(tmp_path)
    own = authority.issue("caller", "caller")
    ca = authority.save(tmp_path)
    tls = [f"--tls-certificate={files.certificate}", f"--tls-key={files.key}", f"--tls-client-ca={ca}"]
    running = Program(f"--server={any_client.address}", *tls)
    address, roots = f"grpc+tls://127.0.0.1:{running.port}", authority.certificate
    with flight.connect(address, tls_root_certs=roots, cert_chain=own.certificate, private_key=own.key) as client:
        assert exchange(client, SORT, [TABLE], rows=1000)["k"].to_pylist()[0] == 1999
    for wrong in ({"tls_root_certs": roots}, {"tls_root_certs": Authority("other").certificate}):
        with pytest.raises(flight.FlightUnavailableError), flight.connect(address, **wrong) as client:
            status(client, flight.FlightCallOptions(timeout=10.0))
    assert running.stop() == 0


def test_a_certificate_of_the_gateway_is_not_for_callers_without_a_token(fake: FakeServer) -> None:
    with served(fake.address, needs_token=True) as gateway, connected(gateway) as client:
        with pytest.raises(flight.FlightUnauthenticatedError, match=r"^authorization: missing; send the header"):
            status(client)
        assert status(client, bearer("any"))["tables"] == 0


def test_wrong_options_are_one_line(
    capfd: pytest.CaptureFixture[str], tmp_path: pathlib.Path, fake: FakeServer
) -> None:
    for arguments, text in (
        (["--listen=0.0.0.0:1"], "--listen: other hosts reach 0.0.0.0:1; give --tls-certificate and --tls-key, or --"),
        (["--tls-key=x"], "--tls-certificate, --tls-key: give both, or none"),
        (["--tls-client-ca=x"], "--tls-client-ca: needs --tls-certificate and --tls-key"),
        (["--tls-certificate=no", "--tls-key=no"], "--tls-certificate: cannot read no: No such file or directory"),
        (["--server=no port"], "address: "),
        ([f"--listen={fake.address}"], f"--listen: cannot serve at {fake.address}: "),
    ):
        assert program.main(arguments) == 1
        said = capfd.readouterr().err
        assert f"corank-flight: {text}" in said, said
    for arguments in (["--memory=4GB"], ["--memory=0"], ["--idle=-1"], ["--calls=0"], ["--expire=never"]):
        with pytest.raises(SystemExit):
            program.main(arguments)


def test_help_fits_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
