"""Metrics of every kind of call, ids and traces in trailing metadata and log, and the settings that callers see."""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import select
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import corank
import grpc
import hostile_wire as h2
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import corank_service_pb2, memory_service_pb2
from e2e_support import code_of, metrics_page, samples
from google.protobuf.descriptor import MethodDescriptor
from waiting import wait_until

X = np.array([3, 1, 2], dtype=np.int32)
OPERATORS: dict[str, Callable[[corank.Client], object]] = {
    "sort": lambda client: client.sort(X),
    "merge": lambda client: client.merge([[1, 3], [2]]),
    "expand_intervals": lambda client: client.expand([7, 8], [2, 1]),
    "move_intervals": lambda client: client.move(X, [1], [0], [2], destination=X),
    "gather_intervals": lambda client: client.gather(X, [1], [2]),
    "scatter_intervals": lambda client: client.scatter(X, [0], [3], destination=3),
    "load_balance": lambda client: client.load_balance([2, 1]),
    "search": lambda client: client.search([1, 2, 3], [2]),
    "group": lambda client: client.unique(X),
    "combine_sets": lambda client: client.count_sets([1, 2], [2], "union"),
    "join": lambda client: client.count_join([1, 2], [2]),
    "select": lambda client: client.select([1, 2], [True, False]),
    "rank": lambda client: client.rank([1, 2]),
}
STAGES = ("validate", "queue", "copy_in", "kernel", "copy_out", "respond")
TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
TOKENS = {"red": "token-of-red", "blue": "token-of-blue"}


