"""group, unique and run_length_encode on every type, against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from fake_server import FakeServer
from oracles import KEY_TYPES, bits, random_keys, storage

import corank

ALL: Any = ["keys", "counts", "firsts", "sums", "minima", "maxima"]
# Around the sizes at which the engines take other ways: a warp, a tile of the GPU's compaction, a piece of the CPU's.
SIZES = (0, 1, 2, 31, 33, 1000, 2047, 2049, 4097)


def dtype_argument(key_type: str) -> str | None:
    """The value of dtype=: uint16 arrays hold bfloat16."""
    return "bfloat16" if key_type == "bfloat16" else None


def generator(*seed: object) -> np.random.Generator:
    """A generator that a failing test's parameters name."""
    return np.random.default_rng([sum(map(ord, str(part))) for part in seed])


def summable(rng: np.random.Generator, value_type: str, count: int) -> Any:
    """Values whose sums fit: floats of every kind, and integers of no more than 48 bits."""
    values = random_keys(rng, value_type, count)
    return values >> 16 if value_type in ("int64", "uint64") else values


@pytest.mark.parametrize("arrangement", ["unsorted", "sorted", "runs"])
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_groups_are_those_of_the_oracle(client: corank.Client, key_type: str, arrangement: Any) -> None:
    # Each type of values meets another type of keys.
    value_type = KEY_TYPES[(KEY_TYPES.index(key_type) * 5 + 3) % len(KEY_TYPES)]
    for count in SIZES if key_type in ("int32", "float32") else SIZES[:6]:
        for descending in (False, True) if arrangement != "runs" else (False,):
            rng = generator(key_type, arrangement, count, descending)
            keys = random_keys(rng, key_type, count)
            if arrangement == "sorted":
                keys = keys[oracles.argsort(keys, key_type, descending)]
            if arrangement == "runs":
                keys = np.repeat(keys, rng.integers(1, 4, count))[:count]
            values = summable(rng, value_type, count)
            order, starts, counts = oracles.groups(keys, key_type, arrangement, descending)
            moved = values[order]
            got = client.group(
                keys,
                values=values,
                results=ALL,
                arrangement=arrangement,
                descending=descending,
                dtype=dtype_argument(key_type),
                value_dtype=dtype_argument(value_type),
            )
            wanted = corank.Groups(
                keys[order][starts],
                counts.astype(np.int64),
                order[starts].astype(np.intp),
                oracles.sums(moved, value_type, starts, counts),
                oracles.extremes(moved, value_type, starts, counts, False),
                oracles.extremes(moved, value_type, starts, counts, True),
            )
            for name, found, expected in zip(ALL, got, wanted):
                assert found.dtype == expected.dtype, (name, count)
                np.testing.assert_array_equal(bits(found), bits(expected), f"{name} of {count}")


@pytest.mark.parametrize("value_type", KEY_TYPES)
def test_values_travel_with_their_keys_when_no_position_is_wanted(client: corank.Client, value_type: str) -> None:
    rng = generator(value_type)
    keys, values = rng.integers(0, 30, 3000), summable(rng, value_type, 3000)
    order, starts, counts = oracles.groups(keys, "int64")
    got = client.group(keys, values=values, results=["sums", "maxima"], value_dtype=dtype_argument(value_type))
    assert all(each is None for each in (got.keys, got.counts, got.firsts, got.minima))
    np.testing.assert_array_equal(bits(got.sums), bits(oracles.sums(values[order], value_type, starts, counts)))
    expected = oracles.extremes(values[order], value_type, starts, counts, True)
    np.testing.assert_array_equal(bits(got.maxima), bits(expected))


