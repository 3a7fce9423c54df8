"""Regions and names that no client library makes: each gets a status, and the server keeps working and frees all."""

from __future__ import annotations

import mmap
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import corank
import grpc
import numpy as np
import pytest
from conftest import SHARED_PREFIX
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as c
from corank.v1 import memory_service_pb2 as memory
from corank.v1 import operators_pb2 as o
from e2e_support import busy, code_of, samples
from waiting import wait_until

Needs = Callable[[str], None]
COUNT = 1 << 20
KEYS = np.random.default_rng(14).integers(0, 2**32, COUNT, dtype=np.uint32)
OPTIONS = [("grpc.max_receive_message_length", -1)]


class Object:
    """A named shared-memory object, and a region of it."""

    def __init__(self, client: corank.Client, size: int) -> None:
        self.key = f"{SHARED_PREFIX}{secrets.token_hex(8)}"
        self.name = secrets.token_hex(8)
        self._client = client
        self.handle = os.open(f"/dev/shm{self.key}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(self.handle, size)
        self.mapped = mmap.mmap(self.handle, size)

    def register(self, **more: Any) -> None:
        """Registers the region with the fields of `more`."""
        fields = {"name": self.name, "key": self.key, "size_bytes": len(self.mapped), **more}
        request = memory.RegisterSharedMemoryRequest(**fields)
        self._client._connection.memory_call("RegisterSharedMemory", request, memory.RegisterSharedMemoryResponse)

    def unregister(self) -> None:
        """Unregisters the region once no request uses it."""
        request = memory.UnregisterRegionRequest(name=self.name)
        self._client._connection.memory_release("UnregisterRegion", request, memory.UnregisterRegionResponse)

    def unregister_now(self) -> None:
        """Unregisters the region even while a request uses it."""
        request = memory.UnregisterRegionRequest(name=self.name)
        self._client._connection.memory_call("UnregisterRegion", request, memory.UnregisterRegionResponse)

    def __enter__(self) -> Object:
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self.handle)
        os.unlink(f"/dev/shm{self.key}")


def sort_region(address: str, region: str, offset: int, count: int, out: int = 0) -> Any:
    """Sorts `count` uint32 of a region into the region; raises grpc.RpcError."""
    keys = a.Array(
        type=a.ELEMENT_TYPE_UINT32,
        count=count,
        shared_memory=a.RegionPlace(region=region, offset_bytes=offset),
    )
    place = a.RegionPlace(region=region, offset_bytes=out)
    request = o.SortRequest(keys=keys, keys_destination=a.Destination(shared_memory=place))
    with grpc.insecure_channel(address) as channel:
        method: Any = channel.unary_unary("/corank.v1.CorankService/Sort")
        return o.SortResponse.FromString(method(request.SerializeToString(), timeout=60))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"key": "/not-ours"}, "PERMISSION_DENIED"),
        ({"key": f"{SHARED_PREFIX}../../etc/passwd"}, None),
        ({"key": f"{SHARED_PREFIX}missing"}, "NOT_FOUND"),
        ({"key": ""}, None),
        ({"size_bytes": 4097}, "INVALID_ARGUMENT"),
        ({"size_bytes": 0}, "INVALID_ARGUMENT"),
        ({"size_bytes": -1}, "INVALID_ARGUMENT"),
        ({"size_bytes": 2**62}, "INVALID_ARGUMENT"),
        ({"offset_bytes": 1}, "INVALID_ARGUMENT"),
        ({"offset_bytes": 4096}, "INVALID_ARGUMENT"),
        ({"offset_bytes": -4096}, "INVALID_ARGUMENT"),
        ({"offset_bytes": 2**63 - 4096}, "INVALID_ARGUMENT"),
        ({"name": ""}, "INVALID_ARGUMENT"),
        ({"name": "a/b"}, "INVALID_ARGUMENT"),
        ({"name": "a" * 129}, "INVALID_ARGUMENT"),
        ({"lease_id": "unknown"}, None),
    ],
)
def test_bad_registrations_are_refused(
    placed: corank.Client, needs: Needs, fields: dict[str, Any], code: str | None
) -> None:
    needs("shared_memory")
    with Object(placed, 4096) as region:
        with pytest.raises(corank.CorankError) as caught:
            region.register(**fields)
        if code is not None:
            assert caught.value.code == code, caught.value
        assert caught.value.code not in ("INTERNAL", "UNKNOWN", "UNIMPLEMENTED"), caught.value
        listed = placed._connection.memory_call("ListRegions", memory.ListRegionsRequest(), memory.ListRegionsResponse)
        assert list(listed.regions) == []


def test_name_of_a_region_is_taken_once(placed: corank.Client, needs: Needs) -> None:
    needs("shared_memory")
    with Object(placed, 4096) as region:
        region.register()
        with pytest.raises(corank.CorankError) as caught:
            region.register()
        assert caught.value.code == "ALREADY_EXISTS"
        region.unregister()
        with pytest.raises(corank.NotFound):
            region.unregister()
        region.register()
        region.unregister()