def lines_of(server: LocalServer, event: str) -> list[dict[str, Any]]:
    """The lines of the server's log with this event."""
    lines = [json.loads(text) for text in server.log_path.read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


@pytest.fixture(name="tenants", scope="module")
def fixture_tenants(corankd: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server with two tenants that logs every call as slow."""
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    lines = [f"{name} {hashlib.sha256(token.encode()).hexdigest()} all\n" for name, token in TOKENS.items()]
    tokens.write_text("".join(lines))
    flags = [f"--tokens-file={tokens}", "--slow-request=1us", f"--kept-bytes={64 << 20}", "--shared-memory=/corank-t-"]
    with LocalServer(corankd, flags) as server:
        yield server


@contextlib.contextmanager
def calling(server: LocalServer, tenant: str) -> Iterator[corank.Client]:
    """A client with the tenant's token."""
    with corank.Client(server.address, deadline=60, token=TOKENS[tenant]) as client:
        yield client


@pytest.fixture(name="way", scope="module", params=["lane", "host"])
def fixture_way(request: pytest.FixtureRequest, corankd: pathlib.Path) -> Iterator[tuple[str, LocalServer]]:
    """Where the server runs small calls, "lane" or "host", and the server."""
    with LocalServer(corankd, [f"--host-bytes={0 if request.param == 'lane' else '64KiB'}"]) as server:
        yield request.param, server


@pytest.mark.parametrize("operator", OPERATORS)
def test_one_call_shows_in_every_metric_of_its_operator(way: tuple[str, LocalServer], operator: str) -> None:
    place, server = way
    before = samples(server)

    def rise(name: str) -> float:
        return samples(server).get(name, 0.0) - before.get(name, 0.0)

    call = OPERATORS[operator]
    with server.connect() as client:
        call(client)
    of = f'operator="{operator}"'
    wait_until(lambda: rise(f'corank_requests_total{{code="OK",{of}}}') == 1, "the call is counted")
    assert rise(f"corank_request_seconds_count{{{of}}}") == 1
    for stage in STAGES:
        assert rise(f'corank_stage_seconds_count{{{of},stage="{stage}"}}') == 1, stage
    received = rise(f"corank_received_bytes_total{{{of}}}")
    assert received > 0
    assert rise(f"corank_host_requests_total{{{of}}}") == (place == "host")
    assert rise(f"corank_batch_requests_count{{{of}}}") == (place == "lane")
    assert rise(f"corank_batch_requests_sum{{{of}}}") == (place == "lane")
    assert rise(f"corank_batch_bytes_sum{{{of}}}") == (received if place == "lane" else 0)
    assert rise(f"corank_sent_bytes_total{{{of}}}") > 0
    assert rise('corank_tenant_bytes_total{tenant="anonymous"}') > 0
    assert rise('corank_tenant_lane_seconds_total{tenant="anonymous"}') > 0
    if place == "host":
        return
    with server.connect() as client:  # more calls for the server to learn from
        for _ in range(5):
            call(client)
    assert samples(server)[f"corank_estimated_bytes_per_second{{{of}}}"] > 0


def test_gauges_and_refusals_are_there_before_anything_happens(corankd: pathlib.Path) -> None:
    flags = ["--lanes=3", "--long-lanes=2", "--kept-bytes=1MiB", "--host-pool-bytes=3GiB"]
    with LocalServer(corankd, flags) as server:
        now = samples(server)
    assert now['corank_lanes{lane="short"}'] == 3
    assert now['corank_lanes{lane="long"}'] == 2
    assert now["corank_handshakes_failed_total"] == now['corank_connections_refused_total{port="main"}'] == 0
    assert now['corank_connections_limit{port="main"}'] == 1024
    assert now["corank_lanes_busy"] == now["corank_queue_requests"] == now["corank_queue_bytes"] == 0
    for line in ("high", "normal", "low"):
        assert now[f'corank_queue_age_seconds{{line="{line}"}}'] == 0
        assert now[f'corank_queue_age_seconds{{line="long_{line}"}}'] == 0
    for budget in ("host_pool", "device_work", "kept_arrays"):
        assert now[f'corank_memory_used_bytes{{budget="{budget}"}}'] == 0
    assert now['corank_memory_limit_bytes{budget="host_pool"}'] == 3 << 30
    assert now['corank_memory_limit_bytes{budget="kept_arrays"}'] == 1 << 20
    reasons = "queue_requests queue_bytes tenant_requests tenant_bytes tenant_rate memory late draining device_lost"
    for reason in f"{reasons} unauthenticated forbidden incomplete".split():
        assert now[f'corank_refused_total{{reason="{reason}"}}'] == 0
    assert {name for name in now if name.startswith("corank_cancelled_total")} == {
        f'corank_cancelled_total{{stage="{stage}"}}' for stage in STAGES
    }
    assert now['corank_device_up{device="0"}'] == 1


def test_metrics_of_an_idle_server_have_fewer_than_300_lines(corankd: pathlib.Path) -> None:
    with LocalServer(corankd, ["--engine=cpu"]) as server:
        page = metrics_page(server)
    assert "corank_build_info{" in page
    assert len(page.splitlines()) < 300


def test_what_waits_ages_and_what_finds_no_room_is_refused(corankd: pathlib.Path, slow_keys: Any) -> None:
    flags = ["--engine=cpu", "--cpu-threads=1", "--lanes=1", "--max-queued-requests=1"]
    flags += ["--direct-bytes=0", "--host-bytes=0"]
    with (
        LocalServer(corankd, flags) as server,
        server.connect(retries=0) as client,
        concurrent.futures.ThreadPoolExecutor(2) as pool,
    ):
        calls = [pool.submit(client.sort, slow_keys, algorithm="odd-even-mergesort")]
        wait_until(lambda: samples(server)["corank_lanes_busy"] == 1, "the first works")
        calls.append(pool.submit(client.sort, slow_keys, algorithm="odd-even-mergesort", priority="high"))
        wait_until(lambda: samples(server)["corank_queue_requests"] == 1, "the second waits")
        assert samples(server)["corank_queue_bytes"] >= slow_keys.nbytes
        age = 'corank_queue_age_seconds{line="high"}'
        first = samples(server)[age]
        assert first > 0
        assert samples(server)[age] > first
        assert samples(server)['corank_memory_used_bytes{budget="host_pool"}'] >= 2 * slow_keys.nbytes
        with pytest.raises(corank.ResourceExhausted):
            client.sort(X, priority="high")
        assert samples(server)['corank_refused_total{reason="queue_requests"}'] == 1
        for call in calls:
            call.result()


def test_tenants_are_counted_each_for_itself(tenants: LocalServer) -> None:
    before = samples(tenants)
    keys = np.zeros(100_000, np.int64)
    with calling(tenants, "red") as red, calling(tenants, "blue") as blue:
        red.sort(keys)
        for _ in range(3):
            blue.sort(keys)

    def rise(metric: str, tenant: str) -> float:
        name = f'corank_tenant_{metric}_total{{tenant="{tenant}"}}'
        return samples(tenants).get(name, 0.0) - before.get(name, 0.0)

    assert rise("bytes", "red") >= keys.nbytes
    assert rise("bytes", "blue") == 3 * rise("bytes", "red")
    assert rise("lane_seconds", "red") > 0
    with tenants.connect(retries=0) as nobody, pytest.raises(corank.CorankError):
        nobody.sort(X)
    refused = 'corank_refused_total{reason="unauthenticated"}'
    assert samples(tenants)[refused] == before[refused] + 1
    assert not any('tenant="anonymous"' in name for name in samples(tenants))


METHODS: list[MethodDescriptor] = [
    method
    for file in (corank_service_pb2, memory_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


def end_of(channel: grpc.Channel, method: MethodDescriptor, metadata: list[tuple[str, str]]) -> dict[str, str]:
    """The trailing metadata of a call with an empty request."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    kind = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }[(method.client_streaming, method.server_streaming)]
    request: Any = iter([b""]) if method.client_streaming else b""
    callable_: Any = kind(path)
    if method.server_streaming:
        call = callable_(request, metadata=metadata, timeout=30)
        code_of(lambda: list(call))
        trailing = call.trailing_metadata()
    else:
        try:
            _, call = callable_.with_call(request, metadata=metadata, timeout=30)
        except grpc.RpcError as error:
            call = error
        trailing = call.trailing_metadata()
    return dict(trailing)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("known", [True, False], ids=["with a token", "without one"])
def test_every_rpc_returns_id_and_trace(tenants: LocalServer, method: MethodDescriptor, known: bool) -> None:
    if method.name == "OpenLease" and known:
        pytest.skip("a lease ends when its caller goes, who then sees no metadata")
    sent = [("x-request-id", f"id-of-{method.name}"), ("traceparent", f"00-{TRACE}-{SPAN}-01")]
    sent += [("authorization", f"Bearer {TOKENS['red']}")] if known else []
    with grpc.insecure_channel(tenants.address) as channel:
        got = end_of(channel, method, sent)
        made = end_of(channel, method, sent[2:])
    assert got["x-request-id"] == f"id-of-{method.name}"
    version, trace, span, flags = got["traceparent"].split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    assert re.fullmatch(r"[0-9a-f]{16}", span)
    assert span not in (SPAN, "0" * 16)
    assert re.fullmatch(r"[0-9a-f]{16}", made["x-request-id"])
    assert "traceparent" not in made


def test_a_malformed_traceparent_is_left_and_the_call_goes_on(server: LocalServer) -> None:
    (method,) = (method for method in METHODS if method.name == "GetServerInfo")
    with grpc.insecure_channel(server.address) as channel:
        for bad in (f"00-{TRACE}-{SPAN}", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", "x" * 500):
            assert "traceparent" not in end_of(channel, method, [("traceparent", bad)]), bad


def test_slow_calls_and_failed_ones_are_logged_with_their_trace(tenants: LocalServer) -> None:
    with calling(tenants, "red") as client:
        client.sort(X, request_id="a-slow-one", traceparent=f"00-{TRACE}-{SPAN}-01")
        with pytest.raises(corank.InvalidArgument):
            client.search([2, 1], [1], request_id="a-wrong-one", traceparent=f"00-{TRACE}-{SPAN}-00")

    def found(event: str, request_id: str) -> list[dict[str, Any]]:
        return [line for line in lines_of(tenants, event) if line["request_id"] == request_id]

    wait_until(lambda: bool(found("request_slow", "a-slow-one")), "the slow call is logged")
    (slow,) = found("request_slow", "a-slow-one")
    assert slow["level"] == "warning"
    assert slow["operator"] == "sort"
    assert slow["trace_id"] == TRACE
    assert slow["received_bytes"] > X.nbytes
    assert 0 < sum(slow[stage] for stage in STAGES) <= slow["seconds"] * 1.001
    (wrong,) = found("request_failed", "a-wrong-one")
    assert (wrong["trace_id"], wrong["code"], wrong["field"]) == (TRACE, "INVALID_ARGUMENT", "haystack")
    assert (wrong["tenant"], wrong["operator"]) == ("red", "search")
    assert wrong["peer"].startswith("ipv4:127.0.0.1:")
    assert 0 < wrong["validate"] <= wrong["seconds"]
    assert not found("request_slow", "a-wrong-one")


def test_calls_of_no_operator_are_counted_and_say_who_made_them(tenants: LocalServer) -> None:
    before = samples(tenants)
    with calling(tenants, "blue") as client:
        client.store("kept", X)
        client.delete("kept")
        with pytest.raises(corank.NotFound):
            client.delete("kept")
    with grpc.insecure_channel(tenants.address) as channel:
        no_plan = corank_service_pb2.ExecuteRequest().SerializeToString()
        execute: Any = channel.stream_stream("/corank.v1.CorankService/Execute")
        calls = execute(iter([no_plan]), metadata=(("authorization", f"Bearer {TOKENS['red']}"),))
        with pytest.raises(grpc.RpcError):
            list(calls)

    def rise(operator: str, code: str) -> float:
        name = f'corank_requests_total{{code="{code}",operator="{operator}"}}'
        return samples(tenants).get(name, 0) - before.get(name, 0)

    assert (rise("store_array", "OK"), rise("delete_array", "OK"), rise("delete_array", "NOT_FOUND")) == (1, 1, 1)
    assert (rise("execute", "INVALID_ARGUMENT"), rise("sort", "INVALID_ARGUMENT")) == (1, 0)
    failed = {line["operator"]: line for line in lines_of(tenants, "request_failed")}
    assert (failed["delete_array"]["tenant"], failed["execute"]["tenant"]) == ("blue", "red")
    assert failed["delete_array"]["peer"].startswith("ipv4:127.0.0.1:")


def test_calls_that_their_callers_give_up_at_the_deadline_count_as_late(corankd: pathlib.Path, slow_keys: Any) -> None:
    flags = ["--engine=cpu", "--cpu-threads=1", "--lanes=1", "--direct-bytes=0", "--host-bytes=0"]
    with LocalServer(corankd, flags) as server, server.connect(retries=0) as client:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            # One may end soon: its keys were chosen while the machine may have been busier.
            holders = [pool.submit(client.sort, slow_keys, algorithm="odd-even-mergesort") for _ in range(3)]
            wait_until(lambda: samples(server)["corank_queue_requests"] == 2, "the lane is taken, and two wait for it")
            for _ in range(2):
                with pytest.raises(corank.DeadlineExceeded):
                    client.sort(X, deadline=0.25, place="inline")
            for holder in holders:
                holder.result()
        late = 'corank_requests_total{code="DEADLINE_EXCEEDED",operator="sort"}'
        # On a busy machine a call may end before it was sent.
        wait_until(lambda: samples(server)[late] >= 1, "they are late")
        assert samples(server).get('corank_requests_total{code="CANCELLED",operator="sort"}', 0) == 0


def test_a_message_that_does_not_come_whole_is_told_as_such(corankd: pathlib.Path) -> None:
    with LocalServer(corankd, ["--log-level=debug"]) as server:
        with h2.Connection(server.address) as connection:
            connection.exchange_settings()
            stream = connection.open(h2.request_fields(h2.SORT))
            connection.send(h2.frame(h2.DATA, 0, stream, h2.message(b"x" * 1000)[:500]))
            connection.send(h2.frame(h2.RST_STREAM, 0, stream, b"\0\0\0\x08"))
            incomplete = 'corank_refused_total{reason="incomplete"}'
            wait_until(lambda: samples(server)[incomplete] == 1, "the half is counted")
        (failed,) = lines_of(server, "request_failed")
        assert failed["code"] == "CANCELLED"
        assert "is incomplete" in failed["message"]


def test_calls_are_not_slow_by_default(corankd: pathlib.Path) -> None:
    with LocalServer(corankd) as server:
        with server.connect() as client:
            client.sort(X)
        ok = 'corank_requests_total{code="OK",operator="sort"}'
        wait_until(lambda: samples(server)[ok] == 1, "the call is counted")
        assert not lines_of(server, "request_slow")


def test_info_tells_each_setting_and_where_it_is_from(
    corankd: pathlib.Path, cli: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"analytics {hashlib.sha256(b'a-token').hexdigest()} all\n")
    (tmp_path / "conf").write_text(f"long-lanes = 3\nslow-request = 7s\ntokens-file = {tokens}\n")
    flags = [f"--config={tmp_path / 'conf'}", "--lanes=2", "--tenant-weights=analytics=3"]
    monkeypatch.setenv("CORANK_SLOW_REQUEST", "8s")
    with LocalServer(corankd, flags) as server:
        monkeypatch.delenv("CORANK_SLOW_REQUEST")
        with corank.Client(server.address, deadline=60, token="a-token") as client:
            settings = {setting.name: setting for setting in client.info().settings}
        environment = {**os.environ, "CORANK_TOKEN": "a-token"}
        command = [str(cli), "info", "--server", server.address]
        run = [
            subprocess.run([*command, *more], capture_output=True, text=True, check=True, timeout=60, env=environment)
            for more in (["--all"], ["--json"])
        ]
    assert isinstance(settings["lanes"], corank.ServerSetting)
    for name, value, source in (
        ("lanes", "2", "flag"),
        ("long-lanes", "3", "file"),
        ("slow-request", "8s", "environment"),
        ("small-lanes", "4", "default"),
        ("max-request-bytes", "256MiB", "default"),
    ):
        assert (settings[name].value, settings[name].source, settings[name].hidden) == (value, source, False)
    assert settings["long-lanes"].default == "8"
    hidden = {name for name, setting in settings.items() if setting.hidden}
    paths = {"config", "ports-file", "tls-certificate", "tls-key", "tls-client-ca", "tokens-file"}
    assert hidden == {*paths, "tenant-weights"}
    assert all(settings[name].value == "" for name in hidden)
    assert settings["tokens-file"].source == "file"
    table, text = (answer.stdout for answer in run)
    columns = {len(line[0]) - len(line[1]) for line in re.finditer(r"^[ *] [a-z-]+ +(\S+)", table, re.MULTILINE)}
    assert len(columns) == 1, "values stand below each other"
    assert re.search(r"^\* lanes +2 +\(flag; default 4\)$", table, re.MULTILINE)
    assert re.search(r"^\* long-lanes +3 +\(file; default 8\)$", table, re.MULTILINE)
    assert re.search(r"^\* tokens-file +\(hidden\) +\(file", table, re.MULTILINE)
    told = {setting["name"]: setting for setting in json.loads(text)["settings"]}
    assert set(told) == set(settings)
    assert told["slow-request"]["value"] == "8s"
    for secret in (str(tokens), "analytics"):
        assert secret not in table + text


def test_a_log_that_nobody_reads_holds_no_call_up(corankd: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    program = tmp_path / "corankd"
    program.write_text(f'#!/bin/sh\nexec "{corankd}" "$@" 2>"{pipe}"\n')
    program.chmod(0o755)
    try:
        with LocalServer(program, ["--slow-request=1us"]) as server, server.connect() as client:  # each call is logged
            for _ in range(3000):
                np.testing.assert_array_equal(client.sort(X), np.sort(X))
                if (lost := samples(server)["corank_log_lines_lost_total"]) > 0:
                    break
            assert lost > 0
            assert os.read(reader, 1 << 20).endswith(b"\n")
            client.sort(X)
            assert select.select([reader], [], [], 30)[0], "the line comes behind the answer"
            said = json.loads(os.read(reader, 1 << 20).split(b"\n")[0])
            assert said["event"] == "log_lines_lost"
            assert said["lines"] >= lost
    finally:
        os.close(reader)
