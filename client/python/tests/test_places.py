"""Every operator in every place, and which place is taken, against the test double."""

from __future__ import annotations

import errno
import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import operator_cases
import pytest
from fake_memory import PREFIX
from fake_server import ALL_PLACES, FakeServer
from operator_cases import NAMES, same
from waiting import wait_until

import corank
from corank import _connection as connection
from corank.v1 import operators_pb2

CASES = {case.name: case for case in operator_cases.cases(60_000)}
KEYS = np.random.default_rng(5).integers(0, 2**32, 100_000, dtype=np.uint32)


def shm_objects() -> list[str]:
    """The shared-memory objects of this process that have a name."""
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"{PREFIX[1:]}{os.getpid()}-")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_every_operator_in_every_place(fake_client: corank.Client, name: str, place: str) -> None:
    stats: list[corank.Stats] = []
    case = CASES[name]
    same(case.call(fake_client, lambda array: array, place=place, on_stats=stats.append), case.expected)
    assert [each.place for each in stats] == [place]


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_in_parts_over_several_connections(
    fake: FakeServer, fake_client: corank.Client, name: str
) -> None:
    case = CASES[name]
    same(case.call(fake_client, lambda array: array, place="stream", connections=3), case.expected)
    sent = any(plan.parts for plan in fake.executor.plans)
    assert len(fake.executor.plans) == (3 if sent else 1)
    if sent:
        assert sorted(plan.part for plan in fake.executor.plans) == [0, 1, 2]
        assert len({plan.job_id for plan in fake.executor.plans}) == 1
        assert len(fake.executor.peers) == 3


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_takes_shared_and_kept_arrays(fake_client: corank.Client, name: str) -> None:
    case = CASES[name]
    held = []

    def shared(array: Any) -> Any:
        held.append(fake_client.share(array))
        return held[-1].array

    kept = iter(range(100))
    same(case.call(fake_client, shared), case.expected)
    same(case.call(fake_client, lambda array: fake_client.store(f"a{next(kept)}", array)), case.expected)


def test_shared_arrays_are_not_sent(fake: FakeServer, fake_client: corank.Client) -> None:
    shared, out = fake_client.empty_shared(KEYS.size, np.uint32), fake_client.empty_shared(KEYS.size, np.uint32)
    shared[:] = KEYS
    stats: list[corank.Stats] = []
    assert fake_client.sort(shared, out=out, on_stats=stats.append) is out
    np.testing.assert_array_equal(out, np.sort(KEYS))
    assert stats[0].place == "shared_memory"
    assert stats[0].request_bytes < 1000
    assert stats[0].response_bytes < 1000
    # Parts of one, and the input as output.
    half = shared[1000:51_000]
    fake_client.sort(half, out=half)
    np.testing.assert_array_equal(shared[1000:51_000], np.sort(KEYS[1000:51_000]))
    np.testing.assert_array_equal(shared[51_000:], KEYS[51_000:])
    assert len(fake.places.regions) == 2
    assert shm_objects() == []


def test_strided_and_misaligned_parts_of_shared_arrays_are_copied(fake_client: corank.Client) -> None:
    shared = fake_client.empty_shared(400, np.uint8)
    shared[:] = np.arange(400) % 251
    np.testing.assert_array_equal(fake_client.sort(shared[::2]), np.sort(shared[::2]))
    odd = shared[1:397].view(np.uint32)
    np.testing.assert_array_equal(fake_client.sort(odd), np.sort(odd))


def test_regions_go_with_their_arrays(fake: FakeServer, fake_client: corank.Client) -> None:
    shared = fake_client.empty_shared(1000, np.int16)
    view = shared[10:20]
    del shared
    fake_client._connection.regions.sweep()
    assert len(fake.places.regions) == 1
    np.testing.assert_array_equal(fake_client.sort(view, place="shared_memory"), view)
    del view
    gc.collect()
    fake_client._connection.regions.sweep()
    assert fake.places.regions == {}
    with fake_client.share(KEYS) as shared:
        assert len(fake.places.regions) == 1
        np.testing.assert_array_equal(shared, KEYS)
    assert fake.places.regions == {}
    np.testing.assert_array_equal(fake_client.sort(shared), np.sort(KEYS))  # still an array


def test_regions_end_with_the_client(fake: FakeServer) -> None:
    with corank.connect(fake.address) as client:
        shared = client.empty_shared(1000, np.int16)
        client.sort(KEYS, place="shared_memory")
        assert len(fake.places.regions) == 2
    wait_until(lambda: not fake.places.regions)
    shared[:] = 1  # still an array


