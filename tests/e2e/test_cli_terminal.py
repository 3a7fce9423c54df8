"""The progress line of `corank` on terminals of several widths."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import numpy as np
from corank.testing import LocalServer
from waiting import wait_until


def resize(terminal: int, columns: int) -> None:
    """Sets the width of the terminal."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


class Screen:
    """The text drawn on a terminal, one line for each time that the progress line was cleared."""

    def __init__(self, terminal: int) -> None:
        self.terminal, self.text = terminal, ""
        os.set_blocking(terminal, False)

    def lines(self) -> list[str]:
        """All complete lines so far, without those of width 0."""
        with contextlib.suppress(BlockingIOError):
            self.text += os.read(self.terminal, 1 << 16).decode()
        return [line for line in re.split(r"\r\x1b\[K", self.text)[:-1] if line]

    def has(self, count: int) -> bool:
        """Whether there are this many lines by now."""
        return len(self.lines()) >= count


def test_progress_fits_the_terminal_also_after_a_resize(
    cli: pathlib.Path, server: LocalServer, tmp_path: pathlib.Path
) -> None:
    """Standard output is a pipe that nobody reads, so the write blocks half-way."""
    np.save(tmp_path / "keys.npy", np.arange(1 << 18))
    terminal, stderr = pty.openpty()
    resize(terminal, 60)
    with subprocess.Popen(
        [cli, "sort", tmp_path / "keys.npy", "-o", "-", "--server", server.address],
        stdout=subprocess.PIPE,
        stderr=stderr,
    ) as process:
        os.close(stderr)
        try:
            screen = Screen(terminal)
            for columns, least in ((60, 50), (33, 32), (200, 61), (9, 8)):
                resize(terminal, columns)
                seen = len(screen.lines()) + 1  # one may be under way
                wait_until(functools.partial(screen.has, seen + 3), "three lines of this width")
                drawn = screen.lines()[seen + 1 :]
                assert all(least <= len(line) < columns for line in drawn), (columns, drawn)
                assert all("writing".startswith(line[:7]) for line in drawn), drawn
        finally:
            process.kill()
            os.close(terminal)
