"""Group a log by day.

    corankd &
    python examples/python/group_by_day.py

A web server's log has one row per request, in no order: when it came and how long it took. The example brings the rows
of each day together, computes each day's median latency, and finds the requests that took three times as long as the
median of their day. Four operators do what a GROUP BY with a window function does in SQL:

- `argsort` is stable, so rows of one day keep their order;
- `search` finds where each day begins among the sorted rows;
- `sort` with `segments` sorts the latencies within each day;
- `expand` repeats each day's median for every row of that day, and `load_balance` numbers the rows within their day.
"""

from __future__ import annotations

import corank
import numpy as np
from numpy.typing import NDArray

DAYS = 90
REQUESTS = 500_000


def make_log() -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The day and the latency in milliseconds of each request. Some days are busier and some are slower."""
    rng = np.random.default_rng(2)
    day = rng.choice(DAYS, REQUESTS, p=rng.dirichlet(np.full(DAYS, 5.0))).astype(np.int32)
    latency = rng.gamma(2.0, 5.0 + day % 7, REQUESTS).astype(np.float32)
    return day, latency


def main() -> None:
    """Groups the log and checks every step against NumPy."""
    day, latency = make_log()
    with corank.connect() as client:
        # Rows of one day next to each other, and where each day begins and ends.
        rows = client.argsort(day)
        offsets = client.search(day[rows], np.arange(DAYS + 1, dtype=np.int32))
        counts = np.diff(offsets)

        # The lower median of each day: the middle of its sorted latencies.
        by_day = latency[rows]
        ordered = client.sort(by_day, segments=offsets)
        medians = ordered[offsets[:-1] + (counts - 1) // 2]

        # Each row beside the median of its own day.
        slow = by_day > 3 * client.expand(medians, counts)
        days, ranks = client.load_balance(counts)

    for number in range(DAYS):
        of_day = latency[day == number]
        assert counts[number] == of_day.size
        assert medians[number] == np.sort(of_day)[(of_day.size - 1) // 2]
        assert np.array_equal(by_day[days == number], of_day)  # in the order of the log
        assert np.array_equal(ranks[days == number], np.arange(of_day.size))
    assert slow.sum() == (latency > 3 * medians[day]).sum()

    slowest = int(np.argmax(medians))
    print(f"{REQUESTS:,} requests on {DAYS} days, {slow.sum():,} of them slow for their day")
    print(f"the slowest day is {slowest}: median {medians[slowest]:.1f} ms of {counts[slowest]:,} requests")


if __name__ == "__main__":
    main()
