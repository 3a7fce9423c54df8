"""Key columns as messages, checked against protobuf's own encoding; no server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corank import InvalidArgument, StoredArray, _wire
from corank._columns import Order, columns_request, sorted_columns, unpack
from corank._errors import Internal
from corank._first_rows import FirstRows
from corank._wire import decode, encode
from corank.v1 import array_pb2
from corank.v1 import operators_pb2 as operators


def sent(columns: Any, descending: Any = False) -> operators.SortRequest:
    """The request as a server reads it."""
    request, found = columns_request(columns, Order(descending), operators.SORT_ALGORITHM_RADIX, FirstRows(7))
    return operators.SortRequest.FromString(encode(request, [column.part for column in found]))


def test_columns_of_every_kind_become_messages() -> None:
    request = sent(
        [np.array([3, -1], np.int16), np.array([b"ab", b"c"]), [b"", b"xyz"], ["é", "z"]], [False, True, False, True]
    )
    assert request.algorithm == operators.SORT_ALGORITHM_RADIX
    assert request.limit == 7
    assert request.order == operators.SORT_ORDER_UNSPECIFIED
    numbers, fixed, strings, text = request.key_columns
    assert (numbers.data.type, numbers.data.count) == (array_pb2.ELEMENT_TYPE_INT16, 2)
    assert numbers.data.inline_data == np.array([3, -1], "<i2").tobytes()
    assert (fixed.data.type, fixed.data.record_bytes) == (array_pb2.ELEMENT_TYPE_RECORD, 2)
    assert fixed.data.inline_data == b"abc\0"
    assert (strings.data.type, strings.data.inline_data) == (array_pb2.ELEMENT_TYPE_UINT8, b"xyz")
    assert strings.offsets.inline_data == np.array([0, 0, 3], "<i8").tobytes()
    assert text.data.inline_data == "éz".encode()
    assert text.offsets.inline_data == np.array([0, 2, 3], "<i8").tobytes()
    assert [column.order for column in request.key_columns] == [1, 2, 1, 2]
    assert not numbers.HasField("offsets")


def test_one_direction_is_that_of_all_columns() -> None:
    assert [column.order for column in sent([np.arange(2), np.arange(2)], True).key_columns] == [2, 2]


def test_kept_columns_are_told_by_their_names() -> None:
    held: Any = None
    numbers = StoredArray(held, "n", array_pb2.ELEMENT_TYPE_INT16, np.dtype("<i2"), 3)
    fixed = StoredArray(held, "f", array_pb2.ELEMENT_TYPE_RECORD, np.dtype("V5"), 3)
    _, (first, second) = columns_request([numbers, fixed], Order(), operators.SORT_ALGORITHM_AUTO)
    assert [each.part.arrays[0].held for each in (first, second)] == [numbers, fixed]
    assert [each.part.arrays[0].field for each in (first, second)] == ["data", "data"]
    assert first.outputs[0].type == array_pb2.ELEMENT_TYPE_INT16
    assert (second.outputs[0].type, second.outputs[0].dtype) == (array_pb2.ELEMENT_TYPE_RECORD, np.dtype("V5"))
    with pytest.raises(TypeError, match="records cannot be compared"):
        columns_request([StoredArray(held, "x", 99, np.dtype("V5"), 3)], Order(), operators.SORT_ALGORITHM_AUTO)


def test_results_of_columns_have_the_types_that_travel() -> None:
    columns: list[Any] = [np.array([True, False]), np.array([2, 1], ">i4"), np.array([b"b", b"a"]), ["b", "a"]]
    _, found = columns_request(columns, Order(), operators.SORT_ALGORITHM_AUTO)
    assert [output.type for column in found for output in column.outputs] == [
        array_pb2.ELEMENT_TYPE_UINT8,
        array_pb2.ELEMENT_TYPE_INT32,
        array_pb2.ELEMENT_TYPE_RECORD,
        array_pb2.ELEMENT_TYPE_UINT8,
        array_pb2.ELEMENT_TYPE_INT64,
    ]
    for column in found:
        if column.outputs[0].type == array_pb2.ELEMENT_TYPE_RECORD:
            assert column.outputs[0].dtype == np.dtype("S1")


def test_empty_list_comes_back_as_one() -> None:
    _, found = columns_request([[], ()], Order(), operators.SORT_ALGORITHM_AUTO)
    data, offsets = np.zeros(0, np.uint8), np.zeros(1, np.int64)
    assert sorted_columns(found, [data, offsets] * 2) == [[], []]


def test_columns_of_objects_are_refused_with_a_hint() -> None:
    with pytest.raises(TypeError, match=r"key_columns\[0\]: elements are Python objects \(str\)"):
        sent([np.array(["a", b"b"], object)])


@pytest.mark.parametrize(
    ("columns", "descending", "error"),
    [
        ([], False, InvalidArgument),
        ([np.arange(2)], [True, False], InvalidArgument),
        ([np.zeros((2, 2))], False, InvalidArgument),
        ([[b"a", "b"]], False, TypeError),
        ([np.zeros(2, complex)], False, TypeError),
        ([np.zeros(2, [("a", "i4")])], False, TypeError),
    ],
    ids=["none", "directions", "matrix", "mixed", "complex", "structured"],
)
def test_other_columns_are_refused(columns: Any, descending: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sent(columns, descending)


@pytest.mark.parametrize("small_bytes", [64 << 10, -1], ids=["by protobuf", "field by field"])
def test_sorted_columns_are_found_by_their_place(monkeypatch: pytest.MonkeyPatch, small_bytes: int) -> None:
    monkeypatch.setattr(_wire, "_SMALL_BYTES", small_bytes)
    response = operators.SortResponse(algorithm=operators.SORT_ALGORITHM_RADIX)
    response.key_columns.add().data.inline_data = b"0123"
    strings = response.key_columns.add()
    strings.data.inline_data = b"abbc"
    strings.offsets.inline_data = np.array([0, 1, 1, 4], "<i8").tobytes()
    response.values.inline_data = b"vv"
    data = response.SerializeToString()
    message, found = decode(data, operators.SortResponse)
    assert message.algorithm == operators.SORT_ALGORITHM_RADIX
    assert {name: bytes(array.data) for name, array in found.items()} == {
        "key_columns[0].data": b"0123",
        "key_columns[1].data": b"abbc",
        "key_columns[1].offsets": strings.offsets.inline_data,
        "values": b"vv",
    }


def test_strings_are_cut_at_their_offsets() -> None:
    data = np.frombuffer(b"abbc", np.uint8)
    assert unpack(data, np.array([0, 1, 1, 4]), bytes) == [b"a", b"", b"bbc"]
    assert unpack(data, np.array([0, 1, 1, 4]), str) == ["a", "", "bbc"]
    for offsets in ([], [0, 3], [1, 4], [0, 3, 2, 4], [0, 5]):
        with pytest.raises(Internal):
            unpack(data, np.array(offsets, np.int64), bytes)
