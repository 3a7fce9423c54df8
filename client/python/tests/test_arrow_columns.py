"""sort_columns of arrays of pyarrow: every type, nulls, slices and chunks, and what travels without a copy."""

from __future__ import annotations

import os
from typing import Any

import grpc
import numpy as np
import pytest

import corank
from corank._columns import Order, columns_request
from corank.testing import LocalServer
from corank.v1 import operators_pb2 as operators

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

from fake_server import FakeServer  # noqa: E402
from table_cases import TYPES, column  # noqa: E402

from corank._arrow_columns import arrow_column  # noqa: E402
from corank._arrow_rows import take_column  # noqa: E402
from corank._key_columns import one_array  # noqa: E402
from corank._pieces import PIECE_ROWS  # noqa: E402

SORTED = [type_ for type_ in TYPES if not (pa.types.is_decimal(type_) or pa.types.is_dictionary(type_))]


@pytest.fixture
def server(corankd_client: corank.Client) -> corank.Client:
    """The real server: the double takes no columns."""
    return corankd_client


@pytest.mark.parametrize("type_", SORTED, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_every_type_comes_back_in_the_order_of_its_table(server: corank.Client, type_: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for rows in (0, 1, 7, 8, 9, 70):
        whole = column(rng, type_, rows + 13, bool(seed))
        array = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        start = int(rng.integers(0, 13))
        array = array.slice(start, rows)
        for given in (array, pa.chunked_array([array.slice(0, rows // 2), array.slice(rows // 2)], type_)):
            nulls: Any = "first" if rng.integers(2) else "last"
            nan: Any = ["beside_null", "null", "greatest"][int(rng.integers(3))]
            descending = bool(rng.integers(2))
            (found,), order = server.sort_columns_with_indices([given], descending=descending, nulls=nulls, nan=nan)
            table = pa.table({"k": given})
            expected = server.argsort_by(table, "k", descending=descending, nulls=nulls, nan=nan)
            np.testing.assert_array_equal(order, expected)
            assert type(found) is type(given)
            assert found.type == type_
            # NaNs are one by one the same bits, which `equals` does not compare.
            taken = take_column(given, pa.array(order))
            assert str(found.to_pylist()) == str(taken.to_pylist())
            assert found.null_count == taken.null_count
            (few,) = server.sort_columns([given], descending=descending, nulls=nulls, nan=nan, limit=5)
            assert str(few.to_pylist()) == str(taken.to_pylist()[:5])


def test_several_columns_of_arrow_and_numpy_sort_together(server: corank.Client) -> None:
    names = pa.array(["b", None, "a", "b"])
    found, values = server.sort_columns([names, np.array([2, 1, 3, 1])], values=[0, 1, 2, 3], nulls=["first", "last"])
    assert found[0].to_pylist() == [None, "a", "b", "b"]
    np.testing.assert_array_equal(found[1], [1, 3, 1, 2])
    np.testing.assert_array_equal(values, [1, 2, 3, 0])


def test_values_offsets_and_bitmaps_travel_where_they_lie() -> None:
    numbers = pa.array([3, None, 1] * 8)
    texts = pa.array(["a", None, "bc"] * 8, pa.large_string())
    for array in (numbers, texts, numbers.slice(8), texts.slice(16)):
        found = arrow_column("c", array)
        buffers = [buffer for buffer in array.buffers() if buffer is not None]
        for part in (found.validity, found.data):
            assert part is not None
            assert any(buffer.address <= part.ctypes.data < buffer.address + buffer.size for buffer in buffers)
    assert arrow_column("c", pa.array([1, 2])).validity is None
    shifted = arrow_column("c", numbers.slice(3, 9)).validity
    assert shifted is not None
    np.testing.assert_array_equal(np.unpackbits(shifted, bitorder="little")[:9], [1, 0, 1] * 3)


def test_other_types_say_what_to_pass() -> None:
    for array, text in (
        (pa.array([[1]]), r"key_columns\[0\]: is list<.*>; columns are numbers, bools, dates, times, strings and bin"),
        (pa.array(["a"]).dictionary_encode(), r"pass column.dictionary_decode\(\), or a table to `sort_by`"),
        (pa.array([None]), "is null; columns are"),
    ):
        with pytest.raises(TypeError, match=text):
            columns_request([array], Order(), operators.SORT_ALGORITHM_AUTO)


COUNTS = [PIECE_ROWS, PIECE_ROWS + 1, 2 * PIECE_ROWS + 9]
STRINGS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary_view())


def texts_of(count: int, nulls: bool) -> Any:
    return pa.array([None if nulls and at % 7 == 3 else "x" * (at % 19) + str(at) for at in range(count)])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("nulls", [False, True])
def test_strings_of_many_pieces_become_one_array(count: int, nulls: bool) -> None:
    texts = texts_of(count + 5, nulls)
    expected = texts.cast(pa.large_binary())[5:]
    for type_ in (*STRINGS, None):
        array = texts.dictionary_encode() if type_ is None else texts.cast(type_)
        for given in (array[5:], pa.chunked_array([array[5:9], array[9:9], array[9:]])):
            found = one_array(given)
            found.validate(full=True)
            assert found.equals(expected), given.type
    assert one_array(pa.chunked_array([pa.nulls(count, pa.string())] * 2)).null_count == 2 * count


def put(column: Any) -> Any:
    """The column that its parts are once they have been put together."""
    found = arrow_column("c", column)
    assert found.joined is not None
    assert found.offsets is not None
    offsets, data = (np.full(part.nbytes, 0xEE, np.uint8) for part in (found.offsets, found.data))
    found.joined.put_offsets(offsets)
    found.joined.put_bytes(data)
    bitmap = None if found.validity is None else pa.py_buffer(found.validity)
    made = pa.Array.from_buffers(pa.large_binary(), len(column), [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)])
    made.validate(full=True)
    return made


@pytest.mark.parametrize("count", [0, 1, *COUNTS])
@pytest.mark.parametrize("nulls", [False, True])
def test_strings_are_put_together_where_they_travel(count: int, nulls: bool) -> None:
    texts = texts_of(count + 5, nulls)
    for type_ in STRINGS:
        array = texts.cast(type_)
        middle = 5 + count // 3
        assert put(pa.chunked_array([array[5:middle], array[9:9], array[middle:]])).equals(
            texts.cast(pa.large_binary())[5:]
        )
        if "view" in str(type_):
            assert put(array[5:]).equals(texts.cast(pa.large_binary())[5:])


def test_the_bytes_behind_a_null_view_do_not_travel() -> None:
    views = pa.array(["a", "bc", "a string of more than twelve bytes", "d"], pa.string_view())
    validity = pa.py_buffer(np.array([0b1001], np.uint8))
    held = pa.Array.from_buffers(pa.string_view(), 4, [validity, *views.buffers()[1:]])
    made = put(held)
    assert made.to_pylist() == [b"a", None, None, b"d"]
    assert made.buffers()[2].size == 2


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_strings_in_chunks_and_views_sort_from_every_place(corankd: LocalServer, place: Any) -> None:
    texts = texts_of(20_000, True)
    expected = pc.array_sort_indices(texts, null_placement="at_end").to_pylist()
    with LocalServer(os.environ["CORANKD"], ["--shared-memory=/corank-"]) as server, server.connect() as client:
        for given in (texts.cast(pa.string_view()), pa.chunked_array([texts[:7], texts[7:]])):
            found, order = client.sort_columns_with_indices([given], place=place)
            assert order.tolist() == expected
            assert found[0].to_pylist() == texts.take(pa.array(order)).to_pylist()


def test_strings_are_put_again_when_a_try_broke_off(fake: FakeServer, fake_client: corank.Client) -> None:
    texts = texts_of(20_000, True).cast(pa.string_view())

    def break_off(request: Any) -> None:
        column = request.key_columns[0]
        for array, width in ((column.data, 1), (column.offsets, 8)):
            fake.places.range_of(array.shared_memory, width * array.count, width)[:1000] = bytes(1000)
        fake.on_request = None

    fake.on_request = break_off
    fake.fail_next(grpc.StatusCode.UNAVAILABLE, "broken off", retry_after=0.001)
    order = fake_client.argsort_columns([texts], place="shared_memory")
    assert order.tolist() == pc.array_sort_indices(texts_of(20_000, True), null_placement="at_end").to_pylist()