@pytest.mark.parametrize("arrangement", ["unsorted", "sorted", "runs"])
@pytest.mark.parametrize("value_type", KEY_TYPES)
def test_null_values_take_part_in_no_result(client: corank.Client, value_type: str, arrangement: Any) -> None:
    for count, present in [(0, 0.5), (1, 0.0), (33, 0.1), (1000, 0.5), (2049, 0.9)]:
        rng = generator(value_type, arrangement, count)
        keys, values = rng.integers(0, 1 + count // 4, count), summable(rng, value_type, count)
        keys = np.sort(keys) if arrangement == "sorted" else keys
        valid = rng.random(count) < present
        order, starts, counts = oracles.groups(keys, "int64", arrangement, False)
        got = client.group(
            keys,
            values=values,
            values_validity=np.packbits(valid, bitorder="little"),
            results=["sums", "minima", "maxima", "value_counts"],
            arrangement=arrangement,
            value_dtype=dtype_argument(value_type),
        )
        groups = (values[order], value_type, starts, counts)
        wanted = {
            "sums": oracles.sums(*groups, valid[order]),
            "minima": oracles.extremes(*groups, False, valid[order]),
            "maxima": oracles.extremes(*groups, True, valid[order]),
            "value_counts": np.array([valid[order][at : at + n].sum() for at, n in zip(starts, counts)], np.int64),
        }
        for name, expected in wanted.items():
            np.testing.assert_array_equal(bits(getattr(got, name)), bits(expected), f"{name} of {count}")


@pytest.mark.parametrize("distinct_keys", [1, 5000])
def test_one_group_and_as_many_groups_as_keys(client: corank.Client, distinct_keys: int) -> None:
    keys = generator(1).permutation(np.arange(5000, dtype=np.int32) % distinct_keys)
    got = client.group(keys, values=keys, results=ALL)
    distinct, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    for found, wanted in zip(got, (distinct, counts, firsts, distinct * counts, distinct, distinct)):
        np.testing.assert_array_equal(found, wanted)


def test_the_order_of_the_keys_changes_no_integer(client: corank.Client) -> None:
    rng = generator(2)
    keys, values = rng.integers(-40, 40, 4000).astype(np.int8), rng.integers(-(2**40), 2**40, 4000)
    names: Any = ["keys", "counts", "sums", "minima", "maxima"]
    wanted = client.group(keys, values=values, results=names)
    shuffled = rng.permutation(4000)
    got = client.group(keys[shuffled], values=values[shuffled], results=names)
    for name in names:
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name), name)


def test_the_first_key_of_a_group_keeps_its_bits(client: corank.Client) -> None:
    keys = np.array([0xFFC00001, 0x80000000, 0, 0x7FC00002], np.uint32).view(np.float32)
    assert bits(client.unique(keys)).tolist() == [0x80000000, 0xFFC00001]
    assert bits(client.unique(keys[::-1])).tolist() == [0, 0x7FC00002]


def test_unique_is_that_of_numpy(client: corank.Client) -> None:
    for keys in (generator(3).integers(0, 99, 1000), np.array([], np.uint8), np.array([True, False, True])):
        got = client.unique(keys)
        assert got.dtype == keys.dtype
        np.testing.assert_array_equal(got, np.unique(keys))
        np.testing.assert_array_equal(client.unique(keys, descending=True), np.unique(keys)[::-1])


def test_runs_repeat_to_the_array(client: corank.Client) -> None:
    array = np.repeat(generator(4).integers(0, 3, 500), generator(5).integers(0, 9, 500))
    keys, counts = client.run_length_encode(array)
    np.testing.assert_array_equal(np.repeat(keys, counts), array)
    assert (keys[1:] != keys[:-1]).all()


def test_dates_are_keys_and_values(client: corank.Client) -> None:
    days = np.array(["2024-03-02", "NaT", "2024-03-01", "2024-03-02", "NaT"], "datetime64[D]")
    times = np.array([5, "NaT", 7, 3, 1], "timedelta64[s]")
    got = client.group(days, values=times, results=["keys", "counts", "minima", "maxima"])
    np.testing.assert_array_equal(got.keys, np.array(["2024-03-01", "2024-03-02", "NaT"], "datetime64[D]"))
    np.testing.assert_array_equal(got.counts, [1, 2, 2])
    np.testing.assert_array_equal(got.minima, np.array([7, 3, 1], "timedelta64[s]"))
    np.testing.assert_array_equal(got.maxima, np.array([7, 5, "NaT"], "timedelta64[s]"))
    np.testing.assert_array_equal(client.unique(days), got.keys)
    with pytest.raises(TypeError, match="dates and times have no sum"):
        client.group(days, values=times, results=["sums"])


