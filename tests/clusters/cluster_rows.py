"""Data sets and their right answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import ray
import ray.data

STORE_BYTES = 80 << 20
"""Ray takes no smaller store than 75 MiB."""
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": STORE_BYTES}

Order = dict[str, bool]
"""Key columns, and whether each is descending."""


def blocks(count: int, rows: int, seed: int = 0) -> list[Any]:
    """Tables with ties, nulls, NaN and strings, and columns that name each row."""
    rng = np.random.default_rng(seed)
    out = []
    for block in range(count):
        floats = pa.array(rng.choice([np.nan, 0.0, -0.0, 1.5, -7.0], rows))
        out.append(
            pa.table(
                {
                    "number": pc.if_else(
                        pa.array(rng.random(rows) < 0.05), None, pa.array(rng.integers(-50, 50, rows))
                    ),
                    "float": floats,
                    "name": pa.array([f"name-{each}" for each in rng.integers(0, 300, rows)]),
                    "time": pa.array(rng.integers(0, 10**12, rows)).view(pa.timestamp("us")),
                    "block": pa.array(np.full(rows, block)),
                    "row": pa.array(np.arange(rows)),
                }
            )
        )
    return out


def expected(tables: list[Any], order: Order, nulls: str = "last") -> Any:
    """The rows in pyarrow's stable order."""
    whole = pa.concat_tables(tables)
    keys = [(name, "descending" if down else "ascending") for name, down in order.items()]
    place = "at_start" if nulls == "first" else "at_end"
    return whole.take(pc.sort_indices(whole, sort_keys=keys, null_placement=place))


def rows_of(ds: ray.data.Dataset) -> Any:
    return pa.concat_tables(ray.get(ds.to_arrow_refs()))


def same(found: Any, wanted: Any) -> bool:
    """Whether all rows are the same, NaN included."""
    if found.num_rows != wanted.num_rows or found.column_names != wanted.column_names:
        return False
    for name in wanted.column_names:
        ours, theirs = found[name].combine_chunks(), wanted[name].combine_chunks()
        if pa.types.is_floating(theirs.type):
            ours, theirs = (each.view(pa.int64()) for each in (ours, theirs))
        if not ours.equals(theirs):
            return False
    return True


def joined(
    left: list[Any],
    right: list[Any],
    on: list[str],
    how: str,
    nulls_equal: bool = False,
    suffix: str = "_right",
) -> Any:
    """The rows of a join in the order of their keys, by a dictionary of the right rows of each key."""
    sides = [pa.concat_tables(tables) for tables in (left, right)]
    of_left, of_right = (_plain_keys(table.select(on)) for table in sides)
    at_right: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(of_right):
        if nulls_equal or None not in key:
            at_right.setdefault(key, []).append(row)
    pairs: list[tuple[int | None, int | None]] = []
    for row, key in enumerate(of_left):
        matches = at_right.get(key, [])
        if how in ("semi", "anti"):
            pairs += [(row, None)] if bool(matches) == (how == "semi") else []
        else:
            pairs += [(row, match) for match in matches]
            pairs += [(row, None)] if not matches and how in ("left", "full") else []
    if how in ("right", "full"):
        seen = {match for _, match in pairs}
        pairs += [(None, row) for row in range(len(of_right)) if row not in seen]
    rows = pa.array([row for row, _ in pairs], pa.int64()), pa.array([row for _, row in pairs], pa.int64())
    columns: dict[str, Any] = {}
    for name in sides[0].column_names:
        columns[name] = sides[0][name].take(rows[0])
        if name in on:
            columns[name] = pc.coalesce(
                columns[name], pc.if_else(rows[0].is_null(), sides[1][name].take(rows[1]), None)
            )
    if how not in ("semi", "anti"):
        for name in [each for each in sides[1].column_names if each not in on]:
            columns[f"{name}{suffix}" if name in columns else name] = sides[1][name].take(rows[1])
    first, second = ("r", "l") if how == "right" else ("l", "r")
    numbers = {"l": rows[0], "r": rows[1]}
    keys = [*((name, "ascending") for name in on), ("first", "ascending"), ("second", "ascending")]
    ordering = pa.table({**{name: columns[name] for name in on}, "first": numbers[first], "second": numbers[second]})
    return pa.table(columns).take(pc.sort_indices(ordering, sort_keys=keys))


def _plain_keys(table: Any) -> list[tuple[Any, ...]]:
    """Keys that are equal where those of the rows are; NaN equals NaN."""

    def plain(value: Any) -> Any:
        return "NaN" if isinstance(value, float) and value != value else value

    return [tuple(plain(value) for value in row.values()) for row in table.to_pylist()]
