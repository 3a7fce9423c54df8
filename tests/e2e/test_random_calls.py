"""Random calls from several connections at once, checked against NumPy.

A round is a seed, which decides the server, how many cases run at once, and what they do. `make test` runs the first
rounds; RANDOM_CALLS_SECONDS=900 runs more of them for that long, from RANDOM_CALLS_SEED on. RANDOM_CALLS_SEED=12 alone
runs round 12, and RANDOM_CALLS_SEED=12.3 only its case 3.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
import random_client
from corank.testing import LocalServer
from e2e_support import wait_until_empty
from random_calls import Case
from random_plans import WrongAnswerError
from random_wire import PREFIX

ROUNDS = range(12)
"""Rounds of `make test`."""
_SECONDS = float(os.environ.get("RANDOM_CALLS_SECONDS", "0"))
_SEED = os.environ.get("RANDOM_CALLS_SEED", "")


class Kind(NamedTuple):
    """A kind of server: its flags, and the device memory that one stream may take."""

    flags: tuple[str, ...]
    max_device_bytes: int


KINDS = (
    # Large sorts and merges go out of core, and small ones wait for each other.
    Kind(
        (
            *("--lanes=1", "--long-lanes=1", "--stream-window-bytes=4MiB"),
            *("--direct-bytes=0", "--host-bytes=0", "--batch-delay-us=2000"),
        ),
        4 << 20,
    ),
    Kind(("--lanes=2", "--long-lanes=2", "--stream-window-bytes=8MiB"), 16 << 20),
    Kind(("--lanes=3", "--long-lanes=3", "--batch-delay-us=300", "--host-pool-bytes=512MiB"), 128 << 20),
)


class Servers:
    """One server of each kind, started when first needed.

    Args:
        binary: path of corankd.
    """

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._started: dict[Kind, LocalServer] = {}
        self.counts: Counter[str] = Counter()

    def get(self, kind: Kind) -> LocalServer:
        """The server of that kind."""
        if kind not in self._started:
            places = [f"--shared-memory={PREFIX}", f"--kept-bytes={256 << 20}"]
            server = LocalServer(self._binary, [*places, f"--max-device-bytes={kind.max_device_bytes}", *kind.flags])
            server.start()
            self._started[kind] = server
        return self._started[kind]

    def stop(self) -> None:
        """Stops all servers; they must still run, and exit with 0."""
        wrong = []
        for server in self._started.values():
            log, early = server.log_path.read_text(errors="replace")[-3000:], server.process.poll()
            if early is not None or server.stop() != 0:
                wrong.append(f"a server ended with {early}; the end of its log:\n{log}")
        assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def servers(corankd: Path) -> Iterator[Servers]:
    """The servers; each must run until the end."""
    found = Servers(corankd)
    yield found
    print(f"\nrandom calls: {dict(found.counts)}")
    found.stop()


def _run_case(server: LocalServer, seed: int, number: int, most: int, counts: Counter[str]) -> str:
    """The failure of one case; empty if it passed."""
    if number % 3 == 2:
        case: Case | random_client.ClientCase = random_client.ClientCase(
            server.address, seed * 8 + number, most, counts
        )
    else:
        case = Case(server.address, seed * 8 + number, most, counts)
    try:
        case.run()
    except Exception as error:  # whatever it is, the way to reproduce it matters more
        told = str(error) if isinstance(error, WrongAnswerError) else traceback.format_exc()
        story = "\n  ".join(case.story)
        replay = f"RANDOM_CALLS_SEED={seed}.{number} {sys.executable} -m pytest {__file__}"
        return (
            f"case {seed}.{number}: {told}\nits calls, of which the last one failed:\n  {story}\n"
            f"once more: {replay}; with those at the same time: RANDOM_CALLS_SEED={seed}"
        )
    return ""


def run_round(servers: Servers, seed: int, only: int | None = None) -> None:
    """Runs one round; afterwards the server must be as before."""
    kind = KINDS[seed % len(KINDS)]
    server = servers.get(kind)
    cases = [only] if only is not None else range(1 + (seed // len(KINDS) + seed) % 4)
    with ThreadPoolExecutor(len(cases)) as pool:
        futures = [
            pool.submit(_run_case, server, seed, number, kind.max_device_bytes, servers.counts) for number in cases
        ]
        wrong = [text for text in (future.result() for future in futures) if text]
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)

    try:
        wait_until_empty(server)
    except AssertionError as error:
        pytest.fail(f"round {seed}: {error}; once more: RANDOM_CALLS_SEED={seed}", pytrace=False)
    servers.counts["rounds"] += 1


@pytest.mark.skipif(bool(_SEED or _SECONDS), reason="RANDOM_CALLS_SEED or RANDOM_CALLS_SECONDS takes others")
@pytest.mark.parametrize("seed", ROUNDS)
def test_calls_drawn_at_random(servers: Servers, seed: int) -> None:
    run_round(servers, seed)


@pytest.mark.skipif(not (_SEED or _SECONDS), reason="needs RANDOM_CALLS_SEED or RANDOM_CALLS_SECONDS")
def test_calls_of_other_seeds(servers: Servers) -> None:
    first, _, only = (_SEED or str(len(ROUNDS))).partition(".")
    seed, end = int(first), time.monotonic() + _SECONDS
    run_round(servers, seed, int(only) if only else None)
    while time.monotonic() < end:
        seed += 1
        run_round(servers, seed)
