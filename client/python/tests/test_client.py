"""The client apart from operators: options, statistics, threads, the default client, the command."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer

import corank
import corank.__main__
from corank._progress import Display, Progress
from corank.v1 import operators_pb2

X = np.array([3, 1, 2], dtype=np.int32)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal, and when something was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Keeps the text."""
        written = super().write(text)
        self.drawn.set()
        return written


def test_stats_say_what_the_call_cost(client: corank.Client) -> None:
    kept: list[corank.Stats] = []
    client.sort(X, algorithm="mergesort", on_stats=kept.append, request_id="job-7")
    client.merge([[1], [2]], on_stats=kept.append)
    client.expand(X, [1, 1, 1], on_stats=kept.append)
    sort, merge, expand = kept
    assert (sort.operator, sort.algorithm, sort.request_id) == ("Sort", "mergesort", "job-7")
    assert merge.algorithm in ("merge-path", "tiled")
    assert (expand.operator, expand.algorithm) == ("ExpandIntervals", "")
    for stats in kept:
        assert stats.engine in ("cpu", "cuda")
        assert stats.device
        assert stats.elapsed_ns >= stats.queue_ns + stats.copy_in_ns + stats.kernel_ns + stats.copy_out_ns
        assert stats.batch_size >= 1
        assert stats.attempts == 1
        assert stats.request_bytes > 0
        assert stats.response_bytes > 0


def test_options_reach_the_server(fake: FakeServer, fake_client: corank.Client) -> None:
    fake_client.sort(X, priority="high", request_id="abc", limit=2, descending=True)
    request = fake.requests[0]
    assert request.options.priority == operators_pb2.PRIORITY_HIGH
    assert request.options.request_id == "abc"
    assert request.limit == 2
    assert request.order == operators_pb2.SORT_ORDER_DESCENDING
    assert request.algorithm == operators_pb2.SORT_ALGORITHM_AUTO


def test_one_client_serves_many_threads(client: corank.Client) -> None:
    def work(seed: int) -> bool:
        keys = np.random.default_rng(seed).random(500 + seed)
        return bool((client.sort(keys) == np.sort(keys)).all())

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(64)))


def test_closed_client_says_so(fake: FakeServer) -> None:
    client = corank.connect(fake.address)
    client.sort(X)
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.sort(X)


def test_functions_of_the_module_use_corank_server() -> None:
    server = FakeServer()
    code = "import corank; print(corank.sort([3, 1, 2]).tolist(), corank.argsort([3, 1, 2]).tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"CORANK_SERVER": server.address, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    server.stop()
    assert done.stdout == "[1, 2, 3] [1, 2, 0]\n", done.stderr


@pytest.mark.parametrize("option", [True, None])  # None is what a call has that does not say: after a second
def test_progress_draws_on_terminals_and_cleans_up(option: bool | None) -> None:
    terminal = Terminal()
    with Display(Progress("sorting"), option, terminal):
        assert terminal.drawn.wait(30)
    assert re.search(r"sorting  \d+\.\d s", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")


class Notebook:
    """The parts of IPython in a kernel that progress uses."""

    def __init__(self) -> None:
        self.kernel = object()
        self.lines: list[str] = []
        self.drawn = threading.Event()

    def display(self, data: dict[str, str], raw: bool, display_id: bool) -> Notebook:
        """Shows a line and returns its handle."""
        assert raw
        assert display_id
        self.update(data, raw)
        return self

    def update(self, data: dict[str, str], raw: bool) -> None:
        """Changes the line."""
        assert raw
        self.lines.append(data["text/plain"])
        if len(self.lines) > 1:
            self.drawn.set()


@pytest.mark.parametrize("has_kernel", [True, False])
def test_progress_is_one_line_of_a_notebook(monkeypatch: pytest.MonkeyPatch, has_kernel: bool) -> None:
    notebook = Notebook()
    if not has_kernel:
        notebook.kernel = None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: notebook))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=notebook.display))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Display(Progress("sorting", 10, 10), True):
        assert notebook.drawn.wait(30 if has_kernel else 0.6) == has_kernel
    assert ("sorting" in "".join(notebook.lines)) == has_kernel
    if has_kernel:
        assert notebook.lines[-1] == ""


def test_progress_fits_into_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress("corank Sort, a.rather.long.name.of.a.server.example:50051", 1 << 30, 1 << 30)
    progress._add(sent=3 << 28)
    progress.attempt, progress.waiting = 3, True
    whole = progress.text()
    assert len(whole) > 120
    for columns in (200, 118, 100, 77, 40, 5):
        assert len(progress.text(columns)) <= columns
    assert "waits for try 3" in progress.text(len(whole) - 10)  # the bar shrinks first
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    terminal = Terminal()
    terminal.fileno = lambda: 2  # type: ignore[method-assign]
    with Display(progress, True, terminal):
        assert terminal.drawn.wait(30)
    drawn = [line for line in terminal.getvalue().split("\r\x1b[K") if line]
    assert drawn
    assert all(len(line) == 79 for line in drawn)


