"""Two network namespaces, and a link between them that delays, loses and cuts packets in the test's own process.

Needs root, /dev/net/tun and `ip`. `tc netem` could do the same, but needs a kernel module that many machines lack.
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
    """Runs `work` on its own thread, which may change its namespace, and returns the result."""
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
        """Removes the namespace; no process may be in it."""
        os.close(self.device)
        os.close(self.namespace)


class LossyLink:
    """A context manager; entering raises OSError or CalledProcessError if this machine does not allow namespaces.

    Attributes:
        delay: seconds that a packet takes, each way.
        loss: the share of packets that the link loses, each way.
        is_cut: whether the link loses every packet.
        passed: how many packets went through.
        lost: how many packets the link lost.
    """

    def __init__(self) -> None:
        self.delay, self.loss, self.is_cut = 0.0, 0.0, False
        self.passed = self.lost = 0
        self._chance = random.Random(3)
        self._ended = threading.Event()
        self._ends: dict[str, _End] = {}
        self._thread = threading.Thread(target=self._forward, daemon=True)

    def inside(self, side: str, work: Callable[[], R]) -> R:
        """Runs `work` in the namespace of "client" or "server" and returns the result. Child processes stay there."""

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
                with contextlib.suppress(OSError):  # a full queue loses packets, as on any link
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
