"""Every operator with its arrays in every place, through Python and a real server, against NumPy."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corank
import numpy as np
import operator_cases
import oracles
import pytest
from corank.testing import LocalServer
from corank.v1 import memory_service_pb2 as memory
from operator_cases import NAMES, same
from waiting import wait_until

CASES = {case.name: case for case in operator_cases.cases(300_000)}
SMALL = {case.name: case for case in operator_cases.cases(50)}
KEYS = np.random.default_rng(11).integers(0, 2**32, 3_000_000, dtype=np.uint32)
ORDERED = np.sort(KEYS)
Needs = Callable[[str], None]


def regions(client: corank.Client) -> list[str]:
    """The names of the registered regions."""
    found = client._connection.memory_call("ListRegions", memory.ListRegionsRequest(), memory.ListRegionsResponse)
    return [region.name for region in found.regions]


def named_objects(pid: int) -> list[str]:
    """The named shared-memory objects of a process."""
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"corank-e2e-{pid}-")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_every_operator_in_every_place(placed: corank.Client, needs: Needs, name: str, place: Any) -> None:
    needs(place)
    for case in (CASES[name], SMALL[name]):
        stats: list[corank.Stats] = []
        same(case.call(placed, lambda array: array, place=place, on_stats=stats.append), case.expected)
        if case is CASES[name]:
            assert [each.place for each in stats] == [place]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("connections", [2, 5])
def test_every_operator_in_parts_over_several_connections(
    placed: corank.Client, needs: Needs, name: str, connections: int
) -> None:
    needs("stream")
    case = CASES[name]
    same(case.call(placed, lambda array: array, place="stream", connections=connections), case.expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_on_shared_arrays(placed: corank.Client, needs: Needs, name: str) -> None:
    needs("shared_memory")

    def shared(array: Any) -> Any:
        out = placed.empty_shared(array.size, array.dtype)
        out[:] = array
        return out

    case = CASES[name]
    same(case.call(placed, shared), case.expected)
    out = tuple(placed.empty_shared(each.size, each.dtype) for each in case.expected)
    if name not in ("argsort", "load_balance", "search"):  # the client converts their results
        stats: list[corank.Stats] = []
        got = case.call(placed, shared, out=out, on_stats=stats.append)
        same(got, case.expected)
        assert stats[0].response_bytes < 1000


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_on_kept_arrays(placed: corank.Client, needs: Needs, name: str) -> None:
    needs("stored")
    kept: list[corank.StoredArray] = []

    def keep(array: Any) -> Any:
        kept.append(placed.store(f"{name.replace(' ', '-')}.{len(kept)}", array))
        return kept[-1]

    case = CASES[name]
    same(case.call(placed, keep), case.expected)
    if len(case.expected) == 1 and name not in ("argsort", "load_balance", "search"):
        handle = case.call(placed, keep, keep="result")
        same(handle.fetch(), case.expected)
        handle.delete()
    for array in kept:
        array.delete()
    assert placed.arrays().used_bytes == 0


@pytest.mark.parametrize("key_type", oracles.KEY_TYPES)
@pytest.mark.parametrize("place", ["stream", "shared_memory"])
def test_every_key_type_in_every_place(placed: corank.Client, needs: Needs, key_type: str, place: Any) -> None:
    needs(place)
    rng = np.random.default_rng(oracles.KEY_TYPES.index(key_type))
    keys = oracles.random_keys(rng, key_type, 200_001)
    values = rng.integers(0, 256, (keys.size, 20), dtype=np.uint8).view("V20").ravel()
    dtype = "bfloat16" if key_type == "bfloat16" else None
    for descending in (False, True):
        order = oracles.argsort(keys, key_type, descending)
        got = placed.sort(keys, values=values, descending=descending, dtype=dtype, place=place)
        same(got, (keys[order], values[order]))


@pytest.mark.parametrize("count", [16_385, 262_143, 262_144, 262_145, 3_000_000])
@pytest.mark.parametrize("connections", [1, 4])
def test_streams_of_chunks_and_one_element_more_or_less(
    placed: corank.Client, needs: Needs, count: int, connections: int
) -> None:
    needs("stream")
    keys = KEYS[:count]
    same(placed.sort(keys, place="stream", connections=connections), (np.sort(keys),))
    same(placed.argsort(keys, place="stream", connections=connections), (np.argsort(keys, kind="stable"),))


def test_columns_and_strings_are_streamed(placed: corank.Client, needs: Needs) -> None:
    needs("stream")
    rng = np.random.default_rng(12)
    words = [rng.bytes(int(length)) for length in rng.integers(0, 20, 30_000)]
    numbers = rng.integers(0, 50, len(words))
    expected = sorted(zip(numbers.tolist(), words, strict=True))
    for place in ("stream", "inline"):
        sorted_numbers, sorted_words = placed.sort_columns([numbers, words], place=place)
        assert list(zip(sorted_numbers.tolist(), sorted_words, strict=True)) == expected, place


def test_automatic_place_is_shared_memory_here(placed: corank.Client, needs: Needs) -> None:
    needs("shared_memory")
    stats: list[corank.Stats] = []
    for keys in (KEYS, KEYS[::-1], KEYS[:100]):
        same(placed.sort(keys, on_stats=stats.append), (np.sort(keys),))
    assert [each.place for each in stats] == ["shared_memory", "shared_memory", "inline"]
    assert len(regions(placed)) == 1
    assert named_objects(os.getpid()) == []


def test_shared_array_is_sorted_in_place(placed: corank.Client, needs: Needs) -> None:
    needs("shared_memory")
    with placed.share(KEYS) as shared:
        assert placed.sort(shared, out=shared) is shared
        same(shared, (ORDERED,))
        # From the middle of one array into the middle of another.
        shared[:] = KEYS
        placed.sort(shared[1000:500_000], out=shared[1000:500_000])
    same(shared[1000:500_000], (np.sort(KEYS[1000:500_000]),))
    same(shared[:1000], (KEYS[:1000],))
    same(shared[500_000:], (KEYS[500_000:],))
    assert regions(placed) == []


def test_regions_go_with_their_arrays_and_clients(
    placed: corank.Client, placed_server: LocalServer, needs: Needs
) -> None:
    needs("shared_memory")
    before = set(regions(placed))
    shared = placed.empty_shared(1000)
    assert len(set(regions(placed)) - before) == 1
    del shared
    gc.collect()

    def given_back() -> bool:
        placed._connection.regions.sweep()
        return set(regions(placed)) == before

    wait_until(given_back, "the region is given back")
    with placed_server.connect() as other:
        held = other.empty_shared(1000)
        assert len(set(regions(placed)) - before) == 1
    wait_until(lambda: set(regions(placed)) == before, "the lease's regions are gone")
    held[:] = 1


_DIES = """
import os, sys, numpy as np, corank
client = corank.connect(sys.argv[1])
shared = client.empty_shared(1_000_000, np.uint32)
client.sort(shared, out=shared)
print("ready", flush=True)
if sys.argv[2] == "streaming":
    def stop(progress):
        if progress.sent > 0:
            os.kill(os.getpid(), 9)
    client.sort(np.zeros(100_000_000, np.uint8), place="stream", connections=3, progress=stop)
