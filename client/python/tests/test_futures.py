"""Calls that do not block: futures of a client, and the client for asyncio. And clients in other processes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import pathlib
import pickle
import threading
from collections.abc import Callable
from typing import Any

import grpc
import numpy as np
import pytest
from fake_server import FakeServer
from operator_cases import NAMES, cases, same
from waiting import wait_until

import corank
import corank.aio

X = np.array([3, 1, 2], np.int32)
KEYS = np.random.default_rng(5).integers(0, 2**32, 100_000, dtype=np.uint32)
PLACES = ["inline", "stream", "shared_memory"]


def held(fake: FakeServer) -> Callable[[], bool]:
    """Has the server hold the next calls; a function that says whether one has come."""
    fake.hold = fake.executor.hold = threading.Event()
    return lambda: bool(fake.requests) or fake.executor.running > 0


@pytest.mark.parametrize("place", PLACES)
def test_futures_give_what_calls_return(client: corank.Client, place: Any) -> None:
    if place == "shared_memory" and "shared_memory" not in client.info().places:
        pytest.skip("this server takes no shared memory")
    futures = [client.submit("sort", KEYS, descending=bool(at % 2), place=place) for at in range(8)]
    for at, future in enumerate(futures):
        expected = np.sort(KEYS)
        np.testing.assert_array_equal(future.result(60), expected[::-1] if at % 2 else expected)
    failing = client.submit("merge", [[2, 1], [3]])
    assert isinstance(failing.exception(60), corank.InvalidArgument)
    done, _ = concurrent.futures.wait([client.submit("info"), failing], 60)
    assert len(done) == 2


def test_names_of_submitted_calls_are_checked(fake_client: corank.Client) -> None:
    with pytest.raises(ValueError, match="no method 'srt' calls the server; did you mean 'sort'"):
        fake_client.submit("srt", X)
    with pytest.raises(ValueError, match="no method 'close'"):
        fake_client.submit("close")
    with pytest.raises(ValueError, match="submit: takes the name of a method, 'sort', not the method"):
        fake_client.submit(fake_client.sort, X)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", PLACES)
def test_cancelled_futures_end_on_the_server(fake: FakeServer, place: Any) -> None:
    has_come = held(fake)
    client = corank.connect(fake.address, deadline=None)
    future = client.submit("sort", KEYS, place=place)
    wait_until(has_come)
    assert future.cancel()
    assert future.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    wait_until(lambda: fake.executor.running == 0 if place == "stream" else "sort" in fake.ended)
    assert fake.hold is not None
    fake.hold.set()
    assert fake.executor.hold is not None
    fake.executor.hold.set()
    np.testing.assert_array_equal(client.submit("sort", KEYS, place=place).result(30), np.sort(KEYS))


def test_cancel_ends_the_wait_for_another_try(fake: FakeServer) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=3600, times=9)
    with corank.connect(fake.address, deadline=None) as client:
        future = client.submit("sort", X)
        wait_until(lambda: len(fake.requests) == 1)
        assert future.cancel()
        pool = client._threads._pool
        assert pool is not None
        ended = threading.Thread(target=pool.shutdown, daemon=True)  # waits for the call
        ended.start()
        ended.join(60)
        assert not ended.is_alive()
    assert len(fake.requests) == 1


@pytest.mark.parametrize("at", range(len(NAMES)), ids=NAMES)
@pytest.mark.parametrize("count", [50, 30_000], ids=["native", "thread"])
def test_every_operator_can_be_awaited(fake: FakeServer, at: int, count: int) -> None:
    case = cases(count)[at]
    if case.name in ("load_balance", "group"):
        pytest.skip("its case looks into the result before it can be awaited; another test awaits it")

    async def call() -> Any:
        async with corank.aio.connect(fake.address, deadline=60) as client:
            return await case.call(client, lambda array: array)

    same(asyncio.run(call()), case.expected)


def test_small_calls_need_no_thread(fake: FakeServer) -> None:
    async def calls() -> list[Any]:
        async with corank.aio.connect(fake.address) as client:
            found = await asyncio.gather(*(client.sort(X + at) for at in range(200)))
            assert client._client._threads._pool is None
            balance = await client.load_balance([2, 1])
            np.testing.assert_array_equal(balance.objects, [0, 0, 1])
            groups = await client.group(X, results=["counts"])
            np.testing.assert_array_equal(groups.counts, [1, 1, 1])
            return found

    for at, result in enumerate(asyncio.run(calls())):
        np.testing.assert_array_equal(result, np.sort(X) + at)


def test_awaited_calls_raise_and_try_again_as_others_do(fake: FakeServer) -> None:
    async def calls() -> None:
        stats: list[corank.Stats] = []
        async with corank.aio.connect(fake.address) as client:
            fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.001, times=2)
            await client.sort(X, on_stats=stats.append, request_id="mine")
            assert (stats[0].attempts, stats[0].request_id, stats[0].place) == (3, "mine", "inline")
            fake.fail_next(grpc.StatusCode.INVALID_ARGUMENT, "the reason", field="keys")
            with pytest.raises(corank.InvalidArgument, match=r"Sort: keys: .*the reason \[request mine\]") as caught:
                await client.sort(X, request_id="mine")
            assert caught.value.field == "keys"
            fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.001, times=9)
            with pytest.raises(corank.ResourceExhausted, match="tried 2 times"):
                await client.sort(X, retries=1)
            with pytest.raises(TypeError, match="did you mean 'descending'"):
                await client.sort(X, descendng=True)  # type: ignore[call-overload]

    asyncio.run(calls())


@pytest.mark.parametrize("place", ["auto", *PLACES])
def test_deadlines_of_awaited_calls_hold(fake: FakeServer, place: Any) -> None:
    held(fake)

    async def call() -> None:
        async with corank.aio.connect(fake.address) as client:
            with pytest.raises(corank.DeadlineExceeded, match=r"deadline of 0\.2 s"):
                await client.sort(X if place == "auto" else KEYS, place=place, deadline=0.2)

    asyncio.run(asyncio.wait_for(call(), 60))
    assert fake.hold is not None
    fake.hold.set()


def test_deadlines_count_the_wait_for_a_thread(fake: FakeServer) -> None:
    held(fake)

    async def call() -> None:
        async with corank.aio.connect(fake.address) as client:
            calls = [client.sort(KEYS, place="stream", deadline=0.5) for _ in range(70)]
            found = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(each, corank.DeadlineExceeded) for each in found)

    asyncio.run(asyncio.wait_for(call(), 60))
    assert fake.executor.calls < 70


@pytest.mark.parametrize("place", ["auto", "stream"])
def test_cancelled_tasks_end_on_the_server(fake: FakeServer, place: Any) -> None:
    has_come = held(fake)

    async def call() -> None:
        async with corank.aio.connect(fake.address, deadline=None) as client:
            task = asyncio.ensure_future(client.sort(X if place == "auto" else KEYS, place=place))
            while not has_come():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while fake.executor.running if place == "stream" else "sort" not in fake.ended:
                await asyncio.sleep(0.01)
            assert fake.hold is not None
            fake.hold.set()
            assert fake.executor.hold is not None
            fake.executor.hold.set()
            np.testing.assert_array_equal(await client.sort(X), np.sort(X))

    asyncio.run(asyncio.wait_for(call(), 40))


def test_chains_and_kept_arrays_can_be_awaited(fake: FakeServer) -> None:
    async def calls() -> None:
        async with corank.aio.connect(fake.address) as client:
            handle = await client.store("x", X)
            np.testing.assert_array_equal(await client.fetch(handle), X)
            np.testing.assert_array_equal(await client.sort(await client.stored("x")), np.sort(X))
            async with client.chain() as chain:
                first = chain.gather(chain.sort(handle), [0], [2])
            np.testing.assert_array_equal(first.result(), [1, 2])
            assert [each.name for each in (await client.arrays()).arrays] == ["x"]
            await client.delete(handle)
            assert (await client.info()).engine == "cpu"
            shared = await client.empty_shared(3, np.int32)
            shared[:] = X
            assert (await client.sort(shared, out=shared)) is shared
            np.testing.assert_array_equal(shared, np.sort(X))
            with pytest.raises(TypeError, match="needs `async with`"), client.chain():
                pass

    asyncio.run(calls())


def test_awaited_clients_serve_one_event_loop_after_the_other(fake: FakeServer) -> None:
    client = corank.aio.connect(fake.address)

    async def call() -> Any:
        return await client.sort(X)

    for _ in range(2):
        np.testing.assert_array_equal(asyncio.run(call()), np.sort(X))
    copy = pickle.loads(pickle.dumps(client))
    assert repr(copy) == f"corank.aio.AsyncClient('{fake.address}')"


def sort_elsewhere(client: corank.Client, array: Any) -> Any:
    """In another process."""
    return client.sort(array).tolist()


def test_clients_and_handles_pickle(fake: FakeServer, tmp_path: pathlib.Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    client = corank.connect(fake.address, retries=2, deadline=20, token_file=token, max_message_bytes=1 << 20)
    handle = client.store("x", X)
    data = pickle.dumps((client, handle))
    assert b"secret" not in data
    copy, other = pickle.loads(data)
    assert copy._connection is other._connection
    assert copy._connection.settings({}) == client._connection.settings({})
    assert copy._connection._max_message_bytes == 1 << 20
    np.testing.assert_array_equal(other.fetch(), X)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(sort_elsewhere, client, X).result(60) == [1, 2, 3]
        assert pool.submit(sort_elsewhere, client, handle).result(60) == [1, 2, 3]
    with pytest.raises(TypeError, match="does not pickle, for the pickle would hold the token; give token_file="):
        pickle.dumps(corank.connect(fake.address, token="secret"))