@pytest.mark.parametrize(
    ("deadline", "taken"),
    [
        (None, None),
        (float("inf"), None),
        (np.float32(5), 5.0),
        (1e10, 1e8),
        (10**400, "nan"),
        (float("nan"), "nan"),
        ("5s", "nan"),
        ("5", "nan"),
        (0, "nan"),
        (-1, "nan"),
        (b"", "nan"),
    ],
)
def test_deadlines_are_seconds(fake: FakeServer, fake_client: corank.Client, deadline: Any, taken: Any) -> None:
    if taken == "nan":
        for call in (lambda: fake_client.sort(X, deadline=deadline), lambda: corank.connect("h:1", deadline=deadline)):
            with pytest.raises(corank.InvalidArgument, match=r"deadline: .*not a number of seconds") as caught:
                call()
            assert caught.value.field == "deadline"
        assert fake.left == []
        return
    np.testing.assert_array_equal(fake_client.sort(X, deadline=deadline), [1, 2, 3])
    left = fake.left[-1][1]
    # gRPC has no word for no deadline on this side: centuries.
    assert (left is None or left > 1e8) if taken is None else left is not None and taken / 2 < left <= taken * 1.05


@pytest.mark.parametrize(("option", "least"), [("retries", 0), ("connections", 1)])
def test_numbers_of_things_are_integers(fake_client: corank.Client, option: str, least: int) -> None:
    calls: list[Any] = [fake_client.sort, lambda _, **options: corank.connect("h:1", **options)]
    for call in calls:
        for given in ("a", 1.5):
            with pytest.raises(TypeError, match=f"{option}: must be an integer"):
                call(X, **{option: given})
        with pytest.raises(corank.InvalidArgument, match=f"{option}: {least - 1} is less than {least}"):
            call(X, **{option: least - 1})
        call(X, **{option: np.int8(least)})
    with pytest.raises(TypeError, match="retries: must be an integer, is None"):
        fake_client.sort(X, retries=None)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"connect\(\) takes no option 'compression'"):
        corank.connect("h:1", compression="gzip")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("gpu.example", corank.InvalidArgument, "'gpu.example' has no port; write gpu.example:50051"),
        ("gpu.example:", corank.InvalidArgument, "has no port"),
        ("http://gpu:50051/", corank.InvalidArgument, "is a URL; give host:port, such as gpu:50051$"),
        ("https://gpu", corank.InvalidArgument, "is a URL; give host:port, such as gpu:50051$"),
        ("grpcs://[::1]", corank.InvalidArgument, r"is a URL; give host:port, such as \[::1\]:50051$"),
        ("gpu: 50051", corank.InvalidArgument, "holds a space"),
        ("gpu:50051\n", corank.InvalidArgument, "holds a space"),
        ("dns:///gpu:1, gpu:2", corank.InvalidArgument, "holds a space"),
        ("::1", corank.InvalidArgument, r"write \[::1\]:50051"),
        ("[::1]", corank.InvalidArgument, r"write \[::1\]:50051"),
        (50051, TypeError, "address: must be text such as"),
        (b"h:1", TypeError, "address: must be text"),
    ],
)
def test_addresses_that_are_none_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, address: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        corank.connect(address)
    if isinstance(address, str):
        monkeypatch.setenv("CORANK_SERVER", address)
        with pytest.raises(error, match=message):
            corank.connect().sort(X)


@pytest.mark.parametrize("address", ["h:1", "[::1]:1", "unix:/tmp/x", "unix:x", "dns:///h", "dns:h", "ipv4:1.2.3.4:5"])
def test_addresses_of_every_form_are_taken(address: str) -> None:
    assert corank.connect(address).address == address


def test_functions_of_the_module_are_all_there() -> None:
    for name in corank.__all__:
        assert not inspect.ismodule(getattr(corank, name))
    for name in ("arrays", "sort", "stored", "argsort_columns"):
        assert callable(getattr(corank, name))


def test_progress_is_silent_for_short_calls_and_off_terminals(fake_client: corank.Client) -> None:
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        with Display(Progress("sorting"), None, out):
            fake_client.sort(X, progress=True)
    assert terminal.getvalue() == file.getvalue() == ""


def test_command_prints_the_server(client: corank.Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert corank.__main__.main(["--server", client.address]) == 0
    assert client.address in capsys.readouterr().out
    assert corank.__main__.main(["--server", client.address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["engine"] in ("cpu", "cuda")


def test_command_fails_in_words_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert corank.__main__.main(["--server", "127.0.0.1:1"]) == 1
    assert "is corankd running there? Set CORANK_SERVER or give another --server" in capsys.readouterr().err
