"""client/policy.json is the one table of retries and places: the source of every client and the docs agree with it.

What the clients do with the numbers is tested elsewhere: by their own tests, and by the conformance vectors of faults,
which are made from the same table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "client"
POLICY: dict[str, Any] = json.loads((CLIENT / "policy.json").read_text(encoding="utf-8"))
PYTHON, CPP, JAVA = "python/src/corank/", "cpp/", "java/src/main/java/io/github/corank/"
OPTIONS = "../include/corank/client_options.h"

# By constant: the file of each client, and its text with {v} the value, {s} that in seconds, {less} one less, {k} in
# units of 1024, and {m} of 1024 of those.
SOURCES: dict[str, list[tuple[str, str]]] = {
    "retry.tries": [
        (PYTHON + "_connection.py", "retries: int = {less},"),
        (OPTIONS, "int max_attempts = {v};"),
        ("go/client.go", "made.retries, made.maxMessage = {less}, "),
        (JAVA + "CallOptions.java", "retries == null ? {less} : retries"),
        ("node/src/options.ts", "options.retries ?? client.retries ?? {less},"),
        ("rust/src/client.rs", "const DEFAULT_RETRIES: u32 = {less};"),
    ],
    "retry.first_wait": [
        (PYTHON + "_retry.py", "INITIAL_SECONDS = {s}\n"),
        (OPTIONS, "absl::Duration initial_delay = absl::Milliseconds({v});"),
        ("go/retry.go", "firstWait    = {v} * time.Millisecond"),
        (JAVA + "Retrier.java", "double INITIAL_SECONDS = {s};"),
        ("node/src/retry.ts", "const INITIAL_MS = {v};"),
        ("rust/src/retry.rs", "const FIRST_WAIT: Duration = Duration::from_millis({v});"),
    ],
    "retry.longest_wait": [
        (PYTHON + "_retry.py", "MAX_SECONDS = {s}.0\n"),
        (OPTIONS, "absl::Duration max_delay = absl::Seconds({s});"),
        ("go/retry.go", "longestWait  = {s} * time.Second"),
        (JAVA + "Retrier.java", "double MAX_SECONDS = {s};"),
        ("node/src/retry.ts", "const MAX_MS = {v};"),
        ("rust/src/retry.rs", "const LONGEST_WAIT: Duration = Duration::from_secs({s});"),
    ],
    "retry.budget": [
        (PYTHON + "_retry.py", "BUDGET_TOKENS = {v}.0\n"),
        (OPTIONS, "double budget_tokens = {v};"),
        ("go/retry.go", "budgetTokens = {v}.0\n"),
        (JAVA + "Retrier.java", "double BUDGET = {v};"),
        ("node/src/retry.ts", "const BUDGET_TOKENS = {v};"),
        ("rust/src/retry.rs", "const TOKENS: f64 = {v}.0;"),
    ],
    "retry.refill": [
        (PYTHON + "_retry.py", "BUDGET_REFILL = {v}\n"),
        (OPTIONS, "double budget_refill = {v};"),
        ("go/retry.go", "budgetRefill = {v}\n"),
        (JAVA + "Retrier.java", "double REFILL = {v};"),
        ("node/src/retry.ts", "const BUDGET_REFILL = {v};"),
        ("rust/src/retry.rs", "const REFILL: f64 = {v};"),
    ],
    "retry.keepalive": [
        (PYTHON + "_channels.py", "_KEEPALIVE_MS = ({s}_000, "),
        (OPTIONS, "keepalive_time = absl::Seconds({s}),"),
        ("go/client.go", "keepalive.ClientParameters{{Time: {s} * time.Second,"),
        (JAVA + "Channels.java", "int KEEPALIVE_SECONDS = {s};"),
        ("node/src/channels.ts", '"grpc.keepalive_time_ms": {s}_000,'),
        ("rust/src/connect.rs", "const KEEPALIVE_TIME: Duration = Duration::from_secs({s});"),
    ],
    "retry.keepalive_timeout": [
        (PYTHON + "_channels.py", "_KEEPALIVE_MS = (20_000, {s}_000)\n"),
        (OPTIONS, "keepalive_timeout = absl::Seconds({s});"),
        ("go/client.go", "Timeout: {s} * time.Second}}"),
        (JAVA + "Channels.java", "int KEEPALIVE_TIMEOUT_SECONDS = {s};"),
        ("node/src/channels.ts", '"grpc.keepalive_timeout_ms": {s}_000,'),
        ("rust/src/connect.rs", "const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs({s});"),
    ],
    "place.small": [
        (PYTHON + "_placing.py", "SMALL_BYTES = {k} << 10\n"),
        (CPP + "place_choice.h", "int64_t kAskServerBytes = int64_t{{{k}}} << 10;"),
        ("go/perform.go", "smallBytes   = {k} << 10 "),
        (JAVA + "Placing.java", "int SMALL_BYTES = {k} << 10;"),
        ("node/src/connection.ts", "const SMALL_BYTES = {k} << 10;"),
        ("rust/src/perform.rs", "const SMALL_BYTES: usize = {k} << 10;"),
    ],
    "place.inline": [
        (PYTHON + "_connection.py", "INLINE_BYTES = {m} << 20\n"),
        (OPTIONS, "int64_t stream_bytes = int64_t{{{m}}} << 20;"),
        ("go/perform.go", "inlineBytes  = {m} << 20 "),
        (JAVA + "Calls.java", "long INLINE_BYTES = {m} << 20;"),
        ("node/src/connection.ts", "const INLINE_BYTES = {m} << 20;"),
        ("rust/src/perform.rs", "const INLINE_BYTES: usize = {m} << 20;"),
    ],
    # Only these two clients register shared memory.
    "place.shared_memory": [
        (PYTHON + "_connection.py", "SHARED_BYTES = {k} << 10\n"),
        (CPP + "place_choice.h", "int64_t kSharedMemoryBytes = int64_t{{{k}}} << 10;"),
    ],
    "place.many": [
        (PYTHON + "_connection.py", "MANY_BYTES = {m} << 20\n"),
        (CPP + "place_choice.h", "int64_t kSeveralConnectionsBytes = int64_t{{{m}}} << 20;"),
        ("go/stream.go", "manyBytes       = {m} << 20 "),
        (JAVA + "Calls.java", "long MANY_BYTES = {m} << 20;"),
        ("node/src/connection.ts", "const MANY_BYTES = {m} << 20;"),
        ("rust/src/perform.rs", "const MANY_BYTES: usize = {m} << 20;"),
    ],
    "place.connections": [
        (PYTHON + "_connection.py", "\nCONNECTIONS = {v}\n"),
        (CPP + "place_choice.h", "int kSeveralConnections = {v};"),
        ("go/stream.go", "manyConnections = {v}\n"),
        (JAVA + "Calls.java", "int CONNECTIONS = {v};"),
        ("node/src/connection.ts", "const CONNECTIONS = {v};"),
        ("rust/src/perform.rs", "const MANY_CONNECTIONS: usize = {v};"),
    ],
}


def constants() -> dict[str, dict[str, Any]]:
    return {f"{group}.{name}": entry for group in ("retry", "place") for name, entry in POLICY[group].items()}


def test_every_constant_of_the_table_is_looked_up_in_the_clients() -> None:
    assert set(constants()) == set(SOURCES)


@pytest.mark.parametrize(("name", "file", "text"), [(name, *row) for name, rows in SOURCES.items() for row in rows])
def test_a_client_has_the_constant_of_the_table(name: str, file: str, text: str) -> None:
    value = constants()[name]["value"]
    expected = text.format(v=value, less=value - 1, s=f"{value / 1000:g}", k=value // 1024, m=value // 1024**2)
    assert expected in (CLIENT / file).read_text(encoding="utf-8"), f"client/{file}: policy.json says {expected!r}"


def told(entry: dict[str, Any]) -> str:
    """A value as a person writes it."""
    value, unit = entry["value"], entry["unit"]
    if unit == "bytes":
        return f"{value >> 20} MiB" if value % 1024**2 == 0 else f"{value >> 10} KiB"
    return f"{value // 1000} s" if unit == "ms" and value % 1000 == 0 else f"{value} {unit}"


def check_table(page: str, head: tuple[str, str], rows: list[tuple[str, str]]) -> None:
    """Fails where a page does not hold a table of two columns."""
    table = "\n".join(f"| {left} | {right} |" for left, right in [head, ("---", "---"), *rows])
    text = (ROOT / "docs" / "concepts" / page).read_text(encoding="utf-8")
    assert table in text, f"docs/concepts/{page} needs this table:\n{table}"


@pytest.mark.parametrize(("group", "page"), [("retry", "retries.md"), ("place", "places.md")])
def test_the_docs_have_the_constants_of_the_table(group: str, page: str) -> None:
    check_table(page, ("value", "meaning"), [(told(entry), entry["meaning"]) for entry in POLICY[group].values()])


def test_the_docs_have_the_failures_of_the_table() -> None:
    rows = []
    for row in POLICY["failures"]:
        words = [row["code"], *([row["reason"]] if "reason" in row else [])]
        words += [f"cause {row['cause']}"] if "cause" in row else []
        info = "" if row["code"] == "ABORTED" else " with RetryInfo" if row.get("retry_info") else " without RetryInfo"
        rows.append((", ".join(words) + info, row["is"]))
    check_table("retries.md", ("error", "counts as"), rows)
