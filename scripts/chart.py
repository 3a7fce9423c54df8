#!/usr/bin/env python3
"""Writes what follows from the Helm chart: the page of its values, and manifests for clusters without Helm.

Usage: chart.py [--check]

    docs/operations/chart-values.md   every value with its default and meaning, from values.yaml and values.schema.json
    deploy/kubernetes/*.yaml          what Helm makes of the chart, for GPUs and for CPUs

With --check it writes nothing and fails if a file is not what it would write. Without the renderer, which scripts/go.sh
chart compiles, --check
compares the digest of the chart that each manifest names, and writing leaves the manifests out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "chart" / "corank"
PAGE = ROOT / "docs" / "operations" / "chart-values.md"
RENDER = ROOT / ".deps" / "chart" / "bin" / "render"
MANIFESTS = {"gpu": [], "cpu": ["-f", str(CHART / "examples" / "cpu.yaml")]}
DIGEST = "# Chart: sha256:"

HEAD = """# Values of the chart

The chart `deploy/chart/corank` takes these values; [Kubernetes](kubernetes.md) shows how to use them. `helm install`
rejects any other name, and any value of another kind, and names the field. `scripts/chart.py` writes this page.

| value | default | meaning |
| --- | --- | --- |
"""


def leaves(schema: dict[str, Any], values: Any, path: str = "") -> Iterator[tuple[str, Any, str]]:
    """(name, default, meaning) of each value; an object of free form is one value."""
    for name, part in schema["properties"].items():
        if path == "" and name not in values:
            continue  # `global`, which only parent charts set
        if part.get("properties"):
            yield from leaves(part, values.get(name, {}), f"{path}{name}.")
        else:
            yield f"{path}{name}", values.get(name), part["description"]


def chart_values() -> list[tuple[str, Any, str]]:
    """All values of the chart, in the order of the schema."""
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    return list(leaves(schema, yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))))


def page() -> str:
    """The page of values."""

    def cell(default: Any) -> str:
        return (
            ""
            if default in ("", None)
            else f"`{json.dumps(default)}`"
            if not isinstance(default, str)
            else f"`{default}`"
        )

    rows = [f"| `{name}` | {cell(default)} | {meaning} |" for name, default, meaning in chart_values()]
    return HEAD + "\n".join(rows).replace("<", "&lt;") + "\n"


def chart_digest() -> str:
    """SHA-256 of all that decides what the chart renders."""
    digest = hashlib.sha256()
    names = ["Chart.yaml", "values.yaml", "examples/cpu.yaml"]
    for path in sorted([CHART / name for name in names] + [p for p in (CHART / "templates").rglob("*") if p.is_file()]):
        digest.update(f"{path.relative_to(CHART)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def manifest(name: str) -> str:
    """The manifests of a variant, without the pod of `helm test`."""
    command = [str(RENDER), "-kube-version", "v1.30.0", *MANIFESTS[name], str(CHART)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"chart: {made.stderr}")
    parts = [part for part in made.stdout.split("---\n# Source: ") if part and "helm.sh/hook" not in part]
    head = f"# corank on Kubernetes without Helm: kubectl apply -f deploy/kubernetes/{name}.yaml\n"
    head += f"# scripts/chart.py renders this file from deploy/chart/corank.\n{DIGEST}{chart_digest()}\n"
    return head + "".join(f"---\n# Source: {part}" for part in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the values page and the manifests of the chart.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = parser.parse_args().check
    wanted = {PAGE: page()}
    stale = []
    for name in MANIFESTS:
        path = ROOT / "deploy" / "kubernetes" / f"{name}.yaml"
        if RENDER.exists():
            wanted[path] = manifest(name)
        elif not path.exists() or f"{DIGEST}{chart_digest()}\n" not in path.read_text("utf-8"):
            stale.append(path)
    stale += [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if check:
        for path in stale:
            print(f"{path.relative_to(ROOT)}: run scripts/go.sh chart && scripts/chart.py", file=sys.stderr)
        return 1 if stale else 0
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    if not RENDER.exists():
        print("chart: without the renderer the manifests stay as they are; scripts/go.sh chart installs it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
