"""The arrays of messages, as the test double reads and writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from numpy.typing import NDArray

from corank.v1 import array_pb2, operators_pb2

NAMES = {number: name[len("ELEMENT_TYPE_") :].lower() for name, number in array_pb2.ElementType.items()}
STATS = operators_pb2.RequestStats(
    engine=operators_pb2.ENGINE_CPU, device="NumPy", queue_ns=1, kernel_ns=2, batch_size=1, workspace_bytes=4
)


class Refused(Exception):
    """A request that is refused, with the field that is wrong."""

    def __init__(self, field: str, message: str, reason: str = "", **metadata: str) -> None:
        super().__init__(message)
        self.field, self.reason, self.metadata = field, reason, metadata


def read(field: str, array: Any) -> NDArray[Any]:
    """The elements of an Array message: numbers, or rows of bytes for records."""
    if array.type == array_pb2.ELEMENT_TYPE_UNSPECIFIED:
        raise Refused(f"{field}.type", "is required")
    if array.type == array_pb2.ELEMENT_TYPE_RECORD:
        out = np.frombuffer(array.inline_data, f"V{array.record_bytes}")
    else:
        out = np.frombuffer(array.inline_data, oracles.storage(NAMES[array.type]))
    if array.HasField("count") and array.count != out.size:
        raise Refused(f"{field}.count", f"is {array.count}, but the bytes hold {out.size} elements")
    return out


def like(array: Any, elements: NDArray[Any]) -> Any:
    """An array of the type of another one."""
    return array_pb2.Array(
        type=array.type,
        record_bytes=array.record_bytes,
        count=len(elements),
        inline_data=np.ascontiguousarray(elements).tobytes(),
    )


def indices(elements: NDArray[Any]) -> Any:
    """Positions, as the contract has them."""
    return array_pb2.Array(type=array_pb2.ELEMENT_TYPE_UINT32, inline_data=elements.astype("<u4").tobytes())


def is_descending(request: Any) -> bool:
    """Whether the request wants the greatest first."""
    return bool(request.order == operators_pb2.SORT_ORDER_DESCENDING)


def check_sorted(field: str, keys: NDArray[Any], request: Any, type_: int) -> None:
    """Refuses keys that are not in the order of the request, unless it says not to look."""
    if getattr(request, "assume_sorted", False):
        return
    index = oracles.first_unsorted(keys, NAMES[type_], is_descending(request))
    if index is not None:
        raise Refused(field, f"element {index} is out of order")


def segment_offsets(request: Any, count: int) -> list[int]:
    """The offsets of a request's segments. A request without segments has one, which is the whole array."""
    if not request.HasField("segment_offsets"):
        return [0, count]
    offsets: list[int] = read("segment_offsets", request.segment_offsets).tolist()
    if not offsets or offsets[0] != 0 or offsets[-1] != count or offsets != sorted(offsets):
        raise Refused("segment_offsets", "must rise from 0 to the number of keys")
    return offsets


def numbers(name: str, elements: NDArray[Any]) -> Any:
    """Numbers of the type of this name."""
    return array_pb2.Array(type=name, inline_data=elements.tobytes())
