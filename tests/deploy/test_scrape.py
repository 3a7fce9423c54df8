"""Rules and dashboard name only metrics, labels and label values that a real server has."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from prometheus_tools import GUIDE, MONITORING, ROOT, RULES, complaints

sys.path.append(str(ROOT / "tests" / "e2e"))

import e2e_paths  # noqa: F401
import numpy as np
from certificates import Authority
from corank.testing import LocalServer
from e2e_support import binary

# Served on a GPU, or once there was work, with these labels: tests/e2e/test_prometheus.py has all but a GPU's, which a
# stand-in gives below.
ELSEWHERE = {
    "corank_device_utilisation_ratio": "device",
    "corank_device_memory_used_bytes": "device",
    "corank_device_memory_total_bytes": "device",
    "corank_device_power_watts": "device",
    "corank_device_temperature_celsius": "device",
    "corank_tenant_bytes_total": "tenant",
    "corank_tenant_lane_seconds_total": "tenant",
    "corank_estimated_bytes_per_second": "operator",
}
# Labels that Prometheus adds, and the label of a histogram's buckets.
OF_PROMETHEUS = {"job", "instance", "le"}
NAME = re.compile(r"(?<![\w:$])(up|(?:corank|process|exposer)_\w+)(?![\w:])(?:\{([^}]*)\})?")
RECORDED = re.compile(r"\b\w+:\w+:\w+")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')

Labels = dict[str, set[str]]


class Scrape:
    """The metrics of a server by name, each with its labels and their values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.metrics: dict[str, Labels] = {"up": {}} | {name: {label: set()} for name, label in ELSEWHERE.items()}
        for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
            found = self.metrics.setdefault(name, {})
            for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
                found.setdefault(label, set()).add(value)

    def values(self, metric: str, label: str) -> set[str]:
        """The values that the label may take. A code appears only once a call has ended with it."""
        if label == "code":
            return {code.name for code in grpc.StatusCode}
        return self.metrics[metric][label]


