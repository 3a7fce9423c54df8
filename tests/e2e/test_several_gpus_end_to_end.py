"""A server on two GPUs: kept arrays, shared memory and GPU arrays on both, and the loss of one. Skips without them.

CORANKD_FAULTY names the server that breaks at a Sort of 7001 keys (tests/faults); without it the tests of a loss skip.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corank
import numpy as np
import pytest
from corank.testing import LocalServer
from e2e_support import samples, wait_until_idle
from numpy.typing import NDArray

RNG = np.random.default_rng(23)
FLAGS = ["--engine=cuda", "--cuda-ipc=true", "--shared-memory=/corank-e2e-", "--kept-bytes=4GiB"]
BREAKS = 7001
"""The number of keys of a Sort that writes out of bounds on its GPU."""


def keys(count: int) -> NDArray[np.uint32]:
    """Random keys."""
    return RNG.integers(0, 2**32, count, dtype=np.uint32)


@pytest.fixture(scope="module")
def two_gpus() -> None:
    """Skips the test if there are fewer GPUs."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("no NVIDIA driver")
    count = ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value < 2:
        pytest.skip("fewer than two GPUs that work")


@pytest.fixture(scope="module")
def both(corankd: pathlib.Path, two_gpus: None) -> Iterator[LocalServer]:
    """A server on the first two GPUs."""
    with LocalServer(corankd, [*FLAGS, "--devices=0,1"]) as server:
        yield server
        assert server.process.poll() is None


@pytest.fixture
def client(both: LocalServer) -> Iterator[corank.Client]:
    """A client of that server."""
    with both.connect() as connected:
        yield connected
    wait_until_idle(both)


def device_of(stats: list[corank.Stats]) -> int:
    """The device of the last call."""
    return stats[-1].device_ordinal


def test_the_server_names_both(client: corank.Client, both: LocalServer) -> None:
    devices = client.info().devices
    assert [device.ordinal for device in devices] == [0, 1]
    assert all(device.up and device.uuid.startswith("GPU-") for device in devices)
    assert devices[0].uuid != devices[1].uuid
    now = samples(both)
    assert now['corank_device_up{device="0"}'] == now['corank_device_up{device="1"}'] == 1


def test_work_of_many_callers_goes_to_both(client: corank.Client) -> None:
    stats: list[corank.Stats] = []

    def sort(array: NDArray[np.uint32]) -> bool:
        return np.array_equal(client.sort(array, on_stats=stats.append), np.sort(array))

    with ThreadPoolExecutor(8) as callers:
        assert all(callers.map(sort, [keys(1_000_000) for _ in range(32)]))
    assert {one.device_ordinal for one in stats} == {0, 1}


def test_shared_memory_is_the_same_to_both(client: corank.Client) -> None:
    stats: list[corank.Stats] = []

    def sort(_: int) -> bool:
        array = keys(20_000_000)
        shared = client.empty_shared(array.size, np.uint32)
        shared[:] = array
        client.sort(shared, out=shared, on_stats=stats.append)
        return np.array_equal(shared, np.sort(array))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(sort, range(8)))
    assert {one.device_ordinal for one in stats} == {0, 1}


def test_kept_arrays_pull_work_and_meet(client: corank.Client) -> None:
    arrays = [np.sort(keys(3_000_000)), np.sort(keys(2_000_000))]
    stats: list[corank.Stats] = []
    kept = [client.store(f"kept-{i}", array) for i, array in enumerate(arrays)]
    homes = []
    for array, handle in zip(arrays, kept, strict=True):
        for _ in range(3):
            got: Any = client.sort(handle, descending=True, on_stats=stats.append)
            assert np.array_equal(got, array[::-1])
            homes.append(device_of(stats))
    assert homes[0] != homes[3]
    assert homes == [homes[0]] * 3 + [homes[3]] * 3
    merged: Any = client.merge(kept, on_stats=stats.append)
    assert device_of(stats) == homes[0], "most bytes are there"
    assert np.array_equal(merged, np.sort(np.concatenate(arrays)))
    with client.chain() as chain:
        first = chain.sort(kept[1], descending=True)
        second = chain.merge([chain.sort(first), kept[0]])
    assert np.array_equal(second.result(), merged)
    for handle in kept:
        client.delete(handle)


def test_gpu_arrays_of_both(client: corank.Client) -> None:
    cupy = pytest.importorskip("cupy")
    stats: list[corank.Stats] = []
    for device in (0, 1):
        with cupy.cuda.Device(device):
            array = keys(2_000_000)
            on_gpu = cupy.asarray(array)
            out = cupy.empty_like(on_gpu)  # in place is refused: the server writes results while it reads inputs
            got: Any = client.sort(on_gpu, out=out, place="cuda_ipc", on_stats=stats.append)
            assert np.array_equal(got.get(), np.sort(array))
            assert device_of(stats) == device


def test_a_fault_of_one(two_gpus: None) -> None:
    """Within seconds either the other GPU serves on, or the fault took it too and the process exits with 3."""
    binary = os.environ.get("CORANKD_FAULTY")
    if not binary:
        pytest.skip("CORANKD_FAULTY names no binary")
    with LocalServer(binary, [*FLAGS, "--devices=0,1"]) as server, server.connect(retries=0) as client:
        with pytest.raises(corank.Unavailable):
            client.sort(keys(BREAKS))
        end = time.monotonic() + 3
        while time.monotonic() < end and server.process.poll() is None:
            time.sleep(0.05)
        code = server.process.poll()
        print(f"after a fault of one of two GPUs the process {'serves on' if code is None else f'ended with {code}'}")
        if code is not None:
            assert code == 3
            return
        assert sorted(device.up for device in client.info().devices) == [False, True]
        assert all(np.array_equal(client.sort(some), np.sort(some)) for some in [keys(200_000) for _ in range(20)])