def test_a_chain_goes_on_with_groups(client: corank.Client) -> None:
    keys = generator(6).integers(0, 40, 3000).astype(np.uint16)
    with client.chain() as chain:
        ordered = chain.sort(keys)
        found = chain.group(ordered, values=ordered, results=["keys", "counts", "sums", "firsts"], arrangement="sorted")
        assert "? x uint16" in repr(found.keys)
        numbers, most_frequent = chain.sort(found.counts, values=found.keys, descending=True, limit=5)
        again = chain.expand(found.keys, found.counts)
        positions = chain.search(again, keys[:10])
        merged = chain.merge([found.keys, ordered])
        runs = chain.run_length_encode(again)
    distinct, counts = np.unique(keys, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:5]
    np.testing.assert_array_equal(most_frequent.result(), distinct[order])
    np.testing.assert_array_equal(numbers.result(), counts[order])
    np.testing.assert_array_equal(positions.result(), np.searchsorted(np.sort(keys), keys[:10]))
    np.testing.assert_array_equal(merged.result(), np.sort(np.concatenate([distinct, keys])))
    np.testing.assert_array_equal(runs[0].result(), distinct)
    np.testing.assert_array_equal(runs[1].result(), counts)
    np.testing.assert_array_equal(found.sums.result(), distinct.astype(np.uint64) * counts.astype(np.uint64))
    np.testing.assert_array_equal(found.firsts.result(), np.searchsorted(np.sort(keys), distinct))
    assert found.minima is None


def test_out_and_keep_follow_the_order_of_the_results(client: corank.Client) -> None:
    out = (np.zeros(2, np.int64), np.zeros(2, np.int16))
    keys = np.array([4, 2, 4], np.int16)
    got = client.group(keys, results=["counts", "keys"], out=out)
    assert got.counts is out[0]
    assert got.keys is out[1]
    assert [each.tolist() for each in out] == [[1, 2], [2, 4]]
    with pytest.raises(corank.InvalidArgument, match="out: has 3 elements, the result has 2"):
        client.unique(keys, out=np.zeros(3, np.int16))


def test_what_cannot_be_is_refused_before_the_call(fake: FakeServer, fake_client: corank.Client) -> None:
    x, v = [1, 2], [3, 4]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"results": []}, "results: is empty"),
        ({"results": ["counts", "counts"]}, "results: a name is there twice"),
        ({"results": ["count"]}, "results: 'count' is none of 'keys', 'counts'"),
        ({"results": ["sums"]}, "values: missing, but results names 'sums'"),
        ({"values": v}, "values: results names none of sums, minima, maxima, value_counts"),
        ({"values_validity": np.array([3], np.uint8)}, "values_validity: there are no values"),
        ({"arrangement": "sortd"}, "arrangement: 'sortd' is none of 'unsorted'"),
    ]
    for options, text in wrong:
        with pytest.raises(ValueError, match=text):
            fake_client.group(x, **options)
    with pytest.raises(TypeError, match="cannot be compared"):
        fake_client.unique(np.array(["a", "b"]))
    assert fake.requests == []


def test_the_server_names_what_it_refuses(client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as unsorted:
        client.group([1, 3, 2], arrangement="sorted")
    assert unsorted.value.field == "keys"
    with pytest.raises(corank.InvalidArgument) as overflow:
        client.group([1, 2, 2], values=[0, 2**62, 2**62], results=["sums"])
    assert overflow.value.field == "values"
    assert storage("int64") == np.int64