@pytest.mark.parametrize(
    ("offset", "count", "out"),
    [(0, 1025, 0), (4, 1024, 0), (4096, 1, 0), (0, 1024, 4), (-4, 1, 0), (2, 1, 0), (0, 1, 2), (2**63 - 8, 2, 0),
     (0, 2**62, 0), (0, 1, 2**63 - 4)],
)  # fmt: skip
def test_ranges_outside_of_a_region_are_refused(
    placed_server: LocalServer, placed: corank.Client, needs: Needs, offset: int, count: int, out: int
) -> None:
    needs("shared_memory")
    with Object(placed, 4096) as region:
        region.register()
        before = bytes(region.mapped)
        code, details = code_of(lambda: sort_region(placed_server.address, region.name, offset, count, out))
        assert code == "INVALID_ARGUMENT", details
        assert bytes(region.mapped) == before
        region.unregister()


def test_unknown_names_are_not_found(placed_server: LocalServer, placed: corank.Client, needs: Needs) -> None:
    needs("shared_memory")
    assert code_of(lambda: sort_region(placed_server.address, "unknown", 0, 1))[0] == "NOT_FOUND"
    if "stored" in placed.info().places:
        stored = corank.StoredArray(placed._connection, "unknown", a.ELEMENT_TYPE_UINT32, np.dtype("<u4"), 5)
        for call in (lambda: placed.sort(stored), stored.fetch, stored.delete):
            with pytest.raises(corank.NotFound):
                call()


def test_region_that_was_made_smaller_is_refused_and_the_server_goes_on(
    placed_server: LocalServer, placed: corank.Client, needs: Needs
) -> None:
    needs("shared_memory")
    with Object(placed, KEYS.nbytes) as region:
        region.mapped[:] = KEYS.tobytes()
        region.register()
        sort_region(placed_server.address, region.name, 0, COUNT)
        assert bytes(region.mapped) == np.sort(KEYS).tobytes()
        os.ftruncate(region.handle, 4096)
        code, details = code_of(lambda: sort_region(placed_server.address, region.name, 0, COUNT))
        assert code == "FAILED_PRECONDITION", details
        region.unregister()
    np.testing.assert_array_equal(placed.sort(KEYS), np.sort(KEYS))


def test_region_that_was_replaced_is_the_object_that_was_registered(
    placed_server: LocalServer, placed: corank.Client, needs: Needs
) -> None:
    needs("shared_memory")
    with Object(placed, KEYS.nbytes) as region:
        region.mapped[:] = KEYS.tobytes()
        region.register()
        path = f"/dev/shm{region.key}"
        os.unlink(path)
        with open(path, "xb") as other:
            other.write(KEYS[::-1].tobytes())
        sort_region(placed_server.address, region.name, 0, COUNT)
        assert bytes(region.mapped) == np.sort(KEYS).tobytes()
        with open(path, "rb") as other:
            assert other.read() == KEYS[::-1].tobytes(), "another object was written to"
        region.unregister()
        region.register()
        sort_region(placed_server.address, region.name, 0, COUNT)
        with open(path, "rb") as other:
            assert other.read() == np.sort(KEYS).tobytes(), "the name means the new object from now on"
        region.unregister()


@pytest.mark.parametrize("times", [1, 5])  # enough for a GPU to work in pieces
def test_region_that_shrinks_under_a_request_does_not_kill_the_server(
    placed_server: LocalServer, placed: corank.Client, needs: Needs, times: int
) -> None:
    needs("shared_memory")
    for delay in (0.0, 0.002, 0.01):
        with Object(placed, times * KEYS.nbytes) as region:
            region.mapped[:] = times * KEYS.tobytes()
            region.register()
            outcome: list[str] = []

            def work(name: str = region.name, into: list[str] = outcome) -> None:
                into.append(code_of(lambda: sort_region(placed_server.address, name, 0, times * COUNT))[0])

            thread = threading.Thread(target=work)
            thread.start()
            time.sleep(delay)
            os.ftruncate(region.handle, 4096)
            thread.join()
            assert outcome[0] in ("OK", "FAILED_PRECONDITION"), outcome
            region.unregister()
    assert placed_server.process.poll() is None
    np.testing.assert_array_equal(placed.sort(KEYS), np.sort(KEYS))


def test_region_in_use_is_not_unregistered(placed_server: LocalServer, placed: corank.Client, needs: Needs) -> None:
    needs("shared_memory")
    with Object(placed, KEYS.nbytes) as region:
        region.mapped[:] = KEYS.tobytes()
        region.register()
        keys = a.Array(type=a.ELEMENT_TYPE_UINT32, count=COUNT, shared_memory=a.RegionPlace(region=region.name))
        request = o.SortRequest(keys=keys, algorithm=o.SORT_ALGORITHM_ODD_EVEN_MERGESORT)
        with grpc.insecure_channel(placed_server.address, OPTIONS) as channel:
            method: Any = channel.unary_unary("/corank.v1.CorankService/Sort")
            call = method.future(request.SerializeToString(), timeout=60)
            wait_until(lambda: busy(placed_server) or call.done(), "the sort runs, or has")
            refused = None
            try:
                region.unregister_now()
            except corank.CorankError as error:
                refused = error
            response = o.SortResponse.FromString(call.result())
        assert response.keys.inline_data == np.sort(KEYS).tobytes()
        if refused is None:
            pytest.skip("the sort was too fast to see it")
        assert refused.code == "FAILED_PRECONDITION"
        region.unregister()


