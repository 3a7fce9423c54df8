"""Calls with messages of a few fields: their cost before the caller is known; names, results, deadlines."""

from __future__ import annotations

import functools
import hashlib
import pathlib
from collections.abc import Callable, Iterator

import e2e_paths  # noqa: F401

# isort: split
import grpc
import hostile_wire as h2
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as arrays
from corank.v1 import corank_service_pb2 as service
from corank.v1 import memory_service_pb2 as memory
from corank.v1 import operators_pb2 as operators
from e2e_support import MEMORY_SCALE
from google.protobuf.message import Message

MiB = 1 << 20
UNARY = [
    "corank.v1.CorankService/GetServerInfo",
    "corank.v1.MemoryService/RegisterSharedMemory",
    "corank.v1.MemoryService/RegisterCudaIpc",
    "corank.v1.MemoryService/ListRegions",
    "corank.v1.MemoryService/UnregisterRegion",
    "corank.v1.MemoryService/ListArrays",
    "corank.v1.MemoryService/DeleteArray",
    "grpc.health.v1.Health/Check",
]
STREAMING = ["corank.v1.MemoryService/OpenLease", "grpc.health.v1.Health/Watch"]
INVALID = grpc.StatusCode.INVALID_ARGUMENT
UINT32 = arrays.ELEMENT_TYPE_UINT32


def raw(
    channel: grpc.Channel, method: str, message: bytes, metadata: tuple[tuple[str, str], ...] | None = None
) -> bytes:
    """The bytes of the first answer."""
    if method in STREAMING:
        stream = channel.unary_stream(f"/{method}", request_serializer=bytes, response_deserializer=bytes)
        return next(iter(stream(message, timeout=20, metadata=metadata)))
    unary = channel.unary_unary(f"/{method}", request_serializer=bytes, response_deserializer=bytes)
    return unary(message, timeout=20, metadata=metadata)


def varint(number: int) -> bytes:
    """The varint encoding of protobuf."""
    groups = [number >> shift & 0x7F for shift in range(0, max(1, number.bit_length()), 7)]
    return bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])


def refused(call: Callable[[], object]) -> tuple[grpc.StatusCode, str]:
    """The status of a call that fails."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code(), caught.value.details() or ""


def most_memory(server: LocalServer) -> int:
    """Peak resident bytes of the server."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(text.split("VmHWM:")[1].split()[0])


