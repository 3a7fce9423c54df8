"""What the Helm chart renders for each of its sets of values, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from chart_tools import (
    CHART,
    EXAMPLES,
    PROGRAMS,
    ROOT,
    Manifest,
    needs_helm,
    needs_render,
    render,
    rendered,
    workload,
)

RELEASES = ["1.29.0", kubernetes_validate.latest_version()]
BUILT_IN = re.compile(r"^(v1|apps/v1|policy/v1|autoscaling/v2|batch/v1|(networking|resource)\.k8s\.io/v1)$")
SETS = ["", *EXAMPLES]


def schema() -> Manifest:
    found: Manifest = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    return found


def defaults() -> Manifest:
    found: Manifest = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    return found


def names(part: Manifest, path: str = "") -> set[str]:
    """The names of all values that a schema describes."""
    found: set[str] = set()
    for name, value in part["properties"].items():
        found |= names(value, f"{path}{name}.") if value.get("properties") else {f"{path}{name}"}
    return found


def keys(values: Any, known: set[str], path: str = "") -> set[str]:
    """The names among `known` that a tree of values sets, also by dotted keys as helm-unittest has them."""
    found: set[str] = set()
    for name, value in values.items():
        full = f"{path}{name}"
        if full in known:
            found.add(full)
        elif isinstance(value, dict):
            found |= keys(value, known, f"{full}.")
    return found


def test_every_value_has_a_meaning_and_a_default() -> None:
    def described(part: Manifest) -> bool:
        return all(
            value.get("description") and (not value.get("properties") or described(value))
            for value in part["properties"].values()
        )

    assert described(schema())
    optional = {"global", "resources.limits.cpu"}
    assert keys(defaults(), names(schema())) == names(schema()) - optional


def test_no_object_of_the_schema_takes_unknown_names() -> None:
    def closed(part: Manifest) -> bool:
        properties = part.get("properties")
        return not properties or (part["additionalProperties"] is False and all(map(closed, properties.values())))

    assert closed(schema())


def test_every_value_has_a_unit_test() -> None:
    known, tested = names(schema()), set()
    for path in (CHART / "tests").glob("*_test.yaml"):
        for test in yaml.safe_load(path.read_text("utf-8"))["tests"]:
            tested |= keys(test.get("set", {}), known)
    assert tested == known


def test_page_and_manifests_follow_the_chart() -> None:
    """Without the renderer, the manifests are compared by the digest of the chart that they name."""
    command = [sys.executable, str(ROOT / "scripts" / "chart.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert checked.returncode == 0, checked.stderr


def test_versions_are_those_of_the_build() -> None:
    match = re.search(r"project\(corank VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text("utf-8"))
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert match
    assert chart["version"] == chart["appVersion"] == match[1]


@needs_helm
def test_chart_passes_helms_linter() -> None:
    for values in EXAMPLES.values():
        command = [str(PROGRAMS / "helm"), "lint", "--strict", str(CHART), "--values", str(values)]
        linted = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert linted.returncode == 0, linted.stdout


@needs_helm
def test_chart_passes_its_unit_tests() -> None:
    command = [str(PROGRAMS / "helm-unittest"), "--strict", str(CHART)]
    tested = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@needs_render
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("example", SETS)
def test_built_in_objects_follow_the_published_schema(example: str, release: str) -> None:
    if example == "dra" and release == RELEASES[0]:
        pytest.skip("claims are stable since Kubernetes 1.34")
    for manifest in rendered(example, release):
        if BUILT_IN.match(manifest["apiVersion"]):
            kubernetes_validate.validate(manifest, release, strict=True)


@needs_render
@pytest.mark.parametrize("example", SETS)
def test_flags_of_every_set_start_a_server(example: str, tmp_path: Path) -> None:
    """Names, values and budgets, by corankd's own check; files of secrets stand in for the mounted ones."""
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD does not name a built server")
    flags = workload(rendered(example))["spec"]["template"]["spec"]["containers"][0]["args"]
    if any("/etc/corank/" in flag for flag in flags):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(tmp_path / "tls.key")]
        subject = ["-subj", "/CN=corank", "-out", str(tmp_path / "tls.crt")]
        subprocess.run(["openssl", "req", "-x509", *key, *subject], check=True, capture_output=True, timeout=60)
        (tmp_path / "ca.crt").write_bytes((tmp_path / "tls.crt").read_bytes())
        (tmp_path / "tokens").write_text(f"analytics {hashlib.sha256(b'word').hexdigest()} all\n", "utf-8")
    flags = [re.sub(r"=/etc/corank/\w+/", f"={tmp_path}/", flag) for flag in flags]
    command = [corankd, "--check-config", "--listen=0.0.0.0:1", *flags]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert checked.returncode == 0, checked.stderr


