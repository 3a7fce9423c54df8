"""rank, against the definitions of scipy.stats.rankdata."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from oracles import KEY_TYPES, random_keys

import corank

METHODS: tuple[Any, ...] = ("average", "min", "max", "dense", "ordinal")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_ranks_are_those_of_the_oracle(corankd_client: corank.Client, key_type: str, method: Any) -> None:
    dtype = "bfloat16" if key_type == "bfloat16" else None
    for count in (0, 1, 2, 63, 500):
        for descending in (False, True):
            rng = np.random.default_rng([KEY_TYPES.index(key_type), count])
            keys = random_keys(rng, key_type, count)
            for keys_sorted in (False, True):
                if keys_sorted:
                    keys = keys[oracles.argsort(keys, key_type, descending)]
                got = corankd_client.rank(keys, method, descending=descending, keys_sorted=keys_sorted, dtype=dtype)
                assert got.dtype == (np.float64 if method == "average" else np.intp)
                np.testing.assert_array_equal(got, oracles.rank(keys, key_type, method, descending))


def test_ranks_are_those_of_a_count_of_smaller_keys(corankd_client: corank.Client) -> None:
    keys = np.random.default_rng(3).integers(0, 40, 300)
    smaller = (keys[:, None] > keys[None, :]).sum(1)
    equal = (keys[:, None] == keys[None, :]).sum(1)
    earlier = np.tril(keys[:, None] == keys[None, :], -1).sum(1)
    expected: dict[Any, Any] = {
        "average": smaller + (equal + 1) / 2,
        "min": smaller + 1,
        "max": smaller + equal,
        "dense": np.unique(keys, return_inverse=True)[1] + 1,
        "ordinal": smaller + earlier + 1,
    }
    for method in METHODS:
        np.testing.assert_array_equal(corankd_client.rank(keys, method), expected[method])


def test_dtypes_and_places_of_ranks(client: corank.Client) -> None:
    assert client.rank([3, 1], "min", index_dtype=None).dtype == np.uint32
    assert client.rank([3, 1], "min", index_dtype=np.int16).dtype == np.int16
    out = np.zeros(2)
    assert client.rank([3, 3], out=out) is out
    np.testing.assert_array_equal(out, [1.5, 1.5])


def test_keys_and_ranks_stay_on_the_server(fake_client: corank.Client) -> None:
    np.testing.assert_array_equal(fake_client.rank([3, 1], "max", keep="ranks").fetch(), [2, 1])
    np.testing.assert_array_equal(fake_client.rank(fake_client.store("keys", [3, 1, 2]), "dense"), [3, 1, 2])


def test_a_chain_ranks_and_goes_on_with_ranks(client: corank.Client) -> None:
    keys = np.random.default_rng(4).integers(0, 30, 200)
    with client.chain() as chain:
        ordered = chain.sort(keys, descending=True)
        ranks = chain.rank(ordered, "dense", descending=True, keys_sorted=True)
        distinct, counts = chain.run_length_encode(ranks)
        means = chain.rank(chain.select(keys, comparison="<", threshold=9))
        own = chain.rank(keys, "ordinal", index_dtype=np.int16)
    expected = np.unique(keys, return_counts=True)[1][::-1]
    np.testing.assert_array_equal(distinct.result(), np.arange(1, expected.size + 1))
    np.testing.assert_array_equal(counts.result(), expected)
    np.testing.assert_array_equal(means.result(), oracles.rank(keys[keys < 9], "int64", "average", False))
    np.testing.assert_array_equal(own.result(), oracles.rank(keys, "int64", "ordinal", False))
    assert own.result().dtype == np.int16


def test_ranks_stand_for_more_columns_than_a_call_takes(corankd_client: corank.Client) -> None:
    columns = list(np.random.default_rng(5).integers(0, 2, (40, 5000)).astype(np.int8))
    with pytest.raises(corank.InvalidArgument, match="must have 1 to 32 columns, not 40"):
        corankd_client.argsort_columns(columns)
    ranks = corankd_client.rank_columns(columns[:32])
    np.testing.assert_array_equal(corankd_client.argsort_columns([ranks, *columns[32:]]), np.lexsort(columns[::-1]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_each_segment_has_ranks_of_its_own(corankd_client: corank.Client, key_type: str, method: Any) -> None:
    dtype = "bfloat16" if key_type == "bfloat16" else None
    for segments in ([0], [0, 0], [0, 0, 7, 7, 8, 30, 50, 50], [0, 50], [*range(51)]):
        rng = np.random.default_rng([KEY_TYPES.index(key_type), len(segments)])
        keys = random_keys(rng, key_type, segments[-1])
        for descending in (False, True):
            expected = oracles.segmented_rank(keys, segments, key_type, method, descending)
            got = corankd_client.rank(keys, method, segments=segments, descending=descending, dtype=dtype)
            np.testing.assert_array_equal(got, expected)


def test_each_segment_is_sorted_by_itself(client: corank.Client) -> None:
    ranks = client.rank([5, 7, 7, 1, 1, 2], "dense", segments=[0, 3, 3, 6], keys_sorted=True)
    np.testing.assert_array_equal(ranks, [1, 2, 2, 1, 1, 2])
    with pytest.raises(corank.InvalidArgument, match="keys"):
        client.rank([5, 7, 6, 1], segments=[0, 3, 4], keys_sorted=True)


def test_segments_that_do_not_fit_are_named(client: corank.Client) -> None:
    for segments in ([0, 2], [0, 4], [1, 3], [0, 2, 1, 3], []):
        with pytest.raises(corank.InvalidArgument, match="segment_offsets"):
            client.rank([3, 1, 2], segments=segments)
    with pytest.raises(TypeError, match="segment_offsets"):
        client.rank([3, 1, 2], segments=[0.5, 3])


def test_dates_have_ranks(client: corank.Client) -> None:
    days = np.array(["2026-01-03", "NaT", "2026-01-01"], "datetime64[D]")
    np.testing.assert_array_equal(client.rank(days), [2, 3, 1])


def test_wrong_arguments_are_named(client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument, match="keys") as caught:
        client.rank([2, 1], keys_sorted=True)
    assert caught.value.field == "keys"
    with pytest.raises(corank.InvalidArgument, match="method"):
        client.rank([1], "mean")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="keys"):
        client.rank(np.array([b"a"]))
