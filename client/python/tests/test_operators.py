"""Every operator on every type, against plain NumPy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import oracles
import pytest
from oracles import KEY_TYPES, bits, random_keys, storage

import corank

SIZES = (0, 1, 2, 257, 3000)
RECORD = np.dtype([("name", "S5"), ("when", ">u4"), ("x", "f8")])


def generator(*seed: object) -> np.random.Generator:
    """A generator that a failing test's parameters name."""
    return np.random.default_rng([sum(map(ord, str(part))) for part in seed])


def dtype_argument(key_type: str) -> str | None:
    """The value of dtype=: uint16 arrays hold bfloat16."""
    return "bfloat16" if key_type == "bfloat16" else None


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_sort_returns_the_stable_order_and_every_bit(client: corank.Client, key_type: str, descending: bool) -> None:
    for count in SIZES:
        keys = random_keys(generator(key_type, descending, count), key_type, count)
        before = keys.copy()
        order = oracles.argsort(keys, key_type, descending)
        got = client.sort(keys, descending=descending, dtype=dtype_argument(key_type))
        assert got.dtype == keys.dtype
        np.testing.assert_array_equal(bits(got), bits(keys[order]))
        np.testing.assert_array_equal(bits(keys), bits(before))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_argsort_is_stable(client: corank.Client, key_type: str, descending: bool) -> None:
    for count in SIZES:
        keys = random_keys(generator(key_type, descending, count, 1), key_type, count)
        got = client.argsort(keys, descending=descending, dtype=dtype_argument(key_type))
        assert got.dtype == np.intp
        np.testing.assert_array_equal(got, oracles.argsort(keys, key_type, descending))


@pytest.mark.parametrize("key_type", ["uint8", "int16", "bfloat16", "float32", "int64"])
def test_sort_moves_values_with_their_keys(client: corank.Client, key_type: str) -> None:
    rng = generator(key_type, 2)
    keys = random_keys(rng, key_type, 1000)
    order = oracles.argsort(keys, key_type)
    records = np.zeros(1000, RECORD)
    records["when"] = np.arange(1000)
    for values in (np.arange(1000), np.arange(1000, dtype=np.uint8), records, np.arange(1000) * 1j):
        sorted_keys, moved = client.sort(keys, values=values, dtype=dtype_argument(key_type))
        np.testing.assert_array_equal(bits(sorted_keys), bits(keys[order]))
        assert moved.dtype == values.dtype
        np.testing.assert_array_equal(moved, values[order])


def test_sort_with_indices_returns_both(client: corank.Client) -> None:
    keys = random_keys(generator(3), "float32", 500)
    order = oracles.argsort(keys, "float32", True)
    sorted_keys, indices = client.sort_with_indices(keys, descending=True)
    np.testing.assert_array_equal(bits(sorted_keys), bits(keys[order]))
    np.testing.assert_array_equal(indices, order)


@pytest.mark.parametrize("algorithm", ["auto", "mergesort", "radix", "odd-even-mergesort"])
def test_every_sort_algorithm_gives_the_same_answer(client: corank.Client, algorithm: Any) -> None:
    keys = random_keys(generator(4), "float64", 2000)
    got = client.sort(keys, algorithm=algorithm)
    np.testing.assert_array_equal(bits(got), bits(keys[oracles.argsort(keys, "float64")]))


@pytest.mark.parametrize("descending", [False, True])
def test_segments_are_sorted_each_for_itself(client: corank.Client, descending: bool) -> None:
    keys = random_keys(generator(5), "int32", 1000)
    offsets = [0, 0, 1, 400, 400, 401, 1000, 1000]
    order = oracles.segmented_argsort(keys, offsets, "int32", descending)
    np.testing.assert_array_equal(client.sort(keys, segments=offsets, descending=descending), keys[order])
    np.testing.assert_array_equal(client.argsort(keys, segments=offsets, descending=descending), order)


@pytest.mark.parametrize("limit", [0, 1, 10, 999, 1000, 5000])
def test_limit_returns_the_first_results(client: corank.Client, limit: int) -> None:
    keys = random_keys(generator(6), "float16", 1000)
    order = oracles.argsort(keys, "float16")[:limit]
    np.testing.assert_array_equal(bits(client.sort(keys, limit=limit)), bits(keys[order]))
    np.testing.assert_array_equal(client.argsort(keys, limit=limit), order)


