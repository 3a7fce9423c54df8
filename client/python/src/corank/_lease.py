"""A lease of the server: registered memory ends with the lease, and so with this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, Protocol

import grpc

from corank import _aside as aside
from corank import _errors as errors
from corank._retry import Limit, Repeat
from corank.v1 import memory_service_pb2 as memory

if TYPE_CHECKING:
    from corank._call import Caller
    from corank._results import ServerInfo


class Server(Protocol):
    """The part of a connection that regions need."""

    def limit(self) -> Limit:
        """The deadline of what has none of its own."""

    def server(self, limit: Limit) -> ServerInfo:
        """Information about the server, asked once."""

    def memory_call(
        self,
        name: str,
        request: Any,
        response: type[Any],
        repeat: Repeat,
        limit: Limit,
        retries: int | None = None,
    ) -> Any:
        """Calls a unary method of MemoryService."""

    def memory_tries(
        self,
        name: str,
        prepare: Callable[[], tuple[Any, type[Any]]],
        repeat: Repeat,
        limit: Limit,
        retries: int | None = None,
    ) -> Any:
        """Like memory_call, with another request for each try."""

    def memory_pages(self, name: str, request: Any, response: type[Any], limit: Limit) -> Iterator[Any]:
        """The pages of a list."""

    def caller(self, operator: str, deadline: float | None) -> Caller:
        """The state that all tries of one call share."""

    def memory_release(self, name: str, request: Any, response: type[Any]) -> None:
        """A memory_call that releases memory, and waits a moment for requests that still use it."""

    def memory_stream(self, name: str) -> Any:
        """A method of MemoryService that answers with a stream."""


class Lease:
    """An open call. When it ends, also because this process died, the regions that were registered with it end.

    Args:
        server: opens it.
        limit: until when to wait for that; what is open has no deadline.

    Attributes:
        id: what the server calls it.
    """

    def __init__(self, server: Server, limit: Limit) -> None:
        caller = server.caller("OpenLease", limit.seconds)
        self._call: Any = None
        self._late = self._ended = False
        self.id: str = aside.run(lambda calls: self._open(server, caller, limit, calls))

    def _open(self, server: Server, caller: Caller, limit: Limit, calls: aside.Calls) -> str:
        request = memory.OpenLeaseRequest().SerializeToString()
        self._call = server.memory_stream("OpenLease")(request, metadata=caller.metadata())
        calls.add(self._call)
        timer, seconds = None, limit.left()
        if seconds is not None:
            # No deadline of gRPC, which would end the lease too.
            timer = threading.Timer(seconds, self._give_up)
            timer.daemon = True
            timer.start()
        try:
            first = next(self._call)
        except grpc.RpcError as error:
            if self._late:
                raise errors.DeadlineExceeded(errors.late_text("OpenLease", limit.seconds)) from None
            raise caller.failed(error) from None
        except StopIteration:
            raise errors.Internal("OpenLease: the server answered nothing") from None
        except BaseException:
            self.end()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if not self._call.add_callback(self._note_end):
            self._note_end()
        return memory.OpenLeaseResponse.FromString(first).lease_id

    def _note_end(self) -> None:
        self._ended = True

    def _give_up(self) -> None:
        self._late = True
        self.end()

    def holds(self) -> bool:
        """Whether the server still keeps its regions, as far as this process knows."""
        return not self._ended

    def end(self) -> None:
        """Gives everything back."""
        self._ended = True
        self._call.cancel()
