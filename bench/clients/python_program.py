"""The benchmark program of the Python client; clients_bench.py starts it and says what it does."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

import corank  # noqa: E402
import grpc  # noqa: E402
from corank._stream import CHUNK_BYTES  # noqa: E402
from corank.v1 import array_pb2, corank_service_pb2, operators_pb2  # noqa: E402

IN_FLIGHT, CONNECTIONS = 64, 4
SERVICE = "/corank.v1.CorankService"

Rate = Callable[[float], float]
"""Works for some seconds; returns what it did in one."""


def calls_rate(start: Callable[[], Future[Any]], check: Callable[[Any], bool]) -> Rate:
    """Keeps calls in flight for some seconds. Checks the first answer."""

    def rate(seconds: float) -> float:
        if not check(start().result()):
            raise RuntimeError("wrong answer")
        waiting = deque(start() for _ in range(IN_FLIGHT))
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            waiting.popleft().result()
            done += 1
            waiting.append(start())
        elapsed = time.perf_counter() - begin
        for future in waiting:
            future.result()
        return done / elapsed

    return rate


def stream_rate(carry: Callable[[], bool], size_bytes: int) -> Rate:
    """Carries the large array again and again for some seconds, twice at least. Checks that it came back."""

    def rate(seconds: float) -> float:
        begin, done = time.perf_counter(), 0
        while done < 2 or time.perf_counter() - begin < seconds:
            if not carry():
                raise RuntimeError("wrong answer")
            done += 1
        return done * size_bytes / (time.perf_counter() - begin)

    return rate


def client_rate(address: str, work: str, n: int) -> Rate:
    client = corank.connect(address)
    x = np.arange(n, dtype=np.uint32)
    if work == "calls":
        return calls_rate(lambda: client.submit("sort", x), lambda answer: np.array_equal(answer, x))
    out = np.empty_like(x)

    def sort() -> bool:
        client.sort(x, out=out, place="stream", connections=CONNECTIONS)
        return bool(out[-1] == n - 1)

    return stream_rate(sort, x.nbytes)


def stub_rate(address: str, work: str, n: int) -> Rate:
    options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(address, options) for _ in range(CONNECTIONS)]
    x = np.arange(n, dtype=np.uint32)
    if work == "calls":
        data = x.tobytes()
        request = operators_pb2.SortRequest(keys={"type": array_pb2.ELEMENT_TYPE_UINT32, "inline_data": data})
        sort: Any = channels[0].unary_unary(
            f"{SERVICE}/Sort",
            request_serializer=operators_pb2.SortRequest.SerializeToString,
            response_deserializer=operators_pb2.SortResponse.FromString,
        )
        return calls_rate(lambda: sort.future(request), lambda answer: answer.keys.inline_data == data)
    parts = np.array_split(x, CONNECTIONS)

    def messages(part: np.ndarray) -> Iterator[Any]:
        yield corank_service_pb2.ExecuteRequest(plan=corank_service_pb2.Plan())
        data = part.tobytes()
        for begin in range(0, len(data), CHUNK_BYTES):
            chunk = array_pb2.ArrayChunk(first_element=begin // 4, data=data[begin : begin + CHUNK_BYTES])
            yield corank_service_pb2.ExecuteRequest(chunk=chunk)

    def carry() -> bool:
        came = [0] * CONNECTIONS

        def call(at: int) -> None:
            execute: Any = channels[at].stream_stream(
                f"{SERVICE}/Execute",
                request_serializer=corank_service_pb2.ExecuteRequest.SerializeToString,
                response_deserializer=corank_service_pb2.ExecuteResponse.FromString,
            )
            came[at] = sum(len(answer.chunk.data) for answer in execute(messages(parts[at])))

        threads = [threading.Thread(target=call, args=(at,)) for at in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(came) == x.nbytes

    return stream_rate(carry, x.nbytes)


def serve(client: Callable[[str, str, int], Rate], stub: Callable[[str, str, int], Rate]) -> None:
    """Runs the program with these two sides."""
    side, address = sys.argv[1:]
    make = {"client": client, "stub": stub}[side]
    rates: dict[tuple[str, int], Rate] = {}
    for line in sys.stdin:
        command = json.loads(line)
        work = command["work"], command["n"]
        try:
            if work not in rates:
                rates[work] = make(address, *work)
            answer: dict[str, Any] = {"value": rates[work](command["seconds"])}
        except (RuntimeError, corank.CorankError, grpc.RpcError) as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(client_rate, stub_rate)
