"""Vectors of connections: TLS, tokens, environment, addresses, servers that are no corank, and what clients leave."""

from __future__ import annotations

from collections.abc import Iterator

from fault_vectors import KEYS, SORT, SORTED, STREAM, STREAM_SORTED, faulty
from kept_vectors import steps, store
from operator_vectors import Vector

CALL = {**SORT, **SORTED}
_NEEDS = ["sort", "integers"]
_NO_RETRY = {"retries": 1, "deadline_s": 20}


def failing(code: str, reason: str = "") -> Vector:
    """The call, when it fails; without a reason where the server never answers."""
    return {**SORT, "error": {"code": code, "reason": reason}, "most_s": 15}


def connect(options: Vector, code: str = "INVALID_ARGUMENT") -> Vector:
    """Making a client, which fails."""
    return {"command": "connect", "options": options, "error": {"code": code}}


def tls() -> Iterator[Vector]:
    """TLS and mutual TLS."""
    ca = {"ca": "$file:ca.pem"}
    pair = {"certificate": "$file:client.pem", "key": "$file:client.key"}
    stranger = {"certificate": "$file:stranger.pem", "key": "$file:stranger.key"}
    for name, server, options, step in (
        ("ca", "tls", ca, CALL),
        ("server_name", "tls", {**ca, "server_name": "localhost"}, CALL),
        ("other_name", "tls", {**ca, "server_name": "other.example"}, failing("UNAVAILABLE")),
        ("untrusted", "tls", {"ca": "$file:stranger-ca.pem"}, failing("UNAVAILABLE")),
        ("mutual", "mtls", {**ca, **pair}, CALL),
        ("no_certificate", "mtls", ca, failing("UNAVAILABLE")),
        ("strange_certificate", "mtls", {**ca, **stranger}, failing("UNAVAILABLE")),
        ("plain_server", "plain", ca, failing("UNAVAILABLE")),
    ):
        yield steps(f"tls/{name}", ["tls", *_NEEDS], step, server=server, connect={"tls": options, **_NO_RETRY})
    yield steps("tls/plain_client", ["tls", *_NEEDS], failing("UNAVAILABLE"), server="tls", connect=_NO_RETRY)
    for name, options in (
        ("no_file", {"ca": "$file:none"}),
        ("no_pem", {"ca": "$file:token"}),
        ("no_key", {**ca, "certificate": "$file:client.pem"}),
        ("no_key_file", {**ca, **pair, "key": "$file:none"}),
    ):
        yield steps(f"tls/{name}", ["tls"], connect({"address": "$tls", "tls": options}), server="tls")


def tokens() -> Iterator[Vector]:
    """Tokens and their files."""
    needs = ["token", *_NEEDS]
    unknown = failing("UNAUTHENTICATED", "CREDENTIALS_UNKNOWN")
    for name, options, step in (
        ("right", {"token": "$token"}, CALL),
        ("none", {}, failing("UNAUTHENTICATED", "CREDENTIALS_MISSING")),
        ("wrong", {"token": "another"}, unknown),
        ("file", {"token_file": "$file:token"}, CALL),
        ("wrong_file", {"token_file": "$file:wrong-token"}, unknown),
    ):
        yield steps(f"token/{name}", needs, step, server="tokens", connect=options)
    yield steps(
        "token/permission",
        ["token", "kept", "integers"],
        {**store("k", KEYS), "error": {"code": "PERMISSION_DENIED", "reason": "NOT_PERMITTED"}},
        server="tokens",
        connect={"token": "$token"},
    )
    yield steps(
        "token/tls",
        ["tls", *needs],
        CALL,
        server="tls_token",
        connect={"token": "$token", "tls": {"ca": "$file:ca.pem"}},
    )
    yield steps(
        "token/file_changes",
        needs,
        {"write": "changing", "text": "an-old-token\n"},
        {"command": "connect", "options": {"address": "$tokens", "token_file": "$file:changing"}},
        unknown,
        {"write": "changing", "text": "$token"},
        CALL,
        {**STREAM, **STREAM_SORTED},
        server="tokens",
    )
    for name, options in (
        ("two", {"address": "$tokens", "token": "a", "token_file": "$file:token"}),
        ("no_file", {"address": "$tokens", "token_file": "$file:none"}),
        ("two_words", {"address": "$tokens", "token": "two words"}),
        ("in_the_clear", {"address": "192.0.2.1:50051", "token": "$token"}),
        ("in_the_clear_by_name", {"address": "gpu.example:50051", "token": "$token"}),
    ):
        yield steps(f"token/refused/{name}", ["token"], connect(options), server="tokens")
    seen = {"seen": [{"method": "Sort", "metadata": {"authorization": "Bearer $token"}}], "calls": {"Sort": 1}}
    yield faulty("token/sent", needs, [], {**CALL, **seen}, connect={"token": "$token"})


