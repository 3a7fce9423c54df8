"""The manifests rendered for clusters without Helm follow the published schemas, the server and the image."""

from __future__ import annotations

import copy
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
# The oldest release that cloud vendors still run, and the newest that kubernetes_validate has a schema for.
RELEASES = ["1.29.0", kubernetes_validate.latest_version()]
VARIANTS = ["gpu", "cpu"]

Manifest = dict[str, Any]


def page(name: str) -> str:
    """A page of the operations guide."""
    return (ROOT / "docs" / "operations" / name).read_text(encoding="utf-8")


def load(path: Path) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]


def rendered(variant: str) -> list[Manifest]:
    """The manifests of one of VARIANTS."""
    return load(KUBERNETES / f"{variant}.yaml")


def deployment(variant: str) -> Manifest:
    (found,) = [m for m in rendered(variant) if m["kind"] == "Deployment"]
    return found


def container(variant: str) -> Manifest:
    (found,) = deployment(variant)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def seconds(duration: str) -> int:
    match = re.fullmatch(r"(\d+)s", duration)
    assert match
    return int(match[1])


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_manifests_follow_the_published_schema(variant: str, release: str) -> None:
    manifests = rendered(variant)
    assert sorted(m["kind"] for m in manifests) == [
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "Service",
    ]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, release, strict=True)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda m: m["spec"]["template"]["spec"]["containers"][0].update(readinessProb={}),
        lambda m: m["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["grpc"].update(port="grpc"),
        lambda m: m["spec"].update(replicas="two"),
        lambda m: m["spec"].pop("selector"),
    ],
    ids=["misspelled field", "named port in a gRPC probe", "number as text", "missing field"],
)
def test_a_broken_manifest_is_rejected(break_it: Any) -> None:
    manifest = copy.deepcopy(deployment("gpu"))
    break_it(manifest)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, RELEASES[-1], strict=True)


