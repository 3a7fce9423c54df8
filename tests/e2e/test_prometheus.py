"""A real Prometheus scrapes a real server: the metrics are well-formed and as documented, and every query has data."""

from __future__ import annotations

import contextlib
import http.server
import json
import pathlib
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any

import corank
import numpy as np
import pytest
import yaml
from corank.testing import LocalServer
from e2e_support import unused_address
from prometheus_tools import MONITORING, complaints, listed_metrics, program, write_rules
from waiting import wait_until

DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
QUERIES = [
    (f"{panel['title']}: {target['legendFormat']}", target["expr"])
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", [])
]
# Readings of NVIDIA's management library, which not every machine has. tests/server/observe_test.cc uses a stand-in.
OF_GPUS = [
    "corank_device_utilisation_ratio",
    "corank_device_memory_used_bytes",
    "corank_device_memory_total_bytes",
    "corank_device_power_watts",
    "corank_device_temperature_celsius",
]
# Only servers with certificates or tokens have these; tests/deploy/test_scrape.py covers them.
OF_TLS = ["corank_tls_certificate_expiry_timestamp_seconds", "corank_credentials_current"]
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url: str) -> str:
    """The page at that address."""
    with _OPENER.open(url, timeout=30) as page:
        return str(page.read().decode())


def scrape(server: LocalServer) -> str:
    """All metrics, as text."""
    return get(f"http://{server.metrics_address}/metrics")


def work(client: corank.Client) -> None:
    """Makes calls that leave a value in every metric."""
    for _ in range(6):
        client.sort(np.arange(100_000)[::-1])  # in a lane
    client.sort(np.arange(1000)[::-1])  # on the host
    client.merge([[1, 3], [2]])
    with pytest.raises(corank.InvalidArgument):
        client.search([2, 1], [1])


@pytest.fixture(name="scraped", scope="module")
def fixture_scraped(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server that has served calls."""
    with LocalServer(corankd, ["--kept-bytes=1MiB"]) as server:
        with server.connect() as client:
            work(client)
        ok = 'corank_requests_total{code="OK",operator="merge"} 1\n'
        wait_until(lambda: ok in scrape(server), "all calls are counted")
        yield server


def test_promtool_finds_nothing_to_say_of_a_scrape(scraped: LocalServer) -> None:
    assert complaints(scrape(scraped)) == ""


def test_promtool_would_say_something() -> None:
    assert complaints("# TYPE requests_count counter\nrequests_count 1\n") != ""


def test_the_monitoring_page_lists_the_served_metrics(scraped: LocalServer) -> None:
    text = scrape(scraped)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {name: set() for name in types}
    for name, found in re.findall(r"^([a-z_]+)\{(.*)\} \S+$", text, re.MULTILINE):
        family = name if name in types else re.sub(r"_(bucket|sum|count)$", "", name)
        labels[family] |= set(re.findall(r'(?:^|,)(\w+)="', found)) - {"le"}
    documented = listed_metrics()
    absent = set(documented) - set(types)
    assert absent <= {*OF_GPUS, *OF_TLS}, "documented, and not served"
    for name, kind in types.items():
        assert name in documented, "served, and not documented"
        assert documented[name] == (kind, labels[name]), name


class GpuMetrics(http.server.BaseHTTPRequestHandler):
    """Serves metrics of a GPU and of TLS, which the tested server lacks."""

    def do_GET(self) -> None:
        """Answers a scrape."""
        lines = [f'{name}{{device="0"}} 0.5\n' for name in OF_GPUS]
        lines += [f"{OF_TLS[0]} 4e9\n", f'{OF_TLS[1]}{{credentials="tls"}} 1\n']
        body = "".join(lines).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


@contextlib.contextmanager
def gpu_metrics() -> Iterator[str]:
    """The address of a running GpuMetrics server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GpuMetrics)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Prometheus:
    """A running Prometheus."""

    def __init__(self, address: str) -> None:
        self._address = address

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The current series of an expression."""
        answer = json.loads(self._get("query", query=expression))
        assert answer["status"] == "success", answer
        return list(answer["data"]["result"])

    def has_data(self, expression: str) -> bool:
        """Whether the expression has any series."""
        return bool(self.query(expression))

    def targets(self) -> list[dict[str, Any]]:
        """The scrape targets."""
        return list(json.loads(self._get("targets"))["data"]["activeTargets"])

    def rules(self) -> list[dict[str, Any]]:
        """The rules."""
        groups = json.loads(self._get("rules"))["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def _get(self, what: str, **parameters: str) -> str:
        return get(f"http://{self._address}/api/v1/{what}?{urllib.parse.urlencode(parameters)}")


@pytest.fixture(name="prometheus", scope="module")
def fixture_prometheus(scraped: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus with the example's configuration, the rules, and a scrape every second."""
    folder = tmp_path_factory.mktemp("prometheus")
    write_rules(folder)
    config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    address = unused_address()
    with contextlib.ExitStack() as resources:
        gpu = resources.enter_context(gpu_metrics())
        config["scrape_configs"][0]["static_configs"][0]["targets"] = [scraped.metrics_address, gpu]
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        log = resources.enter_context((folder / "log").open("wb"))
        command = [str(program("prometheus")), f"--config.file={folder / 'prometheus.yaml'}"]
        command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}"]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        resources.callback(process.wait, 30)
        resources.callback(process.terminate)

        def ready() -> bool:
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            with contextlib.suppress(OSError):
                return "Ready" in get(f"http://{address}/-/ready")
            return False

        wait_until(ready, "Prometheus is ready", 60)
        prometheus = Prometheus(address)
        rate = 'sum(rate(corank_requests_total{operator="sort"}[1m])) > 0'
        with scraped.connect() as client:
            end = time.monotonic() + 60
            while not prometheus.query(rate):  # a rate needs two scrapes, with calls between
                assert time.monotonic() < end, "Prometheus has no rate of calls"
                work(client)
        yield prometheus


