"""Messages put together and taken apart by hand, against protobuf."""

from __future__ import annotations

import numpy as np
import pytest

from corank import _wire as wire
from corank.v1 import array_pb2, operators_pb2


def outgoing(field: str, data: bytes) -> wire.OutgoingArray:
    """An array of bytes."""
    header = array_pb2.Array(type=array_pb2.ELEMENT_TYPE_UINT8, count=len(data))
    return wire.OutgoingArray(field, header, memoryview(data))


@pytest.mark.parametrize("length", [0, 1, 127, 128, 16383, 16384, 3_000_000])
def test_protobuf_reads_what_encode_writes(length: int) -> None:
    data = np.random.default_rng(length).bytes(length)
    request = operators_pb2.SortRequest(limit=7, order=operators_pb2.SORT_ORDER_DESCENDING)
    encoded = wire.encode(request, [outgoing("keys", data), outgoing("values", b"xyz")])
    read = operators_pb2.SortRequest.FromString(encoded)
    assert (read.limit, read.order) == (7, operators_pb2.SORT_ORDER_DESCENDING)
    assert read.keys.inline_data == data
    assert read.keys.count == length
    assert read.values.inline_data == b"xyz"
    assert not read.HasField("segment_offsets")


def test_arrays_of_a_repeated_field_stay_in_order() -> None:
    encoded = wire.encode(operators_pb2.MergeRequest(), [outgoing("keys", bytes([i]) * i) for i in range(5)])
    read = operators_pb2.MergeRequest.FromString(encoded)
    assert [array.inline_data for array in read.keys] == [bytes([i]) * i for i in range(5)]


@pytest.fixture(params=["small", "large"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads responses by protobuf, as small ones, and field by field, as large ones."""
    if request.param == "large":
        monkeypatch.setattr(wire, "_SMALL_BYTES", -1)


@pytest.mark.usefixtures("_both_ways")
def test_decode_reads_what_protobuf_writes() -> None:
    response = operators_pb2.SortResponse(
        keys=array_pb2.Array(type=array_pb2.ELEMENT_TYPE_RECORD, record_bytes=3, inline_data=b"abcdef"),
        indices=array_pb2.Array(type=array_pb2.ELEMENT_TYPE_UINT32, count=0, inline_data=b""),
        algorithm=operators_pb2.SORT_ALGORITHM_RADIX,
        stats=operators_pb2.RequestStats(queue_ns=1 << 40, batch_size=3),
    )
    data = response.SerializeToString()
    message, arrays = wire.decode(data, operators_pb2.SortResponse)
    assert sorted(arrays) == ["indices", "keys"]
    assert bytes(arrays["keys"].data) == b"abcdef"
    assert arrays["keys"].header.record_bytes == 3
    assert bytes(arrays["indices"].data) == b""
    assert message.stats == response.stats
    assert message.algorithm == operators_pb2.SORT_ALGORITHM_RADIX


@pytest.mark.usefixtures("_both_ways")
def test_unknown_fields_of_every_wire_type_are_passed_over() -> None:
    data = operators_pb2.SearchResponse(positions=array_pb2.Array(inline_data=b"1234")).SerializeToString()
    unknown = b"\xa0\x06\x05" + b"\xa1\x06" + bytes(8) + b"\xa5\x06" + bytes(4) + b"\xa2\x06\x02hi"
    _, arrays = wire.decode(unknown + data + unknown, operators_pb2.SearchResponse)
    assert bytes(arrays["positions"].data) == b"1234"


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\x05ab", b"\x0f", b"\xff\xff", b"\x0a\x02\x22\x09", b"\x2a\x01\x08"])
def test_broken_bytes_raise_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - one of several texts, of protobuf and of wire
        wire.decode(data, operators_pb2.SortResponse)
