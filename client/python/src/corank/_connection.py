"""Does calls of any operator: chooses places, sends messages, retries, and reports costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np

from corank import _errors as errors
from corank import _forks as forks
from corank._call import Name, unary
from corank._channels import Channels
from corank._elements import whole
from corank._kept import Sharded, StoredArray
from corank._memory import most_bytes
from corank._options import (
    MERGE_ALGORITHMS,
    PRIORITIES,
    SORT_ALGORITHMS,
    CallOptions,
    Settings,
    choice,
)
from corank._placing import SMALL_BYTES, Demand, Placed, Placing, Step, task_bytes
from corank._progress import Display, Progress
from corank._receivers import Answer
from corank._regions import Regions, RegionsLost
from corank._results import call_stats
from corank._retry import Limit, Repeat
from corank._stream import Job
from corank._task import Task
from corank._text import size
from corank._wire import decode, encode, nested, parts_of
from corank.v1 import corank_service_pb2 as service

INLINE_BYTES = 64 << 20
"""Arrays of a call that take more travel in chunks or in shared memory, unless it says otherwise."""
SHARED_BYTES = 512 << 10
"""On the server's host: arrays of a call that take more travel in shared memory. Measured beside an H200, where a
message of 1 MiB takes twice as long."""
VIEWED_BYTES = 8 << 20
"""The same limit for copy=False, where each result holds a registered region."""
MANY_BYTES = 128 << 20
"""Streamed arrays that take more travel over several connections."""
CONNECTIONS = 4
PROGRESS_BYTES = 1 << 20
"""Calls on less show no progress unless asked to: the thread that draws would cost more than they do."""
_MESSAGE_SLACK = 64 << 10  # what a message has beside arrays
_OPERATIONS = service.Plan.DESCRIPTOR.fields_by_name["operations"].number
_NO_ANSWER = (errors.DeadlineExceeded, errors.Cancelled)
_NO_ROOM = (errors.ResourceExhausted, errors.Unavailable)
"""Errors of a server that may give a region later."""


class Connection(Channels):
    """Calls the server for a client; see ConnectOptions for the arguments."""

    def __init__(
        self,
        address: str | None = None,
        *,
        deadline: float | Literal["auto"] | None = "auto",
        max_message_bytes: int = 2**31 - 1,
        retries: int = 5,
        progress: Any = None,
        place: str = "auto",
        connections: int | None = None,
        traceparent: str | None = None,
        **security: Any,
    ) -> None:
        defaults: CallOptions = {"deadline": deadline, "retries": retries, "progress": progress}
        if place != "auto":
            defaults["place"] = place  # type: ignore[typeddict-item]
        if connections is not None:
            defaults["connections"] = connections
        if traceparent is not None:
            defaults["traceparent"] = traceparent
        super().__init__(address, whole("max_message_bytes", max_message_bytes, 1), defaults, **security)
        self._given = {**security, "max_message_bytes": max_message_bytes}
        self.regions = Regions(self)
        self._no_shared_memory = False
        forks.watch(self)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._security.get("token") is not None:
            raise TypeError(
                "a client with token= does not pickle, for the pickle would hold the token; give token_file=, or set "
                "CORANK_TOKEN where the client is used"
            )
        return _reconnected, (self.address, {**self._given, **self._defaults})

    def forked(self) -> None:
        """In a child of a fork: begins with its own connections and shared memory, and leaves the parent's alone."""
        super().forked()
        self.regions.forked()

    def close(self) -> None:
        """Ends the connections: calls in flight are cancelled, shared memory is only this process's from then on.

        The client cannot be used again.
        """
        self.regions.forget()
        super().close()

    def perform(
        self, steps: Sequence[Step], settings: Settings, execute: bool, limit: Limit | None = None
    ) -> list[list[Any]]:
        """Does operators one after the other in one call.

        Args:
            steps: the operators; more than one only with `execute`.
            settings: of the call.
            execute: use Execute, whatever places there are.
            limit: since when the deadline runs; None: since now.

        Returns:
            The results of each operator, in the order of its outputs.

        Raises:
            CorankError: it failed.
        """
        start = time.monotonic_ns()
        prepare(steps, settings)
        limit = limit or self.limit()
        may_lose: set[type[Exception]] = {RegionsLost, _ScratchLost}
        while True:
            try:
                return self._attempt(steps, settings, execute, start, limit, _ScratchLost in may_lose)
            except (RegionsLost, _ScratchLost) as lost:
                # The server may still write into the old memory, which nobody reads; the next try has other memory.
                if type(lost) not in may_lose:
                    cause = lost.__cause__ or lost
                    raise cause from cause.__cause__
                may_lose.remove(type(lost))

    def _attempt(
        self, steps: Sequence[Step], settings: Settings, execute: bool, start: int, limit: Limit, may_move: bool
    ) -> list[list[Any]]:
        placing = Placing(self.regions, settings, limit)
        if settings.place == "cuda_ipc" and not placing.has_gpu(steps):
            raise errors.InvalidArgument("place: 'cuda_ipc' needs an input or out= on the GPU", field="place")
        demand = placing.demand(steps)
        progress = Progress(f"corank {', '.join(step.task.method for step in steps)}, {self.address}")
        with ExitStack() as stack:
            if settings.progress is not None or task_bytes(steps) > PROGRESS_BYTES:
                stack.enter_context(Display(progress, settings.progress))
            limit.seconds = self.deadline(settings, max(demand.send, demand.receive))
            mode = self.mode(settings, demand, execute, limit)
            if mode != "inline":
                self.server(limit)
            if mode == "shared_memory" and demand.scratch > 0:
                try:
                    waits = settings.place == "shared_memory"
                    placing.use_scratch(stack.enter_context(self.regions.scratch(demand.scratch, limit, waits)))
                except errors.CorankError as error:
                    if settings.place == "shared_memory" or isinstance(error, _NO_ANSWER):
                        raise
                    # The address only looks local (a tunnel), or there is no room now: the answer's stats say so.
                    self._no_shared_memory = not isinstance(error, _NO_ROOM)
                    mode = self.mode(settings, demand, execute, limit, shared_memory=False)
            if mode == "stream":
                placing.use_streams()
            placed = placing.put(steps)
            try:
                call = self._execute if execute or placing.sources or placing.sinks else self._unary
                answers, cost = call(placing, placed, settings, limit, progress)
            except errors.NotFound as error:
                # A single operator finds its regions before it begins; a chain may have overwritten inputs before.
                whole = len(placed) == 1 or placing.repeat(placed) is not Repeat.NEVER
                if whole and self.regions.lost(placing.places, limit):
                    raise RegionsLost from error
                raise
            except errors.Unavailable as error:
                self.forget_server()
                self._no_shared_memory = False
                if placing.may_move and error._failure is errors.Failure.LOST and settings.retries > 0 and may_move:
                    raise _ScratchLost from error
                raise
            results = results_of(placed, answers)
        elapsed_ns = time.monotonic_ns() - start
        report(placed, answers, settings, elapsed_ns, placing.place, cost)
        return results

    def mode(self, settings: Settings, demand: Demand, execute: bool, limit: Limit, shared_memory: bool = True) -> str:
        """The place of arrays that have none of their own: "inline", "stream" or "shared_memory"."""
        if settings.place in ("inline", "stream", "shared_memory"):
            return settings.place
        nbytes = max(demand.send, demand.receive)
        if execute:
            return "stream"
        if nbytes <= SMALL_BYTES and demand.receive_known:
            return "inline"
        info = self.server(limit)
        local = (
            self.is_local and not self.may_be_several and "shared_memory" in info.places and not self._no_shared_memory
        )
        least = SHARED_BYTES if settings.copy else VIEWED_BYTES
        if shared_memory and local and nbytes > least and demand.receive_known:
            return "shared_memory"
        limits = info.limits
        most_in = min(limits.max_request_bytes or INLINE_BYTES, self._max_message_bytes) - _MESSAGE_SLACK
        most_out = min(limits.max_response_bytes or INLINE_BYTES, self._max_message_bytes) - _MESSAGE_SLACK
        fits = demand.send <= min(INLINE_BYTES, most_in) and demand.receive <= min(INLINE_BYTES, most_out)
        return "stream" if "stream" in info.places and not fits else "inline"

    def encoded(self, placed: Placed) -> bytes:
        """A request as a message.

        Raises:
            InvalidArgument: it is too large.
        """
        data = encode(placed.task.request, placed.parts)
        if len(data) > self._max_message_bytes:
            raise errors.InvalidArgument(
                f"{placed.task.method}: the request has {len(data):,} bytes, more than max_message_bytes, "
                f"{self._max_message_bytes:,}"
            )
        return data

    def _unary(
        self, placing: Placing, placed: Sequence[Placed], settings: Settings, limit: Limit, progress: Progress
    ) -> tuple[list[Answer], dict[str, Any]]:
        task, data = placed[0].task, self.encoded(placed[0])
        caller = self.caller(task.method, limit.seconds, settings.traceparent)
        (response, request_id), tries = self.retrier.run(
            lambda remaining: unary(self, Name(task.method), data, caller, remaining),
            deadline=limit.left(),
            retries=settings.retries,
            repeat=placing.repeat(placed),
            reload=caller.reload,
            before_again=placing.again,
            progress=progress,
        )
        cost = {
            "request_bytes": len(data),
            "response_bytes": len(response),
            "attempts": tries,
            "request_id": request_id,
        }
        return [answer_of(task, response)], cost

    def _execute(
        self, placing: Placing, placed: Sequence[Placed], settings: Settings, limit: Limit, progress: Progress
    ) -> tuple[list[Answer], dict[str, Any]]:
        operations = b""
        for each in placed:
            number = service.Operation.DESCRIPTOR.fields_by_name[each.task.operation].number
            operations += nested(_OPERATIONS, nested(number, encode(each.task.request, each.parts)))
        progress.to_send = sum(source.data.nbytes for source in placing.sources)
        outputs = [output for each in placed for output in each.task.outputs if output.count is not None]
        progress.to_receive = sum(output.nbytes or 0 for output in outputs)
        limits = self.server(limit).limits
        wanted = 1 if self.may_be_several else settings.connections
        if wanted is None:
            wanted = CONNECTIONS if max(progress.to_send, progress.to_receive) > MANY_BYTES else 1
        count = min(wanted, max(limits.max_parts, 1)) if placing.sources else 1
        methods = [self.method("Execute", "stream_stream", connection=at) for at in range(count)]
        job = Job(methods, operations, placing.sources, placing.sinks, self.chunk_bytes(limit), progress)
        name = placed[0].task.method if len(placed) == 1 else "Execute"
        caller = self.caller(name, limit.seconds, settings.traceparent)

        def once(remaining: float | None) -> list[bytes]:
            try:
                return job.run(caller, remaining)
            except errors.CorankError as error:
                if len(placed) == 1:
                    error._name_argument()
                raise

        results, tries = self.retrier.run(
            once,
            deadline=limit.left(),
            retries=settings.retries,
            repeat=placing.repeat(placed),
            reload=caller.reload,
            before_again=placing.again,
            progress=progress,
        )
        if len(results) != len(placed):
            raise errors.Internal(f"{name}: the server answered {len(results)} results for {len(placed)} operations")
        answers = []
        for each, result in zip(placed, results):
            fields = {number: (begin, end) for number, begin, end in parts_of(result)}
            number = service.OperationResult.DESCRIPTOR.fields_by_name[each.task.operation].number
            if number not in fields:
                raise errors.Internal(f"{name}: the server answered another operation's result")
            begin, end = fields[number]
            answers.append(answer_of(each.task, result[begin:end]))
        cost = {
            "request_bytes": job.request_bytes,
            "response_bytes": job.response_bytes,
            "attempts": tries,
            "request_id": job.request_id,
        }
        return answers, cost


