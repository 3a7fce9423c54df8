"""A test that is killed leaves no process and no file behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from control_plane import HERE, WITH_PARENT


def processes(mark: str) -> list[str]:
    """The programs whose command line contains a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in command:
            found.append(command)
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("sent", "started"),
    [(signal.SIGINT, True), (signal.SIGKILL, True), (signal.SIGTERM, False), (signal.SIGKILL, False)],
    ids=["Ctrl-C", "kill", "early end", "early kill"],
)
def test_killed_control_plane_leaves_nothing(tmp_path: Path, sent: signal.Signals, started: bool) -> None:
    command = [*WITH_PARENT, sys.executable, str(HERE / "control_plane.py")]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout
        if started:
            assert str(tmp_path) in running.stdout.readline().decode()
            assert any("kwok" in each for each in processes(str(tmp_path)))
        else:
            wait_for(lambda: any("kube-apiserver" in each for each in processes(str(tmp_path))))
        running.send_signal(sent)
        running.wait(60)
    wait_for(lambda: not processes(str(tmp_path)) and not list(tmp_path.iterdir()))
