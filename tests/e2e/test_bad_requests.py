"""Requests that no client library sends: each gets its status and field, and the server keeps working."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o
from e2e_support import details_of

BIG = 2**62


def array(*values: int, type: int = a.ELEMENT_TYPE_INT64, **more: Any) -> Any:
    """An INT64 array, unless told otherwise."""
    data = np.array(values, np.int64).tobytes()
    return a.Array(**{"type": type, "inline_data": data, **more})


KEYS = array(3, 1, 2)
CASES: dict[str, tuple[str, Any, str, str]] = {
    "no keys": ("Sort", o.SortRequest(), "INVALID_ARGUMENT", "keys"),
    "no type": ("Sort", o.SortRequest(keys=array(1, type=0)), "INVALID_ARGUMENT", "keys.type"),
    "unknown type": ("Sort", o.SortRequest(keys=array(1, type=99)), "INVALID_ARGUMENT", "keys.type"),
    "record keys": (
        "Sort",
        o.SortRequest(keys=array(1, type=a.ELEMENT_TYPE_RECORD, record_bytes=8)),
        "INVALID_ARGUMENT",
        "keys.type",
    ),
    "odd bytes": ("Sort", o.SortRequest(keys=array(inline_data=b"12345")), "INVALID_ARGUMENT", "keys"),
    "wrong count": ("Sort", o.SortRequest(keys=array(1, 2, count=3)), "INVALID_ARGUMENT", "keys.count"),
    "negative count": ("Sort", o.SortRequest(keys=array(1, count=-1)), "INVALID_ARGUMENT", "keys.count"),
    "count that overflows": ("Sort", o.SortRequest(keys=array(1, count=2**61 + 1)), "INVALID_ARGUMENT", "keys.count"),
    "record bytes of a number": (
        "Sort",
        o.SortRequest(keys=array(1, record_bytes=8)),
        "INVALID_ARGUMENT",
        "keys.record",
    ),
    "wide record": (
        "Sort",
        o.SortRequest(
            keys=array(1), values=a.Array(type=a.ELEMENT_TYPE_RECORD, record_bytes=257, inline_data=bytes(257))
        ),
        "INVALID_ARGUMENT",
        "values.record_bytes",
    ),
    "unknown order": ("Sort", o.SortRequest(keys=KEYS, order=9), "INVALID_ARGUMENT", "order"),  # type: ignore[arg-type]
    "unknown algorithm": ("Sort", o.SortRequest(keys=KEYS, algorithm=77), "INVALID_ARGUMENT", "algorithm"),  # type: ignore[arg-type]
    "copy asked for": (
        "Sort",
        o.SortRequest(keys=KEYS, algorithm=o.SORT_ALGORITHM_COPY),
        "INVALID_ARGUMENT",
        "algorithm",
    ),
    "values too short": ("Sort", o.SortRequest(keys=KEYS, values=array(1)), "INVALID_ARGUMENT", "values"),
    "values with indices": (
        "Sort",
        o.SortRequest(keys=KEYS, values=KEYS, output=o.SORT_OUTPUT_INDICES),
        "INVALID_ARGUMENT",
        "values",
    ),
    "negative limit": ("Sort", o.SortRequest(keys=KEYS, limit=-1), "INVALID_ARGUMENT", "limit"),
    "limit with segments": (
        "Sort",
        o.SortRequest(keys=KEYS, limit=1, segment_offsets=array(0, 3)),
        "INVALID_ARGUMENT",
        "limit",
    ),
    "segments of another type": (
        "Sort",
        o.SortRequest(keys=KEYS, segment_offsets=array(0, 3, type=a.ELEMENT_TYPE_UINT64)),
        "INVALID_ARGUMENT",
        "segment_offsets",
    ),
    "segments that fall": (
        "Sort",
        o.SortRequest(keys=KEYS, segment_offsets=array(0, 2, 1, 3)),
        "INVALID_ARGUMENT",
        "segment_offsets",
    ),
    "long request id": (
        "Sort",
        o.SortRequest(keys=KEYS, options=o.RequestOptions(request_id="x" * 129)),
        "INVALID_ARGUMENT",
        "options.request_id",
    ),
    "shared memory": (
        "Sort",
        o.SortRequest(keys=a.Array(type=4, count=1, shared_memory=a.RegionPlace(region="r"))),  # type: ignore[arg-type]
        "UNIMPLEMENTED",
        "",
    ),
    "stored result": (
        "Sort",
        o.SortRequest(keys=KEYS, keys_destination=a.Destination(stored=a.StoredPlace(name="n"))),
        "UNIMPLEMENTED",
        "",
    ),
    "merge of one": ("Merge", o.MergeRequest(keys=[array(1)]), "INVALID_ARGUMENT", "keys"),
    "merge of 1025": ("Merge", o.MergeRequest(keys=[array(1)] * 1025), "INVALID_ARGUMENT", "keys"),
    "merge of two types": (
        "Merge",
        o.MergeRequest(keys=[array(1), array(1, type=a.ELEMENT_TYPE_UINT64)]),
        "INVALID_ARGUMENT",
        "keys[1]",
    ),
    "unsorted merge": ("Merge", o.MergeRequest(keys=[array(1), array(1, 3, 2)]), "INVALID_ARGUMENT", "keys[1]"),
    "merge lacks values": (
        "Merge",
        o.MergeRequest(keys=[array(1), array(2)], values=[array(1)]),
        "INVALID_ARGUMENT",
        "values",
    ),
    "negative expand count": (
        "ExpandIntervals",
        o.ExpandIntervalsRequest(values=KEYS, counts=array(1, -1, 1)),
        "INVALID_ARGUMENT",
        "counts",
    ),
    "expand counts overflow": (
        "ExpandIntervals",
        o.ExpandIntervalsRequest(values=KEYS, counts=array(BIG, BIG, BIG)),
        "INVALID_ARGUMENT",
        "counts",
    ),
    "expand of far too many": (
        "ExpandIntervals",
        o.ExpandIntervalsRequest(values=KEYS, counts=array(BIG, 0, 0)),
        "INVALID_ARGUMENT",
        "counts",
    ),
    "load balance of far too many": (
        "LoadBalance",
        o.LoadBalanceRequest(counts=array(BIG, BIG)),
        "INVALID_ARGUMENT",
        "counts",
    ),
    "move out of the source": (
        "MoveIntervals",
        o.MoveIntervalsRequest(
            source=KEYS, source_offsets=array(2), destination_offsets=array(0), counts=array(2), destination_count=9
        ),
        "INVALID_ARGUMENT",
        "source_offsets",
    ),
    "move offset overflows": (
        "MoveIntervals",
        o.MoveIntervalsRequest(
            source=KEYS,
            source_offsets=array(2**63 - 1),
            destination_offsets=array(0),
            counts=array(2),
            destination_count=9,
        ),
        "INVALID_ARGUMENT",
        "source_offsets",
    ),
    "move overlaps": (
        "MoveIntervals",
        o.MoveIntervalsRequest(
            source=KEYS,
            source_offsets=array(0, 0),
            destination_offsets=array(0, 1),
            counts=array(2, 2),
            destination_count=9,
        ),
        "INVALID_ARGUMENT",
        "destination_offsets",
    ),
    "move into nothing": (
        "MoveIntervals",
        o.MoveIntervalsRequest(source=KEYS, source_offsets=array(0), destination_offsets=array(0), counts=array(1)),
        "INVALID_ARGUMENT",
        "",
    ),
    "move into a huge array": (
        "MoveIntervals",
        o.MoveIntervalsRequest(
            source=KEYS, source_offsets=array(), destination_offsets=array(), counts=array(), destination_count=BIG
        ),
        "INVALID_ARGUMENT",
        "destination_count",
    ),
    "gather out of range": (
        "GatherIntervals",
        o.GatherIntervalsRequest(source=KEYS, source_offsets=array(-1), counts=array(1)),
        "INVALID_ARGUMENT",
        "source_offsets",
    ),
    "scatter of another length": (
        "ScatterIntervals",
        o.ScatterIntervalsRequest(source=KEYS, destination_offsets=array(0), counts=array(2), destination_count=9),
        "INVALID_ARGUMENT",
        "",
    ),
    "search of two types": (
        "Search",
        o.SearchRequest(haystack=KEYS, needles=array(1, type=a.ELEMENT_TYPE_FLOAT64)),
        "INVALID_ARGUMENT",
        "needles",
    ),
    "unsorted haystack": (
        "Search",
        o.SearchRequest(haystack=array(1, 3, 2), needles=array(1)),
        "INVALID_ARGUMENT",
        "haystack",
    ),
}


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


@pytest.mark.parametrize("case", CASES)
def test_refusal_names_status_and_field(server: LocalServer, case: str) -> None:
    method, request, code, field = CASES[case]
    got_code, got_field, message = refusal(server, method, request.SerializeToString())
    assert (got_code, got_field.startswith(field)) == (code, True), (got_code, got_field, message)
    assert message
    assert "0x" not in message
    if code == "INVALID_ARGUMENT":
        assert got_field, "BadRequest is missing"


@pytest.mark.parametrize(
    "data",
    [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05\x08\x04\x22\x7f", np.random.default_rng(1).bytes(5000)],
    ids=["ff", "length over the end", "array over the end", "random"],
)
@pytest.mark.parametrize(
    "method", ["Sort", "Merge", "ExpandIntervals", "MoveIntervals", "LoadBalance", "Search", "Execute"]
)
def test_bytes_that_are_no_message_are_refused(server: LocalServer, method: str, data: bytes) -> None:
    code, field, message = refusal(server, method, data)
    assert (code, field) == ("INVALID_ARGUMENT", "request"), message
    with server.connect() as client:
        assert client.sort([2, 1]).tolist() == [1, 2]


def test_method_that_there_is_not_says_so(server: LocalServer) -> None:
    assert refusal(server, "NoSuchMethod", b"")[0] == "UNIMPLEMENTED"
