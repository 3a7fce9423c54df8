"""The progress of a call: counts bytes, and shows them on a terminal or in a notebook or tells a function."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import threading
import time
from typing import Any, Callable, TextIO

from corank._text import size

_AUTO_SECONDS = 1.0
_ASKED_SECONDS = 0.2
_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 5.0
_NOTEBOOK_SECONDS = 0.25
_COLUMNS = 80
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BAR_CELLS = 20
_LEAST_CELLS = 5


def _columns(out: TextIO) -> int:
    """The current width of the terminal."""
    try:
        return os.get_terminal_size(out.fileno()).columns or _COLUMNS
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size((_COLUMNS, 24)).columns


def _notebook_display() -> Any:
    """IPython's function `display`, if this process is the kernel of a notebook; else None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    return importlib.import_module("IPython.display").display


class Progress:
    """A call on its way. Its numbers may be read from any thread.

    Attributes:
        label: what is done and where.
        sent: bytes of arrays that went to the server so far.
        to_send: bytes of arrays to send; 0 if none travel.
        received: bytes of arrays that came back so far.
        to_receive: bytes of arrays to come back; 0 if none travel or their length is not known.
        attempt: the try that is under way, or that comes next; each counts bytes from nothing.
        waiting: whether the call waits for the time of that try.
    """

    def __init__(self, label: str, to_send: int = 0, to_receive: int = 0) -> None:
        self.label = label
        self.sent = self.received = 0
        self.to_send, self.to_receive = to_send, to_receive
        self.attempt, self.waiting = 1, False
        self._start = time.monotonic()
        self._lock = threading.Lock()

    def _add(self, sent: int = 0, received: int = 0) -> None:
        """Counts bytes that went or came."""
        with self._lock:
            self.sent += sent
            self.received += received

    def _restart(self) -> None:
        """Counts from nothing again: the call is tried once more."""
        with self._lock:
            self.sent = self.received = 0

    @property
    def seconds(self) -> float:
        """Since the call began."""
        return time.monotonic() - self._start

    @property
    def fraction(self) -> float | None:
        """The share of all bytes that have travelled; None if it is not known."""
        total = self.to_send + self.to_receive
        return min(1.0, (self.sent + self.received) / total) if total else None

    @property
    def bytes_per_second(self) -> float:
        """Bytes sent and received in a second, on average."""
        return (self.sent + self.received) / max(self.seconds, 1e-9)

    @property
    def eta_seconds(self) -> float | None:
        """Seconds until all bytes have travelled at this rate; None where that is not known."""
        if self.fraction is None or self.sent + self.received == 0:
            return None
        return (1.0 / self.fraction - 1.0) * self.seconds

    def text(self, columns: int | None = None) -> str:
        """A line for people, of so many columns at most: first the bar shrinks, then the end is cut."""
        line = self._line(_BAR_CELLS)
        if columns is None or len(line) <= columns:
            return line
        return self._line(max(_LEAST_CELLS, _BAR_CELLS - (len(line) - columns)))[: max(columns, 0)]

    def __repr__(self) -> str:
        return f"Progress({self.text()})"

    def _line(self, bar: int) -> str:
        tries = "" if self.attempt == 1 else f", {'waits for ' if self.waiting else ''}try {self.attempt}"
        if self.fraction is None:
            return f"{self.label}  {self.seconds:.1f} s{tries}"
        cells = int(self.fraction * bar)
        eta = "" if self.eta_seconds is None else f", {self.eta_seconds:.0f} s left"
        return (
            f"{self.label}  [{'█' * cells}{'·' * (bar - cells)}] {self.fraction:4.0%}  "
            f"↑ {size(self.sent)} ↓ {size(self.received)}, {size(self.bytes_per_second)}/s{eta}{tries}"
        )


class Display:
    """Shows a Progress while a call runs: a context manager around the call.

    Args:
        progress: what to show.
        option: None: on a terminal or in a notebook, once the call has run for a second. True: at once, and elsewhere
            as a line every 5 seconds. False: not. A function: called with the Progress about ten times a second, on a
            thread of this object, and once more at the end; what it raises ends the reports, and `__exit__` raises it.
        out: the stream to write to; None: stderr.
    """

    def __init__(
        self, progress: Progress, option: bool | Callable[[Progress], object] | None, out: TextIO | None = None
    ) -> None:
        self._progress, self._option = progress, option
        self._out = sys.stderr if out is None else out
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        terminal = self._out is not None and self._out.isatty()
        run = None
        if callable(option):
            run = self._tell
        elif option is not False and out is None and _notebook_display() is not None:
            run = self._draw_in_notebook
        elif terminal and option is not False:
            run = self._draw
        elif option is True and self._out is not None:
            run = self._write_lines
        if run is not None:
            self._thread = threading.Thread(target=run, name="corank-progress", daemon=True)

    def __enter__(self) -> Display:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, kind: object, *exc_info: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _draw(self) -> None:
        if self._done.wait(_ASKED_SECONDS if self._option else _AUTO_SECONDS):
            return
        frame = 0
        while True:
            # A line that the terminal breaks would stay: \r goes back to the start of its last piece.
            text = f"{_SPINNER[frame % len(_SPINNER)]} {self._progress.text(_columns(self._out) - 3)}"
            self._out.write(f"\r\x1b[K{text}")
            self._out.flush()
            frame += 1
            if self._done.wait(_REDRAW_SECONDS):
                break
        self._out.write("\r\x1b[K")
        self._out.flush()

    def _draw_in_notebook(self) -> None:
        display = _notebook_display()
        if self._done.wait(_ASKED_SECONDS if self._option else _AUTO_SECONDS) or display is None:
            return
        line = display({"text/plain": self._progress.text()}, raw=True, display_id=True)
        while not self._done.wait(_NOTEBOOK_SECONDS):
            line.update({"text/plain": self._progress.text()}, raw=True)
        line.update({"text/plain": ""}, raw=True)

    def _write_lines(self) -> None:
        wrote = False
        while not self._done.wait(_LINE_SECONDS):
            self._out.write(self._progress.text() + "\n")
            self._out.flush()
            wrote = True
        if wrote:
            self._out.write(self._progress.text() + "\n")
            self._out.flush()

    def _tell(self) -> None:
        assert callable(self._option)
        try:
            while not self._done.wait(_REDRAW_SECONDS):
                self._option(self._progress)
            self._option(self._progress)
        except BaseException as error:
            self._error = error
