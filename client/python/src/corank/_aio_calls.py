"""Small calls of asyncio clients: one message there and one back, with no thread."""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import Any

import grpc
import grpc.aio

from corank import _errors as errors
from corank._address import target
from corank._call import answered
from corank._connection import PROGRESS_BYTES, Connection, answer_of, prepare, report, results_of
from corank._options import Settings
from corank._placing import SMALL_BYTES, Placed, Placing, Step, task_bytes
from corank._retry import Limit, Tries

_METHODS = "/corank.v1.CorankService/"


class Native:
    """The channels of grpc.aio of one client, one for each event loop.

    Args:
        connection: the client's.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._channels: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    async def close(self) -> None:
        """Ends the connections of this event loop."""
        channel = self._channels.pop(asyncio.get_running_loop(), None)
        if channel is not None:
            await channel.close()

    def plan(self, step: Step, settings: Settings, limit: Limit) -> tuple[Placing, Placed] | None:
        """A call with places for its arrays, if they are small enough for messages and nothing is to be asked first."""
        if settings.place not in ("auto", "inline") or settings.progress not in (None, False):
            return None
        if settings.progress is None and task_bytes([step]) > PROGRESS_BYTES:
            return None
        placing = Placing(self._connection.regions, settings, limit)
        if placing.has_gpu([step]):
            return None
        demand = placing.demand([step])
        is_small = demand.receive_known and max(demand.send, demand.receive) <= SMALL_BYTES
        known = is_small or settings.place == "inline" or self._connection.knows_server
        if not known or self._connection.mode(settings, demand, False, limit) != "inline":
            return None
        limit.seconds = self._connection.deadline(settings, max(demand.send, demand.receive))
        (placed,) = placing.put([step])
        return None if placing.places else (placing, placed)

    async def perform(self, placing: Placing, placed: Placed, settings: Settings, limit: Limit) -> list[Any]:
        """Does the call: the results, in the order of the operator's outputs.

        Raises:
            CorankError: it failed.
        """
        start, task = time.monotonic_ns(), placed.task
        data = self._connection.encoded(placed)
        caller = self._connection.caller(task.method, limit.seconds, settings.traceparent)
        repeat = placing.repeat([placed])
        tries = Tries(self._connection.retrier, limit.left(), settings.retries, repeat, caller.reload)
        while True:
            tries.begin()
            try:
                response, request_id = await self._once(task.method, data, tries.left(), caller)
            except errors.CorankError as error:
                delay = tries.failed(error)
                if delay is None:
                    raise
            else:
                break
            await asyncio.sleep(max(delay, 0.0))
        answers = [answer_of(task, response)]
        results = results_of([placed], answers)
        cost = {
            "request_bytes": len(data),
            "response_bytes": len(response),
            "attempts": tries.succeeded(),
            "request_id": request_id,
        }
        report([placed], answers, settings, time.monotonic_ns() - start, placing.place, cost)
        return results[0]

    async def _once(self, method: str, data: bytes, remaining: float | None, caller: Any) -> tuple[bytes, str]:
        if remaining is not None and remaining <= 0:
            raise errors.DeadlineExceeded(errors.late_text(caller.operator, caller.deadline))
        call: Any = self._channel().unary_unary(_METHODS + method)(data, timeout=remaining, metadata=caller.metadata())
        try:
            response: bytes = await call
        except grpc.RpcError as error:
            raise caller.failed(error) from None
        trailing = {str(key): value for key, value in (await call.trailing_metadata() or ())}
        return answered(caller.operator, response), str(trailing.get("x-request-id", ""))

    def _channel(self) -> Any:
        if self._connection.is_closed:
            raise RuntimeError("the client is closed")
        loop = asyncio.get_running_loop()
        if loop not in self._channels:
            options, credentials = self._connection.channel_options(), self._connection.credentials.channel
            address = target(self._connection.address)
            if credentials is None:
                self._channels[loop] = grpc.aio.insecure_channel(address, options)
            else:
                self._channels[loop] = grpc.aio.secure_channel(address, credentials, options)
        return self._channels[loop]


def begun(connection: Connection, step: Step, settings: Settings) -> Limit:
    """The deadline of a call that begins now.

    Raises:
        CorankError: its results cannot go where they should.
    """
    prepare([step], settings)
    return connection.limit()
