"""Key columns with nulls, as messages and back; no server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corank import InvalidArgument, Nullable, StoredArray
from corank._columns import Order, columns_request, sorted_columns
from corank._errors import Internal
from corank._first_rows import FirstRows
from corank._wire import encode
from corank.v1 import array_pb2
from corank.v1 import operators_pb2 as operators

AUTO = operators.SORT_ALGORITHM_AUTO


def sent(columns: Any, order: Order | None = None) -> operators.SortRequest:
    """The request as a server reads it."""
    request, found = columns_request(columns, order or Order(), AUTO)
    return operators.SortRequest.FromString(encode(request, [column.part for column in found]))


def answered(columns: Any, results: list[Any]) -> Any:
    """What the caller gets of these results."""
    return sorted_columns(columns_request(columns, Order(), AUTO)[1], results)


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 16, 17])
def test_masks_travel_as_bitmaps_of_rows_that_are_not_null(rows: int) -> None:
    mask = np.random.default_rng(rows).integers(0, 2, rows).astype(bool)
    values = np.arange(rows, dtype=np.int16)
    expected = bytearray((rows + 7) // 8)
    for row in range(rows):
        expected[row // 8] |= (not mask[row]) << row % 8
    for column in (Nullable(values, mask), np.ma.masked_array(values, mask)):
        (found,) = sent([column]).key_columns
        assert (found.validity.type, found.validity.count) == (array_pb2.ELEMENT_TYPE_UINT8, (rows + 7) // 8)
        assert found.validity.inline_data == expected
        assert found.data.inline_data == values.tobytes()


def test_none_among_strings_is_null() -> None:
    strings, more, whole = sent([["b", None, ""], (None, None, b"x"), ["a", "b", "c"]]).key_columns
    assert strings.validity.inline_data == b"\x05"
    assert (strings.data.inline_data, strings.offsets.inline_data) == (b"b", np.array([0, 1, 1, 1], "<i8").tobytes())
    assert (more.validity.inline_data, more.data.inline_data) == (b"\x04", b"x")
    assert not whole.HasField("validity")
    (nothing,) = sent([[None, None]]).key_columns
    assert (nothing.validity.inline_data, nothing.data.inline_data) == (b"\0", b"")


def test_columns_without_a_mask_have_no_validity() -> None:
    assert not any(column.HasField("validity") for column in sent([np.arange(3), [1, 2, 3]]).key_columns)
    # But with a mask that masks nothing, so that the number of results depends on no data.
    (found,) = sent([np.ma.masked_array([1, 2])]).key_columns
    assert found.validity.inline_data == b"\x03"


def test_places_of_nulls_and_nans_are_of_all_columns_or_of_each() -> None:
    columns = [np.arange(2.0), np.arange(2)]
    assert [column.nulls for column in sent(columns).key_columns] == [operators.NULL_ORDER_LAST] * 2
    assert [column.nans for column in sent(columns).key_columns] == [operators.NAN_ORDER_GREATEST] * 2
    found = sent(columns, Order(nulls="first", nan=["beside_null", "null"])).key_columns
    assert [column.nulls for column in found] == [operators.NULL_ORDER_FIRST] * 2
    assert [column.nans for column in found] == [operators.NAN_ORDER_BESIDE_NULLS, operators.NAN_ORDER_AS_NULLS]


@pytest.mark.parametrize(
    ("column", "order", "error", "text"),
    [
        (Nullable([1, 2], [True]), Order(), InvalidArgument, "a mask of 1 rows for 2 values"),
        (Nullable([1, 2], [1, 0]), Order(), TypeError, "a mask is a bool for each row, not int64"),
        (Nullable([1, 2], [[True, False]]), Order(), TypeError, r"of shape \(1, 2\)"),
        (Nullable([1, None], [False, True]), Order(), TypeError, "None"),
        ([1, None], Order(), TypeError, "None"),
        (["a", 1, None], Order(), TypeError, "int among str"),
        ([1], Order(nulls="middle"), InvalidArgument, "nulls: 'middle' is none of 'last', 'first'"),
        ([1], Order(nan="as_nulls"), InvalidArgument, "nan: 'as_nulls' is none of 'greatest'"),
        ([1], Order(nulls=["last"] * 2), InvalidArgument, "nulls: 2 for 1 columns"),
        ([1], Order(nan=[]), InvalidArgument, "nan: 0 for 1 columns"),
    ],
)
def test_other_nulls_are_refused(column: Any, order: Order, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        sent([column], order)


def test_columns_come_back_in_the_form_in_which_they_were_given() -> None:
    validity = np.array([0b11], np.uint8)
    values = np.array([1, 2, 3])
    (found,) = answered([Nullable([3, 1, 2], [True, False, False])], [values, validity])
    assert isinstance(found, Nullable)
    assert found.mask.dtype == np.bool_
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.mask, [False, False, True])
    given = np.ma.masked_array([3, 1, 2], [True, False, False])
    (masked,) = answered([given], [values, validity])
    assert isinstance(masked, np.ma.MaskedArray)
    assert masked.tolist() == [1, 2, None]
    data, offsets = np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3, 3])
    assert answered([["a", None, "bc"]], [data, offsets, validity]) == [["a", "bc", None]]
    (text,) = answered([Nullable([b"a", b"", b"bc"], [False, True, False])], [data, offsets, validity])
    assert (text.values, text.mask.tolist()) == ([b"a", b"bc", b""], [False, False, True])


def test_big_endian_numbers_and_strings_of_numpy_keep_their_dtype() -> None:
    (found,) = answered(
        [np.ma.masked_array(np.array([2, 1], ">i4"), [False, True])], [np.array([2, 1]), np.array([1], np.uint8)]
    )
    assert found.dtype == np.dtype(">i4")
    array = np.array(["b", "a"])
    big = array.astype(">U1").view("V4")
    (found,) = answered([Nullable(array, [False, True])], [big, np.array([1], np.uint8)])
    np.testing.assert_array_equal(found.values, array)


def test_kept_columns_with_nulls_are_tuples_of_handles() -> None:
    held: Any = None
    handles = [StoredArray(held, name, array_pb2.ELEMENT_TYPE_UINT8, np.dtype("u1"), 3) for name in "abc"]
    assert answered([[None, "a", "b"]], handles) == [tuple(handles)]
    (found,) = columns_request([Nullable(handles[0], [True, False, False])], Order(), AUTO)[1]
    assert found.part.arrays[0].held is handles[0]


def test_results_have_the_lengths_that_a_limit_leaves() -> None:
    _, (found,) = columns_request([Nullable(np.arange(20), np.zeros(20, bool))], Order(), AUTO, FirstRows(9))
    assert [(output.field, output.count) for output in found.outputs] == [
        ("key_columns[0].data", 9),
        ("key_columns[0].validity", 2),
    ]


def test_a_validity_of_another_length_is_the_servers_fault() -> None:
    with pytest.raises(Internal, match="a validity of 2 bytes for 3 rows"):
        answered([Nullable([3, 1, 2], [True, False, False])], [np.arange(3), np.zeros(2, np.uint8)])
