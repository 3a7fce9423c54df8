"""That the deadline of a call bounds all that is done for it, and that a call that is stuck holds up no other."""

from __future__ import annotations

import contextlib
import gc
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from fake_cuda import CupyArray, FakeDriver
from fake_server import FakeServer
from virtual_clock import VirtualClock
from waiting import wait_until

import corank
from corank import _connection as connection
from corank import _cuda as cuda

KEYS = np.random.default_rng(3).integers(0, 2**32, 100_000, dtype=np.uint32)


@pytest.fixture
def stick(fake: FakeServer) -> Iterator[Callable[[str], threading.Event]]:
    """Makes the next call of a method stick, until the event that it returns is set or the test has ended."""
    events: list[threading.Event] = []

    def stuck(method: str) -> threading.Event:
        events.append(threading.Event())
        fake.stuck[method] = events[-1]
        return events[-1]

    yield stuck
    for event in events:
        event.set()


Stick = Callable[[str], threading.Event]


def seconds_of(fake: FakeServer, method: str) -> list[float]:
    """The seconds left to the deadlines of the calls of a method."""
    return [float("inf") if left is None else left for name, left in fake.left if name == method]


def about(seconds: float) -> float:
    """The most that a call has left whose deadline is in so many seconds: gRPC rounds up."""
    return 1.05 * seconds + 0.01


@pytest.mark.parametrize("method", ["GetServerInfo", "OpenLease", "RegisterSharedMemory"])
@pytest.mark.parametrize("place", ["auto", "shared_memory"])
def test_deadline_bounds_what_shared_memory_takes(
    fake: FakeServer,
    fake_client: corank.Client,
    stick: Stick,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    place: Any,
) -> None:
    monkeypatch.setattr(connection, "SHARED_BYTES", 100_000)
    stick(method)
    with pytest.raises(corank.DeadlineExceeded, match=rf"{method}: not done within its deadline of 0\.4 s"):
        fake_client.sort(KEYS, place=place, deadline=0.4)
    if method != "OpenLease":  # which has no deadline of gRPC's
        assert seconds_of(fake, method)[0] <= about(0.4)
    np.testing.assert_array_equal(fake_client.sort(KEYS, place=place), np.sort(KEYS))


@pytest.mark.parametrize("method", ["OpenLease", "RegisterCudaIpc"])
def test_deadline_bounds_the_registration_of_gpu_memory(
    fake: FakeServer, fake_client: corank.Client, stick: Stick, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    driver = FakeDriver()
    made = cuda.Driver(driver)
    monkeypatch.setattr(cuda, "_driver", lambda: made)
    array = CupyArray(driver.allocate(KEYS.nbytes), np.uint32)
    array.host[:] = KEYS
    event = stick(method)
    with pytest.raises(corank.DeadlineExceeded, match=rf"{method}: not done within its deadline of 0\.2 s"):
        fake_client.sort(array, out=array, deadline=0.2)
    if method == "RegisterCudaIpc":  # what is registered too late is given back
        event.set()
        wait_until(lambda: len(fake.places.regions) == 1)
        fake_client._connection.regions.sweep()
        assert fake.places.regions == {}
    host = array.host
    fake_client.sort(array, out=array)
    np.testing.assert_array_equal(host, np.sort(KEYS))


def test_deadline_bounds_the_question_whether_regions_are_lost(
    fake: FakeServer, fake_client: corank.Client, stick: Stick
) -> None:
    shared = fake_client.empty_shared(KEYS.size, np.uint32)
    fake.places.regions.clear()
    stick("ListRegions")
    with pytest.raises(corank.DeadlineExceeded, match=r"ListRegions: .*0\.2 s"):
        fake_client.sort(shared, deadline=0.2)


def test_attempt_after_regions_were_lost_has_what_is_left_of_the_deadline(
    fake: FakeServer, fake_client: corank.Client
) -> None:
    clock = VirtualClock(0.0)
    fake_client._connection.retrier.clock = clock
    shared = fake_client.empty_shared(KEYS.size, np.uint32)
    shared[:] = KEYS
    fake.places.regions.clear()
    fake.on_request = lambda request: clock.sleep(40.0)
    np.testing.assert_array_equal(fake_client.sort(shared, deadline=100), np.sort(KEYS))
    first, second = seconds_of(fake, "sort")
    assert first <= about(100)
    assert second <= about(60)
    assert seconds_of(fake, "ListRegions")[0] <= about(60)


def test_giving_memory_back_takes_one_try_and_a_second_at_most(
    fake: FakeServer, fake_client: corank.Client, stick: Stick, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corank._regions._SWEEP_SECONDS", 0.2)
    for _ in range(3):
        shared = fake_client.empty_shared(100)
        del shared
    gc.collect()
    fake.left.clear()
    stick("UnregisterRegion")
    fake_client._connection.regions.sweep()
    assert len(seconds_of(fake, "UnregisterRegion")) == 1
    assert seconds_of(fake, "UnregisterRegion")[0] <= about(0.2)
    # The rest of a call's deadline, if that is less.
    stick("UnregisterRegion")
    fake.left.clear()
    monkeypatch.setattr("corank._regions._SWEEP_SECONDS", 1.0)
    with pytest.raises(corank.DeadlineExceeded):
        fake_client.sort(KEYS, place="shared_memory", deadline=0.3)
    assert seconds_of(fake, "UnregisterRegion")[0] <= about(0.3)
    fake_client._connection.regions.sweep()
    assert len(fake.places.regions) == 0


@pytest.mark.parametrize("method", ["OpenLease", "RegisterSharedMemory"])
def test_stuck_registration_holds_up_no_other_thread(
    fake: FakeServer, fake_client: corank.Client, stick: Stick, method: str
) -> None:
    results: list[Any] = []
    if method == "RegisterSharedMemory":
        shared = fake_client.share(KEYS)  # and so the lease is open
    event = stick(method)
    thread = threading.Thread(target=lambda: results.append(fake_client.sort(KEYS, place="shared_memory", deadline=30)))
    thread.start()
    wait_until(lambda: method not in fake.stuck)
    if method == "OpenLease":
        shared = fake_client.share(KEYS)
    np.testing.assert_array_equal(fake_client.sort(shared.array), np.sort(KEYS))
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="shared_memory"), np.sort(KEYS))
    shared.close()
    fake_client._connection.regions.sweep()
    assert results == []
    event.set()
    thread.join()
    np.testing.assert_array_equal(results[0], np.sort(KEYS))
    assert len({region.lease for region in fake.places.regions.values()}) == 1


