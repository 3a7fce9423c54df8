"""The operations guide names exactly the alerts, metrics, flags, panels and rates that exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_tools import GUIDE, MONITORING, ROOT, RULES, listed_metrics

PAGES = sorted(GUIDE.glob("*.md"))
SYSTEMD = ROOT / "deploy" / "systemd"
RESULTS = ROOT / "bench" / "results" / "h200"


def text(name: str) -> str:
    return (GUIDE / name).read_text(encoding="utf-8")


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def runbook() -> dict[str, str]:
    """The entries of the alerts page, by heading."""
    return dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", text("alerts.md"), re.MULTILINE | re.DOTALL))


def test_runbook_has_an_entry_for_each_alert_and_for_no_other() -> None:
    assert set(runbook()) == {alert["alert"] for alert in alerts()}


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_runbook_entry_says_severity_meaning_commands_and_action(alert: dict[str, Any]) -> None:
    entry = runbook()[alert["alert"]]
    severity = alert["labels"]["severity"].capitalize()
    assert re.match(rf"\n\*{severity}\.\* \w", entry), "its severity, then its meaning"
    bullets = dict(re.findall(r"^- \*\*(.*?):\*\* (.*?)(?=^- |\n\n|\Z)", entry, re.MULTILINE | re.DOTALL))
    assert list(bullets) == ["Callers see", "Commands", "First look", "Action"]
    assert len(re.findall(r"`[^`]+`[;.]", bullets["Commands"])) == 3
    assert alert["annotations"]["runbook"] == f"docs/operations/alerts.md#{alert['alert'].lower()}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_only_metrics_that_exist(page: Path) -> None:
    known = set(listed_metrics()) | {rule["record"] for rule in rules() if "record" in rule}
    known |= set(re.findall(r"\{as: (\w+)\}", text("scale.md")))  # names that the adapter's rules give
    for name in re.findall(r"(?:\w+:)?\b(?:corank|process|exposer)_\w+(?::\w+)?", page.read_text(encoding="utf-8")):
        assert name in known or re.sub(r"_(bucket|sum|count)$", "", name) in known, name


def server_flags() -> set[str]:
    """The names of corankd's settings, as the sources of server/config define them."""
    sources = (ROOT / "server" / "config").glob("*.cc")
    found = {
        name for path in sources for name in re.findall(r"(?:Shown|Hidden)\(FLAGS_(\w+)\)", path.read_text("utf-8"))
    }
    return {f"--{name.replace('_', '-')}" for name in found}


