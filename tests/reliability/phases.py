"""Puts a call surely into a phase: queued, copying, running or answering, in each place of arrays.

Nothing depends on luck. A test holds the phase open: it occupies a lane, stalls an upload or download, gives the server
long work, or stops the server while a result is half in its region. Then it observes the phase in the server's metrics
or memory. Where it cannot, it proves the phase afterwards by the stage before which the server dropped the work, and
tries again if it missed the phase.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import corank
import numpy as np
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o
from e2e_support import samples
from held_calls import CALLS, CHUNK, HeldCall, Keys, SharedCall, StreamCall, UnaryCall, Work, random_keys
from reliability_support import cancelled_before, held_bytes, wait_until_empty
from stopped_server import find_region, go_on, stop
from tcp_proxy import TcpProxy
from waiting import wait_until

PLACES = ("unary", "stream", "shared_memory")
PHASES = ("queued", "copying", "running", "answering")
SERVER_FLAGS = (
    "--engine=cpu",
    "--lanes=1",
    "--long-lanes=1",
    "--spare-lanes=0",
    "--cpu-threads=1",
    "--stream-window-bytes=4MiB",
)
"""One lane of each kind, so that one call makes the next one wait; and an engine whose work lasts long enough to hit,
and stops with its process."""
STAGE_AFTER = {"copying": "kernel", "running": "copy_out", "answering": "respond"}
"""The stage before which the server drops work that is cancelled on a lane in this phase."""

_ODD_EVEN = o.SORT_ALGORITHM_ODD_EVEN_MERGESORT
_PIPE_BYTES = 64 << 10
_LARGE = 10 << 20  # elements: this much shared memory is work for the long lanes
_HUGE = 32 << 20


class MissedError(Exception):
    """The call missed the phase, or stayed in it too briefly."""


@dataclass
class Scene:
    """A server with SERVER_FLAGS, a proxy to it that can stall, and keys that take it a while."""

    server: LocalServer
    proxy: TcpProxy
    slow: Keys
    is_stopped: bool = False
    """Whether the server's process is stopped; then it answers nobody and serves no metrics."""

    def stop_server(self) -> None:
        """Stops the server's process until `release` or `let_server_go_on`."""
        self.is_stopped = True
        stop(self.server)

    def let_server_go_on(self) -> None:
        """Ends `stop_server`."""
        if self.is_stopped:
            go_on(self.server)
        self.is_stopped = False

    def release(self) -> None:
        """Lets the server and the network continue."""
        self.let_server_go_on()
        self.proxy.release()

    def now(self) -> dict[str, float]:
        """The server's metrics."""
        return samples(self.server)


def slow_keys(server: LocalServer) -> Keys:
    """Keys that take an idle server half a second or more to sort with the odd-even mergesort."""
    with server.connect() as client:
        for power in range(17, 23):
            stats: list[corank.Stats] = []
            keys = random_keys(2**power)
            client.sort(keys, algorithm="odd-even-mergesort", on_stats=stats.append)
            if stats[0].kernel_ns > 500_000_000:
                break
    return keys


def _gather(where: a.RegionPlace) -> tuple[str, o.GatherIntervalsRequest]:
    """A request for few elements of a large array, which spends nearly all its time on the copy of that array."""
    zeros = np.zeros(1, np.int64).tobytes()
    return "GatherIntervals", o.GatherIntervalsRequest(
        source=a.Array(type=a.ELEMENT_TYPE_UINT32, count=_HUGE, shared_memory=where),
        source_offsets=a.Array(type=a.ELEMENT_TYPE_INT64, inline_data=zeros),
        counts=a.Array(type=a.ELEMENT_TYPE_INT64, inline_data=np.full(1, 16, np.int64).tobytes()),
    )


