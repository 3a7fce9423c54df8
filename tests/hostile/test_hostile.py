"""Attacks on the wire beside a caller that behaves and a prober of the health port; see `make test-hostile`.

For each attack: how much the server's memory grew at most, how much CPU it took, how many probes were answered, the
caller's p99 before and during, and its longest call. Memory, probes and the caller's calls decide; times are printed
and stored only.

CORANK_HOSTILE_SECONDS    how long each attack goes on (8)
CORANK_HOSTILE_TABLE      a file for the table of all figures
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import e2e_paths  # noqa: F401

# isort: split
import corank
import grpc
import numpy as np
import pytest
from attacks import ATTACKS
from certificates import Authority
from corank.testing import LocalServer
from e2e_support import MEMORY_SCALE, binary, health, unused_address, wait_until_empty
from waiting import wait_until

FOLDER = pathlib.Path(__file__).resolve().parent
SECONDS = float(os.environ.get("CORANK_HOSTILE_SECONDS", "8"))
MOST_BYTES = (64 << 20) * MEMORY_SCALE
TICKS = os.sysconf("SC_CLK_TCK")


class Figures(NamedTuple):
    attack: str
    grown_bytes: int
    cores: float
    probes: int
    calls: int
    p99_before_ms: float
    p99_during_ms: float
    longest_ms: float

    def row(self) -> str:
        return (
            f"| {self.attack} | +{max(self.grown_bytes, 0) / (1 << 20):.0f} MB | {self.cores:.2f} | {self.probes} of"
            f" {self.probes} | {self.calls} of {self.calls} | {self.p99_before_ms:.1f}; {self.p99_during_ms:.1f} ms |"
            f" {self.longest_ms:.0f} ms |"
        )


class Repeated:
    """Does something over and over on a thread; keeps how long each time took, and the first failure."""

    def __init__(self, action: Callable[[], object], pause: float) -> None:
        self.seconds: list[float] = []
        self.failure: BaseException | None = None
        self._action, self._pause = action, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                began = time.perf_counter()
                self._action()
                self.seconds.append(time.perf_counter() - began)
                self._stop.wait(self._pause)
        except BaseException as error:  # `check` reports it
            self.failure = error

    def __enter__(self) -> Repeated:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def await_more(self, count: int) -> None:
        """Waits until it was done this often from now on, or failed."""
        enough = len(self.seconds) + count
        wait_until(lambda: len(self.seconds) >= enough or self.failure is not None)

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure


def p99_ms(seconds: list[float]) -> float:
    return float(np.percentile(seconds, 99)) * 1000


def cpu_seconds(server: LocalServer) -> float:
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(") ")[-1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def status_bytes(server: LocalServer, name: str) -> int:
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(text.split(f"{name}:")[1].split()[0])


class Target(NamedTuple):
    server: LocalServer
    probes: str
    connect: Callable[[], corank.Client]


@contextlib.contextmanager
def serving(flags: list[str], tls_ca: pathlib.Path | None = None) -> Iterator[Target]:
    """A warm server that must exit with 0 after its attacks."""
    probes = unused_address()
    arguments = ["--engine=cpu", "--log-level=error", "--max-request-bytes=1048576", f"--health-listen={probes}"]
    local = LocalServer(binary("CORANKD"), [*arguments, *flags])
    local.start()

    def connect() -> corank.Client:
        return local.connect(deadline=30, retries=0, tls_ca=tls_ca)

    with connect() as client:
        for count in (10, 100_000):
            client.sort(np.arange(count, dtype=np.int32))
    yield Target(local, probes, connect)
    assert local.process.poll() is None, f"the server ended with {local.process.poll()}"
    assert local.stop() == 0


@pytest.fixture(scope="module")
def plain() -> Iterator[Target]:
    with serving([]) as target:
        yield target


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("tls")
    authority = Authority()
    files = authority.issue_server().save(folder)
    with serving(
        [f"--tls-certificate={files.certificate}", f"--tls-key={files.key}"], tls_ca=authority.save(folder)
    ) as target:
        yield target


@pytest.fixture(scope="module")
def table() -> Iterator[list[Figures]]:
    rows: list[Figures] = []
    yield rows
    lines = [
        "| attack | memory | cores | probes answered | calls answered | caller's p99 before; during | longest call |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |", *(row.row() for row in rows)]
    text = "\n".join(lines) + "\n"
    print(f"\n{text}")
    if path := os.environ.get("CORANK_HOSTILE_TABLE"):
        pathlib.Path(path).write_text(text)


def stand(name: str, target: Target) -> Figures:
    """Runs the attack and judges what it did."""
    server = target.server
    keys = np.random.default_rng(1).integers(-1000, 1000, 1024, dtype=np.int32)
    ordered = np.sort(keys)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(target.connect())
        channel = stack.enter_context(grpc.insecure_channel(target.probes))

        def call() -> None:
            np.testing.assert_array_equal(client.sort(keys), ordered)

        def probe() -> None:
            assert health(channel, "") == 1

        caller = stack.enter_context(Repeated(call, 0.002))
        prober = stack.enter_context(Repeated(probe, 0.05))
        caller.await_more(200)
        prober.await_more(3)
        before = len(caller.seconds), len(prober.seconds)
        memory = status_bytes(server, "VmRSS")
        pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # resets VmHWM
        began, cpu = time.monotonic(), cpu_seconds(server)
        subprocess.run(
            [sys.executable, str(FOLDER / "attacks.py"), name, server.address, str(SECONDS)],
            check=True,
            timeout=10 * SECONDS + 60,
        )
        cores = (cpu_seconds(server) - cpu) / (time.monotonic() - began)
        during = caller.seconds[before[0] :]
        grown = status_bytes(server, "VmHWM") - memory
        caller.await_more(20)  # both go on after the attack
        prober.await_more(2)
        caller.check()
        prober.check()
        probes = len(prober.seconds) - before[1]
        figures = Figures(
            name,
            grown,
            cores,
            probes,
            len(during),
            p99_ms(caller.seconds[: before[0]]),
            p99_ms(during or [0]),
            1000 * max(during, default=0),
        )
    print(figures.row())
    assert grown <= MOST_BYTES, f"the server grew by {grown >> 20} MiB"
    wait_until_empty(server, 90)
    return figures


@pytest.mark.parametrize("name", [name for name in ATTACKS if "TLS" not in name])
def test_an_attack_takes_little_and_hurts_nobody(name: str, plain: Target, table: list[Figures]) -> None:
    table.append(stand(name, plain))


@pytest.mark.parametrize("name", [name for name in ATTACKS if "TLS" in name])
def test_an_attack_on_tls_takes_little_and_hurts_nobody(name: str, secured: Target, table: list[Figures]) -> None:
    table.append(stand(name, secured))
