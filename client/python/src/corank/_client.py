"""The client: one method for each operator, and the memory that outlives a call."""

from __future__ import annotations

import difflib
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from corank import _conversion as conversion
from corank import _kept as kept
from corank._chains import Chain, Pending
from corank._connection import Connection, kept_handles
from corank._copying import copy_into
from corank._elements import movable, whole
from corank._errors import CorankError
from corank._futures import Threads
from corank._kept import StoredArray, StoredArrays
from corank._options import (
    CallOptions,
    ChainOptions,
    ConnectOptions,
    InfoOptions,
    Settings,
    StoreOptions,
    connect_options,
    options_of,
)
from corank._placing import Step
from corank._regions import SharedArray
from corank._results import ServerInfo
from corank._retry import Limit
from corank._signatures import optionless
from corank._tables import TableOperators
from corank._task import Task, leaves
from corank._typed import ArrayOperators

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


CALLS = (
    *(name for kind in (ArrayOperators, TableOperators) for name in dir(kind) if not name.startswith("_")),
    *("arrays", "delete", "empty_shared", "health", "info", "share", "store", "stored"),
)
"""The methods of a client that call the server."""


def method_of(client: Any, name: Any) -> Any:
    """The method of this name.

    Raises:
        ValueError: no method of this name calls the server.
    """
    if name not in CALLS:
        if getattr(name, "__name__", None) in CALLS:
            raise ValueError(f"submit: takes the name of a method, {name.__name__!r}, not the method")
        close = difflib.get_close_matches(str(name), CALLS, n=1)
        advice = f"did you mean {close[0]!r}?" if close else f"these do: {', '.join(CALLS)}"
        raise ValueError(f"submit: no method {name!r} calls the server; {advice}")
    return getattr(client, name)


def following_task(task: Task, error: CorankError) -> Task | None:
    """The call that follows one which failed so; None: none does."""
    return None if task.again is None else task.again(error)


def step_of(connection: Connection, task: Task, options: CallOptions) -> tuple[Step, Settings]:
    """A call of one operator, and its settings.

    Raises:
        TypeError: an input or keep= is not for such a call.
    """
    for leaf in leaves(task.parts):
        if isinstance(leaf.held, Pending):
            raise leaf.held._misplaced()
    settings = connection.settings(options)
    if task.is_shifted and settings.keep is not None:
        raise TypeError(conversion.NO_NAT)
    handles = None if settings.keep is None else kept_handles(connection, task, settings.keep)
    return Step(task, settings.out, handles), settings


