"""Columns on the server, counts that are corrupt, and merges of very many arrays, against the real server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import corank
from corank.testing import LocalServer


@pytest.fixture(scope="module")
def keeping() -> Iterator[corank.Client]:
    """A client of a corankd that keeps arrays; skips where CORANKD does not name the binary."""
    binary = os.environ.get("CORANKD")
    if not binary:
        pytest.skip("CORANKD is not set: set it to the path of corankd to run this against the real server")
    with LocalServer(binary, ["--kept-bytes=100000000"]) as server, server.connect() as client:
        yield client


def test_columns_may_be_kept_arrays(keeping: corank.Client) -> None:
    numbers = keeping.store("numbers", np.array([3, 1, 3], np.int16))
    fixed = keeping.store("fixed", np.array([b"zz", b"a", b"b"]))
    first, second, third = keeping.sort_columns([numbers, fixed, ["x", "yy", "zzz"]])
    np.testing.assert_array_equal(first, np.array([1, 3, 3], np.int16))
    np.testing.assert_array_equal(second, [b"a", b"b", b"zz"])
    assert third == ["yy", "zzz", "x"]
    np.testing.assert_array_equal(keeping.argsort_columns([numbers, fixed]), [1, 2, 0])


def test_sorted_columns_are_kept_and_are_what_they_were(keeping: corank.Client) -> None:
    columns: list[Any] = [np.array([True, False, True]), ["b", "cc", "aaa"], np.array([1, 2, 3], ">i4")]
    names = ("flag", "text", "ends", "number", "rows")
    kept: Any = keeping.sort_columns(columns, values=np.array([10, 20, 30], ">i4"), keep=names)
    (flag, (text, ends), number), rows = kept
    assert [each.name for each in (flag, text, ends, number, rows)] == list(names)
    np.testing.assert_array_equal(flag.fetch(), [False, True, True])
    assert text.fetch().tobytes() == b"ccaaab"
    np.testing.assert_array_equal(ends.fetch(), [0, 2, 5, 6])
    np.testing.assert_array_equal(number.fetch(), np.array([2, 3, 1], np.int32))
    np.testing.assert_array_equal(rows.fetch(), [20, 30, 10])
    # And the server takes them as what it keeps.
    np.testing.assert_array_equal(keeping.sort(flag), [False, True, True])
    np.testing.assert_array_equal(keeping.sort(number), [1, 2, 3])
    np.testing.assert_array_equal(keeping.expand(rows, [1, 0, 2]), [20, 10, 10])
    for each in (flag, text, ends, number, rows):
        assert keeping.stored(each.name)._type == each._type


@pytest.mark.parametrize("place", ["inline", "stream"])
def test_the_answer_tells_how_many_rows_kept_segments_yield(keeping: corank.Client, place: Any) -> None:
    keys = np.arange(1000, dtype=np.int32)[::-1].copy()
    offsets = np.array([0, 3, 3, 500, 1000])
    expected = np.concatenate([np.sort(keys[begin:end])[:5] for begin, end in zip(offsets, offsets[1:])])
    held = keeping.store("offsets", offsets)
    np.testing.assert_array_equal(keeping.sort(keys, segments=held, limit=5, place=place), expected)
    kept: Any = keeping.sort(keys, segments=held, limit=5, keep="first", place=place)
    np.testing.assert_array_equal(kept.fetch(), expected)
    (numbers,) = keeping.sort_columns([keys], segments=held, limit=5, place=place)
    np.testing.assert_array_equal(numbers, expected)
    (words,) = keeping.sort_columns([[f"{key:04}" for key in keys]], segments=held, limit=5, place=place)
    assert words == [f"{key:04}" for key in expected]
    with keeping.chain(place=place) as chain:
        first = chain.sort(keys, segments=held, limit=5)
        again = chain.argsort(first, limit=3)
    np.testing.assert_array_equal(again.result(), np.argsort(expected, kind="stable")[:3])


def test_sorted_columns_with_nulls_are_kept_with_their_validity(keeping: corank.Client) -> None:
    column = corank.Nullable(np.array([3, 1, 2], np.int16), [False, True, False])
    ((values, validity),) = keeping.sort_columns([column], keep=["values", "validity"])
    assert (values.fetch().tolist(), validity.fetch().tolist()) == ([2, 3, 1], [0b011])
    assert [values.name, validity.name] == ["values", "validity"]
    (again,) = keeping.sort_columns([corank.Nullable(values, [True, False, False])], nulls="first")
    assert (again.values.tolist(), again.mask.tolist()) == ([2, 1, 3], [True, False, False])


@pytest.mark.parametrize(
    ("call", "field", "is_sent"),
    [
        (lambda client, **given: client.gather(np.arange(10), [2**62], [2**62], **given), "counts[0]", False),
        (lambda client, **given: client.gather(np.arange(10), [2**62], [2], **given), "source_offsets", True),
        (lambda client, **given: client.expand([10, 20], [2**62, 2**62], **given), "counts", False),
        (lambda client, **given: client.expand([10, 20], [-1, 1], **given), "counts", True),
    ],
    ids=["count", "offset", "sum", "negative"],
)
@pytest.mark.parametrize("place", ["auto", "inline", "stream"])
def test_corrupt_counts_name_their_field(
    keeping: corank.Client, call: Any, field: str, is_sent: bool, place: str
) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        call(keeping, place=place)
    assert bool(caught.value.request_id) == is_sent
    assert caught.value.field.startswith(field)


def test_merge_of_1024_arrays_that_are_streams(keeping: corank.Client) -> None:
    rng = np.random.default_rng(2)
    keys = [np.sort(rng.integers(0, 2**16, 33_000, dtype=np.uint16)) for _ in range(1024)]
    joined = np.concatenate(keys)
    np.testing.assert_array_equal(keeping.merge(keys, place="stream", deadline=None), np.sort(joined))
    rows = [np.full(each.size, at, np.uint16) for at, each in enumerate(keys)]
    found = keeping.merge(keys, values=rows, place="stream", deadline=None)
    np.testing.assert_array_equal(found[0], np.sort(joined))
    np.testing.assert_array_equal(found[1], np.concatenate(rows)[np.argsort(joined, kind="stable")])
