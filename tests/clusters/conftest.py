"""A cluster of Ray on this host: a head that runs no tasks, and two nodes of one core and a small object store."""

from __future__ import annotations

import pathlib
from collections.abc import Generator, Iterator
from typing import Any

import cluster_nodes
import pytest
import ray
import ray.data
from cluster_rows import NODE, STORE_BYTES
from ray._common.utils import get_default_ray_temp_dir
from ray.cluster_utils import Cluster

_LIMIT_SECONDS = 1_200
"""A test or fixture that takes longer fails. It is far more than each takes, so that no test hangs."""
_LOGS = pathlib.Path(get_default_ray_temp_dir()) / "session_latest" / "logs"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    with cluster_nodes.limit(_LIMIT_SECONDS, _LOGS):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    with cluster_nodes.limit(_LIMIT_SECONDS, _LOGS):
        return (yield)


@pytest.fixture(scope="module")
def started_cluster() -> Iterator[Cluster]:
    cluster_nodes.set_environment()
    made = Cluster()
    head = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "resources": {"head": 1}, "include_dashboard": False}
    cluster_nodes.start_node(made, **head)
    for _ in range(2):
        cluster_nodes.start_node(made, **NODE)
    ray.init(address=made.address, log_to_driver=False, configure_logging=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def cluster(started_cluster: Cluster) -> Cluster:
    cluster_nodes.replace_dead_nodes(started_cluster, **NODE)
    return started_cluster
