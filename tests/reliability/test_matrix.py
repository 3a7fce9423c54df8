"""Calls in every place of arrays end in every phase, in every way: the server keeps nothing, no answer is wrong.

The ways: the client cancels, the deadline passes, the client is killed, the server gets SIGTERM, the server is killed
and restarted. With RELIABILITY_LONG every way runs in every phase, RELIABILITY_ROUNDS times.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import corank
import numpy as np
import pytest
from corank._options import Place
from corank.testing import LocalServer
from e2e_support import UNLENT_HOST, samples
from held_calls import HeldCall, random_keys
from phases import (
    PHASES,
    PLACES,
    SERVER_FLAGS,
    MissedError,
    Scene,
    begin,
    hold_lane,
    hold_network,
    proof,
    settle,
    slow_keys,
    wait_for_phase,
)
from reliability_support import LONG, PREFIX, wait_until_empty
from tcp_proxy import TcpProxy
from waiting import wait_until

TRIES = 40
ROUNDS = int(os.environ.get("RELIABILITY_ROUNDS", "1")) if LONG else 1
FLAGS = [*SERVER_FLAGS, f"--shared-memory={PREFIX}"]
CLIENT_PLACES: dict[str, Place] = {"unary": "inline", "stream": "stream", "shared_memory": "shared_memory"}
SMALL = random_keys(20_000, seed=5)
# `make test` ends calls in this phase of each place; the long form ends them in every phase.
QUICK_PHASE = {"unary": "answering", "stream": "copying", "shared_memory": "running"}

Cell = tuple[str, str, int]


def cells(every_phase: bool) -> list[Cell]:
    """The (place, phase, round) of each test."""
    return [
        (place, phase, number)
        for place, phase, number in itertools.product(PLACES, PHASES, range(ROUNDS))
        if every_phase or phase == QUICK_PHASE[place]
    ]


def name_of(cell: Cell) -> str:
    """The name of its test."""
    return f"{cell[0]}-{cell[1]}" + (f"-{cell[2]}" if cell[2] else "")


# Half a message is not yet a call when the server finishes its work and exits.
SIGTERM_CELLS = cells(every_phase=LONG) + ([] if LONG else [("unary", "copying", 0)])
every_phase = pytest.mark.parametrize("cell", cells(every_phase=True), ids=name_of)
one_phase = pytest.mark.parametrize("cell", cells(every_phase=LONG), ids=name_of)


@pytest.fixture(scope="module")
def shared_scene(corankd: pathlib.Path) -> Iterator[Scene]:
    """A server for all tests that leave it unchanged. It must exit with 0."""
    with LocalServer(corankd, FLAGS) as server, TcpProxy(server.address) as proxy:
        scene = Scene(server, proxy, slow_keys(server))
        wait_until_empty(server)
        yield scene
        assert server.process.poll() is None, f"the server ended with {server.process.poll()}"
        proxy.cut()
        assert server.stop() == 0


@pytest.fixture
def scene(shared_scene: Scene) -> Iterator[Scene]:
    """That server. After each test it must hold nothing and answer correctly in every place."""
    yield shared_scene
    settle(shared_scene)
    check_answers(shared_scene.server)
    wait_until_empty(shared_scene.server)


def check_answers(server: LocalServer) -> None:
    """Sorts in every place."""
    with server.connect(retries=0) as client:
        for place in CLIENT_PLACES.values():
            np.testing.assert_array_equal(client.sort(SMALL, place=place), np.sort(SMALL))


def address_for(scene: Scene, place: str, phase: str) -> str:
    """Shared memory serves clients of this host, so the proxy never stalls; it only counts what reached the server."""
    direct = place == "shared_memory" and phase != "answering"
    return scene.server.address if direct else scene.proxy.address


class Aimed:
    """A call in its phase, or a process that makes one."""

    def __init__(self, scene: Scene, place: str, phase: str) -> None:
        self.scene, self.place, self.phase = scene, place, phase
        self._holder: HeldCall | None = None

    def prepare(self) -> None:
        """Makes the server hold the next call in its phase."""
        settle(self.scene)
        self._holder = hold_lane(self.scene, self.place) if self.phase == "queued" else None
        hold_network(self.scene, self.place, self.phase)

    def release(self) -> None:
        """Lets the call continue."""
        if self._holder is not None:
            self._holder.go_on()
        self.scene.release()

    def check_left_queue(self) -> None:
        """Checks that a waiting call left the queue while the lane was still busy; raises MissedError otherwise."""
        if self._holder is None:
            return
        now: dict[str, float] = {}

        def has_left() -> bool:
            now.update(self.scene.now())
            return now["corank_queue_requests"] == 0

        wait_until(has_left, "the call that is over leaves the queue")
        if now["corank_lanes_busy"] == 0:
            raise MissedError("the lane was free before the call was seen to be gone")

    def end_holder(self) -> None:
        """Ends the call that occupies the lane."""
        if self._holder is not None:
            self._holder.cancel()
            self._holder.code()


def until_hit(
    scene: Scene,
    cell: Cell,
    attempt: Callable[[Aimed], None],
    start: Callable[[], None] = lambda: None,
    passed_by: Callable[[], None] = lambda: None,
) -> None:
    """Repeats the attempt until it hits the phase; fails the test if it never does. `start` runs before anything is
    held, `passed_by` after an attempt that ended correctly but in another phase."""
    place, phase, _ = cell
    for _ in range(TRIES):
        start()
        aimed = Aimed(scene, place, phase)
        aimed.prepare()
        before = scene.now()
        try:
            attempt(aimed)
        except MissedError:
            continue
        finally:
            aimed.release()
            aimed.end_holder()
        settle(scene)
        if proof(place, phase, before, scene.now()) or phase == "queued":
            return
        passed_by()
    pytest.fail(f"{place}: never {phase} in {TRIES} tries")


def cancel(scene: Scene, call: HeldCall) -> None:
    """Cancels the call. A stopped server finds the cancellation when it continues."""
    passed = scene.proxy.up.passed
    call.cancel()
    if scene.is_stopped:
        wait_until(lambda: scene.proxy.up.passed > passed, "the cancellation has come to the stopped server")


@every_phase
def test_cancelled(scene: Scene, cell: Cell) -> None:
    place, phase, _ = cell

    def attempt(aimed: Aimed) -> None:
        call = begin(place, phase, address_for(scene, place, phase), scene.slow)
        try:
            wait_for_phase(scene, place, phase, call)
        finally:
            cancel(scene, call)
        if phase == "queued":
            aimed.check_left_queue()
        scene.release()
        if call.code() != "CANCELLED":
            raise MissedError("it ended first")

    until_hit(scene, cell, attempt)


@one_phase
def test_deadline(scene: Scene, cell: Cell) -> None:
    place, phase, _ = cell
    timeout = 0.5

    def attempt(aimed: Aimed) -> None:
        nonlocal timeout
        call = begin(place, phase, address_for(scene, place, phase), scene.slow, timeout)
        try:
            wait_for_phase(scene, place, phase, call, seconds=timeout)
            time.sleep(timeout)  # the deadline has surely passed
            # gRPC for Python does not end a call while its outgoing message is stalled; corank's own client does.
            scene.release()
            call.go_on()
            code = call.code()
        except MissedError:
            timeout = min(timeout * 1.5, 5)
            call.cancel()
            call.code()
            raise
        try:
            if phase == "queued":
                aimed.check_left_queue()
            if code == "OK":
                raise MissedError("it was in time")
        except MissedError:
            timeout = max(timeout * 0.7, 0.003)
            raise
        assert code == "DEADLINE_EXCEEDED"

    def aim_earlier() -> None:
        nonlocal timeout
        timeout = max(timeout * 0.7, 0.003)

    until_hit(scene, cell, attempt, passed_by=aim_earlier if phase == "copying" else lambda: None)


def shared_objects() -> set[pathlib.Path]:
    """The named shared-memory objects of these tests' clients."""
    return set(pathlib.Path("/dev/shm").glob(f"{PREFIX[1:]}*"))


