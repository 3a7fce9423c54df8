"""Calls as type checkers see them; tests/test_types.py runs two on this file and never runs the file itself.

A line that ends with `# wrong` must be an error for each checker, and every other line must be none.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import corank
import corank.aio

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


class OnGpu:
    """An array of a library for the GPU."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


class Frame:
    """A table of a library."""


def right_tables(client: corank.Client, frame: Frame) -> None:
    """Operators on tables return tables of the same type."""
    assert_type(client.sort_by(frame, ["k", "s"], descending=[True, False], nulls="first", nan="null"), Frame)
    assert_type(corank.top_k(frame, 3, "k", columns=["s"], deadline=5), Frame)
    assert_type(client.argsort_by(frame, "k", limit=3), Positions)
    assert_type(client.merge_by([frame, frame], "k"), Frame)
    assert_type(client.join_by(frame, frame, "k", how="anti", suffix="_2"), Frame)
    assert_type(client.group_by(frame, "k", drop_nulls=True).agg(("v", "sum"), n="count"), Frame)
    client.sort_by(frame, "k", nulls="end")  # wrong
    client.sort_by(frame, 5)  # wrong
    client.sort_by(frame, "k", out=frame)  # wrong
    client.join_by(frame, frame, "k", how="outer")  # wrong
    client.chain().sort_by(frame, "k")  # wrong


def right(client: corank.Client, x: Floats, y: NDArray[np.int8], stored: corank.StoredArray, gpu: OnGpu) -> None:
    """Calls that checkers take, and what they think these return."""
    assert_type(client.sort(x), Floats)
    assert_type(corank.sort(x, descending=True, deadline=5), Floats)
    assert_type(client.sort(x, values=y), tuple[Floats, NDArray[np.int8]])
    assert_type(client.sort([1, 2]), NDArray[Any])
    assert_type(client.sort(stored, limit=3, algorithm="radix"), NDArray[Any])
    assert_type(client.sort(gpu), OnGpu)
    assert_type(client.sort(stored, out=y), NDArray[np.int8])
    assert_type(client.sort(x, out=gpu), OnGpu)
    assert_type(client.sort(x, values=y, out=(x, y)), tuple[Floats, NDArray[np.int8]])
    assert_type(client.sort(x, keep="name"), corank.StoredArray)
    assert_type(client.sort(x, values=y, keep=("a", "b")), tuple[corank.StoredArray, corank.StoredArray])
    assert_type(client.argsort(x), Positions)
    assert_type(client.argsort(x, index_dtype=np.int32), NDArray[np.int32])
    assert_type(client.argsort(x, index_dtype=None), NDArray[Any])
    assert_type(client.sort_with_indices(x), tuple[Floats, Positions])
    assert_type(client.sort_columns([x, ["a", "b"]]), list[Any])
    assert_type(client.sort_columns([x, y], values=x), tuple[list[Any], Any])
    assert_type(client.argsort_columns([x, y], descending=[True, False]), Positions)
    assert_type(client.merge([x, x]), Floats)
    assert_type(client.merge([x, x], values=[y, y]), tuple[Floats, NDArray[np.int8]])
    assert_type(client.search(x, [1.5, 2.5], side="right"), Positions)
    assert_type(client.search(x, 1.5), np.integer[Any])
    assert_type(client.expand(x, [1, 2]), Floats)
    assert_type(client.gather(stored, [0], [1]), NDArray[Any])
    assert_type(client.move(x, [0], [1], [1], destination=5), Floats)
    assert_type(client.scatter(x, [0], [1], destination=x), Floats)
    assert_type(client.load_balance([1, 2]).objects, NDArray[Any])
    assert_type(client.group(x, values=y, results=["keys", "sums"]), corank.Groups)
    assert_type(client.unique(x, descending=True), Floats)
    assert_type(client.unique(gpu), OnGpu)
    assert_type(client.unique(x, keep="name"), corank.StoredArray)
    assert_type(client.run_length_encode(x), tuple[Floats, NDArray[np.int64]])
    assert_type(client.combine_sets(x, x, "union"), Floats)
    assert_type(client.combine_sets(x, x, "union", left_values=y, right_values=y), tuple[Floats, NDArray[np.int8]])
    assert_type(client.join(x, [1.0]), tuple[NDArray[Any], NDArray[Any]])
    assert_type(client.join([1.0], x, "anti", right_sorted=True), NDArray[Any])
    assert_type(client.join(x, x, "left", keep=("a", "b")), tuple[corank.StoredArray, corank.StoredArray])
    assert_type(client.count_join(x, [1.0], "full"), int)
    assert_type(client.select(x, [True]), Floats)
    assert_type(client.select(x, comparison="<", threshold=1, values=y), tuple[Floats, NDArray[np.int8]])
    assert_type(client.argselect(x, [True]), NDArray[np.intp])
    assert_type(client.partition(x, [True]), tuple[Floats, int])
    assert_type(client.partition(x, [True], values=y), tuple[Floats, NDArray[np.int8], int])
    assert_type(client.remove(x, [1]), Floats)
    assert_type(client.insert(x, [1], 2.0), Floats)
    assert_type(client.rank(x), NDArray[np.float64])
    assert_type(client.rank(x, "dense"), NDArray[np.intp])
    assert_type(client.rank(x, "min", keep="ranks"), corank.StoredArray)
    assert_type(client.count_sets(x, [1.0], "difference"), int)
    assert_type(client.count_sets(x, x, "union", keep="name"), corank.StoredArray)
    with client.chain(deadline=5) as chain:
        assert_type(chain.sort(x), corank.Pending)
        assert_type(chain.sort(x, values=y, keep=("a", "b")), tuple[corank.Pending, corank.Pending])
        assert_type(chain.combine_sets(chain.sort(x), x, "union"), corank.Pending)
        assert_type(
            chain.combine_sets(x, x, "difference", left_values=y, keep=("a", "b")),
            tuple[corank.Pending, corank.Pending],
        )
        assert_type(chain.count_sets(x, x, "union"), corank.Pending)
        assert_type(chain.join(chain.sort(x), x, "full", max_rows=7), tuple[corank.Pending, corank.Pending])
        assert_type(chain.join(x, x, "semi", keep="a"), corank.Pending)
        assert_type(chain.count_join(x, x, "left"), corank.Pending)
        assert_type(chain.select(chain.sort(x), comparison="<", threshold=1, keep="a"), corank.Pending)
        assert_type(chain.select(x, [True], values=y), tuple[corank.Pending, corank.Pending])
        assert_type(chain.argselect(x, positions=[0], negate=True), corank.Pending)
        assert_type(chain.partition(x, [True]), tuple[corank.Pending, corank.Pending])
        assert_type(chain.partition(x, [True], values=y), tuple[corank.Pending, corank.Pending, corank.Pending])
        assert_type(chain.remove(x, [0], values=y, keep=("a", "b")), tuple[corank.Pending, corank.Pending])
        assert_type(chain.insert(x, [0], 2.0), corank.Pending)
        assert_type(chain.rank(chain.sort(x), "dense", keys_sorted=True), corank.Pending)
    kept: list[corank.Stats] = []
    client.sort(x, on_stats=kept.append, priority="high", place="stream", progress=False, request_id=None)
    corank.connect("h:1", retries=0, tls_ca="ca.pem", token=None)


