"""Sort by key columns with nulls, from the Python client to a real server and back, against pandas, polars and Arrow.

Each of them has its own place for NaNs, and the client has a setting for each.
"""

from __future__ import annotations

from typing import Any

import corank
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

ROWS = (0, 1, 7, 8, 9, 1000, 20_011)
Mask = NDArray[np.bool_]


def floats(count: int, seed: int, dtype: Any = np.float32) -> NDArray[Any]:
    """Few distinct numbers, NaNs of both signs among them."""
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-3, -3.5, 2.0], dtype)
    return special[np.random.default_rng(seed).integers(0, len(special), count)]


def some_mask(count: int, seed: int) -> Mask:
    return np.random.default_rng(seed).random(count) < 0.2


def check(client: corank.Client, columns: list[tuple[Any, Mask | None]], expected: Any, **order: Any) -> None:
    """Sorts columns of values and masks (None: none) and compares with the permutation `expected`, bit for bit."""
    given = [values if mask is None else corank.Nullable(values, mask) for values, mask in columns]
    expected = np.asarray(expected, np.intp)
    np.testing.assert_array_equal(client.argsort_columns(given, **order), expected)
    found, rows = client.sort_columns(given, values=np.arange(len(expected)), **order)
    np.testing.assert_array_equal(rows, expected)
    for (values, mask), result in zip(columns, found, strict=True):
        got = result if mask is None else result.values
        if mask is not None:
            np.testing.assert_array_equal(result.mask, mask[expected])
        if isinstance(values, list):
            assert got == [values[row] for row in expected]
        else:
            assert got.tobytes() == values[expected].tobytes()  # nulls keep what they hold


@pytest.mark.parametrize("count", ROWS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls", ["last", "first"])
def test_nans_as_nulls_is_what_pandas_does(client: corank.Client, count: int, descending: bool, nulls: str) -> None:
    values, mask = floats(count, 1), some_mask(count, 2)
    series = pd.Series(np.where(mask, np.nan, values))
    place: Any = nulls
    expected = series.sort_values(ascending=not descending, na_position=place, kind="stable").index
    order: dict[str, Any] = {"descending": descending, "nulls": nulls, "nan": "null"}
    check(client, [(values, mask)], expected, **order)
    series = pd.Series(values)  # without a mask NaNs lie there too
    expected = series.sort_values(ascending=not descending, na_position=place, kind="stable").index
    check(client, [(values, None)], expected, **order)


@pytest.mark.parametrize("count", ROWS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls", ["last", "first"])
def test_nans_beside_nulls_is_what_arrow_does(client: corank.Client, count: int, descending: bool, nulls: str) -> None:
    first, first_mask = floats(count, 3, np.float64), some_mask(count, 4)
    second, second_mask = np.random.default_rng(5).integers(-2, 3, count), some_mask(count, 6)
    table = pa.table(
        {
            "first": pa.array(first, mask=first_mask),
            "second": pa.array(second, mask=second_mask),
            "row": np.arange(count),  # Arrow's sort is not stable
        }
    )
    directions = ["descending" if descending else "ascending", "ascending" if descending else "descending"]
    place = "at_end" if nulls == "last" else "at_start"
    keys = [("first", directions[0], place), ("second", directions[1], place), ("row", "ascending", place)]
    expected = pc.sort_indices(table, sort_keys=keys)
    check(
        client,
        [(first, first_mask), (second, second_mask)],
        expected,
        descending=[descending, not descending],
        nulls=nulls,
        nan="beside_null",
    )


@pytest.mark.parametrize("count", ROWS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls", ["last", "first"])
def test_nans_as_numbers_is_what_polars_does(client: corank.Client, count: int, descending: bool, nulls: str) -> None:
    numbers, mask = floats(count, 7), some_mask(count, 8)
    rng = np.random.default_rng(9)
    strings: list[str | None] = [
        None if rng.random() < 0.2 else "ab\0"[: rng.integers(0, 4)] * int(rng.integers(0, 9)) for _ in range(count)
    ]
    frame = pl.DataFrame(
        {
            "text": pl.Series(strings, dtype=pl.String),
            "number": pl.Series(
                [None if null else float(each) for each, null in zip(numbers, mask, strict=True)], dtype=pl.Float32
            ),
            "row": np.arange(count),
        }
    )
    expected = frame.sort(
        "text",
        "number",
        descending=[descending, not descending],
        nulls_last=nulls == "last",
        maintain_order=True,
    )["row"].to_numpy()
    order: dict[str, Any] = {"descending": [descending, not descending], "nulls": nulls}
    found, masked = client.sort_columns([strings, np.ma.masked_array(numbers, mask)], **order)
    assert found == [strings[row] for row in expected]
    assert masked.data.tobytes() == numbers[expected].tobytes()
    np.testing.assert_array_equal(np.ma.getmaskarray(masked), mask[expected])
    np.testing.assert_array_equal(
        client.argsort_columns([strings, np.ma.masked_array(numbers, mask)], **order), expected
    )


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
@pytest.mark.parametrize("limit", [None, 0, 13, 5000])
def test_validity_takes_every_way(client: corank.Client, place: str, limit: int | None) -> None:
    count = 4099
    values, mask = np.random.default_rng(10).integers(0, 50, count, dtype=np.uint16), some_mask(count, 11)
    words = [f"word {each % 7}" for each in values.tolist()]
    order = np.lexsort([np.where(mask, -1, values.astype(np.int64)), np.array(words)])[:limit]
    found = client.sort_columns(
        [words, corank.Nullable(values, mask)],
        nulls=["last", "first"],
        limit=limit,
        place=place,  # type: ignore[call-overload]
    )
    assert found[0] == [words[row] for row in order]
    np.testing.assert_array_equal(found[1].values, values[order])
    np.testing.assert_array_equal(found[1].mask, mask[order])


def test_a_mask_of_another_length_is_named(client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        client.sort_columns([[1, 2], corank.Nullable([1, 2], [True])])
    assert caught.value.field == "key_columns[1].validity.count"
