"""The rules record and alert as they should; rules, dashboard and documents name the same metrics and alerts."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_tools import MONITORING, ROOT, RULES, listed_metrics, program, write_rules

ALERTS = Path(__file__).parent / "alerts.yaml"


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def rules() -> list[dict[str, Any]]:
    return [rule for group in load(RULES)["spec"]["groups"] for rule in group["rules"]]


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(program("promtool")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def expressions() -> list[str]:
    """The expressions of the rules and the dashboard."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return [rule["expr"] for rule in rules()] + targets


def test_rules_pass_promtools_check(tmp_path: Path) -> None:
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", write_rules(tmp_path))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def run_alerts(folder: Path, name: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the tests of alerts.yaml whose name begins with `name` against the rules in the folder."""
    path = folder / "alerts.yaml"
    tests = load(ALERTS)
    tests["tests"] = [test for test in tests["tests"] if test["name"].startswith(name)]
    assert tests["tests"], name
    for test in tests["tests"]:
        for series in test["input_series"]:
            assert isinstance(series["values"], str), f"quote {series}: 0x60 alone is 96 to YAML, not many zeros"
    # promtool does not support YAML merge keys.
    path.write_text(json.dumps(tests), encoding="utf-8")
    return promtool("test", "rules", path)


def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    write_rules(tmp_path)
    tested = run_alerts(tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("> 0.9", "> 0.95", "something waits"),
        ("INTERNAL|", "", "calls fail"),
        ("for: 2m", "for: 20m", "servers do not"),
        ("== 0\n", "== 1\n", "a device of several"),
        ("CANCELLED|", "", "all short lanes hang"),
        ("|DEADLINE_EXCEEDED", "", "all short lanes hang"),
        ("rate2m > 0.1", "rate2m > 0", "a healthy"),
        ("RESOURCE_EXHAUSTED", "", "every call of one"),
        ("or rate(corank_refused", "unless rate(corank_refused", "every call of one"),
        ('lane="short"} >= 1', 'lane="short"} == 1', "all lanes of a kind"),
        ('line!~"long_.*"', "", "all lanes of a kind"),
        ('lane="long"} >= 1', 'lane="long"} > 1', "all lanes of a kind"),
        ("last1d or up", "last1d and up", "servers do not"),
        ("(instance:corank_build_info:last1d or up{job=~", "(up{job=~", "servers do not"),
        ("[1h]) > 0 and on (job, instance) instance:corank_build_info:last1d", "[1h]) > 0", "a pod loses"),
        ("[1h]) > 2 and on (job, instance) instance:corank_build_info:last1d", "[15m]) > 2", "a pod loses"),
        (
            "process_max_fds > 0.8 and on (job, instance) instance:corank_build_info:last1d",
            "process_max_fds > 0.8",
            "something waits",
        ),
        ("last_over_time(corank_build_info[1d])", "corank_build_info", "servers do not"),
        ('{budget!~"device_work|kept_arrays"}', "", "one device's"),
        ("ignoring (port) ", "", "messages do not"),
        ("corank_credentials_current == 0", "corank_credentials_current > 0", "messages do not"),
        ("corank_connections_refused_total[5m])) > 0", "corank_connections_refused_total[5m])) > 1", "messages do not"),
        ("corank_handshakes_failed_total[5m])) > 0.2", "corank_handshakes_failed_total[5m])) > 1", "messages do not"),
    ],
)
def test_a_broken_rule_is_found(tmp_path: Path, old: str, new: str, name: str) -> None:
    path = write_rules(tmp_path)
    broken = path.read_text(encoding="utf-8").replace(old, new)
    assert broken != path.read_text(encoding="utf-8")
    path.write_text(broken, encoding="utf-8")
    assert run_alerts(tmp_path, name).returncode != 0


def test_each_alert_and_record_is_tried() -> None:
    tests = load(ALERTS)["tests"]
    fired = {
        match
        for test in tests
        for expression in test["promql_expr_test"]
        for sample in expression["exp_samples"]
        for match in re.findall(r'alertname="(\w+)"|^([\w:]+)\{', sample["labels"])
    }
    names = {name for pair in fired for name in pair if name}
    assert names == {rule.get("alert") or rule["record"] for rule in rules()}


def test_each_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules():
        if "alert" in rule:
            assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
            assert set(rule["annotations"]) == {"summary", "description", "runbook"}, rule["alert"]


def test_rules_and_dashboard_use_metrics_that_the_monitoring_page_lists() -> None:
    listed = listed_metrics()
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for expression in expressions():
        for name in re.findall(r"\b(?:\w+:)?(?:corank|process)_\w+(?::\w+)?", expression):
            plain = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name in recorded or plain in listed or name in listed, (name, expression)


def test_dashboard_has_what_grafana_asks_for() -> None:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    assert [variable["name"] for variable in dashboard["templating"]["list"]] == ["datasource", "job", "instance"]
    # With `allValue`, "All" would match every process that Prometheus scrapes, not only the listed servers.
    assert not [variable["name"] for variable in dashboard["templating"]["list"] if "allValue" in variable]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}"
            assert re.search(r"\$job\b", target["expr"]), panel["title"]


def test_chart_brings_rules_and_dashboard() -> None:
    for name in ("prometheus-rule.yaml", "dashboard.json"):
        assert (ROOT / "deploy" / "chart" / "corank" / "files" / name).resolve() == MONITORING / name
    rule = load(RULES)
    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")


def test_example_configuration_is_a_valid_one(tmp_path: Path) -> None:
    write_rules(tmp_path)
    (tmp_path / "prometheus.yaml").write_bytes((MONITORING / "prometheus.yaml").read_bytes())
    checked = promtool("check", "config", tmp_path / "prometheus.yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (target,) = load(MONITORING / "prometheus.yaml")["scrape_configs"][0]["static_configs"][0]["targets"]
    assert f'"{target}"' in (ROOT / "server" / "config" / "listen.cc").read_text(encoding="utf-8")
