"""The client: one method for each operator, and the memory that outlives a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from corank import _conversion as conversion
from corank import _kept as kept
from corank._chains import Chain, Pending
from corank._connection import Connection, kept_handles
from corank._copying import copy_into
from corank._elements import movable, whole
from corank._intervals import IntervalOperators
from corank._kept import StoredArray, StoredArrays
from corank._options import CallOptions
from corank._ordered import OrderedOperators
from corank._placing import Step
from corank._regions import SharedArray
from corank._results import ServerInfo
from corank._retry import Limit
from corank._task import Task, leaves

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Client(Connection, OrderedOperators[NDArray[Any]], IntervalOperators[NDArray[Any]]):
    """A connection to a corank server. Thread-safe: calls of several threads run at the same time.

    It connects at the first call and again when a connection breaks. Use it as a context manager, or call `close`.
    All methods raise CorankError  for what fails, TypeError for dtypes that do not fit, and take
    the keywords of `CallOptions`. Arrays are one-dimensional; inputs are not changed. Counts and offsets are in
    elements. Index arrays come back as numpy.intp, like NumPy's; `index_dtype=None` keeps the server's uint32 or
    uint64 and saves the conversion.

    In place of a NumPy array every operator takes a StoredArray (`store`, `keep=`) and whatever is on the server's
    GPU and has `__cuda_array_interface__` or `__dlpack__` (CuPy, PyTorch, Numba); results of the latter are new arrays
    of the same library. NumPy arrays travel in one message, in chunks, or through shared memory, by their size and
    where the server is; arrays of `empty_shared` and `share` are not copied at all. `Stats.place` says what was taken.

    Args:
        address: HOST:PORT of the server, or unix:PATH; None: CORANK_SERVER of the environment, else 127.0.0.1:50051.
        deadline: seconds that a call may take, retries included, unless it says otherwise; None: no limit; "auto": 60,
            and one more for every 16 MiB.
        max_message_bytes: the largest request to send and response to take, in bytes. The server has its own limit.
        retries: how often to try again, with growing pauses, when the server is too busy, says when to come back, or
            cannot be reached; never where a call could do harm when it is done twice.
        progress: None: show how far a call on more than 1 MiB is on stderr, if that is a terminal and the call takes a
            second or more. True: show it at once, and off a terminal as a line every 5 seconds. False: do not. A
            function: is called with a `Progress` about ten times a second, on another thread, and once at the end.
        place: how NumPy arrays travel unless a call says otherwise; see CallOptions.
        connections: over how many connections streamed arrays travel; None: 4 for more than 128 MiB, else 1.
        traceparent: W3C traceparent of calls that name none.
        **security: TLS and token; see `corank._options.Security`.
    """

    def _perform(self, task: Task, options: CallOptions) -> Any:
        for leaf in leaves(task.parts):
            if isinstance(leaf.held, Pending):
                raise leaf.held.misplaced()
        settings = self.settings(task.method, options)
        handles = None if settings.keep is None else kept_handles(self, task, settings.keep)
        results = self.perform([Step(task, settings.out, handles)], settings, execute=False)
        return task.finish(results[0])

    def chain(self, **options: Unpack[CallOptions]) -> Chain:
        """A context in which operators are put together, to run on the server in one call when it is left.

            with client.chain() as chain:
                ordered = chain.sort(new)
                merged = chain.merge([ordered, client.stored("history")])
                first = chain.gather(merged, [0], [100])
            first.result()

        What a later operator takes (`ordered`, `merged`) never leaves the server; all other results come back. To go on
        with a result, pass what the operator returned, not its out=: an array that an operator takes is sent as it was
        before the chain. Only shared arrays, and those on the GPU, are read and written where they are, one operator
        after the other; such a chain that goes over an input is not tried again.

        Args:
            **options: of the whole call; `out` and `keep` are given to its operators.
        """
        return Chain(self, options)

    def empty_shared(self, count: SupportsIndex, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """A new array of zeros in memory that this process shares with the server.

        It, or dense parts of it, as input or as `out=` of any operator are not copied. The server lets go of it when
        the last array on it is gone, the client is closed, or this process ends. After a call that failed or was
        cancelled the server may write into the `out=` of that call for a moment longer.

        Args:
            count: number of elements, 0 or more.
            dtype: of fixed width, 1 to 256 bytes.

        Raises:
            TypeError: `count` is no integer, or elements have another width.
            InvalidArgument: `count` is negative.
            Unimplemented: the server takes no shared memory.
            ResourceExhausted: there is not that much shared memory.
        """
        wanted = movable("dtype", np.dtype(dtype))
        return self.regions.allocate(whole("count", count) * wanted.itemsize).view(wanted)

    def share(self, array: ArrayLike) -> SharedArray:
        """A copy of `array` in shared memory, as a context manager that yields a NumPy array; see `empty_shared`."""
        source = conversion.one_dimensional("array", array)
        shared = SharedArray(self.regions, source.size, movable("array", source.dtype))
        copy_into(shared.array, source)
        return shared

    def store(
        self,
        name: str,
        array: ArrayLike,
        *,
        expires: float | None = None,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> StoredArray:
        """Has the server keep an array under a name, in place of one that it keeps under it now.

        Args:
            name: 1 to 128 characters of [A-Za-z0-9._-].
            array: numbers, or records of 1 to 256 bytes.
            expires: seconds without use after which the server forgets it, more than 0, rounded up to whole ones; None:
                the server's default.
            dtype: read the elements' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: deadline and progress of CallOptions.

        Returns:
            A handle: every operator takes it in place of an array.
        """
        return kept.store(self, name, array, expires, dtype, self.settings("store", options, ("keep", "out")))

    def stored(self, name: str) -> StoredArray:
        """The handle of a kept array.

        Raises:
            NotFound: the server keeps no array of that name for this caller.
        """
        return kept.find(self, name)

    def arrays(self) -> StoredArrays:
        """All arrays that the server keeps for this caller, the bytes that they take, and how many they may take."""
        return kept.listed(self)

    def delete(self, array: StoredArray | str) -> None:
        """Has the server forget a kept array.

        Raises:
            NotFound: it keeps none of that name.
            CorankError: a request uses it (FAILED_PRECONDITION).
        """
        if isinstance(array, str):
            kept.delete(self, array)
        else:
            array.delete()

    def info(self, **options: Unpack[CallOptions]) -> ServerInfo:
        """What the server is and what it takes. Never waits behind other calls."""
        settings = self.settings("GetServerInfo", options)
        limit = Limit(self.retrier.clock, self.deadline(settings, 0))
        return self.ask(limit, settings.retries, settings.traceparent)[0]
