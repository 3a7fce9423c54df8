"""Runs a vector: connects the client that it needs, sends its commands, and judges answers, calls and times."""

from __future__ import annotations

import contextlib
import time
from itertools import pairwise
from typing import Any

import compare
from drivers import Driver, DriverError, Language
from faults import Arrival
from servers import Servers

Vector = dict[str, Any]
_OWN = ("name", "needs", "full", "server", "connect", "faults", "environment", "steps", "repeat", "spread")
_EXPECTED = ("results", "ok", "error", "calls", "connections", "least_s", "most_s", "gap_s", "seen", "may_fail")
_JUDGED = {"calls", "connections", "gap_s", "seen"}
_LEAK_AFTER = 3
"""Repetitions after which threads and sockets may not grow any more."""
_SPREAD_SECONDS = 30
"""Time for calls to reach both of two servers."""
_LONGEST_CANCEL_MS = 20_000
"""A call that is cancelled after this time has been sent, however busy the machine is."""


class FailedError(Exception):
    """The client did something else than the vector expects."""


class LackingError(Exception):
    """The client lacks a feature, whose name this is."""


class Scenario:
    """The driver of a language, and the servers that it talks to."""

    def __init__(self, language: Language, servers: Servers) -> None:
        self._language, self._servers = language, servers
        self._driver: Driver | None = None
        self._connected: set[str] = set()
        self._open: set[str] = set()
        self._faults: list[dict[str, Any]] = []

    def hello(self) -> dict[str, Any]:
        """Starts the driver, and asks what it is.

        Raises:
            AbsentError: its tool chain is not there.
            DriverError: it does not answer as it should.
        """
        answer = self._ask(self._started(), {"command": "hello"})
        told: dict[str, Any] = answer.get("ok", {})
        if told.get("language") != self._language.name:
            raise DriverError(f"hello: {answer}")
        return told

    def stop(self) -> int:
        """Lets the driver end. Its exit code."""
        driver, self._driver = self._driver, None
        return 0 if driver is None else driver.stop()

    def kill(self) -> None:
        """Ends the driver at once."""
        if self._driver is not None:
            self._driver.kill()
        self._driver = None
        self._connected = set()

    def _started(self) -> Driver:
        if self._driver is None:
            self._driver = Driver(self._language)
            self._connected = set()
        return self._driver

    def _ask(self, driver: Driver, command: Vector) -> dict[str, Any]:
        try:
            return driver.ask(command)
        except DriverError:
            self.kill()
            raise

    def run(self, vector: Vector) -> None:
        """Runs a vector.

        Raises:
            FailedError: the outcome is not the expected one.
            LackingError: the client lacks a feature.
            DriverError: the driver broke.
        """
        if "environment" in vector:
            environment = {name: self._named(value) for name, value in vector["environment"].items()}
            driver = Driver(self._language, environment)
            try:
                self._run_on(driver, vector, set())
                driver.stop()
            finally:
                driver.kill()
        else:
            self._run_on(self._started(), vector, self._connected)

    def _run_on(self, driver: Driver, vector: Vector, connected: set[str]) -> None:
        server = vector.get("server", "plain")
        own = {"connect", "environment", "faults"} & vector.keys()
        own |= {"connect"} & {step.get("command") for step in vector.get("steps", [])}
        client = vector["name"] if own else server
        if server == "faults":
            self._faults = vector.get("faults", [])
            self._servers.faults().begin(self._faults)
        steps = vector.get("steps") or [{key: value for key, value in vector.items() if key not in _OWN}]
        try:
            if client not in connected and not any(step.get("command") == "connect" for step in steps):
                options = {"address": f"${server}", **vector.get("connect", {})}
                options = {name: value for name, value in options.items() if value != "absent"}
                self._step(driver, {"command": "connect", "client": client, "options": options})
                connected.add(client)
            if "repeat" in vector:
                self._repeat(driver, steps, client, vector["repeat"])
            elif "spread" in vector:
                method, least = vector["spread"]
                self._spread(driver, steps, client, method, least)
            else:
                for step in steps:
                    if not self._step(driver, {"client": client, **step}):
                        break
        finally:
            if client == vector["name"] and client in self._open:
                self._open.discard(client)
                connected.discard(client)
                with contextlib.suppress(DriverError):
                    self._ask(driver, {"command": "close", "client": client})
            if server == "faults":
                self._servers.faults().disconnect()

    def _step(self, driver: Driver, step: Vector) -> bool:
        """Sends a command, and judges what comes of it. Whether the next one follows."""
        if "write" in step:
            (self._servers.folder / step["write"]).write_text(self._named(step["text"]))
            return True
        expected = {name: step[name] for name in _EXPECTED if name in step}
        command = {name: self._named(value) for name, value in step.items() if name not in _EXPECTED}
        if command["command"] in ("hello", "resources"):
            command.pop("client", None)
        faults = self._servers.faults() if _JUDGED & expected.keys() else None
        before = len(faults.arrivals) if faults else 0
        start = time.monotonic()
        answer = self._ask(driver, command)
        took = time.monotonic() - start
        if "unsupported" in answer:
            raise LackingError(answer["unsupported"])
        if "may_fail" in expected and answer.get("error", {}).get("code") == expected["may_fail"]:
            return False
        if command["command"] == "connect" and "ok" in answer:
            self._open.add(command["client"])
        wrong = compare.mismatch(expected, answer)
        if wrong:
            raise FailedError(f"{command['command']}: {wrong}")
        if not expected.get("least_s", 0) <= took <= expected.get("most_s", took):
            raise FailedError(
                f"{command['command']}: took {took:.2f} s, expected {expected.get('least_s', 0)} s to "
                f"{expected.get('most_s', 'any')} s"
            )
        if faults:
            if self._was_cancelled_too_soon(step, expected, faults.arrivals[before:]):
                later = {**step["options"], "cancel_after_ms": 2 * step["options"]["cancel_after_ms"]}
                faults.disconnect()  # so that the call does not arrive now
                faults.begin(self._faults)
                return self._step(driver, {**step, "options": later})
            _judge_calls(expected, faults.arrivals[before:], self._named(expected.get("seen", [])))
        return True

    @staticmethod
    def _was_cancelled_too_soon(step: Vector, expected: Vector, arrivals: list[Arrival]) -> bool:
        """Whether a busy machine took so long to send a call that it was cancelled before."""
        after = step.get("options", {}).get("cancel_after_ms", _LONGEST_CANCEL_MS)
        arrived = [arrival.method for arrival in arrivals]
        is_short = any(arrived.count(method) < count for method, count in expected.get("calls", {}).items())
        return is_short and after < _LONGEST_CANCEL_MS

    def _repeat(self, driver: Driver, steps: list[Vector], client: str, times: int) -> None:
        """Runs steps often, and fails if threads, sockets or what the driver counts itself grows."""
        counts: list[dict[str, int]] = []
        for at in range(times):
            for step in steps:
                self._step(driver, {"client": client, **step})
            if at in (_LEAK_AFTER - 1, times - 1):
                counts.append(self._settled(driver, counts[0] if counts else None))
        # What leaks grows with every repetition; a pool may still grow by a thread or a socket.
        most = (times - _LEAK_AFTER) // 2
        grown = {
            name: (before, counts[1][name]) for name, before in counts[0].items() if counts[1][name] > before + most
        }
        if grown:
            told = ", ".join(f"{name} from {before} to {after}" for name, (before, after) in grown.items())
            raise FailedError(f"grew in {times - _LEAK_AFTER} repetitions: {told}")

    def _spread(self, driver: Driver, steps: list[Vector], client: str, method: str, least: int) -> None:
        """Runs steps until the fault server and the other one each got so many calls, and fails if they never do.

        A client sends every call by its first connection until the second is up, so a number of calls cannot be told.
        """
        end = time.monotonic() + _SPREAD_SECONDS
        calls = found = 0
        while not least <= found <= calls - least:
            if time.monotonic() > end:
                raise FailedError(
                    f"{found} of {calls} calls went to one of two servers, expected {least} or more to each"
                )
            for step in steps:
                self._step(driver, {"client": client, **step})
            calls += len(steps)
            found = sum(arrival.method == method for arrival in self._servers.faults().arrivals)

    def _settled(self, driver: Driver, most: dict[str, int] | None) -> dict[str, int]:
        """The counts once they are at most these, or after some seconds."""
        end = time.monotonic() + 5
        while True:
            counted = self._ask(driver, {"command": "resources"}).get("ok", {})
            found = {"threads": driver.threads, "sockets": driver.sockets, **counted}
            if most is None:
                time.sleep(1)
                most = found
            elif all(found[name] <= most[name] for name in found) or time.monotonic() > end:
                return found
            else:
                time.sleep(0.1)

    def _named(self, value: Any) -> Any:
        """A value of a vector with addresses, files and tokens in place of their "$names"."""
        if isinstance(value, dict):
            return {name: self._named(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._named(each) for each in value]
        if not isinstance(value, str) or "$" not in value:
            return value
        return self._servers.named(value)


def _judge_calls(expected: Vector, arrivals: list[Arrival], seen: list[Vector]) -> None:
    """Judges the calls that the fault server saw.

    Raises:
        FailedError: they are not the expected ones.
    """
    for method, count in expected.get("calls", {}).items():
        found = [arrival for arrival in arrivals if arrival.method == method]
        if len(found) != count:
            raise FailedError(f"{method} arrived {len(found)} times, expected {count}")
    peers = {arrival.peer for arrival in arrivals if arrival.method in expected.get("calls", {})}
    if len(peers) != expected.get("connections", len(peers)):
        raise FailedError(f"the calls came over {len(peers)} connections, expected {expected['connections']}")
    if "gap_s" in expected:
        times = [arrival.at for arrival in arrivals if arrival.method in expected["calls"]]
        gaps = [after - before for before, after in pairwise(times)]
        if not gaps or min(gaps) < expected["gap_s"]:
            raise FailedError(f"the tries were {gaps} s apart, expected {expected['gap_s']} s or more")
    for wanted in seen:
        if not any(_is_seen(wanted, arrival) for arrival in arrivals):
            raise FailedError(f"no call arrived with {wanted}; there were {arrivals}")


def _is_seen(wanted: Vector, arrival: Arrival) -> bool:
    if wanted.get("method", arrival.method) != arrival.method:
        return False
    if "left_s" in wanted and (arrival.left_s is None or not 0 < arrival.left_s <= wanted["left_s"]):
        return False
    return all(arrival.metadata.get(name) == value for name, value in wanted.get("metadata", {}).items())