def test_prometheus_scrapes_without_a_complaint(prometheus: Prometheus, scraped: LocalServer) -> None:
    (target,) = (found for found in prometheus.targets() if scraped.metrics_address in found["scrapeUrl"])
    assert (target["health"], target["lastError"]) == ("up", "")
    assert prometheus.query(f'up{{instance="{scraped.metrics_address}"}}')[0]["value"][1] == "1"


def test_what_prometheus_has_is_what_was_served(prometheus: Prometheus, scraped: LocalServer) -> None:
    served = set(re.findall(r"^# TYPE (corank_\S+) (?:counter|gauge)$", scrape(scraped), re.MULTILINE))
    found = prometheus.query(f'count by (__name__) ({{__name__=~"corank_.+", instance="{scraped.metrics_address}"}})')
    assert served <= {series["metric"]["__name__"] for series in found}


@pytest.mark.parametrize(("title", "expression"), QUERIES, ids=[title for title, _ in QUERIES])
def test_every_query_of_the_dashboard_has_data(prometheus: Prometheus, title: str, expression: str) -> None:
    asked = expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$instance", ".*")
    assert "$" not in asked
    wait_until(partial(prometheus.has_data, asked), f"{title} has data: {asked}")
    values = [float(series["value"][1]) for series in prometheus.query(asked)]
    assert any(value == value for value in values), "not only NaN"


def test_every_rule_works_and_no_alert_fires(prometheus: Prometheus) -> None:
    wait_until(lambda: all(rule["health"] == "ok" for rule in prometheus.rules()), "all rules were evaluated")
    rules = prometheus.rules()
    alerts = [rule for rule in rules if rule["type"] == "alerting"]
    records = {rule["name"] for rule in rules} - {rule["name"] for rule in alerts}
    assert (len(records), len(alerts)) == (13, 24)
    for name in records:
        wait_until(partial(prometheus.has_data, name), f"{name} is recorded")
    assert {rule["state"] for rule in alerts} == {"inactive"}, alerts
