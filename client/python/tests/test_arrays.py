"""Arrays that the client takes and converts, and arrays that it refuses before it sends them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer

import corank


@pytest.mark.parametrize(
    "keys",
    [
        [3, 1, 2],
        (3.5, -1.0),
        range(5, 0, -1),
        np.arange(20, dtype=np.int32)[::-3],
        np.arange(24, dtype=np.uint16).reshape(4, 6)[:, 2],
        np.arange(9, 0, -1, dtype=">i4"),
        np.array([2.5, -1.0, np.nan], dtype=">f8"),
        np.array([True, False, True]),
        np.broadcast_to(np.int16(7), 5),
    ],
    ids=["list", "tuple", "range", "strided", "column", "big-endian-int", "big-endian-float", "bool", "broadcast"],
)
def test_array_likes_are_converted(client: corank.Client, keys: Any) -> None:
    expected = np.sort(np.asarray(keys), kind="stable")
    got = client.sort(keys)
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype.newbyteorder("<")


def test_big_endian_values_come_back_big_endian(client: corank.Client) -> None:
    _, values = client.sort([2, 1], values=np.array([1000, 2000], dtype=">u4"))
    assert values.dtype == np.dtype(">u4")
    np.testing.assert_array_equal(values, [2000, 1000])


def test_bfloat16_of_ml_dtypes_is_a_key_type(client: corank.Client) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    keys = np.array([1.5, -2, np.nan, -0.0, 0.0], dtype=bfloat16)
    got = client.sort(keys)
    assert got.dtype == keys.dtype
    np.testing.assert_array_equal(got.view(np.uint16), keys[[1, 3, 4, 0, 2]].view(np.uint16))
    np.testing.assert_array_equal(client.search(got, np.array([0.0, 2.0], dtype=bfloat16)), [1, 4])


def test_results_are_writable_unless_views_are_asked_for(client: corank.Client) -> None:
    keys = np.array([3, 1, 2], dtype=np.int64)
    assert client.sort(keys).flags.writeable
    assert client.argsort(keys).flags.writeable
    view = client.sort(keys, copy=False)
    assert not view.flags.writeable
    np.testing.assert_array_equal(view, [1, 2, 3])


def test_index_dtype_none_keeps_what_the_server_sent(client: corank.Client) -> None:
    assert client.argsort([2, 1], index_dtype=None).dtype == np.uint32
    assert client.argsort([2, 1], index_dtype=np.int16).dtype == np.int16
    assert client.search([1, 2], [2], index_dtype=None).dtype == np.uint32
    assert client.load_balance([2, 1], index_dtype=None).ranks.dtype == np.uint32


NARROW: list[tuple[str, Any]] = [
    ("argsort", lambda client, **given: client.argsort(np.zeros(70_000, np.uint8), **given)),
    ("argsort with limit", lambda client, **given: client.argsort(np.zeros(70_000, np.uint8), limit=5, **given)),
    ("search", lambda client, **given: client.search(np.zeros(32_768, np.uint8), np.zeros(5, np.uint8), **given)),
    ("objects", lambda client, **given: client.load_balance(np.eye(1, 32_769, 32_768, np.int8)[0], **given)),
    ("ranks", lambda client, **given: client.load_balance([32_769], **given)),
]


@pytest.mark.parametrize(("name", "call"), NARROW, ids=[name for name, _ in NARROW])
@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_positions_do_not_go_into_integers_that_do_not_hold_them(
    fake: FakeServer, fake_client: corank.Client, name: str, call: Any, place: Any
) -> None:
    count = call(fake_client, index_dtype=None)
    length = count[0].size if name in ("objects", "ranks") else count.size
    fake.requests.clear()
    fake.executor.plans.clear()
    for dtype, message in ((np.int16, "int16 holds 32,767 at most"), (np.float64, "do not go into float64")):
        with pytest.raises(TypeError, match=f"index_dtype: .*{message}"):
            call(fake_client, index_dtype=dtype, place=place)
        out = tuple(np.empty(length, dtype) for _ in range(2 if name in ("objects", "ranks") else 1))
        with pytest.raises(TypeError, match=f"out: .*{message}"):
            call(fake_client, out=out, place=place)
        with pytest.raises(TypeError, match=f"index_dtype: .*{message}"):
            fake_client.argsort_columns([np.zeros(70_000, np.uint8)], index_dtype=dtype, place=place)
    assert fake.requests == []
    assert fake.executor.plans == []
    # The next wider ones do.
    wide = call(fake_client, index_dtype=np.uint32, place=place)
    out = tuple(np.empty(length, np.int32) for _ in range(2 if name in ("objects", "ranks") else 1))
    narrow = call(fake_client, out=out, place=place)
    np.testing.assert_array_equal(narrow, wide)


def test_positions_go_into_the_narrowest_integers_that_hold_them(client: corank.Client) -> None:
    keys = np.arange(256)[::-1].astype(np.float32)
    np.testing.assert_array_equal(client.argsort(keys, index_dtype=np.uint8), keys.astype(np.uint8))
    assert client.argsort(keys[:0], index_dtype=np.int8).size == 0
    np.testing.assert_array_equal(client.search([1] * 127, [2], index_dtype=np.int8), [127])
    balance = client.load_balance([100, 100, 128], index_dtype=np.int8)
    np.testing.assert_array_equal(balance.ranks[-128:], np.arange(128))


def test_positions_that_may_go_anywhere_need_64_bits(fake_client: corank.Client) -> None:
    counts = fake_client.store("counts", np.array([3, 200]))
    with pytest.raises(TypeError, match=r"index_dtype: int32 .*not known yet: use int64"):
        fake_client.load_balance(counts, index_dtype=np.int32)
    np.testing.assert_array_equal(fake_client.load_balance(counts).ranks[3:], np.arange(200))
    # The length of out= says how many there are.
    out = np.empty(203, np.uint8), np.empty(203, np.uint8)
    np.testing.assert_array_equal(fake_client.load_balance(counts, out=out).ranks[3:], np.arange(200))
    with pytest.raises(TypeError, match="int8 holds 127 at most"):
        fake_client.load_balance(counts, out=(np.empty(203, np.uint8), np.empty(203, np.int8)))


@pytest.mark.parametrize("array", [np.zeros((2, 3)), np.zeros((0, 4)), 5], ids=["2-d", "empty 2-d", "scalar"])
def test_other_than_one_dimension_is_refused_with_a_hint(fake: FakeServer, array: Any) -> None:
    with corank.connect(fake.address) as client, pytest.raises(corank.InvalidArgument, match="1 dimension") as caught:
        client.sort(array)
    assert caught.value.field == "keys"
    assert fake.requests == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (np.zeros(2, "V4"), "records can be values"),
        (np.zeros(2, complex), "complex128 cannot be compared"),
        (np.array([object()]), "Python objects"),
        (np.ma.masked_array([1, 2], mask=[True, False]), "masked"),
    ],
    ids=["record", "complex", "object", "masked"],
)
def test_keys_without_order_are_refused(fake_client: corank.Client, keys: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fake_client.sort(keys)


def test_arguments_that_do_not_fit_are_refused_before_they_are_sent(fake: FakeServer) -> None:
    one = np.ones(3, np.float32)
    with corank.connect(fake.address) as client:
        with pytest.raises(TypeError, match="cannot be read as bfloat16"):
            client.sort(one, dtype="bfloat16")
        with pytest.raises(TypeError, match=r"keys\[1\] is float64"):
            client.merge([one, one.astype(np.float64)])
        with pytest.raises(TypeError, match=r"values\[1\] is int16"):
            client.merge([one, one], values=[np.ones(3, np.int8), np.ones(3, np.int16)])
        with pytest.raises(TypeError, match="300 bytes"):
            client.expand(np.zeros(2, "V300"), [1, 1])
        with pytest.raises(TypeError, match="must be integers"):
            client.expand([1, 2], [1.0, 2.0])
        with pytest.raises(corank.InvalidArgument, match=r"counts\[1\].*more than 2\^63"):
            client.expand([1, 2], np.array([1, 2**63], dtype=np.uint64))
        with pytest.raises(TypeError, match="destination is int8, source is int16"):
            client.scatter(np.ones(1, np.int16), [0], [1], destination=np.ones(1, np.int8))
        with pytest.raises(corank.InvalidArgument, match="none of 'auto', 'mergesort'") as caught:
            client.sort(one, algorithm="bogo")  # type: ignore[call-overload]
        assert caught.value.field == "algorithm"
        with pytest.raises(corank.InvalidArgument, match="none of 'left', 'right'"):
            client.search(one, one, side="middle")  # type: ignore[call-overload]
        with pytest.raises(corank.InvalidArgument, match="none of 'low', 'normal', 'high'"):
            client.sort(one, priority="urgent")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="'dead_line'"):
            client.sort(one, dead_line=3)  # type: ignore[call-overload]
        with pytest.raises(corank.InvalidArgument, match="needs 2 arrays"):
            client.merge([])
    assert fake.requests == []


def test_needles_are_converted_only_without_loss(client: corank.Client) -> None:
    haystack = np.array([10, 20, 30], dtype=np.uint8)
    np.testing.assert_array_equal(client.search(haystack, [5, 20, 200]), [0, 1, 3])
    np.testing.assert_array_equal(client.search(haystack, [20.0]), [1])
    np.testing.assert_array_equal(client.search(np.array([1.0, 2.0], np.float32), [2, np.nan]), [1, 2])
    for needles in ([20.5], [256], [-1], [np.nan]):
        with pytest.raises(TypeError, match=r"needles\[0\]"):
            client.search(haystack, needles)
    with pytest.raises(TypeError, match="is not a int64"):
        client.search(np.array([1, 2]), np.array([2**63], dtype=np.uint64))


def test_needles_of_another_kind_are_refused(fake: FakeServer, fake_client: corank.Client) -> None:
    for haystack, needles in (
        (np.arange(5), np.array(["1970-01-03"], "M8[D]")),
        (np.arange(5), np.array([2], "m8[s]")),
        (np.arange(5.0), np.array([1 + 2j])),
        (np.arange(5.0), np.array(["1"])),
    ):
        with pytest.raises(TypeError, match=r"needles: .* is no kind of number"):
            fake_client.search(haystack, needles)
    assert fake.requests == []
    np.testing.assert_array_equal(fake_client.search(np.arange(5), np.array([True])), [1])


@pytest.mark.filterwarnings("error")
def test_needles_that_are_nan_warn_of_nothing(client: corank.Client) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    np.testing.assert_array_equal(client.search(np.array([1, 2], bfloat16), np.array([1, np.nan])), [0, 2])
    np.testing.assert_array_equal(client.search(np.array([1.0, 2.0]), np.array([2, np.nan], bfloat16)), [1, 2])


def test_key_types_may_be_said_in_the_words_of_numpy(client: corank.Client) -> None:
    bits = np.array([1.5, -2.0], np.float32).view(np.uint32)
    for dtype in ("float32", np.float32, np.dtype(">f4"), "f4"):
        np.testing.assert_array_equal(client.sort(bits, dtype=dtype), bits[::-1])
    unknown: Any
    for unknown in ("bogus", np.complex64, 5):
        with pytest.raises(TypeError, match=r"dtype: .*is no key type; these are int8"):
            client.sort(bits, dtype=unknown)


def test_values_of_merge_are_as_many_as_its_keys(fake: FakeServer, fake_client: corank.Client) -> None:
    for values in ([], [[1]], [[1], [2], [3]]):
        with pytest.raises(corank.InvalidArgument, match=rf"values: {len(values)} arrays for the 2 of keys"):
            fake_client.merge([[1], [2]], values=values)
    assert fake.requests == []


def test_unused_destination_elements_are_zero_or_kept(client: corank.Client) -> None:
    source = np.array([1, 2, 3], dtype=np.int8)
    np.testing.assert_array_equal(client.move(source, [1], [3], [2], destination=6), [0, 0, 0, 2, 3, 0])
    into = np.full(4, 9, np.int8)
    np.testing.assert_array_equal(client.move(source, [0], [0], [1], destination=into), [1, 9, 9, 9])
    np.testing.assert_array_equal(into, [9, 9, 9, 9])
    np.testing.assert_array_equal(
        client.move(source, [0, 0], [0, 0], [1, 1], destination=np.int64(2), allow_overlap=True), [1, 0]
    )
