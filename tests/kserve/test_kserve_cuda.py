"""CUDA shared memory by Triton's unmodified client. Skips without a GPU or the client's CUDA package."""

from __future__ import annotations

import base64
import ctypes
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from corank.testing import LocalServer
from kserve_support import RNG, some_keys, tensor
from tritonclient import grpc as triton
from tritonclient.utils import InferenceServerException

SIZE = 16 << 20
HALF = SIZE // 2


@pytest.fixture(scope="module")
def gpu_client(corankd: pathlib.Path) -> Iterator[triton.InferenceServerClient]:
    """A client of a server on the GPU that accepts memory of other processes."""
    pytest.importorskip("cuda.bindings.runtime")
    try:
        if ctypes.CDLL("libcuda.so.1").cuInit(0) != 0:
            pytest.skip("no GPU that works")
    except OSError:
        pytest.skip("no NVIDIA driver")
    server = LocalServer(corankd, ["--engine=cuda", "--cuda-ipc=true"])
    server.start()
    with triton.InferenceServerClient(server.address) as client:
        assert "cuda_shared_memory" in client.get_server_metadata().extensions
        yield client
        assert not client.get_cuda_shared_memory_status().regions
    assert server.process.poll() is None
    assert server.stop() == 0


@pytest.fixture
def region(gpu_client: triton.InferenceServerClient) -> Iterator[Any]:
    """GPU memory of this process, registered as "gpu"."""
    from tritonclient.utils import cuda_shared_memory as cuda_shm

    handle = cuda_shm.create_shared_memory_region("gpu", SIZE, 0)
    gpu_client.register_cuda_shared_memory("gpu", cuda_shm.get_raw_handle(handle), 0, SIZE)
    yield handle
    gpu_client.unregister_cuda_shared_memory("gpu")
    cuda_shm.destroy_shared_memory_region(handle)


def test_sort_in_cuda_shared_memory(gpu_client: triton.InferenceServerClient, region: Any) -> None:
    from tritonclient.utils import cuda_shared_memory as cuda_shm

    for count in (1, 1000, HALF // 4):
        keys = RNG.integers(-(2**31), 2**31, count).astype(np.int32)
        cuda_shm.set_shared_memory_region(region, [keys])
        given = triton.InferInput("keys", [count], "INT32")
        given.set_shared_memory("gpu", keys.nbytes)
        wanted = triton.InferRequestedOutput("keys")
        wanted.set_shared_memory("gpu", HALF, offset=HALF)
        response = gpu_client.infer("sort_int32", [given], outputs=[wanted]).get_response()
        assert list(response.raw_output_contents) == [b""]
        assert list(response.outputs[0].shape) == [count]
        contents = cuda_shm.get_contents_as_numpy(region, np.int32, [SIZE // 4])
        assert np.array_equal(contents[HALF // 4 : HALF // 4 + count], np.sort(keys))
        assert np.array_equal(contents[:count], keys)  # inputs stay as they were


def test_cuda_shared_memory_beside_raw_contents(gpu_client: triton.InferenceServerClient, region: Any) -> None:
    from tritonclient.utils import cuda_shared_memory as cuda_shm

    keys, values = some_keys(np.float32, 5000), np.arange(5000, dtype=np.int64)
    cuda_shm.set_shared_memory_region(region, [keys])
    given = triton.InferInput("keys", [5000], "FP32")
    given.set_shared_memory("gpu", keys.nbytes)
    result = gpu_client.infer("sort_pairs_fp32", [given, tensor("values", values)])
    order = np.argsort(keys, kind="stable")
    assert np.array_equal(result.as_numpy("keys"), keys[order])
    assert np.array_equal(result.as_numpy("values"), values[order])


def test_status_of_cuda_shared_memory(gpu_client: triton.InferenceServerClient, region: Any) -> None:
    regions = gpu_client.get_cuda_shared_memory_status().regions
    assert [(name, status.device_id, status.byte_size) for name, status in regions.items()] == [("gpu", 0, SIZE)]
    assert not gpu_client.get_system_shared_memory_status().regions
    gpu_client.unregister_system_shared_memory()  # leaves GPU memory alone
    assert list(gpu_client.get_cuda_shared_memory_status("gpu").regions) == ["gpu"]
    with pytest.raises(InferenceServerException) as unknown:
        gpu_client.register_cuda_shared_memory("other", base64.b64encode(bytes(64)), 77, SIZE)
    assert unknown.value.status() == "StatusCode.FAILED_PRECONDITION"


def test_a_result_beyond_its_range_is_refused(gpu_client: triton.InferenceServerClient, region: Any) -> None:
    keys = some_keys(np.int32, 100)
    wanted = triton.InferRequestedOutput("keys")
    wanted.set_shared_memory("gpu", 396)
    with pytest.raises(InferenceServerException, match="shared_memory_byte_size"):
        gpu_client.infer("sort_int32", [tensor("keys", keys)], outputs=[wanted])
    wanted.set_shared_memory("gpu", 400, offset=SIZE - 396)
    with pytest.raises(InferenceServerException, match="do not fit"):
        gpu_client.infer("sort_int32", [tensor("keys", keys)], outputs=[wanted])
