"""sort_by, argsort_by, top_k and merge_by beside what pandas, polars and pyarrow find themselves."""

from __future__ import annotations

import sys
from typing import Any, cast

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")

from table_cases import OF_ARROW_IN_PANDAS, OF_PANDAS, OF_POLARS, column, expected, tables  # noqa: E402

from corank import _frames as frames  # noqa: E402
from corank._arrow_rows import take_rows, with_one_dictionary  # noqa: E402

SIZES = [0, 1, 2, 30, 400]


@pytest.fixture(autouse=True)
def few_rows_count_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_ROWS_OF_ONE_THREAD", 1)


def numbered(table: Any) -> Any:
    """The table with a column that tells its rows apart."""
    return table.append_column("row", pa.array(np.arange(table.num_rows)))


def of_pandas(table: Any, backend: str) -> Any:
    """A frame of pandas of NumPy's types, of its own nullable ones, or of Arrow's, with labels that are no numbers."""
    pandas = pytest.importorskip("pandas")
    table = with_one_dictionary(table)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for name, type_ in ((field.name, views[field.type]) for field in table.schema if field.type in views):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].cast(type_))
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype if backend == "arrow" else None)
    if backend == "nullable":
        frame = frame.convert_dtypes()
    return frame.set_axis([f"r{row}" for row in range(len(frame))])


def of_polars(table: Any) -> Any:
    return pytest.importorskip("polars").from_arrow(table)


def test_columns_that_are_no_keys_may_share_a_name(any_client: corank.Client) -> None:
    table = pa.table([pa.array([2, 1, 3]), pa.array([1, 2, 3]), pa.array(["b", "a", "c"])], names=["k", "v", "v"])
    found = any_client.sort_by(table, "k")
    assert [column.to_pylist() for column in found.columns] == [[1, 2, 3], [2, 1, 3], ["a", "b", "c"]]


