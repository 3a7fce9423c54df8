"""The servers that tasks of Ray use: at given addresses, or one on each node."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, TypeVar

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from corank._client import Client
from corank._errors import Aborted, CorankError, DeadlineExceeded, ResourceExhausted, Unavailable
from corank._options import InfoOptions
from corank.testing import LocalServer

T = TypeVar("T")

LATE = "deadline: the work took longer; raise deadline=, or give the cluster more workers"
ATTEMPTS = 5
"""Servers or connections that a task tries before it fails. Ray then tries the task again."""
_PAUSE_SECONDS = 0.5
_ANSWER_SECONDS = 10.0
"""A server that takes longer to say that it serves is replaced."""


class NodeServer:
    """An actor that runs a corankd for the tasks of its node, and starts it again when it ended."""

    def __init__(self) -> None:
        binary = os.environ.get("CORANKD") or shutil.which("corankd")
        if not binary:
            raise FileNotFoundError(
                f"no corankd on node {ray.util.get_node_ip_address()}: set CORANKD to its path or put it into PATH "
                "there, set CORANK_SERVER to the address of one, or pass servers=ADDRESS"
            )
        self._binary = binary
        self._server = self._started()

    def _started(self) -> LocalServer:
        server = LocalServer(self._binary, ["--shared-memory=/corank-"])
        guard = shutil.which("setpriv")
        if guard:  # The server ends with this process, also when that is killed.
            server._command[:0] = [guard, "--pdeathsig=KILL"]
        server.start()
        return server

    def address(self, failed: str | None = None) -> str:
        """The address of the server, which runs; if `failed` is it, it must also answer, or else a new one starts."""
        if self._server.process.poll() is not None or (failed == self._server.address and not self._answers()):
            self._server.kill()
            self._server = self._started()
        return self._server.address

    def _answers(self) -> bool:
        try:
            with self._server.connect(deadline=_ANSWER_SECONDS) as client:
                return client.health() == "SERVING"
        except CorankError:
            return False

    def pid(self) -> int:
        """The process of the server."""
        return self._server.process.pid


class Servers(NamedTuple):
    """Where tasks find a server."""

    address: str | None
    """None: CORANK_SERVER of the task's node, or else the actor of that node."""
    name: str
    """The prefix of the actors' names."""
    end: float | None
    """When the work must have ended, in seconds since the epoch."""

    def options(self) -> InfoOptions:
        """Options of a call that must end in time.

        Raises:
            DeadlineExceeded: there is no time left.
        """
        if self.end is None:
            return {}
        left = self.end - time.time()
        if left <= 0:
            raise DeadlineExceeded(LATE)
        return {"deadline": left}

    def call(self, work: Callable[[Client, InfoOptions], T]) -> T:
        """Runs `work`, which may run several times, with a client of the server."""
        failed = None
        for attempt in range(ATTEMPTS):
            address = self._address(failed)
            try:
                return work(_client(address), self.options())
            except (Unavailable, Aborted, ResourceExhausted):
                if attempt == ATTEMPTS - 1:
                    raise
                failed = address
                time.sleep(_PAUSE_SECONDS * (attempt + 1))
        raise AssertionError("unreachable")

    def _address(self, failed: str | None) -> str:
        address = self.address or os.environ.get("CORANK_SERVER")
        if address:
            return address
        for attempt in range(ATTEMPTS):
            node = ray.get_runtime_context().get_node_id()
            # The actor of a node that joined later belongs to the worker that made it, and ends with its last handle.
            server = _made[self.name, node] = self.of_node(node)
            try:
                return str(ray.get(server.address.remote(failed)))
            except ray.exceptions.RayActorError as error:
                # The worker that owned it ended. Its own failure to start is final.
                if attempt == ATTEMPTS - 1 or (isinstance(error, ray.exceptions.ActorDiedError) and _is_final(error)):
                    raise
                time.sleep(_PAUSE_SECONDS)
        raise AssertionError("unreachable")

    def of_node(self, node: str) -> Any:
        """The actor of a node, which is started if there is none."""
        return (
            ray.remote(NodeServer)
            .options(
                name=f"{self.name}-{node}",
                get_if_exists=True,
                num_cpus=0,
                max_restarts=-1,
                max_task_retries=-1,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote()
        )

    def start(self) -> list[Any]:
        """Starts an actor on each node that runs tasks; they live as long as the handles that this returns."""
        if self.address or os.environ.get("CORANK_SERVER"):
            return []
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
        return [self.of_node(node["NodeID"]) for node in nodes]


def _is_final(error: Exception) -> bool:
    return "no corankd on node" in str(error)


_made: dict[tuple[str, str], Any] = {}
"""Handles of the actors that this worker used."""
_clients: dict[str, Client] = {}


def _client(address: str) -> Client:
    """This worker's client of a server."""
    if address not in _clients:
        _clients[address] = Client(address, progress=False)
    return _clients[address]


def servers_of(given: str | Sequence[str], name: str, deadline: float | None) -> Servers:
    """Servers as users give them.

    Raises:
        TypeError, ValueError: they are neither "local" nor addresses, or the deadline is not a number above 0.
    """
    end = None
    if deadline is not None:
        if not float(deadline) > 0:
            raise ValueError(f"deadline: {deadline!r} is not a number of seconds of more than 0; None is for no limit")
        end = time.time() + float(deadline)
    if given == "local":
        return Servers(None, name, end)
    addresses = [given] if isinstance(given, str) else list(given)
    for address in addresses:
        if not isinstance(address, str):
            raise TypeError(f"servers: {address!r} is a {type(address).__name__}; pass 'local', HOST:PORT or a list")
    if not addresses:
        raise ValueError("servers: the list is empty; pass 'local' or HOST:PORT")
    joined = ",".join(addresses)
    Client(joined, progress=False).close()  # refuses what is no address
    return Servers(joined, name, end)
