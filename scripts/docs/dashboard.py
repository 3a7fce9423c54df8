#!/usr/bin/env python3
"""Draws the dashboard of deploy/monitoring with the figures of a real Prometheus over two servers under load.

    scripts/docs/dashboard.py CORANKD PROMETHEUS [--seconds 120] [--out docs/images/dashboard.png]

with the package corank on PYTHONPATH. The load: sorts in lanes and on the host, merges, searches and groups of two
tenants; in the middle third of the time ten times as many callers. Lines and panels that stay at zero are left out. The
drawing has Grafana's grid, queries and legends, and matplotlib's looks.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corank
import numpy as np
import yaml
from corank.testing import LocalServer

ROOT = Path(__file__).resolve().parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
SCRAPE_S, RATE_S, POINTS = 1, 10, 100
TOKENS = {"red": "red-token", "blue": "blue-token"}
UNITS = {"s": "s", "percentunit": "share", "bytes": "bytes", "Bps": "bytes/s", "reqps": "calls/s", "cps": "1/s"}
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port() -> int:
    """A port on the loopback address that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def scraping(prometheus: Path, targets: list[str]) -> Iterator[str]:
    """A Prometheus with corank's rules that scrapes these servers. Yields its address."""
    with tempfile.TemporaryDirectory() as folder:
        rules = yaml.safe_load((MONITORING / "prometheus-rule.yaml").read_text(encoding="utf-8"))["spec"]
        for group in rules["groups"]:
            group["interval"] = "1s"
        Path(folder, "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
        jobs = [{"job_name": "corank", "static_configs": [{"targets": targets}]}]
        config = {
            "global": {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": jobs,
        }
        Path(folder, "prometheus.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        address = f"127.0.0.1:{free_port()}"
        arguments = [f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
        arguments += [f"--web.listen-address={address}", "--log.level=error"]
        with subprocess.Popen([prometheus, *arguments]) as process:
            try:
                yield address
            finally:
                process.terminate()


def ask(address: str, path: str, **parameters: object) -> Any:
    """The data of an answer of Prometheus' API."""
    url = f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    with _OPENER.open(url, timeout=30) as page:
        return json.loads(page.read())["data"]


def call_until(end: float, server: LocalServer, token: str, number: int, pause_s: float) -> None:
    """Makes calls of several operators until that time."""
    rng = np.random.default_rng(number)
    large, small = rng.integers(0, 2**32, 150_000, dtype=np.uint32), rng.standard_normal(800)
    with server.connect(token=token, retries=0) as client:
        while time.monotonic() < end:
            with contextlib.suppress(corank.CorankError):  # refusals are a part of the load
                work = int(rng.integers(0, 10))
                if work < 5:
                    client.sort(large, deadline=0.5)
                elif work < 7:
                    client.sort(small)
                elif work < 8:
                    client.merge([np.sort(large[:50_000]), np.sort(large[50_000:])])
                elif work < 9:
                    client.search(np.sort(small), small[:100])
                else:
                    client.group(large % 1000)
            time.sleep(pause_s * rng.random())


def load(servers: list[LocalServer], seconds: float) -> None:
    """Loads the servers: with three callers for a third of the time, then with thirty, then with three again."""
    for number, (callers, pause_s) in enumerate(((3, 0.05), (30, 0.0), (3, 0.05))):
        end = time.monotonic() + seconds / 3
        threads = [
            threading.Thread(
                target=call_until,
                args=(
                    end,
                    servers[at % len(servers)],
                    TOKENS["blue" if at % 3 == 0 else "red"],
                    100 * number + at,
                    pause_s,
                ),
            )
            for at in range(callers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def legend_of(template: str, labels: dict[str, str]) -> str:
    """The legend of a series: each {{name}} becomes its label."""
    for name in re.findall(r"{{(\w+)}}", template):
        template = template.replace("{{" + name + "}}", labels.get(name, ""))
    return template


def lines_of(
    address: str, panel: dict[str, Any], begin: float, end: float
) -> dict[str, tuple[list[float], list[float]]]:
    """The lines of a panel, by their legends: seconds and values."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for target in panel.get("targets", []):
        query = (
            target["expr"].replace("$__rate_interval", f"{RATE_S}s").replace("$job", ".*").replace("$instance", ".*")
        )
        found = ask(address, "query_range", query=query, start=begin, end=end, step=(end - begin) / POINTS)
        for series in found["result"]:
            legend = legend_of(target["legendFormat"], series["metric"])
            points = [
                (float(at) - begin, float(value)) for at, value in series["values"] if value not in ("NaN", "+Inf")
            ]
            if any(value for _, value in points):
                lines[legend] = ([at for at, _ in points], [value for _, value in points])
    return lines


def draw(dashboard: dict[str, Any], address: str, begin: float, end: float, path: Path) -> None:
    """Draws the panels that have figures."""
    sys.path.insert(0, str(ROOT / "bench" / "report"))
    plots: Any = importlib.import_module("plots")
    plt = plots.pyplot()
    if plt is None:
        raise SystemExit("dashboard.py: needs matplotlib: scripts/setup.sh")
    found = [
        (panel, lines)
        for panel in dashboard["panels"]
        if panel["type"] == "timeseries" and (lines := lines_of(address, panel, begin, end))
    ]
    ticker: Any = importlib.import_module("matplotlib.ticker")
    fig, places = plots.grid(plt, len(found), 3, (4.0, 2.1))
    for axes, (panel, lines) in zip(places, found, strict=True):
        for legend, (seconds, values) in lines.items():
            axes.plot(seconds, values, label=legend, linewidth=1)
        axes.set_title(panel["title"], fontsize=10, loc="left")
        axes.set_ylabel(UNITS.get(panel["fieldConfig"]["defaults"].get("unit", ""), ""), fontsize=8)
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, end - begin)
        axes.yaxis.set_major_formatter(ticker.EngFormatter())
        axes.tick_params(labelsize=7)
        axes.grid(True, alpha=0.3)
        if len(lines) <= 8:
            axes.legend(fontsize=6, loc="upper left")
    plots.save(plt, fig, path)
    if path.suffix == ".png":  # lines need few colours
        image: Any = importlib.import_module("PIL.Image")
        image.open(path).convert("RGB").quantize(48).save(path, optimize=True)
    print(f"{path}: {len(found)} of {sum(panel['type'] == 'timeseries' for panel in dashboard['panels'])} panels")


def main() -> int:
    """Runs the servers, Prometheus and the load, and draws."""
    parser = argparse.ArgumentParser(description="Draw the dashboard with real figures.")
    parser.add_argument("corankd", type=Path)
    parser.add_argument("prometheus", type=Path)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "dashboard.png")
    options = parser.parse_args()
    dashboard = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        tokens = Path(folder, "tokens")
        lines = (f"{name} {hashlib.sha256(TOKENS[name].encode()).hexdigest()} operators\n" for name in TOKENS)
        tokens.write_text("".join(lines), encoding="utf-8")
        tokens.chmod(0o600)
        flags = ["--engine=cpu", "--cpu-threads=1", "--lanes=1", "--max-queued-requests=8", f"--tokens-file={tokens}"]
        servers = [stack.enter_context(LocalServer(options.corankd, flags)) for _ in range(2)]
        addresses = [server.metrics_address for server in servers]
        prometheus = stack.enter_context(scraping(options.prometheus, addresses))
        time.sleep(3 * SCRAPE_S)
        begin = time.time()
        load(servers, options.seconds)
        draw(dashboard, prometheus, begin, time.time(), options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
