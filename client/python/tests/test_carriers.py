"""Dask and Ray carry a client to their workers. matrix.py installs them; elsewhere these tests are skipped."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

import corank
from corank.testing import LocalServer

KEYS = np.random.default_rng(5).integers(0, 2**32, 50_000, dtype=np.uint32)


def sorting() -> Callable[[corank.Client, np.ndarray], tuple[int, np.ndarray]]:
    """A function that names its process and sorts. Made here, it travels by value: workers do not know this file."""

    def sort(client: corank.Client, keys: np.ndarray) -> tuple[int, np.ndarray]:
        return os.getpid(), client.sort(keys)

    return sort


def check(found: tuple[int, np.ndarray]) -> None:
    """Another process sorted the keys."""
    pid, result = found
    assert pid != os.getpid()
    np.testing.assert_array_equal(result, np.sort(KEYS))


def test_dask_carries_a_client_to_its_workers(corankd: LocalServer) -> None:
    distributed = pytest.importorskip("distributed")
    sort = sorting()
    with (
        corank.connect(corankd.address, deadline=60) as client,
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster) as dask,
    ):
        # Two calls: the worker keeps the client's connection from one to the next, or makes another.
        for future in [dask.submit(sort, client, KEYS, pure=False) for _ in range(2)]:
            check(future.result(timeout=120))


def test_ray_carries_a_client_to_its_workers(corankd: LocalServer) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        with corank.connect(corankd.address, deadline=60) as client:
            task = ray.remote(sorting())
            for reference in [task.remote(client, KEYS) for _ in range(2)]:
                check(ray.get(reference, timeout=120))
    finally:
        ray.shutdown()
