"""Renders the Helm chart by Helm's engine (scripts/chart-tools/render). Tests that need it, or Helm itself, skip where
`make test-chart` has not compiled it.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "chart" / "corank"
EXAMPLES = {path.stem: path for path in sorted((CHART / "examples").glob("*.yaml"))}
"""The sets of values that the chart brings, by name."""
PROGRAMS = ROOT / ".deps" / "chart" / "bin"
needs_render = pytest.mark.skipif(not (PROGRAMS / "render").exists(), reason="no renderer: make test-chart compiles it")
needs_helm = pytest.mark.skipif(not (PROGRAMS / "helm").exists(), reason="no Helm: make test-chart compiles it")

Manifest = dict[str, Any]


def render(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Renders the chart, as release corank in namespace default."""
    command = [str(PROGRAMS / "render"), *arguments, str(CHART)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@cache
def rendered(example: str = "", kube_version: str = "1.34.0") -> tuple[Manifest, ...]:
    """The manifests of a set of values; without a name, of the defaults."""
    values = ["-f", str(EXAMPLES[example])] if example else []
    made = render("-kube-version", f"v{kube_version}", *values)
    assert made.returncode == 0, made.stderr
    return tuple(document for document in yaml.safe_load_all(made.stdout) if document)


def workload(manifests: tuple[Manifest, ...]) -> Manifest:
    """The Deployment or DaemonSet among manifests."""
    (found,) = [m for m in manifests if m["kind"] in ("Deployment", "DaemonSet")]
    return found
