"""Streams that no client library makes: each gets a status, and the server frees everything."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import corank
import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as service
from corank.v1 import operators_pb2 as o
from e2e_support import busy, code_of
from waiting import wait_until

Needs = Callable[[str], None]
COUNT = 1 << 20
KEYS = np.random.default_rng(14).integers(0, 2**32, COUNT, dtype=np.uint32)
EXECUTE = "/corank.v1.CorankService/Execute"
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]


def sort_plan(count: int | None = COUNT, **more: Any) -> service.ExecuteRequest:
    """A plan that sorts stream 0 into stream 1."""
    keys = a.Array(type=a.ELEMENT_TYPE_UINT32, count=count, stream=a.StreamPlace(stream_id=0))
    sort = o.SortRequest(keys=keys, keys_destination=a.Destination(stream=a.StreamPlace(stream_id=1)))
    return service.ExecuteRequest(plan=service.Plan(operations=[service.Operation(sort=sort)], **more))


def chunk(first: int, last: int, stream_id: int = 0, data: bytes | None = None) -> service.ExecuteRequest:
    """Elements `first` to `last` of KEYS."""
    data = KEYS[first:last].tobytes() if data is None else data
    return service.ExecuteRequest(chunk=a.ArrayChunk(stream_id=stream_id, first_element=first, data=data))


def execute(address: str, requests: Iterable[service.ExecuteRequest], timeout: float = 30) -> list[Any]:
    """The answers of a call on its own connection; raises grpc.RpcError."""
    with grpc.insecure_channel(address, OPTIONS) as channel:
        method: Any = channel.stream_stream(
            EXECUTE,
            request_serializer=service.ExecuteRequest.SerializeToString,
            response_deserializer=service.ExecuteResponse.FromString,
        )
        return list(method(iter(requests), timeout=timeout))


HALF = COUNT // 2
STEP = 1 << 18
BAD_STREAMS: dict[str, tuple[list[service.ExecuteRequest], str]] = {
    "no message": ([], "INVALID_ARGUMENT"),
    "no plan": ([chunk(0, STEP)], "INVALID_ARGUMENT"),
    "empty message": ([service.ExecuteRequest()], "INVALID_ARGUMENT"),
    "two plans": ([sort_plan(), sort_plan()], "INVALID_ARGUMENT"),
    "no operations": ([service.ExecuteRequest(plan=service.Plan())], "INVALID_ARGUMENT"),
    "chunk out of order": ([sort_plan(), chunk(STEP, 2 * STEP), chunk(0, STEP)], "INVALID_ARGUMENT"),
    "gap": ([sort_plan(), chunk(0, STEP), chunk(2 * STEP, 3 * STEP)], "INVALID_ARGUMENT"),
    "overlap": ([sort_plan(), chunk(0, STEP), chunk(STEP - 1, 2 * STEP)], "INVALID_ARGUMENT"),
    "half-closed too early": ([sort_plan(), chunk(0, STEP)], "INVALID_ARGUMENT"),
    "no chunks": ([sort_plan()], "INVALID_ARGUMENT"),
    "more than announced": ([sort_plan(10), chunk(0, 11)], "INVALID_ARGUMENT"),
    "part of an element": ([sort_plan(10), chunk(0, 0, data=bytes(39))], "INVALID_ARGUMENT"),
    "unknown stream": ([sort_plan(), chunk(0, STEP, stream_id=7)], "INVALID_ARGUMENT"),
    "chunk of an output": ([sort_plan(), chunk(0, STEP, stream_id=1)], "INVALID_ARGUMENT"),
    "negative element": (
        [sort_plan(), service.ExecuteRequest(chunk=a.ArrayChunk(first_element=-1, data=bytes(4)))],
        "INVALID_ARGUMENT",
    ),
    "stream id out of range": (
        [
            service.ExecuteRequest(
                plan=service.Plan(
                    operations=[
                        service.Operation(
                            sort=o.SortRequest(
                                keys=a.Array(type=a.ELEMENT_TYPE_UINT32, count=1, stream=a.StreamPlace(stream_id=1024))
                            )
                        )
                    ]
                )
            )
        ],
        "INVALID_ARGUMENT",
    ),
    "negative count": ([sort_plan(-1)], "INVALID_ARGUMENT"),
    "count beyond memory": ([sort_plan(2**61)], "INVALID_ARGUMENT"),
    "part beyond parts": ([sort_plan(job_id="j", part=2, parts=2)], "INVALID_ARGUMENT"),
    "too many parts": ([sort_plan(job_id="j", part=0, parts=65)], "INVALID_ARGUMENT"),
    "parts without a job": ([sort_plan(part=0, parts=2)], "INVALID_ARGUMENT"),
}


@pytest.mark.parametrize("name", BAD_STREAMS)
def test_broken_streams_are_refused(placed_server: LocalServer, placed: corank.Client, needs: Needs, name: str) -> None:
    needs("stream")
    requests, expected = BAD_STREAMS[name]
    code, details = code_of(lambda: execute(placed_server.address, requests))
    assert code == expected, details
    assert details
    np.testing.assert_array_equal(placed.sort(KEYS, place="stream"), np.sort(KEYS))


@pytest.mark.parametrize("garbage", [b"\xff", b"\x12\x7f", b"\x12\x04\x1a\xff\xff\x0f", bytes(1000)])
def test_bytes_that_are_no_chunk_are_refused(
    placed_server: LocalServer, placed: corank.Client, needs: Needs, garbage: bytes
) -> None:
    needs("stream")
    with grpc.insecure_channel(placed_server.address, OPTIONS) as channel:
        method: Any = channel.stream_stream(EXECUTE)
        requests = [sort_plan().SerializeToString(), chunk(0, STEP).SerializeToString(), garbage]
        code, details = code_of(lambda: list(method(iter(requests), timeout=30)))
    assert code == "INVALID_ARGUMENT", details


def test_chunk_over_the_limit_is_refused(placed_server: LocalServer, placed: corank.Client, needs: Needs) -> None:
    needs("stream")
    limit = placed.info().limits.max_chunk_bytes
    requests = [sort_plan(limit), chunk(0, 0, data=bytes(limit + 4))]
    code, details = code_of(lambda: execute(placed_server.address, requests))
    assert code in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"), details


def test_count_may_be_left_out(placed_server: LocalServer, placed: corank.Client, needs: Needs) -> None:
    needs("stream")
    requests = [sort_plan(None), chunk(0, HALF), chunk(HALF, COUNT), chunk(COUNT, COUNT, data=b"")]
    answers = execute(placed_server.address, requests)
    got = b"".join(answer.chunk.data for answer in answers if answer.HasField("chunk"))
    assert got == np.sort(KEYS).tobytes()
    assert answers[-1].result.sort.keys.count == COUNT


def held_open(requests: list[service.ExecuteRequest], until: threading.Event) -> Iterator[service.ExecuteRequest]:
    """Yields the requests, then neither another one nor the end."""
    yield from requests
    until.wait(60)


@pytest.mark.parametrize("end", ["deadline", "cancel", "connection"])
def test_upload_that_stops_in_the_middle_frees_everything(
    placed_server: LocalServer, placed: corank.Client, needs: Needs, end: str
) -> None:
    needs("stream")
    until = threading.Event()
    with grpc.insecure_channel(placed_server.address, OPTIONS) as channel:
        method: Any = channel.stream_stream(
            EXECUTE,
            request_serializer=service.ExecuteRequest.SerializeToString,
            response_deserializer=service.ExecuteResponse.FromString,
        )
        requests = [sort_plan(), chunk(0, STEP), chunk(STEP, 2 * STEP)]
        call = method(held_open(requests, until), timeout=1.0 if end == "deadline" else 60)
        if end == "deadline":
            assert code_of(lambda: list(call))[0] == "DEADLINE_EXCEEDED"
        else:
            time.sleep(0.2)
            assert call.is_active()
            if end == "cancel":
                call.cancel()
    until.set()
    np.testing.assert_array_equal(placed.sort(KEYS, place="stream"), np.sort(KEYS))


def test_deadline_in_the_middle_of_the_work_stops_it(placed_server: LocalServer, needs: Needs) -> None:
    needs("stream")
    # A kernel finishes once begun, which takes seconds under a sanitizer that is fifty times slower.
    keys = KEYS if os.environ.get("CORANKD_SANITIZED") == "thread" else np.tile(KEYS, 8)
    late = 0
    with placed_server.connect() as client:
        client.info()
        for deadline in (0.005, 0.02, 0.1, 0.3):  # a GPU meets the longer deadlines
            try:
                answer = client.sort(keys, algorithm="odd-even-mergesort", place="stream", deadline=deadline)
            except corank.DeadlineExceeded:
                late += 1
            else:
                np.testing.assert_array_equal(answer, np.sort(keys))
    assert late > 0
    wait_until(lambda: not busy(placed_server), "the work of late calls has stopped")


def test_reader_that_stops_does_not_stop_others(
    placed_server: LocalServer, placed: corank.Client, needs: Needs
) -> None:
    needs("stream")
    with grpc.insecure_channel(placed_server.address, OPTIONS) as channel:
        method: Any = channel.stream_stream(
            EXECUTE,
            request_serializer=service.ExecuteRequest.SerializeToString,
            response_deserializer=service.ExecuteResponse.FromString,
        )
        calls = []
        for _ in range(3):
            call = method(iter([sort_plan(), chunk(0, HALF), chunk(HALF, COUNT)]), timeout=60)
            next(call)
            calls.append(call)
        for _ in range(3):
            np.testing.assert_array_equal(placed.sort(KEYS, place="stream"), np.sort(KEYS))
        for call in calls:
            call.cancel()


def test_part_that_fails_fails_the_job(placed_server: LocalServer, placed: corank.Client, needs: Needs) -> None:
    needs("stream")
    outcomes: dict[int, tuple[str, str]] = {}

    def part(number: int, requests: list[service.ExecuteRequest]) -> None:
        outcomes[number] = code_of(lambda: execute(placed_server.address, requests))

    job = secrets.token_hex(4)
    good = [sort_plan(job_id=job, part=0, parts=2), chunk(0, HALF)]
    bad = [sort_plan(job_id=job, part=1, parts=2), chunk(HALF, HALF + 9), chunk(0, 9)]
    threads = [threading.Thread(target=part, args=(at, each)) for at, each in enumerate((good, bad))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes[1][0] == "INVALID_ARGUMENT", outcomes
    assert outcomes[0][0] == "ABORTED", outcomes


def test_parts_with_other_plans_are_no_job(placed_server: LocalServer, placed: corank.Client, needs: Needs) -> None:
    needs("stream")
    outcomes: list[tuple[str, str]] = []
    job = secrets.token_hex(4)

    def part(requests: list[service.ExecuteRequest]) -> None:
        outcomes.append(code_of(lambda: execute(placed_server.address, requests, timeout=20)))

    plans = [sort_plan(COUNT, job_id=job, part=0, parts=2), sort_plan(COUNT + 1, job_id=job, part=1, parts=2)]
    threads = [threading.Thread(target=part, args=([plan, chunk(0, HALF)],)) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [code for code, _ in outcomes] == ["INVALID_ARGUMENT"] * 2, outcomes
    assert all("different plans" in text for _, text in outcomes), outcomes
