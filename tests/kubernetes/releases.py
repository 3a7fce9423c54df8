"""Releases of the chart on a control plane, each in a namespace of its own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from control_plane import ROOT, ControlPlane, Manifest

CHART = ROOT / "deploy" / "chart" / "corank"
EXAMPLES = {path.stem: path for path in sorted((CHART / "examples").glob("*.yaml"))}
"""The sets of values that the chart brings, by name."""
SETS = ["defaults", *EXAMPLES]
TLS = {"tls.crt": "", "tls.key": "", "ca.crt": ""}
SECRETS: dict[str, dict[str, dict[str, str]]] = {
    "secure": {"corank-tls": TLS, "corank-tokens": {"tokens": ""}, "corank-test-token": {"token": ""}},
    "mutual-tls": {"corank-tls": TLS},
}
"""The secrets that an operator makes for a set of values, or cert-manager, which does not run here."""


def values(example: str) -> list[str]:
    """The arguments of Helm that choose a set of values."""
    return [] if example == "defaults" else ["--values", str(EXAMPLES[example])]


def render(plane: ControlPlane, example: str) -> str:
    """What Helm would install into namespace default."""
    command = ["template", "corank", str(CHART), "--namespace=default", "--validate", *values(example)]
    return plane.helm(*command).stdout


class Release:
    """The release "corank" in one namespace."""

    def __init__(self, plane: ControlPlane, namespace: str, name: str = "corank") -> None:
        self.plane, self.namespace, self.name = plane, namespace, name

    def helm(self, verb: str, *arguments: str, check: bool = True) -> str:
        """What Helm prints; Helm waits for the objects where it can."""
        command = [verb, self.name, "--namespace", self.namespace]
        if verb in ("install", "upgrade"):
            command.insert(2, str(CHART))
        if verb != "test":
            command.append("--wait")
        done = self.plane.helm(*command, "--timeout=60s", *arguments, check=check)
        return done.stdout + done.stderr

    def get(self, kind: str, *arguments: str) -> list[Manifest]:
        """The objects of a kind in the namespace."""
        found: list[Manifest] = self.plane.get(kind, "--namespace", self.namespace, *arguments)["items"]
        return found

    def workload(self) -> Manifest:
        """The Deployment or DaemonSet."""
        (found,) = self.get("deployments,daemonsets")
        return found

    def servers(self) -> list[Manifest]:
        """The pods of the workload that are not about to end."""
        labels = self.workload()["spec"]["selector"]["matchLabels"]
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        pods = self.get("pods", f"--selector={selector}")
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def settled(self) -> bool:
        """Whether there are as many servers as there should be, all ready and as the release has them now. Helm
        returns before that: it waits for all but those that the update strategy lets be away.
        """
        found, pods = self.workload(), self.servers()
        status = found["status"]
        wanted, updated = status.get("desiredNumberScheduled"), status.get("updatedNumberScheduled", 0)
        if found["kind"] == "Deployment":
            wanted, updated = found["spec"]["replicas"], status.get("updatedReplicas", 0)
        least = [scaler["spec"]["minReplicas"] for scaler in self.get("horizontalpodautoscalers")]
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        return seen and len(pods) == wanted == updated >= max(least, default=1) and all(ready(pod) for pod in pods)

    def wait_settled(self) -> None:
        """Waits until the servers are as they should be."""
        self.plane.wait_until("the servers are ready", True, self.settled)

    def objects(self) -> set[str]:
        """The objects of every kind that carry the release's label and are not about to end."""
        kinds = self.plane.kubectl("api-resources", "--verbs=list,delete", "--namespaced", "--output=name").stdout
        found = self.get(",".join(kinds.split()), f"--selector=app.kubernetes.io/instance={self.name}")
        found = [each for each in found if "deletionTimestamp" not in each["metadata"]]
        return {f"{each['kind']}/{each['metadata']['name']}" for each in found}

    def evict(self, pod: Manifest) -> str:
        """Asks the API to evict a pod; returns the refusal, or nothing."""
        name = pod["metadata"]["name"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/eviction"
        asked = self.plane.kubectl("create", "--raw", path, "-f", "-", text=json.dumps(eviction), check=False)
        return asked.stderr if asked.returncode else ""


NUMBERS = itertools.count()


@contextmanager
def namespace(plane: ControlPlane, purpose: str, standard: str = "restricted") -> Iterator[str]:
    """A new namespace whose pods must meet a Pod Security Standard."""
    name = f"{purpose}-{next(NUMBERS)}"
    labels = {"pod-security.kubernetes.io/enforce": standard}
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    try:
        # The controllers make it; no pod is admitted before.
        plane.wait_until(f"{name} has an account", True, lambda: accounts(plane, name) > 0)
        yield name
    finally:
        plane.kubectl("delete", "namespace", name, "--wait=false")


def accounts(plane: ControlPlane, where: str) -> int:
    """The service accounts of a namespace."""
    return len(plane.get("serviceaccounts", "--namespace", where)["items"])


def standard(example: str) -> str:
    """The Pod Security Standard that the pods of a set of values meet."""
    return "privileged" if example == "same-node-daemonset" else "restricted"


def make_secrets(plane: ControlPlane, where: str, example: str) -> None:
    """Makes what an operator would make before the chart."""
    for name, data in SECRETS.get(example, {}).items():
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": where}}
        plane.apply({**made, "stringData": data})


def ready(pod: Manifest) -> bool:
    """Whether a pod may get calls."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def condition(manifest: Manifest, name: str) -> dict[str, Any]:
    """A condition of an object's status, or nothing."""
    return next((c for c in manifest.get("status", {}).get("conditions", []) if c["type"] == name), {})


def flags(pod: Manifest) -> dict[str, str]:
    """The flags of the server in a pod."""
    pairs = (argument.partition("=") for argument in pod["spec"]["containers"][0]["args"])
    return {name: value for name, _, value in pairs}
