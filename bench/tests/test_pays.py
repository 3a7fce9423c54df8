"""The page on when corank pays says from which size on it is the faster one, in times as people say them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report"))

import pays
import plots


def row(name: str, n: int, ours: float, reference: float = 1.0) -> dict[str, object]:
    return {"row": name, "n": n, "ours": ours, "reference": reference, "reference_name": "np.sort", "unit": "ms"}


def test_lines_hold_each_work_and_the_reference() -> None:
    rows = [row("Sort by streams", n, n / 10, n / 20) for n in (10, 20)] + [row("alone", 10, 1)]
    assert plots.times_by_size(rows) == {"Sort by streams": {10: 1, 20: 2}, "np.sort": {10: 1.0, 20: 1}}


@pytest.mark.parametrize(
    ("ours", "fewest"),
    [
        ([1, 1, 1], 10),
        ([9, 1, 1], 20),
        ([1, 9, 1], 30),  # faster at 10, but not at every greater size
        ([1, 1, 9], None),
        ([2, 2, 2], None),  # as fast is not faster
    ],
)
def test_crossing(ours: list[float], fewest: int | None) -> None:
    sizes = (10, 20, 30)
    assert pays.first_faster(dict(zip(sizes, ours, strict=True)), dict.fromkeys(sizes, 2.0)) == fewest


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([0.2014], "201 µs"),
        ([5.64], "5.6 ms"),
        ([41.4, 42.2], "41 to 42 ms"),
        ([41.9, 42.2], "42 ms"),
        ([900, 1100], "900 ms to 1.1 s"),
        ([2260, 2616], "2.3 to 2.6 s"),
    ],
)
def test_times_in_words(samples: list[float], words: str) -> None:
    assert pays.times(samples) == words
