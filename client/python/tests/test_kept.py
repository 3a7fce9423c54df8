"""Arrays that the server keeps, and chains of operators, against the test double."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import operator_cases
import pytest
from fake_server import FakeServer
from numpy.typing import NDArray
from operator_cases import same

import corank

KEYS = np.random.default_rng(7).integers(0, 2**32, 100_000, dtype=np.uint32)
RECORDS = np.zeros(1000, [("name", "S5"), ("when", ">u4")])
RECORDS["when"] = np.arange(1000)
CASES = {case.name: case for case in operator_cases.cases(40_000)}
SINGLE = ["sort", "limit", "merge", "expand", "gather", "move", "scatter"]


@pytest.mark.parametrize("array", [KEYS, KEYS[:0], RECORDS, KEYS[:99].view(np.float16), KEYS[:9] > 5])
def test_kept_arrays_come_back(fake_client: corank.Client, array: NDArray[Any]) -> None:
    kept = fake_client.store("x", array, expires=60)
    assert (kept.name, kept.count, len(kept), kept.dtype) == ("x", array.size, array.size, array.dtype)
    assert kept.fetch().tobytes() == array.tobytes()
    found = fake_client.stored("x")
    assert found.fetch().tobytes() == array.tobytes()
    out = np.zeros_like(array)
    assert kept.fetch(out=out) is out
    assert out.tobytes() == array.tobytes()


def test_kept_arrays_are_listed_and_forgotten(fake_client: corank.Client) -> None:
    fake_client.store("b", KEYS)
    fake_client.store("a", [1.0])
    listed = fake_client.arrays()
    assert [array.name for array in listed.arrays] == ["a", "b"]
    assert listed.used_bytes == KEYS.nbytes + 8
    assert listed.quota_bytes > 0
    fake_client.delete("a")
    listed.arrays[1].delete()
    assert fake_client.arrays().arrays == []
    for missing in (lambda: fake_client.delete("a"), listed.arrays[0].fetch, lambda: fake_client.stored("a")):
        with pytest.raises(corank.NotFound):
            missing()
    with pytest.raises(corank.NotFound):
        fake_client.sort(listed.arrays[1])


def test_sharded_arrays_and_results_are_asked_for_and_shown(fake: FakeServer, fake_client: corank.Client) -> None:
    kept = fake_client.store("x", KEYS, sharded=True)
    assert kept.sharded
    assert repr(kept) == "StoredArray('x', 100,000 x uint32, sharded)"
    ordered = fake_client.sort(kept, keep=corank.Sharded("ordered"))
    assert ordered.sharded
    assert type(ordered.name) is str
    assert fake.places.sharded == {"x", "ordered"}
    np.testing.assert_array_equal(ordered.fetch(), np.sort(KEYS))
    both = fake_client.sort(kept, values=KEYS, keep=("ordered", corank.Sharded("values")))
    assert [each.sharded for each in both] == [False, True]
    assert {each.name: each.sharded for each in fake_client.arrays().arrays} == {
        "ordered": False,
        "values": True,
        "x": True,
    }
    assert not fake_client.store("x", KEYS).sharded
    assert not fake_client.stored("x").sharded


@pytest.mark.parametrize("page_size", [1, 2, 3])
def test_lists_of_several_pages_come_back_whole(fake: FakeServer, fake_client: corank.Client, page_size: int) -> None:
    names = ["a", "b", "b.2", "c", "d", "e"]
    for name in names:
        fake_client.store(name, [1.0])
    fake.places.page_size = page_size
    assert [array.name for array in fake_client.arrays().arrays] == names
    assert fake_client.stored("e").fetch() == [1.0]
    pages = [method for method, _ in fake.headers if method.endswith("/ListArrays")]
    assert len(pages) == 2 * -(-len(names) // page_size)


def test_numbers_are_kept_as_numbers(fake_client: corank.Client) -> None:
    kept = fake_client.store("x", np.array([300, -1, 2], ">i4"))
    assert kept.dtype == np.dtype("<i4")
    np.testing.assert_array_equal(kept.fetch(), [300, -1, 2])
    np.testing.assert_array_equal(fake_client.sort(kept), [-1, 2, 300])
    np.testing.assert_array_equal(fake_client.sort(fake_client.store("x", np.array([True, False]))), [False, True])
    np.testing.assert_array_equal(fake_client.sort(fake_client.stored("x")), [0, 1])
    times = np.array(["2020-01-02", "2020-01-01"], "M8[D]")
    np.testing.assert_array_equal(fake_client.store("x", times).fetch(), times)


@pytest.mark.parametrize(
    "later", [np.array([1, 2]), np.array([1.5, 2.5]).view("V8"), np.array([1], np.float32)], ids=["i8", "V8", "f4"]
)
def test_array_that_replaced_a_kept_one_is_not_read_as_it(fake_client: corank.Client, later: NDArray[Any]) -> None:
    kept = fake_client.store("x", np.array([1.5, 2.5]))
    fake_client.store("x", later)
    with pytest.raises(corank.NotFound, match="x: is another array now"):
        kept.fetch()
    assert fake_client.stored("x").fetch().tobytes() == later.tobytes()
    fake_client.store("x", np.array([3.5]))  # of another length it is what was asked for
    np.testing.assert_array_equal(kept.fetch(), [3.5])


def test_out_of_fetch_must_fit(fake_client: corank.Client) -> None:
    kept = fake_client.store("x", np.arange(3))
    read_only = np.zeros(3, np.int64)
    read_only.flags.writeable = False
    for out, error, message in (
        ([0, 0, 0], TypeError, "do not go into a list"),
        (np.zeros(3), TypeError, "is float64, the result is int64"),
        (np.zeros((1, 3), np.int64), corank.InvalidArgument, "of 1 dimension"),
        (np.zeros(6, np.int64)[::2], corank.InvalidArgument, "dense"),
        (read_only, corank.InvalidArgument, "writable"),
        (np.zeros(2, np.int64), corank.InvalidArgument, "has 2 elements, the result has 3"),
    ):
        with pytest.raises(error, match=message):
            kept.fetch(out=out)


def test_options_that_would_be_ignored_are_refused(fake: FakeServer, fake_client: corank.Client) -> None:
    refused: list[dict[str, Any]] = [{"keep": "y"}, {"out": np.zeros(3)}]
    for given in refused:
        with pytest.raises(TypeError, match=rf"store\(\) takes no option '{next(iter(given))}'"):
            fake_client.store("x", [1.0], **given)
    assert fake.places.kept == {}
    with pytest.raises(TypeError, match=r"fetch\(\) takes no option 'keep'"):
        fake_client.store("x", [1.0]).fetch(keep="y")  # type: ignore[call-arg]


def test_positions_are_kept_as_the_server_makes_them(fake_client: corank.Client) -> None:
    for dtype in (None, np.intp, np.uint32):
        kept: Any = fake_client.argsort([3, 1, 2], keep="o", index_dtype=dtype)
        np.testing.assert_array_equal(kept.fetch(), np.array([1, 2, 0], np.uint32))
    with pytest.raises(TypeError, match="index_dtype: positions are kept as uint32, not as int16"):
        fake_client.argsort([3, 1, 2], keep="o", index_dtype=np.int16)
    with pytest.raises(TypeError, match="must be int64 where it is, is uint32; positions are"):
        fake_client.gather([1, 2, 3], kept, [1, 1, 1])
    with pytest.raises(corank.InvalidArgument, match="keep: a name is there twice"):
        fake_client.sort([1, 2], values=[1, 2], keep=("a", "a"))


@pytest.mark.parametrize("name", SINGLE)
def test_results_are_kept(fake: FakeServer, fake_client: corank.Client, name: str) -> None:
    stats: list[corank.Stats] = []
    case = CASES[name]
    handle = case.call(fake_client, lambda array: array, keep="result", on_stats=stats.append)
    assert isinstance(handle, corank.StoredArray)
    assert handle.count == case.expected[0].size
    same(handle.fetch(), case.expected)
    assert stats[0].response_bytes < 1000


def test_pairs_of_results_are_kept(fake_client: corank.Client) -> None:
    case = CASES["sort values"]
    keys, values = case.call(fake_client, lambda array: array, keep=("k", "v"))
    same((keys.fetch(), values.fetch()), case.expected)
    for keep in ("k", ("a", "b", "c")):
        with pytest.raises(corank.InvalidArgument, match="keep"):
            case.call(fake_client, lambda array: array, keep=keep)
    with pytest.raises(corank.InvalidArgument, match="not both"):
        fake_client.sort(KEYS, keep="k", out=KEYS.copy())  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("expires", "asked"),
    [(None, 0), (0.5, 1), (1, 1), (1.0, 1), (1.001, 2), (np.float32(3599.5), 3600), (2**62, 2**62)],
)
def test_expiry_is_rounded_up_to_whole_seconds(
    fake: FakeServer, fake_client: corank.Client, expires: Any, asked: int
) -> None:
    fake_client.store("x", [1.0], expires=expires)
    assert fake.places.expiry == {"x": asked}


@pytest.mark.parametrize("expires", [0, -1, float("nan"), float("inf"), 2**63])
def test_expiry_that_is_none_is_refused(fake: FakeServer, fake_client: corank.Client, expires: float) -> None:
    with pytest.raises(corank.InvalidArgument, match="expires"):
        fake_client.store("x", [1.0], expires=expires)
    assert fake.places.kept == {}


def test_bfloat16_is_kept_as_such(fake_client: corank.Client) -> None:
    bits = np.array([0x3F80, 0xBF80, 0x0000], np.uint16)  # 1, -1, 0
    kept = fake_client.store("x", bits, dtype="bfloat16")
    np.testing.assert_array_equal(fake_client.sort(kept), [0xBF80, 0x0000, 0x3F80])
    np.testing.assert_array_equal(fake_client.sort(bits, dtype="bfloat16", keep="y").fetch(), [0xBF80, 0, 0x3F80])


def test_chain_sends_one_call_and_brings_what_is_left(fake: FakeServer, fake_client: corank.Client) -> None:
    history = np.sort(KEYS[:50_000])
    fake_client.store("history", history)
    out = np.zeros(100, np.uint32)
    with fake_client.chain() as chain:
        ordered = chain.sort(KEYS)
        merged = chain.merge([ordered, fake_client.stored("history")])
        first = chain.gather(merged, [0], [100], out=out)
        where = chain.search(merged, KEYS[:1000])
    expected = np.sort(np.concatenate([KEYS, history]))
    assert first.result() is out
    np.testing.assert_array_equal(out, expected[:100])
    np.testing.assert_array_equal(where.result(), np.searchsorted(expected, KEYS[:1000]))
    assert where.result().dtype == np.intp
    assert fake.executor.calls == 1
    assert fake.requests == []
    for inner in (ordered, merged):
        with pytest.raises(RuntimeError, match="stayed on the server"):
            inner.result()
    assert [array.name for array in fake_client.arrays().arrays] == ["history"]


def test_chain_keeps_results_and_reports_each_operator(fake_client: corank.Client) -> None:
    stats: list[corank.Stats] = []
    with fake_client.chain(on_stats=stats.append) as chain:
        keys, rows = chain.sort(KEYS, values=np.arange(KEYS.size))
        kept = chain.merge([keys, keys], keep="twice")
    np.testing.assert_array_equal(rows.result(), np.argsort(KEYS, kind="stable"))
    np.testing.assert_array_equal(kept.result().fetch(), np.repeat(np.sort(KEYS), 2))
    assert [each.operator for each in stats] == ["Sort", "Merge"]


def test_chain_refuses_what_it_cannot_do(fake: FakeServer, fake_client: corank.Client) -> None:
    with fake_client.chain() as chain:
        ordered = chain.sort([3, 1, 2])
        with pytest.raises(TypeError, match=r"sort\(\) takes no option 'deadline'; give it to chain"):
            chain.sort([1], deadline=5)  # type: ignore[call-overload]
        with pytest.raises(RuntimeError):
            ordered.result()
        other = fake_client.chain().sort([1, 2])
        with pytest.raises(corank.InvalidArgument, match="another chain"):
            chain.sort(other)
        assert not hasattr(chain, "sort_columns")
        repeated = chain.expand([1, 2, 3], chain.sort(np.arange(3)))
        with pytest.raises(corank.InvalidArgument, match="its number of rows is not known before the answer"):
            chain.argsort_columns([repeated])
        for _ in range(13):
            chain.sort([1])
        with pytest.raises(corank.InvalidArgument, match="at most 16"):
            chain.sort([1])
    np.testing.assert_array_equal(ordered.result(), [1, 2, 3])
    with pytest.raises(RuntimeError, match="it has run; make another one"):
        chain.sort([1])
    with pytest.raises(corank.InvalidArgument, match="sends elsewhere"), fake_client.chain() as chain:  # noqa: PT012
        kept = chain.sort([3, 1, 2], keep="x")
        chain.sort(kept)
    calls = fake.executor.calls
    with pytest.raises(ZeroDivisionError), fake_client.chain() as chain:
        chain.sort([1 // 0])
    with fake_client.chain():
        pass
    assert fake.executor.calls == calls


def test_chain_that_broke_off_sends_what_later_operators_take_as_it_was(
    fake: FakeServer, fake_client: corank.Client
) -> None:
    fake.executor.break_off = 2
    stats: list[corank.Stats] = []
    b, c = np.sort(KEYS[::-1] // 2), np.sort(KEYS // 3)
    expected = np.sort(np.concatenate([b, c]))
    with fake_client.chain(on_stats=stats.append) as chain:
        ordered = chain.sort(KEYS, out=b)
        merged = chain.merge([b, c])
    assert stats[0].attempts == 2
    np.testing.assert_array_equal(merged.result(), expected)
    assert ordered.result() is b
    np.testing.assert_array_equal(b, np.sort(KEYS))


def test_chain_that_broke_off_sends_what_earlier_operators_took_as_it_was(
    fake: FakeServer, fake_client: corank.Client
) -> None:
    fake.executor.break_off = 6  # after the four chunks of the first result and two of the second
    stats: list[corank.Stats] = []
    a, c = KEYS.copy(), KEYS // 3
    with fake_client.chain(on_stats=stats.append) as chain:
        first = chain.sort(a)
        chain.sort(c, out=a[:50_000].view(), limit=50_000)
    assert stats[0].attempts == 2
    np.testing.assert_array_equal(first.result(), np.sort(KEYS))
    np.testing.assert_array_equal(a[:50_000], np.sort(c)[:50_000])


def shared_pair(client: corank.Client) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Keys and others in shared memory."""
    pair = client.empty_shared(KEYS.size, np.uint32), client.empty_shared(KEYS.size, np.uint32)
    pair[0][:], pair[1][:] = KEYS, KEYS // 3
    return pair


