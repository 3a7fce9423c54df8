"""Every reason of the contract occurs in the trailer of a real server, beside its status code.

CORANKD_FAULTY names the server whose engine requests can break (tests/faults); without it two reasons skip.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import pathlib
import re
import secrets
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import e2e_paths

# isort: split
import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as service
from corank.v1 import error_reason_pb2, join_pb2
from corank.v1 import memory_service_pb2 as memory
from corank.v1 import operators_pb2 as o
from e2e_support import binary, busy, details_of
from grpc_health.v1 import health_pb2
from hostile_wire import DATA as DATA_FRAME
from hostile_wire import END_STREAM, SORT, Connection, frame, message, request_fields
from waiting import wait_until

UINT32 = a.ELEMENT_TYPE_UINT32
PREFIX = "/corank-reasons-"
TOKEN = "the-token"
FLAGS = (f"--shared-memory={PREFIX}", "--kept-bytes=1MiB", "--kept-quota-bytes=4MiB", "--cuda-ipc", "--engine=cpu")


def array(*values: int) -> Any:
    """An array that travels in its message."""
    return a.Array(type=UINT32, inline_data=np.array(values, np.uint32).tobytes())


def offsets(*values: int) -> Any:
    """Counts or offsets."""
    return a.Array(type=a.ELEMENT_TYPE_INT64, inline_data=np.array(values, np.int64).tobytes())


def stream(number: int, count: int) -> Any:
    """A streamed input."""
    return a.Array(type=UINT32, count=count, stream=a.StreamPlace(stream_id=number))


def plan(count: int = 100, **fields: Any) -> Any:
    """The plan of a streamed sort."""
    sort = o.SortRequest(keys=stream(0, count), keys_destination=a.Destination(stream=a.StreamPlace(stream_id=1)))
    return service.ExecuteRequest(plan=service.Plan(operations=[service.Operation(sort=sort)], **fields))


class World:
    """Servers by their flags, started when a case first needs them, and connections to them."""

    def __init__(self, corankd: pathlib.Path, slow_keys: Any) -> None:
        self.slow_keys = slow_keys
        self.open = contextlib.ExitStack()
        self.callers = self.open.enter_context(ThreadPoolExecutor(8))
        self._corankd, self._servers, self._channels = corankd, {}, {}  # type: ignore[var-annotated]

    def server(self, *flags: str, program: pathlib.Path | None = None) -> LocalServer:
        """The server with these flags beside FLAGS."""
        if (flags, program) not in self._servers:
            local = LocalServer(program or self._corankd, [*FLAGS, *flags])
            local.start()
            self.open.callback(local.stop)
            self._servers[flags, program] = local
        started: LocalServer = self._servers[flags, program]
        return started

    def channel(self, server: LocalServer | None = None) -> grpc.Channel:
        """A connection to it."""
        address = (server or self.server()).address
        if address not in self._channels:
            options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
            self._channels[address] = self.open.enter_context(grpc.insecure_channel(address, options))
        found: grpc.Channel = self._channels[address]
        return found

    def call(self, name: str, request: Any, server: LocalServer | None = None, **options: Any) -> bytes:
        """One unary call. CorankService has the methods of Operation, MemoryService the others."""
        of = "MemoryService" if hasattr(memory, f"{name}Request") else "CorankService"
        method: Any = self.channel(server).unary_unary(f"/corank.v1.{of}/{name}")
        answer: bytes = method(request.SerializeToString(), timeout=60, **options)
        return answer

    def execute(self, requests: Any, server: LocalServer | None = None, timeout: float = 60) -> Any:
        """One Execute call."""
        method: Any = self.channel(server).stream_stream("/corank.v1.CorankService/Execute")
        return method((each.SerializeToString() for each in requests), timeout=timeout)

    def store(self, name: str, count: int, server: LocalServer | None = None) -> None:
        """Stores an array of this many bytes."""
        header = memory.StoreArrayHeader(
            name=name, array=a.Array(type=a.ELEMENT_TYPE_UINT8, count=count, stream=a.StreamPlace(stream_id=0))
        )
        requests = [memory.StoreArrayRequest(header=header)]
        if count:
            chunk = a.ArrayChunk(data=bytes(count))
            requests.append(memory.StoreArrayRequest(chunk=chunk))
        method: Any = self.channel(server).stream_unary("/corank.v1.MemoryService/StoreArray")
        method((each.SerializeToString() for each in requests), timeout=60)

    def region(self, name: str, size: int = 4096) -> pathlib.Path:
        """Registers a region; returns the file of its memory."""
        key = f"{PREFIX}{secrets.token_hex(4)}"
        path = pathlib.Path("/dev/shm") / key[1:]
        path.write_bytes(bytes(size))
        self.open.callback(path.unlink)
        request = memory.RegisterSharedMemoryRequest(name=name, key=key, size_bytes=size)
        self.call("RegisterSharedMemory", request)
        return path

    def until_dropped(self, requests: list[Any], server: LocalServer | None = None) -> Iterator[Any]:
        """Sends these messages and then nothing, without the end of the stream."""
        yield from requests
        held: Future[None] = Future()
        self.open.callback(held.set_result, None)
        held.result()


def field_invalid(world: World) -> None:
    world.call("Sort", o.SortRequest())


def keys_not_sorted(world: World) -> None:
    world.call("Merge", o.MergeRequest(keys=[array(1), array(2, 1)]))


def intervals_overlap(world: World) -> None:
    to = offsets(0, 0)
    request = o.ScatterIntervalsRequest(
        source=array(1, 2), counts=offsets(1, 1), destination_offsets=to, destination_count=2
    )
    world.call("ScatterIntervals", request)


def request_too_large(world: World) -> None:
    world.call("Sort", o.SortRequest(keys=array(*range(1000))), world.server("--max-request-bytes=2048"))


def result_too_large(world: World) -> None:
    world.call("ExpandIntervals", o.ExpandIntervalsRequest(values=array(1), counts=offsets(1 << 40)))


def too_many_rows(world: World) -> None:
    request = join_pb2.JoinRequest(kind=join_pb2.JOIN_KIND_INNER, left=array(7, 7, 7), right=array(7, 7, 7))
    world.call("Join", request)


def place_not_supported(world: World) -> None:
    world.call("Sort", o.SortRequest(keys=stream(0, 1)))


def job_plans_differ(world: World) -> None:
    waiting = world.execute(world.until_dropped([plan(job_id="differ", parts=2, part=0)]))
    other = world.execute([plan(count=101, job_id="differ", parts=2, part=1)])
    for part in (waiting, other):
        with pytest.raises(grpc.RpcError) as caught:
            list(part)
        assert details_of(caught.value).info.reason == "JOB_PLANS_DIFFER"
    list(other)


def queue_full(world: World) -> None:
    for _ in range(300):  # more jobs than one tenant may let wait for their parts
        job = plan(job_id=secrets.token_hex(8), parts=2)
        call = world.execute(world.until_dropped([job]), world.server("--lanes=2"), timeout=20)
        world.open.callback(call.cancel)
        if call.done() or secrets.randbelow(32) == 0:
            with contextlib.suppress(grpc.FutureTimeoutError):
                call.exception(timeout=0.05)
        if call.done():
            list(call)


def memory_full(world: World) -> None:
    for number in range(3):
        world.store(f"full-{number}", 400_000, world.server("--lanes=1"))


def quota_exceeded(world: World) -> None:
    for number in range(3):
        world.store(f"quota-{number}", 400_000, world.server("--kept-quota-bytes=1MiB", "--kept-bytes=64MiB"))


def too_many_open(world: World) -> None:
    request = health_pb2.HealthCheckRequest().SerializeToString()
    for number in range(1200):
        if number % 50 == 0:
            channel = world.open.enter_context(
                grpc.insecure_channel(world.server().address, [("grpc.use_local_subchannel_pool", 1)])
            )
        method: Any = channel.unary_stream("/grpc.health.v1.Health/Watch")
        watch = method(request, timeout=60)
        world.open.callback(watch.cancel)
        next(watch)


def draining(world: World) -> None:
    server = LocalServer(world._corankd, FLAGS)
    server.start()
    world.open.callback(server.stop)
    sort = o.SortRequest(
        keys=a.Array(type=UINT32, inline_data=world.slow_keys.tobytes()),
        algorithm=o.SORT_ALGORITHM_ODD_EVEN_MERGESORT,
    )
    running = world.callers.submit(world.call, "Sort", sort, server)
    wait_until(lambda: busy(server), "the sort works")
    server.process.send_signal(signal.SIGTERM)
    while not running.done():
        world.call("Sort", o.SortRequest(keys=array(1)), server)


def device_lost(world: World) -> None:
    world.call("Sort", o.SortRequest(keys=array(*range(7001))), world.server(program=binary("CORANKD_FAULTY")))


def internal(world: World) -> None:
    faulty = world.server("--lanes=1", program=binary("CORANKD_FAULTY"))
    world.call("Sort", o.SortRequest(keys=array(*range(7009))), faulty, metadata=[("x-request-id", "mine")])


def deadline_passed(world: World) -> None:
    job = secrets.token_hex(8)
    hasty = world.execute(world.until_dropped([plan(job_id=job, parts=2, part=0)]), timeout=0.5)
    world.open.callback(hasty.cancel)
    list(world.execute(world.until_dropped([plan(job_id=job, parts=2, part=1)])))


def deadline_unreachable(world: World) -> None:
    server = world.server("--lanes=1")
    keys = a.Array(type=UINT32, inline_data=world.slow_keys[: len(world.slow_keys) // 4].tobytes())
    sort = o.SortRequest(keys=keys, algorithm=o.SORT_ALGORITHM_ODD_EVEN_MERGESORT).SerializeToString()
    method: Any = world.channel(server).unary_unary(SORT)
    for _ in range(6):  # the server estimates once it has seen a few
        method(sort, timeout=60)
    for _ in range(20):
        try:
            method(sort, timeout=0.1)
        except grpc.RpcError as error:
            if details_of(error).info.reason == "DEADLINE_UNREACHABLE":
                raise


def stream_idle(world: World) -> None:
    server = world.server("--stream-idle-timeout=1s")
    list(world.execute(world.until_dropped([plan()]), server))


def caller_cancelled(world: World) -> None:
    job = secrets.token_hex(8)
    lost = world.execute(world.until_dropped([plan(job_id=job, parts=2, part=0)]))
    kept = world.execute(world.until_dropped([plan(job_id=job, parts=2, part=1)]))
    with pytest.raises(grpc.FutureTimeoutError):
        kept.exception(timeout=0.5)
    lost.cancel()
    list(kept)


def request_incomplete(world: World) -> None:
    with Connection(world.server().address) as caller:  # no library half-closes in a message
        number = caller.open(request_fields(SORT))
        caller.send(frame(DATA_FRAME, END_STREAM, number, message(b"half", length=8)))
        details = caller.status(number)["grpc-status-details-bin"]
        raise RawError(base64.b64decode(details + "=" * (-len(details) % 4)))


def region_not_found(world: World) -> None:
    keys = a.Array(type=UINT32, count=1, shared_memory=a.RegionPlace(region="none"))
    world.call("Sort", o.SortRequest(keys=keys))


def array_not_found(world: World) -> None:
    world.call("Sort", o.SortRequest(keys=a.Array(type=UINT32, stored=a.StoredPlace(name="none"))))


def lease_not_found(world: World) -> None:
    request = memory.RegisterSharedMemoryRequest(name="r", key=f"{PREFIX}x", size_bytes=4096, lease_id="none")
    world.call("RegisterSharedMemory", request)


def memory_not_found(world: World) -> None:
    world.call("RegisterSharedMemory", memory.RegisterSharedMemoryRequest(name="r", key=f"{PREFIX}x", size_bytes=4096))


def service_not_found(world: World) -> None:
    check: Any = world.channel().unary_unary("/grpc.health.v1.Health/Check")
    check(health_pb2.HealthCheckRequest(service="none").SerializeToString(), timeout=60)


def region_exists(world: World) -> None:
    world.region("twice")
    world.region("twice")


def in_use(world: World) -> None:
    world.region("used")
    places = [a.Array(type=UINT32, count=1, shared_memory=a.RegionPlace(region="used")), stream(0, 100)]
    merge = o.MergeRequest(keys=places, keys_destination=a.Destination(stream=a.StreamPlace(stream_id=1)))
    request = service.ExecuteRequest(plan=service.Plan(operations=[service.Operation(merge=merge)]))
    call = world.execute(world.until_dropped([request]))
    try:
        with pytest.raises(grpc.FutureTimeoutError):
            call.exception(timeout=0.5)  # it still receives
        world.call("UnregisterRegion", memory.UnregisterRegionRequest(name="used"))
    finally:
        call.cancel()


def memory_truncated(world: World) -> None:
    os.truncate(world.region("short"), 100)
    keys = a.Array(type=UINT32, count=1000, shared_memory=a.RegionPlace(region="short"))
    world.call("Sort", o.SortRequest(keys=keys))


def device_not_used(world: World) -> None:
    request = memory.RegisterCudaIpcRequest(name="gpu", handle=bytes(64), size_bytes=1, device_uuid="GPU-none")
    world.call("RegisterCudaIpc", request)


@contextlib.contextmanager
def tokens() -> Iterator[str]:
    """The flag of a file with one tenant, whose permission is Sort alone."""
    path = pathlib.Path("/dev/shm") / f"{PREFIX[1:]}{secrets.token_hex(4)}"
    path.touch(mode=0o600)
    path.write_text(f"narrow {hashlib.sha256(TOKEN.encode()).hexdigest()} sort\n")
    yield f"--tokens-file={path}"
    path.unlink()


def guarded(world: World) -> LocalServer:
    """A server that requires tokens."""
    if not hasattr(world, "tokens"):
        world.tokens = world.open.enter_context(tokens())  # type: ignore[attr-defined]
    return world.server(world.tokens, "--insecure")  # type: ignore[attr-defined]


def bearer(token: str) -> Any:
    """The metadata with a token."""
    return [("authorization", f"Bearer {token}")]


def credentials_missing(world: World) -> None:
    world.call("Sort", o.SortRequest(keys=array(1)), guarded(world))


def credentials_unknown(world: World) -> None:
    world.call("Sort", o.SortRequest(keys=array(1)), guarded(world), metadata=bearer("another"))


def not_permitted(world: World) -> None:
    known = bearer(TOKEN)
    world.call("Merge", o.MergeRequest(keys=[array(1)] * 2), guarded(world), metadata=known)


def place_disabled(world: World) -> None:
    keys = a.Array(type=UINT32, stored=a.StoredPlace(name="k"))
    world.call("Sort", o.SortRequest(keys=keys), world.server("--kept-bytes=0", "--kept-quota-bytes=0"))


def job_part_lost(world: World) -> None:
    caller_cancelled(world)


def job_incomplete(world: World) -> None:
    list(world.execute(world.until_dropped([plan(job_id=secrets.token_hex(8), parts=2)])))


CASES: tuple[Callable[[World], None], ...] = (
    job_incomplete,  # the longest first
    field_invalid,
    keys_not_sorted,
    intervals_overlap,
    request_too_large,
    result_too_large,
    too_many_rows,
    place_not_supported,
    job_plans_differ,
    queue_full,
    memory_full,
    quota_exceeded,
    too_many_open,
    draining,
    device_lost,
    deadline_passed,
    deadline_unreachable,
    stream_idle,
    caller_cancelled,
    request_incomplete,
    region_not_found,
    array_not_found,
    lease_not_found,
    memory_not_found,
    service_not_found,
    region_exists,
    in_use,
    memory_truncated,
    device_not_used,
    credentials_missing,
    credentials_unknown,
    not_permitted,
    place_disabled,
    job_part_lost,
    internal,
)
# A caller that cancelled or was late sees no trailer: the other part of its job names the reason as the cause.
AS_CAUSE = (caller_cancelled, deadline_passed)


class RawError(Exception):
    """The status of a call by hand."""

    def __init__(self, raw_details: bytes) -> None:
        super().__init__(raw_details)
        self.raw_details = raw_details


@pytest.fixture(scope="module")
def world(corankd: pathlib.Path, slow_keys: Any) -> Iterator[World]:
    """All servers of this module."""
    made = World(corankd, slow_keys)
    with made.open:
        yield made


def codes() -> dict[str, str]:
    """The status code of each reason, as the contract begins the reason's comment."""
    text = (e2e_paths.ROOT / "proto" / "corank" / "v1" / "error_reason.proto").read_text()
    found = re.findall(r"(?:^  //.*\n)+  ERROR_REASON_(\w+) = [1-9]", text, re.MULTILINE)
    comments = re.findall(r"((?:^  //.*\n)+)  ERROR_REASON_(\w+) = [1-9]", text, re.MULTILINE)
    assert len(found) == len(comments)
    return {name: comment.split()[1].rstrip(".,") for comment, name in comments}