sys.stdin.read()
"""


@pytest.mark.parametrize("doing", ["nothing", "streaming"])
def test_client_that_is_killed_leaves_nothing_behind(
    placed: corank.Client, placed_server: LocalServer, needs: Needs, doing: str
) -> None:
    needs("shared_memory")
    needs("stream")
    before = set(regions(placed))
    process = subprocess.Popen(
        [sys.executable, "-c", _DIES, placed_server.address, doing],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    if doing == "nothing":
        assert set(regions(placed)) != before
        process.send_signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    process.communicate()
    wait_until(lambda: set(regions(placed)) == before, "the dead client's regions are gone")
    same(placed.sort(KEYS, place="stream"), (ORDERED,))
    assert named_objects(process.pid) == []


def test_chain_of_operators(placed: corank.Client, needs: Needs) -> None:
    needs("stored")
    needs("stream")
    history = placed.store("history", ORDERED)
    new = np.random.default_rng(13).integers(0, 2**32, 200_000, dtype=np.uint32)
    out = np.zeros(1000, np.uint32)
    with placed.chain() as chain:
        ordered = chain.sort(new)
        merged = chain.merge([history, ordered])
        first = chain.gather(merged, [0], [1000], out=out)
        where = chain.search(merged, new)
    expected = np.sort(np.concatenate([KEYS, new]))
    assert first.result() is out
    same(out, (expected[:1000],))
    same(where.result(), (np.searchsorted(expected, new),))
    assert [array.name for array in placed.arrays().arrays] == ["history"]
    history.delete()


def test_sharded_arrays_are_sorted_and_merged_and_come_back(placed: corank.Client, needs: Needs) -> None:
    needs("stored")
    kept = placed.store("keys", KEYS, sharded=True)
    assert kept.sharded
    same(kept.fetch(), (KEYS,))
    ordered = placed.sort(kept, keep=corank.Sharded("ordered"))
    same(ordered.fetch(), (ORDERED,))
    order = placed.argsort(kept, keep=corank.Sharded("order"))
    same(order.fetch(), (np.argsort(KEYS, kind="stable").astype(np.uint32),))
    positions = np.arange(KEYS.size)
    moved = placed.sort(kept, values=positions, keep=(corank.Sharded("ordered"), corank.Sharded("moved")))[1]
    same(moved.fetch(), (np.argsort(KEYS, kind="stable"),))
    same(placed.sort(kept, place="inline"), (ORDERED,))
    same(placed.sort(kept, limit=10, place="inline"), (ORDERED[:10],))
    assert [each.sharded for each in placed.arrays().arrays] == [True, True, True, True]
    both = np.sort(np.concatenate([ORDERED, ORDERED[::3]]))
    third = placed.store("third", ORDERED[::3], sharded=True)
    merged = placed.merge([ordered, third], keep=corank.Sharded("merged"))
    assert merged.sharded
    same(merged.fetch(), (both,))
    same(placed.merge([ordered, third], place="inline"), (both,))
    same(placed.merge([ordered, ORDERED[::3]], keep=corank.Sharded("merged"), place="inline").fetch(), (both,))
    with pytest.raises(corank.InvalidArgument, match="not sorted"):
        placed.merge([ordered, kept], place="inline")
    same(placed.search(ordered, KEYS[:100]), (np.searchsorted(ORDERED, KEYS[:100]),))
    same(
        placed.rank(kept, method="min", keep=corank.Sharded("ranks")).fetch(),
        ((np.searchsorted(ORDERED, KEYS) + 1).astype(np.uint32),),
    )
    for each in placed.arrays().arrays:
        each.delete()
    assert placed.arrays().used_bytes == 0


def test_chain_over_sharded_arrays(placed: corank.Client, needs: Needs) -> None:
    needs("stored")
    needs("stream")
    kept = placed.store("keys", KEYS, sharded=True)
    new = np.random.default_rng(14).integers(0, 2**32, 200_000, dtype=np.uint32)
    with placed.chain() as chain:
        ordered = chain.sort(kept)
        merged = chain.merge([ordered, chain.sort(new)])
        last = chain.sort(merged, keep=corank.Sharded("merged"))
        some = chain.gather(merged, [10, 2_000_000], [1000, 500_000])
        where = chain.search(ordered, new)
    expected = np.sort(np.concatenate([KEYS, new]))
    same(some.result(), (np.concatenate([expected[10:1010], expected[2_000_000:2_500_000]]),))
    same(where.result(), (np.searchsorted(ORDERED, new),))
    handle = last.result()
    assert handle.sharded
    same(handle.fetch(), (expected,))
    for each in placed.arrays().arrays:
        each.delete()
    assert placed.arrays().used_bytes == 0


def test_sharded_arrays_are_key_columns_and_go_through_intervals(placed: corank.Client, needs: Needs) -> None:
    needs("stored")
    keys = KEYS[:100_000]
    kept = placed.store("keys", keys, sharded=True)
    order = np.lexsort((keys, keys % 100))
    columns: list[Any] = [keys % 100, kept]
    same(placed.argsort_columns(columns, index_dtype=None, place="inline"), (order.astype(np.uint32),))
    ordered = placed.sort_columns(columns, keep=(corank.Sharded("first"), corank.Sharded("second")))
    same(ordered[1].fetch(), (keys[order],))
    counts = np.arange(keys.size) % 3
    rows = placed.expand(kept, counts, keep=corank.Sharded("rows"), place="inline")
    assert rows.sharded
    same(rows.fetch(), (np.repeat(keys, counts),))
    offsets = np.arange(counts.sum() - 1)[::-7].copy()
    same(
        placed.gather(rows, offsets, 2, place="inline"),
        (np.repeat(keys, counts)[np.add.outer(offsets, [0, 1])].ravel(),),
    )
    spread = np.zeros(2 * keys.size, np.uint32)
    spread[::2] = keys
    same(placed.scatter(kept, np.arange(0, 2 * keys.size, 2), 1, destination=spread.size, place="inline"), (spread,))
    moved = placed.move(
        kept, [0, 50_000], [60_000, 10], [40_000, 50_000], destination=kept, keep=corank.Sharded("keys")
    )
    expected = keys.copy()
    expected[60_000:] = keys[:40_000]
    expected[10:50_010] = keys[50_000:]
    same(moved.fetch(), (expected,))
    same(
        placed.rank_columns([moved], index_dtype=None),
        ((np.unique(expected, return_inverse=True)[1] + 1).astype(np.uint32),),
    )
    for each in placed.arrays().arrays:
        each.delete()


def test_stored_arrays_replace_and_list(placed: corank.Client, needs: Needs) -> None:
    needs("stored")
    first = placed.store("x", KEYS[:1000], expires=60)
    same(first.fetch(), (KEYS[:1000],))
    placed.store("x", KEYS)
    same(placed.stored("x").fetch(), (KEYS,))
    listed = placed.arrays()
    assert listed.used_bytes >= KEYS.nbytes
    assert listed.quota_bytes == 256 << 20
    assert [(array.name, array.count, array.dtype) for array in listed.arrays] == [("x", KEYS.size, KEYS.dtype)]
    with pytest.raises(corank.ResourceExhausted, match="delete other arrays first"):
        placed.store("no-room", np.zeros(256 << 20, np.uint8))
    with pytest.raises(corank.InvalidArgument, match="--kept-bytes"):
        placed.store("too-large", np.zeros(300 << 20, np.uint8))
    placed.delete("x")
    for call in (lambda: placed.delete("x"), lambda: placed.sort(first), first.fetch):
        with pytest.raises(corank.NotFound):
            call()
    assert placed.arrays().used_bytes == 0


def test_progress_counts_a_stream(placed: corank.Client, needs: Needs) -> None:
    needs("stream")
    told: list[tuple[int, int]] = []
    placed.sort(KEYS, place="stream", progress=lambda progress: told.append((progress.sent, progress.received)))
    assert told[-1] == (KEYS.nbytes, KEYS.nbytes)


def test_many_streams_and_shared_arrays_at_the_same_time(
    placed: corank.Client, placed_server: LocalServer, needs: Needs
) -> None:
    needs("stream")
    needs("shared_memory")

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        place: Any = ("stream", "shared_memory")[seed % 2]
        with placed_server.connect(retries=50) as client:
            for _ in range(3):
                keys = rng.integers(0, 2**32, int(rng.integers(20_000, 400_000)), dtype=np.uint32)
                order = np.argsort(keys, kind="stable")
                rows = np.arange(keys.size)
                same(client.sort(keys, values=rows, place=place, connections=1 + seed % 3), (keys[order], rows[order]))

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(12)))


@pytest.fixture(scope="module")
def small_server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server that accepts requests up to 1 MiB."""
    with LocalServer(corankd, ["--max-request-bytes=1048576", "--max-queued-bytes=1048576"]) as server:
        yield server


