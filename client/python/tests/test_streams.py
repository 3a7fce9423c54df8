"""Execute as a client sees it: chunks, faults of the server, cancellation, deadlines, retries, progress."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import grpc
import numpy as np
import pytest
from fake_memory import PREFIX
from fake_server import FakeServer
from waiting import wait_until

import corank
from corank import _stream as stream
from corank._copying import copy_into
from corank._progress import Display, Progress
from corank._stream import Sink, Source, chunks
from corank._wire import decode_chunk, encode_chunk

KEYS = np.random.default_rng(6).integers(0, 2**32, 2_000_000, dtype=np.uint32)
ORDERED = np.sort(KEYS)


def source(stream_id: int, count: int, width: int) -> Source:
    """An array of bytes."""
    return Source(stream_id, memoryview(bytes(count * width)), width)


@pytest.mark.parametrize("parts", [1, 2, 3, 64])
@pytest.mark.parametrize("shapes", [[(10, 4)], [(1000, 4), (1000, 12)], [(0, 8), (5, 1), (999, 256)], [(1, 7)]])
def test_chunks_cover_every_array_once_in_order(parts: int, shapes: list[tuple[int, int]]) -> None:
    sources = [source(at, count, width) for at, (count, width) in enumerate(shapes)]
    covered: dict[int, list[tuple[int, int]]] = {at: [] for at in range(len(shapes))}
    for part in range(parts):
        last: dict[int, int] = {}
        for stream_id, first, data in chunks(sources, part, parts, 1000):
            width = shapes[stream_id][1]
            assert 0 < data.nbytes <= 1000
            assert data.nbytes % width == 0
            assert last.get(stream_id, first) == first
            last[stream_id] = first + data.nbytes // width
            covered[stream_id].append((first, last[stream_id]))
    for at, (count, _) in enumerate(shapes):
        reached = 0
        for begin, end in sorted(covered[at]):
            assert begin == reached
            reached = end
        assert reached == count


def test_keys_and_values_of_a_range_go_together() -> None:
    order = [(stream, first) for stream, first, _ in chunks([source(0, 500, 4), source(1, 500, 20)], 0, 1, 1000)]
    assert order == [(stream, 50 * step) for step in range(10) for stream in (0, 1)]


@pytest.mark.parametrize("first", [0, 1, 127, 128, 2**40])
@pytest.mark.parametrize("length", [0, 1, 127, 128, 70_000])
def test_chunks_are_what_protobuf_reads_and_writes(first: int, length: int) -> None:
    from corank.v1 import corank_service_pb2 as service

    data = bytes(range(256)) * 300
    encoded = encode_chunk(5, first, memoryview(data)[:length])
    read = service.ExecuteRequest.FromString(encoded).chunk
    assert (read.stream_id, read.first_element, read.data) == (5, first, data[:length])
    written = read.SerializeToString()
    chunk = decode_chunk(b"xx" + written + b"yy", 2, 2 + len(written))
    assert (chunk.stream_id, chunk.first_element, bytes(chunk.data)) == (5, first, data[:length])


def test_sink_grows_when_the_length_is_not_known() -> None:
    sink = Sink(np.dtype("<u4"), None)
    for first in (300, 0, 100, 200):
        sink.write(first, memoryview(np.arange(first, first + 100, dtype="<u4").tobytes()))
    np.testing.assert_array_equal(sink.result(400), np.arange(400))
    with pytest.raises(corank.Internal):
        sink.result(401)


def test_sink_keeps_a_chunk_that_comes_while_another_one_makes_it_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Sink(np.dtype("<u4"), None)
    others: list[threading.Thread] = []

    def copy_late(into: Any, data: Any) -> None:
        if not others:
            # The sink grows here unless it waits for this copy; it gets time to.
            others.append(threading.Thread(target=sink.write, args=(100, memoryview(b"\x06" * 3600))))
            others[0].start()
            others[0].join(0.3)
        copy_into(into, data)

    monkeypatch.setattr(stream, "copy_into", copy_late)
    sink.write(0, memoryview(b"\x05" * 400))
    others[0].join()
    assert sink.result(1000).tobytes() == b"\x05" * 400 + b"\x06" * 3600


def test_sink_refuses_what_is_no_part_of_the_result() -> None:
    for first, data in ((8, bytes(12)), (2**62, bytes(4)), (0, bytes(3))):
        with pytest.raises(corank.Internal):
            Sink(np.dtype("<u4"), np.zeros(10, np.uint32)).write(first, memoryview(data))


def test_chunks_keep_the_servers_limit_and_stats_count_them(fake: FakeServer, fake_client: corank.Client) -> None:
    stats: list[corank.Stats] = []
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="stream", on_stats=stats.append), ORDERED)
    assert fake.executor.largest_chunk <= 1 << 20
    assert len(fake.executor.chunk_order) == 8
    assert KEYS.nbytes < stats[0].request_bytes < KEYS.nbytes + 1000
    assert KEYS.nbytes < stats[0].response_bytes < KEYS.nbytes + 1000
    assert stats[0].request_id == "streamed"


@pytest.mark.parametrize("connections", [1, 3])
@pytest.mark.parametrize("fault", ["beyond", "missing", "stranger", "no result", "count"])
def test_broken_answers_are_internal_errors(
    fake: FakeServer, fake_client: corank.Client, fault: str, connections: int
) -> None:
    fake.executor.fault = fault
    with pytest.raises(corank.Internal):
        fake_client.sort(KEYS, place="stream", connections=connections)
    wait_until(lambda: fake.executor.running == 0)


@pytest.mark.parametrize("connections", [1, 3])
def test_failure_in_mid_stream_ends_the_upload_and_all_parts(
    fake: FakeServer, fake_client: corank.Client, connections: int
) -> None:
    fake.executor.fail_after = (2, grpc.StatusCode.INVALID_ARGUMENT)
    out = np.zeros_like(KEYS)
    with pytest.raises(corank.InvalidArgument, match=r"Sort: .*mid-stream"):
        fake_client.sort(KEYS, place="stream", connections=connections, out=out)
    wait_until(lambda: fake.executor.running == 0)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("corank-part")]
    fake.executor.fail_after = None
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="stream"), ORDERED)


def test_busy_server_is_streamed_to_again(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.01, times=2)
    stats: list[corank.Stats] = []
    np.testing.assert_array_equal(fake_client.sort(KEYS, place="stream", on_stats=stats.append), ORDERED)
    assert stats[0].attempts == 3


def test_input_that_is_also_out_is_sent_again_as_it_was(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.executor.break_off = 2
    keys = KEYS.copy()
    stats: list[corank.Stats] = []
    assert fake_client.sort(keys, out=keys, place="stream", on_stats=stats.append) is keys
    np.testing.assert_array_equal(keys, ORDERED)
    assert stats[0].attempts == 2


@pytest.mark.parametrize("place", ["stream", "inline", "shared_memory"])
@pytest.mark.parametrize("first", [0, 150_000, 300_000])
def test_merge_over_its_inputs(client: corank.Client, place: Any, first: int) -> None:
    if place not in client.info().places:
        pytest.skip("switched off")
    memory = np.concatenate([np.sort(KEYS[:300_000]), np.sort(KEYS[300_000:600_000]), KEYS[:300_000]])
    inputs = memory[:300_000], memory[300_000:600_000]
    expected = np.sort(memory[:600_000])
    out = memory[first : first + 600_000]
    assert client.merge(inputs, out=out, place=place) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("connections", [1, 3])
def test_merge_over_its_inputs_that_broke_off_is_sent_again_as_it_was(
    fake: FakeServer, fake_client: corank.Client, connections: int
) -> None:
    fake.executor.break_off = 2
    memory = np.concatenate([np.sort(KEYS[:300_000]), np.sort(KEYS[300_000:600_000])])
    values = np.arange(memory.size, dtype=np.uint32)
    order = np.argsort(memory, kind="stable")
    expected = memory[order]
    stats: list[corank.Stats] = []
    halves = [slice(0, 300_000), slice(300_000, 600_000)]
    # The results change places: keys go over the values, and values over the keys.
    got = fake_client.merge(
        [memory[half] for half in halves],
        values=[values[half] for half in halves],
        out=(values, memory),
        place="stream",
        connections=connections,
        on_stats=stats.append,
    )
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_array_equal(got[1], order)
    assert stats[0].attempts == 2


def test_small_arrays_travel_in_the_plan(fake: FakeServer, fake_client: corank.Client) -> None:
    fake_client.sort(KEYS, segments=[0, 5, KEYS.size], place="stream")
    assert set(fake.executor.chunk_order) == {0}


@pytest.mark.parametrize("connections", [1, 3])
def test_deadline_ends_a_stream(fake: FakeServer, fake_client: corank.Client, connections: int) -> None:
    fake.executor.hold = threading.Event()
    fake_client.info()
    with pytest.raises(corank.DeadlineExceeded, match=r"deadline of 0\.5 s"):
        fake_client.sort(KEYS, place="stream", connections=connections, deadline=0.5)
    wait_until(lambda: fake.executor.running == 0)


_INTERRUPTED = """
import sys, numpy as np, corank
client = corank.connect(sys.argv[1], connections=int(sys.argv[2]))
keys = np.arange(1_000_000, dtype=np.uint32)
print("begins", flush=True)
try:
    client.sort(keys, place="stream")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    client.info()
    print("goes on", flush=True)
