"""The API server accepts every manifest that the project publishes, and reads each field of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from control_plane import ROOT, ControlPlane, Manifest
from releases import CHART, namespace, render

DEPLOY = ROOT / "deploy"
GUIDE = ROOT / "docs" / "operations"
BLOCK = re.compile(r"^```ya?ml[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OTHER_FILES = {"monitoring/prometheus.yaml"}  # for Prometheus: tests/deploy gives it to promtool


def documents(text: str) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(text) if document]


def published() -> dict[str, str]:
    """The manifests in deploy, and those in blocks of the operations guide, by place."""
    files = {str(path.relative_to(DEPLOY)): path for path in DEPLOY.rglob("*.yaml") if CHART not in path.parents}
    found = {name: path.read_text("utf-8") for name, path in sorted(files.items()) if name not in OTHER_FILES}
    for page in sorted(GUIDE.glob("*.md")):
        for number, block in enumerate(BLOCK.findall(page.read_text("utf-8")), start=1):
            if not is_adapter_rules(block):
                found[f"{page.name}, block {number}"] = block
    return found


def is_adapter_rules(block: str) -> bool:
    """Rules of prometheus-adapter, which test_autoscaling.py reads."""
    (document,) = documents(block)
    return set(document) == {"rules"}


def dry_run(plane: ControlPlane, text: str, where: str = "default") -> tuple[list[str], str]:
    """What the API server would create, and what it says otherwise."""
    command = ["apply", "--dry-run=server", "--validate=strict", "--namespace", where, "--filename=-"]
    done = plane.kubectl(*command, text=text, check=False)
    return re.findall(r"^(\S+) created \(server dry run\)$", done.stdout, re.MULTILINE), done.stderr


@pytest.mark.parametrize("place", published())
def test_api_server_accepts_what_is_published(plane: ControlPlane, place: str) -> None:
    text = published()[place]
    created, complaints = dry_run(plane, text)
    assert not complaints
    assert len(created) == len(documents(text))


def first_of(example: str, kind: str, plane: ControlPlane) -> Manifest:
    """The object of a kind that a set of values has."""
    return next(found for found in documents(render(plane, example)) if found["kind"] == kind)


KINDS = [
    ("cpu", "Deployment"),
    ("cpu", "PodDisruptionBudget"),
    ("cpu", "NetworkPolicy"),
    ("ingress", "Ingress"),
    ("gateway", "GRPCRoute"),
    ("hpa", "HorizontalPodAutoscaler"),
    ("keda", "ScaledObject"),
    ("monitored", "ServiceMonitor"),
    ("monitored", "PrometheusRule"),
    ("secure", "Certificate"),
    ("dra", "ResourceClaimTemplate"),
]


@pytest.mark.parametrize(("example", "kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_a_misspelled_field_is_refused(plane: ControlPlane, example: str, kind: str) -> None:
    """The check above reads the fields of custom resources too."""
    manifest = first_of(example, kind, plane)
    manifest["spec"]["replicaz"] = 2
    created, complaints = dry_run(plane, yaml.safe_dump(manifest))
    assert not created
    assert 'unknown field "spec.replicaz"' in complaints


@pytest.mark.parametrize(
    ("example", "kind", "path", "wrong", "said"),
    [
        ("gateway", "GRPCRoute", ["rules", 0, "backendRefs", 0], {"name": "corank", "port": 0}, "backendRefs[0].port"),
        ("ingress", "Ingress", ["rules", 0, "host"], "Not a host", "spec.rules[0].host"),
        ("hpa", "HorizontalPodAutoscaler", ["maxReplicas"], 1, "spec.maxReplicas"),
        ("keda", "ScaledObject", ["triggers", 0, "metricType"], 7, "spec.triggers[0].metricType"),
        ("monitored", "ServiceMonitor", ["endpoints", 0, "interval"], "often", "spec.endpoints[0].interval"),
        ("monitored", "PrometheusRule", ["groups", 0, "rules", 0, "expr"], None, "spec.groups[0].rules[0].expr"),
        ("dra", "ResourceClaimTemplate", ["spec", "devices", "requests", 0, "exactly", "count"], -1, "exactly.count"),
    ],
)
def test_a_wrong_value_is_refused(
    plane: ControlPlane, example: str, kind: str, path: list[str | int], wrong: object, said: str
) -> None:
    manifest = first_of(example, kind, plane)
    part = manifest["spec"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = wrong
    created, complaints = dry_run(plane, yaml.safe_dump(manifest))
    assert not created
    assert said in complaints


def test_client_of_the_same_node_needs_a_namespace_that_admits_host_folders(plane: ControlPlane) -> None:
    """As docs/operations/kubernetes.md says of both."""
    client = (DEPLOY / "examples" / "same-node-client.yaml").read_text("utf-8")
    with namespace(plane, "baseline", "baseline") as where:
        created, complaints = dry_run(plane, client, where)
    assert not created
    assert 'violates PodSecurity "baseline:latest": hostPath volumes (volume "shm")' in complaints


@pytest.mark.parametrize("variant", ["cpu", "gpu"])
def test_manifests_without_helm_become_ready_servers(plane: ControlPlane, variant: str) -> None:
    with namespace(plane, f"plain-{variant}") as where:
        path = Path(DEPLOY / "kubernetes" / f"{variant}.yaml")
        plane.kubectl("apply", "--namespace", where, "--validate=strict", f"--filename={path}")
        plane.kubectl("--namespace", where, "rollout", "status", "deployment/corank", "--timeout=60s")
        plane.kubectl("delete", "--namespace", where, "--wait=false", f"--filename={path}")
