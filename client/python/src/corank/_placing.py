"""Gives arrays their places: in messages, in chunks, in shared memory, on the GPU, or kept by the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corank import _cuda as cuda
from corank import _errors as errors
from corank._copying import bytes_of, copy_into
from corank._elements import alignment
from corank._kept import StoredArray
from corank._receivers import Inline, Kept, OnGpu, Receiver, Shared, Streamed, check_target, gpu_target
from corank._regions import Place, RegionsLost, scratch_offset
from corank._retry import Limit, Repeat
from corank._stream import MAX_STREAMS, Sink, Source
from corank._task import Output, Task, leaves
from corank._wire import OutgoingArray, OutgoingMessage, Part
from corank.v1 import array_pb2

if TYPE_CHECKING:
    from corank._options import Settings
    from corank._regions import Regions, Scratch

SMALL_BYTES = 64 << 10
"""Arrays of no more travel in messages, whatever the others do, but for rows that the server works on in pieces."""
_IN_PIECES = {"Sort": ("keys", "values"), "Merge": ("keys", "values")}
"""Methods, and their fields that the server takes in pieces if all of them, and all results, are streams."""


class Step(NamedTuple):
    """An operator of a call."""

    task: Task
    out: tuple[Any, ...] | None = None
    """The caller's arrays for its results."""
    kept: tuple[StoredArray | None, ...] | None = None
    """The handles of the arrays that its results are kept as; None: that result is not kept."""


class Placed(NamedTuple):
    """A task whose arrays have places."""

    task: Task
    parts: list[Part]
    receivers: list[Receiver]


class Demand(NamedTuple):
    """Bytes that the arrays of a call need, if they have no place of their own."""

    send: int
    receive: int
    receive_known: bool
    scratch: int