@pytest.mark.parametrize("offset", [0, 1, 10, 999, 1000, (1 << 63) - 1])
@pytest.mark.parametrize("limit", [None, 0, 1, 500])
def test_offset_leaves_out_the_first_results(client: corank.Client, limit: int | None, offset: int) -> None:
    keys = random_keys(generator(7), "float16", 1000)
    order = oracles.argsort(keys, "float16")[offset:][:limit]
    np.testing.assert_array_equal(bits(client.sort(keys, limit=limit, offset=offset)), bits(keys[order]))
    np.testing.assert_array_equal(client.argsort(keys, limit=limit, offset=offset), order)
    np.testing.assert_array_equal(client.argsort_columns([keys], limit=limit, offset=offset), order)


def test_an_offset_that_sorts_cannot_take_is_refused(client: corank.Client) -> None:
    for call in (client.sort, lambda keys, **options: client.argsort_columns([keys], **options)):
        with pytest.raises(corank.InvalidArgument, match="offset: -1 is less than 0"):
            call(np.arange(3), offset=-1)
        with pytest.raises(corank.InvalidArgument, match="offset"):
            call(np.arange(3), offset=1, segments=[0, 3])


@pytest.mark.parametrize("limit", [0, 1, 7, 500, 5000])
def test_limit_returns_the_first_results_of_each_segment(client: corank.Client, limit: int) -> None:
    rng = generator(limit, 61)
    segments = np.sort(np.concatenate([[0, 0, 3000], rng.integers(0, 3000, 20)]))
    keys = random_keys(rng, "float32", 3000)
    order = oracles.first_of_each(
        oracles.segmented_argsort(keys, segments.tolist(), "float32"), segments.tolist(), limit
    )
    np.testing.assert_array_equal(bits(client.sort(keys, segments=segments, limit=limit)), bits(keys[order]))
    np.testing.assert_array_equal(client.argsort(keys, segments=segments, limit=limit), order)
    moved = client.sort(keys, values=np.arange(3000), segments=segments, limit=limit)[1]
    np.testing.assert_array_equal(moved, order)
    positions = client.sort_with_indices(keys, segments=segments, limit=limit)[1]
    np.testing.assert_array_equal(positions, order)
    found = corank.limited_segments(segments, limit)
    assert found[-1] == order.size
    for begin, end, first, last in zip(segments, segments[1:], found, found[1:]):
        assert np.all((order[first:last] >= begin) & (order[first:last] < end))


def test_limited_segments_of_no_segments_are_one_offset() -> None:
    assert corank.limited_segments([0], 3).tolist() == [0]
    assert corank.limited_segments([0, 4, 4, 5], 2).tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize(
    ("segments", "limit", "raises", "text"),
    [
        ([0, 2.5], 1, TypeError, "segments"),
        ([0, 2], 1.5, TypeError, "limit: must be an integer"),
        ([0, 2], -1, corank.InvalidArgument, "limit: -1 is less than 0"),
    ],
    ids=str,
)
def test_limited_segments_refuse_what_sorts_refuse(segments: Any, limit: Any, raises: Any, text: str) -> None:
    with pytest.raises(raises, match=text):
        corank.limited_segments(segments, limit)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_merge_takes_equal_keys_from_the_earlier_input(client: corank.Client, key_type: str, descending: bool) -> None:
    rng = generator(key_type, descending, 7)
    for counts in ((0, 0), (5, 0), (300, 700), (1, 200, 0, 33, 64)):
        inputs = []
        for count in counts:
            keys = random_keys(rng, key_type, count)
            inputs.append(keys[oracles.argsort(keys, key_type, descending)])
        joined = np.concatenate(inputs)
        order = oracles.argsort(joined, key_type, descending)
        values = np.split(np.arange(joined.size), np.cumsum(counts)[:-1])
        dtype = dtype_argument(key_type)
        merged = client.merge(inputs, descending=descending, dtype=dtype)
        np.testing.assert_array_equal(bits(merged), bits(joined[order]))
        merged, moved = client.merge(inputs, values=values, descending=descending, dtype=dtype)
        np.testing.assert_array_equal(bits(merged), bits(joined[order]))
        np.testing.assert_array_equal(moved, order)


