"""Sorts by columns of the segments of a table, beside Python's sorts of each."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import corank

OFFSETS = [0, 0, 1, 40, 40, 200, 201]
CITIES = random.Random(1).choices(["Oslo", "", "Bergen", "Os", None], k=OFFSETS[-1])
YEARS = np.random.default_rng(2).integers(2000, 2004, OFFSETS[-1]).astype(np.int16)
ROWS: list[int] = [
    row
    for begin, end in zip(OFFSETS, OFFSETS[1:])
    for row in sorted(range(begin, end), key=lambda row: (CITIES[row] is not None, CITIES[row] or "", -YEARS[row]))
]
ORDER: Any = {"descending": [False, True], "nulls": "first"}


@pytest.mark.parametrize("segments", [OFFSETS, np.array(OFFSETS)], ids=["list", "array"])
@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_each_segment_is_sorted_by_its_columns(corankd_client: corank.Client, place: Any, segments: Any) -> None:
    options: Any = {**ORDER, "segments": segments, "place": place}
    values = np.arange(OFFSETS[-1])
    (cities, years), moved = corankd_client.sort_columns([CITIES, YEARS], values=values, **options)
    assert cities == [CITIES[row] for row in ROWS]
    np.testing.assert_array_equal(years, YEARS[ROWS])
    np.testing.assert_array_equal(moved, ROWS)
    np.testing.assert_array_equal(corankd_client.argsort_columns([CITIES, YEARS], **options), ROWS)
    both, order = corankd_client.sort_columns_with_indices([CITIES, YEARS], **options)
    assert both[0] == cities
    np.testing.assert_array_equal(order, ROWS)


@pytest.mark.parametrize("limit", [0, 1, 2, 39, 300])
@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_each_segment_yields_its_first_rows(corankd_client: corank.Client, place: Any, limit: int) -> None:
    options: Any = {**ORDER, "segments": OFFSETS, "limit": limit, "place": place}
    rows = [row for begin, end in zip(OFFSETS, OFFSETS[1:]) for row in ROWS[begin:end][:limit]]
    values = np.arange(OFFSETS[-1])
    (cities, years), moved = corankd_client.sort_columns([CITIES, YEARS], values=values, **options)
    assert cities == [CITIES[row] for row in rows]
    np.testing.assert_array_equal(years, YEARS[rows])
    np.testing.assert_array_equal(moved, rows)
    np.testing.assert_array_equal(corankd_client.argsort_columns([CITIES, YEARS], **options), rows)
    both, order = corankd_client.sort_columns_with_indices([CITIES, YEARS], **options)
    assert both[0] == cities
    np.testing.assert_array_equal(order, rows)
    assert corank.limited_segments(OFFSETS, limit)[-1] == len(rows)


def test_segments_of_strings_are_sorted(corankd_client: corank.Client) -> None:
    keys = np.array(["b", "a", "é", "c", "b"])
    np.testing.assert_array_equal(corankd_client.sort(keys, segments=[0, 2, 5]), np.array(["a", "b", "b", "c", "é"]))
    np.testing.assert_array_equal(corankd_client.argsort(keys, segments=[0, 2, 5]), [1, 0, 4, 3, 2])
    found = corankd_client.sort(keys, segments=[0, 2, 5], limit=1)
    np.testing.assert_array_equal(found, np.array(["a", "b"]))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"segments": [0, 200]}, "segment_offsets[1]"),
        ({"segments": [0, 201], "limit": -3}, "limit"),
        ({"segments": [0, 201], "runs": [0, 201]}, "run_offsets"),
    ],
    ids=["end", "limit", "runs"],
)
def test_bad_segments_are_refused(corankd_client: corank.Client, options: Any, field: str) -> None:
    with pytest.raises(corank.InvalidArgument) as refused:
        corankd_client.argsort_columns([YEARS], **options)
    assert refused.value.field == field