def test_every_reason_has_a_case() -> None:
    values = error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name
    names = {name.removeprefix("ERROR_REASON_") for name in values} - {"UNSPECIFIED"}
    assert {case.__name__.upper() for case in CASES} == names == set(codes())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_reason_is_in_the_trailer(world: World, case: Callable[[World], None]) -> None:
    reason = case.__name__.upper()
    with pytest.raises((grpc.RpcError, RawError)) as caught:
        case(world)
    told = details_of(caught.value)
    assert told.info.domain == "corank"
    if case in AS_CAUSE:
        assert told.info.metadata["cause"] == reason
        return
    assert told.info.reason == reason, (caught.value, told)
    assert told.code == codes()[reason]
    if told.code == "INVALID_ARGUMENT":
        assert len(told.violations) == 1
    if reason in ("QUEUE_FULL", "MEMORY_FULL", "TOO_MANY_OPEN", "DRAINING", "DEVICE_LOST"):
        assert told.has_retry_delay
    if reason == "KEYS_NOT_SORTED":
        assert dict(told.info.metadata) == {"index": "1"}
    if reason == "TOO_MANY_ROWS":
        assert dict(told.info.metadata) == {"rows": "9"}
    if reason == "INTERVALS_OVERLAP":
        assert {told.info.metadata["interval"], told.info.metadata["other"]} == {"0", "1"}
    if reason == "NOT_PERMITTED":
        assert told.info.metadata["permission"] == "merge"
    if reason == "INTERNAL":
        assert told.info.metadata["request_id"] == "mine"
