"""Work that all cores share: its results, its exceptions, and what its threads hold and outlive."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from corank import _cores as cores
from corank._cores import by_all_cores

CORES = 4
SECONDS = 20


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadPoolExecutor]:
    """A pool as on a machine of so many cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: CORES)
    monkeypatch.setattr(cores, "_threads", cores._Threads())
    pool = cores._threads.pool
    yield pool
    pool.shutdown()


@pytest.mark.parametrize("count", [0, 1, 2, CORES - 1, CORES, CORES + 1, 1000])
def test_results_have_the_order_of_the_items(count: int) -> None:
    done: list[int] = []

    def square(item: int) -> int:
        done.append(item)
        return item * item

    assert by_all_cores(square, range(count)) == [item * item for item in range(count)]
    assert sorted(done) == list(range(count))


def test_each_core_has_one_thread_that_stays() -> None:
    meet, used = threading.Barrier(CORES, timeout=SECONDS), set()

    def work(_: int) -> None:
        meet.wait()
        used.add(threading.get_ident())

    for _ in range(20):
        by_all_cores(work, range(CORES))
    assert CORES <= len(used) <= CORES + 1  # those of the pool and this one


def test_calls_nest() -> None:
    def work(depth: int) -> int:
        return 1 + sum(by_all_cores(work, [depth - 1] * 6)) if depth else 1

    assert by_all_cores(work, [4] * 6) == [1 + 6 + 36 + 216 + 1296] * 6


def test_callers_in_several_threads_share_the_pool() -> None:
    numbers = range(500)

    def call(caller: int) -> bool:
        wanted = [item * caller for item in numbers]
        return all(by_all_cores(lambda item: item * caller, numbers) == wanted for _ in range(20))

    with ThreadPoolExecutor(8) as callers:
        assert all(callers.map(call, range(8)))


@pytest.mark.parametrize("of_caller", [False, True])
def test_no_thread_works_after_an_exception(of_caller: bool) -> None:
    meet, ended, begun = threading.Barrier(CORES, timeout=SECONDS), [], []

    def work(item: int) -> None:
        begun.append(item)
        meet.wait()
        if (threading.current_thread() is threading.main_thread()) == of_caller:
            ended.append(item)
            raise LookupError(item)
        time.sleep(0.1)
        ended.append(item)

    with pytest.raises(LookupError):
        by_all_cores(work, range(100))
    assert sorted(ended) == sorted(begun) == list(range(CORES))
    assert by_all_cores(abs, range(100)) == list(range(100))


@pytest.mark.parametrize("waits", [False, True])
def test_no_thread_works_after_ctrl_c(waits: bool) -> None:
    meet, ended = threading.Barrier(2, timeout=SECONDS), []

    def work(_: int) -> None:
        meet.wait()
        if threading.current_thread() is threading.main_thread():
            if not waits:
                signal.raise_signal(signal.SIGINT)
            return
        time.sleep(0.1)  # while the caller waits
        if waits:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        by_all_cores(work, range(2))
    assert ended == [True]


def test_caller_needs_no_thread_of_a_busy_pool(pool: ThreadPoolExecutor) -> None:
    free = threading.Event()
    for _ in range(CORES):
        pool.submit(free.wait, SECONDS)
    held = np.arange(9)
    gone = weakref.ref(held)
    assert by_all_cores(held.item, range(9)) == list(range(9))
    del held
    assert gone() is None  # though the pool has not seen that the work is over
    free.set()


def test_nothing_is_held_after_the_call() -> None:
    meet = threading.Barrier(CORES, timeout=SECONDS)
    for _ in range(200):
        held = np.arange(CORES)

        def work(item: int, held: Any = held) -> int:
            meet.wait()
            return int(held[item])

        gone = weakref.ref(held)
        assert by_all_cores(work, range(CORES)) == list(range(CORES))
        del held, work
        assert gone() is None


def test_nothing_is_held_after_several_errors() -> None:
    meet = threading.Barrier(CORES, timeout=SECONDS)
    gc.disable()
    try:
        for _ in range(20):
            held = np.arange(CORES)

            def work(item: int, held: Any = held) -> int:
                meet.wait()
                raise ValueError(held[item])

            gone = weakref.ref(held)
            with contextlib.suppress(ValueError):
                by_all_cores(work, range(CORES))
            del held, work
            assert gone() is None
    finally:
        gc.enable()


PROCESS = """
import atexit, os, sys, threading, time
os.cpu_count = lambda: 4
from corank._cores import by_all_cores


def check(count=4):
    meet = threading.Barrier(count, timeout=20)
    assert by_all_cores(lambda item: (meet.wait(), item)[1], range(count)) == list(range(count))


def late():
    assert by_all_cores(abs, range(99)) == list(range(99))
    print("late", flush=True)


check()
busy = threading.Thread(target=lambda: by_all_cores(lambda _: time.sleep(0.5), range(4)))
busy.start()
time.sleep(0.1)
pid = os.fork()
if pid == 0:
    check()
    sys.exit(7)
check()
assert os.waitpid(pid, 0)[1] == 7 << 8
busy.join()
atexit.register(late)
threading.Thread(target=lambda: by_all_cores(lambda _: time.sleep(0.1), range(99)), daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")
def test_forked_children_have_their_own_threads_and_processes_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROCESS],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "late\n"), done.stderr
