"""Find the 100 largest values, and where they are.

    corankd &
    python examples/python/top_100.py

With `limit` the server returns only the first rows of the order: 100 scores and positions come back, not a million.
"""

from __future__ import annotations

import corank
import numpy as np


def main() -> None:
    """Ranks a million scores and checks the best 100."""
    scores = np.random.default_rng(3).gumbel(size=1_000_000).astype(np.float32)
    with corank.connect() as client:
        best, users = client.sort_with_indices(scores, descending=True, limit=100)

    np.testing.assert_array_equal(best, np.sort(scores)[::-1][:100])
    np.testing.assert_array_equal(scores[users], best)
    assert np.unique(users).size == 100
    print(f"user {users[0]} leads with {best[0]:.2f}; place 100 is user {users[-1]} with {best[-1]:.2f}")


if __name__ == "__main__":
    main()
