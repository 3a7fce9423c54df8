"""join and count_join on every type, against rows that a loop makes."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import oracles
import pytest
from oracles import KEY_TYPES, random_keys

import corank
from corank import aio
from corank._join import _room
from corank.testing import LocalServer

KINDS: tuple[Any, ...] = ("inner", "left", "right", "full", "semi", "anti")
MANY = np.zeros(50, np.int32)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_rows_are_those_of_the_oracle(corankd_client: corank.Client, key_type: str, how: Any) -> None:
    dtype = "bfloat16" if key_type == "bfloat16" else None
    for at, (left_count, right_count) in enumerate([(0, 0), (0, 5), (7, 0), (1, 1), (300, 200), (64, 900)]):
        rng = np.random.default_rng([KEY_TYPES.index(key_type), KINDS.index(how), at])
        # Keys occur several times, and have partners on the other side.
        left = np.tile(random_keys(rng, key_type, left_count // 3 + 1), 3)[:left_count]
        right = np.concatenate([left[: right_count // 2], random_keys(rng, key_type, right_count)])[:right_count]
        is_sorted = at % 2 == 1
        if is_sorted:
            right = right[oracles.argsort(right, key_type, False)]
        found = oracles.join(left, right, key_type, how)
        got: Any = corankd_client.join(left, right, how, right_sorted=is_sorted, dtype=dtype)
        if how in ("semi", "anti"):
            got = (got, found[1])
        for ours, theirs in zip(got, found):
            assert ours.dtype == np.int32
            np.testing.assert_array_equal(ours, theirs)
        assert corankd_client.count_join(left, right, how, right_sorted=is_sorted, dtype=dtype) == found[0].size


@pytest.mark.parametrize("place", ["inline", "stream"])
def test_a_join_with_more_rows_than_both_sides_is_called_again(corankd_client: corank.Client, place: Any) -> None:
    left, right = corankd_client.join(MANY, MANY, place=place)
    np.testing.assert_array_equal(left, np.repeat(np.arange(50), 50))
    np.testing.assert_array_equal(right, np.tile(np.arange(50), 50))


def test_an_asyncio_client_calls_again_too(corankd: LocalServer) -> None:
    async def run() -> Any:
        async with aio.connect(corankd.address) as client:
            return await client.join(MANY, MANY), await client.count_join(MANY, MANY)

    (left, _), count = asyncio.run(run())
    assert left.size == count == 2500


def test_max_rows_bounds_the_result(corankd_client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument, match="2500 rows") as caught:
        corankd_client.join(MANY, MANY, max_rows=2499)
    assert (caught.value.reason, caught.value.field, caught.value.rows) == ("TOO_MANY_ROWS", "max_rows", 2500)
    assert corankd_client.join(MANY, MANY, max_rows=2500)[0].size == 2500
    with pytest.raises(corank.InvalidArgument, match="max_rows"):
        corankd_client.join(MANY, MANY, max_rows=-1)


def test_arrays_of_out_hold_the_rows(corankd_client: corank.Client) -> None:
    count = corankd_client.count_join(MANY, MANY)
    out = np.zeros(count, np.int32), np.zeros(count, np.int32)
    left, right = corankd_client.join(MANY, MANY, max_rows=count, out=out)
    assert left is out[0]
    assert right is out[1]
    np.testing.assert_array_equal(left, np.repeat(np.arange(50), 50))
    with pytest.raises(corank.InvalidArgument) as caught:
        corankd_client.join(MANY, MANY, out=out)  # no second call
    assert caught.value.rows == count


def test_an_unsorted_right_side_is_named(corankd_client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        corankd_client.join([1, 2], [3, 1, 2], right_sorted=True)
    assert (caught.value.reason, caught.value.field) == ("KEYS_NOT_SORTED", "right")


def test_sides_are_of_one_dtype(fake_client: corank.Client) -> None:
    with pytest.raises(TypeError, match="right is float64, left is int64"):
        fake_client.join(np.array([1]), np.array([1.0]))
    with pytest.raises(corank.InvalidArgument, match="how"):
        fake_client.join([1], [1], "outer")  # type: ignore[call-overload]


def test_dates_and_not_a_time_have_partners(client: corank.Client) -> None:
    left = np.array(["2026-01-01", "NaT"], "datetime64[D]")
    right = np.array(["NaT", "2026-01-02", "NaT"], "datetime64[D]")
    rows = client.join(left, right, "full")
    np.testing.assert_array_equal(rows, [[0, 1, 1, -1], [-1, 0, 2, 1]])


def test_rows_stay_on_the_server(fake_client: corank.Client) -> None:
    left, right = fake_client.join([5, 1, 5], [7, 5], "left", keep=("join-left", "join-right"))
    np.testing.assert_array_equal(left.fetch(), [0, 1, 2])
    np.testing.assert_array_equal(right.fetch(), [1, -1, 1])


def test_a_chain_goes_on_with_rows(client: corank.Client) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 90, count).astype(np.int16) for count in (400, 300))
    with client.chain() as chain:
        distinct = chain.unique(b)
        rows, others = chain.join(a, distinct, "left")
        assert "? x int32" in repr(rows)
        partners = chain.unique(others)
        some = chain.join(a, distinct, "semi", right_sorted=True)
        count = chain.count_join(distinct, a, "anti")
        joined, _ = chain.join(b, b, max_rows=10_000)
        rows_of_rows = chain.join(rows, some, "anti")
    keys = np.unique(b)
    found = oracles.join(a, keys, "int16", "left")
    np.testing.assert_array_equal(partners.result(), np.unique(found[1]))
    semi = oracles.join(a, keys, "int16", "semi")[0]
    np.testing.assert_array_equal(rows_of_rows.result(), np.setdiff1d(found[0], semi))
    np.testing.assert_array_equal(count.result(), [np.setdiff1d(keys, a).size])
    np.testing.assert_array_equal(joined.result(), oracles.join(b, b, "int16", "inner")[0])
    with pytest.raises(RuntimeError, match="stayed on the server"):
        rows.result()


def test_a_chain_with_too_many_rows_fails(corankd_client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught, corankd_client.chain() as chain:
        chain.join(MANY, MANY)
    assert (caught.value.reason, caught.value.rows) == ("TOO_MANY_ROWS", 2500)


def test_results_have_room_for_the_rows_that_the_server_plans() -> None:
    for left, right, max_rows, rooms in (
        (5, 3, None, (8, 8, 8, 8, 5, 5)),
        (5, 3, 100, (15, 15, 15, 15, 5, 5)),
        (5, 3, 4, (4, 4, 4, 4, 4, 4)),
        (5, 0, None, (0, 5, 0, 5, 5, 5)),
        (0, 3, None, (0, 0, 3, 3, 0, 0)),
        (None, 3, None, (None, None, None, None, None, None)),
        (5, None, None, (None, None, None, None, 5, 5)),
        (None, 3, 7, (7, 7, 7, 7, 7, 7)),
    ):
        assert tuple(_room(how, left, right, max_rows) for how in KINDS) == rooms
