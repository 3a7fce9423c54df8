"""The limits that the contract states, each at its boundary, by raw messages against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import e2e_paths  # noqa: F401

# isort: split
import corank
import grpc
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as arrays
from corank.v1 import memory_service_pb2 as memory

UINT8 = arrays.ELEMENT_TYPE_UINT8
DAY = 24 * 3600


@pytest.fixture
def channel(placed_server: LocalServer) -> Iterator[grpc.Channel]:
    """A connection of its own."""
    with grpc.insecure_channel(placed_server.address) as connected:
        yield connected


def unary(channel: grpc.Channel, method: str, request: Any, response: type[Any]) -> Any:
    """One unary call."""
    service = "CorankService" if method in ("Sort", "MoveIntervals", "GatherIntervals") else "MemoryService"
    call = channel.unary_unary(
        f"/corank.v1.{service}/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response.FromString,
    )
    return call(request, timeout=60)


def store(channel: grpc.Channel, header: memory.StoreArrayHeader, *chunks: arrays.ArrayChunk) -> memory.StoredArray:
    """One StoreArray call."""
    call = channel.stream_unary(
        "/corank.v1.MemoryService/StoreArray",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=memory.StoreArrayResponse.FromString,
    )
    messages = [memory.StoreArrayRequest(header=header), *(memory.StoreArrayRequest(chunk=chunk) for chunk in chunks)]
    return call(iter(messages), timeout=60).array


def header(name: str = "limit", **fields: Any) -> memory.StoreArrayHeader:
    """The header of an array of no elements."""
    array = arrays.Array(type=UINT8, count=0, stream=arrays.StreamPlace(stream_id=0))
    return memory.StoreArrayHeader(name=name, array=array, **fields)


def refused(call: Any) -> str:
    """The field that an INVALID_ARGUMENT names."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT, caught.value
    return str(caught.value.details()).partition(": ")[0]


def pages(channel: grpc.Channel, method: str, request: Any, response: type[Any]) -> Iterator[Any]:
    """All pages of a list."""
    while True:
        page = unary(channel, method, request, response)
        yield page
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token


def test_lists_have_pages_of_a_thousand_unless_smaller_ones_are_asked_for(
    placed: corank.Client, channel: grpc.Channel
) -> None:
    names = [f"a{number:04}" for number in range(1001)]
    for name in names[:1000]:
        store(channel, header(name))
    ask, answer = memory.ListArraysRequest, memory.ListArraysResponse
    try:
        for size in (0, 1000, 1001, 2**31 - 1):
            assert len(list(pages(channel, "ListArrays", ask(page_size=size), answer))) == 1, size
        store(channel, header(names[1000]))
        for size, want in ((0, 2), (1000, 2), (1001, 2), (501, 2), (500, 3)):
            found = list(pages(channel, "ListArrays", ask(page_size=size), answer))
            assert len(found) == want, size
            assert [array.name for page in found for array in page.arrays] == names, size
        assert [array.name for array in placed.arrays().arrays] == names
        first = unary(channel, "ListArrays", ask(page_size=10), answer)
        for name in names[5:15]:
            placed.delete(name)
        store(channel, header("a0009.new"))
        rest = ask(page_size=1000, page_token=first.next_page_token)
        found = [array.name for page in pages(channel, "ListArrays", rest, answer) for array in page.arrays]
        assert found == ["a0009.new", *names[15:]]
    finally:
        for array in placed.arrays().arrays:
            placed.delete(array.name)


@pytest.mark.parametrize("kind", ["Arrays", "Regions"])
def test_pages_that_no_server_offered_are_refused(channel: grpc.Channel, kind: str) -> None:
    ask, answer = getattr(memory, f"List{kind}Request"), getattr(memory, f"List{kind}Response")
    assert refused(lambda: unary(channel, f"List{kind}", ask(page_size=-1), answer)) == "page_size"
    for token in ("x", "YXJyYXlz", "a0009", "%%", "YXJyYXlzL2Eg"):
        request = ask(page_token=token)
        assert refused(lambda request=request: unary(channel, f"List{kind}", request, answer)) == "page_token", token


@pytest.mark.parametrize(
    ("seconds", "nanos", "kept"),
    [(0, 0, 3600), (0, 1, 1), (59, 1, 60), (DAY, 0, DAY), (DAY, 1, None), (-1, 0, None), (0, 10**9, None)],
)
def test_an_expiry_is_rounded_up_and_at_most_a_day(
    placed: corank.Client, channel: grpc.Channel, seconds: int, nanos: int, kept: int | None
) -> None:
    asked = header(expiry={"seconds": seconds, "nanos": nanos})
    if kept is None:
        assert refused(lambda: store(channel, asked)) == "header.expiry"
        return
    assert store(channel, asked).expires_in.seconds == kept
    listed = unary(channel, "ListArrays", memory.ListArraysRequest(), memory.ListArraysResponse).arrays[0].expires_in
    assert 0 < listed.seconds + listed.nanos / 1e9 <= kept
    placed.delete("limit")