@one_phase
def test_client_killed(scene: Scene, cell: Cell) -> None:
    place, phase, _ = cell
    script = pathlib.Path(__file__).with_name("client_process.py")
    clients: list[subprocess.Popen[bytes]] = []
    before = shared_objects()  # leftovers of others, such as a soak client that was just killed

    def start() -> None:
        address = address_for(scene, place, phase)
        command = [sys.executable, str(script), "call", address, place, phase, str(scene.slow.size)]
        client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        clients.append(client)
        assert client.stdout is not None
        assert client.stdout.readline() == b"ready\n"

    def attempt(aimed: Aimed) -> None:
        with clients.pop() as client:
            assert client.stdin is not None
            client.stdin.close()  # starts the call
            try:
                wait_for_phase(scene, place, phase, seconds=60)
                if place == "shared_memory" and not scene.is_stopped:
                    assert scene.now()["corank_region_leases"] == 1
            finally:
                client.kill()
        if phase == "queued":
            aimed.check_left_queue()

    until_hit(scene, cell, attempt, start)
    assert shared_objects() <= before, "objects of clients that were killed are left"


def own_scene(corankd: pathlib.Path, shared: Scene) -> Scene:
    """A server that a test may end."""
    server = LocalServer(corankd, [*FLAGS, f"--listen={UNLENT_HOST}:0"])
    server.start()
    return Scene(server, TcpProxy(server.address), shared.slow)


