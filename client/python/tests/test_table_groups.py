"""group_by beside the groups of pandas, polars and pyarrow, and beside loops over the rows."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")

from table_cases import OF_POLARS, TYPES, column, expected, plain, tables  # noqa: E402

from corank._key_columns import Order  # noqa: E402
from corank._partials import Aggregates  # noqa: E402
from corank._table_groups import FUNCTIONS, goes_to_group, reductions  # noqa: E402

ADDABLE = [
    pa.int8(),
    pa.int64(),
    pa.uint16(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.decimal32(9, 2),
    pa.decimal64(18, 3),
    pa.decimal128(30, 4),
    pa.decimal256(60, 5),
    pa.duration("us"),
]


def small(rng: np.random.Generator, type_: Any, count: int) -> Any:
    """Values whose sums fit into 64 bits."""
    numbers = rng.integers(0 if pa.types.is_unsigned_integer(type_) else -100, 100, count)
    made = pa.array((numbers % 2 == 0) if pa.types.is_boolean(type_) else numbers)
    made = made.cast(pa.decimal256(76, 0)).cast(type_) if pa.types.is_decimal(type_) else made.cast(type_)
    mask = rng.random(count) < float(rng.choice([0, 0.3, 0.9]))
    if pa.types.is_boolean(type_):
        return made.take(pa.array(np.arange(count), mask=mask))
    validity = pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(type_, count, [validity, made.buffers()[1]])  # nulls have numbers beneath them


def looped(table: Any, names: list[str], value: str, function: str) -> dict[Any, Any]:
    """The function of each group, by a loop over the rows."""
    found: dict[Any, list[Any]] = {}
    for row in zip(*(table[name].to_pylist() for name in [*names, value])):
        key = tuple("NaN" if isinstance(each, float) and np.isnan(each) else each for each in row[:-1])
        found.setdefault(key, []).append(row[-1])
    out: dict[Any, Any] = {}
    for key, everything in found.items():
        values = [each for each in everything if each is not None]
        if function == "count":
            out[key] = len(values)
        elif function == "sum":
            out[key] = sum(values[1:], values[0]) if values else None
        elif not values:
            out[key] = None
        elif function == "mean" and isinstance(values[0], datetime.timedelta):
            whole = sum(each // datetime.timedelta(microseconds=1) for each in values)
            out[key] = datetime.timedelta(microseconds=int(whole / len(values)))  # cut toward 0
        elif function == "mean":
            out[key] = float(sum(values)) / len(values)
        elif function in ("first", "last"):
            out[key] = values[0 if function == "first" else -1]
        else:
            numbers = [each for each in values if each == each] or values
            out[key] = min(numbers) if function == "min" else max(numbers)
    return out


def as_dict(found: Any, names: list[str], out: str) -> dict[Any, Any]:
    rows = zip(*(found[name].to_pylist() for name in [*names, out]))
    return {tuple("NaN" if isinstance(e, float) and np.isnan(e) else e for e in row[:-1]): row[-1] for row in rows}


@pytest.mark.parametrize("seed", range(40))
def test_sums_and_means_are_those_of_the_rows(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, names, descending = tables(rng, int(rng.choice([0, 1, 30, 300])))
    type_ = ADDABLE[int(rng.integers(len(ADDABLE)))]
    table = table.append_column("v", small(rng, type_, table.num_rows))
    found = any_client.group_by(table, names, descending=descending).agg(
        ("v", "sum"), ("v", "mean"), "count", valid=("v", "count")
    )
    assert found.column_names == [*names, "v_sum", "v_mean", "count", "valid"]
    for out, function in [("v_sum", "sum"), ("v_mean", "mean"), ("valid", "count")]:
        mine, theirs = as_dict(found, names, out), looped(table, names, "v", function)
        is_rounded = pa.types.is_floating(found[out].type)
        assert mine == (pytest.approx(theirs) if is_rounded else theirs), (table.schema, out)
    assert sum(found["count"].to_pylist()) == table.num_rows
    rows = expected(found, names, descending, "last")
    assert rows.tolist() == list(range(found.num_rows)), "groups come in the order of their keys"


@pytest.mark.parametrize("seed", range(60))
def test_extremes_and_edges_are_those_of_the_rows(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    keys = [TYPES[int(at)] for at in rng.integers(0, len(TYPES), int(rng.integers(1, 3)))]
    count = int(rng.choice([1, 30, 200]))
    names = [f"k{at}" for at in range(len(keys))]
    table = pa.table({name: column(rng, type_, count, True) for name, type_ in zip(names, keys)})
    value = TYPES[int(rng.integers(len(TYPES)))]
    table = table.append_column("v", column(rng, value, count, bool(rng.integers(2))))
    found = any_client.group_by(table, names).agg(
        low=("v", "min"), high=("v", "max"), first=("v", "first"), last=("v", "last")
    )
    for out, function in [("low", "min"), ("high", "max"), ("first", "first"), ("last", "last")]:
        assert found[out].type == value
        mine, theirs = as_dict(found, names, out), looped(table, names, "v", function)
        assert mine == pytest.approx(theirs, nan_ok=True) if pa.types.is_floating(value) else mine == theirs, table


@pytest.mark.parametrize("seed", range(25))
def test_groups_of_polars_are_those_of_polars(any_client: corank.Client, seed: int) -> None:
    polars, testing = pytest.importorskip("polars"), pytest.importorskip("polars.testing")
    rng = np.random.default_rng(2000 + seed)
    table, names, _ = tables(rng, 200, OF_POLARS)
    table = table.append_column("v", small(rng, [pa.int64(), pa.float64(), pa.duration("us")][seed % 3], 200))
    frame = polars.from_arrow(table)
    col = polars.col
    of_polars = frame.group_by(names, maintain_order=True).agg(
        col("v").sum().alias("sum"),
        col("v").mean().alias("mean"),
        col("v").min().alias("min"),
        col("v").max().alias("max"),
        col("v").count().cast(polars.Int64).alias("count"),
        col("v").first().alias("first"),
        col("v").last().alias("last"),
        polars.len().cast(polars.Int64).alias("rows"),
    )
    functions = {name: ("v", name) for name in ("sum", "mean", "min", "max", "count", "first", "last")}
    found = any_client.group_by(frame, names).agg(**functions, rows="count")
    testing.assert_frame_equal(found, of_polars.sort(names, maintain_order=True))


@pytest.mark.parametrize("backend", ["numpy", "nullable", "arrow"])
@pytest.mark.parametrize("seed", range(10))
def test_groups_of_pandas_are_those_of_pandas(any_client: corank.Client, seed: int, backend: str) -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3000 + seed)
    types = [pa.int64(), pa.string(), pa.timestamp("us"), pa.uint16()]
    names = ["k0", "k1"][: 1 + seed % 2]
    table = pa.table({name: column(rng, types[int(rng.integers(4))], 200, True) for name in names})
    table = table.append_column("v", small(rng, [pa.int64(), pa.float64(), pa.duration("us")][seed % 3], 200))
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype if backend == "arrow" else None)
    frame = frame.convert_dtypes() if backend == "nullable" else frame
    drops = bool(rng.integers(2))
    functions = {name: ("v", name) for name in FUNCTIONS}
    theirs = frame.groupby(names, as_index=False, dropna=drops, sort=True).agg(**functions)
    found = any_client.group_by(frame, names, drop_nulls=drops).agg(**functions)
    pandas.testing.assert_frame_equal(found, theirs, check_dtype=False)
    assert found[names].dtypes.equals(frame[names].dtypes)
    for name in ("min", "max", "first", "last"):
        assert found[name].dtype == frame["v"].dtype
    assert any_client.group_by(frame, names).agg(n="count")["n"].sum() == len(frame.dropna(subset=names))


@pytest.mark.parametrize("type_", [pa.int64(), pa.string(), pa.float64()], ids=str)
@pytest.mark.parametrize("seed", range(9, 13))
def test_groups_of_pyarrow_are_those_of_pyarrow(any_client: corank.Client, type_: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = pa.table({"k": column(rng, type_, 300, True), "v": small(rng, pa.int64(), 300)})
    if pa.types.is_floating(type_):  # pyarrow tells NaNs and zeros of other bits apart
        table = table.set_column(0, "k", pa.array(rng.integers(0, 5, 300) / 2))
    asked = [("v", "sum"), ("v", "mean"), ("v", "min"), ("v", "max"), ("v", "count"), ("v", "first")]
    theirs = table.group_by("k", use_threads=False).aggregate(asked)
    theirs = theirs.take(pa.array(expected(theirs, ["k"], [False], "last")))
    found = any_client.group_by(table, "k").agg(*asked)
    for name in found.column_names:
        assert found[name].to_pylist() == theirs[name].to_pylist(), name


@pytest.mark.parametrize("seed", range(30))
def test_nulls_of_numbers_are_what_each_library_makes_of_them(any_client: corank.Client, seed: int) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(7000 + seed)
    type_ = [pa.int64(), pa.uint16(), pa.float64(), pa.float32(), pa.int8()][seed % 5]
    mask = rng.random(90) < float(rng.choice([0.1, 0.5, 0.95]))
    values = pa.array(rng.integers(0 if seed % 5 == 1 else -50, 50, 90), mask=mask).cast(type_)
    # The keys of pandas and of Arrow may be null, too: these rows are left out, or they are a group.
    keys = pa.array(rng.integers(0, 12, 90), mask=rng.random(90) < (0 if seed % 2 else 0.1))
    table = pa.table({"k": keys, "v": values})
    functions = [str(each) for each in rng.permutation(["sum", "mean", "min", "max", "count"])[: 1 + seed % 5]]
    asked = {each: ("v", each) for each in functions}
    stats: list[corank.Stats] = []
    for frame in (table.to_pandas(), table.to_pandas(types_mapper={pa.int64(): pandas.Int64Dtype()}.get)):
        mine = any_client.group_by(frame, "k", on_stats=stats.append).agg(**asked)
        pandas.testing.assert_frame_equal(mine, frame.groupby("k", as_index=False).agg(**asked), check_dtype=False)
    assert [each.operator for each in stats] == ["Group"] * 2  # rows with a null key are left out
    of_polars = polars.from_arrow(table)
    wanted = of_polars.group_by("k").agg(getattr(polars.col("v"), each)().alias(each) for each in functions).sort("k")
    found = any_client.group_by(of_polars, "k").agg(**asked)
    polars.testing.assert_frame_equal(found, wanted, check_dtypes=False)
    in_arrow = table.group_by("k", use_threads=False).aggregate([("v", each) for each in functions]).sort_by("k")
    in_arrow_mine = any_client.group_by(table, "k").agg(**asked)
    for each in functions:
        assert in_arrow_mine[each].to_pylist() == in_arrow[f"v_{each}"].to_pylist(), each


@pytest.mark.parametrize("seed", range(20))
def test_nans_are_values_where_the_library_takes_them_for_values(any_client: corank.Client, seed: int) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(5000 + seed)
    values = np.where(rng.random(60) < float(rng.choice([0, 0.3, 0.9])), np.nan, rng.integers(-9, 9, 60) / 2)
    table = pa.table({"k": rng.integers(0, 9, 60), "v": values})
    functions = [str(each) for each in rng.permutation(["sum", "mean", "min", "max", "count"])[: 1 + seed % 2]]
    asked = {each: ("v", each) for each in functions}
    frame = table.to_pandas()
    theirs = frame.groupby("k", as_index=False).agg(**asked)
    pandas.testing.assert_frame_equal(any_client.group_by(frame, "k").agg(**asked), theirs)
    of_polars = polars.from_arrow(table)
    wanted = of_polars.group_by("k").agg(getattr(polars.col("v"), each)().alias(each) for each in functions).sort("k")
    found = any_client.group_by(of_polars, "k").agg(**asked)
    polars.testing.assert_frame_equal(found, wanted, check_dtypes=False)
    in_arrow = table.group_by("k", use_threads=False).aggregate([("v", each) for each in functions]).sort_by("k")
    mine = any_client.group_by(table, "k").agg(**asked)
    for each in functions:
        np.testing.assert_array_equal(mine[each].to_numpy(), in_arrow[f"v_{each}"].to_numpy(), each)


def test_one_number_and_one_column_go_by_the_group_operator(any_client: corank.Client) -> None:
    stats: list[corank.Stats] = []
    table = pa.table({"k": [2, 1, 2], "v": [10, 20, 30], "w": [1.5, None, 2.5], "s": ["a", "b", "c"]})
    groups = any_client.group_by(table, "k", on_stats=stats.append)
    found = groups.agg(sum=("v", "sum"), mean=("v", "mean"), low=("v", "min"), high=("v", "max"), n="count")
    assert found.to_pydict() == {
        "k": [1, 2],
        "sum": [20, 40],
        "mean": [20.0, 20.0],
        "low": [20, 10],
        "high": [20, 30],
        "n": [1, 2],
    }
    assert groups.agg(sum=("w", "sum")).to_pydict() == {"k": [1, 2], "sum": [None, 4.0]}
    assert groups.agg(low=("s", "min")).to_pydict() == {"k": [1, 2], "low": ["b", "a"]}
    assert [each.operator for each in stats][:3] == ["Group", "Group", "Sort"]


@pytest.mark.parametrize("seed", range(40))
def test_the_server_reduces_as_this_process_does(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(6000 + seed)
    types = [pa.int8(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()]
    nullable = ["Int8", "Int64", "UInt8", "UInt32", "UInt64", "Float32", "Float64"]
    numbers = pa.array(rng.integers(0, 100, 80), mask=rng.random(80) < (0, 0.3, 0.9)[seed // 7 % 3]).cast(
        types[seed % 7]
    )
    keys = column(rng, [pa.int64(), pa.uint16(), pa.float64(), pa.timestamp("us")][seed % 4], 80, False)
    words = pa.array(rng.choice(["", "a", "b", "longer than eight bytes"], 80), mask=rng.random(80) < 0.2)
    table = pa.table({"k": keys, "s": words, "v": numbers})
    names = "k" if seed % 3 else ["s", "k"]
    functions = [str(each) for each in rng.permutation(["sum", "mean", "min", "max", "count"])[: 1 + seed % 3]]
    asked = {each: ("v", each) for each in functions}
    descending = bool(rng.integers(2))
    stats: list[corank.Stats] = []
    frames = [
        table.to_pandas(),
        table.to_pandas().astype({"v": nullable[seed % 7]}),
        table.to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype),
        pytest.importorskip("polars").from_arrow(table),
    ]
    for made in (table, *frames):
        groups = any_client.group_by(made, names, descending=descending, drop_nulls=False, on_stats=stats.append)
        found = groups.agg(**asked)
        by_sort = groups.agg(**asked, last=("v", "last"))  # which Group does not have
        if made is not table:
            assert str(found.dtypes) == str(by_sort[list(found.columns)].dtypes)
        arrow, other = (each if made is table else pa.table(each) for each in (found, by_sort))
        assert arrow.schema.equals(other.select(arrow.column_names).schema)
        for name in arrow.column_names:
            np.testing.assert_array_equal(arrow[name].to_numpy(), other[name].to_numpy(), name)
    if names != "k":  # Sort ranks the rows
        assert [each.operator for each in stats] == ["Sort", "Group", "Sort", "Sort"] * 5
    elif seed % 4 != 2:  # floats may have NaNs, whose place the server does not know
        assert [each.operator for each in stats] == ["Group", "Sort"] * 5


def test_which_groups_the_server_reduces() -> None:
    ints, floats = pa.chunked_array([[1, 2, 3]]), pa.chunked_array([[1.0, np.nan, 3.0]])
    holed, texts = pa.chunked_array([[1, None]]), pa.chunked_array([["a"]])
    for values, functions, nan_is_null, wanted in [
        ([], ["count"], False, True),
        ([ints], ["sum", "min", "max", "mean", "count"], True, True),
        ([floats], ["sum", "mean"], False, True),
        ([floats], ["sum", "mean", "min"], True, True),
        ([floats], ["count"], True, True),
        ([ints, floats], ["sum"], False, False),
        ([ints], ["first"], False, False),
        ([floats], ["max"], False, False),
        ([holed], ["sum", "mean", "min", "max", "count"], False, True),
        ([texts], ["min"], False, False),
    ]:
        assert goes_to_group(values, functions, nan_is_null) is wanted, (values, functions)


def test_sums_that_do_not_fit_are_refused(any_client: corank.Client) -> None:
    most = 2**63 - 1
    table = pa.table({"k": ["a", "a", "b"], "v": [most, -5, 7], "u": pa.array([2**64 - 1, 0, 1], pa.uint64())})
    found = any_client.group_by(table, "k").agg(v=("v", "sum"), u=("u", "sum"))
    assert found.to_pydict() == {"k": ["a", "b"], "v": [most - 5, 7], "u": [2**64 - 1, 1]}
    for keys in (["a", "a"], [1, 1]):
        table = pa.table({"k": keys, "v": [most, 1], "w": [1, 2]})
        for more in ((), (("w", "sum"),)):  # by the server, and here
            text = "^agg: a sum of column 'v' does not fit in 64 bits; convert the column to decimals or floats"
            with pytest.raises(corank.InvalidArgument, match=text) as caught:
                any_client.group_by(table, "k").agg(("v", "sum"), *more)
            assert caught.value.field == "agg"
        wide = table.set_column(1, "v", table["v"].cast(pa.decimal128(19)))
        assert any_client.group_by(wide, "k").agg(("v", "sum"))["v_sum"].to_pylist() == [decimal.Decimal(most + 1)]


def test_decimals_add_up_exactly(any_client: corank.Client) -> None:
    values = [decimal.Decimal("99999999999999999999.99"), decimal.Decimal("0.01"), None]
    table = pa.table({"k": [1, 1, 2], "v": pa.array(values, pa.decimal128(30, 2))})
    found = any_client.group_by(table, "k").agg(("v", "sum"))
    assert found["v_sum"].to_pylist() == [decimal.Decimal("100000000000000000000.00"), None]
    most = decimal.Decimal("9" * 38)
    table = pa.table({"k": [1, 1], "v": pa.array([most, most], pa.decimal256(40, 0))})
    assert any_client.group_by(table, "k").agg(("v", "sum"))["v_sum"].to_pylist() == [int(most) * 2]
    table = table.set_column(1, "v", table["v"].cast(pa.decimal128(38, 0)))
    with pytest.raises(corank.InvalidArgument, match="a sum of column 'v' does not fit in decimal128"):
        any_client.group_by(table, "k").agg(("v", "sum"))
    for type_, digit, count in [(pa.decimal128(38, 0), 6, 2), (pa.decimal256(76, 0), 9, 12)]:
        # The bits hold the first sum, but not its digits; the second one has the bits of a small number.
        table = pa.table(
            {"k": [1] * count, "v": pa.array([decimal.Decimal(str(digit) * type_.precision)] * count, type_)}
        )
        with pytest.raises(corank.InvalidArgument, match="a sum of column 'v' does not fit in decimal"):
            any_client.group_by(table, "k").agg(("v", "sum"))


@pytest.mark.parametrize("seed", range(48))
def test_partial_results_add_up_to_the_groups_of_all_rows(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(4000 + seed)
    type_ = [*ADDABLE, pa.timestamp("ns", "UTC")][seed % 12]
    keys = pa.array(rng.integers(0, 9, 60), mask=rng.random(60) < 0.1)
    values = small(rng, pa.int64() if pa.types.is_timestamp(type_) else type_, 60)
    exceeds = pa.types.is_int64(values.type) and seed < 24  # a sum of a block does
    if exceeds:
        values = pa.array(np.asarray(values.fill_null(0)) * (2**62 // 100), mask=np.asarray(values.is_null()))
    table = pa.table({"k": keys, "v": values.cast(type_) if pa.types.is_timestamp(type_) else values})
    is_summed = not pa.types.is_timestamp(type_) and not exceeds
    functions = [each for each in FUNCTIONS if is_summed or each != "sum"]
    whole = any_client.group_by(table, "k").agg(*[("v", each) for each in functions])
    asked = reductions([("v", each) for each in functions], {})
    partials = Aggregates(table.schema, Order(("k",), (False,), ("last",), ("beside_null",)), False, asked)
    parts = [partials.partial(any_client, table.slice(at, 20)) for at in (0, 20, 40)]
    found = partials.result(partials.combined(any_client, parts))
    assert found.schema == whole.schema
    for name in found.column_names:
        is_rounded = pa.types.is_floating(found[name].type)
        wanted = whole[name].to_pylist()
        assert found[name].to_pylist() == (pytest.approx(wanted) if is_rounded else wanted), name


def test_means_of_integers_and_times_are_exact_where_sums_exceed_64_bits(any_client: corank.Client) -> None:
    polars = pytest.importorskip("polars")
    most = 2**63 - 1
    for keys in (["a", "a"], [1, 1]):
        table = pa.table({"k": keys, "v": [most, most]})
        assert any_client.group_by(table, "k").agg(m=("v", "mean"))["m"].to_pylist() == [float(most)]
        frame = polars.DataFrame({"k": keys, "t": polars.Series([most, most - 2]).cast(polars.Datetime("ns"))})
        assert any_client.group_by(frame, "k").agg(m=("t", "mean"))["m"].cast(polars.Int64).to_list() == [most - 1]


def test_ordered_categories_have_their_least(any_client: corank.Client) -> None:
    pandas = pytest.importorskip("pandas")
    sizes = pandas.Categorical(["S", "L", "M"], categories=["S", "M", "L"], ordered=True)
    frame = pandas.DataFrame({"k": [1, 1, 2], "size": sizes})
    found = any_client.group_by(frame, "k").agg(low=("size", "min"), high=("size", "max"))
    assert found["low"].tolist() == ["S", "M"]
    assert found["high"].tolist() == ["L", "M"]
    assert found["low"].dtype == frame["size"].dtype


def test_wrong_groups_say_what_to_change(any_client: corank.Client) -> None:
    table = pa.table({"k": [1], "v": [1], "s": ["a"], "list": [[1]]})
    groups: Any = any_client.group_by(table, "k")
    assert repr(groups) == "TableGroups('k'; 1 rows)"
    wrong: list[tuple[Any, type[Exception], str]] = [
        (groups.agg, corank.InvalidArgument, "^agg: is empty; pass total="),
        (lambda: groups.agg({"v": "sum"}), TypeError, "^agg: {'v': 'sum'} is neither .*; pass each pair by itself"),
        (lambda: groups.agg([("v", "sum"), ("v", "min")]), TypeError, "is neither .*; pass each pair by itself: agg"),
        (lambda: any_client.group_by(table, "k", drop_nulls="no"), TypeError, "^drop_nulls: must be True or False, is"),  # type: ignore[arg-type]
        (lambda: groups.agg(np.arange(2)), TypeError, "is neither 'count' nor a pair such as"),
        (lambda: groups.agg(x=("v", np.sum)), TypeError, "^agg: x: .* is neither 'count' nor a pair such as"),
        (lambda: groups.agg("v"), TypeError, "^agg: 'v' is neither 'count' nor a pair such as"),
        (lambda: groups.agg(x=("v", "median")), corank.InvalidArgument, "^agg: x: 'median' is none of 'count', 'sum'"),
        (lambda: groups.agg(("y", "sum")), corank.InvalidArgument, "^agg: no column 'y'; the columns are 'k', "),
        (lambda: groups.agg(k="count"), corank.InvalidArgument, "^agg: two columns would be 'k'; name one by NAME"),
        (lambda: groups.agg(("s", "sum")), TypeError, "^agg: column 's' is string, which has no sum$"),
        (lambda: groups.agg(("list", "min")), TypeError, "^agg: column 'list' is list<.*, which has no min$"),
        (lambda: any_client.group_by(table, "list"), TypeError, "^key: column 'list' is list<"),
        (lambda: groups.sum(), AttributeError, r"has no attribute 'sum'; call agg\(\(column, 'sum'\)\)$"),
        (lambda: groups.median(), AttributeError, "has no attribute 'median'$"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
    assert plain(groups.agg(("list", "first"))["list_first"]).to_pylist() == [[1]]
