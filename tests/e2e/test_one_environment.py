"""A server and its clients share one environment: neither reads the variables of the other."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import subprocess

import corank
import numpy as np
import pytest
from certificates import Authority
from corank.testing import LocalServer

TOKEN = "what-the-clients-send"


def test_server_and_clients_take_each_their_own_tls(
    corankd: pathlib.Path, cli: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Mutual TLS with two authorities: a side that used the other's certificate or authority would fail to connect.
    servers, clients = Authority("of servers"), Authority("of clients")
    server_pair = servers.issue("server", "127.0.0.1")
    client_pair = clients.issue("client")
    environment = {
        "CORANK_TLS_CERTIFICATE": server_pair.certificate,
        "CORANK_TLS_KEY": server_pair.key,
        "CORANK_TLS_CLIENT_CA": clients.certificate,
        "CORANK_TOKENS_FILE": f"tenant {hashlib.sha256(TOKEN.encode()).hexdigest()} all\n".encode(),
        "CORANK_SERVER_CA": servers.certificate,
        "CORANK_CLIENT_CERTIFICATE": client_pair.certificate,
        "CORANK_CLIENT_KEY": client_pair.key,
    }
    for name in [name for name in os.environ if name.startswith("CORANK_")]:
        monkeypatch.delenv(name)
    for name, data in environment.items():
        (tmp_path / name).write_bytes(data)
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("CORANK_TOKEN", TOKEN)

    with LocalServer(corankd) as server:
        monkeypatch.setenv("CORANK_SERVER", server.address)
        with corank.connect() as client:
            assert client.sort(np.array([3, 1, 2])).tolist() == [1, 2, 3]
        done = subprocess.run([cli, "info"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        # A server starts while the clients' variables name another server.
        with LocalServer(corankd) as second:
            events = [json.loads(line)["event"] for line in second.log_path.read_text().splitlines()]
    assert "configuration" not in events  # no warning about an unknown variable


def test_the_servers_own_variables_leave_clients_alone(
    server: LocalServer, cli: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CORANK_TLS_CERTIFICATE", "CORANK_TLS_KEY", "CORANK_TLS_CLIENT_CA", "CORANK_TLS_CA"):
        monkeypatch.setenv(name, "/none")
    with corank.connect(server.address) as client:
        assert client.info().engine
    done = subprocess.run([cli, "info", "--server", server.address], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
