"""join_by beside the joins of pandas, polars and pyarrow, and beside loops over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")

from table_cases import OF_POLARS, column, plain  # noqa: E402

from corank import _frames as frames  # noqa: E402
from corank import _table_joins as joins  # noqa: E402
from corank import _table_libraries as libraries  # noqa: E402

KEY_TYPES = [type_ for type_ in OF_POLARS if not (pa.types.is_dictionary(type_) or pa.types.is_binary(type_))]
HOWS = ["inner", "left", "right", "full", "semi", "anti"]


@pytest.fixture(autouse=True)
def few_rows_count_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_ROWS_OF_ONE_THREAD", 1)
    monkeypatch.setattr(frames, "_ROWS_TO_HASH", 7)


def sides(rng: np.random.Generator, types: Any = KEY_TYPES, sizes: Any = (0, 1, 10, 40)) -> tuple[Any, Any, list[str]]:
    """Two tables whose keys are drawn from the same few rows, with columns that number their rows."""
    names = [f"k{at}" for at in range(int(rng.integers(1, 4)))]
    pool = pa.table({n: column(rng, types[int(rng.integers(len(types)))], 12, bool(rng.integers(2))) for n in names})
    out = []
    for number in ("l", "r"):
        rows = rng.integers(0, 12, int(rng.choice(sizes)))
        columns = {n: plain(pool[n]).take(pa.array(rows)) for n in names}
        out.append(pa.table({**columns, number: pa.array(np.arange(rows.size)), "x": pa.array(rows * 2)}))
    return out[0], out[1], names


def looped(left: Any, right: Any, names: list[str], how: str, nulls_equal: bool) -> list[tuple[Any, Any]]:
    """The pairs of rows, by loops over the rows."""

    def keys(table: Any) -> list[Any]:
        rows = list(zip(*(table[name].to_pylist() for name in names)))
        same = [tuple("NaN" if isinstance(e, float) and np.isnan(e) else e for e in row) for row in rows]
        return [row if nulls_equal or None not in row else (object(),) for row in same]

    lefts, rights = keys(left), keys(right)
    if how == "right":
        return [(a, b) for b, a in looped_pairs(rights, lefts, "left")]
    return looped_pairs(lefts, rights, how)


def looped_pairs(lefts: list[Any], rights: list[Any], how: str) -> list[tuple[Any, Any]]:
    out: list[tuple[Any, Any]] = []
    for at, key in enumerate(lefts):
        found = [other for other, theirs in enumerate(rights) if theirs == key]
        if how in ("semi", "anti"):
            out += [(at, None)] if bool(found) == (how == "semi") else []
        else:
            alone: list[Any] = [None] if how in ("left", "full") else []
            out += [(at, other) for other in found or alone]
    if how == "full":
        out += [(None, other) for other, key in enumerate(rights) if key not in lefts]
    return out


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("seed", range(15))
def test_arrow_tables_join_in_the_order_of_the_left(any_client: corank.Client, seed: int, how: Any) -> None:
    rng = np.random.default_rng(seed)
    left, right, names = sides(rng)
    nulls_equal = bool(rng.integers(2))
    found = any_client.join_by(left, right, names, how=how, nulls_equal=nulls_equal)
    pairs = looped(left, right, names, how, nulls_equal)
    numbers = found["r"].to_pylist() if "r" in found.column_names else [None] * found.num_rows
    assert list(zip(found["l"].to_pylist(), numbers)) == pairs, left.schema
    assert found.column_names == [*names, "l", "x", *([] if how in ("semi", "anti") else ["r", "x_right"])]
    for at, (mine, theirs) in enumerate(pairs):
        for name in names:
            source = left[name][mine] if mine is not None else right[name][theirs]
            # Equal keys may differ in the sign of 0 and in the bits of NaN.
            assert str(found[name][at]).lstrip("-") == str(source).lstrip("-")
        assert found["x"][at].as_py() == (None if mine is None else left["x"][mine].as_py())


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("seed", range(15))
def test_polars_frames_join_as_in_polars(any_client: corank.Client, seed: int, how: Any) -> None:
    polars, testing = pytest.importorskip("polars"), pytest.importorskip("polars.testing")
    rng = np.random.default_rng(100 + seed)
    tables = sides(rng)
    left, right, names = polars.from_arrow(tables[0]), polars.from_arrow(tables[1]), tables[2]
    nulls_equal = bool(rng.integers(2))
    options: Any = {"how": how, "nulls_equal": nulls_equal}
    maintained = "right_left" if how == "right" else "left" if how in ("semi", "anti") else "left_right"
    expected = left.join(right, on=names, coalesce=True, maintain_order=maintained, **options)
    found = any_client.join_by(left, right, names, **options)
    numbers = [name for name in found.columns if name not in names]
    assert found.select(numbers).equals(expected.select(numbers)), left.schema
    assert found.schema == {name: expected.schema[name] for name in found.columns}
    # Which of two equal floats comes back is not told by polars.
    testing.assert_frame_equal(found.select(names), expected.select(names))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("make", ["pyarrow", "polars"])
def test_tables_in_many_chunks_join_as_those_in_one(any_client: corank.Client, make: str, how: Any) -> None:
    of = pytest.importorskip(make)
    for seed in range(4):
        left, right, names = sides(np.random.default_rng(600 + seed), sizes=(40,))
        whole = [side if make == "pyarrow" else of.from_arrow(side) for side in (left, right)]
        parts: list[Any] = []
        for side in whole:
            pieces = [side[at : at + 3] for at in range(0, 40, 3)]
            parts.append(of.concat_tables(pieces) if make == "pyarrow" else of.concat(pieces, rechunk=False))
        found, expected = (any_client.join_by(a, b, names, how=how) for a, b in (parts, whole))
        assert found.schema == expected.schema
        for name in expected.columns if make == "polars" else expected.column_names:
            assert str(list(found[name])) == str(list(expected[name])), left.schema  # NaN equals NaN


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("backend", ["numpy", "nullable"])
@pytest.mark.parametrize("seed", range(8))
def test_pandas_frames_join_as_in_pandas(any_client: corank.Client, seed: int, backend: str, how: str) -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(200 + seed)
    types = [pa.int64(), pa.float64(), pa.string(), pa.timestamp("us"), pa.bool_(), pa.uint16()]
    tables = sides(rng, types, (1, 10, 40))  # pandas fails to join some empty frames
    left, right = (table.to_pandas() for table in tables[:2])
    if backend == "nullable":
        left, right = left.convert_dtypes(), right.convert_dtypes()
    names = [name for name in tables[2] if left[name].dtype == right[name].dtype] or ["x"]
    options: Any = {"how": "outer" if how == "full" else how, "on": names, "suffixes": ("", "_right")}
    expected = left.merge(right, **options)
    found = any_client.join_by(left, right, names, how=how)  # type: ignore[arg-type]
    if how == "full":  # which pandas sorts by the keys
        found, expected = (each.sort_values(["l", "r"], ignore_index=True) for each in (found, expected))
    pandas.testing.assert_frame_equal(found[expected.columns], expected)
    for semi in ("semi", "anti"):
        kept = any_client.join_by(left, right, names, how=semi)
        inner = set(left.merge(right, on=names)["l" if "l" in left else "l_x"])
        pandas.testing.assert_frame_equal(kept, left[left["l"].isin(inner) == (semi == "semi")])


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_arrow_tables_join_as_in_pyarrow(any_client: corank.Client, how: Any) -> None:
    types = [pa.int64(), pa.string(), pa.date32(), pa.decimal128(38, 4)]
    theirs = {"inner": "inner", "left": "left outer", "right": "right outer", "full": "full outer"}
    for seed in range(10):
        left, right, names = sides(np.random.default_rng(300 + seed), types)
        right = right.rename_columns([*(f"right_{name}" for name in names), "r", "x"])
        others = [f"right_{name}" for name in names]
        expected = left.join(right, names, others, theirs.get(how, f"left {how}"), right_suffix="_right")
        if how == "right":  # pyarrow then keeps the names of the right
            expected = expected.rename_columns(dict(zip(others, names)))
        found = any_client.join_by(left, right, left_on=names, right_on=others, how=how)
        order = [(name, "ascending") for name in ("l", "r") if name in found.column_names]
        found, expected = found.sort_by(order), expected.select(found.column_names).sort_by(order)
        assert found.equals(expected), left.schema


def check_pairs(client: Any, make: str, tables: tuple[Any, Any], names: list[str], how: Any, nulls_equal: bool) -> None:
    """Joins two tables that `make` makes, and expects the pairs of rows that a plain loop finds."""
    left, right = tables
    given, other = (table if make == "pyarrow" else pytest.importorskip(make).from_arrow(table) for table in tables)
    found: Any = client.join_by(given, other, names, how=how, nulls_equal=nulls_equal)
    numbers = [list(found[name]) for name in ("l", "r")[: 1 if how in ("semi", "anti") else 2]]
    rows = [[each.as_py() if make == "pyarrow" else each for each in column] for column in numbers]
    pairs = looped(left, right, names, how, nulls_equal)
    assert list(zip(*rows)) == [pair[: len(rows)] for pair in pairs], left.schema


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("bits", [0, 2])
@pytest.mark.parametrize("make", ["pyarrow", "polars"])
def test_rows_of_equal_hashes_are_no_partners_unless_their_keys_are_equal(
    any_client: corank.Client, monkeypatch: pytest.MonkeyPatch, make: str, bits: int, how: Any
) -> None:
    of = pytest.importorskip(make)
    kind = type(libraries.library_of("left", pa.table({}) if make == "pyarrow" else of.DataFrame())[0])
    hashes = kind.hashes
    monkeypatch.setattr(kind, "hashes", lambda *given: hashes(*given) & np.uint64(2**bits - 1))
    for seed in range(8):
        rng = np.random.default_rng(400 + seed)
        left, right, names = sides(rng)
        check_pairs(any_client, make, (left, right), names, how, bool(rng.integers(2)))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("make", ["pyarrow", "polars"])
def test_keys_of_few_bits_need_no_hashes(
    any_client: corank.Client, monkeypatch: pytest.MonkeyPatch, make: str, how: Any
) -> None:
    monkeypatch.setattr(joins, "_by_hash", None)
    for seed in range(6):
        rng = np.random.default_rng(500 + seed)
        left, right, names = sides(rng, [pa.bool_(), pa.int8(), pa.uint16(), pa.date32()])
        check_pairs(any_client, make, (left, right), names, how, bool(rng.integers(2)))


def test_dictionaries_join_by_their_values(any_client: corank.Client) -> None:
    left = pa.table({"k": pa.array(["a", "b", None, "a"]).dictionary_encode(), "l": [0, 1, 2, 3]})
    right = pa.table({"k": pa.array(["c", "a", None]), "r": [0, 1, 2]})
    found = any_client.join_by(left, right, "k", how="full")
    assert found["l"].to_pylist() == [0, 1, 2, 3, None, None]
    assert found["r"].to_pylist() == [1, None, None, 1, 0, 2]
    assert found["k"].to_pylist() == ["a", "b", None, "a", "c", None]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kind = pandas.CategoricalDtype(["z", "a", "b"])
    frames = [pandas.DataFrame({"k": pandas.Categorical(each, dtype=kind)}) for each in (["a", "z"], ["b", "a"])]
    assert any_client.join_by(frames[0], frames[1], "k")["k"].tolist() == ["a"]
    enums = [
        polars.DataFrame({"k": polars.Series(each, dtype=polars.Enum(["z", "a"]))}) for each in (["a"], ["z", "a"])
    ]
    assert any_client.join_by(enums[0], enums[1], "k")["k"].to_list() == ["a"]


def test_columns_of_objects_stay_so(any_client: corank.Client) -> None:
    pandas = pytest.importorskip("pandas")
    words = pandas.Series(["b", None, "a"], dtype=object)
    frame, other = pandas.DataFrame({"k": words, "w": words}), pandas.DataFrame({"k": words[2:], "z": words[:1]})
    for how in HOWS[:4]:
        found = any_client.join_by(frame, other, "k", how=how)  # type: ignore[arg-type]
        assert {str(dtype) for dtype in found.dtypes} == {"object"}, how


def test_null_in_a_dictionary_is_null(any_client: corank.Client) -> None:
    indices = pa.array([0, 1, 1, 0], pa.int8())
    table = pa.table({"k": pa.DictionaryArray.from_arrays(indices, pa.array(["a", None])), "v": [1, 2, 3, 4]})
    assert any_client.join_by(table, table, "k")["v"].to_pylist() == [1, 1, 4, 4]
    assert any_client.group_by(table, "k", drop_nulls=True).agg(n="count")["n"].to_pylist() == [2]
    assert any_client.group_by(table, "k").agg(n="count")["n"].to_pylist() == [2, 2]


def test_keys_of_two_widths_join(any_client: corank.Client) -> None:
    left, right = pa.table({"k": pa.array([1, 300], pa.int16())}), pa.table({"k": [300, 2**40], "r": [1, 2]})
    assert any_client.join_by(left, right, "k").to_pydict() == {"k": [300], "r": [1]}
    assert any_client.join_by(left, right, "k", how="full")["k"].to_pylist() == [1, 300, 2**40]


def test_keys_that_fill_64_bits_leave_room_for_nulls(any_client: corank.Client) -> None:
    ends = [-(2**63), 2**63 - 1, 0]
    table = pa.table({"a": pa.array([None] * 3, pa.int8()), "b": pa.array(ends, pa.int64())})
    for nulls_equal, expected in ((True, ends), (False, [])):
        assert any_client.join_by(table, table, ["a", "b"], nulls_equal=nulls_equal)["b"].to_pylist() == expected
    left = any_client.join_by(table, table.append_column("r", [[1, 2, 3]]), ["a", "b"], how="full")
    assert left["r"].to_pylist() == [None, None, None, 1, 2, 3]


def test_as_many_rows_as_a_side_has_need_not_be_its_rows(any_client: corank.Client) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    left = {"k": [5, 6, 7, 8], "w": ["a", "b", None, "d"]}
    for other, kept in (([8, 6, 5, 7], [0, 1, 2, 3]), ([5, 5, 6, 8], [0, 0, 1, 3]), ([5, 6, 6, 7], [0, 1, 1, 2])):
        for make in (pa.table, pandas.DataFrame, polars.DataFrame):
            table: Any = make({**left, "l": range(4)})
            found: Any = any_client.join_by(table, make({"k": other}), "k")
            assert list(map(int, found["l"].to_numpy())) == kept, (make, other)


def test_a_join_of_all_rows_shares_no_memory_with_a_frame_of_pandas(any_client: corank.Client) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [1, 2], "f": [0.5, 1.5], "s": pandas.array([1, 2], dtype="Int64")}, index=[7, 8])
    found = any_client.join_by(frame, pandas.DataFrame({"k": [2, 1], "r": [3, 4]}), "k")
    assert found.index.tolist() == [0, 1]
    for name in ("k", "f", "s"):
        found.loc[0, name] = 9
    assert frame.values.tolist() == [[1, 0.5, 1], [2, 1.5, 2]]


def test_a_join_may_have_at_most_so_many_rows(any_client: corank.Client) -> None:
    tables = [pa.table({"k": [1] * 10, name: range(10)}) for name in "lr"]

    def joined(most_rows: int) -> Any:
        calls: Any = any_client
        return joins.join_by(calls, tables[0], tables[1], "k", None, None, "inner", "_right", None, most_rows)

    assert joined(100).num_rows == 100
    with pytest.raises(corank.InvalidArgument, match=r"^join_by: the result has 100 rows, and there is room for 99;"):
        joined(99)


def test_wrong_joins_say_what_to_change(any_client: corank.Client) -> None:
    left, right = pa.table({"k": [1], "x": [1], "x_right": [1]}), pa.table({"k": [1], "x": ["a"]})
    join_by: Any = any_client.join_by
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: join_by(left, right, "k", how="cross"), corank.InvalidArgument, "^how: 'cross' is none of 'inner', "),
        (
            lambda: join_by(left, right, "k", how=["left"]),
            corank.InvalidArgument,
            "^how: .'left'. is none of 'inner', ",
        ),
        (
            lambda: join_by(left, right, "k", how="outer"),
            corank.InvalidArgument,
            "^how: 'outer' is called 'full' here$",
        ),
        (lambda: join_by(left, right), corank.InvalidArgument, "^on: missing; give on=, or left_on= and right_on=$"),
        (lambda: join_by(left, right, "k", left_on="k"), corank.InvalidArgument, "^on: is for both sides; give either"),
        (
            lambda: join_by(left, right, left_on=["k", "x"], right_on="k"),
            corank.InvalidArgument,
            "^right_on: 1 columns",
        ),
        (lambda: join_by(left, right, "y"), corank.InvalidArgument, "^on: no column 'y' in left; the columns are 'k'"),
        (lambda: join_by(right, left, "x_right"), corank.InvalidArgument, "^on: no column 'x_right' in left; the colu"),
        (lambda: join_by(left, right, "x_right"), corank.InvalidArgument, "^on: no column 'x_right' in right; the col"),
        (lambda: join_by(left, right, "k", suffix=("_1", "_2")), TypeError, "^suffix: is of type tuple; pass one text"),
        (lambda: join_by(left, right, "k", suffixes=("_1", "_2")), TypeError, "did you mean 'suffix'[?]$"),
        (lambda: join_by(left, right, "k", nulls_equal="no"), TypeError, "^nulls_equal: must be True or False, is"),
        (lambda: join_by(left, right, left_on="k", right_index=True), TypeError, "'right_index'; call reset_index"),
        (lambda: join_by(left, right, "x"), TypeError, "^on: key 'x' is of types that do not compare: int64, large_"),
        (
            lambda: join_by(left, right, "k"),
            corank.InvalidArgument,
            "^suffix: both sides have a column 'x_right'; choo",
        ),
        (lambda: join_by(left, {"k": [1]}, "k"), TypeError, "^right: is of type dict; pass a table of pandas, polars"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()
    assert join_by(left, right, "k", suffix="_2").column_names == ["k", "x", "x_right", "x_2"]
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"^right: is a table of pandas, left is one of pyarrow$"):
        join_by(left, pandas.DataFrame({"k": [1]}), "k")
