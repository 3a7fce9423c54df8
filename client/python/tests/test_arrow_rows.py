"""Rows of Arrow tables by their numbers, of every type, and of strings beyond what narrow offsets count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

from table_cases import TYPES, column  # noqa: E402

from corank import _arrow_rows as arrow_rows  # noqa: E402

MORE = [pa.binary_view(), pa.list_(pa.int8()), pa.null()]


def drawn(type_: Any) -> Any:
    if type_ in MORE:
        values = [None, None, None] if pa.types.is_null(type_) else [b"a", None, b"ccc"]
        return pa.array([[1], None, [2, 3]] if pa.types.is_list(type_) else values, type_)
    return column(np.random.default_rng(3), type_, 40, True)


@pytest.mark.parametrize("type_", [*TYPES, *MORE], ids=str)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_elements_of_every_type_are_taken(type_: Any, is_chunked: bool) -> None:
    array = drawn(type_)
    given = pa.chunked_array([array[:1], array[1:1], array[1:]], type_) if is_chunked else array
    rows = np.array([2, -1, 0, 2])
    taken = arrow_rows.take_column(given, arrow_rows.indices_of(rows))
    assert taken.type == type_
    values = array.to_pylist()
    assert str(taken.to_pylist()) == str([values[2], None, values[0], values[2]])
    table = pa.table({"c": given, "n": range(len(array))})
    found = arrow_rows.take_rows(table, rows[rows >= 0])
    assert found.schema == table.schema
    assert found["n"].to_pylist() == [2, 0, 2]
    assert arrow_rows.take_rows(table, rows[:0]).num_rows == 0


def test_run_lengths_stay_run_lengths() -> None:
    array = pc.run_end_encode(pa.array([1, 1, 2, None]))
    for given in (array, pa.chunked_array([array, array])):
        taken = arrow_rows.take_column(given, pa.array([3, 0, 2]))
        assert taken.type == array.type
        assert taken.to_pylist() == [None, 1, 2]


@pytest.mark.parametrize("type_", [pa.string(), pa.binary()], ids=str)
def test_strings_beyond_narrow_offsets_come_in_pieces(type_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_rows, "NARROW_BYTES", 100)
    words = pa.array([f"word {number}" for number in range(50)]).cast(type_)
    given = pa.chunked_array([words[:10], words[10:]])
    rows = np.arange(49, -1, -1)
    taken = arrow_rows.take_column(given, pa.array(rows))
    assert taken.type == type_
    assert taken.num_chunks > 3
    assert taken.to_pylist() == words.to_pylist()[::-1]
    monkeypatch.setattr(arrow_rows, "NARROW_BYTES", 1000)  # enough for the column, not for what is taken
    assert arrow_rows.take_column(given, pa.array(np.zeros(500, np.intp))).num_chunks > 1


def test_dictionaries_that_exceed_their_indices_get_wider_ones() -> None:
    narrow = pa.dictionary(pa.int8(), pa.string())
    chunks = [pa.array([f"{name}{at}" for at in range(100)]).dictionary_encode().cast(narrow) for name in "ab"]
    table = pa.table({"c": pa.chunked_array(chunks), "n": range(200)}, metadata={"of": "me"})
    taken = arrow_rows.take_rows(table, np.array([199, 0]))
    assert taken["c"].to_pylist() == ["b99", "a0"]
    assert taken.schema == pa.schema([("c", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())])
    assert taken.schema.metadata == {b"of": b"me"}


def test_dictionaries_whose_values_hold_nulls_become_one() -> None:
    values = [["a", None], [None, "b", "a"]]
    chunks = [pa.DictionaryArray.from_arrays([None, *range(len(each))], pa.array(each)) for each in values]
    column = arrow_rows.unified(pa.chunked_array([chunks[0].cast(chunks[1].type), chunks[1]]))
    assert column.to_pylist() == [None, "a", None, None, None, "b", "a"]
    assert [chunk.dictionary.to_pylist() for chunk in column.chunks] == [["a", "b"]] * 2
    parts = [pa.DictionaryArray.from_arrays([0, 1], pa.array([{"a": 1}, {"a": 2}]))] * 2
    assert arrow_rows.take_column(pa.chunked_array(parts), pa.array([3, 0])).to_pylist() == [{"a": 2}, {"a": 1}]
