"""Requests and responses as bytes, without copies of payloads.

Assigning an array to a protobuf field copies it, and serialising copies it again. So messages are put together here:
protobuf serialises everything but the arrays' bytes, and these are joined in between, one copy in all. A response is
walked field by field, and its arrays are handed out as ranges of the bytes that arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message

from corank.v1 import array_pb2

_ARRAY = array_pb2.Array.DESCRIPTOR
_INLINE_DATA = _ARRAY.fields_by_name["inline_data"].number
_LENGTH_DELIMITED = 2
_FIXED_BYTES = {1: 8, 5: 4}  # wire type -> length

M = TypeVar("M", bound=Message)


class OutgoingArray(NamedTuple):
    """One array of a request."""

    field: str  # name of the request's field, singular or repeated
    header: array_pb2.Array  # all but the bytes
    data: memoryview  # the bytes


class IncomingArray(NamedTuple):
    """One array of a response."""

    header: array_pb2.Array  # all but the bytes
    start: int  # its bytes are response[start:stop]
    stop: int


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _prefix(number: int, length: int) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(length)


def encode(message: Message, arrays: Iterable[OutgoingArray]) -> bytes:
    """Serialises `message` with `arrays` as further fields; arrays of a repeated field stay in order."""
    pieces: list[bytes | memoryview] = [message.SerializeToString()]
    for array in arrays:
        header = array.header.SerializeToString() + _prefix(_INLINE_DATA, array.data.nbytes)
        number = message.DESCRIPTOR.fields_by_name[array.field].number
        pieces += [_prefix(number, len(header) + array.data.nbytes), header, array.data]
    return b"".join(pieces)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Yields (number, wire type, start of the field, start and end of its value) for each field of data[at:end]."""
    while at < end:
        start = at
        tag, at = _read_varint(data, at)
        wire_type = tag & 7
        value = at
        if wire_type == _LENGTH_DELIMITED:
            length, value = _read_varint(data, at)
            at = value + length
        elif wire_type in _FIXED_BYTES:
            at += _FIXED_BYTES[wire_type]
        elif wire_type == 0:
            _, at = _read_varint(data, at)
        else:
            raise ValueError(f"field of unknown wire type {wire_type}")
        if at > end:
            raise ValueError("field longer than its message")
        yield tag >> 3, wire_type, start, value, at


def _decode_array(data: bytes, at: int, end: int) -> IncomingArray:
    rest = bytearray()
    start = stop = at
    for number, wire_type, field, value, after in _fields(data, at, end):
        if number == _INLINE_DATA and wire_type == _LENGTH_DELIMITED:
            start, stop = value, after
        else:
            rest += data[field:after]
    return IncomingArray(array_pb2.Array.FromString(bytes(rest)), start, stop)


def decode(data: bytes, message_type: type[M]) -> tuple[M, dict[str, IncomingArray]]:
    """Parses a response: the message without its arrays, and the arrays by the names of their fields.

    Raises:
        ValueError: `data` is not a message.
    """
    names = {field.number: field.name for field in message_type.DESCRIPTOR.fields if field.message_type is _ARRAY}
    arrays: dict[str, IncomingArray] = {}
    rest = bytearray()
    try:
        for number, wire_type, field, value, after in _fields(data, 0, len(data)):
            if number in names and wire_type == _LENGTH_DELIMITED:
                arrays[names[number]] = _decode_array(data, value, after)
            else:
                rest += data[field:after]
        return message_type.FromString(bytes(rest)), arrays
    except IndexError:
        raise ValueError("message ends inside a field") from None
    except DecodeError as error:
        raise ValueError(str(error)) from error