def test_region_cannot_go_while_a_stream_for_it_still_arrives(
    placed_server: LocalServer, placed: corank.Client, needs: Needs
) -> None:
    needs("shared_memory")
    goes_on = threading.Event()
    with Object(placed, 8) as region, grpc.insecure_channel(placed_server.address) as channel:
        region.register()
        keys = a.Array(type=a.ELEMENT_TYPE_UINT32, count=2, stream=a.StreamPlace(stream_id=0))
        there = a.Destination(shared_memory=a.RegionPlace(region=region.name))
        plan = c.Plan(operations=[c.Operation(sort=o.SortRequest(keys=keys, keys_destination=there))])

        def requests() -> Iterator[bytes]:
            yield c.ExecuteRequest(plan=plan).SerializeToString()
            goes_on.wait()
            chunk = a.ArrayChunk(stream_id=0, data=np.array([2, 1], np.uint32).tobytes())
            yield c.ExecuteRequest(chunk=chunk).SerializeToString()

        method: Any = channel.stream_stream("/corank.v1.CorankService/Execute")
        call = method(requests(), timeout=600)
        try:
            wait_until(lambda: samples(placed_server)["corank_stream_jobs"] > 0, "the plan has arrived")
            with pytest.raises(corank.CorankError) as refused:
                region.unregister_now()
            assert refused.value.code == "FAILED_PRECONDITION"
        finally:
            goes_on.set()
        assert list(call)
        assert np.frombuffer(region.mapped, np.uint32).tolist() == [1, 2]
        region.unregister()


@pytest.mark.parametrize("place", ["region", "kept"])
def test_what_a_stream_reads_cannot_go_while_the_rest_of_it_arrives(
    placed_server: LocalServer, placed: corank.Client, needs: Needs, place: str
) -> None:
    needs("shared_memory" if place == "region" else "stored")
    goes_on = threading.Event()
    there = np.array([1, 3], np.uint32)
    name = secrets.token_hex(8)
    with Object(placed, there.nbytes) as region, grpc.insecure_channel(placed_server.address) as channel:
        region.mapped[:] = there.tobytes()
        region.register()
        placed.store(name, there)
        first = a.Array(type=a.ELEMENT_TYPE_UINT32, count=2)
        if place == "region":
            first.shared_memory.region = region.name
        else:
            first.stored.name = name
        second = a.Array(type=a.ELEMENT_TYPE_UINT32, count=1, stream=a.StreamPlace(stream_id=0))
        plan = c.Plan(operations=[c.Operation(merge=o.MergeRequest(keys=[first, second]))])

        def requests() -> Iterator[bytes]:
            yield c.ExecuteRequest(plan=plan).SerializeToString()
            goes_on.wait()
            chunk = a.ArrayChunk(stream_id=0, data=np.array([2], np.uint32).tobytes())
            yield c.ExecuteRequest(chunk=chunk).SerializeToString()

        def release() -> None:
            if place == "region":
                region.unregister_now()
            else:
                placed._connection.memory_call(
                    "DeleteArray", memory.DeleteArrayRequest(name=name), memory.DeleteArrayResponse
                )

        method: Any = channel.stream_stream("/corank.v1.CorankService/Execute")
        call = method(requests(), timeout=600)
        try:
            wait_until(lambda: samples(placed_server)["corank_stream_jobs"] > 0, "the plan has arrived")
            with pytest.raises(corank.CorankError) as refused:
                release()
            assert refused.value.code == "FAILED_PRECONDITION"
        finally:
            goes_on.set()
        answers = [c.ExecuteResponse.FromString(answer) for answer in call]
        result = answers[-1].result.merge.keys
        assert np.frombuffer(result.inline_data, np.uint32).tolist() == [1, 2, 3]
        release()
        region.unregister() if place == "kept" else placed.delete(name)


def test_lease_ends_with_its_call(placed: corank.Client, needs: Needs) -> None:
    needs("shared_memory")
    call = placed._connection.memory_stream("OpenLease")(memory.OpenLeaseRequest().SerializeToString())
    lease = memory.OpenLeaseResponse.FromString(next(call)).lease_id
    assert lease
    with Object(placed, 4096) as region:
        region.register(lease_id=lease)
        call.cancel()

        def gone() -> bool:
            listed = placed._connection.memory_call(
                "ListRegions", memory.ListRegionsRequest(), memory.ListRegionsResponse
            )
            return len(listed.regions) == 0

        wait_until(gone, "the region is gone")
