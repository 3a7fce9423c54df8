"""Every set of values of the chart, from installation to removal, by Helm and the controllers of Kubernetes."""

from __future__ import annotations

import functools
import re
import shlex

import pytest
from control_plane import ROOT, ControlPlane
from releases import SETS, Release, flags, make_secrets, namespace, render, standard, values

GPU_NODES = ["gpu-1", "gpu-2"]


@pytest.mark.parametrize("example", SETS)
def test_api_server_knows_every_field(plane: ControlPlane, example: str) -> None:
    rendered = render(plane, example)
    checked = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "--filename=-", text=rendered)
    assert "deployment.apps/corank created" in checked.stdout or "daemonset.apps/corank created" in checked.stdout
    assert not checked.stderr


@pytest.mark.parametrize("example", SETS)
def test_release_lives_from_installation_to_removal(plane: ControlPlane, example: str) -> None:
    with namespace(plane, f"life-{example}", standard(example)) as where:
        make_secrets(plane, where, example)
        release = Release(plane, where)
        assert "MISSING" not in release.helm("install", *values(example))
        check_servers(release, example)
        check_addresses(release)

        assert "Phase:          Succeeded" in release.helm("test")
        check_mounts(release)
        check_test_pod(release)

        before = {pod["metadata"]["uid"] for pod in release.servers()}
        release.helm("upgrade", *values(example), "--set=lanes=3")
        check_servers(release, example, lanes="3")
        assert not before & {pod["metadata"]["uid"] for pod in release.servers()}

        release.helm("rollback", "1")
        check_servers(release, example)
        check_addresses(release)

        release.helm("uninstall")
        kept = {"Pod/corank-test"}  # for its log
        release.plane.wait_until("the objects that are left", kept, release.objects)


def check_servers(release: Release, example: str, lanes: str = "4") -> None:
    """All servers run with the settings that were asked for, on nodes that have what they need."""
    release.wait_settled()
    pods = release.servers()
    for pod in pods:
        assert flags(pod)["--lanes"] == lanes
        assert pod["spec"]["nodeName"] in GPU_NODES or flags(pod)["--engine"] == "cpu"
    if release.workload()["kind"] == "DaemonSet":
        assert sorted(pod["spec"]["nodeName"] for pod in pods) == GPU_NODES
    if example == "dra":
        # Two devices of its own for each pod, and only such as have the memory that the claim names.
        wanted = [[(node, "gpu-0"), (node, "gpu-1")] for node in GPU_NODES]
        release.plane.wait_until("the pods' devices", wanted, functools.partial(devices, release))


def devices(release: Release) -> list[list[tuple[str, str]]]:
    """The node and the name of each device of each claim."""
    allocated = [claim.get("status", {}).get("allocation", {}) for claim in release.get("resourceclaims")]
    claims = [each.get("devices", {}).get("results", []) for each in allocated]
    return sorted(sorted((result["pool"], result["device"]) for result in claim) for claim in claims)


def check_addresses(release: Release) -> None:
    """Each Service leads to all servers, at the ports that they listen on."""
    servers = release.servers()
    addresses = sorted(pod["status"]["podIP"] for pod in servers)
    listening = {port["name"]: port["containerPort"] for port in servers[0]["spec"]["containers"][0]["ports"]}
    services = release.get("services")
    assert services
    for service in services:
        name = service["metadata"]["name"]
        ports = {port["name"]: listening[port["targetPort"]] for port in service["spec"]["ports"]}
        wanted = (addresses, ports)
        release.plane.wait_until(f"{name} leads to the servers", wanted, functools.partial(led_to, release, name))


def led_to(release: Release, service: str) -> tuple[list[str], dict[str, int]]:
    """The addresses and ports behind a Service."""
    slices = release.get("endpointslices", f"--selector=kubernetes.io/service-name={service}")
    endpoints = [each for part in slices for each in part["endpoints"] or [] if each["conditions"]["ready"]]
    ports = {port["name"]: port["port"] for part in slices for port in part["ports"] or []}
    return sorted(address for each in endpoints for address in each["addresses"]), ports


def check_mounts(release: Release) -> None:
    """The secrets hold each file that a flag names: KWOK's pods would start without."""
    held = {secret["metadata"]["name"]: set(secret.get("data", {})) for secret in release.get("secrets")}
    for pod in release.get("pods"):
        secrets = {v["name"]: held[v["secret"]["secretName"]] for v in pod["spec"].get("volumes", []) if "secret" in v}
        for container in pod["spec"]["containers"]:
            mounts = {mount["name"]: f"={mount['mountPath']}/" for mount in container.get("volumeMounts", [])}
            words = container.get("args", []) + container.get("command", [])
            for name, keys in secrets.items():
                named = {word.split(mounts[name])[1] for word in words if mounts[name] in word}
                assert named
                assert named <= keys


def check_test_pod(release: Release) -> None:
    """Where a Service leads only to the servers of the caller's node, the pod of `helm test` is on such a node."""
    (pod,) = [pod for pod in release.get("pods") if pod["metadata"]["name"] == "corank-test"]
    (service,) = [service for service in release.get("services") if service["metadata"]["name"] == "corank"]
    if service["spec"]["internalTrafficPolicy"] == "Local":
        assert pod["spec"]["nodeName"] in {server["spec"]["nodeName"] for server in release.servers()}


def test_first_commands_of_the_guide_run_as_printed(plane: ControlPlane) -> None:
    """Those of docs/operations/kubernetes.md that need no container."""
    page = (ROOT / "docs" / "operations" / "kubernetes.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    (install,) = [line for line in lines if line.startswith("helm install corank ") and "--namespace" in line]
    (test,) = [line for line in lines if line.startswith("helm test ")]
    plane.helm(*shlex.split(install)[1:])
    try:
        assert "Succeeded" in plane.helm(*shlex.split(test)[1:]).stdout
    finally:
        plane.kubectl("delete", "namespace", "corank", "--wait=false")
