"""Vectors of requests that a real server refuses, or that a client refuses as the server would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracle
from kept_vectors import call, operation, result, steps
from operator_vectors import Vector
from oracle import Array, int64

KEYS = oracle.numbers("int32", [3, 1, 2])
_MOST = (1 << 63) - 1
_UNSORTED = "KEYS_NOT_SORTED"


def refused(name: str, needs: list[str], command: Vector, code: str = "INVALID_ARGUMENT", **error: Any) -> Vector:
    """A command that fails, in the server or, without a reason, already in the client."""
    server = command.pop("server", "plain")
    error = {"reason": "FIELD_INVALID|", **error}
    return steps(f"errors/{name}", needs, {**command, "error": {"code": code, **error}}, server=server)


def sorts() -> Iterator[Vector]:
    """Bad sorts."""
    arguments: Vector
    for name, offsets, field in (
        ("empty", [], "segment_offsets"),
        ("start_late", [1, 3], "segment_offsets[0]"),
        ("fall", [0, 2, 1, 3], "segment_offsets[2]"),
        ("end_early", [0, 2], "segment_offsets[1]"),
        ("end_late", [0, 2, _MOST], "segment_offsets[2]"),
    ):
        arguments = {"keys": KEYS, "segment_offsets": int64(offsets)}
        yield refused(f"segments/{name}", ["sort", "segments", "integers"], call("sort", arguments), field=field)
    arguments = {"columns": [{"data": KEYS.json()}], "output": "indices", "segment_offsets": int64([0, 2])}
    needs = ["columns", "segments", "integers"]
    yield refused("segments/columns", needs, call("sort_columns", arguments), field="segment_offsets[1]")
    yield refused(
        "values_too_few",
        ["sort_values", "integers"],
        call("sort", {"keys": KEYS, "values": oracle.numbers("int32", [1, 2])}),
        field="values",
    )
    yield refused("request_id", ["trace", "sort"], call("sort", {"keys": KEYS}, options={"request_id": "x" * 129}))
    yield refused("traceparent", ["trace", "sort"], call("sort", {"keys": KEYS}, options={"traceparent": "00-no-01"}))
    rows = oracle.numbers("uint8", [1, 2, 3]).json()
    short = oracle.numbers("int16", [1, 2]).json()
    yield refused(
        "columns/rows",
        ["columns", "integers"],
        call("sort_columns", {"columns": [{"data": rows}, {"data": short}], "output": "indices"}),
        field="key_columns[1]",
    )
    yield refused(
        "columns/none", ["columns"], call("sort_columns", {"columns": [], "output": "indices"}), field="key_columns"
    )
    yield refused(
        "columns/many",
        ["columns", "integers"],
        call("sort_columns", {"columns": [{"data": rows}] * 33, "output": "indices"}),
        field="key_columns",
    )


def runs() -> Iterator[Vector]:
    """Bad runs of tables."""
    data = {"data": oracle.numbers("uint8", [1, 2, 9, 4, 3]).json()}
    for name, offsets, field in (
        ("unsorted", [0, 1, 3, 5], "run_offsets[2]"),
        ("end_early", [0, 3], "run_offsets[1]"),
        ("none", [0], "run_offsets"),
    ):
        arguments = {"columns": [data], "output": "indices", "run_offsets": int64(offsets).json()}
        reason = {"reason": _UNSORTED} if name == "unsorted" else {}
        yield refused(
            f"runs/{name}", ["runs", "columns", "integers"], call("sort_columns", arguments), field=field, **reason
        )


def _column_searches() -> Iterator[Vector]:
    """Bad searches by columns."""
    one, other = (
        {"data": oracle.numbers("uint8", [1, 1, 1]).json()},
        {"data": oracle.numbers("int16", [1, 1, 1]).json()},
    )
    short = {"data": oracle.numbers("int16", [1, 1]).json()}
    words = oracle.strings([b"a", b"b", b"c"]).json(False)
    falls = {"data": oracle.numbers("int16", [3, 4, 2]).json()}
    for name, haystack, needles, field in (
        ("unsorted", [one, falls], [one, other], "haystack_columns"),
        ("rows", [one, short], [one, other], "haystack_columns[1]"),
        ("needle_rows", [one, other], [one, short], "needle_columns[1]"),
        ("type", [one, words], [one, one], "needle_columns[1]"),
        ("fewer", [one, other], [one], "needle_columns"),
        ("none", [], [], "haystack_columns"),
        ("many", [one] * 33, [one] * 33, "haystack_columns"),
    ):
        command = call("search_columns", {"haystack_columns": haystack, "needle_columns": needles})
        reason = {"reason": _UNSORTED} if name == "unsorted" else {}
        yield refused(f"search_columns/{name}", ["search_columns", "integers"], command, field=field, **reason)


def merges_and_searches() -> Iterator[Vector]:
    """Bad merges and searches."""
    arguments: Vector
    ordered = oracle.numbers("int32", [1, 2])
    for name, inputs, order, field in (
        ("first", [KEYS, ordered], "ascending", "keys[0]"),
        ("last", [ordered, ordered, KEYS], "ascending", "keys[2]"),
        ("other_way", [ordered, ordered], "descending", "keys[0]"),
    ):
        arguments = {"keys": [keys.json() for keys in inputs], "order": order}
        yield refused(
            f"merge/unsorted/{name}", ["merge", "integers"], call("merge", arguments), field=field, reason=_UNSORTED
        )
    yield refused("merge/one", ["merge", "integers"], call("merge", {"keys": [ordered.json()]}), field="keys")
    yield refused("merge/many", ["merge", "integers"], call("merge", {"keys": [ordered.json()] * 1025}), field="keys")
    records = oracle.records(3, [b"abc", b"def"])
    arguments = {"keys": [ordered.json()] * 2, "values": [records.json(), records.like(records.items[:1]).json()]}
    yield refused(
        "merge/values_too_few",
        ["merge_values", "records", "integers"],
        call("merge", arguments),
        field="values[1]",
    )
    arguments = {"haystack": KEYS, "needles": ordered}
    yield refused(
        "search/unsorted", ["search", "integers"], call("search", arguments), field="haystack", reason=_UNSORTED
    )
    yield from _column_searches()
    nan = Array("float32", [bytes.fromhex("0000c07f"), bytes(4)])
    arguments = {"haystack": nan, "needles": nan}
    yield refused(
        "search/nan_first", ["search", "floats"], call("search", arguments), field="haystack", reason=_UNSORTED
    )


def intervals() -> Iterator[Vector]:
    """Bad intervals."""
    arguments: Vector
    for name, counts, field in (
        ("few", [1, 2], "counts"),
        ("negative", [1, -1, 2], "counts[1]"),
        ("overflow", [1, _MOST, 2], "counts"),
    ):
        arguments = {"values": KEYS, "counts": int64(counts)}
        yield refused(f"expand/{name}", ["expand", "integers"], call("expand", arguments), field=field)
    arguments = {"values": KEYS, "counts": int64([0, 1 << 50, 0])}
    yield refused(
        "expand/huge",
        ["expand", "integers"],
        call("expand", arguments),
        "INVALID_ARGUMENT|RESOURCE_EXHAUSTED",
        reason="RESULT_TOO_LARGE|REQUEST_TOO_LARGE|",
    )
    for name, offsets, counts, field in (
        ("behind", [0, 2], [1, 2], "source_offsets[1]"),
        ("negative", [-1], [1], "source_offsets[0]"),
        ("negative_count", [0, 0], [1, -1], "counts[1]"),
        ("few", [0], [1, 1], "source_offsets"),
    ):
        arguments = {"source": KEYS, "source_offsets": int64(offsets), "counts": int64(counts)}
        yield refused(f"gather/{name}", ["gather", "integers"], call("gather", arguments), field=field)
    move: Vector = {"source": KEYS, "source_offsets": int64([0, 1]), "counts": int64([2, 2])}
    for name, goals, count, field in (
        ("behind", [0, 3], 4, "destination_offsets[1]"),
        ("overlap", [1, 0], 9, "destination_offsets"),
        ("few", [0], 9, "destination_offsets"),
    ):
        arguments = {**move, "destination_offsets": int64(goals), "destination_count": count}
        reason = {"reason": "INTERVALS_OVERLAP"} if name == "overlap" else {}
        yield refused(f"move/{name}", ["move", "integers"], call("move", arguments), field=field, **reason)
    scatter: Vector = {"source": KEYS, "counts": int64([2, 1])}
    for name, goals, count, field in (
        ("behind", [0, 4], 4, "destination_offsets[1]"),
        ("overlap", [0, 1], 9, "destination_offsets"),
    ):
        arguments = {**scatter, "destination_offsets": int64(goals), "destination_count": count}
        reason = {"reason": "INTERVALS_OVERLAP"} if name == "overlap" else {}
        yield refused(f"scatter/{name}", ["scatter", "integers"], call("scatter", arguments), field=field, **reason)
    arguments = {**scatter, "counts": int64([2, 2]), "destination_offsets": int64([0, 2]), "destination_count": 9}
    yield refused("scatter/length", ["scatter", "integers"], call("scatter", arguments))
    arguments = {"counts": int64([2, -2])}
    yield refused("load_balance/negative", ["load_balance"], call("load_balance", arguments), field="counts[1]")


def places() -> Iterator[Vector]:
    """Arrays that do not fit, and places that the server does not have."""
    arguments: Vector
    many: Vector = {"type": "uint8", "generator": "hash", "seed": 1, "count": 70_000}
    inline = {"options": {"place": "inline"}, "server": "limited"}
    yield refused(
        "request_too_large",
        ["sort", "integers"],
        call("sort", {"keys": many}, **inline),
        field="request",
        reason="REQUEST_TOO_LARGE",
    )
    fits = {**many, "count": 20_000}
    arguments = {"keys": fits, "output": "indices"}
    yield refused(
        "response_too_large",
        ["argsort", "integers"],
        call("sort", arguments, **inline),
        field="keys",
        reason="RESULT_TOO_LARGE",
    )
    given = {"command": "store", "name": "k", "array": KEYS.json()}
    for name, command in (
        ("result", call("sort", {"keys": KEYS}, keep={"keys": "k"})),
        ("store", given),
        ("fetch", {"command": "fetch", "name": "k"}),
        ("list", {"command": "list"}),
    ):
        needs = ["kept_results", "sort", "integers"] if name == "result" else ["kept", "integers"]
        yield refused(
            f"nothing_is_kept/{name}", needs, {**command, "server": "bare"}, "UNIMPLEMENTED", reason="PLACE_DISABLED"
        )
    for name in ("", "a b", "x" * 129, "é"):
        yield refused(f"kept_name/{len(name)}{name[:1]}", ["kept", "integers"], {**given, "name": name})
    half = {**given, "array": {**many, "count": 50_000}}
    full = {"code": "RESOURCE_EXHAUSTED", "reason": "QUOTA_EXCEEDED", "retry_after_s": None}
    yield steps(
        "errors/quota",
        ["kept", "retry_after", "integers"],
        {**half, "ok": {}},
        {**half, "name": "m", "error": full},
        {"command": "delete", "name": "k"},
        server="limited",
    )
    too_large = {**given, "array": {**many, "count": 2 << 20}, "server": "limited"}
    yield refused("never_fits", ["kept", "integers"], too_large, reason="REQUEST_TOO_LARGE")
    missing = {"kept": "none.such", "type": "int32", "count": 1}
    yield refused(
        "no_such_input",
        ["kept", "sort", "integers"],
        call("sort", {"keys": missing}),
        "NOT_FOUND",
        reason="ARRAY_NOT_FOUND|",
    )


def chains() -> Iterator[Vector]:
    """Bad operations in chains."""
    ordered = oracle.numbers("int32", [1, 2, 3])
    search = operation("search", {"haystack": KEYS, "needles": ordered})
    yield refused(
        "chain/first",
        ["chains", "search", "integers"],
        {"command": "chain", "operations": [search, search]},
        field="plan.operations[0].haystack",
        reason=_UNSORTED,
    )
    gather = operation(
        "gather", {"source": result(0, "keys", ordered), "source_offsets": int64([2]), "counts": int64([2])}
    )
    yield refused(
        "chain/second",
        ["chains", "sort", "gather", "integers"],
        {"command": "chain", "operations": [operation("sort", {"keys": KEYS}), gather]},
        field="plan.operations[1].source_offsets[0]",
        reason="FIELD_INVALID",
    )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from sorts()
    yield from runs()
    yield from merges_and_searches()
    yield from intervals()
    yield from places()
    yield from chains()