@needs_render
@pytest.mark.parametrize("example", SETS)
def test_pods_meet_the_restricted_standard(example: str) -> None:
    """But for the DaemonSet's host folder, which it exists for."""
    pods = [workload(rendered(example))["spec"]["template"]["spec"]]
    pods += [manifest["spec"] for manifest in rendered(example) if manifest["kind"] == "Pod"]
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        hosts = [volume for volume in pod.get("volumes", []) if "hostPath" in volume]
        assert bool(hosts) == (example == "same-node-daemonset" and "restartPolicy" not in pod)
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@needs_render
@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("engine=gpu", "/engine"),
        ("enginne=cpu", "enginne"),
        ("replicas=two", "/replicas"),
        ("image.digest=latest", "/image/digest"),
        ("resources.limits.memory=16GB", "/resources/limits/memory"),
        ("memory.hostPool=lots", "/memory/hostPool"),
        ("connections.maxAge=5", "/connections/maxAge"),
        ("gpu.count=0", "/gpu/count"),
        ("ingress.enabled=true", "/ingress/host"),
        ("grpcRoute.enabled=true", "/grpcRoute/parentRefs"),
        ("tls.certManager.enabled=true", "/tls/certManager/issuerRef/name"),
        ("autoscaling.kind=vpa", "/autoscaling/kind"),
        ("extraArgs[0]=log-level=debug", "/extraArgs/0"),
    ],
)
def test_wrong_value_is_refused_by_its_name(setting: str, named: str) -> None:
    refused = render("-set", setting)
    assert refused.returncode != 0
    assert named in refused.stderr or named.strip("/").replace("/", ".") in refused.stderr, refused.stderr


@needs_render
def test_a_test_pod_is_not_behind_a_service_but_may_call() -> None:
    (pod,) = [m for m in rendered() if m["kind"] == "Pod"]
    labels = pod["metadata"]["labels"].items()
    assert not any(m["spec"]["selector"].items() <= labels for m in rendered() if m["kind"] == "Service")
    (policy,) = [m for m in rendered() if m["kind"] == "NetworkPolicy"]
    (_, tester) = policy["spec"]["ingress"][0]["from"]
    assert tester["podSelector"]["matchLabels"].items() <= labels


@needs_render
def test_scaler_asks_for_metrics_that_exist() -> None:
    page = (ROOT / "docs" / "operations" / "monitor.md").read_text("utf-8")
    (scaler,) = [m for m in rendered("keda") if m["kind"] == "ScaledObject"]
    queries = [trigger["metadata"]["query"] for trigger in scaler["spec"]["triggers"]]
    for metric in re.findall(r"corank_\w+", " ".join(queries)):
        assert f"- `{metric}` (gauge" in page
    assert len(queries) == 4


def test_missing_secret_shows_in_the_servers_log(tmp_path: Path) -> None:
    """The chart mounts optional secrets, so corankd starts without them and says what is missing."""
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD does not name a built server")
    missing = tmp_path / "tls.crt"
    command = [corankd, "--listen=127.0.0.1:0", f"--tls-certificate={missing}", f"--tls-key={tmp_path}/tls.key"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode != 0
    assert str(missing) in ended.stderr


@needs_render
@pytest.mark.parametrize("example", ["secure", "mutual-tls"])
def test_secrets_lie_where_the_flags_say(example: str) -> None:
    pod = workload(rendered(example))["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    volumes = {volume["name"]: volume["secret"] for volume in pod["volumes"]}
    mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in server["volumeMounts"]}
    files = [flag.split("=")[1] for flag in server["args"] if "=/etc/corank/" in flag]
    assert {str(Path(file).parent) for file in files} == set(mounts)
    assert "--insecure" not in server["args"]
    assert all(secret["defaultMode"] == 0o440 and secret["optional"] for secret in mounts.values())
    services = [m for m in rendered(example) if m["kind"] == "Service"]
    assert all(service["spec"]["ports"][0]["appProtocol"] == "https" for service in services)


@needs_render
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ([], "Calls travel in plain text"),
        (["tls.enabled=true"], "MISSING: the secret corank-tls"),
        (["tokens.secretName=callers"], "MISSING: the secret callers with the key tokens"),
        (["image.pullSecrets[0]=registry"], "MISSING: the pull secret registry"),
    ],
)
def test_notes_say_what_is_missing(settings: list[str], says: str) -> None:
    printed = render("-notes", *(word for setting in settings for word in ("-set", setting)))
    assert says in printed.stdout, printed.stderr