def test_gpu_variant_asks_for_a_gpu_and_the_cuda_engine() -> None:
    assert container("gpu")["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert "--engine=cuda" in container("gpu")["args"]


def test_cpu_variant_asks_for_no_gpu() -> None:
    assert "nvidia.com/gpu" not in yaml.safe_dump(deployment("cpu"))
    assert "--engine=cpu" in container("cpu")["args"]
    assert "--engine=cuda" not in container("cpu")["args"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_pod_has_no_more_rights_than_it_needs(variant: str) -> None:
    """The pod meets the Pod Security Standard "restricted" and has a read-only file system."""
    pod = deployment(variant)["spec"]["template"]["spec"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod)
    assert container(variant)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert all(set(volume) <= {"name", "secret"} for volume in pod.get("volumes", []))
    assert all(mount["readOnly"] for mount in container(variant).get("volumeMounts", []))


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_probes_ask_the_health_port(variant: str) -> None:
    """The kubelet has no certificate and no token, and the health port needs neither."""
    ports = {port["name"]: port["containerPort"] for port in container(variant)["ports"]}
    wanted = {"startupProbe": "ready", "readinessProbe": "ready", "livenessProbe": "live"}
    for probe, service in wanted.items():
        assert container(variant)[probe]["grpc"] == {"port": ports["health"], "service": service}


@pytest.mark.parametrize("variant", VARIANTS)
def test_image_listens_on_the_ports_of_the_pod(variant: str) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (entrypoint,) = re.findall(r"^ENTRYPOINT (.*)$", dockerfile, flags=re.MULTILINE)
    for name, flag in {"grpc": "listen", "metrics": "metrics-listen", "health": "health-listen"}.items():
        (port,) = re.findall(rf'"--{flag}=0\.0\.0\.0:(\d+)"', entrypoint)
        assert int(port) in [p["containerPort"] for p in container(variant)["ports"] if p["name"] == name]
        assert re.search(rf"^EXPOSE .*\b{port}\b", dockerfile, flags=re.MULTILINE)


@pytest.mark.parametrize("variant", VARIANTS)
def test_network_policy_lets_in_what_is_served_and_nothing_out(variant: str) -> None:
    (policy,) = [m for m in rendered(variant) if m["kind"] == "NetworkPolicy"]
    labels = deployment(variant)["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"]["egress"] == []
    ports = {port["name"] for port in container(variant)["ports"]}
    calls, others = policy["spec"]["ingress"]
    assert {"podSelector": {}} in calls["from"]
    assert [port["port"] for port in calls["ports"]] == ["grpc"]
    assert {port["port"] for rule in (calls, others) for port in rule["ports"]} == ports


@pytest.mark.parametrize("variant", VARIANTS)
def test_pod_is_given_longer_than_the_drain(variant: str) -> None:
    (drain,) = [arg.split("=")[1] for arg in container(variant)["args"] if arg.startswith("--drain-timeout=")]
    assert deployment(variant)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > seconds(drain)


def size(text: str) -> int:
    match = re.fullmatch(r"(\d+)(Ki|Mi|Gi)B?", text)
    assert match
    return int(match[1]) << {"Ki": 10, "Mi": 20, "Gi": 30}[match[2]]


# How many jobs of Execute share the host memory for streams (server/run/stream_options.cc).
SHARES = 4
# docs/operations/capacity.md: each budget that counts, and how often it may be in use at once.
HOST_BUDGETS = {"--host-pool-bytes": 1, "--max-buffered-bytes": 1, "--max-stream-host-bytes": SHARES}


@pytest.mark.parametrize("variant", VARIANTS)
def test_memory_budgets_fit_the_pods_limit(variant: str) -> None:
    """Larger budgets would let a few large requests get the pod killed."""
    flags = dict(arg.split("=", 1) for arg in container(variant)["args"] if arg.endswith("iB"))
    budgets = HOST_BUDGETS | ({"--device-budget-bytes": 1} if variant.startswith("cpu") else {})
    limit = size(container(variant)["resources"]["limits"]["memory"])
    assert set(flags) == {*budgets, "--max-queued-bytes", "--max-request-bytes"}
    assert sum(size(flags[name]) * times for name, times in budgets.items()) <= limit / 8 * 7
    assert size(flags["--max-queued-bytes"]) < size(flags["--host-pool-bytes"])


def test_capacity_page_lists_all_budgets() -> None:
    section = page("capacity.md").split("\n## Host memory\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(--[a-z-]+)`", section, re.MULTILINE)
    assert set(rows) == {*HOST_BUDGETS, "--device-budget-bytes", "--kept-bytes"}


def token_recipes() -> list[str]:
    """The commands in the documents that write a line of the tokens file."""
    recipes = [block for block in re.findall(r"```sh\n(.*?)```", page("secure.md"), re.DOTALL) if "openssl" in block]
    assert len(recipes) == 1
    assert all("sha256sum" in recipe for recipe in recipes)
    return recipes


@pytest.mark.parametrize("recipe", token_recipes(), ids=["page"])
@pytest.mark.parametrize("has_openssl", [True, False])
def test_recipes_make_no_line_of_an_empty_token(recipe: str, has_openssl: bool, tmp_path: Path) -> None:
    """The hash of an empty token would admit every caller who sends an empty token."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ["sha256sum", "cut"]:
        (programs / name).symlink_to(str(shutil.which(name)))
    if has_openssl:
        (programs / "openssl").write_text("#!/bin/sh\necho 5ec2e7\n", encoding="utf-8")
        (programs / "openssl").chmod(0o755)
    shell = ["/bin/sh", "-c", recipe]
    subprocess.run(shell, cwd=tmp_path, env={"PATH": str(programs)}, capture_output=True, check=False, timeout=60)
    tokens = tmp_path / "tokens"
    text = tokens.read_text(encoding="utf-8") if tokens.exists() else ""
    assert hashlib.sha256(b"").hexdigest() not in text
    assert (hashlib.sha256(b"5ec2e7").hexdigest() in text) == has_openssl
    assert ("analytics" in text) == has_openssl


@pytest.mark.parametrize("variant", VARIANTS)
def test_services_and_budget_select_the_pods(variant: str) -> None:
    labels = deployment(variant)["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"] for port in container(variant)["ports"]}
    assert deployment(variant)["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (budget,) = [m for m in rendered(variant) if m["kind"] == "PodDisruptionBudget"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for service in [m for m in rendered(variant) if m["kind"] == "Service"]:
        assert service["spec"]["selector"].items() <= labels.items()
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def test_image_tag_is_the_version_of_the_build() -> None:
    match = re.search(r"project\(corank VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert match
    assert container("gpu")["image"] == f"corank:{match[1]}"
    assert f"ARG VERSION={match[1]}\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"\bcorank:(\d[\d.]*\d)\b", page("deploy.md"))) == {match[1]}


def test_deploy_page_explains_the_ports_of_the_pod() -> None:
    rows = re.findall(r"^\| (\d+) \| `--([a-z-]+)`", page("deploy.md"), re.MULTILINE)
    flags = {"grpc": "listen", "metrics": "metrics-listen", "health": "health-listen"}
    assert set(rows) == {(str(port["containerPort"]), flags[port["name"]]) for port in container("gpu")["ports"]}


def used_flags() -> set[str]:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (entrypoint,) = re.findall(r"^ENTRYPOINT (.*)$", dockerfile, flags=re.MULTILINE)
    flags = set(re.findall(r"--[a-z-]+", entrypoint))
    for variant in VARIANTS:
        flags |= {arg.split("=")[0] for arg in container(variant)["args"]}
    return flags


def test_every_flag_used_is_one_of_the_servers() -> None:
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD does not name a built server")
    answer = subprocess.run([corankd, "--help"], capture_output=True, text=True, check=False, timeout=60)
    known = set(re.findall(r"--[a-z_-]+", (answer.stdout + answer.stderr).replace("_", "-")))
    assert used_flags() <= known
