"""A cluster of Ray on this host: a head that runs no tasks, and two nodes of one core and a small object store."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import ray
import ray.data
from cluster_rows import NODE, STORE_BYTES
from ray._private import services
from ray.cluster_utils import Cluster

_START_SECONDS = 300


def _patient(find: Callable[..., Any]) -> Callable[..., Any]:
    """Ray's search for a node that starts. By itself Ray gives up after 30 s, which a busy machine may take."""

    def search(*arguments: Any, **options: Any) -> Any:
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                return find(*arguments, **options)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    return search


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Workers import these modules too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    services.get_node = _patient(services.get_node)
    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "object_store_memory": STORE_BYTES,
            "resources": {"head": 1},
            "include_dashboard": False,
        },
    )
    for _ in range(2):
        made.add_node(**NODE)
    ray.init(address=made.address, log_to_driver=False, configure_logging=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield made
    ray.shutdown()
    made.shutdown()
