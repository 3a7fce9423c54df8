"""The client for asyncio: the operators of `corank.Client`, to await.

    async with corank.aio.connect("gpu-host:50051") as client:
        first, second = await asyncio.gather(client.sort(x), client.argsort(y))

Small arrays travel by grpc.aio in the event loop. All other calls run in up to 32 threads of the client. A task that is
cancelled cancels its call on the server in both cases.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Callable, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from corank._aio_calls import Native, begun
from corank._chains import Chain
from corank._client import Client, following_task, step_of
from corank._errors import CorankError
from corank._kept import StoredArray, StoredArrays
from corank._options import (
    CallOptions,
    ChainOptions,
    ConnectOptions,
    FetchOptions,
    InfoOptions,
    StoreOptions,
    connect_options,
    options_of,
)
from corank._results import ServerInfo
from corank._tables_aio import AsyncTableOperators
from corank._task import Task
from corank._typed_aio import AsyncOperators

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["AsyncChain", "AsyncClient", "connect"]

R = TypeVar("R")


@connect_options
def connect(address: str | None = None, **options: Unpack[ConnectOptions]) -> AsyncClient:
    """Makes a client of a server. The client connects at its first call.

    Args:
        address: HOST:PORT of the server, or unix:PATH; None: CORANK_SERVER of the environment, else 127.0.0.1:50051.
            Several numeric ones with commas take turns, and so do all addresses of dns:///NAME:PORT.
        **options: see corank.ConnectOptions.

    Returns:
        An AsyncClient, which is an asynchronous context manager.

    Raises:
        InvalidArgument: the address has no port, a file cannot be read, or a token would leave this host without TLS.
    """
    return AsyncClient(address, **options)


class AsyncClient(AsyncOperators, AsyncTableOperators, options=CallOptions, result="NDArray"):
    """A connection to a corank server for asyncio: the operators and the kept arrays of `corank.Client`, to await.

    Arguments, options, results and errors are those of `corank.Client`. The client may call the functions of progress=
    and on_stats= in another thread. Close it with `await client.close()`, or use it in an `async with` block.

    Args:
        address: HOST:PORT of the server, or unix:PATH; None: CORANK_SERVER of the environment, else 127.0.0.1:50051.
            Several numeric ones with commas take turns, and so do all addresses of dns:///NAME:PORT.
        **options: see corank.ConnectOptions.
    """

    @connect_options
    def __init__(self, address: str | None = None, **options: Unpack[ConnectOptions]) -> None:
        self._client = Client(address, **options)
        self._native = Native(self._client._connection)

    def __reduce__(self) -> tuple[Any, ...]:
        return _client_of, (self._client,)

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return self._client.address

    async def close(self) -> None:
        """Ends the connections and cancels calls that run. The client cannot be used again."""
        await self._native.close()
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._client).replace("corank.Client", "corank.aio.AsyncClient")

    async def _in_thread(self, work: Callable[[], R]) -> R:
        return await asyncio.wrap_future(self._client._threads.start(work))

    async def _perform(self, task: Task, options: CallOptions) -> Any:
        connection = self._client._connection
        step, settings = step_of(connection, task, options)
        limit = begun(connection, step, settings)
        native = self._native.plan(step, settings, limit)
        try:
            if native is not None:
                return task.finish(await self._native.perform(*native, settings, limit))
            return await self._in_thread(lambda: task.finish(connection.perform([step], settings, False, limit)[0]))
        except CorankError as error:
            following = following_task(task, error)
            if following is None:
                raise
        return await self._perform(following, options)

    @options_of(ChainOptions)
    def chain(self, **options: Unpack[ChainOptions]) -> AsyncChain:
        """Puts operators together, to run them on the server in one call; see `corank.Client.chain`.

            async with client.chain() as chain:
                ordered = chain.sort(new)
                first = chain.gather(ordered, [0], [100])
            first.result()

        Args:
            **options: see corank.CallOptions.

        Returns:
            An asynchronous context manager, whose operators need no await.
        """
        return AsyncChain(self, options)

    async def empty_shared(self, count: SupportsIndex, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Makes an array of zeros in memory that this process shares with the server.

        See `corank.Client.empty_shared`.

        Args:
            count: number of elements, 0 or more.
            dtype: dtype of fixed width, 1 to 256 bytes.
        """
        return await self._in_thread(lambda: self._client.empty_shared(count, dtype))

    @options_of(StoreOptions)
    async def store(
        self,
        name: str,
        array: ArrayLike,
        *,
        expires: float | None = None,
        sharded: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[StoreOptions],
    ) -> StoredArray:
        """Has the server keep an array under a name; see `corank.Client.store`.

        Args:
            name: 1 to 128 characters of [A-Za-z0-9._-].
            array: numbers, or records of 1 to 256 bytes.
            expires: seconds without use after which the server forgets the array; None: the server's default.
            sharded: whether the server divides the array among its GPUs.
            dtype: read the elements' bits as this type of the same width.
            **options: see corank.CallOptions.

        Returns:
            A handle. Its own methods block; await `fetch` and `delete` of this client instead.
        """
        return await self._in_thread(
            lambda: self._client.store(name, array, expires=expires, sharded=sharded, dtype=dtype, **options)
        )

    async def stored(self, name: str) -> StoredArray:
        """Finds an array that the server keeps; see `corank.Client.stored`.

        Args:
            name: the name that the server keeps the array under.
        """
        return await self._in_thread(lambda: self._client.stored(name))

    @options_of(FetchOptions)
    async def fetch(self, array: StoredArray, **options: Unpack[FetchOptions]) -> NDArray[Any]:
        """Copies the elements of a kept array from the server.

        Args:
            array: the handle.
            **options: see corank.CallOptions.

        Returns:
            A new array, or `out`.
        """
        return await self._in_thread(lambda: array.fetch(**options))

    async def arrays(self) -> StoredArrays:
        """Lists the arrays that the server keeps for this caller; see `corank.Client.arrays`."""
        return await self._in_thread(self._client.arrays)

    async def delete(self, array: StoredArray | str) -> None:
        """Has the server forget an array that it keeps.

        Args:
            array: the handle or the name of the array.
        """
        await self._in_thread(lambda: self._client.delete(array))

    @options_of(InfoOptions)
    async def info(self, **options: Unpack[InfoOptions]) -> ServerInfo:
        """Asks the server for its version, engine, devices, limits and settings.

        Args:
            **options: see corank.CallOptions.
        """
        return await self._in_thread(lambda: self._client.info(**options))

    @options_of(InfoOptions)
    async def health(self, service: str = "", **options: Unpack[InfoOptions]) -> str:
        """Asks whether the server takes calls; see `corank.Client.health`.

        Args:
            service: "live", "ready" or "", the server as a whole.
            **options: see corank.CallOptions.
        """
        return await self._in_thread(lambda: self._client.health(service, **options))


class AsyncChain(Chain):
    """A chain of an AsyncClient: `async with` runs its operators when the block ends."""

    def __init__(self, client: AsyncClient, options: ChainOptions) -> None:
        super().__init__(client._client._connection, options)
        self._client = client

    def __enter__(self) -> Self:
        raise TypeError("chain: an AsyncClient's chain needs `async with`")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *exc_info: object) -> None:
        await self._client._in_thread(lambda: self._end(kind))


def _client_of(client: Client) -> AsyncClient:
    """A client like the one that was pickled."""
    made = AsyncClient.__new__(AsyncClient)
    made._client, made._native = client, Native(client._connection)
    return made


def __dir__() -> list[str]:
    return __all__


for _class in (AsyncClient, AsyncChain):
    _class.__module__ = "corank.aio"