def test_configuration_page_has_a_row_for_each_flag() -> None:
    rows = re.findall(r"^\| `(--[a-z-]+)` \|", text("configure.md"), re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == server_flags()


# Flags of other programs, and flags of corankd and corank that are not settings.
OTHER_FLAGS = {
    "--help",
    "--check-config",
    "--version",
    "--all",  # of corank info
    "--cap-add",  # of docker run
    "--gpus",
    "--build-arg",
    "--health-cmd",
    "--ipc",
    "--shm-size",
    "--user",
    "--service",
    "--wait",
    "--server",
    "--tls-ca",
    "--strip-components",
    "--system",
    "--no-create-home",
    "--shell",
    "--now",
    "--namespace",  # of helm and kubectl
    "--create-namespace",
    "--from-file",
    "--repo",
    "--set",
    "--values",
    "--from-oci-layout",  # of oras
    "--previous",  # of kubectl logs
    "--trace",  # of bench/clusters/scaling.py
}


@pytest.mark.parametrize("page", [*PAGES, RULES, MONITORING / "dashboard.json"], ids=lambda page: page.name)
def test_pages_and_rules_name_only_flags_that_exist(page: Path) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8")))
    assert named <= server_flags() | OTHER_FLAGS


def panels() -> set[str]:
    return {panel["title"] for panel in json.loads((MONITORING / "dashboard.json").read_text("utf-8"))["panels"]}


def test_pages_name_only_panels_that_exist() -> None:
    table = re.findall(r"^\| [^|]+\? \| ([^|]+) \| ([^|]+) \|$", text("monitor.md"), re.MULTILINE)
    assert table
    named = {name for rows, _ in table for name in rows.split(", ")}
    for _, titles in table:
        left = titles
        for title in sorted(panels(), key=len, reverse=True):  # titles contain commas
            left = left.replace(title, "")
        assert not re.sub("[,; ]", "", left), titles
    named |= set(re.findall(r"\bpanels? \*([^*]+)\*", text("alerts.md") + text("monitor.md")))
    assert named <= panels()


def rate(row: str, count: int) -> float:
    rows = json.loads((RESULTS / "service.json").read_text(encoding="utf-8"))["rows"]
    return float(next(found["ours"] for found in rows if found["row"].startswith(row) and found["n"] == count))


def time_of(row: str) -> float:
    rows = json.loads((RESULTS / "places.json").read_text(encoding="utf-8"))["rows"]
    return float(next(found["ours"] for found in rows if found["row"] == row))


def test_capacity_page_repeats_the_measured_rates() -> None:
    shown = dict(re.findall(r"^\| (sort of [^|]+) \| ([^|]+) \|", text("capacity.md"), re.MULTILINE))
    by_size, over_eight = "Sort inline by size", "Sort 1 GiB over 8 connections by the client library"
    expected = {
        "sort of 4 KiB in the message, 64 calls in flight": f"{round(rate('Sort inline, 64', 2**10), -3):,.0f} calls/s",
        **{
            f"sort of {size} in the message, 8 in flight": f"{rate(by_size, keys):.1f} GB/s"
            for size, keys in [("64 KiB", 2**14), ("256 KiB", 2**16), ("1 MiB", 2**18), ("4 MiB", 2**20)]
        },
        "sort of 64 MiB in the message, 8 in flight": f"{rate(by_size, 2**24):.1f} GB/s",
        "sort of 256 MiB over one stream": f"{rate('Sort 256 MiB streamed, one', 2**26):.1f} GB/s",
        "sort of 256 MiB over eight streams": f"{rate('Sort 256 MiB streamed, 8', 2**26):.1f} GB/s",
        "sort of 1 GiB over eight connections": f"{rate(over_eight, 2**28):.1f} GB/s",
        "sort of 1 GiB in shared memory": f"{time_of('Sort in shared memory'):.0f} ms",
        "sort of 1 GiB in GPU memory (CUDA IPC)": f"{time_of('Sort in CUDA IPC memory'):.1f} ms",
    }
    assert shown == expected


def test_systemd_unit_is_valid(tmp_path: Path) -> None:
    unit = tmp_path / "corankd.service"
    lines = (SYSTEMD / "corankd.service").read_text(encoding="utf-8")
    assert "ExecStart=/opt/corank/bin/corankd --config=/etc/corank/corankd.conf\n" in lines
    unit.write_text(lines.replace("/opt/corank/bin/corankd", "/bin/true"), encoding="utf-8")
    try:
        command = ["systemd-analyze", "verify", str(unit)]
        checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError:
        pytest.skip("systemd-analyze is not installed")
    assert (checked.returncode, checked.stderr) == (0, "")


def seconds(unit: str, name: str) -> int:
    (found,) = re.findall(rf"^{name}=(\d+)s$", unit, re.MULTILINE)
    return int(found)


def test_systemd_waits_longer_than_the_drain() -> None:
    source = (ROOT / "server" / "config" / "process.cc").read_text(encoding="utf-8")
    (drain,) = re.findall(r"drain_timeout, absl::Seconds\((\d+)\)", source)
    assert seconds((SYSTEMD / "corankd.service").read_text(encoding="utf-8"), "TimeoutStopSec") > int(drain)


def test_systemd_settings_are_ones_of_the_server(tmp_path: Path) -> None:
    """Also the commented-out settings, except those that name files."""
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD does not name a built server")
    lines = (SYSTEMD / "corankd.conf").read_text(encoding="utf-8").replace("# shared-memory", "shared-memory")
    path = tmp_path / "corankd.conf"
    path.write_text(lines, encoding="utf-8")
    command = [corankd, f"--config={path}", "--check-config"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 0, answer.stderr
    assert "shared-memory = /corank-  # from the file" in answer.stdout
    for name in re.findall(r"^# ([a-z-]+) = ", lines, re.MULTILINE):
        assert f"--{name}" in server_flags()
