"""The client apart from operators: options, statistics, threads, the default client, the command."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fake_server import FakeServer

import corank
import corank.__main__
from corank.progress import Display, Progress
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


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_compression_does_not_change_the_answer(fake: FakeServer, compression: str) -> None:
    with corank.connect(fake.address, compression=compression) as client:  # type: ignore[arg-type]
        np.testing.assert_array_equal(client.sort(np.zeros(10_000)), np.zeros(10_000))


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


def test_progress_draws_on_terminals_and_cleans_up() -> None:
    terminal = Terminal()
    with Display(Progress("sorting"), True, terminal):
        assert terminal.drawn.wait(30)
    assert re.search(r"sorting  \d+\.\d s", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")


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
    assert "is corankd running" in capsys.readouterr().err
