"""Arrays on a GPU, with a double of the CUDA driver and of the server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import operator_cases
import pytest
from fake_cuda import CupyArray, DlpackArray, FakeDriver, GpuArray, TorchTensor, cupy, torch
from fake_server import FakeServer
from operator_cases import NAMES

import corank
from corank import _cuda as cuda

CASES = {case.name: case for case in operator_cases.cases(20_000)}
KEYS = np.random.default_rng(8).integers(0, 2**32, 1000, dtype=np.uint32)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The double of the driver, and of CuPy."""
    double = FakeDriver()
    made = cuda.Driver(double)
    monkeypatch.setattr(cuda, "_driver", lambda: made)
    for module in cupy(double):
        monkeypatch.setitem(sys.modules, "cupy", module)
        yield double
    assert double.depth == 0


def on_gpu(driver: FakeDriver, array: Any, kind: type[GpuArray] = CupyArray) -> Any:
    """A copy of a NumPy array, 32 bytes into an allocation."""
    if array.dtype.kind == "V":
        pytest.skip("no library has records on the GPU")
    memory = driver.allocate(array.nbytes + 64)
    made = kind(memory[32:] if array.dtype.itemsize == 1 else memory, array.dtype, 32 // array.dtype.itemsize)
    made.host = made.host[: array.size]
    made.host[:] = array
    return made


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("expand", "gather", "load_balance")])
def test_operators_take_arrays_on_the_gpu_and_answer_there(
    driver: FakeDriver, fake_client: corank.Client, name: str
) -> None:
    stats: list[corank.Stats] = []
    case = CASES[name]
    got = case.call(fake_client, lambda array: on_gpu(driver, array), on_stats=stats.append)
    for result, expected in zip(got if isinstance(got, tuple) else (got,), case.expected):
        if isinstance(result, CupyArray):
            np.testing.assert_array_equal(result.host, expected)
        else:
            np.testing.assert_array_equal(result, expected)
    assert stats[0].place == "cuda_ipc"


def test_allocation_is_registered_once_and_again_when_it_is_another(
    driver: FakeDriver, fake: FakeServer, fake_client: corank.Client
) -> None:
    memory = driver.allocate(8000)
    first = GpuArray(memory, np.uint32, 0, 1000)
    second: Any = GpuArray(memory, np.uint32, 1000, 1000)
    host = second.host
    first.host[:] = KEYS
    for _ in range(3):
        assert fake_client.sort(first, out=second) is second
        np.testing.assert_array_equal(host, np.sort(KEYS))
    assert len(fake.places.regions) == 1
    (region,) = fake.places.regions
    driver.renew(memory)
    fake_client.sort(second, out=second)
    assert len(fake.places.regions) == 1
    assert region not in fake.places.regions


def test_work_of_the_library_is_waited_for(driver: FakeDriver, fake_client: corank.Client) -> None:
    array = on_gpu(driver, KEYS)
    fake_client.sort(array, out=array)
    assert driver.waits == [7, 7]
    memory = driver.allocate(4000)
    memory.view(np.uint32)[:] = KEYS
    got = fake_client.sort(DlpackArray(memory, 1, 32, 1000), place="inline")
    np.testing.assert_array_equal(got, np.sort(KEYS))
    assert driver.waits[2:] == ["context"]


def test_dlpack_says_type_and_offset(driver: FakeDriver, fake_client: corank.Client) -> None:
    memory = driver.allocate(6)
    memory.view(np.uint16)[:] = [0x3F80, 0xBF80, 0x0000]  # bfloat16: 1, -1, 0
    out = np.zeros(3, np.uint16)
    fake_client.sort(DlpackArray(memory, 4, 16, 3), out=out)
    np.testing.assert_array_equal(out, [0xBF80, 0x0000, 0x3F80])
    assert cuda.gpu_array(DlpackArray(memory, 4, 16, 3, device=1)) is None
    assert cuda.gpu_array(KEYS) is None
    with pytest.raises(TypeError, match="float8"):
        fake_client.sort(DlpackArray(memory, 2, 8, 3))


