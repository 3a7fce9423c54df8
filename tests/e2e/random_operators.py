"""Draws calls of any operator at random, with the answers that NumPy expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import e2e_paths  # noqa: F401

# isort: split
import numpy as np
import oracles
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o
from numpy.typing import NDArray

Array = NDArray[Any]
RECORD = int(a.ELEMENT_TYPE_RECORD)
INT64 = int(a.ELEMENT_TYPE_INT64)
KEY_TYPES = {int(a.ElementType.Value(f"ELEMENT_TYPE_{name.upper()}")): name for name in oracles.KEY_TYPES}
_NUMBERS = {name: number for number, name in KEY_TYPES.items()}
_MOST_BYTES = 6 << 20


class Elements(NamedTuple):
    """An array in the terms of the contract."""

    type: int
    data: Array

    @property
    def width(self) -> int:
        """Bytes per element."""
        return int(self.data.dtype.itemsize)

    @property
    def key_type(self) -> str:
        """The name of the type; not for records."""
        return KEY_TYPES[self.type]


class Input(NamedTuple):
    """An array of a request."""

    field: str
    elements: Elements
    held: Any = None
    """The place that already holds the array, if it came from one."""


class Result(NamedTuple):
    """An array in a response."""

    field: str
    destination: str
    elements: Elements
    room: int = 0
    """The bytes that its place needs, where these are more than it has."""


class Fault(NamedTuple):
    """The error with which a call must end."""

    code: str
    field: str


@dataclass
class Operation:
    """An operator, its arrays and its answer.

    Attributes:
        kind: the field of an Operation.
        request: the request without arrays and destinations.
        inputs: its arrays.
        results: the expected results.
        python: python(client, arrays, **options) makes the same call with the Python client, with arrays in the order
            of `inputs`; None if the client cannot express it.
        fault: the error with which the server must refuse it.
    """

    kind: str
    request: Any
    inputs: list[Input] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    python: Callable[..., Any] | None = None
    fault: Fault | None = None

    def add(self, name: str, elements: Elements, held: Any = None) -> None:
        """Adds an input."""
        self.inputs.append(Input(name, elements, held))

    def answer(self, name: str, destination: str, elements: Elements, most: int = 0) -> None:
        """Adds a result; `most`: the elements for which the server wants room, if the answer tells how many it has."""
        self.results.append(Result(name, destination, elements, most * elements.width))


class Draw:
    """Draws sizes and arrays.

    Args:
        rng: the random numbers of the case.
        pool: arrays that already lie somewhere: (elements, where).
        most_bytes: the approximate size limit of an array.
        types: the key types to draw from.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        pool: list[tuple[Elements, Any]],
        most_bytes: int,
        types: tuple[str, ...] = oracles.KEY_TYPES,
    ) -> None:
        self.rng, self.pool, self.types, self.most_bytes = rng, pool, types, min(most_bytes, _MOST_BYTES)
        self.is_large = False
        """Whether arrays may have a MiB or more."""

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def one(self, choices: Any) -> Any:
        """One element of a sequence."""
        return choices[int(self.rng.integers(len(choices)))]

    def count(self, width: int) -> int:
        """A number of elements of `width` bytes: small, or near a size at which the server works differently."""
        drawn = self.rng.random()
        if self.is_large:
            return int(self.rng.integers(1 << 20, 5 << 20)) // width
        if drawn < 0.2:
            return int(self.rng.integers(0, 3))
        if drawn < 0.5:
            return int(self.rng.integers(3, 300))
        limits: tuple[int, ...] = (
            16 << 10,
            16 << 10,
            16 << 10,
            64 << 10,
            64 << 10,
            1 << 20,
            int(self.rng.integers(1 << 20, 4 << 20)),
        )
        aim = min(int(self.one(limits)), self.most_bytes)
        return max(0, aim // width + int(self.rng.integers(-2, 3)))

    def fitting(self, fits: Callable[[Elements], bool]) -> list[tuple[Elements, Any]]:
        """The arrays of the pool that this draw may take."""
        return [each for each in self.pool if each[0].data.nbytes <= self.most_bytes and fits(each[0])]

    def taken(self, fits: Callable[[Elements], bool]) -> tuple[Elements, Any] | None:
        """Sometimes an array of the pool; None if nothing fits or the draw decides against it."""
        if self.chance(0.3):
            return None
        fitting = self.fitting(fits)
        return self.one(fitting) if fitting else None

    def keys(self, key_type: str, count: int) -> Elements:
        """Keys with one of the structures that the server looks for."""
        keys = oracles.random_keys(self.rng, key_type, count)
        shape = int(self.rng.integers(0, 9))
        if shape == 0:
            keys = keys[oracles.argsort(keys, key_type)]
        elif shape == 1:
            keys = keys[oracles.argsort(keys, key_type, True)]
        elif shape == 2:
            keys = self.rng.choice(keys[:5], count) if count else keys
        elif shape == 3 and count > 4:
            keys = np.concatenate([part[oracles.argsort(part, key_type)] for part in np.array_split(keys, 3)])
        return Elements(_NUMBERS[key_type], keys)

    def some_keys(self) -> tuple[Elements, Any]:
        """Keys of any type."""
        found = self.taken(lambda each: each.type != RECORD)
        if found is not None:
            return found
        key_type = self.one(self.types)
        return self.keys(key_type, self.count(oracles.storage(key_type).itemsize)), None

    def records(self, count: int) -> Elements:
        """Elements of any type, of limited total size."""
        if self.chance(0.5):
            fitting = [name for name in self.types if count * oracles.storage(name).itemsize <= self.most_bytes]
            return self.keys(self.one(fitting or ["uint8"]), count)
        widest = max(1, min(256, self.most_bytes // max(1, count)))
        width = min(widest, int(self.one((1, 2, 3, 4, 7, 8, 12, 16, 20, 32, 100, 256))))
        return Elements(RECORD, np.frombuffer(self.rng.bytes(count * width), f"V{width}"))

    def some_records(self, count: int | None = None) -> tuple[Elements, Any]:
        """Elements of any type; `count` of them if given."""
        found = self.taken(lambda each: count is None or len(each.data) == count)
        if found is not None:
            return found
        return self.records(self.count(8) if count is None else count), None

    def cuts(self, total: int, parts: int) -> Array:
        """parts + 1 rising offsets, from 0 to the total."""
        inner = np.sort(self.rng.integers(0, total + 1, parts - 1)) if parts > 1 else np.zeros(0, np.int64)
        return np.concatenate([[0], inner, [total]]).astype(np.int64)

    def lengths(self, total: int) -> Array:
        """Lengths of intervals that sum to the total, many of them empty; sometimes no interval if the total is 0."""
        intervals = int(self.one((1, 2, 5, 50, 700, 2047, 2048, 2049, 8192)))
        if total == 0 and self.chance(0.5):
            return np.zeros(0, np.int64)
        return np.diff(self.cuts(total, intervals))


def integers(values: Any) -> Elements:
    """Counts or offsets."""
    return Elements(INT64, np.asarray(values, np.int64))


def indices(values: Array) -> Elements:
    """Positions in the type in which the server returns them."""
    return Elements(int(a.ELEMENT_TYPE_UINT32), values.astype(np.uint32))


def draw_order(draw: Draw) -> tuple[Any, bool]:
    """A SortOrder, and whether it is descending."""
    number = int(draw.rng.integers(0, 3))
    return number, number == o.SORT_ORDER_DESCENDING


def _algorithm(draw: Draw, count: int) -> Any:
    # The network takes n log^2 n comparisons.
    return int(draw.rng.integers(0, 5 if count < 20_000 else 4))


_OUTPUTS: tuple[Any, ...] = (
    0,
    o.SORT_OUTPUT_KEYS,
    o.SORT_OUTPUT_INDICES,
    o.SORT_OUTPUT_KEYS_AND_INDICES,
    o.SORT_OUTPUT_RANKS,
)
_ALGORITHMS = ("auto", "auto", "mergesort", "radix", "odd-even-mergesort")


def _left_out(draw: Draw, request: o.SortRequest, options: dict[str, Any], order: Array) -> tuple[Array, Array]:
    """An order without its first results, sometimes, and where it begins and ends."""
    if draw.chance(0.3):
        request.offset = options["offset"] = int(draw.one((1, 5, len(order) // 2, len(order), (1 << 63) - 1)))
    return order[request.offset :], np.array([0, max(0, len(order) - request.offset)])


def sort(draw: Draw) -> Operation:
    """Sort of one array: keys alone, with values, with or as indices, by segments, or some rows of all or of each."""
    keys, held = draw.some_keys()
    count = len(keys.data)
    number, descending = draw_order(draw)
    request = o.SortRequest(order=number, algorithm=_algorithm(draw, count))
    operation = Operation("sort", request)
    operation.add("keys", keys, held)
    options: dict[str, Any] = {"descending": descending, "algorithm": _ALGORITHMS[request.algorithm]}
    names: list[str] = []
    order = oracles.argsort(keys.data, keys.key_type, descending)
    if draw.chance(0.25) and keys.data.size < 500_000:
        offsets = draw.cuts(count, int(draw.one((1, 2, 3, 100, 2047))))
        operation.add("segment_offsets", integers(offsets))
        names.append("segments")
        order = oracles.segmented_argsort(keys.data, offsets.tolist(), keys.key_type, descending)
    else:
        order, offsets = _left_out(draw, request, options, order)
    if draw.chance(0.3):
        request.limit = int(draw.one((0, 1, 5, count // 20, count // 2, max(0, count - 1), count, count + 5)))
        options["limit"] = request.limit
        order = oracles.first_of_each(order, offsets.tolist(), request.limit)
    mode = int(draw.rng.integers(0, 4))
    request.output = _OUTPUTS[mode]
    if mode != 2:
        operation.answer("keys", "keys_destination", Elements(keys.type, keys.data[order]))
    if mode >= 2:
        operation.answer("indices", "indices_destination", indices(order))
    elif draw.chance(0.5):
        values, where = draw.some_records(count)
        operation.add("values", values, where)
        operation.answer("values", "values_destination", Elements(values.type, values.data[order]))
        names.append("values")
    method = ("sort", "sort", "argsort", "sort_with_indices")[mode]
    if mode >= 2:
        options["index_dtype"] = None

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        return getattr(client, method)(arrays[0], **dict(zip(names, arrays[1:], strict=True)), **options, **more)

    operation.python = python
    return operation


def plain_sort(draw: Draw) -> Operation:
    """Sort of keys with or without values and no other option, which the server can do in pieces."""
    keys, held = draw.some_keys()
    number, descending = draw_order(draw)
    operation = Operation("sort", o.SortRequest(order=number, algorithm=_algorithm(draw, len(keys.data))))
    operation.add("keys", keys, held)
    order = oracles.argsort(keys.data, keys.key_type, descending)
    operation.answer("keys", "keys_destination", Elements(keys.type, keys.data[order]))
    if draw.chance(0.5):
        values = draw.records(len(keys.data))
        operation.add("values", values)
        operation.answer("values", "values_destination", Elements(values.type, values.data[order]))
    return operation


def alike(draw: Draw, number: int) -> list[Operation]:
    """Small sorts of different lengths that the server may batch."""
    key_type, (order, descending), mode = draw.one(draw.types), draw_order(draw), int(draw.rng.integers(0, 4))
    algorithm, width = _algorithm(draw, 0), int(draw.one((0, 4, 12)))
    operations = []
    for _ in range(number):
        keys = draw.keys(key_type, int(draw.rng.integers(0, 500)))
        operation = Operation("sort", o.SortRequest(order=order, algorithm=algorithm, output=_OUTPUTS[mode]))
        operation.add("keys", keys)
        places = oracles.argsort(keys.data, key_type, descending)
        if mode != 2:
            operation.answer("keys", "keys_destination", Elements(keys.type, keys.data[places]))
        if mode >= 2:
            operation.answer("indices", "indices_destination", indices(places))
        elif width:
            values = np.frombuffer(draw.rng.bytes(len(keys.data) * width), f"V{width}")
            operation.add("values", Elements(RECORD, values))
            operation.answer("values", "values_destination", Elements(RECORD, values[places]))
        operations.append(operation)
    return operations


def _strings(draw: Draw, rows: int) -> list[bytes]:
    longest = int(draw.one((0, 1, 3, 9, 40)))
    letters = draw.rng.choice(np.frombuffer(b"ab\0\xff" if draw.chance(0.5) else b"a", np.uint8), rows * longest)
    text, lengths = letters.tobytes(), draw.rng.integers(0, longest + 1, rows)
    return [text[at * longest : at * longest + length] for at, length in enumerate(lengths.tolist())]


def _joined(strings: list[bytes]) -> tuple[Elements, Elements]:
    data = np.frombuffer(b"".join(strings), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in strings], dtype=np.int64)])
    return Elements(int(a.ELEMENT_TYPE_UINT8), data), integers(offsets)


def _validity(mask: Any) -> Elements:
    return Elements(int(a.ELEMENT_TYPE_UINT8), np.packbits(~mask, bitorder="little"))


def _some_column(draw: Draw, rows: int) -> tuple[Any, Any]:
    """Numbers, byte strings of one width or a list of strings, and numbers that have the order of the rows."""
    kind = int(draw.rng.integers(0, 3))
    if kind == 0:
        column = draw.keys(draw.one(draw.types), rows)
        return column, np.unique(oracles.comparable(column.data, column.key_type), return_inverse=True)[1]
    if kind == 1:
        width = int(draw.one((1, 3, 8, 17)))
        letters = draw.rng.choice(np.frombuffer(b"ab\0\xff", np.uint8), rows * width)
        ranked = np.unique(letters.view(f"S{width}"), return_inverse=True)[1]
        return Elements(RECORD, letters.view(f"V{width}")), ranked
    strings = _strings(draw, rows)
    places = {each: place for place, each in enumerate(sorted(set(strings)))}
    return strings, np.array([places[each] for each in strings], np.int64)


def _add_column(operation: Operation, path: str, column: Any) -> None:
    if isinstance(column, list):
        data, offsets = _joined(column)
        operation.add(f"{path}.data", data)
        operation.add(f"{path}.offsets", offsets)
    else:
        operation.add(f"{path}.data", column)


def _rows_of(column: Any, rows: Any) -> Any:
    if isinstance(column, list):
        return [column[row] for row in rows.tolist()]
    return Elements(column.type, column.data[rows])


def search_columns(draw: Draw) -> Operation:
    """Searches a table by columns. Every needle has values that the haystack could have."""
    rows = min(30_000, draw.count(8))
    request = o.SearchRequest(assume_sorted=draw.chance(0.2))
    request.bound = int(draw.rng.integers(0, 3))  # type: ignore[assignment]
    columns, ranks, masks = [], [], []
    for at in range(int(draw.one((1, 1, 2, 3, 4)))):
        number, descending = draw_order(draw)
        request.haystack_columns.add(order=number, nulls=draw.one(tuple(o.NullOrder.values())))
        request.needle_columns.add(order=draw.one((number, o.SORT_ORDER_UNSPECIFIED)))
        column, ranked = _some_column(draw, rows)
        mask = draw.rng.random(rows) < draw.one((0.01, 0.4, 1)) if draw.chance(0.4) else None
        ranked = -ranked if descending else ranked
        if mask is not None:
            is_first = request.haystack_columns[at].nulls == o.NULL_ORDER_FIRST
            ranked = np.where(mask, -rows if is_first else rows, ranked)
        columns.append(column)
        ranks.append(ranked)
        masks.append(mask)
    dense = np.unique(np.stack(ranks, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    places = draw.rng.permutation(rows)
    cut = int(draw.rng.integers(0, rows + 1))
    haystack, needles = places[:cut], places[cut:]
    haystack = haystack[np.argsort(dense[haystack], kind="stable")]
    operation = Operation("search", request)
    for table, chosen in (("haystack_columns", haystack), ("needle_columns", needles)):
        for at, (column, mask) in enumerate(zip(columns, masks, strict=True)):
            _add_column(operation, f"{table}[{at}]", _rows_of(column, chosen))
            if mask is not None and (mask[chosen].any() or draw.chance(0.5)):
                operation.add(f"{table}[{at}].validity", _validity(mask[chosen]))
    side: Literal["left", "right"] = "right" if request.bound == o.SEARCH_BOUND_UPPER else "left"
    found = np.searchsorted(dense[haystack], dense[needles], side)
    operation.answer("positions", "destination", indices(found))
    return operation


def sort_columns(draw: Draw) -> Operation:
    """Sort by columns of numbers, byte strings of one width, and strings, some of them with nulls; or of segments."""
    rows = min(30_000, draw.count(8))
    request = o.SortRequest(algorithm=_algorithm(draw, rows))
    operation = Operation("sort", request)
    ranks, columns, given, descendings, masks = [], [], [], [], []
    for at in range(int(draw.one((1, 1, 2, 3, 4)))):
        path = f"key_columns[{at}]"
        number, descending = draw_order(draw)
        request.key_columns.add(order=number)
        column, ranked = _some_column(draw, rows)
        _add_column(operation, path, column)
        columns.append(column)
        given.append(column if isinstance(column, list) else None)
        descendings.append(descending)
        ranked = -ranked if descending else ranked
        mask = draw.rng.random(rows) < draw.one((0.01, 0.4, 1)) if draw.chance(0.3) else None
        if mask is not None:
            operation.add(f"{path}.validity", _validity(mask))
            request.key_columns[at].nulls = draw.one(tuple(o.NullOrder.values()))
            ranked = np.where(mask, -rows if request.key_columns[at].nulls == o.NULL_ORDER_FIRST else rows, ranked)
        masks.append(mask)
        ranks.append(ranked)
    order = np.lexsort(ranks[::-1])
    dense = np.unique(np.stack(ranks, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    falls = np.flatnonzero(dense[1:] < dense[:-1]) + 1
    has_runs = len(falls) < 1024 and draw.chance(0.3)
    if has_runs:
        request.algorithm = o.SORT_ALGORITHM_AUTO
        operation.add("run_offsets", integers([0, *falls, rows]))
    has_segments = not has_runs and draw.chance(0.25)
    options: dict[str, Any] = {"descending": descendings, "algorithm": _ALGORITHMS[request.algorithm]}
    if has_segments:
        bounds = draw.cuts(rows, int(draw.one((1, 2, 3, 100, 2047))))
        operation.add("segment_offsets", integers(bounds))
        segments = np.searchsorted(bounds, np.arange(rows), "right")
        order = order[np.argsort(segments[order], kind="stable")]
    else:
        order, bounds = _left_out(draw, request, options, order)
    if draw.chance(0.3):
        request.limit = int(draw.one((0, 1, 5, rows // 2, rows + 1)))
        options["limit"] = request.limit
        order = oracles.first_of_each(order, bounds.tolist(), request.limit)
    mode = int(draw.rng.integers(0, 4 if has_segments or "limit" in options or "offset" in options else 5))
    request.output = _OUTPUTS[mode]
    for at, column in enumerate(columns if mode not in (2, 4) else []):
        path = f"key_columns[{at}]"
        if isinstance(column, list):
            data, offsets = _joined([column[row] for row in order.tolist()])
            operation.answer(f"{path}.data", f"{path}.data_destination", data)
            operation.answer(f"{path}.offsets", f"{path}.offsets_destination", offsets)
        else:
            operation.answer(f"{path}.data", f"{path}.data_destination", Elements(column.type, column.data[order]))
        if (mask := masks[at]) is not None:
            operation.answer(f"{path}.validity", f"{path}.validity_destination", _validity(mask[order]))
    if mode == 4:
        operation.answer("ranks", "ranks_destination", indices(dense + 1))
    elif mode >= 2:
        operation.answer("indices", "indices_destination", indices(order))
    elif draw.chance(0.4):
        values, where = draw.some_records(rows)
        operation.add("values", values, where)
        operation.answer("values", "values_destination", Elements(values.type, values.data[order]))
    if has_runs or has_segments or any(mask is not None for mask in masks):
        return operation
    if mode == 3 or any(column.type == _NUMBERS["bfloat16"] for column in columns if not isinstance(column, list)):
        return operation
    has_values = len(operation.inputs) > sum(1 if column is None else 2 for column in given)

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        keys, at = [], 0
        for column in given:
            keys.append(arrays[at] if column is None else column)
            at += 1 if column is None else 2
        if mode == 2:
            return client.argsort_columns(keys, index_dtype=None, **options, **more)
        if mode == 4:
            return client.rank_columns(keys, index_dtype=None, **options, **more)
        if not has_values:
            return tuple(client.sort_columns(keys, **options, **more))
        found, values = client.sort_columns(keys, values=arrays[-1], **options, **more)
        return (*found, values)

    operation.python = python
    return operation