def environment() -> Iterator[Vector]:
    """The environment stands for what a program does not say."""
    needs = ["environment", *_NEEDS]
    absent = {"address": "absent"}
    seen = {"seen": [{"metadata": {"authorization": "Bearer $token"}}], "calls": {"Sort": 1}}
    ca, pair = (
        "$file:ca.pem",
        {"CORANK_CLIENT_CERTIFICATE": "$file:client.pem", "CORANK_CLIENT_KEY": "$file:client.key"},
    )
    for name, variables, options, step in (
        ("server", {"CORANK_SERVER": "$faults"}, absent, {**CALL, "calls": {"Sort": 1}}),
        ("address_first", {"CORANK_SERVER": "$nobody"}, {}, {**CALL, "calls": {"Sort": 1}}),
        ("token", {"CORANK_SERVER": "$faults", "CORANK_TOKEN": "$token"}, absent, {**CALL, **seen}),
        ("token_first", {"CORANK_TOKEN": "another"}, {"token": "$token"}, {**CALL, **seen}),
        ("token_file_first", {"CORANK_TOKEN": "another"}, {"token_file": "$file:token"}, {**CALL, **seen}),
        ("ca", {"CORANK_SERVER": "$tls", "CORANK_SERVER_CA": ca}, absent, CALL),
        ("mutual", {"CORANK_SERVER": "$mtls", "CORANK_SERVER_CA": ca, **pair}, absent, CALL),
        ("ca_first", {"CORANK_SERVER": "$tls", "CORANK_SERVER_CA": "$file:none"}, {**absent, "tls": {"ca": ca}}, CALL),
    ):
        more = ["tls"] if "ca" in name or name == "mutual" else ["token"] if "token" in name else []
        yield faulty(f"environment/{name}", [*needs, *more], [], step, environment=variables, connect=options)
    clear = {"CORANK_SERVER": "192.0.2.1:50051", "CORANK_TOKEN": "$token"}
    yield steps(
        "environment/in_the_clear",
        ["environment", "token", "sort"],
        # A client may read the environment at its first call.
        {"command": "connect", "options": {}, "may_fail": "INVALID_ARGUMENT"},
        {**SORT, "error": {"code": "INVALID_ARGUMENT"}, "most_s": 5},
        environment=clear,
    )


def addresses() -> Iterator[Vector]:
    """Addresses, several of them, and servers that are no corank."""
    needs = ["addresses", *_NEEDS]
    yield faulty("addresses/turns", needs, [], CALL, connect={"address": "$faults,$kept"}, spread=["Sort", 3])
    yield faulty("addresses/one_is_dead", needs, [], *[CALL] * 6, connect={"address": "$nobody,$faults"})
    for name, address in (("no_port", "127.0.0.1"), ("words", "not an address"), ("url", "http://127.0.0.1:50051")):
        yield steps(f"address/{name}", ["sort"], connect({"address": address}))
    yield steps("address/unix", ["unix", "streams", *_NEEDS], CALL, {**STREAM, **STREAM_SORTED}, server="unix")
    yield steps(
        "address/unix/no_socket",
        ["unix", *_NEEDS],
        failing("UNAVAILABLE"),
        connect={"address": "unix:$file:no", **_NO_RETRY},
    )
    codes = "UNAVAILABLE|UNIMPLEMENTED|UNKNOWN|INTERNAL|DEADLINE_EXCEEDED"
    for kind in ("http", "random", "close", "silent", "grpc"):
        yield steps(
            f"no_corank/{kind}",
            ["deadlines", *_NEEDS],
            {**SORT, "error": {"code": "UNIMPLEMENTED" if kind == "grpc" else codes}, "most_s": 8},
            {**STREAM, "error": {"code": "UNIMPLEMENTED" if kind == "grpc" else codes}, "most_s": 8},
            connect={"address": f"$none:{kind}", "deadline_s": 3, "retries": 2},
        )


