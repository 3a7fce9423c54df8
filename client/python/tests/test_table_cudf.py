"""Tables of cuDF, by a double: what stays on the GPU, what comes to the host, and that frames come back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from fake_cuda import CupyArray, FakeDriver, cupy
from fake_server import FakeServer

import corank
from corank import _cuda as cuda

pa = pytest.importorskip("pyarrow")

from fake_cudf import DataFrame, cudf  # noqa: E402


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The double of the driver, of CuPy and of cuDF."""
    double = FakeDriver()
    made = cuda.Driver(double)
    monkeypatch.setattr(cuda, "_driver", lambda: made)
    monkeypatch.setitem(sys.modules, "cudf", cudf(double))
    for module in cupy(double):
        monkeypatch.setitem(sys.modules, "cupy", module)
        yield double


def frame(**columns: Any) -> DataFrame:
    return DataFrame(pa.table(columns))


def pydict(found: Any) -> dict[str, list[Any]]:
    assert type(found) is DataFrame
    columns: dict[str, list[Any]] = found.to_arrow().to_pydict()
    return columns


def test_a_key_of_numbers_stays_on_the_gpu(driver: FakeDriver, fake: FakeServer, fake_client: corank.Client) -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 50, 500)
    table = frame(k=keys, s=[f"r{at}" for at in range(500)])
    stats: list[corank.Stats] = []
    for descending in (False, True):
        order = np.argsort(-keys if descending else keys, kind="stable")
        found = fake_client.sort_by(table, "k", descending=descending, on_stats=stats.append)
        assert pydict(found)["s"] == [f"r{at}" for at in order]
        assert found.labels == order.tolist()
        rows = fake_client.argsort_by(table, "k", descending=descending)
        assert (type(rows), rows.dtype, rows.tolist()) == (np.ndarray, np.dtype(np.intp), order.tolist())
        assert pydict(fake_client.top_k(table, 7, "k", descending=descending))["s"] == [f"r{at}" for at in order[:7]]
    assert {each.place for each in stats} == {"cuda_ipc"}


@pytest.mark.parametrize("expandable", [True, "late"])
def test_a_key_that_cannot_be_shared_comes_to_the_host(
    driver: FakeDriver, fake_client: corank.Client, expandable: bool | str
) -> None:
    driver.expandable = expandable
    stats: list[corank.Stats] = []
    found = fake_client.sort_by(frame(k=[3, 1, 2]), "k", on_stats=stats.append)
    assert pydict(found) == {"k": [1, 2, 3]}
    assert [each.place for each in stats] == ["inline"]


# The reasons not to take a handle: the argument, a server without CUDA IPC, a GPU that it does not use, a handle that
# opens nothing there, a token that may not, and too many regions.
REFUSALS = ["INVALID_ARGUMENT", "UNIMPLEMENTED", "FAILED_PRECONDITION", "NOT_FOUND", "PERMISSION_DENIED"]
REFUSALS += ["RESOURCE_EXHAUSTED"]


@pytest.mark.parametrize("code", REFUSALS)
def test_a_key_that_the_server_does_not_open_comes_to_the_host(
    driver: FakeDriver, fake: FakeServer, fake_client: corank.Client, code: str
) -> None:
    fake.places.refuses_cuda_ipc = grpc.StatusCode[code]
    table = frame(k=[3, 1, 2])
    stats: list[corank.Stats] = []
    assert pydict(fake_client.sort_by(table, "k", on_stats=stats.append)) == {"k": [1, 2, 3]}
    assert [each.place for each in stats] == ["inline"]
    assert pydict(fake_client.top_k(table, 2, "k")) == {"k": [3, 2]}
    assert fake_client.argsort_by(table, "k").tolist() == [1, 2, 0]


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "UNAUTHENTICATED", "INTERNAL"])
def test_a_sort_fails_where_another_way_would_fail_too(
    driver: FakeDriver, fake: FakeServer, fake_client: corank.Client, code: str
) -> None:
    fake.places.refuses_cuda_ipc = grpc.StatusCode[code]
    with pytest.raises(corank.CorankError) as caught:
        fake_client.sort_by(frame(k=[3, 1, 2]), "k", retries=0)
    assert caught.value.code == code


def test_other_keys_are_those_of_cudf(driver: FakeDriver, any_client: corank.Client) -> None:
    table = frame(k=[2.0, None, float("nan"), 1.0], c=pa.array(["b", "a", None, "b"]).dictionary_encode())
    assert any_client.argsort_by(table, "k").tolist() == [3, 0, 2, 1]
    assert any_client.argsort_by(table, "c").tolist() == [0, 3, 1, 2]  # "b" is the first category
    assert any_client.argsort_by(table, ["c", "k"], descending=True).tolist() == [1, 0, 3, 2]
    ordered = any_client.sort_by(table, ["c", "k"], columns=["k"])
    assert ordered.labels == [3, 0, 1, 2]
    assert list(ordered.columns) == ["k"]
    merged = any_client.merge_by([any_client.sort_by(table, "c")] * 2, "c", columns="c")
    assert pydict(merged) == {"c": ["b"] * 4 + ["a"] * 2 + [None] * 2}
    with pytest.raises(corank.InvalidArgument, match=r"^tables\[1\]: the categories of 'c' are not those of tables"):
        any_client.merge_by([table, frame(k=[1.0], c=pa.array(["x"]).dictionary_encode())], "c")
    assert any_client.search_by(frame(k=[1, 3]), frame(k=[2, 4]), "k").tolist() == [1, 2]


def test_joins_and_groups_give_frames(driver: FakeDriver, any_client: corank.Client) -> None:
    left = frame(k=["a", "b", None, "a"], v=[1, 2, 3, 4])
    right = frame(k=["b", None, "c"], w=[10, 20, 30])
    assert pydict(any_client.join_by(left, right, "k", how="full")) == {
        "k": ["a", "b", None, "a", "c"],
        "v": [1, 2, 3, 4, None],
        "w": [None, 10, 20, None, 30],
    }
    assert pydict(any_client.join_by(left, right, "k", how="semi")) == {"k": ["b", None], "v": [2, 3]}
    found = any_client.group_by(left, "k").agg(("v", "sum"), least=("v", "min"), first=("k", "first"), rows="count")
    assert pydict(found) == {"k": ["a", "b"], "v_sum": [5, 2], "least": [1, 2], "first": ["a", "b"], "rows": [2, 1]}
    made = DataFrame(pa.table({"0": [2, 1, 2]}))
    made.columns = [7]
    counted = any_client.group_by(made, 7).agg(n="count")  # type: ignore[arg-type]
    assert list(counted.columns) == [7, "n"]
    with pytest.raises(TypeError, match=r"^right: is a table of pyarrow, left is one of cudf$"):
        any_client.join_by(left, right.to_arrow(), "k")


def test_frames_of_no_rows_need_no_gpu(driver: FakeDriver, any_client: corank.Client) -> None:
    empty = DataFrame(pa.table({"k": pa.array([], pa.int64())}))
    assert pydict(any_client.sort_by(empty, "k")) == {"k": []}
    assert not any(isinstance(each, CupyArray) for each in [any_client.argsort_by(empty, "k")])
