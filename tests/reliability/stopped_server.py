"""Stops a server while it visibly writes a result into shared memory."""

from __future__ import annotations

import os
import pathlib
import re
import signal

from corank.testing import LocalServer
from reliability_support import PREFIX

_SAMPLES = 64


class SeenRegion:
    """A region as the server's own memory shows it, because the object no longer has a name."""

    def __init__(self, pid: int, first: int, end: int) -> None:
        self._pid, self._first, self._size = pid, first, end - first

    def written(self) -> float:
        """The share of the region that is no longer zero, from 0 to 1. Copies may arrive in any order."""
        step = self._size // _SAMPLES // 16 * 16
        memory = os.open(f"/proc/{self._pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return sum(any(os.pread(memory, 16, self._first + step * i)) for i in range(_SAMPLES)) / _SAMPLES
        finally:
            os.close(memory)


def find_region(server: LocalServer, nbytes: int) -> SeenRegion | None:
    """The registered region of at least this many bytes; None while there is none."""
    pid = server.process.pid
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    for first, end in re.findall(rf"^(\w+)-(\w+) .* /dev/shm{re.escape(PREFIX)}", maps, re.MULTILINE):
        if int(end, 16) - int(first, 16) >= nbytes:
            return SeenRegion(pid, int(first, 16), int(end, 16))
    return None


def stop(server: LocalServer) -> None:
    """Stops the process (SIGSTOP). None of its threads runs once this returns."""
    pid = server.process.pid
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def go_on(server: LocalServer) -> None:
    """Undoes `stop`. Does nothing to a process that is not stopped or has ended."""
    server.process.send_signal(signal.SIGCONT)
