"""The limits that the contract states, each at its boundary, by raw messages against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import e2e_paths  # noqa: F401

# isort: split
import corank
import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as arrays
from corank.v1 import corank_service_pb2 as service
from corank.v1 import memory_service_pb2 as memory
from corank.v1 import operators_pb2 as operators
from google.protobuf.message import Message
from test_region_faults import Object

INT64 = arrays.ELEMENT_TYPE_INT64
RECORD = arrays.ELEMENT_TYPE_RECORD
UINT8 = arrays.ELEMENT_TYPE_UINT8
M = TypeVar("M", bound=Message)
DAY = 24 * 3600


@pytest.fixture
def channel(placed_server: LocalServer) -> Iterator[grpc.Channel]:
    """A connection of its own."""
    with grpc.insecure_channel(placed_server.address) as connected:
        yield connected


def unary(channel: grpc.Channel, method: str, request: Any, response: type[M]) -> M:
    """One unary call."""
    of = "MemoryService" if method.startswith("List") or "Region" in method else "CorankService"
    call: Any = channel.unary_unary(
        f"/corank.v1.{of}/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response.FromString,
    )
    return cast(M, call(request, timeout=60))


def store(channel: grpc.Channel, header: memory.StoreArrayHeader, *chunks: arrays.ArrayChunk) -> memory.StoredArray:
    """One StoreArray call."""
    call: Any = channel.stream_unary(
        "/corank.v1.MemoryService/StoreArray",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=memory.StoreArrayResponse.FromString,
    )
    messages = [memory.StoreArrayRequest(header=header), *(memory.StoreArrayRequest(chunk=chunk) for chunk in chunks)]
    return cast(memory.StoredArray, call(iter(messages), timeout=60).array)


def sort(channel: grpc.Channel, **fields: Any) -> operators.SortResponse:
    """One unary Sort."""
    return unary(channel, "Sort", operators.SortRequest(**fields), operators.SortResponse)


def merge(channel: grpc.Channel, inputs: int) -> operators.MergeResponse:
    """One unary Merge of so many inputs of no element or one."""
    keys = [inline(b"a" if inputs <= 1024 else b"")] * inputs
    return unary(channel, "Merge", operators.MergeRequest(keys=keys), operators.MergeResponse)


def execute(channel: grpc.Channel, plan: service.Plan, *chunks: arrays.ArrayChunk) -> list[service.ExecuteResponse]:
    """One Execute call."""
    call: Any = channel.stream_stream(
        "/corank.v1.CorankService/Execute",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=service.ExecuteResponse.FromString,
    )
    messages = [service.ExecuteRequest(plan=plan), *(service.ExecuteRequest(chunk=chunk) for chunk in chunks)]
    return list(call(iter(messages), timeout=60))


def inline(data: bytes, type_: int = UINT8, **fields: Any) -> arrays.Array:
    """An array in the message."""
    return arrays.Array(type=type_, inline_data=data, **fields)  # type: ignore[arg-type]


def int64s(*values: int) -> arrays.Array:
    """Counts or offsets in the message."""
    return inline(b"".join(value.to_bytes(8, "little", signed=True) for value in values), INT64)


def streamed(stream_id: int = 0, **fields: Any) -> arrays.Array:
    """Bytes in chunks."""
    return arrays.Array(type=UINT8, stream=arrays.StreamPlace(stream_id=stream_id), **fields)


def kept(name: str) -> Any:
    """A place, or a destination, on the server."""
    return arrays.StoredPlace(name=name)


def chunk(first: int, data: bytes, stream_id: int = 0) -> arrays.ArrayChunk:
    """A piece of a streamed array."""
    return arrays.ArrayChunk(stream_id=stream_id, first_element=first, data=data)


def sort_plan(keys: arrays.Array, **fields: Any) -> service.Plan:
    """A plan of one Sort."""
    return service.Plan(operations=[service.Operation(sort=operators.SortRequest(keys=keys))], **fields)


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


def test_regions_are_listed_in_pages(placed: corank.Client, channel: grpc.Channel) -> None:
    ask, answer = memory.ListRegionsRequest, memory.ListRegionsResponse
    with Object(placed, 4096) as region:
        names = ["a", "a.b", "b", "c"]
        for region.name in names:
            region.register()
        for size in (1, 2, 3, 4):
            found = list(pages(channel, "ListRegions", ask(page_size=size), answer))
            assert [len(page.regions) for page in found] == [size] * (4 // size) + [4 % size] * (4 % size > 0)
            assert [each.name for page in found for each in page.regions] == names
        first = unary(channel, "ListRegions", ask(page_size=2), answer)
        for region.name in names[1:3]:
            region.unregister()
        rest = unary(channel, "ListRegions", ask(page_token=first.next_page_token), answer)
        assert [each.name for each in rest.regions] == ["c"]
        for region.name in (names[0], names[3]):
            region.unregister()


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


@pytest.mark.parametrize(
    ("name", "taken"),
    [("a" * 128, True), ("a" * 129, False), ("", False), ("A-Z_0.9", True), ("a b", False), ("a/b", False)],
)
def test_names_have_1_to_128_characters(placed: corank.Client, channel: grpc.Channel, name: str, taken: bool) -> None:
    into = arrays.Destination(stored=kept(name))
    with Object(placed, 4096) as region:
        region.name = name
        if taken:
            region.register()
            region.unregister()
            store(channel, header(name))
            assert sort(channel, keys=inline(b"ba"), keys_destination=into).keys.stored.name == name
            placed.delete(name)
            return
        with pytest.raises(corank.InvalidArgument, match="must be 1 to 128 characters"):
            region.register()
    assert refused(lambda: store(channel, header(name))) == "header.name"
    assert refused(lambda: sort(channel, keys=inline(b"ba"), keys_destination=into)) == "keys_destination.stored.name"


@pytest.mark.parametrize(("job_id", "taken"), [("j" * 128, True), ("j" * 129, False), ("", False), ("j b", False)])
def test_a_job_id_is_a_name(channel: grpc.Channel, job_id: str, taken: bool) -> None:
    plan = sort_plan(streamed(count=2), job_id=job_id, parts=2)
    if taken:
        parts = [service.Plan(), service.Plan()]
        for number, part in enumerate(parts):
            part.CopyFrom(plan)
            part.part = number
        with ThreadPoolExecutor() as pool:
            halves = [pool.submit(execute, channel, part, chunk(n, b"ba"[n : n + 1])) for n, part in enumerate(parts)]
            assert [half.result()[-1].result.sort.keys.inline_data for half in halves] == [b"ab", b"ab"]
    else:
        assert refused(lambda: execute(channel, plan)) == "plan.job_id"
    plan.parts = 1
    assert execute(channel, plan, chunk(0, b"ba"))[-1].result.sort.keys.inline_data == b"ab", "not used"


def test_a_plan_has_1_to_16_operations_and_64_parts(channel: grpc.Channel) -> None:
    operation = sort_plan(inline(b"ba")).operations[0]
    assert len(execute(channel, service.Plan(operations=[operation] * 16))) == 16
    for count in (0, 17):
        assert refused(lambda count=count: execute(channel, service.Plan(operations=[operation] * count))) == (
            "plan.operations"
        )
    for parts, part, field in ((65, 0, "plan.parts"), (64, 64, "plan.part"), (0, 1, "plan.part")):
        plan = service.Plan(operations=[operation], job_id="j", parts=parts, part=part)
        assert refused(lambda plan=plan: execute(channel, plan)) == field


def test_stream_ids_end_at_1023(channel: grpc.Channel) -> None:
    assert execute(channel, sort_plan(streamed(1023)), chunk(0, b"ba", 1023), chunk(2, b"", 1023))
    assert refused(lambda: execute(channel, sort_plan(streamed(1024)))) == "plan.operations[0].keys.stream.stream_id"


def test_the_number_of_columns_and_inputs_and_the_width_of_records(channel: grpc.Channel) -> None:
    column = operators.KeyColumn(data=inline(b"ba"))
    assert len(sort(channel, key_columns=[column] * 32).key_columns) == 32
    assert refused(lambda: sort(channel, key_columns=[column] * 33)) == "key_columns"
    assert merge(channel, 1024).keys.count == 1024
    for count in (1, 1025):
        assert refused(lambda count=count: merge(channel, count)) == "keys"

    def record(width: int) -> operators.SortResponse:
        return sort(channel, keys=inline(b"a"), values=inline(bytes(width), RECORD, record_bytes=width))

    assert record(256).values.record_bytes == 256
    assert refused(lambda: record(257)) == "values.record_bytes"


def test_a_request_has_131072_messages_with_arrays_and_inline_payloads(channel: grpc.Channel) -> None:
    assert refused(lambda: merge(channel, 131_072 // 2)) == "keys", "read, and too many inputs"
    assert refused(lambda: merge(channel, 131_072 // 2 + 1)) == "request"


def test_a_request_id_has_128_characters(channel: grpc.Channel) -> None:
    options = operators.RequestOptions(request_id="~" * 128)
    assert sort(channel, keys=inline(b"ba"), options=options).keys.inline_data == b"ab"
    options.request_id += "~"
    assert refused(lambda: sort(channel, keys=inline(b"ba"), options=options)) == "options.request_id"


def test_an_array_has_2_to_the_50_bytes(channel: grpc.Channel) -> None:
    def expand(count: int) -> str:
        request = operators.ExpandIntervalsRequest(values=inline(b"a"), counts=int64s(count))
        request.destination.stored.name = "limit"
        return refused(lambda: unary(channel, "ExpandIntervals", request, operators.ExpandIntervalsResponse))

    assert expand(2**50) == "destination.stored", "only the server's memory is too small"
    assert expand(2**50 + 1) == "destination"


def test_an_empty_interval_lies_inside_too(channel: grpc.Channel) -> None:
    def gather(offset: int) -> operators.GatherIntervalsResponse:
        request = operators.GatherIntervalsRequest(source=inline(b"abc"), source_offsets=int64s(offset))
        request.counts.CopyFrom(int64s(0))
        return unary(channel, "GatherIntervals", request, operators.GatherIntervalsResponse)

    def scatter(offset: int) -> operators.ScatterIntervalsResponse:
        request = operators.ScatterIntervalsRequest(source=arrays.Array(type=UINT8), destination_count=3)
        request.destination_offsets.CopyFrom(int64s(offset))
        request.counts.CopyFrom(int64s(0))
        return unary(channel, "ScatterIntervals", request, operators.ScatterIntervalsResponse)

    assert gather(3).result.count == 0
    assert scatter(3).result.inline_data == bytes(3)
    for offset in (-1, 4):
        assert refused(lambda offset=offset: gather(offset)) == "source_offsets[0]"
        assert refused(lambda offset=offset: scatter(offset)) == "destination_offsets[0]"


def test_a_header_of_store_array_has_a_count_and_a_stream(placed: corank.Client, channel: grpc.Channel) -> None:
    asked = header()
    asked.array.ClearField("count")
    assert refused(lambda: store(channel, asked)) == "header.array.count"
    for array in (arrays.Array(type=UINT8), arrays.Array(type=UINT8, count=0), inline(b"")):
        asked.array.CopyFrom(array)
        assert refused(lambda: store(channel, asked)) == "header.array"
    asked.array.CopyFrom(streamed(count=2))
    assert store(channel, asked, chunk(0, b""), chunk(0, b"b"), chunk(1, b""), chunk(1, b"a"), chunk(2, b"")).count == 2
    stored = arrays.Array(type=UINT8, stored=kept("limit"))
    assert sort(channel, keys=stored).keys.inline_data == b"ab", "needs no count"
    stored.count = 2
    assert sort(channel, keys=stored).keys.inline_data == b"ab"
    stored.count = 3
    assert refused(lambda: sort(channel, keys=stored)) == "keys.count"
    into = arrays.Destination(stored=kept("limit"))
    stored.count = 2
    sort(channel, keys=stored, keys_destination=into)
    np.testing.assert_array_equal(placed.stored("limit").fetch(), [ord("a"), ord("b")])
    placed.delete("limit")


def test_chunks_without_data(channel: grpc.Channel) -> None:
    known, unknown = sort_plan(streamed(count=2)), sort_plan(streamed())
    for plan, chunks in (
        (known, [chunk(0, b""), chunk(0, b"b"), chunk(1, b""), chunk(1, b"a"), chunk(2, b"")]),
        (unknown, [chunk(0, b"ba"), chunk(2, b"")]),
    ):
        assert execute(channel, plan, *chunks)[-1].result.sort.keys.inline_data == b"ab"
    for plan, chunks, field in (
        (known, [chunk(1, b"")], "chunk.first_element"),
        (unknown, [chunk(0, b"ba"), chunk(1, b"")], "chunk.first_element"),
        (unknown, [chunk(0, b"ba"), chunk(2, b""), chunk(2, b"")], "chunk.first_element"),
        (unknown, [chunk(0, b"ba")], "plan.operations[0].keys"),
    ):
        assert refused(lambda plan=plan, chunks=chunks: execute(channel, plan, *chunks)) == field
    plan = sort_plan(streamed(count=0))
    plan.operations[0].sort.keys_destination.stream.stream_id = 5
    (response,) = execute(channel, plan)
    assert (response.HasField("result"), response.result.sort.keys.count) == (True, 0), "no chunk of an empty result"


@pytest.mark.parametrize(("limit", "room"), [(0, 0), (1, 4), (2, 8), (3, 9), (4, 9)])
def test_strings_up_to_a_limit_need_room_for_the_longest(
    placed: corank.Client, channel: grpc.Channel, limit: int, room: int
) -> None:
    with Object(placed, 4096) as region:
        region.register()

        def ask(free: int, **fields: Any) -> operators.SortResponse:
            column = operators.KeyColumn(data=inline(b"longbcabc"), offsets=int64s(0, 4, 6, 9))
            column.data_destination.shared_memory.CopyFrom(
                arrays.RegionPlace(region=region.name, offset_bytes=4096 - free)
            )
            return sort(channel, key_columns=[column], **fields)

        assert ask(room, limit=limit).key_columns[0].data.count == [0, 3, 5, 9, 9][limit]
        if room > 0:
            field = "key_columns[0].data_destination.shared_memory.offset_bytes"
            assert refused(lambda: ask(room - 1, limit=limit)) == field
        region.unregister()


def test_a_result_in_shared_memory_may_overlap_inputs_but_no_result(
    placed: corank.Client, channel: grpc.Channel
) -> None:
    with Object(placed, 4096) as region:
        region.register()
        region.mapped[:6] = b"bca312"

        def at(offset: int) -> Any:
            return arrays.RegionPlace(region=region.name, offset_bytes=offset)

        def ask(keys_to: int, values_to: int) -> operators.SortResponse:
            keys, values = (arrays.Array(type=UINT8, count=3, shared_memory=at(place)) for place in (0, 3))
            return sort(
                channel,
                keys=keys,
                values=values,
                keys_destination=arrays.Destination(shared_memory=at(keys_to)),
                values_destination=arrays.Destination(shared_memory=at(values_to)),
            )

        for keys_to, values_to in ((1, 3), (3, 1), (2, 2)):
            assert refused(lambda keys_to=keys_to, values_to=values_to: ask(keys_to, values_to)) == "values_destination"
        assert region.mapped[:6] == b"bca312", "refused before anything is written"
        ask(2, 5)
        assert region.mapped[2:8] == b"abc231"
        region.unregister()


def test_a_failed_call_keeps_nothing_of_any_operation(placed: corank.Client, channel: grpc.Channel) -> None:
    plan = sort_plan(inline(b"ba"))
    plan.operations[0].sort.keys_destination.stored.name = "limit"
    assert execute(channel, plan)[-1].result.sort.keys.stored.name == "limit"
    before = placed.stored("limit").fetch().tobytes()
    plan.operations[0].sort.keys.inline_data = b"dc"
    plan.operations.append(service.Operation(merge=operators.MergeRequest(keys=[inline(b"ba"), inline(b"c")])))
    assert refused(lambda: execute(channel, plan)) == "plan.operations[1].keys[0]"
    assert placed.stored("limit").fetch().tobytes() == before
    plan.operations[1].merge.keys[0].inline_data = b"ab"
    plan.operations[1].merge.keys_destination.stored.name = "limit"
    execute(channel, plan)
    assert placed.stored("limit").fetch().tobytes() == b"abc", "the later operation's"
    placed.delete("limit")