def test_threads_that_meet_a_new_server_all_get_new_memory(fake: FakeServer, fake_client: corank.Client) -> None:
    count = 4
    shared = [fake_client.share(KEYS).array for _ in range(count)]
    meet = threading.Barrier(count)
    fake.places.regions.clear()
    results: list[Any] = [None] * count

    def work(at: int) -> None:
        meet.wait(30)
        for place in ("auto", "shared_memory"):
            results[at] = fake_client.sort(shared[at], place=place)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, np.sort(KEYS))


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("RegisterSharedMemory", lambda client: client.empty_shared(10)),
        ("OpenLease", lambda client: client.share(KEYS)),
        ("ListArrays", lambda client: client.arrays()),
        ("DeleteArray", lambda client: client.delete("x")),
        ("GetServerInfo", lambda client: client.store("x", KEYS)),
        ("StoreArray", lambda client: client.store("x", KEYS)),
    ],
)
def test_clients_deadline_bounds_what_takes_none(
    fake: FakeServer, stick: Stick, method: str, call: Callable[[corank.Client], object]
) -> None:
    stick(method)
    late = pytest.raises(corank.DeadlineExceeded, match=rf"{method}: .*0\.3 s")
    with corank.connect(fake.address, deadline=0.3) as client, late:
        call(client)


def test_deadline_bounds_a_chain_that_asks_what_the_server_is(
    fake: FakeServer, fake_client: corank.Client, stick: Stick
) -> None:
    stick("GetServerInfo")
    late = pytest.raises(corank.DeadlineExceeded, match=r"GetServerInfo: .*0\.2 s")
    with late, fake_client.chain(deadline=0.2, place="inline") as chain:
        chain.sort([3, 1, 2])


def test_server_that_refuses_the_lease_says_so(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many leases")
        yield

    monkeypatch.setattr(fake.places, "open_lease", refuse)
    with pytest.raises(corank.ResourceExhausted, match="OpenLease: too many leases"):
        fake_client.empty_shared(10)


class StandingServer:
    """Takes a connection of HTTP/2 and a first piece of what comes over it, and then nothing more."""

    def __init__(self) -> None:
        self.full = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                taken, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(taken)
            most = 2**31 - 1
            frames = (
                (4, 0, struct.pack(">HI", 4, most)),  # SETTINGS: a stream may send as much as it likes,
                (8, 0, struct.pack(">I", most - 65_535)),  # WINDOW_UPDATE: and so may all,
                (4, 1, b""),  # and theirs are taken.
            )
            for kind, flags, data in frames:
                taken.sendall(struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + bytes(4) + data)
            got = 0
            with contextlib.suppress(OSError):  # stopped
                while not self.full.is_set():
                    got += len(taken.recv(1 << 16))
                    if got >= 1 << 20:
                        self.full.set()

    def stop(self) -> None:
        """Breaks the connections."""
        self._listener.close()
        for taken in self._connections:
            taken.close()


@pytest.fixture
def standing() -> Iterator[StandingServer]:
    """A server that stands still."""
    server = StandingServer()
    yield server
    server.stop()


def test_small_call_behind_an_upload_that_stands_still_ends_in_time(standing: StandingServer) -> None:
    def upload() -> None:
        with pytest.raises(corank.CorankError):
            client.sort(np.zeros(8_000_000, np.uint32), place="inline", deadline=60)

    client = corank.connect(standing.address, retries=0)
    thread = threading.Thread(target=upload)
    thread.start()
    assert standing.full.wait(30)
    for _ in range(2):
        with pytest.raises(corank.DeadlineExceeded):
            client.sort([3, 1, 2], deadline=0.1)
    assert thread.is_alive()
    standing.stop()
    thread.join()
    client.close()


def test_call_after_an_upload_that_was_given_up_ends_in_time(standing: StandingServer) -> None:
    client = corank.connect(standing.address, retries=0)
    with pytest.raises(corank.DeadlineExceeded):
        client.sort(np.zeros(8_000_000, np.uint32), place="inline", deadline=0.2)

    def small() -> None:
        with pytest.raises(corank.DeadlineExceeded):
            client.sort([3, 1, 2], deadline=0.1)

    thread = threading.Thread(target=small, daemon=True)
    thread.start()
    thread.join(8)  # gRPC would let it go when it gives the connection up, after 10 seconds
    assert not thread.is_alive()
    standing.stop()
    client.close()
