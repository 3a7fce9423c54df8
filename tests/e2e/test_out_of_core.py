"""Arrays larger than a request's device memory: the answers are right and say how the server worked.

The server gives a request so little memory that arrays of a few MiB exceed it, on any engine.
"""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import corank
import numpy as np
import oracles
import pytest
from conftest import SHARED_PREFIX
from corank.testing import LocalServer
from e2e_support import wait_until_empty
from numpy.typing import NDArray

MAX_DEVICE_BYTES = 16 << 20
IN_CORE_BYTES = MAX_DEVICE_BYTES // 2
PIECE_BYTES = MAX_DEVICE_BYTES // 16
"""The most bytes that the server sorts at once."""
ROW_BYTES = 40 << 20
"""Bytes of all rows of a call, for more pieces than one merge takes."""

Keys = NDArray[Any]
Call = Callable[..., Any]


class Way(NamedTuple):
    """The place in which the arrays travel."""

    place: str
    connections: int = 1


WAYS = (Way("stream"), Way("stream", 3), Way("shared_memory"))
by_every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.place}-{way.connections}")


@pytest.fixture(scope="module")
def small_server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server with little memory for each request. It must exit with 0."""
    local = LocalServer(corankd, [f"--max-device-bytes={MAX_DEVICE_BYTES}", f"--shared-memory={SHARED_PREFIX}"])
    local.start()
    yield local
    assert local.process.poll() is None, f"the server ended with {local.process.poll()} during the tests"
    assert local.stop() == 0


@pytest.fixture
def small(small_server: LocalServer) -> Iterator[corank.Client]:
    """A client of that server. After each test the server must hold nothing."""
    with small_server.connect() as connected:
        yield connected
    wait_until_empty(small_server)


def run(way: Way, call: Call, *arrays: Any, **more: Any) -> tuple[Any, corank.Stats]:
    """The result of a call, and its stats."""
    stats: list[corank.Stats] = []
    found = call(*arrays, **more, place=way.place, connections=way.connections, on_stats=stats.append)
    assert [each.place for each in stats] == [way.place]
    return found, stats[0]


def in_pieces(server: LocalServer, way: Way) -> bool:
    """Whether the server works on large arrays in pieces. In shared memory a CPU would gain nothing by it."""
    return way.place == "stream" or server.engine == "cuda"


def check_sort(server: LocalServer, way: Way, row_bytes: int, stats: corank.Stats) -> None:
    """Checks that a sort of ROW_BYTES says how the server did it."""
    pieces = -(-(ROW_BYTES // row_bytes) // (PIECE_BYTES // row_bytes))
    assert pieces > 32, "one merge takes them all"
    assert (stats.out_of_core, stats.runs) == ((True, pieces) if in_pieces(server, way) else (False, 0))


class Case(NamedTuple):
    """Rows and their order."""

    keys: Keys
    order: Keys

    def numbers(self) -> Keys:
        """Values that identify the rows."""
        return np.frombuffer(np.arange(self.keys.size, dtype=np.uint64).tobytes(), "V8")


@functools.lru_cache(maxsize=2)  # each is some 100 MiB
def case(key_type: str, row_bytes: int, descending: bool = False) -> Case:
    """Rows of ROW_BYTES in total: keys with many ties, or floats of any bits."""
    rng, rows = np.random.default_rng(41), ROW_BYTES // row_bytes
    if key_type == "float32":
        keys: Keys = rng.integers(0, 2**32, rows, dtype=np.uint32).view(np.float32)
        keys[::1000], keys[1::1000] = 0.0, -0.0
    else:
        keys = rng.integers(0, 9999, rows, dtype=np.uint16).astype(key_type)
    return Case(keys, oracles.argsort(keys, key_type, descending))


@by_every_way
@pytest.mark.parametrize("key_type", ["uint32", "float32"])
def test_keys(small_server: LocalServer, small: corank.Client, key_type: str, way: Way) -> None:
    rows = case(key_type, 4)
    got, stats = run(way, small.sort, rows.keys)
    np.testing.assert_array_equal(oracles.bits(got), oracles.bits(rows.keys[rows.order]))
    check_sort(small_server, way, 4, stats)


@by_every_way
def test_keys_with_values(small_server: LocalServer, small: corank.Client, way: Way) -> None:
    rows = case("int16", 10, descending=True)
    (keys, values), stats = run(way, small.sort, rows.keys, values=rows.numbers(), descending=True)
    np.testing.assert_array_equal(keys, rows.keys[rows.order])
    assert values.tobytes() == rows.numbers()[rows.order].tobytes()
    check_sort(small_server, way, 10, stats)


@by_every_way
def test_argsort(small_server: LocalServer, small: corank.Client, way: Way) -> None:
    rows = case("uint8", 5)  # one byte for the key and four for its index
    got, stats = run(way, small.argsort, rows.keys)
    np.testing.assert_array_equal(got, rows.order)
    check_sort(small_server, way, 5, stats)


@by_every_way
def test_offset(small_server: LocalServer, small: corank.Client, way: Way) -> None:
    rows = case("uint32", 8)
    offset = rows.keys.size // 2
    got, stats = run(way, small.argsort, rows.keys, offset=offset, limit=12_345)
    np.testing.assert_array_equal(got, rows.order[offset : offset + 12_345])
    check_sort(small_server, way, 8, stats)


@by_every_way
@pytest.mark.parametrize("longest", [1000, 3_000_000], ids=["short", "long"])
def test_segments(small_server: LocalServer, small: corank.Client, way: Way, longest: int) -> None:
    """Segments of up to 1000 keys, and empty ones; the last one may be larger than half of the device memory."""
    rows = case("uint32", 4)
    rng = np.random.default_rng(9)
    ends = np.cumsum(rng.integers(0, 1000, rows.keys.size))
    offsets = np.concatenate([[0, 0], ends[ends < rows.keys.size - longest], [rows.keys.size] * 3])
    numbers = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((rows.keys, numbers))
    got, stats = run(way, small.sort, rows.keys, segments=offsets)
    np.testing.assert_array_equal(got, rows.keys[order])
    indices, again = run(way, small.argsort, rows.keys, segments=offsets)
    np.testing.assert_array_equal(indices, order)
    for each in (stats, again):
        assert each.out_of_core == in_pieces(small_server, way)
        assert (each.runs > 0) == (longest > 1000 and each.out_of_core)
    got, stats = run(way, small.sort, rows.keys, segments=offsets, limit=700)
    np.testing.assert_array_equal(got, rows.keys[oracles.first_of_each(order, offsets.tolist(), 700)])
    assert stats.out_of_core == in_pieces(small_server, way)


def nullable(numbers: Keys, seed: int) -> corank.Nullable:
    """The numbers with about every fifth one null."""
    return corank.Nullable(numbers, np.random.default_rng(seed).integers(0, 5, numbers.size) == 0)


@by_every_way
@pytest.mark.parametrize("limit", [None, 12_345])
def test_columns(small_server: LocalServer, small: corank.Client, way: Way, limit: int | None) -> None:
    """Three columns with many ties, nulls and NaNs, compared with NumPy's lexsort of ranks.

    Their rows take more than 32 MiB, from which on the server works in pieces on arrays in shared memory.
    """
    rows = 1_300_003
    rng = np.random.default_rng(17)
    few, tags = rng.integers(-3, 4, rows, dtype=np.int16), np.ones((rows, 24), np.uint8)
    tags[:, 0], tags[:, 23] = rng.integers(0, 3, (2, rows))
    floats = rng.integers(0, 9, rows).astype(np.float32)
    floats[floats == 8] = np.nan
    first, last = nullable(few, 1), nullable(floats, 2)
    columns: list[Any] = [first, tags.view("S24")[:, 0], last]
    of_tags = 256 * tags[:, 0].astype(np.int64) + tags[:, 23]
    of_first = np.where(first.mask, 100, -few.astype(np.int64))  # descending, nulls last
    of_last = np.where(last.mask, 100, np.where(np.isnan(floats), 50, floats)).astype(np.int64)
    order = np.lexsort((of_last, of_tags, of_first))[:limit]
    options: dict[str, Any] = {"descending": [True, False, False], "limit": limit}
    values = np.arange(rows, dtype=np.uint64)
    (got, moved), stats = run(way, small.sort_columns, columns, values=values, **options)
    np.testing.assert_array_equal(moved, order)
    np.testing.assert_array_equal(got[0].mask, first.mask[order])
    np.testing.assert_array_equal(got[0].values, few[order])
    np.testing.assert_array_equal(got[1], columns[1][order])
    np.testing.assert_array_equal(got[2].mask, last.mask[order])
    np.testing.assert_array_equal(oracles.bits(got[2].values), oracles.bits(floats[order]))
    indices, again = run(way, small.argsort_columns, columns, **options)
    np.testing.assert_array_equal(indices, order)
    for each in (stats, again):
        assert (each.out_of_core, each.runs > 5) == (in_pieces(small_server, way),) * 2


@by_every_way
def test_columns_of_strings(small_server: LocalServer, small: corank.Client, way: Way) -> None:
    """Strings of 0 to 60 bytes with common beginnings, before and behind a column of numbers."""
    rows = 600_000
    rng = np.random.default_rng(18)
    few, kinds = rng.integers(0, 30, rows), rng.integers(0, 2000, rows)
    of_few = [("left " * (kind % 12) + str(kind)).encode() for kind in range(30)]
    of_kinds = [b"" if kind == 0 else f"{kind % 7} and then {kind // 7}".encode() for kind in range(2000)]
    numbers = rng.integers(0, 3, rows, dtype=np.int32)
    columns: list[Any] = [[of_few[kind] for kind in few], numbers, [of_kinds[kind] for kind in kinds]]
    ranks_of_few, ranks_of_kinds = np.argsort(np.argsort(of_few)), np.argsort(np.argsort(of_kinds))
    order = np.lexsort((ranks_of_kinds[kinds], -numbers, ranks_of_few[few]))
    values = np.arange(rows, dtype=np.uint64)
    (got, moved), stats = run(way, small.sort_columns, columns, values=values, descending=[False, True, False])
    np.testing.assert_array_equal(moved, order)
    assert got[0] == [of_few[kind] for kind in few[order]]
    np.testing.assert_array_equal(got[1], numbers[order])
    assert got[2] == [of_kinds[kind] for kind in kinds[order]]
    assert (stats.out_of_core, stats.runs > 5) == (in_pieces(small_server, way),) * 2


@by_every_way
@pytest.mark.parametrize("segments", [2, 100_000])
def test_columns_in_segments(small_server: LocalServer, small: corank.Client, way: Way, segments: int) -> None:
    """Long segments, and many short or empty ones, of strings and numbers, of which some are null.

    Their rows take more than 32 MiB, from which on the server works in pieces on arrays in shared memory.
    """
    rows = 600_000
    rng = np.random.default_rng(20)
    texts: Keys = rng.integers(0, 50, rows)
    numbers: Keys = rng.integers(-9, 9, rows, dtype=np.int32)
    nulls: Keys = rng.integers(0, 5, rows) == 0
    offsets = np.sort([0, *rng.integers(0, rows, segments - 1), rows])
    order = np.lexsort((np.where(nulls, 100, -numbers), texts, np.repeat(np.arange(segments), np.diff(offsets))))
    columns: list[Any] = [[f"{text:02}{' and more' * 6}".encode() for text in texts], corank.Nullable(numbers, nulls)]
    options: dict[str, Any] = {"descending": [False, True], "segments": offsets}
    (got, moved), stats = run(way, small.sort_columns, columns, values=np.arange(rows), **options)
    np.testing.assert_array_equal(moved, order)
    assert got[0] == [columns[0][row] for row in order]
    np.testing.assert_array_equal(got[1].mask, nulls[order])
    indices, again = run(way, small.argsort_columns, columns, **options)
    np.testing.assert_array_equal(indices, order)
    for each in (stats, again):
        is_out = in_pieces(small_server, way)
        assert (each.out_of_core, each.runs > 0) == (is_out, is_out)


@by_every_way
@pytest.mark.parametrize("runs", [2, 30])
def test_columns_in_runs(small_server: LocalServer, small: corank.Client, way: Way, runs: int) -> None:
    """Tables that are sorted already, with strings and nulls, one behind the other.

    Their rows take more than 32 MiB, from which on the server works in pieces on arrays in shared memory.
    """
    rows = 600_000
    rng = np.random.default_rng(19)
    texts: Keys = rng.integers(0, 50, rows)
    numbers: Keys = rng.integers(-9, 9, rows, dtype=np.int32)
    nulls: Keys = rng.integers(0, 5, rows) == 0
    of_numbers: Keys = np.where(nulls, 100, -numbers)  # descending, nulls last
    offsets = np.sort([0, *rng.integers(0, rows, runs - 1), rows])
    run_of = np.repeat(np.arange(runs), np.diff(offsets))
    sort = np.lexsort((of_numbers, texts, run_of))  # of each run by itself
    texts, numbers, nulls, of_numbers = (each[sort] for each in (texts, numbers, nulls, of_numbers))
    columns: list[Any] = [[f"{text:02}{' and more' * 6}".encode() for text in texts], corank.Nullable(numbers, nulls)]
    options: dict[str, Any] = {"descending": [False, True], "runs": offsets}
    order = np.lexsort((of_numbers, texts))
    (got, moved), stats = run(way, small.sort_columns, columns, values=np.arange(rows), **options)
    np.testing.assert_array_equal(moved, order)
    assert got[0] == [columns[0][row] for row in order]
    np.testing.assert_array_equal(got[1].mask, nulls[order])
    indices, again = run(way, small.argsort_columns, columns, **options)
    np.testing.assert_array_equal(indices, order)
    for each in (stats, again):
        is_out = in_pieces(small_server, way)
        assert (each.out_of_core, each.runs) == (is_out, runs if is_out else 0)
    columns[0][0] = b"60"
    with pytest.raises(corank.InvalidArgument) as caught:
        run(way, small.sort_columns, columns, **options)
    assert caught.value.field.endswith("run_offsets[0]")


@by_every_way
@pytest.mark.parametrize("row_bytes", [4, 12])
def test_merge_of_uneven_inputs(small_server: LocalServer, small: corank.Client, row_bytes: int, way: Way) -> None:
    rows = case("uint32", row_bytes)
    ends = [rows.keys.size // 2, rows.keys.size // 2 + 30_001]
    keys = [np.sort(part) for part in np.split(rows.keys, ends)]
    if row_bytes == 4:
        got, stats = run(way, small.merge, keys)
    else:
        order = np.argsort(np.concatenate(keys), kind="stable")
        (got, values), stats = run(way, small.merge, keys, values=np.split(rows.numbers(), ends))
        assert values.tobytes() == rows.numbers()[order].tobytes()
    np.testing.assert_array_equal(got, rows.keys[rows.order])
    assert (stats.out_of_core, stats.runs) == (in_pieces(small_server, way), 0)


@by_every_way
def test_merge_of_large_and_small_inputs(small_server: LocalServer, small: corank.Client, way: Way) -> None:
    """Inputs, some of them empty or small enough for the message."""
    rows = case("uint32", 4)
    keys = [np.sort(part) for part in np.split(rows.keys, [0, 100, rows.keys.size - 5000])]
    got, stats = run(way, small.merge, keys)
    np.testing.assert_array_equal(got, rows.keys[rows.order])
    assert (stats.out_of_core, stats.runs) == (in_pieces(small_server, way), 0)


@by_every_way
def test_few_bytes_of_keys_with_many_of_values(small_server: LocalServer, small: corank.Client, way: Way) -> None:
    """Rows whose keys alone would fit into the message."""
    keys = np.random.default_rng(3).integers(0, 256, 65_000, dtype=np.uint8)
    values = np.zeros(keys.size, "V256")
    values.view(np.uint8).reshape(-1, 256)[:, :4] = np.arange(keys.size, dtype=np.uint32).view(np.uint8).reshape(-1, 4)
    (got, moved), stats = run(way, small.sort, keys, values=values)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(got, keys[order])
    assert moved.tobytes() == values[order].tobytes()
    # In shared memory the server does not cut less than 32 MiB of inputs and results into pieces.
    assert stats.out_of_core is (way.place == "stream")


def test_what_has_more_bytes_than_half_of_the_device_memory_is_out_of_core(small: corank.Client) -> None:
    assert small.info().limits.max_device_bytes == MAX_DEVICE_BYTES
    for rows, is_out in ((IN_CORE_BYTES // 4, False), (IN_CORE_BYTES // 4 + 1, True)):
        keys = np.arange(rows, dtype=np.uint32)
        assert run(WAYS[0], small.sort, keys)[1].out_of_core is is_out
        assert run(WAYS[0], small.merge, [keys[:30_001], keys[30_001:]])[1].out_of_core is is_out


def test_what_does_not_work_in_pieces_must_fit_the_device(small: corank.Client) -> None:
    def whole(rows: int) -> list[Callable[[], Any]]:
        keys = np.arange(rows, dtype=np.uint32)

        def chain() -> None:
            with small.chain(place="stream") as two:
                two.sort(keys)
                two.sort(keys[:1])

        return [
            lambda: small.rank_columns([keys], place="stream"),
            chain,
        ]

    for call in whole(MAX_DEVICE_BYTES // 4 // 8):
        call()
    for call in whole(MAX_DEVICE_BYTES // 4 + 1):
        with pytest.raises(corank.InvalidArgument, match=rf"\b{MAX_DEVICE_BYTES} bytes"):
            call()


class Intervals(NamedTuple):
    """Intervals from anywhere in a source, without overlap in the destination, both larger than the device memory."""

    source: Keys
    destination: Keys
    source_offsets: Keys
    destination_offsets: Keys
    counts: Keys

    def moved(self, source_offsets: Keys) -> Keys:
        """The destination after the copies."""
        moved = self.destination.copy()
        for start, to, count in zip(source_offsets, self.destination_offsets, self.counts, strict=True):
            moved[to : to + count] = self.source[start : start + count]
        return moved


@functools.cache
def intervals() -> Intervals:
    """20,000 intervals."""
    random = np.random.default_rng(6)
    counts = random.integers(0, 900, 20_000)
    ends = np.cumsum(counts + random.integers(0, 30, counts.size))
    order = random.permutation(counts.size)
    length = int(ends[-1])
    assert 4 * length > 2 * MAX_DEVICE_BYTES
    source, destination = random.integers(0, 2**32, (2, length), dtype=np.uint32)
    return Intervals(
        source, destination, random.integers(0, length - 900, counts.size), (ends - counts)[order], counts[order]
    )


by_streams = pytest.mark.parametrize("way", WAYS[:2], ids=lambda way: f"{way.connections} connections")


@by_streams
def test_move(small: corank.Client, way: Way) -> None:
    few = intervals()
    move = functools.partial(small.move, few.source, few.source_offsets, few.destination_offsets, few.counts)
    moved, stats = run(way, move, destination=few.destination)
    np.testing.assert_array_equal(moved, few.moved(few.source_offsets))
    assert stats.out_of_core


@by_streams
def test_gather(small: corank.Client, way: Way) -> None:
    few = intervals()
    gathered, stats = run(way, small.gather, few.source, few.source_offsets, few.counts)
    pieces = [few.source[start : start + count] for start, count in zip(few.source_offsets, few.counts, strict=True)]
    np.testing.assert_array_equal(gathered, np.concatenate(pieces))
    assert stats.out_of_core


@by_streams
def test_scatter(small: corank.Client, way: Way) -> None:
    few = intervals()
    dense = few.source[: few.counts.sum()]
    scattered, stats = run(
        way,
        functools.partial(small.scatter, dense, few.destination_offsets, few.counts),
        destination=few.destination.size,
    )
    zeros = few._replace(destination=np.zeros_like(few.destination))
    np.testing.assert_array_equal(scattered, zeros.moved(np.cumsum(few.counts) - few.counts))
    assert stats.out_of_core


@by_streams
def test_expand(small: corank.Client, way: Way) -> None:
    values = intervals().source[: MAX_DEVICE_BYTES // 2]
    counts = np.random.default_rng(7).integers(0, 4, values.size)
    expanded, stats = run(way, small.expand, values, counts)
    np.testing.assert_array_equal(expanded, np.repeat(values, counts))
    assert stats.out_of_core


@by_streams
@pytest.mark.parametrize("large", ["needles", "both"])
def test_search(small: corank.Client, way: Way, large: str) -> None:
    needles = intervals().source[: ROW_BYTES // 4]
    haystack = np.sort(intervals().destination[: 1_000_000 if large == "needles" else IN_CORE_BYTES // 4 + 1])
    found, stats = run(way, small.search, haystack, needles, side="right")
    np.testing.assert_array_equal(found, np.searchsorted(haystack, needles, side="right"))
    assert stats.out_of_core


@functools.lru_cache(maxsize=1)
def table_rows(count: int) -> tuple[list[Any], Keys]:
    """Rows of words, numbers of which some are null, and bytes; and a number for each row, which has their order."""
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(17)
    words = ["", "a", "a longer word than eight bytes", "a longer word than eight bytes too", "b", "bb"]
    word, number, byte = rng.integers(0, len(words), count), rng.integers(-9, 9, count), rng.integers(0, 200, count)
    is_null = rng.random(count) < 0.1
    columns = [
        pa.array(words).take(pa.array(word)),
        pa.array(number.astype(np.int32), mask=is_null),
        byte.astype(np.uint8),
    ]
    return columns, (word * 32 + np.where(is_null, 31, number + 9)) * 256 + byte  # nulls come last


@by_streams
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("large", ["needles", "haystack", "both"])
def test_search_by_columns(small: corank.Client, way: Way, large: str, side: Literal["left", "right"]) -> None:
    columns, codes = table_rows(1_500_000)
    needles = [column[:1_200_000] if large != "haystack" else column[:5_000] for column in columns]
    order = 300_000 + np.argsort(codes[300_000:], kind="stable")
    if large == "needles":
        order = order[::400]
    haystack = [column[order] if isinstance(column, np.ndarray) else column.take(order) for column in columns]
    found, stats = run(way, small.search_columns, haystack, needles, side=side)
    np.testing.assert_array_equal(found, np.searchsorted(codes[order], codes[: len(needles[2])], side))
    assert stats.out_of_core
    order[[7, 8]] = order[[8, 7]] if codes[order[7]] != codes[order[8]] else order[[-1, 8]]
    unsorted = [column[order] if isinstance(column, np.ndarray) else column.take(order) for column in columns]
    with pytest.raises(corank.InvalidArgument) as caught:
        run(way, small.search_columns, unsorted, needles, side=side)
    assert caught.value.field == "haystack_columns"