def _reconnected(address: str, options: dict[str, Any]) -> Connection:
    """A connection like the one that was pickled."""
    return Connection(address, **options)


class _ScratchLost(Exception):
    """The connection broke while the server worked in memory that was made for the call."""


def prepare(steps: Sequence[Step], settings: Settings) -> None:
    """Checks where results go, and tells the requests what the settings say.

    Raises:
        InvalidArgument: results do not go there.
        ResourceExhausted: they do not fit into the memory of this machine.
    """
    for step in steps:
        _check_length("out", step.out, step.task)
        _check_apart(step.out or ())
        _check_size(step)
        if settings.priority is not None:
            step.task.request.options.priority = choice("priority", settings.priority, PRIORITIES)
        if settings.request_id is not None:
            step.task.request.options.request_id = settings.request_id


def results_of(placed: Sequence[Placed], answers: Sequence[Answer]) -> list[list[Any]]:
    """The results of each operator, in the order of its outputs."""
    return [[receiver.result(answer) for receiver in each.receivers] for each, answer in zip(placed, answers)]


def report(
    placed: Sequence[Placed],
    answers: Sequence[Answer],
    settings: Settings,
    elapsed_ns: int,
    place: str,
    cost: dict[str, Any],
) -> None:
    """Tells on_stats= what a call cost."""
    if settings.on_stats is None:
        return
    for each, answer in zip(placed, answers):
        algorithms = {"Sort": SORT_ALGORITHMS, "Merge": MERGE_ALGORITHMS}.get(each.task.method, {})
        settings.on_stats(call_stats(each.task.method, answer.message, algorithms, elapsed_ns, place, cost))