@pytest.mark.parametrize("seed", range(60))
def test_arrow_tables_sort_as_in_pyarrow(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, names, descending = tables(rng, int(rng.choice(SIZES)))
    nulls = [str(rng.choice(["first", "last"])) for _ in names]
    rows = expected(table, names, descending, nulls)
    found = any_client.argsort_by(table, names, descending=descending, nulls=nulls)  # type: ignore[arg-type]
    assert found.dtype == np.intp
    assert found.tolist() == rows.tolist(), table.schema
    limit = int(rng.choice([0, 1, 5, 1000]))
    table = numbered(table)
    first = any_client.sort_by(table, names, descending=descending, nulls=nulls, limit=limit, columns="row")  # type: ignore[arg-type]
    assert first.column_names == ["row"]
    assert first["row"].to_pylist() == rows[:limit].tolist(), table.schema
    part = any_client.argsort_by(table, names, descending=descending, nulls=nulls, limit=limit, offset=3)  # type: ignore[arg-type]
    assert part.tolist() == rows[3:][:limit].tolist(), table.schema
    rest = any_client.sort_by(table, names, descending=descending, nulls=nulls, offset=5, columns="row")  # type: ignore[arg-type]
    assert rest["row"].to_pylist() == rows[5:].tolist(), table.schema
    whole = any_client.sort_by(table, names, descending=descending)
    assert whole.schema == table.schema
    assert (
        whole.equals(take_rows(table, expected(table, names, descending, "last")))
        or np.isnan(
            np.concatenate([np.zeros(0), *(np.asarray(whole[n]) for n in names if pa.types.is_floating(whole[n].type))])
        ).any()
    )
    assert whole["row"].to_pylist() == expected(table, names, descending, "last").tolist()


@pytest.mark.parametrize("seed", range(60))
def test_polars_frames_sort_as_in_polars(any_client: corank.Client, seed: int) -> None:
    testing = pytest.importorskip("polars.testing")
    rng = np.random.default_rng(1000 + seed)
    table, names, descending = tables(rng, int(rng.choice(SIZES)), OF_POLARS)
    frame = of_polars(numbered(table))
    testing.assert_frame_equal(
        any_client.sort_by(frame, names, descending=descending),
        frame.sort(names, descending=descending, maintain_order=True),
    )
    nulls_last = [bool(each) for each in rng.integers(0, 2, len(names))]
    found = any_client.sort_by(
        frame, names, descending=descending, nulls=["last" if e else "first" for e in nulls_last]
    )
    testing.assert_frame_equal(
        found, frame.sort(names, descending=descending, nulls_last=nulls_last, maintain_order=True)
    )


@pytest.mark.parametrize("backend", ["numpy", "nullable", "arrow"])
@pytest.mark.parametrize("seed", range(30))
def test_pandas_frames_sort_as_in_pandas(any_client: corank.Client, seed: int, backend: str) -> None:
    testing = pytest.importorskip("pandas").testing
    rng = np.random.default_rng(2000 + seed)
    table, names, descending = tables(
        rng, int(rng.choice(SIZES)), OF_ARROW_IN_PANDAS if backend == "arrow" else OF_PANDAS
    )
    frame = of_pandas(numbered(table), backend)
    place = str(rng.choice(["first", "last"]))
    options: Any = {"ascending": [not each for each in descending], "na_position": place, "kind": "stable"}
    found = any_client.sort_by(frame, names, descending=descending, nulls=place)  # type: ignore[arg-type]
    testing.assert_frame_equal(found, frame.sort_values(names, **options))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls", ["first", "last"])
@pytest.mark.parametrize("nan", ["beside_null", "null", "greatest"])
@pytest.mark.parametrize("holes", [False, True])
def test_nan_goes_where_the_caller_says(
    any_client: corank.Client, nan: str, nulls: str, descending: bool, holes: bool
) -> None:
    rng = np.random.default_rng(7)
    values = [[1.0, -2.5, np.nan, np.inf, None][int(at)] for at in rng.integers(0, 5 if holes else 4, 200)]

    def kind(value: Any) -> tuple[float, float]:
        """What the rules of the guide say, without a direction."""
        is_nan = value is not None and np.isnan(value)
        if value is None or (is_nan and nan == "null"):
            return 2, 0
        if is_nan and nan == "beside_null":
            return 1, 0
        return (0, 1e9) if is_nan else (0, min(value, 1e8))

    def key(row: int) -> tuple[float, float]:
        place, number = kind(values[row])
        return (-place if nulls == "first" else place, -number if descending else number)

    table = pa.table({"k": pa.array(values, pa.float64())})
    options: Any = {"nulls": nulls, "nan": nan, "descending": descending}
    assert any_client.argsort_by(table, "k", **options).tolist() == sorted(range(200), key=key)
    table = table.append_column("one", pa.array([1] * 200))
    assert any_client.argsort_by(table, ["one", "k"], **options).tolist() == sorted(range(200), key=key)


def test_nan_goes_where_the_caller_says_in_each_key(any_client: corank.Client) -> None:
    nan = float("nan")
    table = pa.table({"a": [nan, None, 1.0, nan], "b": [None, nan, 2.0, nan]})
    # In "a" NaN is null, so that three rows tie; in "b" it is greater than the numbers, and the null comes last.
    assert any_client.argsort_by(table, ["a", "b"], nan=["null", "greatest"]).tolist() == [2, 1, 3, 0]
    assert any_client.argsort_by(table, ["a", "b"], nan=["greatest", "null"]).tolist() == [2, 0, 3, 1]
    groups = any_client.group_by(table, ["a", "b"], nan=["null", "greatest"], drop_nulls=True)
    assert groups.agg(n="count").to_pydict() == {"a": [1.0], "b": [2.0], "n": [1]}
    with pytest.raises(corank.InvalidArgument, match=r"^nan: 1 values for 2 keys$"):
        any_client.argsort_by(table, ["a", "b"], nan=["null"])
    # The first 32 columns travel as ranks.
    many = pa.table({f"k{at}": [1] * 4 for at in range(33)} | {"a": table["a"], "b": table["b"]})
    places: Any = ["greatest"] * 33 + ["null", "greatest"]
    assert any_client.argsort_by(many, many.column_names, nan=places).tolist() == [2, 1, 3, 0]


@pytest.mark.parametrize("seed", range(30))
def test_top_k_takes_the_first_of_equal_rows(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    table, names, _ = tables(rng, int(rng.choice(SIZES)))
    k = int(rng.choice([0, 1, 3, 500]))
    rows = expected(table, names, [True] * len(names), "last")
    assert any_client.top_k(numbered(table), k, names)["row"].to_pylist() == rows[:k].tolist(), table.schema


def test_top_k_of_polars_leaves_nulls_to_the_end(any_client: corank.Client) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"k": [2, None, 3, 1]})
    assert any_client.top_k(frame, 4, "k")["k"].to_list() == [3, 2, 1, None]
    assert any_client.top_k(frame, 2, "k", descending=False)["k"].to_list() == [1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_merge_is_the_stable_sort_of_all_tables(any_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(4000 + seed)
    table, names, descending = tables(rng, int(rng.choice([3, 30, 400])))
    nulls = str(rng.choice(["first", "last"]))
    table = numbered(table)
    cuts = np.sort(rng.integers(0, table.num_rows + 1, int(rng.integers(0, 5))))
    bounds = [0, *cuts.tolist(), table.num_rows]
    runs = [table.slice(begin, end - begin) for begin, end in zip(bounds, bounds[1:])]
    runs = [take_rows(run, expected(run, names, descending, nulls)) for run in runs]
    options: Any = {"descending": descending, "nulls": nulls}
    whole = pa.concat_tables(runs)
    rows = expected(whole, names, descending, nulls)
    found = any_client.merge_by(runs, names, **options)
    assert found["row"].to_pylist() == take_rows(whole.select(["row"]), rows)["row"].to_pylist(), table.schema
    assert found.schema == table.schema


def test_frames_of_pandas_and_polars_merge_as_they_would_sort(any_client: corank.Client) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(5)
    table = numbered(pa.table({"s": column(rng, pa.string(), 300, True), "i": column(rng, pa.int64(), 300, True)}))
    frame = of_pandas(table, "nullable")
    runs = [part.sort_values(["s", "i"], kind="stable") for part in (frame[:100], frame[100:130], frame[130:])]
    whole = pandas.concat(runs).sort_values(["s", "i"], kind="stable")
    pandas.testing.assert_frame_equal(any_client.merge_by(runs, ["s", "i"]), whole)
    pieces = [of_polars(table)[:100], of_polars(table)[100:]]
    pieces = [piece.sort(["i"], descending=True, maintain_order=True) for piece in pieces]
    merged = any_client.merge_by(pieces, "i", descending=True, columns=["row"])
    assert merged.equals(polars.concat(pieces).sort("i", descending=True, maintain_order=True).select("row"))


def test_merge_names_the_table_that_is_not_sorted_or_differs(any_client: corank.Client) -> None:
    good, bad = pa.table({"k": [1, 2]}), pa.table({"k": [2, 1]})
    with pytest.raises(corank.InvalidArgument, match=r"^tables\[1\]: not sorted by 'k'; sort_by\(tables\[1\], ...\)"):
        any_client.merge_by([good, bad], "k")
    with pytest.raises(corank.InvalidArgument, match=r"^tables\[2\]: not sorted by 's', 'k'"):
        any_client.merge_by(
            [
                good.append_column("s", pa.array(["a", "b"])),
                pa.table({"k": [1][:0], "s": ["a"][:0]}),
                pa.table({"k": [1, 1], "s": ["b", "a"]}),
            ],
            ["s", "k"],
        )
    with pytest.raises(
        TypeError, match="tables: key 'k' is of types that do not compare: int64, large_string; convert one of them"
    ):
        any_client.merge_by([good, pa.table({"k": ["a"]})], "k")
    with pytest.raises(
        corank.InvalidArgument, match=r"^tables\[1\]: has the columns 'k', 'more', but tables\[0\] has "
    ):
        any_client.merge_by([good, pa.table({"k": [1], "more": [1]})], "k")
    with pytest.raises(
        corank.InvalidArgument, match=r"^tables\[1\]: column 'k' is int8, that of tables\[0\] int64; cast"
    ):
        any_client.merge_by([good, pa.table({"k": pa.array([1], pa.int8())})], "k")
    with pytest.raises(TypeError, match="tables: is of type Table; pass a list"):
        any_client.merge_by(good, "k")
    with pytest.raises(corank.InvalidArgument, match="tables: is empty"):
        any_client.merge_by([], "k")


def test_categories_in_other_orders_do_not_merge(any_client: corank.Client) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    orders = [["S", "M"], ["M", "S"]]
    frames = [pandas.DataFrame({"k": pandas.Categorical(each, categories=each, ordered=True)}) for each in orders]
    with pytest.raises(
        corank.InvalidArgument, match=r"^tables\[1\]: the categories of 'k' are not those of tables\[0\]"
    ):
        any_client.merge_by(frames, "k")
    with pytest.raises(corank.InvalidArgument, match=r"^tables\[1\]: the categories of 'k' are not those"):
        any_client.merge_by([frames[0], frames[0].astype(str)], "k")
    enums = [polars.DataFrame({"k": polars.Series(each, dtype=polars.Enum(each))}) for each in orders]
    with pytest.raises(corank.InvalidArgument, match=r"^tables: their columns differ: "):
        any_client.merge_by(enums, "k")


def test_tables_merge_whose_dictionaries_and_widths_differ(any_client: corank.Client) -> None:
    first = pa.table({"k": pa.array(["a", "c"]).dictionary_encode()})
    second = pa.table({"k": pa.array(["b", "d"]).dictionary_encode()})
    merged = any_client.merge_by([first, second], "k")
    assert merged["k"].to_pylist() == ["a", "b", "c", "d"]
    assert merged.schema == first.schema


def test_tables_merge_whose_names_repeat_or_whose_nullability_differs(any_client: corank.Client) -> None:
    doubled = pa.Table.from_arrays([pa.array([1, 2])] * 3, ["k", "z", "z"])
    assert any_client.merge_by([doubled, doubled], "k").column(2).to_pylist() == [1, 1, 2, 2]
    strict = pa.table([[1]], schema=pa.schema([pa.field("k", pa.int64(), nullable=False)]))
    assert any_client.merge_by([strict, pa.table({"k": [None, 0]}).sort_by("k")], "k")["k"].to_pylist() == [0, 1, None]


class Stream:
    """What only gives a stream of Arrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def test_streams_of_arrow_become_tables_and_batches_stay_batches(any_client: corank.Client) -> None:
    table = pa.table({"k": [2, None, 1]})
    found: Any = any_client.sort_by(Stream(table), "k")
    assert isinstance(found, pa.Table)
    assert found["k"].to_pylist() == [1, 2, None]
    batch = any_client.sort_by(table.to_batches()[0], "k")
    assert isinstance(batch, pa.RecordBatch)
    assert batch.column("k").to_pylist() == [1, 2, None]
    merged = any_client.merge_by([batch, batch], "k")
    assert isinstance(merged, pa.RecordBatch)
    assert merged.column("k").to_pylist() == [1, 1, 2, 2, None, None]


@pytest.mark.parametrize("count", [17, 32, 33, 40])
def test_any_number_of_keys_sorts_joins_and_groups(any_client: corank.Client, count: int) -> None:
    rng = np.random.default_rng(count)
    names = [f"k{at}" for at in range(count)]
    types = [pa.bool_(), pa.int8(), pa.string(), pa.decimal128(20, 2)]
    pool = pa.table({n: column(rng, types[at % 4 if count > 33 else 1], 9, True) for at, n in enumerate(names)})
    # The rows differ in the last keys only, so that all of them count.
    pool = pool.set_column(0, "k0", pool["k0"].take(pa.array([0] * 9))).append_column("row", pa.array(range(9)))
    table = take_rows(pool, rng.integers(0, 9, 200))
    descending = [bool(each) for each in rng.integers(0, 2, count)]
    rows = expected(table, names, descending, "last")
    assert any_client.argsort_by(table, names, descending=descending).tolist() == rows.tolist()
    top = any_client.argsort_by(table, names, descending=descending, limit=20)
    assert top.tolist() == rows[:20].tolist()
    joined = any_client.join_by(table, pool, names, nulls_equal=True)
    assert joined["row"].equals(joined["row_right"])
    assert joined.num_rows == 200
    groups = any_client.group_by(table, names).agg(one=("row", "min"), other=("row", "max"))
    assert groups["one"].equals(groups["other"])


def test_sparse_columns_sort_join_and_group(any_client: corank.Client) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": pandas.arrays.SparseArray([0.0, np.nan, 2.0, 0.0]), "v": [1, 2, 3, 4]})
    pandas.testing.assert_frame_equal(any_client.sort_by(frame, "k"), frame.sort_values("k", kind="stable"))
    found = any_client.group_by(frame, "k").agg(total=("v", "sum"), low=("k", "min"))
    assert found["total"].tolist() == [5, 3]
    assert found["low"].tolist() == [0.0, 2.0]
    assert any_client.join_by(frame, frame, "k")["v_right"].tolist() == [1, 4, 2, 3, 1, 4]


def test_ordered_categories_sort_in_their_order(any_client: corank.Client) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    sizes, order = ["S", "L", None, "M", "S"], ["S", "M", "L"]
    frame = pandas.DataFrame({"k": pandas.Categorical(sizes, categories=order, ordered=True)})
    pandas.testing.assert_frame_equal(any_client.sort_by(frame, "k"), frame.sort_values("k", kind="stable"))
    enum = polars.DataFrame({"k": polars.Series(sizes, dtype=polars.Enum(order))})
    assert any_client.sort_by(enum, "k").equals(enum.sort("k", maintain_order=True))
    ordered = any_client.sort_by(frame, "k")
    pandas.testing.assert_frame_equal(
        any_client.merge_by([ordered, ordered], "k"),
        pandas.concat([ordered, ordered]).sort_values("k", kind="stable"),
    )
    texts = polars.DataFrame({"k": polars.Series(sizes, dtype=polars.Categorical)})
    assert any_client.sort_by(texts, "k")["k"].to_list() == [None, "L", "M", "S", "S"]


def test_extension_types_sort_as_what_they_store(any_client: corank.Client) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": pandas.PeriodIndex(["2024-03", "2023-01", "2024-01"], freq="M")})
    pandas.testing.assert_frame_equal(any_client.sort_by(frame, "k"), frame.sort_values("k"))
    ids = pa.array([bytes([at] * 16) for at in (3, 1, 2)], pa.binary(16)).cast(pa.uuid())
    assert any_client.argsort_by(pa.table({"k": ids}), "k").tolist() == [1, 2, 0]


def test_one_number_without_nulls_goes_by_the_direct_operators(any_client: corank.Client) -> None:
    stats: list[corank.Stats] = []
    table = pa.table({"k": pa.array(range(100_000), pa.int64()), "s": ["text"] * 100_000})
    any_client.argsort_by(table, "k", place="inline", on_stats=stats.append)
    any_client.argsort_by(table, "k", limit=10, place="inline", on_stats=stats.append)
    any_client.argsort_by(table, ["s", "k"], place="inline", on_stats=stats.append)
    any_client.merge_by([table, table], "k", place="inline", on_stats=stats.append)
    assert [each.operator for each in stats] == ["Sort", "Sort", "Sort", "Merge"]
    assert stats[0].request_bytes > 800_000  # the elements themselves
    assert stats[1].response_bytes < 10_000  # only what the limit leaves
    assert stats[3].request_bytes < 2_500_000  # two tables of numbers with their rows, and no text


def test_the_deadline_is_of_all_calls_together(any_client: corank.Client) -> None:
    table = pa.table({"k": ["a"] * 100 + ["b" * 30] * 100, "i": range(200)})
    with pytest.raises(corank.DeadlineExceeded):
        any_client.sort_by(table, ["k", "i"], deadline=1e-9)
    with pytest.raises(corank.InvalidArgument, match="deadline: 0 is not a number of seconds of more than 0"):
        any_client.sort_by(table, ["k", "i"], deadline=0)


def test_wrong_calls_say_what_to_change(any_client: corank.Client) -> None:
    table = pa.table({"day": [1], "amount": [2.0], "list": [[1]], "same": [1]})
    doubled = pa.Table.from_arrays([table["day"], table["day"]], ["same", "same"])
    sort_by: Any = any_client.sort_by
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: sort_by(table, "dya"), corank.InvalidArgument, "^keys: no column 'dya'; did you mean 'day'[?]$"),
        (lambda: sort_by(table, "DAY"), corank.InvalidArgument, "^keys: no column 'DAY'; did you mean 'day'[?]$"),
        (
            lambda: sort_by(table, [("day", "descending")]),
            corank.InvalidArgument,
            "; pass 'day', and its direction by descending=$",
        ),
        (
            lambda: sort_by(table, table["day"]),
            TypeError,
            "^keys: is of type ChunkedArray; add its values as a column",
        ),
        (lambda: sort_by(table, by="day"), TypeError, "takes no option 'by'; did you mean 'keys'"),
        (lambda: sort_by(table, "day", na_position="last"), TypeError, "'na_position'; did you mean 'nulls'"),
        (lambda: sort_by(table, 7), corank.InvalidArgument, "^keys: no column 7; the columns are 'day', 'amount',"),
        (lambda: sort_by(table, ["day", "day"]), corank.InvalidArgument, "^keys: 'day' is there twice$"),
        (lambda: sort_by(table, []), corank.InvalidArgument, "^keys: is empty; name one column or more$"),
        (lambda: sort_by(doubled, "same"), corank.InvalidArgument, "^keys: 2 columns have the name 'same'; rename"),
        (lambda: sort_by(table, "list"), TypeError, "^key: column 'list' is list<.*>; keys are numbers, bools,"),
        (lambda: sort_by(table, "day", columns="x"), corank.InvalidArgument, "^columns: no column 'x'"),
        (lambda: sort_by(table, "day", nulls="end"), corank.InvalidArgument, "^nulls: 'end' is none of 'first', 'la"),
        (lambda: sort_by(table, "day", nan="last"), corank.InvalidArgument, "^nan: 'last' is none of 'beside_null'"),
        (
            lambda: sort_by(table, "day", descending=[True, False]),
            corank.InvalidArgument,
            "^descending: 2 values for 1",
        ),
        (lambda: sort_by(table, "day", descending="asc"), TypeError, "^descending: must be True or False, is 'asc'$"),
        (lambda: sort_by(table, ["day"], descending=[None]), TypeError, "^descending: must be True or False, is None$"),
        (lambda: sort_by(table, lambda row: row), TypeError, "^keys: is of type function; pass the name of a column"),
        (lambda: sort_by(table, {"day"}), TypeError, "^keys: is of type set; pass the name of a column, or a list"),
        (lambda: sort_by(table, [["day"]]), TypeError, "^keys: is of type list; pass the name of a column, or a list"),
        (lambda: sort_by(table, np.array(["day"])), TypeError, r"^keys: is of type ndarray; pass list\(...\) of it$"),
        (lambda: sort_by(table, "day", ascending=False), TypeError, "'ascending'; pass descending=, which is its opp"),
        (lambda: sort_by(table, "day", inplace=True), TypeError, "'inplace'; the result is a new table$"),
        (lambda: sort_by(table, "day", nulls_last=True), TypeError, "'nulls_last'; pass nulls='last' or nulls='first'"),
        (lambda: any_client.merge_by([table], "day", how="left"), TypeError, "'how'; to join tables, call join_by$"),  # type: ignore[call-arg]
        (lambda: sort_by(table, "day", descending=1), TypeError, "^descending: is of type int; pass one value, or a"),
        (
            lambda: sort_by(table, "day", limit=2**63),
            corank.InvalidArgument,
            f"^limit: {2**63} is more than {2**63 - 1}$",
        ),
        (lambda: sort_by(table, "day", limit=-1), corank.InvalidArgument, "^limit: -1 is less than 0$"),
        (lambda: sort_by(table, "day", offset=-1), corank.InvalidArgument, "^offset: -1 is less than 0$"),
        (lambda: any_client.top_k(table, 1.5, "day"), TypeError, "^k: must be an integer"),  # type: ignore[arg-type]
        (lambda: sort_by([1, 2], "day"), TypeError, "^table: is of type list; pass a table of pandas, polars, pyarr"),
        (lambda: sort_by(table, "day", reverse=True), TypeError, "did you mean 'descending'"),
        (lambda: sort_by(table, "day", "amount"), TypeError, r"^sort_by\(\) takes only table and keys by position"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
    assert sort_by(table, np.str_("day")).equals(table)
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1, 2]], columns=pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert sort_by(frame, [("a", "x")]).equals(frame)
    with pytest.raises(
        corank.InvalidArgument, match=r"^keys: no column 'a'; pass a list of names such as \[\('a', 'x'\)\]"
    ):
        sort_by(frame, ("a", "x"))
    with pytest.raises(
        corank.InvalidArgument, match=r"^keys: no column 'd'; a level of the index has this name; call re"
    ):
        sort_by(frame.rename_axis("d"), "d")
    with pytest.raises(TypeError, match=r"^table: is a LazyFrame; pass frame.collect\(\)$"):
        any_client.sort_by(polars.DataFrame({"k": [1]}).lazy(), "k")
    for key in (polars.col("k"), polars.Series([1]), [polars.col("k").abs()]):
        with pytest.raises(TypeError, match=r"^keys: is of type (Expr|Series); add its values as a column, and pass"):
            sort_by(polars.DataFrame({"k": [1]}), key)
    with pytest.raises(TypeError, match=r"^column 'k' is of object, which Arrow cannot hold: .*; convert it first$"):
        any_client.sort_by(pandas.DataFrame({"k": [1, "a"]}, dtype=object), "k")
    for elements in ([2**70, 1], ["\ud800"]):
        with pytest.raises(TypeError, match=r"^column 'k' is of object, which Arrow cannot hold: .*; convert it first"):
            any_client.sort_by(pandas.DataFrame({"k": pandas.Series(elements, dtype=object)}), "k")
    with pytest.raises(TypeError, match=r"^column 'k' is of Object, which Arrow cannot hold: "):
        any_client.sort_by(polars.DataFrame({"k": polars.Series([object()], dtype=polars.Object)}), "k")


def test_operators_on_arrays_name_those_on_tables(any_client: corank.Client) -> None:
    table, client = pa.table({"k": [1]}), cast(Any, any_client)
    frame = pytest.importorskip("pandas").DataFrame({"k": [1]})
    of_tables: list[tuple[Any, str]] = [
        (lambda: client.sort(table, "k"), "sort_by"),
        (lambda: client.sort(table, by="k"), "sort_by"),
        (lambda: client.argsort(table, "k"), "argsort_by"),
        (lambda: client.join(table, table, on="k"), "join_by"),
        (lambda: client.merge([table, table], "k"), "merge_by"),
        (lambda: client.group(table, "k"), "group_by"),
        (lambda: client.unique(table, "k"), "group_by"),
    ]
    for call, name in of_tables:
        with pytest.raises(TypeError, match=rf"takes arrays, not a Table; call {name}\(\)"):
            call()
    of_arrays: list[tuple[Any, str]] = [
        (lambda: client.join(table, table, ["k"]), "left"),
        (lambda: client.join(table, table, "k"), "left"),
        (lambda: client.sort(table), "keys"),
        (lambda: client.sort_columns(table), "columns"),
        (lambda: client.sort_columns(frame), "columns"),
    ]
    for call, field in of_arrays:
        with pytest.raises(TypeError, match=rf"^{field}: is a (Table|DataFrame); .* the table to sort_by, merge_by,"):
            call()
    with pytest.raises(corank.InvalidArgument, match=r"^how: \['k'\] is none of 'inner', 'left'"):
        client.join([1], [1], ["k"])


def test_without_pyarrow_the_error_says_what_to_install(
    any_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'corank\[tables\]'"):
        any_client.sort_by(object(), "k")