def get(url: str) -> str:
    """The page at that address; raises OSError before the server listens."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=30) as page:
        return str(page.read().decode())


@pytest.fixture(name="scrape", scope="module")
def fixture_scrape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrape]:
    """The metrics of a server that uses every feature except a GPU."""
    corankd = binary("CORANKD")
    folder = tmp_path_factory.mktemp("server")
    authority = Authority()
    own = authority.issue_server().save(folder)
    token = "of-the-scrape"
    (folder / "tokens").write_text(f"red {hashlib.sha256(token.encode()).hexdigest()} all\n", encoding="utf-8")
    flags = [
        *("--engine=cpu", "--health-listen=127.0.0.1:0", "--kept-bytes=1MiB", f"--tokens-file={folder / 'tokens'}"),
        *(f"--tls-certificate={own.certificate}", f"--tls-key={own.key}"),
    ]
    with LocalServer(corankd, flags) as server, server.connect(tls_ca=authority.save(folder), token=token) as client:
        client.sort(np.arange(100_000)[::-1])  # histograms appear with the first request in a lane
        yield Scrape(get(f"http://{server.metrics_address}/metrics"))


@pytest.fixture(name="scrape_of_gpu")
def fixture_scrape_of_gpu(tmp_path: Path) -> str:
    """The metrics of a GPU, with readings from a stand-in for NVIDIA's library."""
    tests = binary("CORANKD").with_name("server_observe_test")
    if not tests.exists():
        pytest.skip(f"no {tests}: this build has no tests")
    name = "Nvml.WhatAGpuDoesNotSayIsNotShown"
    report = tmp_path / "report.json"
    command = [str(tests), f"--gtest_filter={name}", f"--gtest_output=json:{report}"]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    ((case,),) = (suite["testsuite"] for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"])
    return str(case["scrape"])


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


RECORDS = {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}
# An expression, and the labels that its legend or annotations show.
EXPRESSIONS = {
    rule.get("alert") or rule["record"]: (
        rule["expr"],
        set(re.findall(r"\$labels\.(\w+)", json.dumps(rule.get("annotations", {})))),
    )
    for rule in rules()
} | {
    f"{panel['title']}: {target['refId']}": (target["expr"], set(re.findall(r"{{(\w+)}}", target["legendFormat"])))
    for panel in json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    for target in panel.get("targets", [])
}


def labels_of(scrape: Scrape, expression: str) -> set[str]:
    """All labels of the metrics in an expression, including the metrics behind its recorded names."""
    labels = OF_PROMETHEUS | {label for name, _ in NAME.findall(expression) for label in scrape.metrics[name]}
    for name in RECORDED.findall(expression):
        labels |= labels_of(scrape, RECORDS[name])
    return labels


def check(scrape: Scrape, expression: str, shown: set[str]) -> None:
    """Fails if an expression, or a label shown beside it, names something that no server has."""
    assert NAME.search(expression) or RECORDED.search(expression), "no metric at all"
    for name, selector in NAME.findall(expression):
        assert name in scrape.metrics, name
        for label, operator, value in MATCHER.findall(selector):
            if label in OF_PROMETHEUS:
                continue
            assert label in scrape.metrics[name], (name, label)
            parts = value.split("|") if "~" in operator else [re.escape(value)]
            for part in parts:
                values = scrape.values(name, label)
                assert any(re.fullmatch(part, known) for known in values), (name, label, part, values)
    named = re.findall(r"\b(?:by|on|ignoring|without|group_left)\s*\(([^)]*)\)", expression)
    used = shown | {label for names in named for label in re.findall(r"\w+", names)}
    assert used <= labels_of(scrape, expression), used - labels_of(scrape, expression)


def test_promtool_finds_nothing_to_say_of_a_server_with_credentials(scrape: Scrape) -> None:
    assert {"corank_tls_certificate_expiry_timestamp_seconds", "corank_credentials_current"} <= set(scrape.metrics)
    assert complaints(scrape.text) == ""


def test_promtool_finds_nothing_to_say_of_a_gpu(scrape_of_gpu: str) -> None:
    of_gpus = {name for name, label in ELSEWHERE.items() if label == "device"}
    assert of_gpus <= set(re.findall(r"^# TYPE (\w+) gauge$", scrape_of_gpu, re.MULTILINE))
    assert complaints(scrape_of_gpu) == ""


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_name_what_a_server_has(scrape: Scrape, name: str) -> None:
    check(scrape, *EXPRESSIONS[name])


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("corank_lines_busy", set()),
        ('corank_refused_total{reason=~"memory|buffers"}', set()),
        ('corank_requests_total{code="CANCELED"}', set()),
        ('corank_lanes{kind="short"}', set()),
        ("sum by (tenant) (corank_connections)", set()),
        ("corank_connections", {"port"}),
        ("lane:corank_lanes_busy:ratio", {"port"}),
    ],
)
def test_a_wrong_name_is_found(scrape: Scrape, expression: str, shown: set[str]) -> None:
    with pytest.raises(AssertionError):
        check(scrape, expression, shown)


def test_the_monitoring_page_and_the_alerts_explain_every_value(scrape: Scrape) -> None:
    """For labels whose values the server itself chooses."""
    page = (GUIDE / "monitor.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^- `(\w+)` (\(.*?)\n(?=[-\n])", page, re.MULTILINE | re.DOTALL))
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL))
    entries["corank_refused_total"] = sections["Reasons of refusals"]
    entries["corank_memory_used_bytes"] = sections["Memory budgets"]
    explained = {
        "corank_refused_total": "reason",
        "corank_memory_used_bytes": "budget",
        "corank_queue_age_seconds": "line",
        "corank_lanes": "lane",
        "corank_connections_limit": "port",
        "corank_credentials_current": "credentials",
        "corank_stage_seconds": "stage",
    }
    for metric, label in explained.items():
        for value in scrape.values(f"{metric}_count" if metric.endswith("stage_seconds") else metric, label):
            assert f"`{value}`" in entries[metric], (metric, value)
    said = {rule["alert"]: rule["annotations"]["description"] for rule in rules() if "alert" in rule}
    of_devices = scrape.values("corank_device_budget_used_bytes", "budget")
    for budget in scrape.values("corank_memory_used_bytes", "budget"):
        alert = "CorankDeviceMemoryNearLimit" if budget in of_devices else "CorankMemoryNearLimit"
        assert re.search(rf"\b{budget}\b", said[alert]), (alert, budget)
    for port in scrape.values("corank_connections_refused_total", "port"):
        assert re.search(rf"\b{port}\b", said["CorankConnectionsRefused"]), port
