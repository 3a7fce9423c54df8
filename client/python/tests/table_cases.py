"""Random columns and tables of Arrow, pandas and polars, for tests: ties, nulls, NaNs and the extremes of each type."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

from corank._arrow_rows import indices_of, take_column  # noqa: E402

TYPES = [
    pa.bool_(),
    pa.int8(),
    pa.int64(),
    pa.uint16(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.timestamp("us"),
    pa.timestamp("ns", "UTC"),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time64("ns"),
    pa.duration("ms"),
    pa.decimal32(7, 2),
    pa.decimal64(16, 3),
    pa.decimal128(38, 4),
    pa.decimal256(70, 5),
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(5),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.int64()),
]
RUNS = [pa.run_end_encoded(pa.int32(), pa.string()), pa.run_end_encoded(pa.int16(), pa.float64())]
OF_POLARS = [type_ for type_ in TYPES if type_ not in (pa.float16(), pa.binary(5), pa.decimal256(70, 5))]
OF_POLARS.remove(pa.dictionary(pa.int32(), pa.int64()))
OF_PANDAS = [type_ for type_ in OF_POLARS if not pa.types.is_time64(type_)]
"""pandas cuts the nanoseconds off times of day."""
OF_ARROW_IN_PANDAS = [
    type_
    for type_ in OF_PANDAS
    if not (
        pa.types.is_dictionary(type_) or pa.types.is_floating(type_) or str(type_).startswith(("decimal3", "decimal6"))
    )
]
"""pandas fails to sort its Arrow columns of other types, or takes their NaNs and zeros for distinct categories."""
WORDS = [
    "",
    "a",
    "a\0",
    "a\0\0",
    "b",
    "ab",
    "prefix-of-many",
    "prefix-of-many-strings",
    "prefix-of-many-things",
    "é",
    "Ωμέγα",
    "Жук",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "漢字かな",
    "한국어",
    "👩‍👧",
    "\U0010ffff",
]


def _is_text(type_: Any) -> bool:
    types = pa.types
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _is_bytes(type_: Any) -> bool:
    types = pa.types
    return bool(types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_))


def column(rng: np.random.Generator, type_: Any, count: int, nulls: bool) -> Any:
    """Values with many ties, the extremes of the type, and NaN and both zeros of floats."""
    few = bool(rng.integers(2))
    out: list[Any]
    if pa.types.is_dictionary(type_):
        where = str(rng.choice(["mask", "encode"]))  # nulls among the indices or among the values
        return column(rng, type_.value_type, count, nulls).dictionary_encode(where).cast(type_)
    if pa.types.is_run_end_encoded(type_):
        return pc.run_end_encode(column(rng, type_.value_type, count, nulls), type_.run_end_type)
    if pa.types.is_decimal(type_):
        digits = [int(rng.integers(1, 3 if few else type_.precision + 1)) for _ in range(count)]
        numbers = [int("".join(map(str, rng.integers(0, 10, size)))) * int(rng.choice([-1, 1])) for size in digits]
        with decimal.localcontext() as context:
            context.prec = 80
            out = [decimal.Decimal(number).scaleb(-type_.scale) for number in numbers]
    elif pa.types.is_fixed_size_binary(type_):
        out = [bytes(rng.integers(0, 3 if few else 256, 5).astype(np.uint8)) for _ in range(count)]
    elif _is_bytes(type_) or _is_text(type_):
        words = WORDS if few else [f"{chosen}{rng.integers(10**6)}" for chosen in rng.choice(WORDS, 50)]
        out = [str(word) for word in rng.choice(np.array(words, object), count)]
        out = [word.encode() for word in out] if _is_bytes(type_) else out
    elif pa.types.is_boolean(type_):
        out = [bool(each) for each in rng.integers(0, 2, count)]
    elif pa.types.is_floating(type_):
        special = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -1e-40, 3e38, -3e38]
        floats = np.where(rng.random(count) < 0.5, rng.choice(special, count), rng.normal(size=count))
        with np.errstate(over="ignore"):
            return with_nulls(rng, pa.array(floats.astype(type_.to_pandas_dtype()), type_), nulls)
    elif pa.types.is_date32(type_) or pa.types.is_date64(type_):
        out = [datetime.date(1960, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 30_000, count)]
    elif pa.types.is_time32(type_):
        out = [int(each) for each in rng.integers(0, 86_400, count)]
    elif pa.types.is_time64(type_):
        out = [int(each) for each in rng.integers(0, 86_400_000_000_000, count)]
    else:
        width, is_signed = type_.bit_width, not pa.types.is_unsigned_integer(type_)
        numpy = np.dtype(f"{'i' if is_signed else 'u'}{width // 8}")
        least, most = np.iinfo(numpy).min, np.iinfo(numpy).max
        if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):  # pandas and polars keep these
            least, most = -(2**52), 2**52
        drawn = rng.integers(least, most, count, numpy.type, endpoint=True)
        drawn = np.where(rng.random(count) < 0.2, rng.choice(np.array([least, most], numpy), count), drawn)
        return with_nulls(rng, pa.array((drawn % 5 if few else drawn).astype(numpy)).view(type_), nulls)
    return with_nulls(rng, pa.array(out, type_), nulls)


def with_nulls(rng: np.random.Generator, array: Any, nulls: bool) -> Any:
    """The array; or with a fifth of its elements null."""
    if not nulls:
        return array
    return take_column(array, indices_of(np.where(rng.random(len(array)) < 0.2, -1, np.arange(len(array)))))


def tables(rng: np.random.Generator, count: int, types: Any = TYPES) -> tuple[Any, list[str], list[bool]]:
    """A table in several chunks, keys, and their directions."""
    names = [f"k{at}" for at in range(int(rng.integers(1, 4)))]
    chosen = [types[int(rng.integers(len(types)))] for _ in names]
    chunks = []
    for part in np.array_split(np.arange(count), 3):
        made = {n: column(rng, t, len(part), bool(rng.integers(2))) for n, t in zip(names, chosen)}
        chunks.append(pa.table(made))
    return pa.concat_tables(chunks), names, [bool(each) for each in rng.integers(0, 2, len(names))]


def plain(column: Any) -> Any:
    """A column as one of a type that pyarrow sorts by itself."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return plain(column.cast(type_.value_type))
    if pa.types.is_string_view(type_):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(type_):
        return column.cast(pa.large_binary())
    if pa.types.is_run_end_encoded(type_):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], type_.value_type)
    if pa.types.is_decimal(type_) and type_.bit_width < 128:
        return column.cast(pa.decimal128(38, type_.scale))
    return column.cast(pa.float32()) if pa.types.is_float16(type_) else column


def expected(table: Any, names: list[str], descending: list[bool], nulls: Any) -> np.ndarray:
    """The order that pyarrow finds; `nulls` is one word or one for each key."""
    places = [nulls] * len(names) if isinstance(nulls, str) else nulls
    keys = [
        (name, "descending" if down else "ascending", "at_start" if place == "first" else "at_end")
        for name, down, place in zip(names, descending, places)
    ]
    return np.asarray(pc.sort_indices(pa.table({name: plain(table[name]) for name in names}), sort_keys=keys))
