"""Arrays of CuPy and PyTorch on the server's GPU, through CUDA IPC. Skips without a GPU or either library."""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import corank
import numpy as np
import oracles
import pytest
from corank.testing import LocalServer
from corank.v1 import memory_service_pb2 as memory
from e2e_support import wait_until_idle
from waiting import wait_until

KEYS = np.random.default_rng(15).integers(0, 2**32, 3_000_000, dtype=np.uint32)


@pytest.fixture(scope="module")
def gpu_server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server on the GPU that accepts memory of other processes."""
    try:
        if ctypes.CDLL("libcuda.so.1").cuInit(0) != 0:
            pytest.skip("no GPU that works")
    except OSError:
        pytest.skip("no NVIDIA driver")
    server = LocalServer(corankd, ["--engine=cuda", "--cuda-ipc=true", "--shared-memory=/corank-e2e-"])
    server.start()
    yield server
    assert server.process.poll() is None
    assert server.stop() == 0


@pytest.fixture
def gpu_client(gpu_server: LocalServer) -> Iterator[corank.Client]:
    """A client of the GPU server."""
    with gpu_server.connect() as client:
        if "cuda_ipc" not in client.info().places:
            pytest.skip("this server has no place 'cuda_ipc'")
        yield client
    wait_until_idle(gpu_server)


@pytest.fixture(params=["cupy", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    """CuPy, then PyTorch."""
    return pytest.importorskip(request.param)


def put(library: Any, array: Any) -> Any:
    """Copies a NumPy array to the GPU."""
    return library.asarray(array) if library.__name__ == "cupy" else library.from_numpy(array.copy()).cuda()


def get(array: Any) -> Any:
    """A GPU array or NumPy array as a NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


@pytest.mark.parametrize("key_type", ["int16", "uint32", "int64", "float32", "float64"])
def test_sort_and_argsort(gpu_client: corank.Client, library: Any, key_type: str) -> None:
    if library.__name__ == "torch" and key_type == "uint32":
        key_type = "int32"
    keys = oracles.random_keys(np.random.default_rng(1), key_type, 500_001)
    for descending in (False, True):
        order = oracles.argsort(keys, key_type, descending)
        stats: list[corank.Stats] = []
        on_gpu = put(library, keys)
        got: Any = gpu_client.sort(on_gpu, descending=descending, on_stats=stats.append)
        assert type(got) is type(on_gpu)
        np.testing.assert_array_equal(oracles.bits(get(got)), oracles.bits(keys[order]))
        assert stats[0].place == "cuda_ipc"
        assert stats[0].response_bytes < 1000
        np.testing.assert_array_equal(get(gpu_client.argsort(on_gpu, descending=descending)), order)
        np.testing.assert_array_equal(oracles.bits(get(on_gpu)), oracles.bits(keys))


def test_values_merge_and_search(gpu_client: corank.Client, library: Any) -> None:
    keys = (KEYS >> 1).astype(np.int32)
    order = np.argsort(keys, kind="stable")
    rows = np.arange(keys.size)
    ordered, moved = gpu_client.sort(put(library, keys), values=put(library, rows))
    np.testing.assert_array_equal(get(ordered), keys[order])
    np.testing.assert_array_equal(get(moved), rows[order])
    merged = gpu_client.merge([ordered, put(library, np.sort(keys[:1000]))])
    np.testing.assert_array_equal(get(merged), np.sort(np.concatenate([keys, keys[:1000]])))
    found = gpu_client.search(ordered, put(library, keys[:5000]))
    np.testing.assert_array_equal(get(found), np.searchsorted(keys[order], keys[:5000]))


def test_out_views_and_mixed_places(gpu_client: corank.Client, library: Any) -> None:
    keys = (KEYS >> 1).astype(np.int32)
    source, target = put(library, keys), put(library, np.zeros_like(keys))
    half = slice(1000, 2_000_000)
    assert gpu_client.sort(source[half], out=target[half]) is not None
    np.testing.assert_array_equal(get(target[half]), np.sort(keys[half]))
    assert not get(target[:1000]).any()
    here = np.zeros_like(keys)
    gpu_client.sort(source, out=here)
    np.testing.assert_array_equal(here, np.sort(keys))
    both = gpu_client.merge([target[half], np.sort(keys[:500])], out=np.zeros(2_000_000 - 500, np.int32))
    np.testing.assert_array_equal(both, np.sort(np.concatenate([keys[half], keys[:500]])))


def test_memory_that_is_freed_and_allocated_again_is_found(gpu_client: corank.Client) -> None:
    cupy = pytest.importorskip("cupy")
    for seed in range(5):
        keys = np.random.default_rng(seed).integers(0, 2**32, 2_000_000, dtype=np.uint32)
        array = cupy.asarray(keys)
        got = gpu_client.sort(array)
        np.testing.assert_array_equal(get(got), np.sort(keys))
        del array, got
        cupy.get_default_memory_pool().free_all_blocks()


def test_work_that_is_not_done_yet_is_waited_for(gpu_client: corank.Client, library: Any) -> None:
    keys = put(library, (KEYS >> 1).astype(np.int64))
    for _ in range(50):
        keys = keys * 3 + 1
    np.testing.assert_array_equal(get(gpu_client.sort(keys)), np.sort(get(keys)))


def test_expandable_segments_say_why_they_do_not_go(gpu_server: LocalServer) -> None:
    pytest.importorskip("torch")
    code = (
        "import sys, torch, corank\n"
        "client = corank.connect(sys.argv[1])\n"
        "try:\n"
        "    client.sort(torch.arange(10_000_000, device='cuda'))\n"
        "except corank.InvalidArgument as error:\n"
        "    print('expandable_segments' in str(error))\n"
    )
    variables = {**os.environ, "PYTHONPATH": ":".join(sys.path), "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    done = subprocess.run(
        [sys.executable, "-c", code, gpu_server.address],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "True\n", done.stderr


def test_client_that_dies_leaves_no_region(gpu_client: corank.Client, gpu_server: LocalServer) -> None:
    pytest.importorskip("cupy")
    from corank.v1 import memory_service_pb2 as memory

    def regions() -> int:
        found = gpu_client._connection.memory_call(
            "ListRegions", memory.ListRegionsRequest(), memory.ListRegionsResponse
        )
        return len(found.regions)

    before = regions()
    code = (
        "import os, sys, cupy, corank\n"
        "client = corank.connect(sys.argv[1])\n"
        "client.sort(cupy.arange(10_000_000))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, gpu_server.address],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        timeout=120,
        check=False,
    )
    wait_until(lambda: regions() <= before, "the dead client's regions are gone")


def test_handle_of_no_memory_is_not_found(gpu_client: corank.Client) -> None:
    request = memory.RegisterCudaIpcRequest(
        name="stale", handle=bytes(64), size_bytes=4096, device_uuid=gpu_client.info().device_uuid
    )
    with pytest.raises(corank.NotFound, match="handle"):
        gpu_client._connection.memory_call("RegisterCudaIpc", request, memory.RegisterCudaIpcResponse)
