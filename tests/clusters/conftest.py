"""A cluster of Ray on this host: a head that runs no tasks, and two nodes of one core and a small object store."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
import ray
import ray.data
from cluster_rows import NODE, STORE_BYTES
from ray.cluster_utils import Cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Workers import these modules too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES, "resources": {"head": 1}},
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
