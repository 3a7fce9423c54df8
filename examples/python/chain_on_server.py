"""Keep an array on the server and run several operators on it in one call.

    corankd --kept-bytes=1GiB &
    python examples/python/chain_on_server.py

A history of prices stays on the server: in GPU memory, or in host memory with the CPU engine. Each day one chain sorts
the new prices and merges them into the history, and another chain asks two questions about it. What one operator passes
to the next never leaves the server.
"""

from __future__ import annotations

import sys

import corank
import numpy as np


def main() -> None:
    """Adds three days to the history and checks each answer."""
    rng = np.random.default_rng(5)
    prices = np.sort(rng.lognormal(3.0, 1.0, 200_000))
    with corank.connect() as client:
        if "stored" not in client.info().places:
            sys.exit("this server keeps no arrays: start it as `corankd --kept-bytes=1GiB`")
        history = client.store("prices-0", prices, expires=600)
        watched = np.array([1.0, 10.0, 100.0])
        for day in range(1, 4):
            today = rng.lognormal(3.0, 1.0, 50_000)
            with client.chain() as chain:
                merged = chain.merge([history, chain.sort(today)], keep=f"prices-{day}")
            history.delete()
            history = merged.result()
            with client.chain() as chain:
                cheapest = chain.gather(history, [0], [10])
                ranks = chain.search(history, watched)

            prices = np.sort(np.concatenate([prices, today]))
            np.testing.assert_array_equal(cheapest.result(), prices[:10])
            np.testing.assert_array_equal(ranks.result(), np.searchsorted(prices, watched))
            print(f"day {day}: {prices.size:,} prices, {int(ranks.result()[1]):,} of them below 10")
        np.testing.assert_array_equal(history.fetch(), prices)
        history.delete()


if __name__ == "__main__":
    main()
