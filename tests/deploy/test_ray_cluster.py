"""The RayCluster for KubeRay: pods that follow Kubernetes' schema, and a sidecar that the workers can reach."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CLUSTER: dict[str, Any] = yaml.safe_load((ROOT / "deploy/examples/ray-cluster.yaml").read_text(encoding="utf-8"))
HEAD = CLUSTER["spec"]["headGroupSpec"]
(WORKERS,) = CLUSTER["spec"]["workerGroupSpecs"]


def containers(group: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in group["template"]["spec"]["containers"]}


@pytest.mark.parametrize("group", [HEAD, WORKERS], ids=["head", "workers"])
def test_pods_follow_the_published_schema(group: dict[str, Any]) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ray"}, **group["template"]}
    kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)


def test_the_groups_have_what_kuberay_asks_for() -> None:
    assert (CLUSTER["apiVersion"], CLUSTER["kind"]) == ("ray.io/v1", "RayCluster")
    assert set(WORKERS) == {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
    assert set(HEAD) == {"rayStartParams", "template"}
    for group in (HEAD, WORKERS):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    # KubeRay puts the value into a shell command, so it has quotes of its own.
    quoted = WORKERS["rayStartParams"]["resources"]
    assert quoted[0] == quoted[-1] == "'"
    assert json.loads(quoted[1:-1]) == {"corank": 4}


def test_workers_reach_the_sidecar_and_share_its_memory() -> None:
    worker, server = containers(WORKERS)["ray-worker"], containers(WORKERS)["corankd"]
    environment = {each["name"]: each["value"] for each in worker["env"]}
    assert f"--listen={environment['CORANK_SERVER']}" in server["args"]
    assert worker["volumeMounts"] == server["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]


def test_the_server_takes_its_arguments() -> None:
    binary = os.environ.get("CORANKD")
    if not binary:
        pytest.skip("CORANKD is not set")
    arguments = containers(WORKERS)["corankd"]["args"]
    done = subprocess.run([binary, "--check-config", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
