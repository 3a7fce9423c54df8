"""A server that is stopped in the middle of writing a result into shared memory, which it is seen to do."""

from __future__ import annotations

import os
import pathlib
import re
import signal

from corank.testing import LocalServer
from reliability_support import PREFIX

_SAMPLES = 64


class SeenRegion:
    """A region that the server has mapped, as the server's own memory shows it: the object has no name any more."""

    def __init__(self, pid: int, first: int, end: int) -> None:
        self._pid, self._first, self._size = pid, first, end - first

    def written(self) -> float:
        """How much of it has no longer the zeros that it began with, from 0 to 1. Copies may come in any order."""
        step = self._size // _SAMPLES // 16 * 16
        memory = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return sum(any(os.pread(memory, 16, self._first + step * i)) for i in range(_SAMPLES)) / _SAMPLES
        finally:
            os.close(memory)


def find_region(server: LocalServer, nbytes: int) -> SeenRegion | None:
    """The region of at least so many bytes that a client has registered; None while there is none."""
    pid = server.process.pid
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    for first, end in re.findall(rf"^(\w+)-(\w+) .* /dev/shm{re.escape(PREFIX)}", maps, re.MULTILINE):
        if int(end, 16) - int(first, 16) >= nbytes:
            return SeenRegion(pid, int(first, 16), int(end, 16))
    return None


def stop(server: LocalServer) -> None:
    """Stops the process (SIGSTOP). None of its threads runs when this returns."""
    pid = server.process.pid
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def go_on(server: LocalServer) -> None:
    """Ends stop. Does nothing to a process that is not stopped or has ended."""
    server.process.send_signal(signal.SIGCONT)
