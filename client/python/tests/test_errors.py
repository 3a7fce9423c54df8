"""Failures of the server as exceptions, retries, and calls that the client itself refuses."""

from __future__ import annotations

import pathlib
import pickle
import socket
import threading
import traceback
from typing import Any

import grpc
import numpy as np
import pytest
from fake_server import FakeServer

import corank
from corank import _memory as memory

X = np.array([3, 1, 2], dtype=np.int32)
LONG = np.arange(1_000_000, dtype=np.uint32)[::-1].copy()
"""Enough to be streamed."""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, corank.InvalidArgument),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, corank.ResourceExhausted),
        (grpc.StatusCode.UNAVAILABLE, corank.Unavailable),
        (grpc.StatusCode.CANCELLED, corank.Cancelled),
        (grpc.StatusCode.NOT_FOUND, corank.NotFound),
        (grpc.StatusCode.PERMISSION_DENIED, corank.PermissionDenied),
        (grpc.StatusCode.UNAUTHENTICATED, corank.PermissionDenied),
        (grpc.StatusCode.UNIMPLEMENTED, corank.Unimplemented),
        (grpc.StatusCode.INTERNAL, corank.Internal),
        (grpc.StatusCode.ABORTED, corank.Aborted),
    ],
)
def test_each_status_is_an_exception(
    fake: FakeServer, fake_client: corank.Client, code: grpc.StatusCode, kind: type[corank.CorankError]
) -> None:
    fake.fail_next(code, "the reason")
    with pytest.raises(corank.CorankError, match=r"Sort: .*the reason") as caught:
        fake_client.sort(X, request_id="mine", retries=0)
    assert type(caught.value) is kind
    assert caught.value.code == code.name
    assert caught.value.request_id == "mine"
    np.testing.assert_array_equal(fake_client.sort(X), [1, 2, 3])


def test_reason_is_that_of_the_server(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.FAILED_PRECONDITION, "no", reason="IN_USE")
    fake.fail_next(grpc.StatusCode.FAILED_PRECONDITION, "no")
    for reason in ("IN_USE", ""):
        with pytest.raises(corank.CorankError) as caught:
            fake_client.sort(X)
        assert caught.value.reason == reason
        assert pickle.loads(pickle.dumps(caught.value)).reason == reason
    with pytest.raises(corank.InvalidArgument) as refused_here:
        fake_client.sort(X, place="nowhere")  # type: ignore[call-overload]
    assert refused_here.value.reason == ""


def test_a_call_of_one_operator_names_its_argument_and_not_a_path_in_a_plan(
    fake: FakeServer, fake_client: corank.Client
) -> None:
    path = "plan.operations[0].keys"
    fake.fail_next(grpc.StatusCode.INVALID_ARGUMENT, f"{path}: no", reason="FIELD_INVALID", field=path)
    with pytest.raises(corank.InvalidArgument) as caught:
        fake_client.sort(LONG, place="stream")
    assert caught.value.field == "keys"
    assert str(caught.value).startswith("Sort: keys: no")
    fake.fail_next(grpc.StatusCode.INVALID_ARGUMENT, f"{path}: no", reason="FIELD_INVALID", field=path)
    with pytest.raises(corank.InvalidArgument) as caught, fake_client.chain() as chain:
        chain.argsort(chain.sort(X))
    assert caught.value.field == path


@pytest.mark.parametrize(
    ("reason", "cause"),
    [("JOB_PART_LOST", "CALLER_CANCELLED"), ("JOB_PART_LOST", "REQUEST_INCOMPLETE"), ("JOB_INCOMPLETE", "")],
)
def test_a_job_that_lost_a_part_is_run_again_as_a_whole(
    fake: FakeServer, fake_client: corank.Client, reason: str, cause: str
) -> None:
    fake.fail_next(grpc.StatusCode.ABORTED, "part 1 ended early", reason=reason, cause=cause)
    stats: list[corank.Stats] = []
    result = fake_client.sort(LONG, place="stream", connections=2, on_stats=stats.append)
    np.testing.assert_array_equal(result, LONG[::-1])
    assert stats[0].attempts == 2
    jobs = [plan.job_id for plan in fake.executor.plans]
    assert jobs.count(jobs[-1]) == 2, "both parts of the second try"
    fake.fail_next(grpc.StatusCode.ABORTED, "part 1 ended early", reason=reason, cause=cause)
    with pytest.raises(corank.Aborted):
        fake_client.sort(LONG, place="stream", connections=2, retries=0)


