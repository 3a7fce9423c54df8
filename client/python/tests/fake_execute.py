"""Execute of the test double: joins the parts of a job, runs its operators, and deals out the chunks of the results."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from fake_memory import Call, Failure, Places

from corank.v1 import array_pb2
from corank.v1 import corank_service_pb2 as service

CHUNK_BYTES = 1 << 20


class _Job:
    """The parts of one job, and what they share."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.call = Call()
        self.pieces: dict[int, list[tuple[int, bytes]]] = {}
        self.arrived = 0
        self.ready = threading.Event()
        self.failure: Exception | None = None
        self.results: list[Any] = []
        self.chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.lock = threading.Lock()


class Executor:
    """Runs plans.

    Attributes:
        fault: what is done wrong with the answer: "beyond" (a chunk outside of its result), "missing" (a chunk is left
            out), "stranger" (a chunk of no stream), "no result", "count" (a result says that it is shorter than it is).
        fail_after: fails the call with this status once so many chunks have come.
        break_off: when set, one call ends after so many chunks of its answer, and asks to be made again.
        hold: when set, waits for it before it answers.
        largest_chunk: bytes of the largest chunk that came.
        calls: calls that began, and that now run.
    """

    def __init__(self, places: Places, functions: dict[str, Callable[[Any], Any]]) -> None:
        self._places, self._functions = places, functions
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self.fault = ""
        self.fail_after: tuple[int, grpc.StatusCode] | None = None
        self.break_off = 0
        self.hold: threading.Event | None = None
        self.largest_chunk = 0
        self.calls = self.running = 0
        self.plans: list[Any] = []
        self.peers: set[str] = set()
        self.chunk_order: list[int] = []

    def execute(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """The method."""
        with self._lock:
            self.calls += 1
            self.running += 1
        try:
            yield from self._execute(requests, context)
        finally:
            with self._lock:
                self.running -= 1

    def _execute(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        plan = next(requests).plan
        with self._lock:
            self.plans.append(plan)
            self.peers.add(context.peer())
            job = self._jobs.setdefault(plan.job_id, _Job(plan.parts or 1)) if plan.job_id else _Job(1)
        try:
            self._take(job, requests)
        except Failure as failure:
            job.failure = failure
            job.ready.set()
            raise
        with job.lock:
            job.arrived += 1
            last = job.arrived == job.parts
        if last:
            try:
                self._run(plan, job)
            except Exception as error:
                job.failure = error
            job.ready.set()
        while not job.ready.wait(0.01):
            if not context.is_active():
                return
        if job.failure is not None:
            raise job.failure
        if self.hold is not None:
            while not self.hold.wait(0.01):
                if not context.is_active():
                    return
        while True:
            try:
                chunk = job.chunks.get_nowait()
            except queue.Empty:
                break
            yield service.ExecuteResponse(chunk=chunk)
            self.break_off -= 1
            if self.break_off == 0:
                raise Failure(grpc.StatusCode.UNAVAILABLE, "broken off", retry_after=0.001)
        if self.fault != "no result":
            for result in job.results:
                if self.fault == "count":
                    result.sort.keys.count -= 1
                yield service.ExecuteResponse(result=result)

    def _take(self, job: _Job, requests: Iterator[Any]) -> None:
        last: dict[int, int] = {}
        for came, request in enumerate(requests, 1):
            chunk = request.chunk
            if self.fail_after is not None and came >= self.fail_after[0]:
                raise Failure(self.fail_after[1], "in mid-stream")
            with job.lock:
                self.largest_chunk = max(self.largest_chunk, len(chunk.data))
                self.chunk_order.append(chunk.stream_id)
                if last.get(chunk.stream_id, -1) >= chunk.first_element:
                    raise Failure(grpc.StatusCode.INVALID_ARGUMENT, "chunk out of order")
                last[chunk.stream_id] = chunk.first_element
                job.pieces.setdefault(chunk.stream_id, []).append((chunk.first_element, chunk.data))

    def _run(self, plan: Any, job: _Job) -> None:
        for stream_id, pieces in job.pieces.items():
            job.call.came[stream_id] = b"".join(data for _, data in sorted(pieces))
        for operation in plan.operations:
            name = operation.WhichOneof("operation")
            request = getattr(operation, name)
            self._places.bring(request, job.call)
            response = self._functions[name](request)
            self._places.deliver(name, request, response, job.call)
            result = service.OperationResult()
            getattr(result, name).CopyFrom(response)
            job.results.append(result)
        chunks = []
        for stream_id, (data, width) in job.call.go.items():
            step = max(1, min(CHUNK_BYTES, -(-len(data) // 4)) // width) * width
            for at in range(0, len(data), step):
                chunks.append(
                    array_pb2.ArrayChunk(stream_id=stream_id, first_element=at // width, data=data[at : at + step])
                )
        if chunks and self.fault == "beyond":
            chunks[-1].first_element += 1
        elif chunks and self.fault == "missing":
            chunks.pop()
        elif chunks and self.fault == "stranger":
            chunks[-1].stream_id = 99
        for chunk in chunks:
            job.chunks.put(chunk)