class Client(ArrayOperators, TableOperators, options=CallOptions, result="NDArray"):
    """A connection to a corank server. Thread-safe: calls of several threads run at the same time.

    The client connects at the first call, and again when a connection breaks. Use it as a context manager, or call
    `close`. Every method raises CorankError when the call fails and TypeError for arrays of the wrong dtype. Arrays
    have one dimension, and the client never changes an input. Counts and offsets count elements. Positions come back as
    numpy.intp, like NumPy's; `index_dtype=None` keeps the server's uint32 or uint64 and saves the conversion.

    In place of a NumPy array every operator takes a StoredArray (`store`, `keep=`), and an array on the server's GPU
    that has `__cuda_array_interface__` or `__dlpack__` (CuPy, PyTorch, Numba); results of the latter are new arrays of
    the same library. NumPy arrays travel in one message, in chunks, or through shared memory, by their size and the
    server's place; arrays of `empty_shared` and `share` are not copied at all. `Stats.place` tells how they travelled.

    Args:
        address: HOST:PORT of the server, or unix:PATH; None: CORANK_SERVER of the environment, else 127.0.0.1:50051.
            Several numeric ones with commas take turns, and so do all addresses of dns:///NAME:PORT.
        **options: see ConnectOptions.

    Examples:
        >>> with corank.connect("127.0.0.1:50051") as client:
        ...     client.sort([3, 1, 2])
        array([1, 2, 3])
    """

    @connect_options
    def __init__(self, address: str | None = None, **options: Unpack[ConnectOptions]) -> None:
        self._connection = Connection(address, **options)
        self._threads = Threads()

    def __reduce__(self) -> tuple[Any, ...]:
        return _client_of, (self._connection,)

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return self._connection.address

    def close(self) -> None:
        """Ends the connections and cancels calls that run. Shared memory becomes ordinary memory of this process.

        The client cannot be used again.
        """
        self._connection.close()
        self._threads.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"corank.Client({self.address!r}{', closed' if self._connection.is_closed else ''})"

    def _perform(self, task: Task, options: CallOptions) -> Any:
        step, settings = step_of(self._connection, task, options)
        try:
            results = self._connection.perform([step], settings, execute=False)[0]
        except CorankError as error:
            following = following_task(task, error)
            if following is None:
                raise
        else:
            return task.finish(results)
        return self._perform(following, options)

    def submit(self, operator: str, *arguments: Any, **options: Any) -> Future[Any]:
        """Starts a call in a thread and returns at once.

        `cancel` of the future cancels the call on the server too, also when it runs already; until the call has ended,
        the server may still write into its out=. At most 32 calls of a client run at the same time; others wait.

        Args:
            operator: the name of a method that calls the server, such as "sort" or "store".
            *arguments: the arguments of that method.
            **options: its options.

        Returns:
            A concurrent.futures.Future of what the method returns.

        Examples:
            >>> future = client.submit("sort", [3, 1, 2], descending=True)
            >>> future.result()
            array([3, 2, 1])
        """
        method = method_of(self, operator)
        return self._threads.start(lambda: method(*arguments, **options))

    @options_of(ChainOptions)
    def chain(self, **options: Unpack[ChainOptions]) -> Chain:
        """Puts operators together, to run them on the server in one call.

        A result that a later operator takes never leaves the server; all other results come back. To go on with a
        result, pass what the operator returned, not its out=: the server gets an input as it was before the chain. Only
        shared arrays and arrays on the GPU are read and written where they are, one operator after the other; the
        client does not retry a chain that writes over such an input.

        Args:
            **options: see CallOptions.

        Returns:
            A context manager. The operators run when its block ends; then `result` of each Pending gives an array.

        Examples:
            >>> with client.chain() as chain:
            ...     ordered = chain.sort([30, 10, 20])
            ...     least = chain.gather(ordered, [0], [2])
            >>> least.result()
            array([10, 20])
        """
        return Chain(self._connection, options)

    @optionless
    def empty_shared(self, count: SupportsIndex, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Makes an array of zeros in memory that this process shares with the server.

        The array, or dense parts of it, is never copied as input or as `out=` of an operator. The server lets go of it
        when the last array on it is gone, the client is closed, or this process ends. After a call that failed or was
        cancelled, the server may write into the `out=` of that call for a moment longer.

        Args:
            count: number of elements, 0 or more.
            dtype: dtype of fixed width, 1 to 256 bytes.

        Returns:
            A NumPy array.

        Raises:
            TypeError: `count` is no integer, or elements have another width.
            InvalidArgument: `count` is negative.
            Unimplemented: the server takes no shared memory.
            ResourceExhausted: there is not that much shared memory.

        Examples:
            >>> x = client.empty_shared(3, np.int32)
            >>> x[:] = [3, 1, 2]
            >>> client.sort(x, out=x)
            array([1, 2, 3], dtype=int32)
        """
        wanted = movable("dtype", np.dtype(dtype))
        return self._connection.regions.allocate(whole("count", count) * wanted.itemsize).view(wanted)

    @optionless
    def share(self, array: ArrayLike) -> SharedArray:
        """Copies an array into shared memory; see `empty_shared`.

        Args:
            array: the array, of any fixed-width dtype of 1 to 256 bytes.

        Returns:
            A context manager that yields a NumPy array.

        Examples:
            >>> with client.share([3, 1, 2]) as x:
            ...     client.sort(x, out=x)
            array([1, 2, 3])
        """
        source = conversion.one_dimensional("array", array)
        shared = SharedArray(self._connection.regions, source.size, movable("array", source.dtype))
        copy_into(shared.array, source)
        return shared

    @options_of(StoreOptions)
    def store(
        self,
        name: str,
        array: ArrayLike,
        *,
        expires: float | None = None,
        sharded: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[StoreOptions],
    ) -> StoredArray:
        """Has the server keep an array under a name, in place of one that it keeps under that name now.

        Args:
            name: 1 to 128 characters of [A-Za-z0-9._-].
            array: numbers, or records of 1 to 256 bytes.
            expires: seconds without use after which the server forgets the array, more than 0, rounded up to whole
                ones; None: the server's default.
            sharded: whether the server divides the array among its GPUs, so that it may be larger than the memory of
                one. Only fetch, delete, sort and merge take such an array.
            dtype: read the elements' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: see CallOptions.

        Returns:
            A handle, which every operator takes in place of an array.

        Examples:
            >>> history = client.store("history", [10, 20, 30])
            >>> client.search(history, [25])
            array([2])
        """
        return kept.store(self._connection, name, array, expires, sharded, dtype, self._connection.settings(options))

    @optionless
    def stored(self, name: str) -> StoredArray:
        """Finds an array that the server keeps.

        Args:
            name: the name that the server keeps the array under.

        Returns:
            Its handle, which every operator takes in place of an array.

        Raises:
            NotFound: the server keeps no array of that name for this caller.
        """
        return kept.find(self._connection, name)

    @optionless
    def arrays(self) -> StoredArrays:
        """Lists the arrays that the server keeps for this caller.

        Returns:
            The handles, the bytes in use, and how many bytes may be in use.
        """
        return kept.listed(self._connection)

    @optionless
    def delete(self, array: StoredArray | str) -> None:
        """Has the server forget an array that it keeps.

        Args:
            array: the handle or the name of the array.

        Raises:
            NotFound: the server keeps no array of that name.
            CorankError: a request uses the array (FAILED_PRECONDITION).
        """
        if isinstance(array, str):
            kept.delete(self._connection, array)
        else:
            array.delete()

    @options_of(InfoOptions)
    def info(self, **options: Unpack[InfoOptions]) -> ServerInfo:
        """Asks the server for its version, engine, devices, limits and settings. Never waits behind other calls.

        Args:
            **options: see CallOptions.
        """
        settings, connection = self._connection.settings(options), self._connection
        limit = Limit(connection.retrier.clock, connection.deadline(settings, 0))
        return connection.ask(limit, settings.retries, settings.traceparent)[0]

    @options_of(InfoOptions)
    def health(self, service: str = "", **options: Unpack[InfoOptions]) -> str:
        """Asks whether the server takes calls. Never waits behind other calls.

        Args:
            service: "live": the process answers; "ready": it takes calls; "": the server as a whole, like "ready".
            **options: see CallOptions.

        Returns:
            "SERVING", "NOT_SERVING", or "UNKNOWN" for a service that the server does not know.

        Examples:
            >>> client.health()
            'SERVING'
        """
        settings, connection = self._connection.settings(options), self._connection
        limit = Limit(connection.retrier.clock, connection.deadline(settings, 0))
        return connection.health(service, limit, settings.retries, settings.traceparent)


def _client_of(connection: Connection) -> Client:
    """A client like the one that was pickled."""
    made = Client.__new__(Client)
    made._connection, made._threads = connection, Threads()
    return made
