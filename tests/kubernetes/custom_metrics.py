"""An adapter for custom metrics, which the API server asks in place of prometheus-adapter. It has the metrics that the
rules in docs/operations/scale.md name, with a value that the test sets.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from control_plane import ControlPlane

API = "custom.metrics.k8s.io/v1beta2"


class Adapter(ThreadingHTTPServer):
    """Answers for every pod with the value of the metric."""

    daemon_threads = True

    def __init__(self, plane: ControlPlane, names: set[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plane = plane
        self.values = dict.fromkeys(names, 0.0)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = plane.folder / "certificates" / "apiserver.crt"
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def answer(self, path: str) -> dict[str, Any] | None:
        """What stands at a path below the API, if anything."""
        url = urlsplit(path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        if "/".join(parts) == f"apis/{API}":
            found = [{"name": f"pods/{name}", "namespaced": True, "kind": "MetricValueList"} for name in self.values]
            resources = [{**each, "singularName": "", "verbs": ["get"]} for each in found]
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API, "resources": resources}
        if len(parts) != 8 or parts[3] != "namespaces" or parts[5:7] != ["pods", "*"] or parts[7] not in self.values:
            return None
        (selector,) = parse_qs(url.query)["labelSelector"]
        pods = self.plane.get("pods", "--namespace", parts[4], f"--selector={selector}")["items"]
        items = [self._item(pod["metadata"], parts[7]) for pod in pods]
        return {"kind": "MetricValueList", "apiVersion": API, "metadata": {}, "items": items}

    def _item(self, pod: dict[str, Any], metric: str) -> dict[str, Any]:
        described = {"apiVersion": "/v1", "kind": "Pod", "namespace": pod["namespace"], "name": pod["name"]}
        value = f"{round(self.values[metric] * 1000)}m"
        timestamp = "2026-01-01T00:00:00Z"
        return {"describedObject": described, "metric": {"name": metric}, "timestamp": timestamp, "value": value}


class Handler(BaseHTTPRequestHandler):
    """One request of the API server."""

    server: Adapter

    def do_GET(self) -> None:
        """Answers as the adapter does."""
        answer = self.server.answer(self.path)
        body = json.dumps(answer).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: pytest shows what failed."""


@contextmanager
def adapter(plane: ControlPlane, names: set[str]) -> Iterator[Adapter]:
    """Registers an adapter with the API server."""
    with Adapter(plane, names) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        where = {"name": "adapter", "namespace": "default"}
        spec = {"type": "ExternalName", "externalName": "localhost"}
        plane.apply({"apiVersion": "v1", "kind": "Service", "metadata": where, "spec": spec})
        group, version = API.split("/")
        service = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {
                "group": group,
                "version": version,
                "service": {**where, "port": serving.server_port},
                "insecureSkipTLSVerify": True,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
            },
        }
        plane.apply(service)
        try:
            plane.kubectl("wait", "--for=condition=Available", "--timeout=60s", f"apiservice/{version}.{group}")
            yield serving
        finally:
            plane.kubectl("delete", f"apiservice/{version}.{group}", "service/adapter")
            serving.shutdown()
