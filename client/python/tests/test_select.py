"""select, argselect, partition, remove and insert, against NumPy."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import oracles
import pytest
from oracles import KEY_TYPES, bits, random_keys

import corank
from corank import aio
from corank.testing import LocalServer

COMPARISONS: dict[Any, str] = {
    "<": "LESS",
    "<=": "LESS_OR_EQUAL",
    "==": "EQUAL",
    "!=": "NOT_EQUAL",
    ">=": "GREATER_OR_EQUAL",
    ">": "GREATER",
}
SIZES = (0, 1, 7, 8, 9, 300)


def packed(mask: Any) -> Any:
    return np.packbits(mask, bitorder="little")


@pytest.mark.parametrize("dtype", ["u1", "<i4", "<f8", "V3", "S7", "V16", "M8[s]", "?"])
def test_flags_bits_and_positions_select_the_same(corankd_client: corank.Client, dtype: str) -> None:
    for count in SIZES:
        rng = np.random.default_rng(count)
        elements = rng.integers(0, 2, count * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
        values = rng.standard_normal(count)
        mask = rng.random(count) < 0.4
        positions = rng.permutation(np.repeat(np.flatnonzero(mask), 2))
        for how in ({"flags": mask}, {"bitmap": packed(mask)}, {"positions": positions}):
            options: Any = how
            for negate, kept in ((False, mask), (True, ~mask)):
                got = corankd_client.select(elements, negate=negate, **options)
                assert got.dtype == elements.dtype
                np.testing.assert_array_equal(got, elements[kept])
                moved: Any = corankd_client.select(elements, values=values, negate=negate, **options)
                np.testing.assert_array_equal(moved[0], elements[kept])
                np.testing.assert_array_equal(moved[1], values[kept])
                where = corankd_client.argselect(elements, negate=negate, **options)
                assert where.dtype == np.intp
                np.testing.assert_array_equal(where, np.flatnonzero(kept))
                order = np.concatenate([np.flatnonzero(kept), np.flatnonzero(~kept)])
                parted: Any = corankd_client.partition(elements, values=values, negate=negate, **options)
                np.testing.assert_array_equal(parted[0], elements[order])
                np.testing.assert_array_equal(parted[1], values[order])
                assert parted[2] == kept.sum()


@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_a_threshold_compares_as_sort_orders(corankd_client: corank.Client, key_type: str) -> None:
    dtype = "bfloat16" if key_type == "bfloat16" else None
    for count in SIZES:
        rng = np.random.default_rng([KEY_TYPES.index(key_type), count])
        keys = random_keys(rng, key_type, count + 1)
        threshold, keys = keys[count // 2 : count // 2 + 1], keys[1:]
        for comparison, name in COMPARISONS.items():
            holds = oracles.compares(keys, threshold, key_type, f"COMPARISON_{name}")
            got = corankd_client.select(keys, comparison=comparison, threshold=threshold[0], dtype=dtype)
            np.testing.assert_array_equal(bits(got), bits(keys[holds]), err_msg=f"{comparison} {threshold}")


def test_remove_is_that_of_numpy(corankd_client: corank.Client) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 9, 2000):
        elements = rng.integers(0, 1000, count)
        for positions in ([], [0], [count - 1, 0], [-1], rng.integers(-count, count, count // 2)):
            expected = np.delete(elements, np.asarray(positions, np.int64))
            np.testing.assert_array_equal(corankd_client.remove(elements, np.asarray(positions, np.int64)), expected)
    left: Any = corankd_client.remove([1, 2, 3], [1], values=np.array([b"a", b"b", b"c"]))
    np.testing.assert_array_equal(left[1], [b"a", b"c"])


def test_insert_is_that_of_numpy(corankd_client: corank.Client) -> None:
    rng = np.random.default_rng(6)
    for count in (0, 1, 9, 2000):
        elements = rng.integers(0, 1000, count)
        for many in (0, 1, 3, 50, 3000):
            for spread in (1, count + 1):
                positions = rng.integers(0, spread, many)
                inserted = np.arange(many) + 10_000
                expected = np.insert(elements, positions, inserted)
                np.testing.assert_array_equal(corankd_client.insert(elements, positions, inserted), expected)
        ends = np.array([-1, count, 0, -count])
        if count:
            np.testing.assert_array_equal(corankd_client.insert(elements, ends, 7), np.insert(elements, ends, 7))
    records = np.array([b"abc", b"def"], "V3")
    np.testing.assert_array_equal(corankd_client.insert(records, [1], records[:1]), records[[0, 0, 1]])


def test_an_asyncio_client_selects_too(corankd: LocalServer) -> None:
    async def run() -> Any:
        async with aio.connect(corankd.address) as client:
            first = await client.partition([5, 6, 7], [False, True, False])
            return first, await client.remove([5, 6, 7], [0]), await client.insert([5], [0], [1])

    (elements, count), left, more = asyncio.run(run())
    assert (elements.tolist(), count, left.tolist(), more.tolist()) == ([6, 5, 7], 1, [6, 7], [1, 5])


def test_dates_and_not_a_time_are_compared(client: corank.Client) -> None:
    days = np.array(["2026-01-03", "NaT", "2026-01-01"], "datetime64[D]")
    np.testing.assert_array_equal(client.select(days, comparison=">", threshold=np.datetime64("2026-01-02")), days[:2])
    np.testing.assert_array_equal(client.select(days, comparison="==", threshold=np.datetime64("NaT", "D")), days[1:2])
    parted: Any = client.partition(days, comparison="<", threshold=np.datetime64("2026-01-02"))
    np.testing.assert_array_equal(parted[0], days[[2, 0, 1]])
    np.testing.assert_array_equal(client.argselect(days, comparison="!=", threshold=days[0]), [1, 2])


def test_results_go_into_out(client: corank.Client) -> None:
    out = np.zeros(2, np.int64)
    assert client.select([5, 6, 7], [True, False, True], out=out) is out
    np.testing.assert_array_equal(out, [5, 7])


def test_results_stay_on_the_server(fake_client: corank.Client) -> None:
    client = fake_client
    kept = client.remove([5, 6, 7], [1], keep="rest")
    np.testing.assert_array_equal(kept.fetch(), [5, 7])
    elements, count = client.partition([5, 6, 7], [False, False, True], keep=("parted", "number"))
    np.testing.assert_array_equal(elements.fetch(), [7, 5, 6])
    np.testing.assert_array_equal(count.fetch(), [1])
    np.testing.assert_array_equal(client.select(elements, comparison=">", threshold=5), [7, 6])


def test_a_chain_goes_on_with_selected_elements(client: corank.Client) -> None:
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 50, 400).astype(np.int16)
    with client.chain() as chain:
        ordered = chain.sort(keys)
        high = chain.select(ordered, comparison=">", threshold=20)
        assert "? x int16" in repr(high)
        distinct, counts = chain.group(high, arrangement="sorted", results=("keys", "counts"))[:2]
        frequent, moved = chain.select(distinct, values=counts, comparison="!=", threshold=30, negate=True)
        front, values, number = chain.partition(ordered, positions=[0, 5], values=keys)
        where = chain.argselect(counts, comparison=">=", threshold=9)
        rest = chain.remove(ordered, np.arange(390))
        more = chain.insert(keys, [0], 7)
    expected, found = np.unique(keys[keys > 20], return_counts=True)
    np.testing.assert_array_equal(frequent.result(), [30])
    np.testing.assert_array_equal(moved.result(), found[expected == 30])
    np.testing.assert_array_equal(where.result(), np.flatnonzero(found >= 9))
    np.testing.assert_array_equal(front.result()[:2], np.sort(keys)[[0, 5]])
    np.testing.assert_array_equal(values.result()[:2], keys[[0, 5]])
    np.testing.assert_array_equal(number.result(), [2])
    np.testing.assert_array_equal(rest.result(), np.sort(keys)[390:])
    np.testing.assert_array_equal(more.result(), np.insert(keys, 0, 7))
    with pytest.raises(RuntimeError, match="stayed on the server"):
        high.result()


def test_a_chain_refuses_what_it_cannot_select(client: corank.Client) -> None:
    days = np.array(["2026-01-03", "NaT"], "datetime64[D]")
    with pytest.raises(TypeError), client.chain() as chain:
        chain.select(days, comparison="<", threshold=days[0])
    with pytest.raises(TypeError, match="elements: must be in this process"), client.chain() as chain:
        chain.insert(chain.sort([1]), [0], [1])
    with pytest.raises(corank.InvalidArgument) as caught, client.chain() as chain:
        chain.remove(chain.sort([1, 2]), [0, 2])
    assert caught.value.field.endswith("positions[1]")


def test_wrong_arguments_are_named(fake_client: corank.Client) -> None:
    for arguments, field in (
        ({}, "flags"),
        ({"flags": [True], "positions": [0]}, "flags"),
        ({"comparison": "<"}, "flags"),
        ({"flags": [True], "comparison": "<"}, "comparison"),
        ({"threshold": 1}, "comparison"),
        ({"comparison": "=", "threshold": 1}, "comparison"),
        ({"positions": [0, 1]}, "positions[1]"),
        ({"positions": [-2]}, "positions[0]"),
    ):
        options: Any = arguments
        with pytest.raises(corank.InvalidArgument) as caught:
            fake_client.select([5], **options)
        assert caught.value.field == field
    with pytest.raises(TypeError, match="flags: must be bools or uint8, are int64"):
        fake_client.select([5], [1])
    with pytest.raises(TypeError, match=r"threshold\[0\]: 2.5"):
        fake_client.select([5], comparison="<", threshold=2.5)
    with pytest.raises(corank.InvalidArgument, match=r"positions\[1\]: 2, must be -1 to 1"):
        fake_client.insert([5], [0, 2], [1, 2])
    with pytest.raises(corank.InvalidArgument, match="2 for 1 inserted"):
        fake_client.insert([5], [0, 1], [1])
    with pytest.raises(TypeError, match="positions: must be integers"):
        fake_client.insert([5], [0.5], [1])
    with pytest.raises(TypeError, match="elements: must be in this process"):
        fake_client.insert(fake_client.store("elements", [1]), [0], [1])
