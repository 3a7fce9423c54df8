#!/usr/bin/env python3
"""A control plane of Kubernetes on this host, without a container runtime: etcd, the API server, the controllers, the
scheduler, and KWOK, which plays nodes and their kubelets. Pods become ready and run nothing.

Usage: control_plane.py      starts one, prints the path of its kubeconfig, and stops it at the end of standard input

scripts/cluster.sh compiles the programs. Everything listens on 127.0.0.1 and writes into one temporary folder. The
programs die with the process that started them, by any signal, and the folder goes with them.
"""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ROOT / ".deps" / "cluster" / "bin"
HELM = ROOT / ".deps" / "chart" / "bin" / "helm"
CRDS = ROOT / ".deps" / "cluster" / "crds"
START_SECONDS = 120
# The kernel ends a program when the process that started it ends, however that happens.
WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
# Waits until the last holder of its standard input is gone. etcd may still write while it dies.
REMOVE_AFTERWARDS = 'cat; while ! rm -rf "$1" 2>/dev/null; do sleep 0.1; done'

Manifest = dict[str, Any]


class ControlPlane:
    """Runs while its context is open."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="corank-cluster-"))
        self.kubeconfig = self.folder / "kubeconfig"
        # A session of its own: Ctrl-C at the terminal must not reach it.
        self._guard = subprocess.Popen(
            ["sh", "-c", REMOVE_AFTERWARDS, "sh", str(self.folder)], stdin=subprocess.PIPE, start_new_session=True
        )
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> ControlPlane:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def kubectl(self, *arguments: str, text: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs kubectl with `text` as its standard input."""
        return self.run(PROGRAMS / "kubectl", *arguments, text=text, check=check)

    def helm(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs Helm."""
        return self.run(HELM, *arguments, check=check)

    def run(
        self, program: Path, *arguments: str, text: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs a client of the API server, in the folder of the project."""
        command = [*WITH_PARENT, str(program), *arguments]
        home = str(self.folder / "home")
        environment = {"KUBECONFIG": str(self.kubeconfig), "HOME": home, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            command,
            input=text or "",
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=environment,
            cwd=ROOT,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{program.name} {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done

    def get(self, *arguments: str) -> Manifest:
        """An object, or a list of objects, as kubectl gets it."""
        found: Manifest = json.loads(self.kubectl("get", *arguments, "--output=json").stdout)
        return found

    def apply(self, *objects: Manifest) -> None:
        """Creates or changes objects; unknown fields are errors."""
        text = yaml.safe_dump_all(objects)
        self.kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "--filename=-", text=text)

    def wait_until(self, what: str, wanted: object, seen: Callable[[], object], seconds: float = 60) -> None:
        """Waits until something is as wanted; the limit ends a test that would otherwise hang."""
        until = time.monotonic() + seconds
        while (found := seen()) != wanted:
            if time.monotonic() > until:
                raise AssertionError(f"{what}: not within {seconds} s, but {found!r}")
            time.sleep(0.2)

    def _start(self) -> None:
        etcd, peers, port = free_ports(3)
        self._keys()
        self._spawn(
            "server",  # etcd
            f"--data-dir={self.folder}/etcd",
            f"--listen-client-urls=http://127.0.0.1:{etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peers}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
            f"--initial-cluster=default=http://127.0.0.1:{peers}",
            "--unsafe-no-fsync",
        )
        token = secrets.token_hex(16)
        (self.folder / "tokens").write_text(f"{token},admin,admin,system:masters\n", "utf-8")
        self._spawn(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder}/certificates",
            f"--token-auth-file={self.folder}/tokens",
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.folder}/accounts.key",
            f"--service-account-signing-key-file={self.folder}/accounts.key",
            "--service-cluster-ip-range=10.0.0.0/20",
            "--endpoint-reconciler-type=none",  # 127.0.0.1 may not be the endpoint of a Service
            "--profiling=false",
        )
        certificate = self.folder / "certificates" / "apiserver.crt"
        self._wait_until_ready(f"https://127.0.0.1:{port}/readyz", token, certificate)
        self._write_kubeconfig(f"https://127.0.0.1:{port}", token, certificate)
        client = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        self._spawn(
            "kube-controller-manager",
            *client,
            f"--service-account-private-key-file={self.folder}/accounts.key",
            f"--root-ca-file={certificate}",
            "--horizontal-pod-autoscaler-sync-period=1s",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        )
        self._spawn("kube-scheduler", *client, "--kube-api-qps=200", "--kube-api-burst=400")
        self._spawn(
            "kwok",
            f"--kubeconfig={self.kubeconfig}",
            f"--config={HERE / 'kubelets.yaml'}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
        )
        self.kubectl("create", "--filename", str(CRDS))
        self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        self.kubectl("apply", "--server-side", "--validate=strict", f"--filename={HERE / 'nodes.yaml'}")
        self.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "node", "--all")

    def _stop(self) -> None:
        for program in reversed(self._running.values()):
            program.kill()
            program.wait()
        if self._guard.stdin:
            self._guard.stdin.close()
        self._guard.wait()

    def _keys(self) -> None:
        command = ["openssl", "genrsa", "-out", str(self.folder / "accounts.key"), "2048"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    def _spawn(self, name: str, *flags: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [*WITH_PARENT, str(PROGRAMS / name), *flags]
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=self.folder
            )

    def _wait_until_ready(self, url: str, token: str, certificate: Path) -> None:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})

        def ready() -> bool:
            for name, program in self._running.items():
                if program.poll() is not None:
                    raise AssertionError(f"{name} ended:\n{self.log(name)}")
            try:
                context = ssl.create_default_context(cafile=str(certificate))
                with urllib.request.urlopen(request, context=context, timeout=10):
                    return True
            except (FileNotFoundError, ssl.SSLError, urllib.error.URLError, ConnectionError, TimeoutError):
                return False

        self.wait_until("the API server is ready", True, ready, START_SECONDS)

    def log(self, name: str) -> str:
        """The end of what a program said."""
        return (self.folder / f"{name}.log").read_text("utf-8", "replace")[-4000:]

    def _write_kubeconfig(self, server: str, token: str, certificate: Path) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(certificate)}}],
            "users": [{"name": "admin", "user": {"token": token}}],
        }
        self.kubeconfig.write_text(yaml.safe_dump(config), "utf-8")


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def missing() -> list[str]:
    """What scripts/cluster.sh would have to install."""
    programs = ["server", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"]
    wanted = [*(PROGRAMS / name for name in programs), HELM, CRDS]
    return [*(str(path) for path in wanted if not path.exists()), *([] if shutil.which("setpriv") else ["setpriv"])]


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in its background
    with ControlPlane() as plane:
        print(plane.kubeconfig, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
