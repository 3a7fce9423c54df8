"""Headless Chromium, driven through a pipe by its DevTools protocol, which needs no package."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

EXTRA = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root


class Chromium:
    """One page of one browser."""

    def __init__(self, profile: Path) -> None:
        here, there = os.pipe(), os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        command = 'exec 3<&"$1" 4>&"$2"; shift 2; exec chromium "$@"'
        options = ["--headless", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            ["bash", "-c", command, "chromium", str(here[0]), str(there[1]), *options, *EXTRA],
            pass_fds=(here[0], there[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(here[0])
        os.close(there[1])
        self._to, self._from = os.fdopen(here[1], "wb", 0), os.fdopen(there[0], "rb")
        self._numbers = itertools.count(1)
        self._session: dict[str, str] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.call("Page.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._to.close()  # the browser ends with its pipe
        self._process.wait()
        self._from.close()

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("Chromium ended")
            text += byte
        return dict(json.loads(text))

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Calls a method of the protocol and returns its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **self._session}
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def size(self, width: int, height: int, *, phone: bool) -> None:
        """Lays out pages as a window of this size does, or as a phone does."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, address: str) -> None:
        """Opens a page and waits until it and its pictures have loaded."""
        self.call("Page.navigate", url=address)
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Writes what the page shows as PNG."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(taken["data"]))