async def awaited(client: corank.aio.AsyncClient, x: Floats, y: NDArray[np.int8]) -> None:
    """The same for asyncio."""
    assert_type(await client.sort(x), Floats)
    assert_type(await client.sort(x, values=y), tuple[Floats, NDArray[np.int8]])
    assert_type(await client.sort(x, keep="name"), corank.StoredArray)
    assert_type(await client.argsort([1, 2]), Positions)
    assert_type(await client.search(x, 1.5), np.integer[Any])
    async with client.chain() as chain:
        assert_type(chain.sort(x), corank.Pending)
    await client.sort(x, descendng=True)  # wrong
    client.sort(x).size  # noqa: B018  # wrong
    with client.chain() as chain:
        chain.sort(x, deadline=5)  # wrong


def wrong(client: corank.Client, x: Floats, stats: Callable[[int], object]) -> None:
    """Calls that each checker refuses."""
    client.sort()  # wrong
    client.sort(x, descendng=True)  # wrong
    client.sort(x, algorithm="bogo")  # wrong
    client.sort(x, priority="urgent")  # wrong
    client.sort(x, place="gpu")  # wrong
    client.sort(x, limit="3")  # wrong
    client.sort(x, on_stats=stats)  # wrong
    client.sort(x, out="name")  # wrong
    client.sort(x, values=x, keep=5)  # wrong
    client.sort(x, out=x, keep="name")  # wrong
    client.sort(None)  # wrong
    client.merge(x, x)  # wrong
    client.search(x, x, side="middle")  # wrong
    client.expand(x)  # wrong
    client.move(x, [0], [0], [1])  # wrong
    client.chain(keep="x")  # wrong
    client.chain().sort(x, deadline=5)  # wrong
    client.chain().sort_columns([x])  # wrong
    client.store(x, "name")  # wrong
    client.info(keep="x")  # wrong
    client.regions  # noqa: B018  # wrong
    corank.connect(50051)  # wrong
    corank.connect("h:1", retry=3)  # wrong
    client.sort(x) + "text"  # wrong
    client.sort(x).fetch()  # wrong