def _check_length(option: str, given: Sequence[Any] | None, task: Task) -> None:
    if given is not None and len(given) != len(task.outputs):
        raise errors.InvalidArgument(
            f"{option}: {len(given)} for the {len(task.outputs)} results of {task.method}", field=option
        )


def _check_size(step: Step) -> None:
    """Refuses a call whose new arrays do not fit into the memory of this machine."""
    new = 0
    for at, output in enumerate(step.task.outputs):
        if step.out is None and (step.kept is None or step.kept[at] is None):
            new += (output.count or 0) * output.result_dtype.itemsize
    most = most_bytes()
    if most is not None and new > most:
        raise errors.ResourceExhausted(
            f"{step.task.method}: the result has {size(new)}, more than the memory of this machine, {size(most)}"
        )


def _check_apart(out: Sequence[Any]) -> None:
    """Refuses results that would go over each other."""
    for at, target in enumerate(out):
        for before in out[:at]:
            arrays = isinstance(target, np.ndarray) and isinstance(before, np.ndarray)
            if before is target or (arrays and np.may_share_memory(before, target)):
                raise errors.InvalidArgument(
                    f"out: results {out.index(before)} and {at} overlap; give each an array of its own", field="out"
                )


def answer_of(task: Task, response: bytes) -> Answer:
    """A response.

    Raises:
        Internal: it is none.
    """
    try:
        message, found = decode(response, task.response)
    except ValueError as error:
        raise errors.Internal(f"{task.method}: the answer is not a {task.response.__name__}: {error}") from error
    return Answer(message, found)


def kept_handles(connection: Connection, task: Task, names: Sequence[str]) -> tuple[StoredArray, ...]:
    """The handles of results that are kept under `names`.

    Raises:
        InvalidArgument: there is another number of results, or a name for two of them.
        TypeError: positions are wanted in a dtype in which the server does not make them.
    """
    _check_length("keep", names, task)
    if len(set(names)) < len(names):
        raise errors.InvalidArgument(f"keep: a name is there twice in {names}; each result needs its own", field="keep")
    for output in task.outputs:
        if output.as_dtype is not None and output.as_dtype not in (output.dtype, np.dtype(np.intp)):
            raise TypeError(f"index_dtype: positions are kept as {output.dtype}, not as {output.as_dtype}")
    return tuple(
        StoredArray(connection, name, output.type, output.dtype, output.count or 0, isinstance(name, Sharded))
        for name, output in zip(names, task.outputs)
    )