def test_arrays_beyond_the_message_limit_are_streamed(small_server: LocalServer) -> None:
    with small_server.connect() as client:
        if "stream" not in client.info().places:
            pytest.skip("this server has no place 'stream'")
        stats: list[corank.Stats] = []
        same(client.sort(KEYS, on_stats=stats.append), (ORDERED,))
        assert stats[0].place == "stream"
        with pytest.raises(corank.InvalidArgument, match=r"max[-_]request[-_]bytes"):
            client.sort(KEYS[:300_000], place="inline")


def test_new_server_is_given_the_shared_arrays_of_the_old_one(corankd: pathlib.Path) -> None:
    arguments = ["--shared-memory=/corank-e2e-"]
    server = LocalServer(corankd, arguments)
    server.start()
    port = server.address.rsplit(":", 1)[1]
    with server.connect() as client:
        if "shared_memory" not in client.info().places:
            server.stop()
            pytest.skip("this server has no place 'shared_memory'")
        shared = client.empty_shared(KEYS.size, np.uint32)
        shared[:] = KEYS
        same(client.sort(shared, place="shared_memory"), (ORDERED,))
        server.kill()
        with LocalServer(corankd, [*arguments, f"--listen=127.0.0.1:{port}"]):

            def served() -> bool:
                try:
                    same(client.sort(shared, place="shared_memory"), (ORDERED,))
                except corank.Unavailable:
                    return False
                return True

            wait_until(served, "the client found the new server")


def test_server_with_leases_and_kept_arrays_drains(corankd: pathlib.Path) -> None:
    server = LocalServer(corankd, ["--shared-memory=/corank-e2e-", f"--kept-bytes={64 << 20}"])
    server.start()
    with server.connect() as client:
        if not {"shared_memory", "stored"} <= set(client.info().places):
            server.stop()
            pytest.skip("this server has no places for it")
        shared = client.empty_shared(1000)
        client.sort(shared, out=shared)
        client.store("x", KEYS)
        assert server.stop() == 0
        assert shared.sum() == 0
        with pytest.raises(corank.Unavailable):
            client.sort(shared, retries=0)