def test_small_and_empty_arrays_need_no_memory(driver: FakeDriver, fake_client: corank.Client) -> None:
    empty = CupyArray(driver.allocate(8), np.float32, 0, 0)
    assert fake_client.sort(empty).size == 0


@pytest.mark.parametrize("expandable", [True, "late"])
def test_memory_that_cannot_be_shared_says_why(
    driver: FakeDriver, fake_client: corank.Client, expandable: bool | str
) -> None:
    array = on_gpu(driver, KEYS)
    driver.expandable = expandable
    with pytest.raises(corank.InvalidArgument, match="expandable_segments"):
        fake_client.sort(array)


def test_gpu_arrays_that_do_not_fit_are_refused(driver: FakeDriver, fake_client: corank.Client) -> None:
    array = on_gpu(driver, KEYS)
    strided = on_gpu(driver, KEYS)
    strided.host = strided.host[::2]
    with pytest.raises(corank.InvalidArgument, match="dense"):
        fake_client.sort(strided)
    square = on_gpu(driver, KEYS)
    square.host = square.host.reshape(100, 10)
    with pytest.raises(corank.InvalidArgument, match="1 dimension"):
        fake_client.sort(square)
    with pytest.raises(TypeError, match="int64"):
        fake_client.expand(array, array)
    with pytest.raises(TypeError, match="out"):
        fake_client.sort(array, out=on_gpu(driver, KEYS.astype(np.int32)))
    with pytest.raises(corank.InvalidArgument, match="999"):
        fake_client.sort(array, out=on_gpu(driver, KEYS[:999]))
    with pytest.raises(TypeError, match="out="):
        fake_client.sort(on_gpu(driver, KEYS, GpuArray))
    with pytest.raises(corank.InvalidArgument, match="out="):
        fake_client.expand(array, on_gpu(driver, np.ones(1000, np.int64)))


@pytest.mark.parametrize("place", ["uint32", "uint64"])
@pytest.mark.parametrize("wanted", ["uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_indices_of_pytorch_get_the_dtype_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, place: str, wanted: str
) -> None:
    for module in torch():
        monkeypatch.setitem(sys.modules, "torch", module)
    small = np.array([0, 1, 200], place)
    wide = np.array([2**31, np.iinfo(place).max], place)
    for indices in (small, wide) if np.dtype(wanted).itemsize >= small.itemsize and wanted[0] == "u" else (small,):
        converted = cuda.converted(TorchTensor(indices), np.dtype(wanted))
        assert converted.host.dtype == wanted
        np.testing.assert_array_equal(converted.host, indices)


def test_narrow_indices_on_the_gpu_are_refused(
    driver: FakeDriver, fake: FakeServer, fake_client: corank.Client
) -> None:
    keys = on_gpu(driver, np.zeros(300, np.uint32))
    with pytest.raises(TypeError, match="uint8 holds 255 at most"):
        fake_client.argsort(keys, index_dtype=np.uint8)
    assert fake.requests == []
    found: Any = fake_client.argsort(keys, index_dtype=np.uint16)
    np.testing.assert_array_equal(found.get(), np.arange(300))


def test_server_without_cuda_ipc_says_so(driver: FakeDriver) -> None:
    server = FakeServer(("inline",))
    with corank.connect(server.address) as client, pytest.raises(corank.Unimplemented, match="--cuda-ipc"):
        client.sort(on_gpu(driver, KEYS))
    server.stop()


def test_machine_without_a_driver_says_so(fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("corank._cuda.ctypes.CDLL", missing)
    cuda._driver.cache_clear()
    with pytest.raises(corank.Unimplemented, match="libcuda"):
        fake_client.sort(GpuArray(np.zeros(400, np.uint8), np.uint32), out=KEYS.copy())


def test_place_on_the_gpu_needs_an_array_there(fake_client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument, match="needs an input"):
        fake_client.sort(KEYS, place="cuda_ipc")
