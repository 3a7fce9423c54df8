"""Requests and responses as bytes, without copies of payloads.

Assigning an array to a protobuf field copies it, and serialising copies it again. So messages are put together here:
protobuf serialises everything but the arrays' bytes, and these are joined in between, one copy in all. A response is
walked field by field, and its arrays are handed out as ranges of the bytes that arrived; protobuf reads a small one,
because that takes less time than the walk. Chunks of streamed arrays are written and read in the same way.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple, TypeVar, Union

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from corank.v1 import array_pb2

_ARRAY = array_pb2.Array.DESCRIPTOR
_INLINE_DATA = _ARRAY.fields_by_name["inline_data"].number
_LENGTH_DELIMITED = 2
_CHUNK = array_pb2.ArrayChunk.DESCRIPTOR.fields_by_name
_CHUNK_IN_REQUEST = 2  # ExecuteRequest.chunk and StoreArrayRequest.chunk
_SMALL_BYTES = 64 << 10  # protobuf reads a response of no more
_FIXED_BYTES = {1: 8, 5: 4}  # wire type -> length

M = TypeVar("M", bound=Message)


class OutgoingArray(NamedTuple):
    """One array of a request."""

    field: str  # name of the request's field, singular or repeated
    header: array_pb2.Array  # all but the bytes
    data: memoryview | None  # the bytes; None: the header says where they are, or `held` does
    held: Any = None  # an array on the GPU, to be registered before the header can say where it is
    put: Callable[[NDArray[np.uint8]], None] | None = None  # writes the bytes, for which `data` is only room so far

    @property
    def length(self) -> int | None:
        """Its number of elements; None: not known before the answer."""
        return self.header.count if self.header.HasField("count") else None

    @property
    def most(self) -> int | None:
        """The most elements that it may have; None: not known before the answer."""
        most: int | None = self.length if self.header.HasField("count") else self.held._output.room
        return most


class OutgoingMessage(NamedTuple):
    """A part of a request that holds arrays itself."""

    field: str  # name of the request's field, singular or repeated
    message: Message  # all but the arrays
    arrays: list[OutgoingArray]


Part = Union[OutgoingArray, OutgoingMessage]


class IncomingArray(NamedTuple):
    """One array of a response."""

    header: array_pb2.Array  # what it says beside the bytes
    data: memoryview  # the bytes, in the response or a copy of a few


def _varint(value: int) -> bytes:
    if value <= 0x7F:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _prefix(number: int, length: int) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(length)


@functools.cache
def _number(descriptor: Any, field: str) -> int:
    number: int = descriptor.fields_by_name[field].number
    return number


def _pieces(message: Message, parts: Iterable[Part]) -> list[bytes | memoryview]:
    pieces: list[bytes | memoryview] = [message.SerializeToString()]
    for part in parts:
        inner: list[bytes | memoryview]
        if isinstance(part, OutgoingMessage):
            inner = _pieces(part.message, part.arrays)
        elif part.data is None:
            inner = [part.header.SerializeToString()]
        else:
            inner = [part.header.SerializeToString() + _prefix(_INLINE_DATA, part.data.nbytes), part.data]
        number = _number(message.DESCRIPTOR, part.field)
        length = sum(piece.nbytes if isinstance(piece, memoryview) else len(piece) for piece in inner)
        pieces += [_prefix(number, length), *inner]
    return pieces


_CHUNK_STREAM = _varint(_CHUNK["stream_id"].number << 3)
_CHUNK_FIRST = _varint(_CHUNK["first_element"].number << 3)
_CHUNK_DATA = _varint(_CHUNK["data"].number << 3 | _LENGTH_DELIMITED)


def encode(message: Message, parts: Iterable[Part]) -> bytes:
    """Serialises `message` with `parts` as further fields; parts of a repeated field stay in order."""
    return b"".join(_pieces(message, parts))


def nested(number: int, data: bytes) -> bytes:
    """The field `number` of a message: `data`, which is a serialised message."""
    return _prefix(number, len(data)) + data


def encode_chunk(stream_id: int, first_element: int, data: memoryview) -> bytes:
    """An ExecuteRequest or StoreArrayRequest with a piece of an array: the one copy of `data` on its way out."""
    head = b"".join((_CHUNK_STREAM, _varint(stream_id), _CHUNK_FIRST, _varint(first_element), _CHUNK_DATA))
    head += _varint(data.nbytes)
    return b"".join((_prefix(_CHUNK_IN_REQUEST, len(head) + data.nbytes), head, data))


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
        tag = data[at]  # most numbers take one byte
        at += 1
        if tag >= 0x80:
            tag, at = _read_varint(data, start)
        wire_type = tag & 7
        value = at
        if wire_type == _LENGTH_DELIMITED:
            length = data[at]
            value += 1
            if length >= 0x80:
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


class Chunk(NamedTuple):
    """A piece of a streamed array."""

    stream_id: int
    first_element: int
    data: memoryview


def parts_of(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) for each length-delimited field of a message.

    Raises:
        ValueError: `data` is not a message.
    """
    try:
        for number, wire_type, _, value, after in _fields(data, 0, len(data)):
            if wire_type == _LENGTH_DELIMITED:
                yield number, value, after
    except IndexError:
        raise ValueError("message ends inside a field") from None