@pytest.mark.parametrize("algorithm", ["auto", "merge-path", "basic", "tiled", "circular-buffer"])
def test_every_merge_algorithm_gives_the_same_answer(client: corank.Client, algorithm: Any) -> None:
    rng = generator(8)
    inputs = [np.sort(rng.integers(0, 50, count, dtype=np.uint16)) for count in (1000, 1, 777)]
    np.testing.assert_array_equal(client.merge(inputs, algorithm=algorithm), np.sort(np.concatenate(inputs)))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "float64", "S3", "V17", "U2", "M8[s]", "bool", RECORD])
def test_interval_operators_move_any_fixed_width_dtype(client: corank.Client, dtype: Any) -> None:
    rng = generator(9)
    width = np.dtype(dtype).itemsize
    source = np.frombuffer(rng.integers(0, 2, 100 * width, dtype=np.uint8).tobytes(), np.dtype(dtype))
    into = np.frombuffer(rng.integers(0, 2, 120 * width, dtype=np.uint8).tobytes(), np.dtype(dtype))
    counts, begins, goals = [3, 0, 40, 7], [97, 100, 10, 12], [0, 5, 60, 10]
    dense = source[: sum(counts)]
    starts = [0, 3, 3, 43]

    repeated = client.expand(source[:4], counts)
    gathered = client.gather(source, begins, counts)
    moved = client.move(source, begins, goals, counts, destination=into)
    scattered = client.scatter(dense, goals, counts, destination=120)

    expected = [
        np.repeat(source[:4], counts),
        oracles.move(source, begins, starts, counts, np.zeros(50, dtype)),
        oracles.move(source, begins, goals, counts, into),
        oracles.move(dense, starts, goals, counts, np.zeros(120, dtype)),
    ]
    for got, want in zip((repeated, gathered, moved, scattered), expected):
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()


def test_interval_operators_take_no_intervals(client: corank.Client) -> None:
    source = np.arange(10, dtype=np.int16)
    none = np.zeros(0, np.int64)
    assert client.expand(source[:0], none).size == 0
    assert client.gather(source, none, none).size == 0
    np.testing.assert_array_equal(client.move(source, none, none, none, destination=source), source)
    np.testing.assert_array_equal(client.scatter(source[:0], none, none, destination=4), np.zeros(4, np.int16))
    assert client.load_balance(none).objects.size == 0


def test_load_balance_names_object_and_rank(client: corank.Client) -> None:
    counts = generator(10).integers(0, 5, 300)
    objects, ranks = oracles.load_balance(counts)
    got = client.load_balance(counts)
    np.testing.assert_array_equal(got.objects, objects)
    np.testing.assert_array_equal(got.ranks, ranks)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_search_is_searchsorted(
    client: corank.Client, key_type: str, descending: bool, side: Literal["left", "right"]
) -> None:
    rng = generator(key_type, descending, side)
    for count in (0, 1, 400):
        haystack = random_keys(rng, key_type, count)
        haystack = haystack[oracles.argsort(haystack, key_type, descending)]
        needles = np.concatenate([random_keys(rng, key_type, 100), haystack[::3]]).astype(storage(key_type))
        got = client.search(haystack, needles, side=side, descending=descending, dtype=dtype_argument(key_type))
        np.testing.assert_array_equal(got, oracles.search(haystack, needles, key_type, side, descending))


def test_info_names_the_engine(client: corank.Client) -> None:
    info = client.info()
    assert info.engine in ("cpu", "cuda")
    assert info.limits.max_request_bytes > 0
    assert "inline" in info.places


def test_a_text_is_no_direction(any_client: corank.Client) -> None:
    calls: Any = any_client
    wrong: list[Any] = [
        lambda: calls.sort([2, 1], descending="asc"),
        lambda: calls.merge([[1], [2]], descending="asc"),
        lambda: calls.sort_columns([[2, 1]], descending="asc"),
        lambda: calls.sort_columns([[2, 1]], descending=["asc"]),
        lambda: calls.group([2, 1], descending="asc"),
        lambda: calls.combine_sets([1], [2], "union", descending="asc"),
        lambda: calls.rank([2, 1], descending="asc"),
    ]
    for call in wrong:
        with pytest.raises(TypeError, match=r"^descending: must be True or False, is 'asc'$"):
            call()
    with pytest.raises(TypeError, match=r"^right_sorted: must be True or False, is 'no'$"):
        calls.join([1], [1], right_sorted="no")
    assert calls.sort([1, 2], descending=np.True_).tolist() == [2, 1]
