"""The HorizontalPodAutoscaler of the chart decides as docs/operations/scale.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from control_plane import ROOT, ControlPlane, Manifest
from custom_metrics import Adapter, adapter
from releases import Release, condition, namespace, values

PAGE = (ROOT / "docs" / "operations" / "scale.md").read_text("utf-8")
TARGETS = {
    "corank_queue_age_seconds": 1.0,
    "corank_queue_requests": 64.0,
    "corank_lanes_busy_short": 0.8 * 4,
    "corank_lanes_busy_long": 0.8 * 8,
}
"""The page's table, with the default numbers of lanes."""
AT_ONCE = "--set=autoscaling.scaleUpStabilizationSeconds=0"


def names_of_the_rules() -> set[str]:
    """The metrics that prometheus-adapter serves with the page's rules."""
    (block,) = re.findall(r"^```yaml\n(rules:\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    rules = yaml.safe_load(block)["rules"]
    return {rule.get("name", {}).get("as") or rule["seriesQuery"].split("{")[0] for rule in rules}


@pytest.fixture(scope="module")
def serving(plane: ControlPlane) -> Iterator[Adapter]:
    with adapter(plane, names_of_the_rules()) as registered:
        yield registered


@pytest.fixture(name="metrics")
def fixture_metrics(serving: Adapter) -> Adapter:
    """All metrics are 0."""
    serving.values.update(dict.fromkeys(serving.values, 0.0))
    return serving


@pytest.fixture(name="release")
def fixture_release(plane: ControlPlane) -> Iterator[Release]:
    with namespace(plane, "scaled") as where:
        release = Release(plane, where)
        release.helm("install", *values("hpa"), AT_ONCE)
        yield release


def scaler(release: Release) -> Manifest:
    """The HorizontalPodAutoscaler."""
    (found,) = release.get("horizontalpodautoscalers")
    return found


def reason(release: Release, kind: str) -> tuple[str, str]:
    """The status and the reason of one of its conditions."""
    found = condition(scaler(release), kind)
    return found.get("status", ""), found.get("reason", "")


def replicas(release: Release) -> int:
    """How many pods the Deployment has that are ready."""
    return int(release.workload()["status"].get("readyReplicas", 0))


def wait_replicas(release: Release, count: int) -> None:
    release.plane.wait_until("pods that are ready", count, lambda: replicas(release))


def test_without_an_adapter_it_finds_its_target_and_keeps_the_least_pods(release: Release) -> None:
    wait_replicas(release, 2)
    release.plane.wait_until(
        "the missing metric", ("False", "FailedGetPodsMetric"), lambda: reason(release, "ScalingActive")
    )
    assert reason(release, "AbleToScale")[0] == "True"
    assert scaler(release)["status"]["currentReplicas"] == 2


@pytest.mark.parametrize("metric", TARGETS)
def test_each_metric_adds_pods_in_proportion(metrics: Adapter, release: Release, metric: str) -> None:
    release.plane.wait_until("metrics", ("True", "ValidMetricFound"), lambda: reason(release, "ScalingActive"))
    assert len(scaler(release)["status"]["currentMetrics"]) == len(TARGETS)
    wait_replicas(release, 2)
    metrics.values[metric] = TARGETS[metric] * 1.5
    wait_replicas(release, 3)
    metrics.values[metric] = 0.0
    release.plane.wait_until("late shrinking", ("True", "ScaleDownStabilized"), lambda: reason(release, "AbleToScale"))
    assert replicas(release) == 3


def test_no_minute_adds_more_than_two_pods_to_one(metrics: Adapter, release: Release) -> None:
    """The Deployment began with one pod, so this minute ends with three, whatever the load."""
    metrics.values["corank_queue_requests"] = 6400
    release.plane.wait_until("the limit", ("True", "ScaleUpLimit"), lambda: reason(release, "ScalingLimited"))
    wait_replicas(release, 3)
    assert scaler(release)["status"]["desiredReplicas"] == 3


def test_upgrade_keeps_the_pods_that_the_scaler_added(metrics: Adapter, release: Release) -> None:
    metrics.values["corank_queue_requests"] = TARGETS["corank_queue_requests"] * 1.5
    wait_replicas(release, 3)
    metrics.values["corank_queue_requests"] = 0.0
    release.helm("upgrade", *values("hpa"), AT_ONCE, "--set=lanes=5")
    assert release.workload()["spec"]["replicas"] == 3
    release.helm("rollback")
    assert release.workload()["spec"]["replicas"] == 3
