"""Calls of all kinds, checked against NumPy, and the clients that make them, some of which misbehave."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import corank
import numpy as np
from corank._options import Place
from held_calls import CHUNK, StreamCall, UnaryCall, Work, random_keys
from numpy.typing import NDArray

Rng = np.random.Generator
PLACES: tuple[Place, ...] = ("inline", "stream", "shared_memory")
RETRYABLE = {"UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}
STALLS = 32
"""The most calls of a process that stall at the same time."""
STALLED_SHARE = 0.02
_MOST = 1 << 16
_STALL_KEYS = random_keys(8 * CHUNK)


class WrongAnswerError(Exception):
    """An answer differs from NumPy's."""


def _expect(got: NDArray[np.generic], right: NDArray[np.generic], what: str) -> None:
    if not np.array_equal(got, right):
        raise WrongAnswerError(f"{what} of {right.size} elements")


def _keys(rng: Rng) -> NDArray[np.generic]:
    count = int(2 ** rng.uniform(0, np.log2(_MOST)))
    if rng.random() < 0.3:
        return rng.standard_normal(count)
    return rng.integers(0, 2**31, count, dtype=np.uint32 if rng.random() < 0.5 else np.int64)


def sort(client: corank.Client, rng: Rng, place: Place) -> None:
    """Sorts keys in a place."""
    keys = _keys(rng)
    _expect(client.sort(keys, place=place), np.sort(keys), "sort")


def pairs(client: corank.Client, rng: Rng, place: Place) -> None:
    """Indices, and values with keys."""
    keys = rng.integers(0, 1000, 5000)
    order = np.argsort(keys, kind="stable")
    _expect(client.argsort(keys), order, "argsort")
    _expect(client.sort(keys, values=order, place=place)[1], order[order], "sort")


def merge(client: corank.Client, rng: Rng, place: Place) -> None:
    """Up to six arrays."""
    inputs = [np.sort(rng.integers(0, 9999, int(rng.integers(0, 9000)))) for _ in range(int(rng.integers(2, 7)))]
    _expect(client.merge(inputs, place=place), np.sort(np.concatenate(inputs)), "merge")


def intervals(client: corank.Client, rng: Rng, place: Place) -> None:
    """Expand and Search."""
    counts = rng.integers(0, 9, 3000)
    values = rng.integers(0, 2**31, counts.size)
    _expect(client.expand(values, counts, place=place), np.repeat(values, counts), "expand")
    haystack, needles = np.sort(values), rng.integers(0, 2**31, 500)
    _expect(client.search(haystack, needles), np.searchsorted(haystack, needles), "search")


def kept(client: corank.Client, rng: Rng, place: Place) -> None:
    """Keeps an array on the server between two calls."""
    keys = _keys(rng)
    name = f"soak-{os.getpid()}-{threading.get_ident()}"
    array = client.store(name, keys)
    try:
        _expect(client.sort(array, place=place), np.sort(keys), "sort of a kept array")
    finally:
        with contextlib.suppress(corank.CorankError):
            array.delete()


OPERATIONS: tuple[Callable[[corank.Client, Rng, Place], None], ...] = (sort, sort, sort, pairs, merge, intervals, kept)


def stall(address: str, chance: random.Random) -> None:
    """A call that stalls in the middle of its upload or answer; half of these calls never continue."""
    work = Work(_STALL_KEYS, timeout=10)
    if chance.random() < 0.5:
        work.send = chance.randrange(1, 8)
    else:
        work.read = 1
    call = StreamCall(address, work) if chance.random() < 0.8 else UnaryCall(address, work)
    time.sleep(chance.uniform(0.1, 1))
    expected = {"OK", *RETRYABLE}
    if chance.random() < 0.5:
        call.cancel()
        expected.add("CANCELLED")
    call.go_on()
    code = call.code()
    if code not in expected:
        raise WrongAnswerError(f"a stalled call ended with {code}")


