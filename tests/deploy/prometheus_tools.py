"""Runs the Prometheus that scripts/setup.sh unpacks, with the rules as a plain Prometheus reads them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
RULES = MONITORING / "prometheus-rule.yaml"
GUIDE = ROOT / "docs" / "operations"


def program(name: str) -> Path:
    """The path of prometheus or promtool."""
    path = ROOT / ".deps" / "prometheus" / "usr" / "bin" / name
    assert path.exists(), f"{name} is missing: scripts/setup.sh test unpacks it"
    return path


def complaints(scrape: str) -> str:
    """What promtool reports about the text of a scrape; empty if all is well."""
    command = [str(program("promtool")), "check", "metrics"]
    checked = subprocess.run(command, input=scrape, capture_output=True, text=True, check=False, timeout=60)
    said = checked.stdout + checked.stderr
    assert (checked.returncode == 0) == (not said), (checked.returncode, said)
    return said


def write_rules(folder: Path) -> Path:
    """Writes the `spec` of the PrometheusRule as a rule file."""
    path = folder / "corank-rules.yaml"
    (rule,) = yaml.safe_load_all(RULES.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump(rule["spec"], width=1000), encoding="utf-8")
    return path


def listed_metrics() -> dict[str, tuple[str, set[str]]]:
    """The metrics that the monitoring page lists: type and labels by name."""
    page = (GUIDE / "monitor.md").read_text(encoding="utf-8")
    found = re.findall(r"^- `(\w+)` \((\w+)(?:; ([\w, ]+))?\):", page, re.MULTILINE)
    assert len({name for name, _, _ in found}) == len(found), "no metric is listed twice"
    return {name: (kind, set(re.findall(r"\w+", labels))) for name, kind, labels in found}