@pytest.mark.parametrize("later", [False, True])
def test_chain_over_its_shared_inputs_is_not_tried_again(
    fake: FakeServer, fake_client: corank.Client, later: bool
) -> None:
    a, c = shared_pair(fake_client)
    b = fake_client.empty_shared(KEYS.size, np.uint32)

    def run() -> None:
        with fake_client.chain() as chain:
            if later:
                chain.sort(a, out=b)
                chain.sort(c, out=a)  # over what the one before takes
            else:
                chain.sort(a, out=c)
                chain.sort(c, out=b)  # takes what the one before wrote

    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.001)
    with pytest.raises(corank.ResourceExhausted, match="its results go over its inputs"):
        run()
    # A server that does not know the regions any more may have begun.
    fake.places.regions.clear()
    with pytest.raises(corank.NotFound):
        run()


def test_chain_beside_its_shared_inputs_is_tried_again(fake: FakeServer, fake_client: corank.Client) -> None:
    a, c = shared_pair(fake_client)
    b = fake_client.empty_shared(2 * KEYS.size, np.uint32)
    stats: list[corank.Stats] = []

    def run() -> None:
        with fake_client.chain(on_stats=stats.append) as chain:
            chain.sort(a, out=b[: KEYS.size])
            chain.sort(c, out=b[KEYS.size :])

    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.001)
    run()
    assert stats[0].attempts == 2
    fake.places.regions.clear()
    b[:] = 0
    run()
    np.testing.assert_array_equal(b, np.concatenate([np.sort(a), np.sort(c)]))


def test_results_of_a_chain_are_not_the_callers_kept_arrays(fake_client: corank.Client) -> None:
    fake_client.store("t0.0", np.array([7.5]))
    with fake_client.chain() as chain:
        pending = chain.sort([3, 1, 2])
        taken = chain.sort(pending)
    for misuse in (
        pending.fetch,
        pending.delete,
        lambda: fake_client.delete(pending),
        lambda: fake_client.sort(pending),
        lambda: fake_client.sort_columns([taken]),
    ):
        with pytest.raises(TypeError, match=r"pass its \.result\(\)"):
            misuse()
    assert "t0.0" not in repr(pending)
    np.testing.assert_array_equal(fake_client.stored("t0.0").fetch(), [7.5])
    np.testing.assert_array_equal(taken.result(), [1, 2, 3])


def test_failed_chain_has_no_results(fake_client: corank.Client) -> None:
    with pytest.raises(corank.InvalidArgument) as caught, fake_client.chain() as chain:  # noqa: PT012
        ordered = chain.sort([3, 1, 2])
        chain.merge([[2, 1], [1]])
    assert caught.value.field.startswith("keys[0]")
    with pytest.raises(RuntimeError):
        ordered.result()
