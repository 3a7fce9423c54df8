"""combine_sets and count_sets on every type, against sets of positions that a loop makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from fake_server import FakeServer
from oracles import KEY_TYPES, bits, random_keys

import corank
from corank._sets import _most

OPERATIONS: tuple[Any, ...] = ("union", "intersection", "difference", "symmetric_difference")
X = np.array([1, 2, 2], np.int32)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_results_are_those_of_the_oracle(client: corank.Client, key_type: str, operation: Any) -> None:
    dtype = "bfloat16" if key_type == "bfloat16" else None
    for at, (left_count, right_count) in enumerate([(0, 0), (0, 5), (7, 0), (1, 1), (300, 200), (64, 900)]):
        rng = np.random.default_rng([KEY_TYPES.index(key_type), OPERATIONS.index(operation), at])
        descending = at % 2 == 1
        # Keys occur several times, and have partners on the other side.
        left = np.tile(random_keys(rng, key_type, left_count // 3 + 1), 3)[:left_count]
        right = np.concatenate([left[: right_count // 2], random_keys(rng, key_type, right_count)])[:right_count]
        left, right = (side[oracles.argsort(side, key_type, descending)] for side in (left, right))
        found = oracles.combine(left, right, key_type, operation, descending)
        keys = np.concatenate([left, right])
        got = client.combine_sets(left, right, operation, descending=descending, dtype=dtype)
        assert got.dtype == left.dtype
        np.testing.assert_array_equal(bits(got), bits(keys[found]))
        assert client.count_sets(left, right, operation, descending=descending, dtype=dtype) == len(found)

        values = rng.integers(0, 2**40, keys.size)
        with_right = operation in ("union", "symmetric_difference")
        got_keys, got_values = client.combine_sets(
            left,
            right,
            operation,
            left_values=values[:left_count],
            right_values=values[left_count:] if with_right else None,
            descending=descending,
            dtype=dtype,
        )
        np.testing.assert_array_equal(bits(got_keys), bits(keys[found]))
        np.testing.assert_array_equal(got_values, values[found])


def test_dates_keep_their_type_and_not_a_time_comes_last(client: corank.Client) -> None:
    left = np.array(["2026-01-01", "2026-01-02", "NaT"], "datetime64[D]")
    right = np.array(["2026-01-02", "2026-01-03"], "datetime64[D]")
    got = client.combine_sets(left, right, "union")
    assert got.dtype == left.dtype
    np.testing.assert_array_equal(got, np.array(["2026-01-01", "2026-01-02", "2026-01-03", "NaT"], "datetime64[D]"))
    np.testing.assert_array_equal(client.combine_sets(left, left, "difference"), left[:0])


def test_numpys_sets_are_those_of_unique_arrays(client: corank.Client) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 500, 400), rng.integers(0, 500, 300)
    left, right = client.unique(a), client.unique(b)
    numpys: Any = (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)
    for operation, expected in zip(OPERATIONS, numpys):
        np.testing.assert_array_equal(client.combine_sets(left, right, operation), expected(a, b))


def test_results_stay_on_the_server(fake_client: corank.Client) -> None:
    rest = fake_client.combine_sets(X, X[:1], "difference", keep="rest")
    assert rest.count == 2
    np.testing.assert_array_equal(fake_client.sort(rest), [2, 2])
    number = fake_client.count_sets(X, X, "union", keep="number")
    np.testing.assert_array_equal(fake_client.expand([7], number), [7, 7, 7])
    for kept in (rest, number):
        kept.delete()


def test_a_chain_goes_on_with_combined_sets(client: corank.Client) -> None:
    rng = np.random.default_rng(2)
    a, b = (np.sort(rng.integers(0, 500, count)) for count in (400, 300))
    with client.chain() as chain:
        left, right = chain.unique(a), chain.unique(b)
        union, values = chain.combine_sets(left, right, "union", left_values=left, right_values=right)
        assert "? x int64" in repr(union)
        both = chain.combine_sets(b, left, "intersection")
        rest, of_rest = chain.combine_sets(union, right, "difference", left_values=values)
        number = chain.count_sets(union, right, "symmetric_difference")
        repeated = chain.expand([7], number)
        count = chain.count_sets(b, union, "intersection")
    np.testing.assert_array_equal(rest.result(), np.setdiff1d(a, b))
    np.testing.assert_array_equal(of_rest.result(), np.setdiff1d(a, b))
    np.testing.assert_array_equal(both.result(), np.intersect1d(a, b))
    np.testing.assert_array_equal(repeated.result(), np.full(np.setdiff1d(a, b).size, 7))
    np.testing.assert_array_equal(count.result(), [np.unique(b).size])
    with pytest.raises(RuntimeError, match="stayed on the server"):
        union.result()


def test_results_have_room_for_the_longest() -> None:
    for left, right, rooms in (
        (5, 3, (8, 3, 5, 8)),
        (2, 3, (5, 2, 2, 5)),
        (None, 3, (None, 3, None, None)),
        (2, None, (None, 2, 2, None)),
        (None, None, (None, None, None, None)),
    ):
        assert tuple(_most(operation, left, right) for operation in OPERATIONS) == rooms


def test_what_cannot_be_is_refused_before_the_call(fake: FakeServer, fake_client: corank.Client) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("unoin", {}, "operation: 'unoin' is none of 'union'"),
        ("difference", {"left_values": X, "right_values": X}, "right_values: not for 'difference'"),
        ("union", {"left_values": X}, "right_values: missing, because there are left_values"),
        ("union", {"right_values": X}, "left_values: missing, because there are right_values"),
    ]
    for operation, options, text in wrong:
        with pytest.raises(ValueError, match=text):
            fake_client.combine_sets(X, X, operation, **options)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="right is int64, left is int32; all must be of one dtype"):
        fake_client.combine_sets(X, X.astype(np.int64), "union")
    with pytest.raises(TypeError, match="right_values is int64, left_values is int32"):
        fake_client.combine_sets(X, X, "union", left_values=X, right_values=X.astype(np.int64))
    assert fake.requests == []


def test_the_server_names_the_side_that_is_not_sorted(client: corank.Client) -> None:
    for field, sides in (("left", ([2, 1], [1, 2])), ("right", ([1, 2], [1, 2, 1]))):
        with pytest.raises(corank.InvalidArgument) as refused:
            client.count_sets(*sides, "union")
        assert refused.value.field == field
