"""Vectors of retries and broken connections.

docs/concepts/retries.md says which failure of which call is tried again. client/policy.json has its failures and
numbers as data, so these vectors hold the client of every language to the same policy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracle
from kept_vectors import call, handle, steps, store
from large_vectors import argsort, digest, hashed
from operator_vectors import Vector

KEYS = oracle.numbers("int32", [3, 1, 2])
ORDERED = oracle.numbers("int32", [1, 2, 3])
SORT = call("sort", {"keys": KEYS})
SORTED = {"results": {"keys": ORDERED.json()}}
# Clients may send small arrays in a message whatever they are told, so these travel as a stream.
STREAMED, _SORTED_STREAM = hashed("int32", 4, 40_000)
STREAM: Vector = {
    "command": "call",
    "operator": "sort",
    "digest": True,
    "arguments": {"keys": STREAMED},
    "options": {"place": "stream"},
}
STREAM_SORTED = {"results": {"keys": digest(_SORTED_STREAM[argsort("int32", _SORTED_STREAM)], STREAMED)}}
CODES = (
    *("CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
_POLICY = json.loads((Path(__file__).resolve().parents[1] / "policy.json").read_text(encoding="utf-8"))
_TRIES = _POLICY["retry"]["tries"]["value"]
_BUDGET = _POLICY["retry"]["budget"]["value"]
_SOON = 0.02
_ONCE = {"connect": {"retries": 0}}


def faulty(name: str, needs: list[str], faults: list[Vector], *given: Vector, **rest: Any) -> Vector:
    """A vector on the fault server."""
    return steps(name, needs, *given, server="faults", faults=faults, **rest)


def refuse(code: str, **rest: Any) -> Vector:
    """A fault: the server answers a status."""
    return {"do": "refuse", "code": code, "message": "refused by the fault server", **rest}


def codes() -> Iterator[Vector]:
    """Every status arrives as it is: with its field, its time of the next try and its request id."""
    for code in CODES:
        for place, needs in (("inline", []), ("stream", ["streams"])):
            method = "Execute" if place == "stream" else "Sort"
            error = {"code": code, "request_id": "the-id"}
            yield faulty(
                f"status/{place}/{code}",
                ["sort", "integers", *needs],
                [refuse(code, request_id="the-id", method=method)],
                {**(STREAM if needs else SORT), "error": error},
                **_ONCE,
            )
    for code, retry_after_s in (("UNAVAILABLE", 0.25), ("RESOURCE_EXHAUSTED", 3.5), ("UNAVAILABLE", 0.001)):
        yield faulty(
            f"status/retry_after/{code}/{retry_after_s}",
            ["sort", "retry_after", "integers"],
            [refuse(code, retry_after_s=retry_after_s)],
            {**SORT, "error": {"code": code, "retry_after_s": retry_after_s}},
            **_ONCE,
        )
    for field in ("keys", "segment_offsets[2]", "plan.operations[3].values.count"):
        yield faulty(
            f"status/field/{field}",
            ["sort", "field", "integers"],
            [refuse("INVALID_ARGUMENT", field=field)],
            {**SORT, "error": {"code": "INVALID_ARGUMENT", "field": field}},
        )


# The reasons of proto/corank/v1/error_reason.proto, by the status code that they come with.
REASONS = {
    "INVALID_ARGUMENT": (
        *("FIELD_INVALID", "KEYS_NOT_SORTED", "INTERVALS_OVERLAP", "REQUEST_TOO_LARGE", "RESULT_TOO_LARGE"),
        *("PLACE_NOT_SUPPORTED", "JOB_PLANS_DIFFER", "TOO_MANY_ROWS"),
    ),
    "RESOURCE_EXHAUSTED": ("QUEUE_FULL", "MEMORY_FULL", "QUOTA_EXCEEDED", "TOO_MANY_OPEN"),
    "UNAVAILABLE": ("DRAINING", "DEVICE_LOST"),
    "DEADLINE_EXCEEDED": ("DEADLINE_PASSED", "DEADLINE_UNREACHABLE", "STREAM_IDLE"),
    "CANCELLED": ("CALLER_CANCELLED", "REQUEST_INCOMPLETE"),
    "NOT_FOUND": (
        "REGION_NOT_FOUND",
        "ARRAY_NOT_FOUND",
        "LEASE_NOT_FOUND",
        "MEMORY_NOT_FOUND",
        "SERVICE_NOT_FOUND",
    ),
    "ALREADY_EXISTS": ("REGION_EXISTS",),
    "FAILED_PRECONDITION": ("IN_USE", "MEMORY_TRUNCATED", "DEVICE_NOT_USED"),
    "UNAUTHENTICATED": ("CREDENTIALS_MISSING", "CREDENTIALS_UNKNOWN"),
    "PERMISSION_DENIED": ("NOT_PERMITTED",),
    "UNIMPLEMENTED": ("PLACE_DISABLED",),
    "ABORTED": ("JOB_PART_LOST", "JOB_INCOMPLETE"),
    "INTERNAL": ("INTERNAL", "A_REASON_OF_A_LATER_RELEASE"),
}


def reasons() -> Iterator[Vector]:
    """Every reason arrives, and one that no client knows yet."""
    with_time = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
    for code, known in REASONS.items():
        for reason in known:
            given = {"field": "keys"} if code == "INVALID_ARGUMENT" else {}
            time = {"retry_after_s": 0.5} if code in with_time else {}
            yield faulty(
                f"reason/{reason}",
                ["sort", "reason", "integers"],
                [refuse(code, reason=reason, **given, **time)],
                {**SORT, "error": {"code": code, "reason": reason, **given, **time}},
                **_ONCE,
            )
    yield faulty(
        "reason/of_another_domain",
        ["sort", "reason", "integers"],
        [refuse("INTERNAL", reason="BACKEND_GONE", domain="proxy.example")],
        {**SORT, "error": {"code": "INTERNAL", "reason": ""}},
        **_ONCE,
    )
    yield faulty(
        "reason/stream",
        ["sort", "reason", "streams", "integers"],
        [refuse("ABORTED", reason="JOB_PART_LOST", method="Execute")],
        {**STREAM, "error": {"code": "ABORTED", "reason": "JOB_PART_LOST"}},
        **_ONCE,
    )
    yield faulty(
        "reason/kept",
        ["kept", "reason", "integers"],
        [refuse("PERMISSION_DENIED", reason="NOT_PERMITTED", method="StoreArray")],
        {
            "command": "store",
            "name": "refused",
            "array": KEYS.json(),
            "error": {"code": "PERMISSION_DENIED", "reason": "NOT_PERMITTED"},
        },
        **_ONCE,
    )


def calls() -> dict[str, tuple[str, list[str], bool, Vector, Vector]]:
    """Calls: their method, what they need, whether they may be done twice, and what they answer."""
    kept = {"keys": "retried"}
    return {
        "sort": ("Sort", ["sort"], True, SORT, SORTED),
        "stream": ("Execute", ["sort", "streams"], True, STREAM, STREAM_SORTED),
        "search": (
            "Search",
            ["search"],
            True,
            call("search", {"haystack": ORDERED, "needles": KEYS}),
            {"results": {"positions": oracle.numbers("uint32", [2, 0, 1]).json()}},
        ),
        "kept_result": (
            "Sort",
            ["sort", "kept", "kept_results"],
            False,
            {**SORT, "keep": kept},
            {"results": {"keys": handle("retried", KEYS)}},
        ),
        "kept_chain": (
            "Execute",
            ["chains", "sort", "kept", "kept_results"],
            False,
            {"command": "chain", "operations": [{"operator": "sort", "arguments": SORT["arguments"], "keep": kept}]},
            {"results": [{"keys": handle("retried", KEYS)}]},
        ),
        "chain": (
            "Execute",
            ["chains", "sort"],
            True,
            {"command": "chain", "operations": [{"operator": "sort", "arguments": SORT["arguments"]}]},
            {"results": [{"keys": ORDERED.json()}]},
        ),
        "store": (
            "StoreArray",
            ["kept"],
            False,
            {"command": "store", "name": "retried", "array": KEYS.json()},
            {"ok": {"kept": "retried"}},
        ),
        "fetch": (
            "FetchArray",
            ["kept"],
            True,
            {"command": "fetch", "name": "retried"},
            {"ok": {"array": {**KEYS.json(), "count": 3}}},
        ),
        "list": ("ListArrays", ["kept"], True, {"command": "list"}, {"ok": {}}),
        "delete": ("DeleteArray", ["kept"], False, {"command": "delete", "name": "retried"}, {"ok": {}}),
        "info": ("GetServerInfo", ["info"], True, {"command": "info"}, {"ok": {"engine": "cpu"}}),
    }


def failures() -> dict[str, tuple[Vector, str, str]]:
    """Failures: the fault, the code of its error, and "refused", "lost" or "final"."""
    found: dict[str, tuple[Vector, str, str]] = {"disconnected": ({"do": "disconnect"}, "UNAVAILABLE", "lost")}
    for row in _POLICY["failures"]:
        code, details = row["code"], {name: row[name] for name in ("reason", "cause") if name in row}
        time = {"retry_after_s": _SOON} if row.get("retry_info") else {}
        name = "_".join([code.lower(), *map(str.lower, details.values()), *(["with_time"] if time else [])])
        found[name] = (refuse(code, **details, **time), code, row["is"])
    for code in CODES:
        if code not in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"):
            found[f"{code.lower()}_with_time"] = (refuse(code, retry_after_s=_SOON), code, "final")
    return found


def retries() -> Iterator[Vector]:
    """Every failure of every call: what is tried again, and what is not."""
    for name, (method, needs, may_repeat, command, answer) in calls().items():
        for failure, (fault, code, kind) in failures().items():
            if kind == "final" and name not in ("sort", "stream", "store", "fetch"):
                continue
            again = kind == "refused" or (kind == "lost" and may_repeat)
            before = [store("retried", KEYS)] if name in ("fetch", "delete") else []
            outcome = answer if again else {"error": {"code": code}}
            # One fault does not tell a client that retries once too often from one that retries as it should.
            times = 2 if again else 1
            yield faulty(
                f"retry/{name}/{failure}",
                ["retries", "integers", *needs],
                [{**fault, "method": method, "times": times}],
                *before,
                {**command, **outcome, "calls": {method: times + 1 if again else 1}},
            )


def policies() -> Iterator[Vector]:
    """How often, how long, and until when."""
    needs = ["retries", "sort", "integers"]
    soon = refuse("UNAVAILABLE", retry_after_s=0, method="Sort")
    failed = {**SORT, "error": {"code": "UNAVAILABLE"}}
    yield faulty(
        "retry/six_tries",
        needs,
        [{**soon, "times": 99}],
        {**failed, "calls": {"Sort": _TRIES}},
    )
    yield faulty("retry/none", needs, [{**soon, "times": 99}], {**failed, "calls": {"Sort": 1}}, **_ONCE)
    yield faulty(
        "retry/two",
        needs,
        [{**soon, "times": 99}],
        {**failed, "calls": {"Sort": 3}},
        connect={"retries": 2},
    )
    # A failure takes a token, and more than half of them must be left.
    most = _BUDGET // 2
    yield faulty(
        "retry/budget",
        needs,
        [{**soon, "times": 99}],
        {**failed, "calls": {"Sort": _TRIES}},
        {**failed, "calls": {"Sort": most - _TRIES}},
        {**failed, "calls": {"Sort": 1}},
        {**failed, "calls": {"Sort": 1}},
    )
    # Final failures take nothing: the client still retries afterwards.
    final = {**SORT, "error": {"code": "INTERNAL"}, "calls": {"Sort": 1}}
    yield faulty(
        "retry/budget_of_final",
        needs,
        [refuse("INTERNAL", method="Sort", times=12), {**soon, "times": 2}],
        *[final] * 12,
        {**SORT, **SORTED, "calls": {"Sort": 3}},
    )
    # 10 failures leave half of the budget. A success puts a tenth back, so the next failure needs 11 of them.
    for successes, last in ((8, {**failed, "calls": {"Sort": 1}}), (12, {**SORT, **SORTED, "calls": {"Sort": 2}})):
        yield faulty(
            f"retry/budget_refilled/{successes}",
            needs,
            [{**soon, "times": most}, {**soon, "times": 1, "skip": successes}],
            {**failed, "calls": {"Sort": _TRIES}},
            {**failed, "calls": {"Sort": most - _TRIES}},
            *[{**SORT, **SORTED, "calls": {"Sort": 1}}] * successes,
            last,
        )
    yield faulty(
        "retry/waits",
        needs,
        [refuse("RESOURCE_EXHAUSTED", retry_after_s=0.3, method="Sort", times=2)],
        {**SORT, **SORTED, "calls": {"Sort": 3}, "gap_s": 0.3},
    )
    yield faulty(
        "retry/after_the_deadline",
        [*needs, "deadlines", "retry_after"],
        [refuse("UNAVAILABLE", retry_after_s=30, method="Sort", times=9)],
        {
            **SORT,
            "options": {"deadline_s": 3},
            "error": {"code": "UNAVAILABLE", "retry_after_s": 30},
            "calls": {"Sort": 1},
            "most_s": 2,
        },
    )
    yield faulty(
        "retry/mixed",
        needs,
        [{**soon, "times": 1}, {"do": "disconnect", "method": "Sort"}, {**soon, "times": 1}],
        {**SORT, **SORTED, "calls": {"Sort": 4}},
    )
    nobody = {"connect": {"address": "$nobody"}, "server": "faults"}
    failed = {"error": {"code": "UNAVAILABLE"}, "most_s": 20}
    for name, given in {"sort": SORT, "store": calls()["store"][3]}.items():
        yield steps(f"retry/nobody/{name}", ["retries", "integers", calls()[name][1][0]], {**given, **failed}, **nobody)
    for name in ("sort", "kept_result", "store"):
        _, needs, _, command, answer = calls()[name]
        yield steps(
            f"retry/late/{name}",
            ["retries", "integers", *needs],
            {**command, **answer},
            # As many as the budget allows: on a busy machine the server may listen later than five retries wait.
            connect={"address": "$late", "retries": most - 1},
            server="faults",
            faults=[{"do": "late", "after_s": 0.08}],
        )


def times() -> Iterator[Vector]:
    """Deadlines and cancellation."""
    needs = ["deadlines", "sort", "integers"]
    late = {"error": {"code": "DEADLINE_EXCEEDED"}, "least_s": 0.35, "most_s": 2.5}
    for place, more, method in (("inline", [], "Sort"), ("stream", ["streams"], "Execute")):
        hang = {"do": "hang", "method": method}
        given, answer = (STREAM, STREAM_SORTED) if more else (SORT, SORTED)
        yield faulty(
            f"deadline/call/{place}",
            [*needs, *more],
            [hang],
            {
                **given,
                **late,
                "options": {"place": place, "deadline_s": 0.4},
                "seen": [{"method": method, "left_s": 0.4}],
            },
        )
        yield faulty(
            f"cancel/{place}",
            ["cancellation", *needs[1:], *more],
            [hang],
            {
                **given,
                "options": {"place": place, "cancel_after_ms": 200},
                "error": {"code": "CANCELLED"},
                "calls": {method: 1},
                "least_s": 0.15,
            },
            {**given, **answer, "options": {"place": place}},
        )
    yield faulty("deadline/client", needs, [{"do": "hang"}], {**SORT, **late}, connect={"deadline_s": 0.4})
    yield faulty(
        "deadline/between_tries",
        [*needs, "retries"],
        [refuse("UNAVAILABLE", retry_after_s=0.2, times=99)],
        {
            **SORT,
            "options": {"deadline_s": 0.5},
            "error": {"code": "UNAVAILABLE|DEADLINE_EXCEEDED"},
            "most_s": 2.5,
        },
    )
    yield faulty(
        "cancel/between_tries",
        ["cancellation", "retries", "sort", "integers"],
        [refuse("UNAVAILABLE", retry_after_s=20, times=99, method="Sort")],
        {
            **SORT,
            "options": {"cancel_after_ms": 300, "deadline_s": 60},
            "error": {"code": "CANCELLED"},
            "calls": {"Sort": 1},
        },
    )


def connections() -> Iterator[Vector]:
    """Connections that are cut, that stall, and servers that go away."""
    told, keys = hashed("uint32", 1, 150_000)
    order = digest(keys[keys.argsort(kind="stable")], told)
    large = {"command": "call", "operator": "sort", "arguments": {"keys": told}, "digest": True}
    for place, more in (("inline", []), ("stream", ["streams"])):
        given = {**large, "options": {"place": place}}
        needs = ["sort", "integers", *more]
        for direction, bytes_ in (
            *(("down", at) for at in (0, 20, 60, 120, 3_000, 300_000)),
            *(("up", at) for at in (0, 30, 200, 3_000, 300_000)),
        ):
            cut = [{"do": "cut", "direction": direction, "after_bytes": bytes_}]
            name = f"{place}/{direction}/{bytes_}"
            yield faulty(f"cut/{name}", ["retries", *needs], cut, {**given, "results": {"keys": order}, "most_s": 20})
            # The server cannot have got the call: implementations of gRPC may send it again by another connection.
            if bytes_ < 60 or (direction == "up" and bytes_ < 3_000):
                continue
            yield faulty(
                f"cut_once/{name}", needs, cut, {**given, "error": {"code": "UNAVAILABLE"}, "most_s": 20}, **_ONCE
            )
        for direction, bytes_ in (("down", 0), ("down", 100), ("down", 300_000), ("up", 300_000)):
            yield faulty(
                f"stall/{place}/{direction}/{bytes_}",
                [*needs, "deadlines"],
                [{"do": "stall", "direction": direction, "after_bytes": bytes_}],
                {
                    **given,
                    "options": {"place": place, "deadline_s": 0.7},
                    "error": {"code": "DEADLINE_EXCEEDED|UNAVAILABLE"},
                    "least_s": 0.5,
                    "most_s": 3,
                },
            )
        yield faulty(
            f"drain/{place}",
            ["retries", *needs],
            [{"do": "drain"}],
            {**given, "results": {"keys": order}},
            {**given, "results": {"keys": order}},
            {**given, "results": {"keys": order}},
        )
    yield faulty(
        "cut/done_once",
        ["retries", "kept", "kept_results", "sort", "integers"],
        [{"do": "disconnect", "done": True, "method": "Sort"}],
        {**SORT, "keep": {"keys": "once"}, "error": {"code": "UNAVAILABLE"}, "calls": {"Sort": 1}},
        {"command": "delete", "name": "once", "ok": {}},
    )
