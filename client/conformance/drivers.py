"""The drivers: which languages there are, and a process that answers commands."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paths import ROOT

ORDER = ("python", "cpp", "go", "java", "node", "rust")
ABSENT = 69
"""The exit code of a driver whose tool chain is not there."""
SECONDS = 60.0
"""Seconds that a command may take."""


class DriverError(Exception):
    """The driver ended, answered something else than an answer, or did not answer."""


class AbsentError(Exception):
    """The driver cannot run here."""


@dataclass(frozen=True)
class Language:
    """A language with a client."""

    name: str
    title: str
    lacks: Mapping[str, str]
    """Why it lacks a feature, by feature."""


def languages() -> list[Language]:
    """Every language whose client has a driver."""
    found = []
    for path in (ROOT / "client").glob("*/conformance/language.json"):
        told = json.loads(path.read_text())
        found.append(Language(path.parts[-3], told["title"], told["lacks"]))
    return sorted(found, key=lambda language: (*ORDER, language.name).index(language.name))


class Driver:
    """A driver process."""

    def __init__(self, language: Language, environment: Mapping[str, str] | None = None) -> None:
        self._language = language
        inherited = {name: value for name, value in os.environ.items() if name != "TRACEPARENT"}
        self._process = subprocess.Popen(
            [ROOT / "client" / language.name / "conformance" / "run"],
            cwd=ROOT,
            env={**inherited, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: list[str] = []
        self._last = 0
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
            del self._errors[:-40]

    def ask(self, command: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
        """The answer to a command.

        Raises:
            DriverError: there is none.
            AbsentError: the tool chain is not there.
        """
        self._last += 1
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"id": self._last, **command}) + "\n")
            self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.kill()
            raise DriverError(f"the driver did not answer within {seconds:g} s") from None
        if not line:
            self._ended()
        try:
            answer = json.loads(line)
        except ValueError:
            raise DriverError(f"the driver wrote a line that is no JSON: {line[:200]!r}") from None
        if not isinstance(answer, dict) or answer.get("id") != self._last:
            raise DriverError(f"the driver answered another command: {line[:200]!r}")
        if len(answer.keys() & {"ok", "error", "unsupported"}) != 1:
            raise DriverError(f"the answer needs exactly one of ok, error and unsupported: {line[:200]!r}")
        return answer

    def _ended(self) -> None:
        code = self._process.wait()
        for reader in self._readers:
            reader.join(5)
        told = "".join(self._errors).strip()
        if code == ABSENT:
            raise AbsentError(told)
        raise DriverError(f"the driver ended with {code}: {told[-2000:]}")

    @property
    def threads(self) -> int:
        """Threads of the process."""
        return len(os.listdir(f"/proc/{self._process.pid}/task"))

    @property
    def sockets(self) -> int:
        """Sockets that it holds."""
        count = 0
        for entry in os.scandir(f"/proc/{self._process.pid}/fd"):
            with contextlib.suppress(OSError):
                count += os.readlink(entry.path).startswith("socket:")
        return count

    def stop(self) -> int:
        """Closes stdin and waits. The exit code."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DriverError("the driver did not end within 20 s after its stdin") from None

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.wait()
