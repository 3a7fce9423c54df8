"""Times gRPC for Python alone: an array travels to echo_server and back without the client library."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from corank._stream import CHUNK_BYTES
from corank.v1 import corank_service_pb2
from echo_server import echo_server

_METHOD = "/corank.v1.CorankService/Execute"


class GrpcEcho:
    """An echo server that returns an array once it has received all of it, as a sort must.

    Args:
        binary: path of echo_server.
        x: the array, cut into messages in advance so that no call has to make them.
        connections: how many connections carry it, each with its own thread.
    """

    def __init__(self, binary: Path, x: np.ndarray, connections: int) -> None:
        self._binary, self._connections = binary, connections
        self._messages = [list(_messages(part)) for part in np.array_split(x, connections)]
        self._running = ExitStack()
        self._channels: list[grpc.Channel] = []

    def __enter__(self) -> GrpcEcho:
        address = self._running.enter_context(echo_server(self._binary, "--hold"))
        options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        self._channels = [grpc.insecure_channel(address, options) for _ in range(self._connections)]
        return self

    def __exit__(self, *_: object) -> None:
        for channel in self._channels:
            channel.close()
        self._running.close()

    def carry(self) -> None:
        """Sends the array and receives it.

        Raises:
            RuntimeError: part of it did not come back.
        """
        came = [0] * self._connections

        def call(at: int) -> None:
            method: Any = self._channels[at].stream_stream(_METHOD)
            came[at] = sum(map(len, method(iter(self._messages[at]))))

        threads = [threading.Thread(target=call, args=(at,)) for at in range(self._connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if sum(came) < sum(len(message) for messages in self._messages for message in messages[1:]):
            raise RuntimeError("the echo is shorter than the call")


def _messages(part: np.ndarray) -> Iterator[bytes]:
    yield corank_service_pb2.ExecuteRequest(plan=corank_service_pb2.Plan()).SerializeToString()
    data = part.tobytes()
    for begin in range(0, len(data), CHUNK_BYTES):
        request = corank_service_pb2.ExecuteRequest()
        request.chunk.first_element = begin // part.itemsize
        request.chunk.data = data[begin : begin + CHUNK_BYTES]
        yield request.SerializeToString()
