"""Blocks of shared memory that are kept between calls."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from typing import Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.uint8]

_MOST = 8
_MOST_SLACK = 8
_LEAST_BYTES = 1 << 20
_SECONDS = 60.0


class _Idle(NamedTuple):
    block: Block
    since: float


class IdleBlocks:
    """The largest few blocks that calls gave back, each for as long as some call takes it every minute. Thread-safe.

    Args:
        given_up: called after some went, by a thread of its own.
    """

    def __init__(self, given_up: Callable[[], object]) -> None:
        self._given_up = given_up
        self._lock = threading.Lock()
        self._blocks: list[_Idle] = []  # by their size
        self._timer: threading.Timer | None = None

    def take(self, nbytes: int, is_usable: Callable[[Block], bool]) -> Block | None:
        """The smallest that is large enough; those that are not usable any more go."""
        with self._lock:
            self._blocks = [idle for idle in self._blocks if is_usable(idle.block)]
            for at, idle in enumerate(self._blocks):
                if idle.block.nbytes >= nbytes:
                    # A much larger one is left to the calls that need it.
                    is_fitting = idle.block.nbytes <= _MOST_SLACK * max(nbytes, _LEAST_BYTES)
                    return self._blocks.pop(at).block if is_fitting else None
        return None

    def keep(self, block: Block, most_bytes: int) -> None:
        """Keeps a block; the smallest ones go where all together have more bytes than this, or are too many."""
        if block.nbytes > most_bytes:
            return
        with self._lock:
            self._blocks.append(_Idle(block, time.monotonic()))
            self._blocks.sort(key=lambda idle: idle.block.nbytes)
            while len(self._blocks) > _MOST or sum(idle.block.nbytes for idle in self._blocks) > most_bytes:
                del self._blocks[0]
            self._watch()

    def clear(self) -> None:
        """Lets go of all."""
        with self._lock:
            self._blocks.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _watch(self) -> None:
        """Has what nobody takes go in its time. Under the lock."""
        if self._timer is not None or not self._blocks:
            return
        left = min(idle.since for idle in self._blocks) + _SECONDS - time.monotonic()
        timer = threading.Timer(max(left, 0), _give_up, [weakref.ref(self)])
        timer.daemon = True
        with contextlib.suppress(RuntimeError):  # no thread is left to this process: the next block tries again
            timer.start()
            self._timer = timer

    def give_up_old(self) -> None:
        """Lets go of those that nobody took for a minute."""
        with self._lock:
            self._timer = None
            begin = time.monotonic() - _SECONDS
            self._blocks = [idle for idle in self._blocks if idle.since > begin]
            self._watch()
        self._given_up()


def _give_up(blocks: weakref.ref[IdleBlocks]) -> None:
    if (known := blocks()) is not None:
        with contextlib.suppress(ValueError):  # of gRPC, for a connection that is closed right now
            known.give_up_old()
