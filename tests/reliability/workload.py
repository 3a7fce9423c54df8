"""Calls of all kinds with answers that NumPy knows, and clients that make them, some of which misbehave."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import corank
import numpy as np
from corank.options import Place
from held_calls import CHUNK, StreamCall, UnaryCall, Work, random_keys
from numpy.typing import NDArray

Rng = np.random.Generator
PLACES: tuple[Place, ...] = ("inline", "stream", "shared_memory")
RETRYABLE = {"UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}
THREADS = 4
_MOST = 1 << 16


class WrongAnswerError(Exception):
    """An answer that is not NumPy's."""


def _expect(got: NDArray[np.generic], right: NDArray[np.generic], what: str) -> None:
    if not np.array_equal(got, right):
        raise WrongAnswerError(f"{what} of {right.size} elements")


def _keys(rng: Rng) -> NDArray[np.generic]:
    count = int(2 ** rng.uniform(0, np.log2(_MOST)))
    if rng.random() < 0.3:
        return rng.standard_normal(count)
    return rng.integers(0, 2**31, count, dtype=np.uint32 if rng.random() < 0.5 else np.int64)


def sort(client: corank.Client, rng: Rng, place: Place) -> None:
    """Keys in a place."""
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
    """An array that stays on the server between two calls."""
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
    """A call that stops in the middle of its upload or of its answer for a while; half of them never go on."""
    keys = random_keys(8 * CHUNK)
    work = Work(keys, timeout=10)
    if chance.random() < 0.5:
        work.send = chance.randrange(1, 8)
    else:
        work.read = 1
    call = StreamCall(address, work) if chance.random() < 0.8 else UnaryCall(address, Work(keys, timeout=10))
    time.sleep(chance.uniform(0.1, 1))
    if chance.random() < 0.5:
        call.cancel()
    call.go_on()
    code = call.code()
    if code != "OK" and code not in RETRYABLE:
        raise WrongAnswerError(f"a stalled call ended with {code}")


class Pace:
    """Gives out turns at a rate, whether the earlier ones are through or not. Thread-safe."""

    def __init__(self, per_second: float) -> None:
        self._lock = threading.Lock()
        self._step = 1 / per_second if per_second > 0 else 0.0
        self._next = time.monotonic()

    def wait(self) -> None:
        """Waits for the next turn."""
        with self._lock:
            self._next = max(self._next + self._step, time.monotonic() - 1)
            due = self._next
        time.sleep(max(0.0, due - time.monotonic()))


def serve_caller(address: str, pace: Pace, seed: int, until: float, misbehaves: bool, counts: Counter[str]) -> None:
    """One thread's calls: a new connection now and then, one operator and place after the other."""
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    while time.monotonic() < until:
        with corank.Client(address, deadline=20, retries=5, progress=False) as client:
            places = [place for place in PLACES if place == "inline" or place in client.info().places]
            for _ in range(chance.randrange(50, 200)):
                if time.monotonic() > until:
                    return
                pace.wait()
                try:
                    if misbehaves and chance.random() < 0.02:
                        stall(address, chance)
                        counts["stalled"] += 1
                        continue
                    chance.choice(OPERATIONS)(client, rng, chance.choice(places))
                    counts["OK"] += 1
                except corank.CorankError as error:
                    counts[error.code] += 1
                    if error.code not in RETRYABLE:
                        print(json.dumps({"wrong": f"{error.code}: {error}"}), flush=True)
                except WrongAnswerError as error:
                    print(json.dumps({"wrong": str(error)}), flush=True)
        counts["reconnects"] += 1


def main() -> int:
    """Usage: workload.py ADDRESS SECONDS RATE SEED MISBEHAVES; one JSON line a second: counts since the last one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    address, seconds, rate, seed, misbehaves = sys.argv[1], *map(float, sys.argv[2:])
    pace = Pace(rate)
    until = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    threads = [
        threading.Thread(
            target=serve_caller, args=(address, pace, int(seed) * 100 + number, until, misbehaves > 0, counts)
        )
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    told: Counter[str] = Counter()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        now = Counter(counts)
        print(json.dumps(now - told), flush=True)
        told = now
    return 0
