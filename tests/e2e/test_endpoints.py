"""Health, reflection, metrics, the log, and garbage sent to the port."""

from __future__ import annotations

import json
import pathlib
import socket

import corank
import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from e2e_support import SERVING, health, samples
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from waiting import wait_until

X = np.array([3, 1, 2], dtype=np.int32)


@pytest.mark.parametrize("service", ["", "corank.v1.CorankService"])
def test_health_serves(server: LocalServer, service: str) -> None:
    with grpc.insecure_channel(server.address) as channel:
        assert health(channel, service) == SERVING


def test_health_does_not_know_other_services(server: LocalServer) -> None:
    with grpc.insecure_channel(server.address) as channel, pytest.raises(grpc.RpcError) as caught:
        health(channel, "no.such")
    assert isinstance(caught.value, grpc.Call)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


def test_reflection_lists_the_services_and_their_messages(server: LocalServer) -> None:
    with grpc.insecure_channel(server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        services = set(database.get_services())
        assert {"corank.v1.CorankService", "corank.v1.MemoryService", "grpc.health.v1.Health"} <= services
        file = database.FindFileContainingSymbol("corank.v1.SortRequest")
    assert file.name == "corank/v1/operators.proto"


def test_metrics_count_calls_bytes_and_times(server: LocalServer, client: corank.Client) -> None:
    before = samples(server)
    keys = np.zeros(10_000, np.float64)
    stats: list[corank.Stats] = []
    client.sort(keys, on_stats=stats.append)
    with pytest.raises(corank.InvalidArgument):
        client.search([2, 1], [1])
    label = '{operator="sort"}'
    ok = '{code="OK",operator="sort"}'
    wrong = '{code="INVALID_ARGUMENT",operator="search"}'

    def rise(name: str) -> float:
        return samples(server).get(name, 0.0) - before.get(name, 0.0)

    wait_until(lambda: rise(f"corank_requests_total{ok}") == 1, "the call is counted")  # counted after the answer
    wait_until(lambda: rise(f"corank_requests_total{wrong}") == 1, "the refusal is counted")
    assert rise(f"corank_request_seconds_count{label}") == 1
    assert 0 < rise(f"corank_request_seconds_sum{label}") < stats[0].elapsed_ns / 1e9
    assert rise(f"corank_received_bytes_total{label}") >= keys.nbytes
    assert rise(f"corank_sent_bytes_total{label}") >= keys.nbytes
    now = samples(server)
    assert now["corank_queue_requests"] == now["corank_queue_bytes"] == now["corank_lanes_busy"] == 0
    stages = {name for name in now if name.startswith("corank_stage_seconds_count") and 'operator="sort"' in name}
    for stage in ("queue", "kernel"):
        assert any(f'stage="{stage}"' in name for name in stages), stages
    assert rise('corank_stage_seconds_count{operator="sort",stage="kernel"}') == 1


def test_log_is_json_and_names_refused_requests(corankd: pathlib.Path) -> None:
    server = LocalServer(corankd, ["--log-level=debug"])
    server.start()
    with server.connect() as client:
        with pytest.raises(corank.InvalidArgument) as caught:
            client.search([2, 1], [1], request_id="the-seventh")
        assert caught.value.request_id == "the-seventh"
        wait_until(lambda: "the-seventh" in server.log_path.read_text(), "the refusal is logged")
    lines = [json.loads(line) for line in server.log_path.read_text().splitlines()]
    refusal = next(line for line in lines if line.get("request_id") == "the-seventh")
    assert refusal["code"] == "INVALID_ARGUMENT"
    assert refusal["operator"] == "search"
    assert server.stop() == 0


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\x00",
        b"GET / HTTP/1.1\r\nHost: corank\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
        + b"\x7f\xff\xff\x01\x05"
        + b"a" * 99,
        np.random.default_rng(9).bytes(100_000),
    ],
    ids=["nothing", "zero", "http/1.1", "preface", "preface and ff", "huge frame", "random"],
)
def test_garbage_on_the_port_disturbs_nobody(server: LocalServer, client: corank.Client, garbage: bytes) -> None:
    host, port = server.address.rsplit(":", 1)
    for address in (server.address, server.metrics_address):
        host, port = address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            try:
                connection.sendall(garbage)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
            except OSError:
                pass  # the server may close first
    np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
    assert samples(server)["corank_queue_requests"] == 0