def reach(scene: Scene, cell: Cell) -> tuple[Aimed, HeldCall]:
    """A call in its phase, on a server that needs no cleaning up."""
    place, phase, _ = cell
    for _ in range(TRIES):
        aimed = Aimed(scene, place, phase)
        aimed.prepare()
        call = begin(place, phase, address_for(scene, place, phase), scene.slow)
        try:
            wait_for_phase(scene, place, phase, call)
            return aimed, call
        except MissedError:
            aimed.release()
            aimed.end_holder()
            call.cancel()
            call.code()
    pytest.fail(f"{place}: never {phase} in {TRIES} tries")


@pytest.mark.parametrize("cell", SIGTERM_CELLS, ids=name_of)
def test_server_told_to_end(corankd: pathlib.Path, shared_scene: Scene, cell: Cell) -> None:
    """The server answers admitted calls correctly, tells new ones when to retry, and exits with 0."""

    def ends_well() -> bool:
        scene = own_scene(corankd, shared_scene)
        server = scene.server
        with scene.proxy, server.connect(retries=0) as client:
            client.info()
            aimed, call = reach(scene, cell)
            server.process.send_signal(signal.SIGTERM)
            scene.let_server_go_on()
            wait_until(lambda: '"draining"' in server.log_path.read_text(), "it drains")
            with pytest.raises(corank.Unavailable) as refused:
                client.sort(SMALL, place="inline")
            aimed.release()
            call.go_on()
            code = call.code()
            # A partly received message was not admitted.
            assert code == "OK" or (cell[:2] == ("unary", "copying") and code == "UNAVAILABLE"), code
            assert server.process.wait(30) == 0
            server.stop()
            return refused.value.retry_after is not None  # otherwise the server was already gone

    assert any(ends_well() for _ in range(TRIES)), "the server always ended before another call came"


@one_phase
def test_server_killed_and_started_again(corankd: pathlib.Path, shared_scene: Scene, cell: Cell) -> None:
    """Calls in flight get a retryable status; a client that retries gets its answer from the next server."""
    place = cell[0]
    scene = own_scene(corankd, shared_scene)
    server = scene.server
    flags = [*FLAGS, f"--listen={server.address}"]
    answers = []
    with scene.proxy, server.connect(retries=50, deadline=60) as client:
        client.sort(SMALL)
        _, call = reach(scene, cell)

        def retry() -> None:
            answers.append(client.sort(SMALL, place=CLIENT_PLACES[place]))

        thread = threading.Thread(target=retry)
        server.kill()
        thread.start()
        scene.proxy.release()
        call.go_on()
        assert call.code() == "UNAVAILABLE"
        with LocalServer(corankd, flags) as again:
            thread.join()
            np.testing.assert_array_equal(answers[0], np.sort(SMALL))
            client._connection.regions.forget()
            wait_until_empty(again)
            assert samples(again)["corank_queue_requests"] == 0