def _expand(where: a.RegionPlace) -> tuple[str, o.ExpandIntervalsRequest]:
    """A request for many non-zero elements out of few, which spends half its time on the copy of the answer."""
    return "ExpandIntervals", o.ExpandIntervalsRequest(
        values=a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=np.arange(1, 17, dtype=np.uint32).tobytes()),
        counts=a.Array(type=a.ELEMENT_TYPE_INT64, inline_data=np.full(16, _HUGE // 16, np.int64).tobytes()),
        destination=a.Destination(shared_memory=where),
    )


def begin(place: str, phase: str, address: str, slow: Keys, timeout: float = 120) -> HeldCall:
    """Starts the call that will be in a phase. The caller of this function holds it there on the server's side."""
    if place == "shared_memory" and phase in ("copying", "answering"):
        request = _gather if phase == "copying" else _expand
        return SharedCall(address, Work(np.zeros(_HUGE, np.uint32), timeout=timeout), request)
    if phase == "running":
        return CALLS[place](address, Work(slow, _ODD_EVEN, timeout))
    if place == "shared_memory":
        return SharedCall(address, Work(random_keys(_LARGE), timeout=timeout))
    if place == "unary":
        return UnaryCall(address, Work(random_keys(CHUNK if phase == "queued" else 8 * CHUNK), timeout=timeout))
    work = Work(random_keys(32 * CHUNK), timeout=timeout)
    if phase == "copying":
        work.send = 8
    elif phase == "answering":
        work.read = 1
    return StreamCall(address, work)


def hold_lane(scene: Scene, place: str) -> HeldCall:
    """A call that occupies the lane for which a queued call of this place waits."""
    if place == "unary":
        holder: HeldCall = UnaryCall(scene.server.address, Work(scene.slow, _ODD_EVEN))
    else:
        holder = StreamCall(scene.server.address, Work(random_keys(2 * CHUNK), send=1))
    wait_until(lambda: scene.now()["corank_lanes_busy"] == 1, "the lane is taken")
    return holder


def hold_network(scene: Scene, place: str, phase: str) -> None:
    """Lets part of the message pass if the network holds a call in this phase."""
    if place == "unary" and phase == "copying":
        scene.proxy.up.hold(after=1 << 20)
    if place == "unary" and phase == "answering":
        scene.proxy.down.hold(after=_PIPE_BYTES)


def _is_reached(scene: Scene, place: str, phase: str) -> Callable[[dict[str, float]], bool]:
    sent = 8 * 4 * CHUNK

    def look(now: dict[str, float]) -> bool:
        busy = now["corank_lanes_busy"]
        if phase == "queued":
            return now["corank_queue_requests"] == 1 and busy == 1
        if (place, phase) == ("unary", "copying"):
            return scene.proxy.up.is_stopped
        if (place, phase) == ("unary", "answering"):
            answers = scene.proxy.down.is_stopped  # passes less than the whole answer
            return answers and busy == 0 and now["corank_calls"] == 1 and held_bytes(now, "host_pool") > 0
        if (place, phase) == ("stream", "copying"):
            return busy == 1 and held_bytes(now, "host_pool") + now["corank_stream_job_bytes"] >= sent
        if (place, phase) == ("stream", "running"):  # the server has received everything, and the window is empty
            all_there = now["corank_stream_job_bytes"] >= scene.slow.nbytes
            return busy == 1 and all_there and held_bytes(now, "host_pool") == 0
        if (place, phase) == ("stream", "answering"):
            return now["corank_stream_jobs"] == 1 and held_bytes(now, "host_pool") > 0
        return busy == 1

    return look


def wait_for_phase(scene: Scene, place: str, phase: str, call: HeldCall | None = None, seconds: float = 30) -> None:
    """Returns once the server's metrics show the phase, or the server is stopped in it (`is_stopped`).

    Raises:
        MissedError: the call passed the phase, or did not reach it in time.
    """
    end = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > end or (call is not None and call.is_over):
            raise MissedError(f"{place}, {phase}")
        time.sleep(0.001)

    if place == "shared_memory" and phase == "answering":
        _stop_while_result_is_copied(scene, check)
        return
    is_reached = _is_reached(scene, place, phase)
    while not is_reached(scene.now()):
        check()
    if place == "stream" and phase == "answering" and call is not None:
        wait_until(lambda: call.chunks > 0, "the answer begins")


def _stop_while_result_is_copied(scene: Scene, check: Callable[[], None]) -> None:
    while (region := find_region(scene.server, 4 * _HUGE)) is None:
        check()
    while region.written() == 0:
        check()
    scene.stop_server()
    if region.written() == 1:
        scene.release()
        raise MissedError("all of the result is in the region")


def proof(place: str, phase: str, before: dict[str, float], after: dict[str, float]) -> bool:
    """Whether the server's counters show that it dropped the work of the call in this phase.

    Only for calls that leave their phase by themselves; the others are held in it.
    """
    stage = STAGE_AFTER.get(phase)
    if stage is None or place == "stream" or (place == "unary" and phase != "running"):
        return True
    return cancelled_before(after, stage) == cancelled_before(before, stage) + 1


def settle(scene: Scene) -> None:
    """Releases everything that was held, and waits until the server holds nothing of it."""
    scene.release()
    scene.proxy.cut()
    wait_until_empty(scene.server)