def test_a_part_that_would_fail_again_ends_the_job(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.ABORTED, "part 1: bad chunk", reason="JOB_PART_LOST", cause="FIELD_INVALID")
    with pytest.raises(corank.Aborted, match="bad chunk") as caught:
        fake_client.sort(LONG, place="stream", connections=2)
    assert caught.value.attempts == 1


def test_bad_request_names_the_field(client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        client.merge([np.array([1, 2]), np.array([1, 3, 2])])
    assert caught.value.field.startswith("keys[1]")
    assert "keys[1]" in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("segments", [[], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3]])
def test_bad_segments_name_their_field(client: corank.Client, segments: list[int]) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        client.sort(X, segments=np.array(segments, dtype=np.int64))
    assert caught.value.field.startswith("segment_offsets")


def test_unsorted_haystack_is_refused_unless_assumed_sorted(client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        client.search(X, X)
    assert caught.value.field.startswith("haystack")
    assert (client.search(X, X, assume_sorted=True) <= 3).all()


def test_values_of_another_length_are_refused(client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        client.sort(X, values=[1, 2])
    assert caught.value.field.startswith("values")


@pytest.mark.parametrize("code", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE])
def test_busy_server_is_tried_again_after_the_delay_it_names(
    fake: FakeServer, fake_client: corank.Client, code: grpc.StatusCode
) -> None:
    fake.fail_next(code, "full", retry_after=0.01, times=2)
    stats: list[corank.Stats] = []
    np.testing.assert_array_equal(fake_client.sort(X, on_stats=stats.append), [1, 2, 3])
    assert stats[0].attempts == 3
    assert stats[0].elapsed_ns >= 20_000_000  # twice the delay; what is added to it is random
    assert len(fake.requests) == 3


def test_retries_end_with_the_last_error(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.001, times=9)
    with pytest.raises(corank.ResourceExhausted, match="full") as caught:
        fake_client.sort(X, retries=2)
    assert caught.value.retry_after == pytest.approx(0.001)
    assert len(fake.requests) == 3


def test_no_retry_without_retry_info(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "message too large")
    with pytest.raises(corank.ResourceExhausted):
        fake_client.sort(X)
    assert len(fake.requests) == 1


def test_nobody_there_is_said_with_a_hint() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with corank.connect(address) as client, pytest.raises(corank.Unavailable, match="is corankd running"):
            client.sort(X)


def test_messages_of_grpc_about_an_address_are_whole() -> None:
    with corank.connect("no..name:1", retries=0) as client, pytest.raises(corank.Unavailable) as caught:
        client.sort([1])
    text = str(caught.value)
    assert text.count("[") == text.count("]")
    assert "(Misformatted domain name)" in text


def test_a_server_that_would_be_late_says_why(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "the queue is full", retry_after=0.001)
    fake.fail_next(grpc.StatusCode.DEADLINE_EXCEEDED, "too busy to answer in time", reason="DEADLINE_UNREACHABLE")
    with pytest.raises(corank.DeadlineExceeded) as caught:
        fake_client.sort(X, deadline=30)
    assert caught.value.message.startswith("Sort: too busy to answer in time (tried 2 times in ")
    assert "the try before: Sort: the queue is full" in caught.value.message
    fake.fail_next(grpc.StatusCode.DEADLINE_EXCEEDED, "the deadline passed", reason="DEADLINE_PASSED")
    with pytest.raises(corank.DeadlineExceeded, match=r"Sort: not done within its deadline of 30 s"):
        fake_client.sort(X, deadline=30)


def test_deadline_ends_the_call(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.hold = threading.Event()
    with pytest.raises(corank.DeadlineExceeded, match=r"deadline of 0\.05 s") as caught:
        fake_client.sort(X, deadline=0.05)
    assert isinstance(caught.value, TimeoutError)
    fake.hold.set()


def test_too_large_request_is_refused_before_it_is_sent(fake: FakeServer) -> None:
    with corank.connect(fake.address, max_message_bytes=1000) as client:
        with pytest.raises(corank.InvalidArgument, match="max_message_bytes"):
            client.sort(np.zeros(1000, np.uint8))
        assert fake.requests == []
        assert client.sort(np.zeros(100, np.uint8)).size == 100


@pytest.mark.parametrize("answer", [b"\x0a\x7f", b"\x0a\x05\x08\x03\x22\x01x", b""], ids=["cut", "3 bytes", "empty"])
def test_broken_answer_is_an_internal_error(fake: FakeServer, fake_client: corank.Client, answer: bytes) -> None:
    fake.raw_answer = answer
    with pytest.raises(corank.Internal):
        fake_client.sort(X)


def test_traceback_shows_no_error_of_grpc(fake: FakeServer, fake_client: corank.Client) -> None:
    handle = fake_client.store("x", X)
    handle.delete()
    calls: list[Any] = [
        lambda: fake_client.sort(X, retries=0),
        lambda: fake_client.sort(X, retries=0, place="stream"),
        lambda: fake_client.sort(np.zeros(100_000), retries=0, place="inline"),
    ]
    gone: list[Any] = [
        handle.fetch,
        handle.delete,
        lambda: fake_client.delete("x"),
        lambda: fake_client.stored("x"),
    ]
    for call in [*calls, *gone]:
        if call in calls:
            fake.fail_next(grpc.StatusCode.NOT_FOUND, "the reason")
        with pytest.raises(corank.NotFound) as caught:
            call()
        error = caught.value
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        assert "grpc._channel" not in text
        assert "During handling" not in text
        assert "direct cause" not in text
        assert "\ncorank." in text
        assert text.count("  File ") <= 3  # of this function, the lambda, and one of the package


def test_errors_pickle_without_what_is_of_this_process(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=7)
    with pytest.raises(corank.ResourceExhausted) as caught:
        fake_client.sort(X, retries=0, request_id="mine")
    assert caught.value.grpc_error is not None
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is corank.ResourceExhausted
    assert (str(copy), copy.retry_after, copy.request_id) == (str(caught.value), 7, "mine")
    assert copy.grpc_error is None
    field = pickle.loads(pickle.dumps(corank.InvalidArgument("no", field="keys"))).field
    assert field == "keys"


TOO_MUCH: list[tuple[Any, type[Exception], str]] = [
    (
        lambda client: client.expand([1, 2], [2**50, 1]),
        corank.ResourceExhausted,
        "ExpandIntervals: the result has 8.0 PiB",
    ),
    (
        lambda client: client.expand([1, 2], [2**62, 2**62]),
        corank.InvalidArgument,
        "add up to 9,223,372,036,854,775,808",
    ),
    (lambda client: client.expand([1, 2], [2**40]), corank.InvalidArgument, "counts: 1 for 2 values"),
    (lambda client: client.gather([1, 2], [0], [2**40]), corank.InvalidArgument, "more than the 2 of the source"),
    (lambda client: client.scatter([1], [0], [1], destination=2**50), corank.ResourceExhausted, "8.0 PiB"),
    (lambda client: client.load_balance([2**50]), corank.ResourceExhausted, "16.0 PiB"),
]


@pytest.mark.parametrize(("call", "error", "text"), TOO_MUCH)
@pytest.mark.parametrize("place", ["auto", "stream", "shared_memory", "inline"])
def test_results_beyond_memory_are_refused_before_memory_is_made(
    fake: FakeServer, place: Any, call: Any, error: type[Exception], text: str
) -> None:
    with corank.connect(fake.address, place=place) as client:
        with pytest.raises(error, match=text):
            call(client)
        assert fake.requests == []
        assert fake.executor.plans == []
        assert fake.places.regions == {}


def test_containers_bound_the_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    memory.most_bytes.cache_clear()
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "max", tmp_path / "none"))
    (tmp_path / "max").write_text("1048576\n")
    assert memory.most_bytes() == 1 << 20
    (tmp_path / "max").write_text("max\n")
    memory.most_bytes.cache_clear()
    total = memory.most_bytes()
    assert total is None or total > 1 << 20
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "none")
    memory.most_bytes.cache_clear()
    assert memory.most_bytes() is None
    memory.most_bytes.cache_clear()


@pytest.mark.parametrize("operator", ["sort", "argsort", "sort_columns", "argsort_columns"])
def test_a_limit_that_is_no_count_is_named(fake: FakeServer, fake_client: corank.Client, operator: str) -> None:
    keys = [X] if operator.endswith("columns") else X
    with pytest.raises(TypeError, match=r"^limit: must be an integer, is '3' \(str\)$"):
        getattr(fake_client, operator)(keys, limit="3")
    with pytest.raises(corank.InvalidArgument, match=r"limit: -1 is less than 0") as caught:
        getattr(fake_client, operator)(keys, limit=-1)
    assert caught.value.field == "limit"
    assert fake.requests == []
