"""Sort the numbers of a file.

    corankd &
    python examples/python/sort_file.py

Writes two million random numbers to a .npy file, sorts them on the server and writes them to a second file. The input
is memory-mapped, so NumPy reads it from disk only as the client sends it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import corank
import numpy as np


def sort_file(client: corank.Client, source: Path, target: Path) -> None:
    """Writes the numbers of `source` to `target`, in ascending order."""
    numbers = np.load(source, mmap_mode="r")
    np.save(target, client.sort(numbers))


def main() -> None:
    """Makes a file, sorts it and checks the answer."""
    numbers = np.random.default_rng(1).normal(size=2_000_000)
    with tempfile.TemporaryDirectory() as folder, corank.connect() as client:
        source, target = Path(folder) / "numbers.npy", Path(folder) / "sorted.npy"
        np.save(source, numbers)
        sort_file(client, source, target)
        ordered = np.load(target)
    np.testing.assert_array_equal(ordered, np.sort(numbers))
    print(f"sorted {numbers.size:,} numbers from {ordered[0]:.3f} to {ordered[-1]:.3f}")


if __name__ == "__main__":
    main()
