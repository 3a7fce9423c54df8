"""A rolling update under load loses no call that the table of retries allows to repeat.

Three servers stand behind one client that balances, as pods behind a headless Service. Each in turn gets SIGTERM,
drains and ends, and a new process takes its address. docs/operations/rollout.md promises what these tests check.
"""

from __future__ import annotations

import contextlib
import pathlib
import threading
from collections.abc import Callable, Iterator

import corank
import numpy as np
import pytest
from corank.testing import LocalServer
from e2e_support import UNLENT_HOST, samples
from waiting import wait_until

SERVERS = 3
FLAGS = ["--engine=cpu", f"--listen={UNLENT_HOST}:0", "--drain-timeout=20s"]


@contextlib.contextmanager
def started(corankd: pathlib.Path, flags: list[str]) -> Iterator[list[LocalServer]]:
    """Servers, each of which the list may replace; all that are in it at the end are stopped."""
    servers = [LocalServer(corankd, flags) for _ in range(SERVERS)]
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.stop()


def calls(server: LocalServer, code: str = "OK") -> float:
    """Sorts that a server answered with a code."""
    return samples(server).get(f'corank_requests_total{{code="{code}",operator="sort"}}', 0)


def replace(corankd: pathlib.Path, servers: list[LocalServer], place: int, flags: list[str]) -> None:
    """Stops one server as a rollout does, and starts the next one at its address."""
    address = servers[place].address
    assert servers[place].stop() == 0, "all admitted calls ended within --drain-timeout"
    servers[place] = LocalServer(corankd, [*flags, f"--listen={address}"])
    servers[place].start()


class Load:
    """Callers that repeat a call until they are told to stop, and remember what failed."""

    def __init__(self, call: Callable[[corank.Client], None], address: str, callers: int, retries: int = 5) -> None:
        self.failures: list[BaseException] = []
        self.done = 0
        self._call, self._client, self._ends = call, corank.connect(address, retries=retries), threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._repeat) for _ in range(callers)]

    def _repeat(self) -> None:
        while not self._ends.is_set():
            try:
                self._call(self._client)
            except BaseException as error:
                self.failures.append(error)
                return
            with self._lock:
                self.done += 1

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(timeout=60)
        self._client.close()


def sort_message(client: corank.Client) -> None:
    """A call of one message, small or large."""
    keys = np.random.default_rng().integers(0, 2**32, np.random.default_rng().choice([100, 2**18]), np.uint32)
    assert np.array_equal(client.sort(keys, deadline=30), np.sort(keys))


def sort_stream(client: corank.Client) -> None:
    """A stream of 8 MiB."""
    keys = np.random.default_rng().integers(0, 2**32, 2**21, np.uint32)
    assert np.array_equal(client.sort(keys, place="stream", deadline=30), np.sort(keys))


@pytest.mark.parametrize("call", [sort_message, sort_stream])
def test_rolling_update_loses_no_call(corankd: pathlib.Path, call: Callable[[corank.Client], None]) -> None:
    with started(corankd, FLAGS) as servers:
        addresses = ",".join(server.address for server in servers)
        with Load(call, addresses, callers=4) as load:
            for place in range(SERVERS):
                wait_until(lambda: calls(servers[place]) > 0, "the server has load")  # noqa: B023
                replace(corankd, servers, place, FLAGS)
            wait_until(lambda: all(calls(server) > 0 for server in servers) or bool(load.failures), "all have load")
        assert not load.failures, load.failures
        assert load.done > 0
