"""Two network namespaces and a link between them whose packets pass through the test: it delays, loses and drops them.

Needs root, /dev/net/tun and `ip`. Where the kernel has it, `tc netem` could do as much; this runs without it too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")
ADDRESSES = {"client": "10.77.0.1", "server": "10.77.0.2"}
_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
_DEVICE = "corank0"
_MTU = 1500
_LIBC = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _on_a_thread(work: Callable[[], R]) -> R:
    """What `work` returns on a thread of its own, which may change the namespace that it is in."""
    results: list[R] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


class _End:
    """A namespace with one end of the link."""

    def __init__(self, address: str) -> None:
        self.namespace, self.device = _on_a_thread(lambda: self._make(address))

    def _make(self, address: str) -> tuple[int, int]:
        _check(_LIBC.unshare(_CLONE_NEWNET))
        namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", _DEVICE.encode(), _TUN_WITHOUT_HEADER))
        for command in (
            f"addr add {address}/24 dev {_DEVICE}",
            f"link set dev {_DEVICE} mtu {_MTU} up",
            "link set lo up",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        return namespace, device

    def close(self) -> None:
        """Ends the namespace, once no process is in it."""
        os.close(self.device)
        os.close(self.namespace)


class LossyLink:
    """Made by entering it; OSError or CalledProcessError where this machine does not allow it.

    Attributes:
        delay: seconds that a packet takes, each way.
        loss: share of the packets that are lost, each way.
        is_cut: whether all are.
        passed: packets that went through.
        lost: packets that did not.
    """

    def __init__(self) -> None:
        self.delay, self.loss, self.is_cut = 0.0, 0.0, False
        self.passed = self.lost = 0
        self._chance = random.Random(3)
        self._ended = threading.Event()
        self._ends: dict[str, _End] = {}
        self._thread = threading.Thread(target=self._forward, daemon=True)

    def inside(self, side: str, work: Callable[[], R]) -> R:
        """What `work` returns in the namespace of "client" or "server". Processes that it starts stay there."""

        def run() -> R:
            _check(_LIBC.setns(self._ends[side].namespace, _CLONE_NEWNET))
            return work()

        return _on_a_thread(run)

    def _forward(self) -> None:
        devices = [end.device for end in self._ends.values()]
        other = {devices[0]: devices[1], devices[1]: devices[0]}
        waiting: list[tuple[float, int, int, bytes]] = []
        numbers = itertools.count()
        while not self._ended.is_set():
            wait = min(0.05, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.05
            for device in select.select(devices, [], [], wait)[0]:
                with contextlib.suppress(BlockingIOError):
                    packet = os.read(device, 2 * _MTU)
                    if self.is_cut or self._chance.random() < self.loss:
                        self.lost += 1
                        continue
                    heapq.heappush(waiting, (time.monotonic() + self.delay, next(numbers), other[device], packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):  # the queue is full: lost, as on any link
                    os.write(device, packet)
                    self.passed += 1

    def __enter__(self) -> LossyLink:
        try:
            for side, address in ADDRESSES.items():
                self._ends[side] = _End(address)
        except BaseException:
            self._close()
            raise
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()
        self._close()

    def _close(self) -> None:
        for end in self._ends.values():
            end.close()