def test_server_that_forgot_its_regions_is_given_new_ones(fake: FakeServer, fake_client: corank.Client) -> None:
    shared = fake_client.empty_shared(KEYS.size, np.uint32)
    shared[:] = KEYS
    fake_client.sort(KEYS, place="shared_memory")
    fake.places.regions.clear()
    np.testing.assert_array_equal(fake_client.sort(shared, out=shared), np.sort(KEYS))
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="shared_memory"), np.sort(KEYS))


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which places change that tests can afford."""
    monkeypatch.setattr(connection, "INLINE_BYTES", 600_000)
    monkeypatch.setattr(connection, "SHARED_BYTES", 300_000)
    monkeypatch.setattr(connection, "MANY_BYTES", 3_000_000)


def serving(*places: str) -> Iterator[tuple[FakeServer, corank.Client]]:
    """A double with these places and a client of it."""
    server = FakeServer(places)
    with corank.connect(server.address) as client:
        yield server, client
    server.stop()


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(
    ("places", "count", "taken"),
    [
        (ALL_PLACES, 1_000, "inline"),
        (ALL_PLACES, 70_000, "inline"),
        (ALL_PLACES, 80_000, "shared_memory"),
        (("inline", "stream"), 80_000, "inline"),
        (("inline", "stream"), 160_000, "stream"),
        (("inline",), 160_000, "inline"),
    ],
)
def test_place_is_chosen_by_size_and_server(places: tuple[str, ...], count: int, taken: str) -> None:
    for server, client in serving(*places):
        stats: list[corank.Stats] = []
        keys = np.arange(count, 0, -1, dtype=np.uint32)
        np.testing.assert_array_equal(client.sort(keys, on_stats=stats.append), keys[::-1])
        assert stats[0].place == taken
        client.sort(keys)
        assert server.asked == (0 if count == 1000 else 1)


@pytest.mark.usefixtures("small_limits")
def test_large_results_of_small_inputs_are_streamed() -> None:
    for _, client in serving("inline", "stream"):
        stats: list[corank.Stats] = []
        out = client.expand([1.5, 2.5], [100_000, 1], on_stats=stats.append)
        assert out.size == 100_001
        assert stats[0].place == "stream"


@pytest.mark.usefixtures("small_limits")
def test_large_streams_take_four_connections() -> None:
    for server, client in serving("inline", "stream"):
        keys = np.arange(800_000, 0, -1, dtype=np.uint32)
        np.testing.assert_array_equal(client.sort(keys), keys[::-1])
        assert [plan.parts for plan in server.executor.plans] == [4] * 4


def test_messages_keep_the_limit_of_the_server() -> None:
    server = FakeServer(("inline", "stream"), max_request_bytes=200_000)
    with corank.connect(server.address) as client:
        stats: list[corank.Stats] = []
        np.testing.assert_array_equal(client.sort(KEYS, on_stats=stats.append), np.sort(KEYS))
        assert stats[0].place == "stream"
    server.stop()


def test_address_that_only_looks_local_falls_back_to_streams(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SHARED_BYTES", 100_000)
    monkeypatch.setattr(connection, "INLINE_BYTES", 100_000)
    fake._info.shared_memory_prefixes[0] = "/not-allowed-"
    stats: list[corank.Stats] = []
    for _ in range(2):
        np.testing.assert_array_equal(fake_client.sort(KEYS, on_stats=stats.append), np.sort(KEYS))
    assert [each.place for each in stats] == ["stream", "stream"]
    with pytest.raises(corank.PermissionDenied):
        fake_client.sort(KEYS, place="shared_memory")
    assert not [name for name in os.listdir("/dev/shm") if name.startswith("not-allowed-")]


def test_place_that_is_switched_off_says_so() -> None:
    for _, client in serving("inline"):
        with pytest.raises(corank.Unimplemented, match="--shared-memory"):
            client.empty_shared(10)
        disk: Any = "disk"
        with pytest.raises(corank.InvalidArgument, match="'disk' is none of"):
            client.sort(KEYS, place=disk)


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_out_takes_results(fake_client: corank.Client, place: Any) -> None:
    out, rows = np.zeros_like(KEYS), np.zeros(KEYS.size, np.int64)
    values = np.arange(KEYS.size)
    got = fake_client.sort(KEYS, values=values, out=(out, rows), place=place)
    assert got[0] is out
    assert got[1] is rows
    np.testing.assert_array_equal(out, np.sort(KEYS))
    np.testing.assert_array_equal(rows, np.argsort(KEYS, kind="stable"))
    same = KEYS.copy()
    fake_client.sort(same, out=same, place=place)
    np.testing.assert_array_equal(same, np.sort(KEYS))
    small = np.zeros(KEYS.size, np.uint32)
    fake_client.argsort(KEYS, out=small, place=place)
    np.testing.assert_array_equal(small, np.argsort(KEYS, kind="stable"))


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_out_that_does_not_fit_is_refused(fake_client: corank.Client, place: Any) -> None:
    cases: list[tuple[Any, type[Exception]]] = [
        (np.zeros(KEYS.size - 1, np.uint32), corank.InvalidArgument),
        (np.zeros(KEYS.size, np.int32), TypeError),
        (np.zeros(2 * KEYS.size, np.uint32)[::2], corank.InvalidArgument),
        ((np.zeros_like(KEYS), np.zeros_like(KEYS)), corank.InvalidArgument),
        ([0] * KEYS.size, TypeError),
    ]
    for out, error in cases:
        with pytest.raises(error):
            fake_client.sort(KEYS, out=out, place=place)


def test_attempt_that_broke_off_over_its_keys_is_made_with_the_keys_again(
    fake: FakeServer, fake_client: corank.Client
) -> None:
    def break_off(request: Any) -> None:
        place = request.keys.shared_memory
        fake.places.range_of(place, 4 * request.keys.count, 4)[:1000] = bytes(1000)
        fake.on_request = None

    fake.on_request = break_off
    fake.fail_next(grpc.StatusCode.UNAVAILABLE, "broken off", retry_after=0.001)
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="shared_memory"), np.sort(KEYS))
    # The caller's own memory cannot be filled again.
    shared = fake_client.empty_shared(KEYS.size, np.uint32)
    for code, error in (("UNAVAILABLE", corank.Unavailable), ("RESOURCE_EXHAUSTED", corank.ResourceExhausted)):
        shared[:] = KEYS
        fake.fail_next(grpc.StatusCode[code], "broken off", retry_after=0.001)
        with pytest.raises(error, match="not tried again: its results go over its inputs"):
            fake_client.sort(shared, out=shared)


def test_region_that_a_request_still_uses_for_a_moment_is_waited_for(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.places.refuse_unregister = 3
    with fake_client.share(KEYS):
        assert len(fake.places.regions) == 1
    assert fake.places.regions == {}
    monkeypatch.setattr("corank._channels._RELEASE_SECONDS", 0.02)
    fake.places.refuse_unregister = 1000
    shared = fake_client.share(KEYS)
    with pytest.raises(corank.CorankError) as caught:
        shared.close()
    assert caught.value.code == "FAILED_PRECONDITION"
    fake.places.refuse_unregister = 0
    shared.close()


def test_memory_that_is_gone_is_not_taken_for_shared(fake_client: corank.Client) -> None:
    shared = fake_client.empty_shared(KEYS.size, np.uint32)
    address = shared.ctypes.data
    assert address in fake_client._connection.regions._shared
    del shared
    gc.collect()
    assert address not in fake_client._connection.regions._shared


def test_only_sort_writes_over_its_input(fake: FakeServer, fake_client: corank.Client) -> None:
    offsets: list[Any] = []

    def note(request: Any) -> None:
        if isinstance(request, operators_pb2.SortRequest):
            offsets.append((request.keys.shared_memory, request.keys_destination.shared_memory))
        else:
            offsets.append((request.values.shared_memory, request.destination.shared_memory))
        offsets[-1] = tuple(place.offset_bytes for place in offsets[-1])

    fake.on_request = note
    fake_client.sort(KEYS, place="shared_memory")
    fake_client.expand(KEYS, np.ones(KEYS.size, np.int64), place="shared_memory")
    assert offsets[0] == (0, 0)
    assert offsets[1][0] == 0
    assert offsets[1][1] >= KEYS.nbytes


@pytest.mark.parametrize(("runs", "apart"), [(None, False), ([0, KEYS.size], True)])
def test_merge_of_tables_writes_apart_from_its_inputs(
    fake: FakeServer, fake_client: corank.Client, runs: list[int] | None, apart: bool
) -> None:
    """A server that works in pieces reads the tables while it writes."""
    offsets: list[int] = []

    def note(request: Any) -> None:
        offsets.extend(each.shared_memory.offset_bytes for each in (request.values, request.values_destination))

    fake.on_request = note
    with pytest.raises(corank.InvalidArgument, match="double"):  # which only orders rows
        fake_client.sort_columns([np.sort(KEYS)], values=KEYS, runs=runs, place="shared_memory")
    assert (offsets[0] != offsets[1]) == apart


def test_memory_of_a_call_that_failed_is_not_used_again(fake: FakeServer, fake_client: corank.Client) -> None:
    fake_client.sort(KEYS, place="shared_memory")
    (first,) = fake.places.regions
    fake_client.sort(KEYS, place="shared_memory")
    assert list(fake.places.regions) == [first]
    fake.hold = threading.Event()
    with pytest.raises(corank.DeadlineExceeded):
        fake_client.sort(KEYS, place="shared_memory", deadline=0.2)
    fake.hold.set()  # the server goes on with it, and writes
    np.testing.assert_array_equal(fake_client.sort(KEYS[::-1], place="shared_memory"), np.sort(KEYS))
    fake_client._connection.regions.sweep()
    assert first not in fake.places.regions


def test_unknown_name_of_a_kept_array_does_not_end_the_regions(fake: FakeServer, fake_client: corank.Client) -> None:
    shared = fake_client.empty_shared(KEYS.size, np.uint32)
    stored = fake_client.store("x", np.sort(KEYS))
    stored.delete()
    before = dict(fake.places.regions)
    with pytest.raises(corank.NotFound):
        fake_client.merge([shared, stored])
    assert before.items() <= fake.places.regions.items()


def test_full_shared_memory_falls_back_for_that_call_only(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SHARED_BYTES", 100_000)
    monkeypatch.setattr(connection, "INLINE_BYTES", 100_000)
    fallocate = os.posix_fallocate

    def full(handle: int, offset: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    stats: list[corank.Stats] = []
    monkeypatch.setattr(os, "posix_fallocate", full)
    np.testing.assert_array_equal(fake_client.sort(KEYS, on_stats=stats.append), np.sort(KEYS))
    with pytest.raises(corank.ResourceExhausted, match="do not fit"):
        fake_client.empty_shared(10)
    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    np.testing.assert_array_equal(fake_client.sort(KEYS, on_stats=stats.append), np.sort(KEYS))
    assert [each.place for each in stats] == ["stream", "shared_memory"]
    assert shm_objects() == []


def test_no_result_goes_into_a_region_over_an_input_that_is_sent(
    fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SHARED_BYTES", 100_000)
    monkeypatch.setattr(connection, "INLINE_BYTES", 100_000)
    shared = fake_client.empty_shared(KEYS.nbytes + 1, np.uint8)
    misaligned, out = shared[1:].view(np.uint32), shared[:-1].view(np.uint32)
    misaligned[:] = KEYS

    def full(handle: int, offset: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    stats: list[corank.Stats] = []
    np.testing.assert_array_equal(fake_client.sort(misaligned, out=out, on_stats=stats.append), np.sort(KEYS))
    assert stats[0].response_bytes > KEYS.nbytes, "the server would have written over keys that are still to come"


class _CannotMap:
    def __init__(self, handle: int, size: int) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


@pytest.mark.parametrize(
    ("function", "number", "kind", "message"),
    [
        (
            "open",
            errno.EACCES,
            corank.PermissionDenied,
            "may make nothing in /dev/shm .*Permission denied.*place='stream'",
        ),
        ("open", errno.EROFS, corank.PermissionDenied, "Read-only"),
        ("open", errno.EMFILE, corank.ResourceExhausted, "cannot be had in /dev/shm .*Too many open files"),
        ("open", errno.ENOSPC, corank.ResourceExhausted, "do not fit into /dev/shm .*No space"),
        ("posix_fallocate", errno.ENOSPC, corank.ResourceExhausted, "do not fit into /dev/shm .*No space"),
        ("mmap", errno.ENOMEM, corank.ResourceExhausted, "do not fit into /dev/shm .*allocate memory"),
    ],
)
def test_system_that_has_no_shared_memory_now(
    fake_client: corank.Client,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    number: int,
    kind: type[corank.CorankError],
    message: str,
) -> None:
    monkeypatch.setattr(connection, "SHARED_BYTES", 100_000)
    monkeypatch.setattr(connection, "INLINE_BYTES", 100_000)
    opened, fallocate = os.open, os.posix_fallocate

    def refuse(*arguments: Any) -> int:
        if function == "posix_fallocate" or str(arguments[0]).startswith("/dev/shm/"):
            raise OSError(number, os.strerror(number))
        return opened(*arguments)

    with monkeypatch.context() as patch:
        if function == "mmap":
            patch.setattr("corank._regions._Mapping", _CannotMap)
        else:
            patch.setattr(os, function, refuse)
        for call in (
            lambda: fake_client.sort(KEYS, place="shared_memory"),
            lambda: fake_client.empty_shared(10),
            lambda: fake_client.share(KEYS),
        ):
            with pytest.raises(kind, match=message):
                call()
        stats: list[corank.Stats] = []
        np.testing.assert_array_equal(fake_client.sort(KEYS, on_stats=stats.append), np.sort(KEYS))
        assert stats[0].place == "stream"
    assert (os.open, os.posix_fallocate) == (opened, fallocate)
    assert shm_objects() == []
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="shared_memory"), np.sort(KEYS))


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_result_of_another_length_is_an_internal_error(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch, place: Any
) -> None:
    deliver = fake.places.deliver

    def shorten(operation: str, request: Any, response: Any, call: Any) -> None:
        deliver(operation, request, response, call)
        response.keys.count -= 1

    monkeypatch.setattr(fake.places, "deliver", shorten)
    with pytest.raises(corank.Internal):
        fake_client.sort(KEYS, place=place)