@dataclass(frozen=True)
class Load:
    """The load that the clients of one process make. Times are those of time.monotonic."""

    began: float
    """The time since which turns are due."""
    until: float
    rate: float
    """Turns a second; 0: without limit."""
    seed: int
    misbehaves: bool = True
    """Whether some calls stall."""
    threads: int = 12
    """Threads beside those of stalling calls; enough that each turn finds a free one."""
    most_owed: float = 10.0
    """Seconds of missed turns that the clients make up for; older ones are lost."""


class Pace:
    """Hands out the turns of a load, whether or not earlier calls have ended. Thread-safe."""

    def __init__(self, load: Load) -> None:
        self._lock = threading.Lock()
        self._step = 1 / load.rate if load.rate > 0 else 0.0
        self._most_owed = load.most_owed
        self._next = load.began

    def wait(self) -> None:
        """Waits for the next turn."""
        with self._lock:
            self._next = max(self._next + self._step, time.monotonic() - self._most_owed)
            due = self._next
        time.sleep(max(0.0, due - time.monotonic()))


class Callers:
    """The clients of one process: threads that make calls, threads for calls that stall, and their counts."""

    def __init__(self, address: str, load: Load) -> None:
        self._address, self._load, self._until = address, load, load.until
        self._pace = Pace(load)
        self._stalled_share = STALLED_SHARE if load.misbehaves else 0.0
        self._stalls = ThreadPoolExecutor(STALLS)
        self._may_stall = threading.Semaphore(STALLS)
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def run(self) -> None:
        """Makes calls until the end; several times a second prints a JSON line with the counts since the last one."""
        first = self._load.seed * 100
        seeds = range(first, first + self._load.threads)
        threads = [threading.Thread(target=self._serve, args=(seed,)) for seed in seeds]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.25)
            self._tell()
        self._stalls.shutdown()
        self._tell()

    def end(self) -> None:
        """Tells the threads to end after their current calls."""
        self._until = -math.inf

    def _tell(self) -> None:
        with self._lock:
            if self._counts:
                print(json.dumps(self._counts), flush=True)
            self._counts.clear()

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    @contextlib.contextmanager
    def _counted(self, what: str) -> Iterator[None]:
        """A context manager that counts its body as `what`, or by its error. Only retryable errors are not faults."""
        try:
            yield
        except corank.CorankError as error:
            what = error.code
            if what not in RETRYABLE:
                self._tell_wrong(f"{what}: {error}")
        except Exception as error:
            self._tell_wrong(f"{type(error).__name__}: {error}")
            return
        self._count(what)

    def _tell_wrong(self, text: str) -> None:
        with self._lock:
            print(json.dumps({"wrong": text}), flush=True)

    def _serve(self, seed: int) -> None:
        """The calls of one thread, which reconnects now and then."""
        rng, chance = np.random.default_rng(seed), random.Random(seed)
        while time.monotonic() < self._until:
            with (
                self._counted("reconnects"),
                corank.Client(self._address, deadline=20, retries=5, progress=False) as client,
            ):
                self._call(client, rng, chance)

    def _call(self, client: corank.Client, rng: Rng, chance: random.Random) -> None:
        """Takes one operator and place after the other."""
        places = [place for place in PLACES if place == "inline" or place in client.info().places]
        for _ in range(chance.randrange(50, 200)):
            self._pace.wait()
            if time.monotonic() > self._until:
                return
            if chance.random() < self._stalled_share:
                self._may_stall.acquire()
                self._stalls.submit(self._stall, random.Random(chance.random()))
                continue
            with self._counted("OK"):
                chance.choice(OPERATIONS)(client, rng, chance.choice(places))

    def _stall(self, chance: random.Random) -> None:
        try:
            with self._counted("stalled"):
                stall(self._address, chance)
        finally:
            self._may_stall.release()


def start(address: str, load: Load) -> subprocess.Popen[str]:
    """A process of clients, which runs `main`."""
    script = pathlib.Path(__file__).with_name("workload_process.py")
    command = [sys.executable, str(script), address, json.dumps(asdict(load))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def main() -> int:
    """Usage: workload_process.py ADDRESS LOAD, where LOAD is JSON. SIGTERM ends the load early."""
    callers = Callers(sys.argv[1], Load(**json.loads(sys.argv[2])))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: callers.end())
    callers.run()
    return 0
