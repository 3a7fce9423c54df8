"""Bounds on the size, number and overlap of the arrays of a call, against the test double."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import pytest
from fake_memory import Call
from fake_server import FakeServer
from operator_cases import same

import corank
from corank._stream import Sink

KEYS = np.random.default_rng(5).integers(0, 2**32, 100_000, dtype=np.uint32)


def test_sizes_of_shared_arrays_are_checked(fake: FakeServer, fake_client: corank.Client) -> None:
    assert fake_client.empty_shared(np.int8(5), np.int16).size == 5
    assert fake_client.empty_shared(0).size == 0
    asked = fake.places.regions.copy()
    refused: list[tuple[Any, Any, type[Exception], str]] = [
        (-1, np.float64, corank.InvalidArgument, "count: -1 is less than 0"),
        (2.0, np.float64, TypeError, "count: must be an integer, is 2.0"),
        (np.int64(2**62), np.float64, corank.ResourceExhausted, "36,893,488,147,419,103,232 bytes do not fit"),
        (2, "V300", TypeError, "dtype: elements have 300 bytes; 1 to 256"),
        (2, "V0", TypeError, "dtype: elements have 0 bytes"),
        (2, object, TypeError, "dtype: elements are Python objects"),
    ]
    for count, dtype, error, message in refused:
        with pytest.raises(error, match=message):
            fake_client.empty_shared(count, dtype)
    with pytest.raises(TypeError, match="array: elements have 300 bytes"):
        fake_client.share(np.zeros(2, "V300"))
    assert fake.places.regions.keys() <= asked.keys()


def test_shared_copy_stands_for_its_array(fake_client: corank.Client) -> None:
    stats: list[corank.Stats] = []
    shared = fake_client.share(KEYS)
    assert np.asarray(shared) is shared.array
    assert np.asarray(shared, np.float64).dtype == np.float64
    assert len(shared) == KEYS.size
    shared[0] = 5
    assert shared[:1].tolist() == [5]
    given: Any = shared
    assert fake_client.sort(shared, out=given, on_stats=stats.append) is shared.array
    assert stats[0].request_bytes < 1000
    assert not (np.diff(shared.array.astype(np.int64)) < 0).any()


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_merge_takes_more_arrays_than_there_are_streams(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch, place: Any
) -> None:
    monkeypatch.setattr("corank._placing.SMALL_BYTES", 100)
    monkeypatch.setattr("corank._placing.MAX_STREAMS", 8)
    plans: list[Any] = []
    bring = fake.places.bring

    def note(message: Any, call: Call) -> None:
        plans.append(type(message).FromString(message.SerializeToString()))
        bring(message, call)

    fake.places.bring = note  # type: ignore[method-assign]
    keys = [np.arange(at, 1000 + 10 * at, 7) for at in range(8)]
    rows = [np.full(each.size, at) for at, each in enumerate(keys)]
    joined = np.concatenate(keys)
    np.testing.assert_array_equal(fake_client.merge(keys, place=place), np.sort(joined))
    found = fake_client.merge(keys, values=rows, place=place)
    same(found, (np.sort(joined), np.concatenate(rows)[np.argsort(joined, kind="stable")]))
    if place != "stream":
        return
    alone, both = plans
    assert len({each.stream.stream_id for each in alone.keys}) == 8
    inputs = [*both.keys, *both.values]
    streams = [each.stream.stream_id for each in inputs if each.HasField("stream")]
    assert sorted(streams) == list(range(8))
    smallest = max(each.count for each in inputs if not each.HasField("stream"))
    assert smallest <= min(each.count for each in inputs if each.HasField("stream"))


def test_result_is_for_the_server_to_judge_where_memory_is_not_known(
    fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corank._connection.most_bytes", lambda: None)
    counts = np.array([2**62, 1])
    with corank.connect(fake.address, progress=False) as client:
        for place in ("inline", "stream"):
            fake.fail_next(grpc.StatusCode.INVALID_ARGUMENT, "counts: their sum is too large", field="counts")
            with pytest.raises(corank.InvalidArgument, match="counts: their sum is too large"):
                client.expand([10, 20], counts, place=place)


def test_stream_for_which_there_is_no_memory_says_so() -> None:
    sink = Sink(np.dtype(np.int64), None)
    with pytest.raises(corank.ResourceExhausted, match="this process has no memory for"):
        sink.write(2**61, memoryview(bytes(8)))


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_results_must_not_overlap(fake: FakeServer, fake_client: corank.Client, place: Any) -> None:
    out, shared = np.zeros(4, np.int64), fake_client.empty_shared(4, np.int64)
    for target in (out, shared):
        for pair in ((target[:3], target[1:]), (target[:3], target[:3])):
            with pytest.raises(corank.InvalidArgument, match="results 0 and 1 overlap") as caught:
                fake_client.sort([3, 1, 2], values=[7, 8, 9], out=pair, place=place)
            assert caught.value.field == "out"
    assert fake.requests == []
    assert fake.executor.calls == 0
    big = np.zeros(6, np.int64)
    fake_client.sort([3, 1, 2], values=[7, 8, 9], out=(big[:3], big[3:]), place=place)
    np.testing.assert_array_equal(big, [1, 2, 3, 8, 9, 7])