class Placing:
    """Gives every array of one attempt at a call its place.

    Args:
        regions: the client's.
        settings: of the call.
        limit: the call's.
    """

    def __init__(self, regions: Regions, settings: Settings, limit: Limit) -> None:
        self._regions, self._settings, self._limit = regions, settings, limit
        self._scratch: Scratch | None = None
        self._streams = False
        self._taken: list[tuple[int, str]] = []  # (bytes, place) of each array
        self._streamed: set[int] = set()  # ids of the leaves that travel in chunks
        self._copies: list[tuple[NDArray[np.uint8], OutgoingArray]] = []
        self._inputs: list[OutgoingArray] = []  # of all operators
        self.may_move = False
        """Whether only memory made for this attempt keeps the call from being repeated after it was lost."""
        self.sources: list[Source] = []
        """The arrays to send in chunks."""
        self.sinks: dict[int, Sink] = {}
        """The results that come back in chunks, by stream_id."""
        self.places: list[Place] = []
        """The places of arrays in registered regions."""

    def demand(self, steps: Sequence[Step]) -> Demand:
        """The needs of those arrays of `steps` that have no place of their own."""
        send = receive = scratch = 0
        known = True
        plain: list[dict[str, memoryview]] = []
        for step in steps:
            named: dict[str, memoryview] = {}
            for leaf in leaves(step.task.parts):
                if leaf.data is not None and self._found(leaf) is None:
                    send += leaf.data.nbytes
                    if leaf.data.nbytes > SMALL_BYTES:
                        scratch = scratch_offset(scratch, self._width(leaf)) + leaf.data.nbytes
                    named[leaf.field] = leaf.data
            plain.append(named)
        for step, named in zip(steps, plain):
            like = self._gpu_input(step.task)
            for at, output in enumerate(step.task.outputs):
                if self._has_place(step, output, at, like):
                    continue
                size = output.nbytes or 0
                known = known and output.nbytes is not None
                receive += size
                if size > SMALL_BYTES and not self._in_place(step.task, output, named.get(output.field)):
                    scratch = scratch_offset(scratch, output.dtype.itemsize) + size
        return Demand(send, receive, known, scratch)

    def use_streams(self) -> None:
        """Arrays with no place of their own travel in chunks."""
        self._streams = True

    def use_scratch(self, scratch: Scratch) -> None:
        """Arrays with no place of their own are copied into `scratch`, and results out of it."""
        self._scratch = scratch

    @staticmethod
    def has_gpu(steps: Sequence[Step]) -> bool:
        """Whether an array of the caller is on a GPU."""
        inputs = any(isinstance(leaf.held, cuda.GpuArray) for step in steps for leaf in leaves(step.task.parts))
        return inputs or any(cuda.gpu_array(out) is not None for step in steps for out in step.out or ())

    @property
    def place(self) -> str:
        """The place of the largest array of the call."""
        return max(self._taken, default=(0, "inline"))[1]

    def again(self) -> None:
        """Prepares another try."""
        # One that was broken off may have written results over inputs.
        for block, leaf in self._copies:
            _write(block, leaf)

    def repeat(self, placed: Sequence[Placed]) -> Repeat:
        """Which retries are safe, given the places of the arrays."""
        repeat = Repeat.ALWAYS
        for each in placed:
            written = [receiver for receiver in each.receivers if receiver.outlives]
            # Any operator's input counts: in a chain, one may overwrite the input of an earlier or a later one.
            if any(receiver.is_over(leaf) for receiver in written for leaf in self._inputs):
                return Repeat.NEVER
            if written:
                # An earlier try, still under way on a server that cannot be reached, could write after the later one.
                repeat = Repeat.UNLESS_LOST
        self.may_move = repeat is Repeat.ALWAYS and self._scratch is not None
        return repeat if self._scratch is None else Repeat.UNLESS_LOST

    def put(self, steps: Sequence[Step]) -> list[Placed]:
        """Gives the arrays of all operators their places.

        Raises:
            TypeError: a result does not fit into its `out`.
            InvalidArgument: the same; or an array cannot be where it should.
            RegionsLost: memory that was registered for the call is not any more.
            CorankError: the server refused memory on the GPU, or did not answer in time.
        """
        # Inputs come first, because the place of a result depends on all inputs, also those of later operators.
        self._inputs = [leaf for step in steps for leaf in leaves(step.task.parts)]
        self._streamed = self._leaves_to_stream(steps) if self._streams else set()
        inputs = [self._put_inputs(step.task) for step in steps]
        return [
            Placed(step.task, parts, self._put_outputs(step, in_scratch))
            for step, (parts, in_scratch) in zip(steps, inputs)
        ]

    # Inputs.

    def _put_inputs(self, task: Task) -> tuple[list[Part], dict[str, NDArray[np.uint8]]]:
        """The arrays of an operator with their places, and those in scratch memory by field."""
        in_scratch: dict[str, NDArray[np.uint8]] = {}
        parts: list[Part] = []
        for part in task.parts:
            if isinstance(part, OutgoingMessage):
                parts.append(part._replace(arrays=[self._input(leaf, {}) for leaf in part.arrays]))
            else:
                parts.append(self._input(part, in_scratch))
        return parts, in_scratch

    @staticmethod
    def _width(leaf: OutgoingArray) -> int:
        return leaf.data.nbytes // leaf.header.count if leaf.data is not None and leaf.header.count else 1

    def _found(self, leaf: OutgoingArray) -> Place | None:
        if (
            leaf.data is None
            or leaf.data.nbytes == 0
            or self._settings.place not in ("auto", "shared_memory", "cuda_ipc")
        ):
            return None
        return self._regions.find(leaf.data, alignment(self._width(leaf)))

    def _input(self, leaf: OutgoingArray, in_scratch: dict[str, NDArray[np.uint8]]) -> OutgoingArray:
        if leaf.data is None:
            return self._remote_input(leaf)
        size, width = leaf.data.nbytes, self._width(leaf)
        found = self._found(leaf)
        if found is None and self._scratch is not None and size > SMALL_BYTES:
            block = self._scratch.take(size, width)
            _write(block, leaf)
            self._copies.append((block, leaf))
            in_scratch[leaf.field] = block
            found = self._in_region(block, width)
        if found is not None:
            header = _copied(leaf.header)
            header.shared_memory.region, header.shared_memory.offset_bytes = found.region, found.offset
            self.places.append(found)
            self._taken.append((size, "shared_memory"))
            return OutgoingArray(leaf.field, header, None)
        if leaf.put is not None:
            leaf.put(np.frombuffer(leaf.data, np.uint8))
        if id(leaf) in self._streamed:
            header = _copied(leaf.header)
            header.stream.stream_id = stream_id = len(self.sources)
            self.sources.append(Source(stream_id, leaf.data, width))
            self._taken.append((size, "stream"))
            return OutgoingArray(leaf.field, header, None)
        self._taken.append((size, "inline"))
        return leaf

    def _remote_input(self, leaf: OutgoingArray) -> OutgoingArray:
        header = _copied(leaf.header)
        if isinstance(leaf.held, StoredArray):
            header.stored.CopyFrom(leaf.held._place())
            self._taken.append((leaf.held.nbytes, "stored"))
        elif isinstance(leaf.held, cuda.GpuArray) and leaf.held.count > 0:
            leaf.held.wait()
            found = self._regions.gpu(leaf.held, self._limit)
            header.cuda_ipc.region, header.cuda_ipc.offset_bytes = found.region, found.offset
            self.places.append(found)
            self._taken.append((leaf.held.nbytes, "cuda_ipc"))
        return OutgoingArray(leaf.field, header, None)

    def _leaves_to_stream(self, steps: Sequence[Step]) -> set[int]:
        """The ids of the inputs to send in chunks: the largest, where they would be more than a call may have."""
        sizes: list[tuple[int, int]] = []
        for step in steps:
            own = [
                (leaf.data.nbytes, leaf.field, id(leaf))
                for leaf in leaves(step.task.parts)
                if leaf.data is not None and self._found(leaf) is None
            ]
            together = _IN_PIECES.get(step.task.method, ())
            is_large = any(size > SMALL_BYTES and field in together for size, field, _ in own)
            sizes += [
                (size, leaf) for size, field, leaf in own if size > SMALL_BYTES or (is_large and field in together)
            ]
        return {leaf for _, leaf in sorted(sizes, reverse=True)[:MAX_STREAMS]}

    def _in_region(self, block: NDArray[np.uint8], width: int) -> Place:
        """The place of a part of the scratch memory."""
        found = self._regions.find(bytes_of(block), alignment(width))
        if found is None:
            raise RegionsLost from errors.NotFound("shared memory: the server let go of it")
        return found

    # Outputs.

    def _put_outputs(self, step: Step, in_scratch: dict[str, NDArray[np.uint8]]) -> list[Receiver]:
        like = self._gpu_input(step.task)
        receivers = []
        for at, output in enumerate(step.task.outputs):
            receiver = self._receiver(step, output, at, like, in_scratch.get(output.field))
            output.holder.ClearField(output.destination)
            if receiver.place is not None:
                getattr(output.holder, output.destination).CopyFrom(receiver.place)
            receivers.append(receiver)
        return receivers

    def _gpu_input(self, task: Task) -> cuda.GpuArray | None:
        if self._settings.place not in ("auto", "cuda_ipc"):
            return None
        return next((leaf.held for leaf in leaves(task.parts) if isinstance(leaf.held, cuda.GpuArray)), None)

    @staticmethod
    def _target(step: Step, at: int) -> Any:
        return None if step.out is None else step.out[at]

    def _has_place(self, step: Step, output: Output, at: int, like: cuda.GpuArray | None) -> bool:
        target = self._target(step, at)
        if step.kept is not None and step.kept[at] is not None:
            return True
        if target is not None:
            return not isinstance(target, np.ndarray) or self._target_place(target, output) is not None
        return like is not None

    def _target_place(self, target: NDArray[Any], output: Output) -> Place | None:
        if target.dtype != output.dtype or not target.flags.c_contiguous or target.nbytes == 0:
            return None
        if self._settings.place not in ("auto", "shared_memory"):
            return None
        if output.room is not None and target.size < output.room:
            return None  # the server would refuse it, although the result may fit
        return self._regions.find(bytes_of(target), alignment(output.dtype.itemsize))

    @staticmethod
    def _in_place(task: Task, output: Output, data: memoryview | None) -> bool:
        """Whether a result takes its input's scratch memory: of Sort, which reads all before it writes.

        A merge of tables that the device cannot hold reads them while it writes.
        """
        return (
            task.method == "Sort"
            and data is not None
            and output.nbytes is not None
            and SMALL_BYTES < output.nbytes <= data.nbytes
            and all(leaf.field != "run_offsets" for leaf in leaves(task.parts))
        )

    def _receiver(
        self,
        step: Step,
        output: Output,
        at: int,
        like: cuda.GpuArray | None,
        source: NDArray[np.uint8] | None,
    ) -> Receiver:
        size, target = output.nbytes or 0, self._target(step, at)
        kept = None if step.kept is None else step.kept[at]
        if kept is not None:
            self._taken.append((size, "stored"))
            return Kept(output, kept)
        if target is not None and not isinstance(target, np.ndarray):
            return self._on_gpu(output, gpu_target(target, output), convert=False)
        if target is None and like is not None:
            if output.room is None:
                raise errors.InvalidArgument(
                    "out: how long this result is, is not known before the answer; say where it goes with out="
                )
            made = cuda.empty_like(like, output.room, output.dtype, output.type)
            return self._on_gpu(output, gpu_target(made, output), convert=True)
        if target is not None:
            check_target(target, output)
            found = None if self._is_sent(target) else self._target_place(target, output)
            if found is not None:
                self.places.append(found)
                self._taken.append((size, "shared_memory"))
                return Shared(output, found, target, None, False, outlives=True)
        if self._scratch is not None and size > SMALL_BYTES:
            reuse = source is not None and self._in_place(step.task, output, bytes_of(source))
            block = source[:size] if reuse and source is not None else self._scratch.take(size, output.dtype.itemsize)
            found = self._in_region(block, output.dtype.itemsize)
            self.places.append(found)
            self._taken.append((size, "shared_memory"))
            if target is None and not self._settings.copy and output.result_dtype == output.dtype:
                self._scratch.give_away()
                return Shared(output, found, block.view(output.dtype), None, False, outlives=False)
            return Shared(output, found, block.view(output.dtype), target, True, outlives=False)
        if self._streams and any(map(_is_large, step.task.outputs if step.task.method in _IN_PIECES else [output])):
            stream_id = len(self.sinks)  # of its own: inputs and results are counted apart
            receiver = Streamed(output, stream_id, self._unshared(target))
            self.sinks[stream_id] = receiver.sink
            self._taken.append((size, "stream"))
            return receiver
        self._taken.append((size, "inline"))
        return Inline(output, target, self._settings.copy)

    def _is_sent(self, target: NDArray[Any]) -> bool:
        """Whether chunks of an input are sent from there: the server would write over those that are still to come."""
        return any(np.may_share_memory(np.frombuffer(source.data, np.uint8), target) for source in self.sources)

    def _unshared(self, target: NDArray[Any] | None) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """(where chunks go, where they are copied at last): no input may change that is read yet, or sent once more."""
        if target is None:
            return None, None
        data = [leaf.data for leaf in self._inputs if leaf.data is not None and leaf.data.nbytes > 0]
        shares = any(np.may_share_memory(np.frombuffer(each, np.uint8), target) for each in data)
        return (None, target) if shares else (target, None)

    def _on_gpu(self, output: Output, target: cuda.GpuArray, convert: bool) -> Receiver:
        self._taken.append((target.nbytes, "cuda_ipc"))
        if target.count == 0:
            return OnGpu(output, None, target, convert)
        target.wait()
        found = self._regions.gpu(target, self._limit)
        self.places.append(found)
        return OnGpu(output, found, target, convert)


def _write(block: NDArray[np.uint8], leaf: OutgoingArray) -> None:
    """Writes the bytes of an input to their place."""
    if leaf.put is not None:
        leaf.put(block)
    elif leaf.data is not None:
        copy_into(block, np.frombuffer(leaf.data, np.uint8))


def _copied(header: array_pb2.Array) -> array_pb2.Array:
    out = array_pb2.Array()
    out.CopyFrom(header)
    return out


def _is_large(output: Output) -> bool:
    """Whether a result is too long for a message, or may be."""
    return output.nbytes is None or output.nbytes > SMALL_BYTES


def task_bytes(steps: Sequence[Step]) -> int:
    """Bytes of all inputs, wherever they are."""
    sizes = (leaf.held if leaf.data is None else leaf.data for step in steps for leaf in leaves(step.task.parts))
    return sum(each.nbytes for each in sizes)
