"""Shared memory by Triton's unmodified client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kserve_support import RNG, SHARED_MEMORY_PREFIX, some_keys, tensor
from tritonclient import grpc as triton
from tritonclient.utils import InferenceServerException
from tritonclient.utils import shared_memory as shm


@pytest.fixture
def region(client: triton.InferenceServerClient) -> Iterator[tuple[str, Any]]:
    """A registered region of 8 MiB."""
    name = f"kserve-{os.getpid()}"
    handle = shm.create_shared_memory_region(name, f"{SHARED_MEMORY_PREFIX}{os.getpid()}", 8 << 20)
    client.register_system_shared_memory(name, f"{SHARED_MEMORY_PREFIX}{os.getpid()}", 8 << 20)
    yield name, handle
    client.unregister_system_shared_memory(name)
    shm.destroy_shared_memory_region(handle)


def test_system_shared_memory(client: triton.InferenceServerClient, region: tuple[str, Any]) -> None:
    name, handle = region
    keys = RNG.integers(-(2**31), 2**31, 1_000_000).astype(np.int32)
    shm.set_shared_memory_region(handle, [keys])
    given = triton.InferInput("keys", [keys.size], "INT32")
    given.set_shared_memory(name, keys.nbytes)
    wanted = triton.InferRequestedOutput("keys")
    wanted.set_shared_memory(name, 4 << 20, offset=4 << 20)
    response = client.infer("sort_int32", [given], outputs=[wanted]).get_response()
    assert list(response.raw_output_contents) == [b""]  # every output has its entry
    assert list(response.outputs[0].shape) == [keys.size]
    assert response.outputs[0].datatype == "INT32"
    assert response.outputs[0].parameters["shared_memory_region"].string_param == name
    assert np.array_equal(shm.get_contents_as_numpy(handle, np.int32, [keys.size], offset=4 << 20), np.sort(keys))

    wanted.set_shared_memory(name, keys.nbytes - 4, offset=4 << 20)
    with pytest.raises(InferenceServerException, match="shared_memory_byte_size"):
        client.infer("sort_int32", [given], outputs=[wanted])
    given.set_shared_memory(name, keys.nbytes - 4)
    with pytest.raises(InferenceServerException, match="bytes, but 1000000 elements of INT32 take"):
        client.infer("sort_int32", [given])
    given.set_shared_memory("nowhere", keys.nbytes)
    with pytest.raises(InferenceServerException) as missing:
        client.infer("sort_int32", [given])
    assert missing.value.status() == "StatusCode.NOT_FOUND"


def test_system_shared_memory_beside_raw_contents(
    client: triton.InferenceServerClient, region: tuple[str, Any]
) -> None:
    name, handle = region
    keys, values = some_keys(np.int32, 1000), np.arange(1000, dtype=np.float64)
    shm.set_shared_memory_region(handle, [keys])
    given = triton.InferInput("keys", [1000], "INT32")
    given.set_shared_memory(name, keys.nbytes)
    wanted = triton.InferRequestedOutput("keys")
    wanted.set_shared_memory(name, keys.nbytes, offset=1 << 20)
    result = client.infer(
        "sort_pairs_int32",
        [given, tensor("values", values)],
        outputs=[wanted, triton.InferRequestedOutput("values")],
    )
    order = np.argsort(keys, kind="stable")
    assert [len(contents) for contents in result.get_response().raw_output_contents] == [0, 8000]
    assert np.array_equal(result.as_numpy("values"), values[order])
    assert np.array_equal(shm.get_contents_as_numpy(handle, np.int32, [1000], offset=1 << 20), keys[order])


def test_status_of_system_shared_memory(client: triton.InferenceServerClient, region: tuple[str, Any]) -> None:
    name, _ = region
    regions = client.get_system_shared_memory_status().regions
    assert list(regions) == [name]
    assert (regions[name].name, regions[name].offset, regions[name].byte_size) == (name, 0, 8 << 20)
    assert regions[name].key == f"{SHARED_MEMORY_PREFIX}{os.getpid()}"
    assert list(client.get_system_shared_memory_status(name).regions) == [name]
    with pytest.raises(InferenceServerException) as missing:
        client.get_system_shared_memory_status("other")
    assert missing.value.status() == "StatusCode.NOT_FOUND"
    with pytest.raises(InferenceServerException) as again:
        client.register_system_shared_memory(name, f"{SHARED_MEMORY_PREFIX}{os.getpid()}", 4096)
    assert again.value.status() == "StatusCode.ALREADY_EXISTS"
    client.unregister_system_shared_memory("other")  # programs clean up before they register
    client.unregister_system_shared_memory()
    assert not client.get_system_shared_memory_status().regions


def test_shared_memory_outside_the_prefix_is_refused(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException) as refused:
        client.register_system_shared_memory("mine", "/input_data", 64)
    assert refused.value.status() == "StatusCode.PERMISSION_DENIED"


def test_cuda_shared_memory_is_off_on_a_cpu(client: triton.InferenceServerClient) -> None:
    assert not client.get_cuda_shared_memory_status().regions
    with pytest.raises(InferenceServerException) as refused:
        client.register_cuda_shared_memory("gpu", b"AAAA", 0, 64)
    assert refused.value.status() == "StatusCode.UNIMPLEMENTED"
    client.unregister_cuda_shared_memory()