"""


@pytest.mark.parametrize("connections", ["1", "3"])
def test_ctrl_c_cancels_and_the_client_goes_on(fake: FakeServer, connections: str) -> None:
    fake.executor.hold = threading.Event()
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED, fake.address, connections],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: fake.executor.running == int(connections))
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert out.split("\n") == ["begins", "interrupted", "goes on", ""], error
    assert "Traceback" not in error
    assert process.returncode == 0
    wait_until(lambda: fake.executor.running == 0)


def test_client_that_dies_with_shared_memory_leaves_nothing(fake: FakeServer) -> None:
    code = (
        "import sys, os, numpy as np, corank\n"
        "client = corank.connect(sys.argv[1])\n"
        "shared = client.empty_shared(100_000)\n"
        "client.sort(shared, out=shared)\n"
        "print('ready', flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, fake.address],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.communicate(timeout=60)[0] == "ready\n"
    wait_until(lambda: not fake.places.regions and not fake.places.leases)
    assert not [name for name in os.listdir("/dev/shm") if name.startswith(f"{PREFIX[1:]}{process.pid}-")]


def test_progress_functions_are_told_of_every_byte(fake_client: corank.Client) -> None:
    told: list[tuple[int, int, float]] = []

    def tell(progress: Progress) -> None:
        told.append((progress.sent, progress.received, progress.fraction or 0.0))

    fake_client.sort(KEYS, place="stream", progress=tell)
    assert told[-1] == (KEYS.nbytes, KEYS.nbytes, 1.0)
    assert told == sorted(told)

    def stop(_: Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fake_client.sort(KEYS, place="stream", progress=stop)


def test_progress_says_bytes_rate_and_time_left() -> None:
    progress = Progress("sorting", 4 << 20, 4 << 20)
    assert "[····················]   0%" in progress.text()
    assert "left" not in progress.text()
    progress._add(sent=4 << 20, received=2 << 20)
    text = progress.text()
    assert "[███████████████·····]  75%  ↑ 4.0 MiB ↓ 2.0 MiB" in text
    assert "s left" in text
    progress._restart()
    assert progress.fraction == 0


def test_progress_is_lines_off_a_terminal_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corank._progress._LINE_SECONDS", 0.01)
    out = io.StringIO()
    progress = Progress("sorting", 10, 10)
    with Display(progress, True, out):
        wait_until(lambda: out.getvalue().count("\n") >= 2)
        progress._add(10, 10)
    assert "100%" in out.getvalue().splitlines()[-1]
    assert "\r" not in out.getvalue()
