"""Merge sorted daily files into one.

    corankd &
    python examples/python/merge_daily_files.py

Each of seven stations wrote a file of the day's measurements, sorted by time. `merge` makes one sequence of them: it
compares the times and moves the records (18 bytes each) along. It is stable: of equal times, the record of the earlier
file comes first. Merging is one pass over the data, so it is cheaper than sorting everything again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import corank
import numpy as np

STATIONS = 7
RECORD = np.dtype([("time", "<i8"), ("station", "<u2"), ("value", "<f8")])


def write_files(folder: Path) -> list[Path]:
    """One file of records for each station, sorted by time; stations often measure in the same second."""
    rng = np.random.default_rng(4)
    files = []
    for station in range(STATIONS):
        records = np.zeros(20_000 + 1_000 * station, RECORD)
        records["time"] = np.sort(rng.integers(0, 86_400, records.size))
        records["station"] = station
        records["value"] = rng.normal(size=records.size)
        files.append(folder / f"station-{station}.npy")
        np.save(files[-1], records)
    return files


def main() -> None:
    """Writes the files, merges them and checks the answer."""
    with tempfile.TemporaryDirectory() as folder, corank.connect() as client:
        inputs = [np.load(file) for file in write_files(Path(folder))]
        times, records = client.merge([input["time"] for input in inputs], values=inputs)
        np.save(Path(folder) / "all-stations.npy", records)

    everything = np.concatenate(inputs)
    expected = everything[np.argsort(everything["time"], kind="stable")]
    np.testing.assert_array_equal(times, expected["time"])
    np.testing.assert_array_equal(records, expected)
    print(f"merged {len(inputs)} files with {records.size:,} records in the order of their time")


if __name__ == "__main__":
    main()
