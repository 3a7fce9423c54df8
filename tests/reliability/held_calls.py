"""Sorts in every place, as calls that pause where a test wants and then report their outcome."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import corank
import grpc
import numpy as np
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as service
from corank.v1 import operators_pb2 as o
from numpy.typing import NDArray

Keys = NDArray[np.uint32]
CHUNK = 1 << 18
"""Elements per chunk."""
OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
]
METHOD = "/corank.v1.CorankService/"


def random_keys(count: int, seed: int = 11) -> Keys:
    """Unsorted keys."""
    return np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)


@dataclass
class Work:
    """The keys of a call, and the point at which it pauses."""

    keys: Keys
    algorithm: int = o.SORT_ALGORITHM_AUTO
    timeout: float = 120.0
    """Seconds until the call's deadline."""
    send: int | None = None
    """Streams: the number of chunks after which it stops sending until `go_on`."""
    read: int | None = None
    """Streams: the number of answer chunks after which it stops reading until `go_on`."""


class HeldCall:
    """A call in flight, on its own connection: `channel`, or a new one."""

    def __init__(self, address: str, work: Work, channel: grpc.Channel | None = None) -> None:
        self.work = work
        self.chunks = 0
        """Answer chunks read so far."""
        self._channel = channel or grpc.insecure_channel(address, OPTIONS)
        self._go_on = threading.Event()
        self._call: Any = None

    @property
    def is_over(self) -> bool:
        """Whether the call has its status."""
        return bool(self._call.done())

    def go_on(self) -> None:
        """Sends and reads the rest."""
        self._go_on.set()

    def cancel(self) -> None:
        """Cancels the call."""
        self._call.cancel()
        self._go_on.set()

    def code(self, timeout: float = 120) -> str:
        """Waits for the call to end and returns its status; an answer must be right. Closes the connection."""
        try:
            self._finish(timeout)
        except grpc.FutureTimeoutError:
            raise AssertionError(f"no status within {timeout:g} s") from None
        except grpc.FutureCancelledError:
            return "CANCELLED"
        except grpc.RpcError as error:
            ended: Any = error
            return str(ended.code().name)
        finally:
            self._go_on.set()
            self._channel.close()
        return "OK"

    def _finish(self, timeout: float) -> None:
        raise NotImplementedError

    def _check(self, got: Any) -> None:
        np.testing.assert_array_equal(np.frombuffer(got, np.uint32), np.sort(self.work.keys))


class UnaryCall(HeldCall):
    """A Sort whose keys are in the message."""

    def __init__(self, address: str, work: Work) -> None:
        super().__init__(address, work)
        keys = a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=work.keys.tobytes())
        request = o.SortRequest(keys=keys, algorithm=work.algorithm)  # type: ignore[arg-type]
        method: Any = self._channel.unary_unary(METHOD + "Sort", response_deserializer=o.SortResponse.FromString)
        self._call = method.future(request.SerializeToString(), timeout=work.timeout)

    def _finish(self, timeout: float) -> None:
        self._check(self._call.result(timeout).keys.inline_data)


class StreamCall(HeldCall):
    """An Execute that sends its keys in chunks."""

    def __init__(self, address: str, work: Work, channel: grpc.Channel | None = None) -> None:
        super().__init__(address, work, channel)
        self._got = np.empty_like(work.keys)
        self._error: BaseException | None = None
        method: Any = self._channel.stream_stream(
            METHOD + "Execute",
            request_serializer=service.ExecuteRequest.SerializeToString,
            response_deserializer=service.ExecuteResponse.FromString,
        )
        self._call = method(self._requests(), timeout=work.timeout)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _requests(self) -> Iterator[service.ExecuteRequest]:
        keys = self.work.keys
        array = a.Array(type=a.ELEMENT_TYPE_UINT32, count=keys.size, stream=a.StreamPlace(stream_id=0))
        there = a.Destination(stream=a.StreamPlace(stream_id=1))
        sort = o.SortRequest(keys=array, keys_destination=there, algorithm=self.work.algorithm)  # type: ignore[arg-type]
        yield service.ExecuteRequest(plan=service.Plan(operations=[service.Operation(sort=sort)]))
        for number, first in enumerate(range(0, keys.size, CHUNK)):
            if number == self.work.send:
                self._go_on.wait()
            data = keys[first : first + CHUNK].tobytes()
            yield service.ExecuteRequest(chunk=a.ArrayChunk(stream_id=0, first_element=first, data=data))

    def _read(self) -> None:
        try:
            for response in self._call:
                if not response.HasField("chunk"):
                    continue
                chunk = np.frombuffer(response.chunk.data, np.uint32)
                self._got[response.chunk.first_element :][: chunk.size] = chunk
                self.chunks += 1
                if self.chunks == self.work.read:
                    self._go_on.wait()
        except BaseException as error:  # `code` reports it
            self._error = error

    def _finish(self, timeout: float) -> None:
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise grpc.FutureTimeoutError
        if self._error is not None:
            raise self._error
        self._check(self._got)


class SharedCall(HeldCall):
    """A Sort in place of keys in shared memory, into which it copies `Work.keys`.

    Args:
        address: of the server.
        work: the keys to sort.
        request: makes another request of the region instead of the sort; its answer is not checked.
    """

    def __init__(self, address: str, work: Work, request: Any = None) -> None:
        super().__init__(address, work)
        self._request = request
        self._client = corank.Client(address, deadline=60, retries=0)
        self._stack = contextlib.ExitStack()
        self._array = self._stack.enter_context(self._client.share(work.keys))
        place = self._client._connection.regions.find(memoryview(self._array.view(np.uint8).data), 4)
        assert place is not None
        where = a.RegionPlace(region=place.region, offset_bytes=place.offset)
        name, message = ("Sort", self._sort(where)) if request is None else request(where)
        method: Any = self._channel.unary_unary(METHOD + name)
        self._call = method.future(message.SerializeToString(), timeout=work.timeout)

    def _sort(self, where: a.RegionPlace) -> o.SortRequest:
        keys = a.Array(type=a.ELEMENT_TYPE_UINT32, count=self.work.keys.size, shared_memory=where)
        there = a.Destination(shared_memory=where)
        return o.SortRequest(keys=keys, keys_destination=there, algorithm=self.work.algorithm)  # type: ignore[arg-type]

    def _finish(self, timeout: float) -> None:
        try:
            self._call.result(timeout)
            if self._request is None:
                self._check(self._array)
        finally:
            del self._array
            with contextlib.suppress(corank.CorankError):  # the server is gone, and its regions with it
                self._stack.close()
            self._client.close()


CALLS: dict[str, type[HeldCall]] = {"unary": UnaryCall, "stream": StreamCall, "shared_memory": SharedCall}
