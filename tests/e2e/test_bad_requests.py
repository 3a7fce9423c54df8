"""Requests that no client library sends: each gets its status and field, and the server keeps working."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import corank
import grpc
import numpy as np
import pytest
from corank._call import Name, unary
from corank.testing import LocalServer
from corank.v1 import corank_service_pb2 as service
from e2e_support import details_of
from request_table import MOST_BYTES, bad_requests, good_requests

BAD = {bad.name: bad for bad in bad_requests()}


@pytest.fixture(name="narrow", scope="module")
def fixture_narrow(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server with the limits that the table of requests assumes."""
    with LocalServer(corankd, [f"--max-request-bytes={MOST_BYTES}"]) as server:
        yield server


@pytest.fixture(name="narrow_client", scope="module")
def fixture_narrow_client(narrow: LocalServer) -> Iterator[corank.Client]:
    """A client of that server."""
    with narrow.connect() as client:
        yield client


def refusal(server: LocalServer, method: str, request: bytes) -> tuple[str, str, str]:
    """Status, field and message of a call that must fail."""
    with grpc.insecure_channel(server.address) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/corank.v1.CorankService/{method}")
        with pytest.raises(grpc.RpcError) as caught:
            call(request, timeout=20)
    error = caught.value
    assert isinstance(error, grpc.Call)
    details = details_of(error)
    if details.code != "OK":
        assert (details.code, details.info.domain) == (error.code().name, "corank")
        assert details.info.reason
    assert len(details.violations) <= 1
    field = "".join(details.violations)
    return error.code().name, field, error.details() or ""


@pytest.mark.parametrize("name", BAD)
def test_refusal_names_status_and_field(narrow: LocalServer, name: str) -> None:
    bad = BAD[name]
    code, field, message = refusal(narrow, bad.operator, bad.request.SerializeToString())
    assert (code, field) == (bad.code, bad.field), message
    assert message
    assert "0x" not in message


# Execute takes streams, and names of kept results have rules before the place has; a message may be larger in parts.
OF_METHODS = re.compile(r"request|.*\.stream|.*destination\.stored")


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if not OF_METHODS.fullmatch(bad.field)])
def test_execute_names_the_same_field_in_its_plan(narrow: LocalServer, name: str) -> None:
    bad = BAD[name]
    oneof = service.Operation.DESCRIPTOR.oneofs[0].fields
    (operation,) = (each.name for each in oneof if each.message_type == bad.request.DESCRIPTOR)
    plan = service.Plan(operations=[service.Operation(**{operation: bad.request})])
    request = service.ExecuteRequest(plan=plan).SerializeToString()
    code, field, message = refusal(narrow, "Execute", request)
    assert (code, field) == (bad.code, f"plan.operations[0].{bad.field}"), message


@pytest.mark.parametrize("name", BAD)
def test_the_python_client_tells_what_the_server_refuses(narrow_client: corank.Client, name: str) -> None:
    bad = BAD[name]
    connection = narrow_client._connection
    caller = connection.caller(bad.operator, 30)
    with pytest.raises(corank.CorankError) as caught:
        unary(connection, Name(bad.operator), bad.request.SerializeToString(), caller, 30)
    error = caught.value
    assert (error.code, error.attempts) == (bad.code, 1)
    assert bad.field in error.message
    assert error.reason
    assert error.request_id
    assert not isinstance(error, corank.InvalidArgument) or error.field == bad.field


def test_good_requests_are_answered(narrow_client: corank.Client) -> None:
    for operator, request in good_requests():
        caller = narrow_client._connection.caller(operator, 30)
        unary(narrow_client._connection, Name(operator), request.SerializeToString(), caller, 30)


@pytest.mark.parametrize(
    "data",
    [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05\x08\x04\x22\x7f", np.random.default_rng(1).bytes(5000)],
    ids=["ff", "length over the end", "array over the end", "random"],
)
@pytest.mark.parametrize(
    "method",
    [
        "Sort",
        "Merge",
        "ExpandIntervals",
        "MoveIntervals",
        "LoadBalance",
        "Search",
        "Group",
        "CombineSets",
        "Join",
        "Select",
        "Rank",
        "Execute",
    ],
)
def test_bytes_that_are_no_message_are_refused(server: LocalServer, method: str, data: bytes) -> None:
    code, field, message = refusal(server, method, data)
    assert (code, field) == ("INVALID_ARGUMENT", "request"), message
    with server.connect() as client:
        assert client.sort([2, 1]).tolist() == [1, 2]


def test_method_that_there_is_not_says_so(server: LocalServer) -> None:
    assert refusal(server, "NoSuchMethod", b"")[0] == "UNIMPLEMENTED"