def telling() -> Iterator[Vector]:
    """Request ids, traces, server information, health, stats."""
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for place, given, answer, method in (
        ("inline", SORT, SORTED, "Sort"),
        ("stream", STREAM, STREAM_SORTED, "Execute"),
    ):
        needs = ["trace", *_NEEDS, *(["streams"] if place == "stream" else [])]
        yield faulty(
            f"trace/{place}",
            needs,
            [],
            {
                **given,
                **answer,
                "options": {"place": place, "traceparent": parent},
                "calls": {method: 1},
                "seen": [{"method": method, "metadata": {"traceparent": parent}}],
            },
        )
        yield steps(
            f"request_id/{place}",
            ["stats", *needs],
            {
                **given,
                **answer,
                "options": {"place": place, "request_id": "conformance.1", "priority": "high"},
                "ok": {"stats": {"request_id": "conformance.1", "engine": "cpu"}},
            },
        )
    yield faulty(
        "trace/client",
        ["trace", *_NEEDS],
        [],
        {**CALL, "calls": {"Sort": 1}, "seen": [{"method": "Sort", "metadata": {"traceparent": parent}}]},
        {
            **CALL,
            "options": {"traceparent": other},
            "calls": {"Sort": 1},
            "seen": [{"method": "Sort", "metadata": {"traceparent": other}}],
        },
        connect={"traceparent": parent},
    )
    merge = {"command": "call", "operator": "sort", "arguments": {"keys": KEYS.json(), "algorithm": "mergesort"}}
    yield steps("stats/algorithm", ["stats", *_NEEDS], {**merge, "ok": {"stats": {"algorithm": "mergesort"}}})
    limits = {"max_request_bytes": 65536, "max_chunk_bytes": 4 << 20, "max_parts": 64, "engine": "cpu"}
    yield steps("info/limits", ["info"], {"command": "info", "ok": limits}, server="limited")
    places = {"places": ["inline", "stream", "stored"]}
    yield steps("info/places", ["info", "kept"], {"command": "info", "ok": places}, server="kept")
    for service, status in (("ready", "serving"), ("live", "serving"), ("", "serving"), ("nonsense", "unknown")):
        yield steps(
            f"health/{service or 'whole'}",
            ["health"],
            {"command": "health", "service": service, "ok": {"status": status}},
        )


def endings() -> Iterator[Vector]:
    """Closed clients, and what is left of closed ones."""
    yield steps(
        "close/call",
        ["close", *_NEEDS],
        {"command": "connect", "options": {"address": "$plain"}},
        CALL,
        {"command": "close"},
        {**SORT, "error": {"code": "CLOSED"}},
        {"command": "close"},
        {**SORT, "error": {"code": "CLOSED"}},
        server="plain",
    )
    made: Vector = {"command": "connect", "options": {"address": "$faults", "connections": 2}}
    close = {"command": "close"}
    nothing = {"type": "int64", "data": ""}
    refused = {**SORT, "arguments": {**SORT["arguments"], "segment_offsets": nothing}}
    hang = {"do": "hang", "method": "Execute", "times": 99}
    yield faulty(
        "leaks/calls",
        ["streams", *_NEEDS],
        [],
        made,
        CALL,
        {**STREAM, **STREAM_SORTED},
        close,
        repeat=15,
    )
    error = {"error": {"code": "INVALID_ARGUMENT"}}
    yield faulty("leaks/errors", ["segments", *_NEEDS], [], made, {**refused, **error}, close, repeat=15)
    yield faulty(
        "leaks/deadlines",
        ["streams", "deadlines", *_NEEDS],
        [hang],
        made,
        {**STREAM, "options": {"place": "stream", "deadline_s": 0.1}, "error": {"code": "DEADLINE_EXCEEDED"}},
        close,
        repeat=12,
    )
    yield faulty(
        "leaks/cancelled",
        ["streams", "cancellation", *_NEEDS],
        [hang],
        made,
        {**STREAM, "options": {"place": "stream", "cancel_after_ms": 50}, "error": {"code": "CANCELLED"}},
        close,
        repeat=12,
    )
    lost = {"do": "disconnect", "method": "Execute", "times": 99}
    yield faulty(
        "leaks/lost",
        ["streams", *_NEEDS],
        [lost],
        {**made, "options": {**made["options"], "retries": 0}},
        {**STREAM, "error": {"code": "UNAVAILABLE"}},
        close,
        repeat=12,
    )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from tls()
    yield from tokens()
    yield from environment()
    yield from addresses()
    yield from telling()
    yield from endings()
