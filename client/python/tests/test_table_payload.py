"""Sorts of tables whose rows travel beside the key: the choice, and that the result is the same."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer

import corank

pa = pytest.importorskip("pyarrow")

from table_cases import column  # noqa: E402

from corank import _table_sorts as sorts  # noqa: E402

COUNTING = pa.table({"k": pa.array([3, 1, 2]), "v": pa.array([1, 2, 3])})
NUMBERS = [pa.int8(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every table is beside a GPU and has many rows; the keys of those whose rows are taken here all the same."""
    out: list[Any] = []
    in_order = sorts._rows_in_order

    def noted(client: Any, asked: Any) -> Any:
        out.append(asked.keys)
        return in_order(client, asked)

    monkeypatch.setattr(sorts._Calls, "are_beside_gpu", True)
    monkeypatch.setattr(sorts, "MANY_ROWS", 1)
    monkeypatch.setattr(sorts, "_rows_in_order", noted)
    return out


def same(found: Any, wanted: Any) -> bool:
    """Whether two tables are equal, bits of NaNs aside."""
    columns = [table.to_pydict() if isinstance(table, pa.Table) else table.to_dict() for table in (found, wanted)]
    texts = [str({name: list(each) for name, each in of_table.items()}) for of_table in columns]
    return type(found) is type(wanted) and found.schema == wanted.schema and texts[0] == texts[1]


@pytest.mark.parametrize("make", ["pyarrow", "polars"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_that_travel_come_back_as_those_that_are_taken(
    any_client: corank.Client, seed: int, make: str, taken: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    key, other = (NUMBERS[int(at)] for at in rng.integers(0, len(NUMBERS), 2))
    columns = {"k": column(rng, key, 300, False), "v": column(rng, other, 300, False)}
    schema = pa.schema([pa.field("k", key, nullable=False), pa.field("v", other)], {"a": "b"})
    table = pa.Table.from_arrays(list(columns.values()), schema=schema)
    given: Any = table if make == "pyarrow" else pytest.importorskip("polars").from_arrow(table)
    asked: list[dict[str, Any]] = [
        {"nan": "greatest"},
        {"nan": "greatest", "descending": True, "nulls": "first"},
        {"nan": "greatest", "columns": ["v", "k"]},
        {"nan": "greatest", "columns": "v"},
        {"nan": "greatest", "columns": "k"},
    ]
    found = [any_client.sort_by(given, "k", **options) for options in asked]
    assert taken == []
    monkeypatch.setattr(sorts._Calls, "are_beside_gpu", False)
    for each, options in zip(found, asked):
        assert same(each, any_client.sort_by(given, "k", **options)), options
    assert len(taken) == len(asked)


def test_other_rows_are_taken(any_client: corank.Client, taken: list[Any]) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    numbers = pa.array([3, 1, 2])
    floats = pa.array([1.0, float("nan"), 0.0])
    texts, holes = pa.array(["a", "b", "c"]), pa.array([1, None, 2])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([5, 4]))
    wide = polars.Series([1, 2**70, 3], dtype=polars.Int128)
    for table, options in [
        (pa.table({"k": numbers, "v": texts}), {}),
        (pa.table({"k": numbers, "v": holes}), {}),
        (pa.table({"k": holes, "v": numbers}), {}),
        (pa.table({"k": numbers, "v": numbers, "w": numbers}), {}),
        (pa.table({"k": numbers, "v": numbers}), {"limit": 2}),
        (pa.table({"k": floats, "v": numbers}), {"nulls": "first"}),  # NaN comes first too
        (pa.table({"k": numbers, "v": numbers}).to_batches()[0], {}),
        (pa.table({"k": numbers, "v": runs}), {}),
        (pa.table({"k": runs, "v": numbers}), {}),
        (polars.DataFrame({"k": [3, 1, 2], "v": wide}), {}),
        (polars.DataFrame({"k": [3, 1, 2], "v": ["a", "b", "c"]}), {}),
        (pandas.DataFrame({"k": [3, 1, 2], "v": [1, 2, 3]}), {}),  # which keeps labels
    ]:
        taken.clear()
        any_client.sort_by(table, "k", **options)  # type: ignore[arg-type]
        assert taken == [["k"]], table
    any_client.sort_by(pa.table({"k": numbers, "v": numbers}), ["k", "v"])
    assert taken[1:] == [["k", "v"]]


def test_which_rows_travel() -> None:
    many = sorts.MANY_ROWS
    for rows, others, limit, wanted in [
        (many, 1, None, True),
        (many, 0, None, True),
        (many - 1, 1, None, False),
        (many, 2, None, False),
        (many, 1, 5, False),
    ]:
        assert sorts.travels(rows, others, limit) is wanted


def test_servers_without_a_gpu_of_this_host_get_no_rows(any_client: corank.Client) -> None:
    calls: Any = sorts._Calls(any_client, {})
    assert calls.are_beside_gpu is False
    info = any_client.info()

    class There:
        address = "127.0.0.1:50051"
        places, engine = ("inline", "shared_memory"), "cuda"

        def info(self, **options: Any) -> Any:
            return self

    there: Any = There()
    assert info.engine != "cuda"
    assert sorts._Calls(there, {}).are_beside_gpu
    assert sorts._Calls(there, {"place": "shared_memory"}).are_beside_gpu
    assert not sorts._Calls(there, {"place": "stream"}).are_beside_gpu
    for name, value in [("engine", "cpu"), ("places", ("inline",)), ("address", "10.0.0.1:50051")]:
        there = There()
        setattr(there, name, value)
        assert not sorts._Calls(there, {}).are_beside_gpu


def test_the_question_to_the_server_has_what_is_left_of_the_deadline(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorts, "MANY_ROWS", 1)
    fake.stuck["GetServerInfo"] = threading.Event()
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with pytest.raises(corank.DeadlineExceeded):
        fake_client.sort_by(COUNTING, "k", deadline=2, retries=0, traceparent=trace)
    fake.stuck.pop("GetServerInfo", threading.Event()).set()
    (method, left), (_, headers) = fake.left[0], fake.headers[0]
    assert method == "GetServerInfo"
    assert left is not None
    assert left < 5, "its own deadline is longer"
    assert headers["traceparent"].split("-")[1] == trace.split("-")[1]


def test_only_tables_whose_rows_could_travel_ask_the_server(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    fake_client.sort_by(COUNTING, "k")  # the first call asks what the server takes
    monkeypatch.setattr(sorts, "MANY_ROWS", 1)
    asked = fake.asked
    given: list[Any] = [COUNTING.to_batches()[0], pandas.DataFrame({"k": [2, 1]}), pa.table({"k": [2, None]})]
    for table in given:
        fake_client.sort_by(table, "k")
    assert fake.asked == asked
    fake_client.sort_by(COUNTING, "k")
    assert fake.asked == asked + 1
