"""Sorts of tables whose rows travel beside the key: the choice, and that the result is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")

from table_cases import column  # noqa: E402

from corank import _table_sorts as sorts  # noqa: E402

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
    pandas = pytest.importorskip("pandas")
    numbers = pa.array([3, 1, 2])
    floats = pa.array([1.0, float("nan"), 0.0])
    texts, holes = pa.array(["a", "b", "c"]), pa.array([1, None, 2])
    for table, options in [
        (pa.table({"k": numbers, "v": texts}), {}),
        (pa.table({"k": numbers, "v": holes}), {}),
        (pa.table({"k": holes, "v": numbers}), {}),
        (pa.table({"k": numbers, "v": numbers, "w": numbers}), {}),
        (pa.table({"k": numbers, "v": numbers}), {"limit": 2}),
        (pa.table({"k": floats, "v": numbers}), {"nulls": "first"}),  # NaN comes first too
        (pa.table({"k": numbers, "v": numbers}).to_batches()[0], {}),
        (pandas.DataFrame({"k": [3, 1, 2], "v": [1, 2, 3]}), {}),  # which keeps labels
    ]:
        taken.clear()
        any_client.sort_by(table, "k", **options)  # type: ignore[arg-type]
        assert taken == [["k"]], table
    any_client.sort_by(pa.table({"k": numbers, "v": numbers}), ["k", "v"])
    assert taken[1:] == [["k", "v"]]


def test_which_rows_travel() -> None:
    many = sorts.MANY_ROWS
    for rows, others, limit, beside_gpu, wanted in [
        (many, [True], None, True, True),
        (many, [], None, True, True),
        (many - 1, [True], None, True, False),
        (many, [False], None, True, False),
        (many, [True, True], None, True, False),
        (many, [True], 5, True, False),
        (many, [True], None, False, False),
    ]:
        assert sorts.travels(rows, others, limit, beside_gpu) is wanted


def test_servers_without_a_gpu_of_this_host_get_no_rows(any_client: corank.Client) -> None:
    calls: Any = sorts._Calls(any_client, {})
    assert calls.are_beside_gpu is False
    info = any_client.info()

    class There:
        address = "127.0.0.1:50051"
        places, engine = ("inline", "shared_memory"), "cuda"

        def info(self) -> Any:
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