def decode_chunk(data: bytes, at: int, end: int) -> Chunk:
    """The ArrayChunk in data[at:end]; its bytes are a view of `data`.

    Raises:
        ValueError: it is none.
    """
    stream_id = first_element = 0
    start = stop = at
    for number, wire_type, _, value, after in _fields(data, at, end):
        if number == _CHUNK["data"].number and wire_type == _LENGTH_DELIMITED:
            start, stop = value, after
        elif wire_type == 0 and number == _CHUNK["stream_id"].number:
            stream_id, _ = _read_varint(data, value)
        elif wire_type == 0 and number == _CHUNK["first_element"].number:
            first_element, _ = _read_varint(data, value)
    return Chunk(stream_id, first_element, memoryview(data)[start:stop])


def _decode_array(data: bytes, at: int, end: int) -> IncomingArray:
    rest = bytearray()
    start = stop = at
    for number, wire_type, field, value, after in _fields(data, at, end):
        if number == _INLINE_DATA and wire_type == _LENGTH_DELIMITED:
            start, stop = value, after
        else:
            rest += data[field:after]
    return IncomingArray(array_pb2.Array.FromString(bytes(rest)), memoryview(data)[start:stop])


@functools.cache
def _holds_arrays(descriptor: Any) -> bool:
    return descriptor is not None and any(field.message_type is _ARRAY for field in descriptor.fields)


def _decode_fields(
    data: bytes, at: int, end: int, descriptor: Any, path: str, arrays: dict[str, IncomingArray]
) -> bytearray:
    """Puts the arrays of data[at:end] into `arrays` under path + name and returns the bytes of all other fields."""
    rest = bytearray()
    seen: Counter[str] = Counter()
    for number, wire_type, start, value, after in _fields(data, at, end):
        field = descriptor.fields_by_number.get(number)
        if field is None or wire_type != _LENGTH_DELIMITED:
            rest += data[start:after]
        elif field.message_type is _ARRAY:
            arrays[path + field.name] = _decode_array(data, value, after)
        elif _holds_arrays(field.message_type):
            inner_path = f"{path}{field.name}[{seen[field.name]}]."
            inner = _decode_fields(data, value, after, field.message_type, inner_path, arrays)
            rest += _prefix(number, len(inner)) + inner
            seen[field.name] += 1
        else:
            rest += data[start:after]
    return rest


@functools.cache
def _array_fields(descriptor: Any) -> tuple[list[str], list[str]]:
    """The names of the fields that are arrays, and of the repeated ones whose messages hold arrays."""
    fields = [field for field in descriptor.fields if field.message_type is not None]
    arrays = [field.name for field in fields if field.message_type is _ARRAY]
    return arrays, [field.name for field in fields if _holds_arrays(field.message_type)]


def _take_arrays(message: Any, path: str, arrays: dict[str, IncomingArray]) -> None:
    """Puts the arrays of `message` into `arrays` under path + name, as `_decode_fields` does."""
    names, holders = _array_fields(message.DESCRIPTOR)
    for name in names:
        if message.HasField(name):
            array = getattr(message, name)
            arrays[path + name] = IncomingArray(array, memoryview(array.inline_data))
    for name in holders:
        for at, inner in enumerate(getattr(message, name)):
            _take_arrays(inner, f"{path}{name}[{at}].", arrays)


def decode(data: bytes, message_type: type[M]) -> tuple[M, dict[str, IncomingArray]]:
    """Parses a response: the message, without large arrays, and the arrays by the names of their fields.

    An array inside a repeated field has a name such as "key_columns[0].data".

    Raises:
        ValueError: `data` is not a message.
    """
    arrays: dict[str, IncomingArray] = {}
    try:
        if len(data) <= _SMALL_BYTES:
            message = message_type.FromString(data)
            _take_arrays(message, "", arrays)
            return message, arrays
        rest = _decode_fields(data, 0, len(data), message_type.DESCRIPTOR, "", arrays)
        return message_type.FromString(bytes(rest)), arrays
    except IndexError:
        raise ValueError("message ends inside a field") from None
    except DecodeError as error:
        raise ValueError(str(error)) from error
