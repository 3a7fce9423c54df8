"""Retries: after which failures of which calls, how often, and after which waits; the same as in C++."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent import futures
from typing import Any, Callable, NamedTuple

import grpc
import numpy as np
import pytest
from fake_server import FakeServer
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from virtual_clock import VirtualClock

import corank
from corank._errors import Failure
from corank._retry import Budget, Repeat, after_failure

X = np.array([3, 1, 2], dtype=np.int32)
SERVICE, MEMORY = "/corank.v1.CorankService/", "/corank.v1.MemoryService/"


def failed(failure: Failure, retry_after: float | None = None) -> corank.Unavailable:
    """An error of a try."""
    error = corank.Unavailable("", retry_after=retry_after)
    error._failure = failure
    return error


LOST = failed(Failure.LOST)


@pytest.mark.parametrize(("attempt", "most"), [(1, 0.05), (2, 0.1), (3, 0.2), (4, 0.4), (5, 0.8), (12, 5.0)])
def test_without_a_word_of_the_server_the_wait_is_drawn_from_a_time_that_doubles(attempt: int, most: float) -> None:
    for chance in (0.0, 0.5, 1.0):
        assert after_failure(LOST, Repeat.ALWAYS, attempt, 20, None, chance).delay == pytest.approx(most * chance)


def test_the_servers_delay_is_the_least_and_callers_spread_behind_it() -> None:
    def delay(retry_after: float, attempt: int, chance: float) -> float | None:
        return after_failure(failed(Failure.REFUSED, retry_after), Repeat.ALWAYS, attempt, 20, None, chance).delay

    assert delay(2.0, 1, 0.0) == 2.0
    assert delay(2.0, 1, 1.0) == 4.0
    assert delay(2.0, 2, 1.0) == 6.0
    assert delay(2.0, 5, 1.0) == 7.0
    assert delay(0.001, 1, 1.0) == pytest.approx(0.051)
    assert delay(60.0, 1, 0.0) == 60.0


def test_the_next_try_begins_before_the_deadline_or_not_at_all() -> None:
    busy = failed(Failure.REFUSED, 2.0)
    assert after_failure(busy, Repeat.ALWAYS, 1, 5, 3.0, 0.5).delay == 2.5
    late = after_failure(busy, Repeat.ALWAYS, 1, 5, 2.0, 0.0)
    assert late == (None, "the next try would begin after the deadline")
    assert after_failure(LOST, Repeat.ALWAYS, 5, 5, 0.01, 0.5).delay == 0.005
    assert after_failure(LOST, Repeat.ALWAYS, 1, 5, 0.0, 0.5).delay is None


@pytest.mark.parametrize(
    ("repeat", "allowed"),
    [
        (Repeat.NEVER, {Failure.NOT_SENT}),
        (Repeat.UNLESS_LOST, {Failure.NOT_SENT, Failure.REFUSED}),
        (Repeat.ALWAYS, {Failure.NOT_SENT, Failure.REFUSED, Failure.LOST}),
    ],
)
def test_retries_follow_from_the_call_and_the_failure(repeat: Repeat, allowed: set[Failure]) -> None:
    for failure in Failure:
        assert (after_failure(failed(failure), repeat, 1, 5, 60.0, 0.0).delay is not None) == (failure in allowed)
        assert after_failure(failed(failure), repeat, 6, 5, 60.0, 0.0).delay is None
        assert after_failure(failed(failure), repeat, 1, 0, 60.0, 0.0) == (None, "")


def test_budget_is_spent_by_failures_and_earned_by_success() -> None:
    budget = Budget(4)
    assert [budget.take() for _ in range(5)] == [True, False, False, False, False]
    for _ in range(35):
        budget.refill()
    assert [budget.take(), budget.take()] == [True, False]


class Kind(NamedTuple):
    """A call of the client, the method that is tried, and what it may do twice."""

    name: str
    method: str
    repeat: Repeat
    call: Callable[[corank.Client], object]


def handle(client: corank.Client) -> corank.StoredArray:
    """The handle of an array that the server may keep."""
    return corank.StoredArray(client._connection, "a", 7, np.dtype(np.uint32), 3)


KINDS = [
    Kind("sort", SERVICE + "Sort", Repeat.ALWAYS, lambda client: client.sort(X)),
    Kind("merge", SERVICE + "Merge", Repeat.ALWAYS, lambda client: client.merge([X, X])),
    Kind("search", SERVICE + "Search", Repeat.ALWAYS, lambda client: client.search(X, X)),
    Kind("sort of a kept array", SERVICE + "Sort", Repeat.ALWAYS, lambda client: client.sort(handle(client))),
    Kind("sort that is kept", SERVICE + "Sort", Repeat.UNLESS_LOST, lambda client: client.sort(X, keep="a")),
    Kind("info", SERVICE + "GetServerInfo", Repeat.ALWAYS, lambda client: client.info()),
    Kind("fetch", MEMORY + "FetchArray", Repeat.ALWAYS, lambda client: handle(client).fetch()),
    Kind("list", MEMORY + "ListArrays", Repeat.ALWAYS, lambda client: client.arrays()),
    Kind("delete", MEMORY + "DeleteArray", Repeat.UNLESS_LOST, lambda client: client.delete("a")),
]
ANSWERS = [
    (code, retry_after) for code in grpc.StatusCode if code is not grpc.StatusCode.OK for retry_after in (None, 0.007)
]


class FailingServer(grpc.GenericRpcHandler):
    """Answers every call of any method with the same status."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.code, self.retry_after = grpc.StatusCode.INTERNAL, None
        self._server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[self])
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler of any method: both sides stream, which is what every other kind looks like on the wire."""
        self.calls.append(details.method)

        def fail(_: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
            if self.retry_after is not None:
                info = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(nanos=int(self.retry_after * 1e9)))
                packed = any_pb2.Any()
                packed.Pack(info)
                status = status_pb2.Status(code=self.code.value[0], message="full", details=[packed])
                context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(self.code, "full" if self.retry_after is not None else "Socket closed")
            yield b""

        return grpc.stream_stream_rpc_method_handler(fail)

    def stop(self) -> None:
        """Stops at once."""
        self._server.stop(None).wait()


@pytest.fixture(scope="module")
def failing() -> Iterator[FailingServer]:
    """A server that fails."""
    server = FailingServer()
    yield server
    server.stop()


def connect(address: str, chance: float = 0.5) -> tuple[corank.Client, VirtualClock]:
    """A client whose time is virtual."""
    client, clock = corank.connect(address, progress=False), VirtualClock(chance)
    client._connection.retrier.clock = clock
    return client, clock


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_every_kind_of_call_after_every_status(failing: FailingServer, kind: Kind) -> None:
    for code, retry_after in ANSWERS:
        if kind.name == "delete" and code is grpc.StatusCode.FAILED_PRECONDITION:
            continue  # waits for requests that still use the array: test_kept.py
        failing.code, failing.retry_after, failing.calls = code, retry_after, []  # type: ignore[assignment]
        lost = code is grpc.StatusCode.UNAVAILABLE and retry_after is None
        refused = retry_after is not None and code in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.RESOURCE_EXHAUSTED,
        )
        tried = refused or (lost and kind.repeat is Repeat.ALWAYS)
        client, clock = connect(failing.address)
        with client, pytest.raises(corank.CorankError) as caught:
            kind.call(client)
        assert caught.value.code == code.name
        assert failing.calls.count(kind.method) == (6 if tried else 1), (code, retry_after, caught.value)
        assert len(clock.sleeps) == (5 if tried else 0)
        assert caught.value.attempts == (6 if tried else 1)
        assert ("(tried 6 times in" in str(caught.value)) == tried
        assert ("no more than 6 tries" in str(caught.value)) == tried
        assert ("(not tried again: it may have been done" in str(caught.value)) == (lost and not tried)


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_every_call_is_tried_again_where_it_never_left(kind: Kind) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client, clock = connect(f"127.0.0.1:{unused.getsockname()[1]}")
        with client, pytest.raises(corank.Unavailable, match=r"no answer from a corank server.*tried 6 times"):
            kind.call(client)
        assert len(clock.sleeps) == 5


def test_no_wait_goes_beyond_the_deadline(fake: FakeServer) -> None:
    client, clock = connect(fake.address, 0.0)
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=1.0, times=9)
    with client, pytest.raises(corank.ResourceExhausted, match=r"tried 3 times in 2 s: the next try would begin after"):
        client.sort(X, deadline=2.5)
    assert clock.sleeps == [1.0, 1.0]
    assert len(fake.requests) == 3


def test_try_that_meets_the_deadline_tells_what_was_before(fake: FakeServer) -> None:
    client, _ = connect(fake.address, 0.0)
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full", retry_after=1.0)
    fake.fail_next(grpc.StatusCode.DEADLINE_EXCEEDED, "late")
    with client, pytest.raises(corank.DeadlineExceeded, match=r"tried 2 times in 1 s: the try before: .*queue is full"):
        client.sort(X)


def test_clients_of_a_server_that_refuses_everything_soon_ask_once(fake: FakeServer) -> None:
    client, _ = connect(fake.address, 0.0)
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=1.0, times=108)
    with client:
        for _ in range(100):
            with pytest.raises(corank.ResourceExhausted):
                client.sort(X)
        assert len(fake.requests) == 108  # of 20 tokens 10 may be spent: 5 retries of the first call, 3 of the second
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])


def test_progress_shows_the_tries(fake: FakeServer) -> None:
    client, clock = connect(fake.address, 0.0)
    told: list[corank.Progress] = []
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=1.0)
    progress = corank.Progress("sorting")
    clock.on_sleep = lambda: told.append(progress)
    progress.attempt, progress.waiting = 2, True
    assert progress.text().endswith(", waits for try 2")
    progress.waiting = False
    assert progress.text().endswith(", try 2")
    shown: list[int] = []
    with client:
        client.sort(X, progress=lambda seen: shown.append(seen.attempt))
    assert shown[-1] == 2


@pytest.mark.parametrize(
    ("first", "over", "tries"),
    [("full", True, 1), ("lost", True, 1), ("full", False, 2), ("lost", False, 1)],
)
def test_results_in_shared_memory_are_written_twice_only_where_that_is_safe(
    fake: FakeServer, first: str, over: bool, tries: int
) -> None:
    client, _ = connect(fake.address, 0.0)
    with client:
        shared = client.empty_shared(8, np.int32)
        keys, out = shared[:3], shared[:3] if over else shared[4:7]
        keys[:] = X
        if first == "full":
            fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=1.0)
        else:
            fake.fail_next(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        if tries == 1:
            with pytest.raises(corank.CorankError, match="not tried again: it"):
                client.sort(keys, out=out)
        else:
            client.sort(keys, out=out)
            np.testing.assert_array_equal(out, [1, 2, 3])
        assert len(fake.requests) == tries
        fake.requests.clear()
        fake.fail_next(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        client.sort(keys)  # reads the region, and changes nothing
        assert len(fake.requests) == 2


def test_call_through_the_clients_own_memory_that_is_lost_gets_other_memory(fake: FakeServer) -> None:
    client, _ = connect(fake.address, 0.0)
    keys = np.random.default_rng(1).integers(0, 1000, 50_000, dtype=np.int32)
    regions: list[str] = []
    fake.on_request = lambda request: regions.append(request.keys.shared_memory.region)
    fake.fail_next(grpc.StatusCode.UNAVAILABLE, "Socket closed")
    with client:
        np.testing.assert_array_equal(client.sort(keys, place="shared_memory"), np.sort(keys))
    assert len(set(regions)) == len(regions) == 2


@pytest.mark.parametrize(("options", "tries"), [({}, 2), ({"keep": "a"}, 1)])
def test_streams_are_sent_again_whole(fake: FakeServer, options: Any, tries: int) -> None:
    client, _ = connect(fake.address, 0.0)
    keys = np.random.default_rng(1).integers(0, 1000, 50_000, dtype=np.int32)
    with client:
        client._connection.server()
        fake.fail_next(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        if tries == 1:
            with pytest.raises(corank.Unavailable, match="it may have been done"):
                client.sort(keys, place="stream", **options)
        else:
            np.testing.assert_array_equal(client.sort(keys, place="stream", **options), np.sort(keys))
