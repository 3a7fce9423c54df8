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


def wire_results(slack: float) -> dict[str, list[dict[str, object]]]:
    """Rows of the wire that meet each goal with so much to spare, with other figures than ratios at 100."""
    sizes = {1 << 12: 2, 1 << 14: 2, 1 << 16: 2, 1 << 18: 1.2, 1 << 20: 1.5}
    loads = {"0.5": 0.95, "0.8": 0.95, "0.9": 0.95, "1.5": 0.9, "2": 0.9, "3": 0.5}
    service = [("Sort inline by size", n, "uniform", goal) for n, goal in sizes.items()]
    service += [(f"Sort inline, {calls} in flight", 1 << 10, "uniform", 5) for calls in (64, 512)]
    service += [(f"Sort 256 MiB streamed, {count}", 1 << 26, "uniform", 2) for count in ("one stream", "8 streams")]
    service += [("Sort inline, one at a time", 1 << 10, "uniform", 1.25)]
    overload = [
        ("Open loop, inline: answers in time", n, f"{load} x capacity", goal if n == 1 << 10 else 0.9)
        for n in (1 << 10, 1 << 18, 1 << 20) for load, goal in loads.items()
    ]  # fmt: skip
    kinds = ("refusals with RetryInfo", "accepted calls that were answered in time")
    overload += [(f"Open loop, inline: {kind}", n, "all", 1) for kind in kinds for n in (1 << 10, 1 << 18, 1 << 20)]
    return {
        f"h200/{name}": [
            {"row": row, "n": n, "distribution": words, "ours": 100 if slack >= 0 else 99.99, "ratio": goal + slack}
            for row, n, words, goal in rows
        ]
        for name, rows in (("service", service), ("overload", overload))
    }


@pytest.mark.parametrize(("slack", "met"), [(1e-9, "yes"), (-1e-3, "no")])
def test_wire_table_says_which_goals_are_met(slack: float, met: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pays, "load", wire_results(slack).__getitem__)
    rows = pays.wire_table()[2:]
    assert len(rows) == 13
    assert [row.split("|")[-2].strip() for row in rows] == [met] * 13