@pytest.fixture(scope="module", name="guarded")
def fixture_guarded(corankd: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server with tokens; `a-token` has all permissions."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"tenant {hashlib.sha256(b'a-token').hexdigest()} all\n")
    flags = [f"--tokens-file={tokens}", "--kept-bytes=64MiB", "--shared-memory=/corank-small-"]
    server = LocalServer(corankd, flags)
    server.start()
    yield server
    assert server.stop() == 0


@pytest.fixture(name="channel")
def fixture_channel(guarded: LocalServer) -> Iterator[grpc.Channel]:
    """A plain gRPC channel to the server with tokens."""
    with grpc.insecure_channel(guarded.address, options=[("grpc.max_send_message_length", -1)]) as channel:
        yield channel


TOKEN = (("authorization", "Bearer a-token"),)


@pytest.mark.parametrize("method", UNARY + STREAMING)
def test_a_large_message_is_refused_unparsed(guarded: LocalServer, channel: grpc.Channel, method: str) -> None:
    before = most_memory(guarded)
    junk = b"\x78\x01" * (10 * MiB)  # an unknown field of two bytes, for which a parser keeps sixteen or more
    code, text = refused(lambda: raw(channel, method, junk, TOKEN))
    assert (code, "65536" in text) == (INVALID, True), text
    assert most_memory(guarded) - before < 100 * MiB * MEMORY_SCALE
    if not method.startswith("grpc."):
        assert refused(lambda: raw(channel, method, junk))[0] == grpc.StatusCode.UNAUTHENTICATED
        assert most_memory(guarded) - before < 100 * MiB * MEMORY_SCALE


@pytest.mark.parametrize("method", UNARY + STREAMING)
def test_bytes_that_are_no_message(channel: grpc.Channel, method: str) -> None:
    code, text = refused(lambda: raw(channel, method, b"\xff" * 12, TOKEN))
    assert code == INVALID
    assert "not a " in text


@pytest.mark.parametrize("size", [129, 9000, 60_000])
def test_names_that_nothing_can_have_are_not_repeated(guarded: LocalServer, channel: grpc.Channel, size: int) -> None:
    name = "n" * size
    log_bytes = guarded.log_path.stat().st_size
    sort = operators.SortRequest()
    sort.keys.type, sort.keys.stored.name = UINT32, name
    region = operators.SortRequest()
    region.keys.type, region.keys.count = UINT32, 1
    region.keys.shared_memory.region = name
    requests: list[tuple[str, Message]] = [
        ("corank.v1.MemoryService/UnregisterRegion", memory.UnregisterRegionRequest(name=name)),
        ("corank.v1.MemoryService/DeleteArray", memory.DeleteArrayRequest(name=name)),
        ("corank.v1.CorankService/Sort", sort),
        ("corank.v1.CorankService/Sort", region),
    ]
    for method, request in requests:
        code, text = refused(lambda m=method, r=request: raw(channel, m, r.SerializeToString(), TOKEN))  # type: ignore[misc]
        assert code == INVALID, text
        assert "1 to 128 characters" in text
        assert len(text) < 300
    assert guarded.log_path.stat().st_size - log_bytes < 10_000


def test_a_large_field_beside_the_arrays_is_refused_before_it_is_copied(
    guarded: LocalServer, channel: grpc.Channel
) -> None:
    before = most_memory(guarded)
    size = 100 * MiB
    unknown = varint(99 << 3 | 2) + varint(size) + bytes(size)
    assert refused(lambda: raw(channel, "corank.v1.CorankService/Sort", unknown, TOKEN))[0] == INVALID
    assert most_memory(guarded) - before < 2 * size * MEMORY_SCALE, "the message, as gRPC holds it, and parts of it"


def test_two_results_of_one_call_have_two_names(channel: grpc.Channel) -> None:
    request = operators.SortRequest()
    for array, numbers in ((request.keys, [3, 1, 2]), (request.values, [30, 10, 20])):
        array.type, array.count = UINT32, 3
        array.inline_data = np.array(numbers, np.uint32).tobytes()
    request.keys_destination.stored.name = request.values_destination.stored.name = "both"
    sort = "corank.v1.CorankService/Sort"
    code, text = refused(lambda: raw(channel, sort, request.SerializeToString(), TOKEN))
    assert (code, text.split(":")[0]) == (INVALID, "values_destination.stored.name")
    request.values_destination.stored.name = "other"
    raw(channel, sort, request.SerializeToString(), TOKEN)


def test_parts_with_other_inline_arrays_are_of_another_plan(channel: grpc.Channel) -> None:
    def plan(part: int, needles: list[int]) -> bytes:
        message = service.ExecuteRequest()
        message.plan.job_id, message.plan.parts, message.plan.part = "needles", 2, part
        search = message.plan.operations.add().search
        search.haystack.type, search.haystack.count, search.haystack.stream.stream_id = UINT32, 4, 1
        search.needles.type, search.needles.count = UINT32, len(needles)
        search.needles.inline_data = np.array(needles, np.uint32).tobytes()
        return message.SerializeToString()

    execute = channel.stream_stream(
        "/corank.v1.CorankService/Execute", request_serializer=bytes, response_deserializer=bytes
    )
    parts = [
        execute(iter([plan(part, needles)]), timeout=20, metadata=TOKEN)
        for part, needles in enumerate(([10, 20, 30], [10, 20, 31]))
    ]
    for part in parts:
        code, text = refused(functools.partial(list, part))
        assert (code, "different plans" in text) == (INVALID, True), text


def test_an_expiry_that_is_too_long_is_refused_with_the_header(channel: grpc.Channel) -> None:
    header = memory.StoreArrayRequest()
    header.header.name, header.header.expiry.seconds = "late", -5
    header.header.array.type, header.header.array.count, header.header.array.stream.stream_id = UINT32, 1000, 1
    store = channel.stream_unary(
        "/corank.v1.MemoryService/StoreArray", request_serializer=bytes, response_deserializer=bytes
    )
    code, text = refused(lambda: store(iter([header.SerializeToString()]), timeout=20, metadata=TOKEN))
    assert (code, text.split(":")[0]) == (INVALID, "header.expiry")


@pytest.mark.parametrize("timeout", ["2562047H", "2562048H", "99999999H"])
def test_any_deadline_that_grpc_can_say_is_one(guarded: LocalServer, timeout: str) -> None:
    request = operators.SortRequest()
    request.keys.type, request.keys.count, request.keys.inline_data = UINT32, 1, bytes(4)
    fields = h2.request_fields(h2.SORT) + h2.field(b"authorization", b"Bearer a-token")
    fields += h2.field(b"grpc-timeout", timeout.encode())
    with h2.Connection(guarded.address) as connection:
        stream = connection.open(fields)
        message = request.SerializeToString()
        data = b"\0" + len(message).to_bytes(4, "big") + message
        connection.send(h2.frame(h2.DATA, h2.END_STREAM, stream, data))
        kinds = [kind for kind, _, of, _ in connection.frames(2) if of == stream]
    assert h2.DATA in kinds, "an answer, not only a status"


def test_a_word_of_the_tokens_file_is_not_repeated(corankd: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("analytics all s3cr3t-token-value\n")
    server = LocalServer(corankd, [f"--tokens-file={tokens}"])
    with pytest.raises(RuntimeError) as caught:
        server.start()
    assert "line 1" in str(caught.value)
    assert "s3cr3t" not in str(caught.value)
