"""A Flight gateway beside a server, and a client of it, for tests."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import pytest

import corank

pa = pytest.importorskip("pyarrow")
flight = pytest.importorskip("pyarrow.flight")

from corank._flight_server import Gateway, Limits  # noqa: E402


def connecting(address: str, **options: Any) -> Callable[[str | None], corank.Client]:
    """What makes the clients of a gateway."""
    given: Any = {"deadline": 30, "retries": 1, "progress": False, **options}
    return lambda token: corank.connect(address, token=token, **given)


@contextlib.contextmanager
def served(address: str, limits: Limits | None = None, **given: Any) -> Iterator[Gateway]:
    """A gateway before the server at this address; all its memory is free in the end."""
    made = Gateway("grpc://127.0.0.1:0", connecting(address), limits, **given)
    traced, sys.tracebacklimit = getattr(sys, "tracebacklimit", 1000), 0
    try:
        yield made
        wait_for(lambda: not made._calls.now(), "a call that does not end")
    finally:
        sys.tracebacklimit = traced
        made.stop(0.1)
        # It waits for callers, whom a test that failed may still hold.
        ending = threading.Thread(target=made.shutdown, daemon=True)
        ending.start()
        ending.join(5.0)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def connected(gateway: Gateway) -> Any:
    """A Flight client of a gateway."""
    return flight.connect(f"grpc://127.0.0.1:{gateway.port}")


def command(operator: str, **arguments: Any) -> bytes:
    """A command."""
    return json.dumps({"operator": operator, **arguments}).encode()


def exchange(client: Any, text: bytes, tables: Sequence[Any], options: Any = None, rows: int = 3) -> Any:
    """What the gateway makes of streamed tables, whose batches have so many rows."""
    writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(text), options)
    with writer:
        writer.begin(tables[0].schema)
        for number, table in enumerate(tables):
            for batch in table.to_batches(rows):
                writer.write_with_metadata(batch, str(number).encode() if number else b"")
        writer.done_writing()
        return reader.read_all()


def put(client: Any, name: str, table: Any, options: Any = None, rows: int = 3) -> Any:
    """Keeps a table: what the gateway says of it."""
    writer, reader = client.do_put(flight.FlightDescriptor.for_path(name), table.schema, options)
    with writer:
        for batch in table.to_batches(rows):
            writer.write_batch(batch)
        writer.done_writing()
        return json.loads(reader.read().to_pybytes())


def status(client: Any, options: Any = None) -> dict[str, Any]:
    """What the gateway says of itself."""
    (told,) = client.do_action("status", options)
    return dict(json.loads(told.body.to_pybytes()))


def all_free(gateway: Gateway, kept: int = 0) -> None:
    """Fails unless a gateway holds only so many bytes, and Arrow none of what it was sent."""
    wait_for(lambda: gateway.budget.used == kept and not gateway._calls.now(), "bytes that are not free")
    gc.collect()
